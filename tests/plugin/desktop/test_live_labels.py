"""Label layers of a live session, watched: what is told to the worker of strokes, edits, undo, saving and removal."""

import time

import pytest
from qgis.core import (
    QgsCoordinateReferenceSystem,
    QgsFeature,
    QgsGeometry,
    QgsProject,
    QgsVectorLayer,
    QgsVectorLayerUtils,
)
from qgis.PyQt.QtCore import QTimer
from roadseg.qgis_roadseg.desktop.live import labels as live_labels
from roadseg.qgis_roadseg.desktop.live.features import add_features
from roadseg.qgis_roadseg.desktop.live.labels import Content, Label, LabelWatcher
from roadseg.qgis_roadseg.desktop.live.session_store import read_known
from roadseg.training_core.errors import LayerError

from ..support.acting import memory_layer

pytestmark = pytest.mark.usefixtures("provider", "qgis_new_project")

UTM = QgsCoordinateReferenceSystem("EPSG:32645")
LINE = "LineString (350000 3060000, 350010 3060000)"
OTHER = "LineString (350000 3060000, 350020 3060000)"


@pytest.fixture(autouse=True)
def in_the_project(qgis_new_project, labels, monkeypatch):
    monkeypatch.setattr(live_labels, "COALESCE_MS", 30)
    QgsProject.instance().addMapLayers(list(labels.values()))


class Told:
    """A watcher, and what it has told since it was last asked."""

    def __init__(self, application, known=()):
        self.watcher = LabelWatcher(UTM, known)
        self.lists, self.lost, self.forgotten, self.problems = [], [], [], []
        self.watcher.changed.connect(self.lists.append)
        self.watcher.lost.connect(lambda *names: self.lost.append(names))
        self.watcher.forgotten.connect(self.forgotten.extend)
        self.watcher.failed.connect(self.problems.append)
        self._application = application

    def rest(self, seconds=0.08):
        end = time.monotonic() + seconds
        while time.monotonic() < end or self.watcher._timer.isActive():
            self._application.processEvents()
            time.sleep(0.002)

    def all(self):
        self.rest()
        changes = [change for each in self.lists for change in each]
        self.lists.clear()
        return changes

    def geometries(self):
        return [(change["id"], change["geometry"]) for change in self.all()]


@pytest.fixture
def told(qgis_app):
    told = Told(qgis_app)
    yield told
    told.watcher.close()


@pytest.fixture
def roads(labels, told):
    """The layer of roads, watched and edited."""
    told.watcher.watch("roads", labels["roads"])
    assert told.all() == []
    labels["roads"].startEditing()
    return labels["roads"]


def draw(layer, wkt=LINE, **values):
    own = {layer.fields().lookupField(name): value for name, value in values.items()}
    feature = QgsVectorLayerUtils.createFeature(layer, QgsGeometry.fromWkt(wkt), own)
    layer.beginEditCommand("draw")
    layer.addFeature(feature)
    layer.endEditCommand()
    return next(each.id() for each in layer.getFeatures() if each.geometry().equals(feature.geometry()))


def test_strokes_that_are_not_saved_and_their_undoing_are_told(roads, told):
    draw(roads, width_m=4.5, sure=False)
    assert told.all() == [{"layer": "roads", "id": "1", "geometry": LINE, "width_m": 4.5, "sure": False}]
    roads.undoStack().undo()
    assert told.geometries() == [("1", None)]
    roads.undoStack().redo()
    assert told.geometries() == [("2", LINE)]
    draw(roads, OTHER)
    roads.undoStack().undo()
    assert told.all() == []  # undone at once
    draw(roads, OTHER)
    draw(roads, "LineString (350000 3060000, 350030 3060000)")
    told.rest()
    (changes,) = told.lists  # within a moment, so together
    assert len(changes) == 2


def test_a_changed_shape_or_width_is_told_under_the_same_id(roads, told):
    feature_id = draw(roads)
    told.all()
    roads.changeGeometry(feature_id, QgsGeometry.fromWkt(OTHER))
    assert told.geometries() == [("1", OTHER)]
    roads.changeAttributeValue(feature_id, roads.fields().lookupField("width_m"), 9.0)
    assert [(change["id"], change["width_m"]) for change in told.all()] == [("1", 9.0)]
    roads.changeAttributeValue(feature_id, roads.fields().lookupField("road_class"), "track")
    assert told.all() == []  # of which the worker learns nothing


def test_saving_changes_ids_but_tells_nothing_and_a_rollback_takes_back(roads, told):
    feature_id = draw(roads)
    told.all()
    assert roads.commitChanges(False)
    assert feature_id not in [each.id() for each in roads.getFeatures()] and told.all() == []
    draw(roads, OTHER)
    assert told.geometries() == [("2", OTHER)]
    roads.rollBack()
    assert told.geometries() == [("2", None)]
    roads.startEditing()
    roads.deleteFeature(next(roads.getFeatures()).id())
    assert told.geometries() == [("1", None)]


def test_layers_in_another_crs_are_told_in_that_of_the_image(told):
    line = "LineString (85.5 27.6, 85.501 27.6)"
    told.watcher.watch("roads", memory_layer("LineString", "Wege", line, "&field=width_m:double", "epsg:4326"))
    (change,) = told.all()
    geometry = QgsGeometry.fromWkt(change["geometry"])
    # A thousandth of a degree at this latitude is 111,320 m x cos 27.6° / 1000; UTM's scale differs by 0.04 % at most.
    assert geometry.length() == pytest.approx(98.65, rel=2e-3)
    assert change["width_m"] is None and change["sure"] is True


