"""A review in QGIS: a network view by view, a missing road in it, an accuracy sample by keys alone, and tracing.

The plan is that of `story.py`; `scale` is that of the screen, as at 150 % or 200 %.
"""

from collections.abc import Iterator
from pathlib import Path

from qgis import processing
from qgis.core import QgsPointXY, QgsProject, QgsRasterLayer, QgsVectorLayer
from qgis.PyQt.QtCore import QPoint, QPointF, Qt
from qgis.PyQt.QtGui import QMouseEvent
from qgis.PyQt.QtTest import QTest
from qgis.PyQt.QtWidgets import QApplication, QToolButton
from qgis.utils import iface, plugins

from tests.gui import hands
from tests.gui.hands import layer
from tests.gui.live_story import click_on_map, longest_in_view, open_scene
from tests.gui.stage import Stage, Until
from tests.gui.story import pause, start

# So many places of the sample are judged, of which this one is skipped before.
JUDGED, SKIPPED = 24, 3


def tell(stage: Stage, plan: dict) -> Iterator[Until]:
    pictures = Path(plan["pictures"])
    yield from start(stage)
    yield from open_scene(stage, plan, pictures)
    yield from map_roads(stage, pictures)
    yield from review_network(stage, pictures)
    yield from draw_missing(stage, pictures)
    yield from check_accuracy(stage, pictures)
    yield from trace(stage, pictures)


def menu():
    return plugins["roadseg"]._menu


def panel():
    return menu()._review.panel


def map_roads(stage: Stage, folder: Path) -> Iterator[Until]:
    """Make the network, its probability and the sample, and add them."""
    stage.step("map")
    files = {name: str(folder / f"{name}.gpkg") for name in ("roads", "sample")}
    probability = str(folder / "probability.tif")
    values = {"INPUT": layer("Generated scene").source(), "MASK": "TEMPORARY_OUTPUT", "PROBABILITY": probability}
    processing.run("roadseg:segment", values)
    processing.run("roadseg:vectorize", {"INPUT": probability, "OUTPUT": files["roads"]})
    values = {"INPUT": files["roads"], "RASTER": probability, "COUNT": 40, "OUTPUT": files["sample"]}
    processing.run("roadseg:sampleaccuracy", values)
    QgsProject.instance().removeMapLayer(layer("True roads").id())
    raster = QgsRasterLayer(probability, "Probability")
    vectors = [QgsVectorLayer(path, name.title(), "ogr") for name, path in files.items()]
    QgsProject.instance().addMapLayers([raster, *vectors])
    QgsProject.instance().layerTreeRoot().findLayer(raster.id()).setItemVisibilityChecked(False)
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


def review_network(stage: Stage, pictures: Path) -> Iterator[Until]:
    """Reject a line by a click, accept the rest of the view by a key, and go back."""
    stage.step("review")
    yield from begin("Roads")
    seen, path = [told()], str(pictures / "roads review.gpkg")
    hands.picture(iface.mainWindow(), pictures / "review.png")
    line = next(iter(longest_in_view(layer("Roads"), 1)))
    click_on_map(line[len(line) // 2])
    yield Until(lambda: "rejected" in answers_in(path), "the line is rejected")
    seen.append({**told(), "verdicts": answers_in(path)})
    for key in "AB":
        yield from press(key)
        yield from hands.draw_map()
        seen.append({**told(), "verdicts": answers_in(path)})
    stage.seen["review"] = seen
    hands.picture(iface.mainWindow(), pictures / "reviewed.png")


def draw_missing(stage: Stage, pictures: Path) -> Iterator[Until]:
    """Trace a road in the network that is reviewed."""
    stage.step("missing")
    roads = layer("Roads")
    before = roads.featureCount()
    yield from press("D")
    yield Until(lambda: menu()._tracing.action.isChecked(), "the tool is there")
    line = next(iter(longest_in_view(layer("Sample"), 1)))
    yield from draw([line[0], line[-1]], pictures / "missing.png")
    yield Until(lambda: not menu()._tracing.action.isChecked(), "the road is drawn")
    after = QgsVectorLayer(roads.source(), "Roads", "ogr")
    drawn = [each["status"] for each in after.getFeatures()].count("drawn")
    more = after.featureCount() - before
    stage.seen["missing"] = {**told(), "drawn": drawn, "more": more, "is_editable": roads.isEditable()}


def check_accuracy(stage: Stage, pictures: Path) -> Iterator[Until]:
    """Judge places of the sample, in its order, by keys alone; skip one, and go back to it."""
    stage.step("accuracy")
    yield from begin("Sample")
    seen = stage.seen["accuracy"] = []
    for number in range(JUDGED):
        kind = "transect" if panel().line.text().startswith("<b>Transect") else "stretch"
        if number < 2:
            hands.picture(panel(), pictures / f"accuracy_{kind}.png")
        key = {"stretch": "AXA", "transect": "030"}[kind][number % 3]
        seen.append({**told(), "key": key, "accuracy": panel().accuracy.text()})
        if number == SKIPPED:
            yield from press("N")
            stage.seen["skipped"] = told()
            yield from press("B")
        yield from press(key)
    seen.append({**told(), "accuracy": panel().accuracy.text()})
    hands.picture(iface.mainWindow(), pictures / "accuracy.png")
    hands.picture(panel(), pictures / "accuracy_panel.png")
    stage.seen["answers"] = answers_in(layer("Sample").source())
    panel().close()


def trace(stage: Stage, pictures: Path) -> Iterator[Until]:
    """Trace a road with clicks and moves, in a layer that is in editing."""
    stage.step("trace")
    roads = layer("Roads")
    iface.setActiveLayer(roads)
    roads.startEditing()
    hands.choose("roadseg_trace")
    yield Until(lambda: menu()._tracing.action.isChecked(), "the tool is there")
    before = roads.featureCount()
    line = next(iter(longest_in_view(roads, 1)))
    yield from draw([line[0], line[len(line) // 2], line[-1]], pictures / "trace.png")
    yield Until(lambda: roads.featureCount() > before, "the road is drawn", 30)
    stage.seen["trace"] = {"more": roads.featureCount() - before, "undo": roads.undoStack().undoText()}
    hands.picture(iface.mainWindow(), pictures / "traced.png")
    hands.choose("roadseg_trace")
    yield Until(lambda: not menu()._tracing.action.isChecked(), "the tool is laid down")
    roads.rollBack()
    yield from pause()


def draw(points: list[QgsPointXY], picture: Path) -> Iterator[Until]:
    """Click on points of the map, see the line to the pointer, and double-click on the last."""
    for point in points[:-1]:
        click_on_map(point)
        yield from pause()
    canvas, drawing = iface.mapCanvas(), menu()._tracing._drawing
    place = canvas.getCoordinateTransform().transform(points[-1])
    spot, none = QPoint(round(place.x()), round(place.y())), Qt.MouseButton.NoButton
    move = QMouseEvent(QMouseEvent.Type.MouseMove, QPointF(spot), QPointF(spot), none, none, Qt.KeyboardModifier(0))
    QApplication.sendEvent(canvas.viewport(), move)
    yield Until(lambda: drawing._next.numberOfVertices() > 1, "the line to the pointer is shown", 60)
    hands.picture(iface.mainWindow(), picture)
    click_on_map(points[-1])
    yield from pause()
    QTest.mouseDClick(canvas.viewport(), Qt.MouseButton.LeftButton, pos=spot)
