"""A network under review, view by view: what a click, a stroke and a key decide, and what is in the file then."""

import pytest
from qgis.core import (
    QgsCoordinateReferenceSystem,
    QgsCoordinateTransform,
    QgsCoordinateTransformContext,
    QgsFeature,
    QgsGeometry,
    QgsPointXY,
    QgsProject,
    QgsRectangle,
    QgsVectorFileWriter,
    QgsVectorLayer,
)
from qgis.PyQt.QtCore import QEvent, QPoint, Qt
from qgis.PyQt.QtTest import QTest
from qgis.PyQt.QtWidgets import QApplication
from roadseg.qgis_roadseg.desktop.tracing.control import Tracing

from ...support.acting import memory_layer
from ...support.window import messages, open_window

pytestmark = pytest.mark.usefixtures("qgis_new_project")

# Two lines in the first view, one in each of two others, from the near to the far one.
ROADS = [
    "LineString (350000 3060000, 350080 3060000)", "LineString (350000 3060020, 350080 3060020)",
    "LineString (350500 3060000, 350580 3060000)", "LineString (351500 3060000, 351580 3060000)",
]  # fmt: skip
VIEW = QgsRectangle(349980, 3059970, 350100, 3060060)


def make_network(path, roads=ROADS, name="", crs="EPSG:32645"):
    """Write roads to a GeoPackage, in which a line's id is its place in the list, from 1; load them."""
    layer = memory_layer("LineString", "roads", roads[0], "&field=status:string", crs)
    for road in roads[1:]:
        feature = QgsFeature(layer.fields())
        feature.setGeometry(QgsGeometry.fromWkt(road))
        layer.dataProvider().addFeature(feature)
    options = QgsVectorFileWriter.SaveVectorOptions()
    options.layerName = name
    if path.exists():
        options.actionOnExistingFile = QgsVectorFileWriter.ActionOnExistingFile.CreateOrOverwriteLayer
    QgsVectorFileWriter.writeAsVectorFormatV3(layer, str(path), QgsCoordinateTransformContext(), options)
    QgsProject.instance().removeMapLayer(layer)
    layer = QgsVectorLayer(f"{path}|layername={name}" if name else str(path), "Roads", "ogr")
    QgsProject.instance().addMapLayer(layer)
    return layer


@pytest.fixture
def network(tmp_path):
    return make_network(tmp_path / "roads.gpkg")


@pytest.fixture
def window(network, qgis_app):
    return open_window(network, VIEW, network.crs())


def verdicts(tmp_path, name="roads"):
    """Return verdict, line and length in meters of each feature in the file beside the network."""
    layer = QgsVectorLayer(str(tmp_path / f"{name} review.gpkg"), "review", "ogr")
    return sorted((each["review"], each["line"], round(each.geometry().length())) for each in layer.getFeatures())


def pixel(window, x, y):
    place = window.mapCanvas().getCoordinateTransform().transform(QgsPointXY(x, y))
    return QPoint(round(place.x()), round(place.y()))


def drag(window, *places):
    view = window.mapCanvas().viewport()
    begin, *others = [pixel(window, *place) for place in places]
    QTest.mousePress(view, Qt.MouseButton.LeftButton, pos=begin)
    for place in others:
        QTest.mouseMove(view, place)
    QTest.mouseRelease(view, Qt.MouseButton.LeftButton, pos=others[-1] if others else begin)


def press(window, keys):
    for key in keys:
        QTest.keyClick(window.mapCanvas(), getattr(Qt.Key, f"Key_{key}"))


def progress(review):
    return review.panel.progress.value(), review.panel.progress.maximum()


def test_a_click_rejects_a_line_a_stroke_a_part_and_a_key_accepts_the_rest_of_the_view(review, window, tmp_path):
    review.begin()
    assert "verdict: <b>2</b>" in review.panel.line.text() and progress(review) == (0, 4)
    # The file lies in the system's folder of temporary ones.
    assert "Make Permanent" in review.panel.note.text()
    drag(window, (350040, 3060000))
    assert verdicts(tmp_path) == [("rejected", 1, 80)] and progress(review) == (1, 4)
    drag(window, (350050, 3060020), (350060, 3060020), (350100, 3060020))
    (_, (verdict, line, length_m)) = verdicts(tmp_path)
    assert (verdict, line) == ("rejected", 2) and 30 <= length_m <= 34 and progress(review) == (1, 4)
    press(window, "A")
    assert verdicts(tmp_path)[0] == ("accepted", 2, 80) and progress(review) == (2, 4)
    # The map has moved to the nearest line that is left, at the same scale.
    assert window.mapCanvas().extent().contains(QgsPointXY(350540, 3060000))
    assert window.mapCanvas().extent().width() == pytest.approx(VIEW.width(), rel=0.5)
    drag(window, (350540, 3060030))
    assert "no line under the brush" in review.panel.problem.text() and len(verdicts(tmp_path)) == 3


