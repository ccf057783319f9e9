"""A layer of changes under review: in which order lines come, what is written when, keys, and what is refused."""

import sqlite3

import pytest
from qgis.core import (
    QgsCoordinateReferenceSystem,
    QgsFeature,
    QgsFeatureRequest,
    QgsGeometry,
    QgsPointXY,
    QgsProject,
    QgsRasterLayer,
    QgsRectangle,
    QgsVectorLayer,
    QgsVectorLayerCache,
)
from qgis.gui import QgsMapTool, QgsMapToolPan
from qgis.PyQt.QtCore import Qt
from qgis.PyQt.QtTest import QTest
from roadseg.qgis_roadseg.desktop.review.control import Review

from ...support.acting import memory_layer
from ...support.reviewing import ROADS, press, review_in, shown, write
from ...support.window import messages

pytestmark = pytest.mark.usefixtures("qgis_new_project")
ROAD = "LineString (350001 3059999, 350011 3059999)"


def test_the_next_line_is_the_nearest_and_each_verdict_is_in_the_file_at_once(review, path):
    review.begin()
    assert shown(review) == ("Lost", 0, 4)
    press(review, "A")
    assert shown(review) == ("New", 1, 3) and "20 m" in review.panel.line.text()
    assert review_in(path) == {3: "accepted"}
    press(review, "XA")
    assert shown(review) == ("New", 3, 1) and "6,0" in review.panel.line.text()
    press(review, "X")
    assert review_in(path) == {3: "accepted", 1: "rejected", 4: "accepted", 5: "rejected"}
    assert "The review is complete: 2 accepted, 2 rejected." in review.panel.line.text()
    press(review, "AX")  # there is no line that this could mean
    assert len(review_in(path)) == 4


def test_going_back_takes_the_verdict_away_and_what_is_skipped_comes_last(review, path):
    review.begin()
    press(review, "AX")
    assert shown(review) == ("Displaced", 2, 2)
    press(review, "B")
    assert shown(review) == ("New", 1, 3) and review_in(path) == {3: "accepted"}
    press(review, "NAA")
    assert shown(review) == ("New", 3, 1) and review_in(path) == {3: "accepted", 4: "accepted", 5: "accepted"}
    press(review, "BBB")
    assert shown(review) == ("New", 1, 3) and review_in(path) == {3: "accepted"}
    press(review, "BBBB")
    assert shown(review) == ("Lost", 0, 4) and review_in(path) == {}


def test_a_later_review_goes_on_with_what_is_left(review, window, path):
    review.begin()
    press(review, "AX")
    review.panel.close()
    press(review, "AX")
    assert len(review_in(path)) == 2
    other = Review(window, review._tracing)
    other.begin()
    assert shown(other)[1:] == (2, 2)
    other.close()
    review.begin()
    assert shown(review)[1:] == (2, 2) and review.panel.isVisible()


def test_what_was_decided_in_other_words_and_fields_of_another_case_is_not_asked_again(review, layer, window, tmp_path):
    other = tmp_path / "other.gpkg"
    write(other, "&field=REVIEW:string", [(change.upper(), points) for change, points in ROADS])
    layer.setDataSource(str(other), "Changes", "ogr")
    field = layer.fields().lookupField("review")
    words = {1: " Yes", 3: "0", 4: "later"}
    assert layer.dataProvider().changeAttributeValues({line: {field: word} for line, word in words.items()})
    review.begin()
    assert shown(review) == ("Displaced", 2, 2)
    press(review, "AX")
    assert "The review is complete: 2 accepted, 2 rejected." in review.panel.line.text()


def test_the_keys_work_in_map_and_panel_but_not_while_a_tool_digitizes(review, window, path):
    class Digitizing(QgsMapTool):
        def flags(self):
            return QgsMapTool.Flag.EditTool

    review.begin()
    canvas = window.mapCanvas()
    tools = Digitizing(canvas), QgsMapToolPan(canvas)
    canvas.setMapTool(tools[0])
    press(review, "A")
    assert shown(review)[1] == 0
    canvas.setMapTool(tools[1])
    press(review, "A")
    assert shown(review)[1] == 1
    review.panel.setFocus()
    QTest.keyClick(review.panel, Qt.Key.Key_X)
    assert shown(review)[1] == 2
    canvas.unsetMapTool(tools[1])


