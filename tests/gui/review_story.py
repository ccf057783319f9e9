"""From the first map to the accepted map in QGIS: threshold, review and tracing, learning, an accuracy sample, tracing.

The plan is that of `story.py`; `scale` is that of the screen, as at 150 % or 200 %, `view_m` and `middle` are where the
review begins, `minutes` how long a model learns from it, `places` how many of a sample are judged by what the scene
shows, where not by rote, and `clips` whether the map is pictured for an animation.
"""

from collections.abc import Iterator
from pathlib import Path

from qgis.core import QgsGeometry, QgsPointXY, QgsProject, QgsVectorLayer
from qgis.PyQt.QtCore import QEvent, QPointF, Qt, QTimer
from qgis.PyQt.QtGui import QMouseEvent
from qgis.PyQt.QtTest import QTest
from qgis.PyQt.QtWidgets import QApplication, QDockWidget, QToolButton
from qgis.utils import iface, plugins

from tests.gui import hands, truth
from tests.gui.hands import layer
from tests.gui.live_story import Frames, click_on_map, longest_in_view, on_screen, open_scene
from tests.gui.stage import Stage, Until
from tests.gui.story import pause, run_opened, start

# Number of places of the sample that are accepted one after another, and the one that is skipped first.
JUDGED, SKIPPED = 24, 3
# More roads than at the model's own threshold, and more false ones, which a review finds quickly.
THRESHOLD = 0.2
# Distance between the clicks that trace a road which the model hardly sees, in meters.
EACH_M = 60
# Layers, named after their files.
NETWORK, PROBABILITY, REVIEWED, SAMPLE = "roads", "probability", "reviewed", "sample"


def tell(stage: Stage, plan: dict) -> Iterator[Until]:
    pictures = Path(plan["pictures"])
    yield from start(stage)
    if "clips" in plan:  # words stay as large as they are
        iface.mainWindow().setGeometry(0, 0, 940, 620)
        iface.mainWindow().findChild(QDockWidget, "Browser").close()
    yield from open_scene(stage, plan, pictures)
    true_roads = truth.shape_of(layer("True roads"))
    QgsProject.instance().removeMapLayer(layer("True roads").id())
    frames = Frames(pictures, plan.get("clips", False))
    yield from map_roads(stage, plan, pictures)
    yield from review_network(stage, pictures, true_roads, frames)
    yield from draw_missing(stage, pictures, true_roads, frames)
    yield from learn(stage, plan, pictures)
    yield from draw_sample(stage, plan, pictures)
    yield from check_accuracy(stage, plan, pictures, true_roads)
    yield from trace(stage, pictures)


def menu():
    return plugins["roadseg"]._menu


def panel():
    return menu()._review.panel


def map_roads(stage: Stage, plan: dict, pictures: Path) -> Iterator[Until]:
    """Extract roads with their probability, choose a threshold by eye, and extract them with it into a file."""
    stage.step("map")
    hands.choose("roadseg_extractroads")
    probability = str(pictures / "probability.tif")
    first = {"MODEL": "starter", "PROBABILITY": probability}
    yield from run_opened(stage, "extract", 620, pictures / "extract.png", **first)
    QgsProject.instance().removeMapLayer(layer("Roads").id())
    if "middle" in plan:
        iface.mapCanvas().setCenter(QgsPointXY(*plan["middle"]))
    yield from hands.draw_map()
    stage.step("threshold")
    hands.choose("roadseg_threshold")
    yield Until(lambda: menu()._threshold.panel is not None, "the panel is open")
    choosing = menu()._threshold.panel
    before = choosing.slider.value()
    choosing.slider.setValue(round(100 * THRESHOLD))
    yield Until(lambda: menu()._threshold._view._lines.numberOfVertices() > 1, "the lines of the view are there", 60)
    yield from hands.draw_map()
    stage.seen["threshold"] = {"before": before, "number": choosing.number.text(), "note": choosing.note.text()}
    hands.picture(iface.mainWindow(), pictures / "tutorial_threshold.png")
    QTimer.singleShot(0, choosing.buttons["use"].menu().actions()[1].trigger)
    second = {"MODEL": "starter", "OUTPUT": str(pictures / "roads.gpkg")}
    yield from run_opened(stage, "roads", 620, pictures / "extract_again.png", **second)
    choosing.close()
    shown = QgsProject.instance().layerTreeRoot().findLayer(layer(PROBABILITY).id())
    shown.setItemVisibilityChecked(False)
    yield from hands.draw_map()


def press(keys: str) -> Iterator[Until]:
    """Press keys where the focus is, as a person does."""
    QApplication.setActiveWindow(iface.mainWindow())
    for key in keys:
        QTest.keyClick(QApplication.focusWidget(), key.lower())
        yield from pause()


