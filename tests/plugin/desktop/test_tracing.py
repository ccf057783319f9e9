"""Tracing with clicks and keys on a map, with a worker that only plays its part: what is drawn, split and refused."""

import pytest
from qgis.core import (
    QgsCoordinateReferenceSystem,
    QgsCoordinateTransform,
    QgsCoordinateTransformContext,
    QgsField,
    QgsPointXY,
    QgsProject,
    QgsRasterLayer,
    QgsRectangle,
    QgsVectorFileWriter,
    QgsVectorLayer,
)
from qgis.gui import QgsMapToolPan
from qgis.PyQt.QtCore import QEvent, QMetaType, QPoint, QPointF, Qt
from qgis.PyQt.QtGui import QMouseEvent
from qgis.PyQt.QtTest import QTest
from qgis.PyQt.QtWidgets import QAction, QApplication, QInputDialog
from roadseg.qgis_roadseg.desktop.probability import BAND
from roadseg.qgis_roadseg.desktop.review.control import Review
from roadseg.qgis_roadseg.desktop.review.painting import PaintingTool
from roadseg.qgis_roadseg.desktop.tracing.control import Tracing
from roadseg.qgis_roadseg.runtime import runtime

from ..support.acting import memory_layer, wait_until_gone
from ..support.window import messages, open_window

pytestmark = pytest.mark.usefixtures("qgis_new_project", "no_settings")

# A worker that leads each path over a vertex one meter north of its middle.
TRACER = """
place = (0.0, 0.0)
send("log", message="ready")
for line in sys.stdin:
    command = json.loads(line)
    if command["command"] == "stop":
        break
    there = command["x"], command["y"]
    if command["command"] == "begin":
        place = there
    else:
        middle = (place[0] + there[0]) / 2, (place[1] + there[1]) / 2 + 1
        points = ", ".join(f"{x!r} {y!r}" for x, y in (place, middle, there))
        send("traced", sequence=command["sequence"], geometry=f"LINESTRING ({points})", probability=0.8, width_m=4.5)
send("result", result={"traced": 1})
"""
FIELDS = "&field=name:string&field=road_probability:double&field=status:string&field=width_m:double"
# A road of the layer, from west to east.
ROAD = "LineString (350002 3059990, 350018 3059990)"
LEFT, SHIFT = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.ShiftModifier
NO_KEY = Qt.KeyboardModifier.NoModifier


@pytest.fixture
def probability(image):
    from osgeo import gdal

    path = image.with_name("p.tif")
    written = gdal.Translate(str(path), str(image), bandList=[1])
    written.GetRasterBand(1).SetDescription(BAND)
    del written  # which writes the file
    layer = QgsRasterLayer(str(path), "Probability")
    QgsProject.instance().addMapLayer(layer)
    return layer


@pytest.fixture
def roads(probability):
    layer = memory_layer("LineString", "Roads", ROAD, FIELDS)
    layer.startEditing()
    return layer


@pytest.fixture
def window(roads, qgis_app):
    extent, crs = QgsRectangle(350000, 3059985, 350020, 3060000), QgsCoordinateReferenceSystem("EPSG:32645")
    return open_window(roads, extent, crs, (800, 600))


@pytest.fixture
def tracing(window, play_runtime):
    play_runtime(TRACER)
    tracing = Tracing(window)
    tracing.action = QAction("Trace roads", window.mainWindow())
    tracing.action.setCheckable(True)
    yield tracing
    tracing.close()


@pytest.fixture
def hand(tracing, window, wait_for):
    tracing.toggle()
    assert messages(window) == [] and tracing.action.isChecked()
    return Hand(window.mapCanvas(), tracing, wait_for)