def test_the_map_keeps_a_scale_that_suits_and_finds_one_where_it_does_not(review, window):
    canvas = window.mapCanvas()
    review.begin()
    canvas.zoomScale(1000)
    press(review, "A")
    assert round(canvas.scale()) == 1000 and canvas.center().distance(QgsPointXY(350010, 3060000)) < 1
    press(review, "AA")  # the last line is 6 km long
    assert all(canvas.extent().contains(QgsPointXY(east, 3060000)) for east in (352000, 358000))
    press(review, "B")
    assert round(canvas.scale()) == 2000 and canvas.center().distance(QgsPointXY(350220, 3060000)) < 1
    canvas.setCenter(QgsPointXY(360000, 3060000))
    press(review, "Z")
    assert canvas.center().distance(QgsPointXY(350220, 3060000)) < 1


def test_lines_in_degrees_are_near_each_other_as_on_the_map(review, window, layer, tmp_path):
    # At 60 degrees north 0.015 degrees to the east are nearer than 0.01 to the north.
    path = tmp_path / "degrees.gpkg"
    north, east = ("lost", "10 60.01, 10 60.0101"), ("displaced", "10.015 60, 10.0151 60")
    write(path, roads=[("new", "10 60, 10.0001 60"), north, east])
    degrees = QgsVectorLayer(str(path), "Degrees", "ogr")
    degrees.setCrs(QgsCoordinateReferenceSystem("EPSG:4326"))
    QgsProject.instance().addMapLayer(degrees)
    canvas = window.mapCanvas()
    canvas.setDestinationCrs(QgsCoordinateReferenceSystem("EPSG:25832"))
    canvas.setExtent(QgsRectangle.fromCenterAndSize(QgsPointXY(555776, 6651832), 400, 200))
    window.setActiveLayer(degrees)
    review.begin()
    kinds = [shown(review)[0]]
    for _ in range(2):
        press(review, "A")
        kinds.append(shown(review)[0])
    assert kinds == ["New", "Displaced", "Lost"]


@pytest.mark.parametrize(
    ("fields", "spoil", "why"),
    [
        ("", lambda layer: layer.setReadOnly(True), "Changes is read-only"),
        ("", lambda layer: layer.setCrs(QgsCoordinateReferenceSystem()), "no coordinate reference system"),
        ("&field=review:integer", lambda layer: None, "field “review” of the layer Changes is not a text field"),
    ],
)
def test_a_layer_that_cannot_take_a_review_is_refused(review, window, path, layer, fields, spoil, why):
    QgsProject.instance().removeMapLayer(layer.id())
    path.unlink()
    write(path, fields)
    spoiled = QgsVectorLayer(str(path), "Changes", "ogr")
    spoil(spoiled)
    QgsProject.instance().addMapLayer(spoiled)
    window.setActiveLayer(spoiled)
    review.begin()
    assert why in messages(window)[0] and review.panel is None


def test_what_is_no_layer_of_changes_is_refused(review, window, image):
    others = [
        QgsRasterLayer(str(image), "Image"),
        memory_layer("Point", "Breaks", "Point (350001 3059999)", "&field=change:string"),
        None,
    ]
    for other in others:
        window.setActiveLayer(other)
        review.begin()
        assert ("is not a review layer" if other else "No layer is selected") in messages(window)[0]
    assert review.panel is None


def test_a_layer_without_changes_has_nothing_to_review(review, window):
    window.setActiveLayer(memory_layer("LineString", "Same", ROAD, "&field=change:string"))
    review.begin()
    assert "nothing to review" in review.panel.line.text()
    press(review, "AXNBZ")
    assert shown(review)[1] == 0