def test_what_cannot_be_transformed_is_left_out_with_a_word(told):
    far = "Polygon ((1e9 1e9, 2e9 1e9, 2e9 2e9, 1e9 1e9))"
    told.watcher.watch("aoi", memory_layer("Polygon", "Nirgends", far, crs="epsg:4326"))
    assert told.all() == []
    assert told.problems == [
        "Features of the layer Nirgends cannot be transformed to the image's CRS and are left out."
    ]


def test_widths_as_texts_are_read_and_others_are_told_once(told):
    layer = QgsVectorLayer("LineString?crs=epsg:32645&field=width_m:string", "Wege", "memory")
    QgsProject.instance().addMapLayer(layer)
    widths = ["12,5", " 4.5 m", "breit", "schmal", "", None]
    for text in widths:
        feature = QgsFeature(layer.fields())
        feature.setGeometry(QgsGeometry.fromWkt(LINE))
        feature.setAttributes([text])
        layer.dataProvider().addFeature(feature)
    told.watcher.watch("roads", layer)
    assert [change["width_m"] for change in told.all()] == [12.5, 4.5, None, None, None, None]
    assert told.problems == ["Some road widths in the layer Wege are not numbers. These roads get the common width."]


def test_another_layer_in_its_place_tells_the_difference_alone(roads, told):
    draw(roads)
    draw(roads, OTHER)
    told.all()
    copy = memory_layer("LineString", "Kopie", LINE, "&field=width_m:double&field=sure:bool")
    copy.dataProvider().changeAttributeValues({1: {0: 6.0, 1: True}})
    told.watcher.watch("roads", copy)
    assert told.geometries() == [("2", None)]


def test_a_filter_is_followed(roads, told):
    draw(roads, width_m=3.0)
    draw(roads, OTHER, width_m=8.0)
    roads.commitChanges()
    told.all()
    roads.setSubsetString("width_m > 5")
    assert [geometry for _, geometry in told.geometries()] == [None]


def test_what_an_earlier_session_knows_is_not_told_again_and_what_is_missing_is_named(labels, qgis_app, tmp_path):
    path = tmp_path / "labels.json"
    path.write_text(
        '{"command": "labels", "sequence": 0, "changes": ['
        '{"layer": "roads", "id": "7", "geometry": "LINESTRING (350000 3060000, 350010 3060000.0)", "width_m": 6,'
        ' "sure": true},'
        '{"layer": "roads", "id": "8", "geometry": "POLYGON ((0 0, 1 0, 1 1, 0 0))", "width_m": null, "sure": true}]}'
    )
    known = read_known(path, 3)
    polygon = Content("Polygon ((0 0, 1 0, 1 1, 0 0))", None, True)
    assert known == [Label("roads", "7", Content(LINE, 6.0, True)), Label("roads", "8", polygon)]
    labels["roads"].startEditing()
    draw(labels["roads"])
    told = Told(qgis_app, known)
    told.watcher.watch("roads", labels["roads"])
    assert told.geometries() == [("8", None)] and told.forgotten == [known[1]]
    draw(labels["roads"], OTHER)
    assert told.geometries() == [("9", OTHER)]
    told.watcher.close()


def test_labels_of_an_earlier_session_are_read_line_by_line(tmp_path):
    road = '{"layer": "roads", "id": "%s", "geometry": "LINESTRING (0 0, 9 0)", "width_m": null, "sure": true}'
    line = '{"command": "labels", "sequence": 0, "changes": [%s]}'
    path = tmp_path / "labels.json"
    path.write_text("\n".join(line % ", ".join(road % key for key in keys) for keys in ("12", "3", "")) + "\n")
    assert [label.key for label in read_known(path, 3)] == ["1", "2", "3"]
    path.write_text(line % (road % ("9" * 5000)) + "\n" + line % (road % "4"))
    assert [label.key for label in read_known(path, 3)] == ["4"]  # no id is as long


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"changes": [1, {}, {"layer": 3}]}', "\0", '{"changes": 3}'])
def test_a_file_of_labels_that_is_none_holds_none(tmp_path, text):
    path = tmp_path / "labels.json"
    path.write_text(text)
    assert read_known(path, 3) == read_known(tmp_path / "missing", 3) == []


def test_roads_are_read_in_slices_between_which_the_window_answers_and_told_together(labels, told, monkeypatch):
    layer, turns, count = labels["roads"], [], 100
    monkeypatch.setattr(live_labels, "SLICE_S", -1)  # a slice is over after its first feature
    for row in range(count):
        feature = QgsFeature(layer.fields())
        feature.setGeometry(QgsGeometry.fromWkt(f"LineString (350000 {row}, 350010 {row}, 350020 {row + 1})"))
        layer.dataProvider().addFeature(feature)
    timer = QTimer()
    timer.timeout.connect(lambda: turns.append(len(told.lists)))
    timer.start(0)
    told.watcher.watch("roads", layer)
    assert len(told.all()) == count and turns.count(0) >= count


def test_a_correction_of_a_layer_that_is_read_only_or_without_a_shape_is_refused(labels):
    labels["roads"].setReadOnly(True)
    with pytest.raises(LayerError, match="cannot be edited"):
        add_features(labels["roads"], LINE, UTM, "")
    with pytest.raises(LayerError, match="no shape"):
        add_features(labels["aoi"], "no geometry", UTM, "")


def test_a_correction_of_several_parts_becomes_as_many_features_that_one_undo_takes_back(labels):
    layer = labels["no_road"]
    parts = "MultiPolygon (((0 0, 1 0, 1 1, 0 0)),((5 5, 6 5, 6 6, 5 5)))"
    assert add_features(layer, parts, UTM, "No road here") == 2
    assert layer.featureCount() == 2 and layer.undoStack().undoText() == "No road here"
    layer.undoStack().undo()
    assert layer.featureCount() == 0
