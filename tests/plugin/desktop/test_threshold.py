"""The threshold by eye, with a worker that only plays its part: what is shown, kept, drawn and handed on."""

import json

import pytest
from qgis.core import (
    QgsApplication,
    QgsCoordinateReferenceSystem,
    QgsGeometry,
    QgsPointXY,
    QgsProject,
    QgsRasterLayer,
    QgsRectangle,
)
from qgis.gui import QgsMapToolPan
from qgis.PyQt.QtCore import QEvent, QPoint, QPointF, Qt
from qgis.PyQt.QtGui import QMouseEvent
from qgis.PyQt.QtTest import QTest
from qgis.PyQt.QtWidgets import QApplication
from roadseg.qgis_roadseg.desktop.probability import BAND
from roadseg.qgis_roadseg.desktop.threshold import control, map_view
from roadseg.qgis_roadseg.desktop.threshold.control import Threshold
from roadseg.qgis_roadseg.layers.styles import THRESHOLD_PROPERTY

from ..support.window import left_behind, messages, open_window

pytestmark = pytest.mark.usefixtures("qgis_new_project", "no_settings", "provider")

# A worker that draws a line across the view at the height of the threshold, and writes down what it was asked.
FINDER = """
asked = open("ASKED", "a")
if job()["job"] == "vectorize":
    shutil.copy(sys.argv[-1], "ASKED.job")
    send("error", code="layer", message="It ends here.", remedy="")
    sys.exit(1)
for line in sys.stdin:
    command = json.loads(line)
    if command["command"] == "stop":
        break
    asked.write(line)
    asked.flush()
    left, bottom, right, top = command["extent"]
    y = bottom + command["threshold"] * (top - bottom)
    shown = None if right - left > 100 else f"MULTILINESTRING (({left} {y}, {right} {y}))"
    send("lines", sequence=command["sequence"], geometry=shown)
send("result", result={"traced": 0})
"""


@pytest.fixture
def probability(image):
    from osgeo import gdal

    path = image.with_name("p.tif")
    written = gdal.Translate(str(path), str(image), bandList=[1], scaleParams=[[0, 1, 0, 1]])
    band = written.GetRasterBand(1)
    band.Fill(102)  # 0.40
    band.SetDescription(BAND)
    band.SetScale(1 / 254)
    del band, written  # which writes the file
    layer = QgsRasterLayer(str(path), "Probability")
    QgsProject.instance().addMapLayer(layer)
    return layer


@pytest.fixture
def window(probability, qgis_app):
    extent, crs = QgsRectangle(350000, 3059985, 350020, 3060000), QgsCoordinateReferenceSystem("EPSG:32645")
    return open_window(probability, extent, crs, (900, 600))