def test_while_someone_edits_the_layer_the_review_waits_and_goes_on_with_what_is_there_then(review, layer, path):
    review.begin()
    press(review, "A")
    layer.startEditing()
    layer.deleteFeature(1)
    line = QgsFeature(layer.fields())
    line["change"] = "lost"
    line.setGeometry(QgsGeometry.fromWkt("LineString (350130 3060000, 350140 3060000)"))
    layer.addFeature(line)
    assert "is being edited" in review.panel.line.text()
    press(review, "AXNBZ")
    assert review_in(path) == {3: "accepted"} and len(layer.editBuffer().addedFeatures()) == 1
    assert layer.commitChanges()
    assert shown(review) == ("Lost", 1, 3)
    press(review, "A")
    assert review_in(path) == {3: "accepted", 6: "accepted"}


@pytest.mark.parametrize("keys", ["A", "NB"])
def test_a_line_that_another_program_has_deleted_is_left_out(review, path, keys):
    review.begin()
    press(review, keys[:-1])
    database = sqlite3.connect(path)
    database.execute("drop trigger if exists rtree_changes_geom_delete")
    database.execute("drop trigger if exists rtree_changes_geom_delete2")
    database.execute("delete from changes where fid = 3")
    database.commit()
    database.close()
    press(review, keys[-1])
    assert shown(review) == ("New", 0, 3) and "left out" in review.panel.problem.text()


def test_going_back_to_a_line_that_was_deleted_leaves_it_out(review, layer, path):
    review.begin()
    press(review, "A")
    other = QgsVectorLayer(str(path), "Other", "ogr")
    assert other.dataProvider().deleteFeatures([3])
    press(review, "B")
    assert shown(review) == ("New", 0, 3) and "left out" in review.panel.problem.text()


def test_two_reviews_of_one_file_take_over_each_others_answers(review, window, path):
    review.begin()
    window.setActiveLayer(QgsVectorLayer(str(path), "Other", "ogr"))
    other = Review(window, review._tracing)
    other.begin()
    review.panel.asked.emit("accepted")
    other.panel.asked.emit("rejected")
    assert "reviewed elsewhere" in other.panel.problem.text() and shown(other) == ("New", 1, 3)
    other.panel.asked.emit("rejected")
    review.panel.asked.emit("accepted")
    assert review_in(path) == {3: "accepted", 1: "rejected"} and shown(review) == shown(other) == ("Displaced", 2, 2)
    other.close()


def test_a_verdict_that_cannot_be_written_is_told_and_asked_for_again(review, path):
    review.begin()
    press(review, "A")
    database = sqlite3.connect(path)
    database.execute("begin exclusive")
    press(review, "X")
    database.rollback()
    database.close()
    assert "cannot be written to the layer Changes" in review.panel.problem.text()
    assert shown(review) == ("New", 1, 3)
    press(review, "X")
    assert review.panel.problem.text() == "" and review_in(path) == {3: "accepted", 1: "rejected"}


def test_a_layer_that_is_removed_ends_the_review(review, layer):
    review.begin()
    QgsProject.instance().removeMapLayer(layer.id())
    assert "The layer Changes was removed" in review.panel.problem.text()
    press(review, "AXNBZ")


def test_an_attribute_table_that_is_open_shows_the_verdict(review, layer):
    review.begin()
    press(review, "A")  # which adds the field
    cache = QgsVectorLayerCache(layer, 10)
    cache.setFullCache(True)
    press(review, "X")
    assert [line["review"] for line in cache.getFeatures(QgsFeatureRequest(1))] == ["rejected"]


def test_a_temporary_layer_is_reviewed_and_said_to_be_temporary(review, window):
    scratch = memory_layer("LineString", "Scratch", ROAD, "&field=change:string")
    scratch.dataProvider().changeAttributeValues({1: {0: "lost"}})
    window.setActiveLayer(scratch)
    review.begin()
    assert "Make Permanent" in review.panel.note.text()
    press(review, "X")
    assert [line["review"] for line in scratch.getFeatures()] == ["rejected"]


def test_a_layer_that_gets_another_source_is_read_again(review, window, layer, tmp_path):
    review.begin()
    press(review, "A")
    write(tmp_path / "other.gpkg", roads=ROADS[:2])
    layer.setDataSource(str(tmp_path / "other.gpkg"), "Changes", "ogr")
    assert shown(review) == ("New", 0, 1)
    press(review, "X")
    assert review_in(tmp_path / "other.gpkg") == {1: "rejected"}