def test_going_back_takes_verdicts_away_and_skipped_views_come_last(review, window, tmp_path):
    review.begin()
    press(window, "N")
    assert window.mapCanvas().extent().contains(QgsPointXY(350540, 3060000)) and progress(review) == (0, 4)
    press(window, "AA")
    assert progress(review) == (2, 4) and window.mapCanvas().extent().intersects(VIEW)
    press(window, "A")
    assert progress(review) == (4, 4) and "complete" in review.panel.line.text()
    press(window, "BBB")
    assert progress(review) == (0, 4) and verdicts(tmp_path) == []


def test_going_back_passes_over_verdicts_that_were_deleted_in_the_layer(review, window):
    review.begin()
    press(window, "A")
    (layer,) = QgsProject.instance().mapLayersByName("Review of Roads")
    layer.startEditing()
    layer.deleteFeature(1)
    assert layer.commitChanges()
    press(window, "B")
    assert progress(review) == (0, 4) and review.panel.problem.text() == "" and layer.featureCount() == 0


def test_a_later_review_goes_on_and_a_network_that_came_in_its_place_is_judged_anew(review, window, network, tmp_path):
    review.begin()
    drag(window, (350040, 3060000))
    press(window, "A")
    review.panel.close()
    press(window, "A")
    assert len(verdicts(tmp_path)) == 2
    review.begin()
    assert progress(review) == (0, 2)
    review.end()
    moved = {1: QgsGeometry.fromWkt("LineString (350000 3061000, 350080 3061000)")}
    assert network.dataProvider().changeGeometryValues(moved)
    review.begin()
    assert progress(review) == (0, 3)


def test_lines_that_were_reviewed_or_drawn_before_are_not_asked_again(review, window, network):
    status = network.fields().lookupField("status")
    values = {1: {status: "machine"}, 2: {status: "Drawn"}, 3: {status: "reviewed"}}
    assert network.dataProvider().changeAttributeValues(values)
    review.begin()
    assert progress(review) == (0, 2) and "<b>1</b>" in review.panel.line.text()


def test_views_that_are_too_coarse_and_layers_that_are_in_no_file_are_refused(review, window, tmp_path):
    review.begin()
    window.mapCanvas().zoomScale(50_000)
    press(window, "A")
    assert "Zoom in" in review.panel.problem.text() and verdicts(tmp_path) == []
    window.setActiveLayer(memory_layer("LineString", "Drawn", ROADS[0], crs="EPSG:32645"))
    review.begin()
    assert "has no file" in messages(window)[0]
    (tmp_path / "other review.gpkg").write_text("of something else")
    window.setActiveLayer(make_network(tmp_path / "other.gpkg"))
    review.begin()
    assert "is not the review of this network" in messages(window)[0]


def test_a_line_that_was_accepted_or_just_drawn_can_still_be_rejected(review, window, network, tmp_path):
    review.begin()
    press(window, "A")
    window.mapCanvas().setExtent(VIEW)
    drag(window, (350040, 3060000))
    assert verdicts(tmp_path)[-1] == ("rejected", 1, 80) and progress(review) == (2, 4)
    network.startEditing()
    feature = QgsFeature(network.fields())
    feature.setGeometry(QgsGeometry.fromWkt("LineString (350000 3060040, 350080 3060040)"))
    network.addFeature(feature)
    drag(window, (350040, 3060040))
    assert len(verdicts(tmp_path)) == 4 and progress(review) == (2, 4)
    press(window, "BBB")
    assert verdicts(tmp_path) == [] and progress(review) == (0, 4)
    network.rollBack()