class Hand:
    """A person's hand at mouse and keyboard; places are meters east and north of a corner of the map."""

    def __init__(self, canvas, tracing, wait_for):
        self.canvas, self.tracing = canvas, tracing
        self.wait_for = lambda is_so: wait_for(is_so, 10)

    def snap(self, east, north):
        """Move until the lines are indexed, and the pointer is on one of them."""
        marker = self.tracing._drawing._snapped
        self.wait_for(lambda: self.move(east, north) or marker.isVisible())

    def click(self, east, north, keys=NO_KEY):
        self.move(east, north, keys)
        QTest.mouseClick(self.canvas.viewport(), LEFT, keys, self.pixel(east, north))

    def move(self, east, north, keys=NO_KEY):
        spot, none = QPointF(self.pixel(east, north)), Qt.MouseButton.NoButton
        event = QMouseEvent(QEvent.Type.MouseMove, spot, spot, none, none, keys)
        QApplication.sendEvent(self.canvas.viewport(), event)

    def pixel(self, east, north):
        point = self.canvas.getCoordinateTransform().transform(QgsPointXY(350000 + east, 3059985 + north))
        return QPoint(round(point.x()), round(point.y()))

    def double_click(self, east, north):
        self.click(east, north)
        QTest.mouseDClick(self.canvas.viewport(), LEFT, pos=self.pixel(east, north))

    def press(self, *keys):
        for key in keys:
            QTest.keyClick(self.canvas, getattr(Qt.Key, f"Key_{key}"))


def lines(layer):
    """Return the lines by their ends and middle vertices, in meters from a corner, rounded."""
    found = []
    for feature in layer.getFeatures():
        parts = feature.geometry().asGeometryCollection() if feature.geometry().isMultipart() else [feature.geometry()]
        found += [[(round(p.x() - 350000, 1), round(p.y() - 3059985, 1)) for p in part.asPolyline()] for part in parts]
    return sorted(found)


def near(found, *expected):
    assert len(found) == len(expected), found
    for line, points in zip(found, sorted(expected)):
        assert len(line) == len(points), (line, points)
        assert all(abs(a - c) < 0.1 and abs(b - d) < 0.1 for (a, b), (c, d) in zip(line, points)), (line, points)


OLD = [(2, 5), (18, 5)]


def test_clicks_draw_along_the_answers_and_one_undo_takes_the_road_back(hand, roads):
    hand.click(4, 10)
    hand.click(10, 12)
    hand.double_click(16, 10)
    hand.wait_for(lambda: roads.featureCount() == 2)
    near(lines(roads), OLD, [(4, 10), (7, 12), (10, 12), (13, 12), (16, 10)])
    (feature,) = [each for each in roads.getFeatures() if each["status"]]
    assert (feature["road_probability"], feature["status"], feature["width_m"]) == (0.8, "drawn", 4.5)
    assert roads.undoStack().undoText() == "Trace road"
    roads.undoStack().undo()
    near(lines(roads), OLD)


def test_the_line_to_the_pointer_is_shown_as_it_moves(hand):
    hand.click(4, 10)
    hand.move(10, 11)
    band = hand.tracing._drawing._next
    hand.wait_for(lambda: band.numberOfVertices() == 3)
    hand.move(14, 8)
    hand.wait_for(lambda: abs(band.asGeometry().asPolyline()[-1].x() - 350014) < 0.1)


def test_backspace_takes_clicks_back_and_escape_the_whole_road(hand, roads):
    hand.click(4, 10)
    hand.click(10, 12)
    hand.click(12, 8)
    hand.press("Backspace")
    hand.click(16, 10)
    hand.press("Return")
    hand.wait_for(lambda: roads.featureCount() == 2)
    near(lines(roads), OLD, [(4, 10), (7, 12), (10, 12), (13, 12), (16, 10)])
    hand.click(4, 8)
    hand.click(10, 8)
    hand.press("Escape", "Return")
    hand.click(6, 8)
    hand.press("Backspace", "Backspace", "Return")
    hand.wait_for(lambda: True)
    assert roads.featureCount() == 2 and hand.tracing.action.isChecked()