@pytest.fixture
def asked(tmp_path):
    path = tmp_path / "asked"
    return lambda: [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture
def threshold(window, play_runtime, tmp_path, asked, wait_for):
    play_runtime("import shutil\n" + FINDER.replace("ASKED", str(tmp_path / "asked")))
    threshold = Threshold(window)
    threshold.begin()
    assert messages(window) == [] and threshold.panel.isVisible()
    wait_for(lambda: shown(threshold).length() > 0, 20)
    yield threshold
    threshold.close()


def shown(threshold):
    return threshold._view._lines.asGeometry()


def color(layer, probability):
    """Return the opacity with which a probability is drawn, 0 to 255."""
    return layer.renderer().shader().rasterShaderFunction().shade(probability)[-1]


def drag(canvas, *places):
    """Draw a lasso; places are meters east and north of a corner of the map."""
    spots = []
    for east, north in places:
        point = canvas.getCoordinateTransform().transform(QgsPointXY(350000 + east, 3059985 + north))
        spots.append(QPoint(round(point.x()), round(point.y())))
    left = Qt.MouseButton.LeftButton
    QTest.mousePress(canvas.viewport(), left, pos=spots[0])
    for spot in spots[1:]:
        at = QPointF(spot)
        event = QMouseEvent(QEvent.Type.MouseMove, at, at, Qt.MouseButton.NoButton, left, Qt.KeyboardModifier(0))
        QApplication.sendEvent(canvas.viewport(), event)
    QTest.mouseRelease(canvas.viewport(), left, pos=spots[-1])


SQUARE = [(4, 4), (10, 4), (10, 10), (4, 10)]


def test_the_slider_shows_the_mask_at_once_and_the_lines_follow(threshold, probability, asked, wait_for):
    assert threshold.panel.slider.value() == 50 and threshold.panel.number.text() == "0.50"
    before = len(asked())
    for value in (45, 42, 40):  # by the keys, too, it moves in such steps
        threshold.panel.slider.setValue(value)
        opacity = [color(probability, p) for p in (value / 100 - 0.01, value / 100, 1.0)]
        assert 0 < opacity[0] < opacity[1] == opacity[2] and color(probability, 0.8 * value / 100 - 0.01) == 0
    wait_for(lambda: abs(shown(threshold).boundingBox().center().y() - 3059985 - 0.4 * 15) < 1, 5)
    assert len(asked()) == before + 1 and asked()[-1]["threshold"] == 0.4 and asked()[-1]["areas"] == []


def test_a_lasso_has_a_step_more_or_fewer_roads_and_undo_takes_it_back(threshold, window, asked, wait_for):
    panel, canvas = threshold.panel, window.mapCanvas()
    panel.buttons["more"].click()
    assert panel.buttons["more"].isChecked()
    drag(canvas, *SQUARE)
    drag(canvas, (5, 5), (9, 5), (9, 9))
    drag(canvas, (1, 1), (1.01, 1), (1.01, 1.01))  # a slip of the hand
    panel.buttons["fewer"].click()
    assert panel.buttons["fewer"].isChecked() and not panel.buttons["more"].isChecked()
    drag(canvas, (12, 2), (15, 7), (18, 12))  # across a rectangle
    wait_for(lambda: len(asked()[-1]["areas"]) == 3, 5)
    areas = asked()[-1]["areas"]
    assert [area["threshold"] for area in areas] == [0.385, 0.281, 0.615]
    sizes = [QgsGeometry.fromWkt(area["geometry"]).area() for area in areas]
    assert sizes == pytest.approx([36, 8, 60], rel=0.1)
    for left in (2, 1, 0):
        panel.buttons["undo"].click()
        wait_for(lambda left=left: len(asked()[-1]["areas"]) == left, 5)
    assert not panel.buttons["undo"].isEnabled()
    panel.buttons["fewer"].click()
    assert not panel.buttons["fewer"].isChecked() and canvas.mapTool() is None
    panel.buttons["more"].click()
    canvas.setMapTool(QgsMapToolPan(canvas))
    assert not panel.buttons["more"].isChecked()


def test_the_choice_is_kept_with_the_layer_and_its_own_style_comes_back(threshold, probability, window, tmp_path):
    own = "singlebandgray"
    threshold.panel.slider.setValue(31)
    threshold.panel.buttons["fewer"].click()
    drag(window.mapCanvas(), *SQUARE)
    project = QgsProject.instance()
    assert project.write(str(tmp_path / "p.qgz")) and probability.renderer().type() == "singlebandpseudocolor"
    threshold.panel.close()
    assert probability.renderer().type() == own and threshold._session is None
    project.read(str(tmp_path / "p.qgz"))
    (again,) = project.mapLayers().values()
    assert again.renderer().type() == own
    window.setActiveLayer(again)
    threshold.begin()
    assert threshold.panel.slider.value() == 31 and len(threshold._choice.areas) == 1
    assert threshold._choice.areas[0].threshold > 0.31


ELSEWHERE = {"geometry": "POLYGON ((0 0, 1 1, 1 0, 0 0))", "threshold": 0.3}


@pytest.mark.parametrize(
    "kept",
    [
        *("", "x", "[]", '{"threshold": 7}'),
        json.dumps({"threshold": 0.2, "crs": "EPSG:32645", "areas": [{**ELSEWHERE, "geometry": "POINT (1 1)"}]}),
        json.dumps({"threshold": 0.2, "crs": "EPSG:4326", "areas": [ELSEWHERE]}),
    ],
)
def test_a_kept_choice_that_means_nothing_here_is_passed_over(threshold, probability, kept):
    threshold.end()
    probability.setCustomProperty(THRESHOLD_PROPERTY, kept)
    threshold.begin()
    assert (threshold._choice.threshold, threshold._choice.areas) == (0.2 if "0.2" in kept else 0.5, ())


def test_all_lines_are_extracted_in_the_background_with_the_areas_and_an_error_is_told(
    threshold, probability, window, tmp_path, wait_for
):
    threshold.panel.slider.setValue(31)
    threshold.panel.buttons["more"].click()
    drag(window.mapCanvas(), *SQUARE)
    threshold.panel.buttons["extract"].click()
    wait_for(lambda: "It ends here." in " ".join(messages(window)), 20)
    assert threshold.panel.buttons["extract"].isEnabled()
    options = json.loads((tmp_path / "asked.job").read_text(encoding="utf-8"))["options"]
    assert options["raster"] == probability.source() and options["threshold"] == 0.31
    assert options["threshold_areas"].endswith("threshold_areas.gpkg")


def test_another_algorithm_opens_with_the_threshold(threshold, monkeypatch):
    opened = []
    monkeypatch.setattr(control, "open_dialog", lambda window, name, values: opened.append((name, values)))
    threshold.panel.slider.setValue(31)
    for action in threshold.panel.buttons["use"].menu().actions():
        action.trigger()
    assert opened == [(name, {"THRESHOLD": 0.31}) for name in ("segment", "extractroads", "mapregion")]
    for name, values in opened:
        algorithm = QgsApplication.processingRegistry().algorithmById(f"roadseg:{name}")
        assert all(algorithm.parameterDefinition(key) for key in values)


def test_a_view_that_is_too_wide_says_so(threshold, window, wait_for):
    window.mapCanvas().setExtent(QgsRectangle(349000, 3059000, 351000, 3061000))
    wait_for(lambda: threshold.panel.note.text() == "Zoom in to see the lines.", 5)
    assert shown(threshold).isEmpty()


def test_a_layer_that_goes_ends_it_with_a_reason(threshold, probability, window):
    QgsProject.instance().removeMapLayer(probability.id())
    assert "Probability was removed" in threshold.panel.note.text() and not threshold.panel.slider.isEnabled()
    window.setActiveLayer(None)
    threshold.begin()
    assert "no road probability" in messages(window)[0]


def test_a_raster_that_a_worker_refuses_ends_it_with_the_reason(window, play_runtime, probability, wait_for):
    play_runtime('send("error", code="imagery", message="p.tif cannot be read.", remedy="Look.")\nsys.exit(1)')
    threshold = Threshold(window)
    threshold.begin()
    wait_for(lambda: "p.tif cannot be read" in threshold.panel.note.text(), 20)
    assert probability.renderer().type() == "singlebandgray"
    threshold.close()


def test_nothing_is_left_behind(threshold, window):
    canvas = window.mapCanvas()
    threshold.panel.buttons["more"].click()
    drag(canvas, *SQUARE)
    threshold.close()
    assert left_behind(window) == [] and canvas.mapTool() is None
    assert not [item for item in canvas.scene().items() if isinstance(item, map_view.QgsRubberBand)]