def test_lines_are_decided_by_their_place_and_each_part_counts_once(review, window, network):
    review.begin()
    for _ in range(3):
        drag(window, (350050, 3060020), (350060, 3060020), (350100, 3060020))
    review.end()
    review.begin()
    assert progress(review) == (0, 4)
    press(window, "A")
    review.end()
    # One of two lines is split, and another one has the number of the other and crosses its place.
    halves = ["LineString (350000 3060000, 350040 3060000)", "LineString (350040 3060000, 350080 3060000)"]
    other = QgsGeometry.fromWkt("LineString (350040 3059980, 350040 3060060)")
    assert network.dataProvider().changeGeometryValues({1: QgsGeometry.fromWkt(halves[0]), 2: other})
    feature = QgsFeature(network.fields())
    feature.setGeometry(QgsGeometry.fromWkt(halves[1]))
    assert network.dataProvider().addFeature(feature)
    review.begin()
    assert progress(review) == (0, 3)


def test_networks_that_share_a_file_or_its_name_do_not_share_a_review(review, window, tmp_path):
    for name in ("north", "south"):
        window.setActiveLayer(make_network(tmp_path / "town.gpkg", name=name))
        window.mapCanvas().setExtent(VIEW)
        review.begin()
        assert progress(review) == (0, 4)
        press(window, "A")
    assert (tmp_path / "town south review.gpkg").is_file()
    # The first layer, without its name in the source.
    first = QgsVectorLayer(str(tmp_path / "town.gpkg"), "Roads", "ogr")
    QgsProject.instance().addMapLayer(first)
    window.setActiveLayer(first)
    review.begin()
    assert progress(review) == (0, 2)
    in_degrees = make_network(tmp_path / "other.gpkg", ["LineString (85 27, 85.1 27)"], crs="EPSG:4326")
    (tmp_path / "town north review.gpkg").rename(tmp_path / "other review.gpkg")
    window.setActiveLayer(in_degrees)
    review.begin()
    assert "is not the review of this network" in messages(window)[0]


def test_lines_without_a_place_are_left_out_and_those_off_the_map_do_no_harm(review, window, tmp_path):
    window.setActiveLayer(make_network(tmp_path / "empty.gpkg", [*ROADS[:2], "LineString EMPTY"]))
    review.begin()
    press(window, "A")
    assert progress(review) == (2, 2)
    window.setActiveLayer(make_network(tmp_path / "far.gpkg", ["LineString (0 95, 1 95)"], crs="EPSG:4326"))
    review.begin()
    press(window, "N")
    assert progress(review) == (0, 1)


def test_a_view_across_the_antimeridian_judges_nothing_on_the_other_side_of_the_earth(review, window, tmp_path):
    roads = ["LineString (179.9995 -16.5, 179.9999 -16.5)", "LineString (10 -16.5, 10.001 -16.5)"]
    network, canvas = make_network(tmp_path / "fiji.gpkg", roads, crs="EPSG:4326"), window.mapCanvas()
    canvas.setDestinationCrs(QgsCoordinateReferenceSystem("EPSG:3832"))
    to_map = QgsCoordinateTransform(network.crs(), canvas.mapSettings().destinationCrs(), QgsProject.instance())
    border = to_map.transform(QgsPointXY(180, -16.5))
    canvas.setExtent(QgsRectangle.fromCenterAndSize(border, 200, 150))
    window.setActiveLayer(network)
    review.begin()
    drag(window, (border.x() - 50, border.y()), (border.x() + 5, border.y()), (border.x() + 50, border.y()))
    press(window, "A")
    assert verdicts(tmp_path, "fiji") == [] and progress(review) == (0, 2)


def test_another_source_ends_the_review_and_so_does_its_panel_while_a_road_is_drawn(
    review, window, network, tmp_path, monkeypatch
):
    drawn = []
    monkeypatch.setattr(Tracing, "draw_one", lambda self, layer, then: drawn.append(then))
    review.begin()
    press(window, "D")
    review.panel.close()
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    drawn[0]()
    review.begin()
    network.setDataSource(make_network(tmp_path / "other.gpkg").source(), "Other", "ogr")
    press(window, "A")
    assert verdicts(tmp_path) == []


def test_a_removed_layer_of_verdicts_ends_the_review(review, window):
    review.begin()
    layers = QgsProject.instance().mapLayersByName("Review of Roads")
    QgsProject.instance().removeMapLayer(layers[0])
    assert "was removed" in review.panel.problem.text()
    press(window, "A")