def test_with_shift_a_segment_is_straight_and_says_nothing_of_the_probability(hand, roads):
    hand.click(4, 10)
    hand.click(10, 12, SHIFT)
    hand.press("Enter")
    hand.wait_for(lambda: roads.featureCount() == 2)
    near(lines(roads), OLD, [(4, 10), (10, 12)])
    (feature,) = [each for each in roads.getFeatures() if each["status"]]
    assert not feature["road_probability"] and feature["status"] == "drawn"


@pytest.mark.parametrize("kind", ["LineString", "MultiLineStringZ"])
def test_a_road_that_ends_on_another_splits_it_there(tracing, window, roads, wait_for, kind):
    layer = roads
    if kind != "LineString":
        layer = memory_layer(
            kind, "Many", f"{kind} ((350002 3059990 7, 350018 3059990 9), (350002 3059999 7, 350004 3059999 7))", FIELDS
        )
        layer.startEditing()
        window.setActiveLayer(layer)
    (feature,) = layer.getFeatures()
    layer.changeAttributeValue(feature.id(), 0, "High Street")
    tracing.toggle()
    hand = Hand(window.mapCanvas(), tracing, wait_for)
    hand.click(10, 12)
    hand.snap(10, 5.1)
    hand.double_click(10, 5.1)
    hand.wait_for(lambda: layer.featureCount() == 3)
    more = [] if kind == "LineString" else [[(2, 14), (4, 14)]]
    near(lines(layer), [(2, 5), (10, 5)], [(10, 5), (18, 5)], [(10, 12), (10, 9.5), (10, 5)], *more)
    assert sorted(str(each["name"]) for each in layer.getFeatures())[:2] == ["High Street", "High Street"]
    ends = [point for line in layer.getFeatures() for part in line.geometry().constParts()
            for point in (part.startPoint(), part.endPoint()) if abs(point.y() - 3059990) < 0.2]  # fmt: skip
    assert len({(point.x(), point.y()) for point in ends}) == 3
    layer.undoStack().undo()
    assert layer.featureCount() == 1


def test_a_road_that_begins_and_ends_on_the_same_line_splits_it_twice_and_shares_out_its_length(hand, roads):
    roads.addAttribute(QgsField("length_m", QMetaType.Type.Double))
    (feature,) = roads.getFeatures()
    roads.changeAttributeValue(feature.id(), roads.fields().lookupField("length_m"), 32.0)
    hand.snap(6, 5.1)
    hand.click(6, 5.1)
    hand.click(9, 12, SHIFT)
    hand.click(12, 5, SHIFT)
    hand.press("Return")
    drawn = [(6, 5), (9, 12), (12, 5)]
    near(lines(roads), [(2, 5), (6, 5)], [(6, 5), (12, 5)], [(12, 5), (18, 5)], drawn)
    shares = sorted(each["length_m"] for each in roads.getFeatures() if not each["status"])
    assert shares == pytest.approx([8, 12, 12], abs=0.2)


def test_a_road_that_ends_near_the_end_of_another_meets_it_just_there(hand, roads):
    hand.click(10, 12)
    hand.snap(17.9, 5.1)
    hand.double_click(17.9, 5.1)
    hand.wait_for(lambda: roads.featureCount() == 2)
    (end,) = [each.geometry().asPolyline()[-1] for each in roads.getFeatures() if each["status"]]
    assert end == QgsPointXY(350018, 3059990)


def test_a_layer_and_a_map_in_degrees_get_the_same_road(tracing, window, wait_for):
    degrees = QgsVectorLayer("MultiLineString?crs=epsg:4326" + FIELDS, "Degrees", "memory")
    QgsProject.instance().addMapLayer(degrees)
    degrees.startEditing()
    window.setActiveLayer(degrees)
    tracing.toggle()
    hand = Hand(window.mapCanvas(), tracing, wait_for)
    hand.click(4, 10)
    hand.double_click(10, 12)
    hand.wait_for(lambda: degrees.featureCount() == 1)
    (feature,) = degrees.getFeatures()
    geometry = feature.geometry()
    systems = degrees.crs(), QgsCoordinateReferenceSystem("EPSG:32645")
    geometry.transform(QgsCoordinateTransform(*systems, QgsProject.instance()))
    (points,) = geometry.asMultiPolyline()
    near([[(p.x() - 350000, p.y() - 3059985) for p in points]], [(4, 10), (7, 12), (10, 12)])