def begin(name: str) -> Iterator[Until]:
    iface.setActiveLayer(layer(name))
    hands.choose("roadseg_review")
    yield Until(lambda: panel() is not None and name in panel().layer.text(), "the review has begun")
    yield from hands.draw_map()


def told() -> dict:
    """Return what the panel shows, and which of its buttons cannot show all of their words."""
    buttons = [each for each in panel().findChildren(QToolButton) if each.isVisible() and each.defaultAction()]
    cut = [each.text() for each in buttons if each.width() < each.sizeHint().width()]
    return {"line": panel().line.text(), "progress": panel().progress.text(), "cut": cut}


def answers_in(path: str) -> list[str]:
    """Return the answers in a file, as another program reads them, in the order of its features."""
    return [each["review"] or "" for each in QgsVectorLayer(path, "Answers", "ogr").getFeatures()]


def review_network(stage: Stage, pictures: Path, true_roads: QgsGeometry, frames: Frames) -> Iterator[Until]:
    """Reject a line by a click, accept the rest of the view by a key, go back, and paint along a part of a line."""
    stage.step("review")
    yield from begin(NETWORK)
    seen, path, roads = [told()], str(pictures / "roads review.gpkg"), layer(NETWORK)
    hands.picture(iface.mainWindow(), pictures / "review.png")
    view = iface.mapCanvas().extent()
    wrong = truth.wrong_in(view, roads, true_roads) or longest_in_view(roads, 2)
    place = wrong[0][len(wrong[0]) // 2]
    frames.take(place)
    click_on_map(place)
    yield Until(lambda: "rejected" in answers_in(path), "the line is rejected")
    seen.append({**told(), "verdicts": answers_in(path)})
    yield from hands.draw_map()
    frames.take(place)
    for key in "AB":
        yield from press(key)
        yield from hands.draw_map()
        seen.append({**told(), "verdicts": answers_in(path)})
    stage.seen["review"] = seen
    iface.mapCanvas().setExtent(view)
    yield from hands.draw_map()
    for line in wrong[1:]:
        yield from paint(truth.along(line, EACH_M / 2), frames)
        yield from hands.draw_map()
        frames.take()
        frames = Frames(pictures, False)


def paint(points: list[QgsPointXY], frames: Frames) -> Iterator[Until]:
    """Paint along points with the button held."""
    viewport = iface.mapCanvas().viewport()
    QTest.mousePress(viewport, Qt.MouseButton.LeftButton, pos=on_screen(points[0]))
    for point in points[1:]:
        move(point)
        yield from pause()
        frames.take(point)
    QTest.mouseRelease(viewport, Qt.MouseButton.LeftButton, pos=on_screen(points[-1]))


def draw_missing(stage: Stage, pictures: Path, true_roads: QgsGeometry, frames: Frames) -> Iterator[Until]:
    """Trace two roads that the network lacks, and accept the rest of the view."""
    stage.step("missing")
    roads = layer(NETWORK)
    before, view = roads.featureCount(), iface.mapCanvas().extent()
    for line in truth.missing_in(view, roads, true_roads)[:2] or longest_in_view(roads, 1):
        yield from press("D")
        yield Until(lambda: menu()._tracing.action.isChecked(), "the tool is there")
        yield from draw(truth.along(line, EACH_M), pictures / "missing.png", frames)
        yield Until(lambda: not menu()._tracing.action.isChecked(), "the road is drawn")
        yield from hands.draw_map()
        frames.take()
    after = QgsVectorLayer(roads.source(), "Roads", "ogr")
    drawn = [each["status"] for each in after.getFeatures()].count("drawn")
    more = after.featureCount() - before
    stage.seen["missing"] = {**told(), "drawn": drawn, "more": more, "is_editable": roads.isEditable()}
    yield from press("A")
    iface.mapCanvas().setExtent(view)
    yield from hands.draw_map()
    frames.take()
    hands.picture(iface.mainWindow(), pictures / "tutorial_review.png")


def learn(stage: Stage, plan: dict, pictures: Path) -> Iterator[Until]:
    """Learn from the review, by the panel's button; reviewed roads stay, all others are extracted again."""
    stage.step("learn")
    hands.click(panel().learn)
    files = {"OUTPUT": str(pictures / "reviewed.gpkg"), "MODEL": str(pictures / "learned.safetensors")}
    minutes = {"MINUTES": plan["minutes"]} if "minutes" in plan else {}
    yield from run_opened(stage, "learn", 640, pictures / "learn.png", **files, **minutes)
    panel().close()
    results = iface.mainWindow().findChild(QDockWidget, "ResultsViewer")
    results.close()
    for name in (NETWORK, "Review of roads"):
        QgsProject.instance().layerTreeRoot().findLayer(layer(name).id()).setItemVisibilityChecked(False)
    yield from hands.draw_map()
    hands.picture(iface.mainWindow(), pictures / "tutorial_learned.png")


def draw_sample(stage: Stage, plan: dict, pictures: Path) -> Iterator[Until]:
    """Draw an accuracy sample of the network, from the toolbox."""
    stage.step("sample")
    hands.toolbox().show()
    hands.open_from_toolbox("Draw an accuracy sample")
    values = {"INPUT": layer(REVIEWED).id(), "RASTER": layer(PROBABILITY).id()}
    files = {"OUTPUT": str(pictures / "sample.gpkg"), "COUNT": plan.get("places", 40)}
    yield from run_opened(stage, "sample", 620, pictures / "sample.png", **values, **files)
    hands.toolbox().hide()


def check_accuracy(stage: Stage, plan: dict, pictures: Path, true_roads: QgsGeometry) -> Iterator[Until]:
    """Judge places of the sample, in its order, by keys alone, skip one, and go back to it; and have the sheet made."""
    stage.step("accuracy")
    yield from begin(SAMPLE)
    seen, roads = [], truth.shape_of(layer(REVIEWED))
    stage.seen["accuracy"] = seen
    for number in range(plan.get("places", JUDGED)):
        kind = "transect" if panel().line.text().startswith("<b>Transect") else "stretch"
        if number < 2:
            hands.picture(panel(), pictures / f"accuracy_{kind}.png")
        key = {"stretch": "AXA", "transect": "030"}[kind][number % 3]
        if "places" in plan:
            place = menu()._review._lines.feature(menu()._review._line).geometry()
            key = truth.answer(place, kind == "transect", roads, true_roads)
        seen.append({**told(), "key": key, "accuracy": panel().accuracy.text()})
        if number == SKIPPED:
            yield from press("N")
            stage.seen["skipped"] = told()
            yield from press("B")
        yield from press(key)
    seen.append({**told(), "accuracy": panel().accuracy.text()})
    hands.picture(iface.mainWindow(), pictures / "tutorial_accuracy.png")
    hands.picture(panel(), pictures / "accuracy_panel.png")
    stage.seen["answers"] = answers_in(layer(SAMPLE).source())
    panel().close()
    hands.open_from_toolbox("Check accuracy")
    values = {"INPUT": layer(SAMPLE).id(), "REPORT": str(pictures / "accuracy.html")}
    yield from run_opened(stage, "sheet", 480, pictures / "check.png", **values)


def trace(stage: Stage, pictures: Path) -> Iterator[Until]:
    """Trace a road with clicks and moves, in a layer that is in editing."""
    stage.step("trace")
    roads = layer(REVIEWED)
    iface.setActiveLayer(roads)
    roads.startEditing()
    hands.choose("roadseg_trace")
    yield Until(lambda: menu()._tracing.action.isChecked(), "the tool is there")
    before = roads.featureCount()
    line = next(iter(longest_in_view(roads, 1)))
    yield from draw([line[0], line[len(line) // 2], line[-1]], pictures / "trace.png", Frames(pictures, False))
    yield Until(lambda: roads.featureCount() > before, "the road is drawn", 30)
    stage.seen["trace"] = {"more": roads.featureCount() - before, "undo": roads.undoStack().undoText()}
    hands.picture(iface.mainWindow(), pictures / "traced.png")
    hands.choose("roadseg_trace")
    yield Until(lambda: not menu()._tracing.action.isChecked(), "the tool is laid down")
    roads.rollBack()
    yield from pause()


def draw(points: list[QgsPointXY], picture: Path, frames: Frames) -> Iterator[Until]:
    """Click on points of the map, see the line to the pointer, and double-click on the last."""
    drawing = menu()._tracing._drawing
    for point, following in zip(points, points[1:]):
        click_on_map(point)
        yield from pause()
        move(following)
        yield Until(lambda: drawing._next.numberOfVertices() > 1, "the line to the pointer is shown", 60)
        frames.take(following)
    hands.picture(iface.mainWindow(), picture)
    click_on_map(points[-1])
    yield from pause()
    QTest.mouseDClick(iface.mapCanvas().viewport(), Qt.MouseButton.LeftButton, pos=on_screen(points[-1]))


def move(point: QgsPointXY) -> None:
    """Move the pointer to a point of the map."""
    spot, none = on_screen(point), Qt.MouseButton.NoButton
    event = QMouseEvent(QEvent.Type.MouseMove, QPointF(spot), QPointF(spot), none, none, Qt.KeyboardModifier(0))
    QApplication.sendEvent(iface.mapCanvas().viewport(), event)