@pytest.fixture
def network(roads, window, tmp_path):
    """Return the layer as a file, which is not being edited."""
    roads.commitChanges()
    options = QgsVectorFileWriter.SaveVectorOptions()
    path = str(tmp_path / "network.gpkg")
    QgsVectorFileWriter.writeAsVectorFormatV3(roads, path, QgsCoordinateTransformContext(), options)
    layer = QgsVectorLayer(path, "Network", "ogr")
    QgsProject.instance().addMapLayer(layer)
    window.setActiveLayer(layer)
    return layer


@pytest.fixture
def review(window, tracing, network):
    review = Review(window, tracing)
    review.begin()
    yield review
    review.close()


def test_a_missing_road_is_traced_in_the_review_and_saved_and_the_review_goes_on(
    review, tracing, window, network, wait_for
):
    hand = Hand(window.mapCanvas(), tracing, wait_for)
    hand.press("D")
    assert tracing.action.isChecked() and network.isEditable()
    hand.press("X")  # which is no key of the review while a road is drawn
    hand.click(4, 10)
    hand.double_click(16, 10)
    hand.wait_for(lambda: not tracing.action.isChecked())
    assert not network.isEditable() and network.dataProvider().featureCount() == 2
    assert sorted(each["status"] or "" for each in network.dataProvider().getFeatures()) == ["", "drawn"]
    assert isinstance(window.mapCanvas().mapTool(), PaintingTool)
    hand.press("D", "Escape")
    assert network.featureCount() == 2 and not network.isEditable() and not tracing.action.isChecked()
    assert isinstance(window.mapCanvas().mapTool(), PaintingTool)


def test_edits_of_a_persons_own_are_not_saved_by_a_road_of_the_review(review, tracing, window, network, wait_for):
    network.startEditing()
    hand = Hand(window.mapCanvas(), tracing, wait_for)
    hand.press("D")
    hand.click(4, 10)
    hand.double_click(16, 10)
    hand.wait_for(lambda: not tracing.action.isChecked())
    assert network.isEditable() and network.featureCount() == 2 and network.dataProvider().featureCount() == 1
    network.rollBack()


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda network, probability: network.setReadOnly(True), "Network is read-only"),
        (lambda network, probability: QgsProject.instance().removeMapLayer(probability.id()), "no road probability"),
    ],
)
def test_where_no_road_can_be_drawn_the_review_says_so(review, tracing, window, network, probability, spoil, why):
    spoil(network, probability)
    QTest.keyClick(window.mapCanvas(), Qt.Key.Key_D)
    assert why in messages(window)[0] and not network.isEditable() and "Lines in this view" in review.panel.line.text()


def read_only(layer):
    layer.rollBack()
    layer.setReadOnly(True)


@pytest.mark.parametrize(
    ("kind", "spoil", "why"),
    [
        ("LineString", read_only, "Other is read-only"),
        ("LineString", lambda layer: layer.rollBack(), "Other is not being edited"),
        ("LineString", lambda layer: layer.setCrs(QgsCoordinateReferenceSystem()), "no coordinate reference system"),
        ("Point", lambda layer: None, "Other has no lines"),
        ("NoGeometry", lambda layer: None, "Other has no lines"),
    ],
)
def test_a_layer_in_which_no_road_can_be_drawn_is_refused(tracing, window, kind, spoil, why):
    other = QgsVectorLayer(f"{kind}?crs=epsg:32645", "Other", "memory")
    QgsProject.instance().addMapLayer(other)
    other.startEditing()
    spoil(other)
    window.setActiveLayer(other)
    tracing.toggle()
    assert why in messages(window)[0] and not tracing.action.isChecked()


def test_without_a_layer_a_probability_or_a_runtime_there_is_a_reason(tracing, window, roads, probability, monkeypatch):
    window.setActiveLayer(probability)
    tracing.toggle()
    window.setActiveLayer(None)
    tracing.toggle()
    window.setActiveLayer(roads)
    monkeypatch.setattr(runtime, "named", lambda: None)
    monkeypatch.setattr(runtime, "managed_set", lambda: None)
    tracing.toggle()
    QgsProject.instance().removeMapLayer(probability.id())
    tracing.toggle()
    assert [text.split()[:3] for text in messages(window)[::-1]] == [
        ["The", "layer", "Probability"], ["No", "layer", "is"], ["RoadSeg", "has", "no"], ["The", "project", "has"],
    ]  # fmt: skip


def test_a_probability_of_another_place_or_without_its_file_is_refused(tracing, window, image, probability):
    extent = window.mapCanvas().extent()
    window.mapCanvas().setExtent(QgsRectangle(360000, 3059985, 360020, 3060000))
    tracing.toggle()
    window.mapCanvas().setExtent(extent)
    QgsProject.instance().removeMapLayer(probability.id())
    QgsProject.instance().addMapLayer(QgsRasterLayer(str(image.with_name("gone.tif")), "Gone"))
    tracing.toggle()
    assert "no road probability" in messages(window)[0] and "does not cover" in messages(window)[1]
    assert not tracing.action.isChecked()


def test_of_several_probabilities_a_person_chooses_one_for_the_project(tracing, window, probability, monkeypatch):
    other = QgsRasterLayer(probability.source(), "Another")
    QgsProject.instance().addMapLayer(other)
    asked = []
    answer = lambda *arguments: (asked.append(arguments[3]) or arguments[3][0], bool(len(asked) > 1))  # noqa: E731
    monkeypatch.setattr(QInputDialog, "getItem", answer)
    tracing.toggle()
    assert not tracing.action.isChecked()
    tracing.toggle()
    tracing.toggle()
    tracing.toggle()
    assert tracing.action.isChecked() and len(asked) == 2 and asked[1] == ["1: Another", "2: Probability"]


@pytest.mark.parametrize(
    ("happen", "why"),
    [
        (lambda roads, probability: QgsProject.instance().removeMapLayer(roads.id()), "Roads was removed"),
        (lambda roads, probability: QgsProject.instance().removeMapLayer(probability.id()), "Probability was removed"),
        (lambda roads, probability: QgsProject.instance().clear(), "was removed"),
        (lambda roads, probability: roads.rollBack(), "Roads is no longer being edited"),
    ],
)
def test_what_takes_the_ground_away_ends_the_tool(hand, window, roads, probability, happen, why):
    hand.click(4, 10)
    hand.click(10, 12)
    worker = hand.tracing._session.process_id
    happen(roads, probability)
    assert why in messages(window)[0] and not hand.tracing.action.isChecked()
    hand.wait_for(lambda: not hand.tracing._sessions.running)
    assert wait_until_gone(worker)


def test_a_worker_that_dies_ends_the_tool_with_its_reason(hand, window, tracing, play_runtime):
    tracing.end()
    play_runtime('send("error", code="imagery", message="p.tif is a mask.", remedy="Choose another.")', "other")
    tracing.toggle()
    hand.click(4, 10)
    hand.wait_for(lambda: not tracing.action.isChecked())
    assert "p.tif is a mask. Choose another." in messages(window)[0]


def test_another_tool_ends_tracing_and_no_line_is_left_behind(hand, window, roads):
    hand.click(4, 10)
    hand.click(10, 12)
    pan = QgsMapToolPan(hand.canvas)
    hand.canvas.setMapTool(pan)
    assert hand.canvas.mapTool() is pan
    assert not hand.tracing.action.isChecked() and roads.featureCount() == 1
    hand.tracing.toggle()
    assert hand.tracing.action.isChecked()
