"""A review in QGIS: places judged by keys alone, one drawn anew, an accuracy sample, and a road traced with the mouse.

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

# So many places of the sample are judged.
JUDGED = 24


def tell(stage: Stage, plan: dict) -> Iterator[Until]:
    pictures = Path(plan["pictures"])
    yield from start(stage)
    yield from open_scene(stage, plan, pictures)
    yield from map_roads(stage, pictures)
    yield from review_places(stage, pictures)
    yield from redraw(stage, pictures)
    yield from check_accuracy(stage, pictures)
    yield from trace(stage, pictures)


def menu():
    return plugins["roadseg"]._menu


def panel():
    return menu()._review.panel


def map_roads(stage: Stage, folder: Path) -> Iterator[Until]:
    """Make the network, its probability, the places to review and the sample, and add them."""
    stage.step("map")
    files = {name: str(folder / f"{name}.gpkg") for name in ("roads", "places", "sample")}
    probability = str(folder / "probability.tif")
    values = {"INPUT": layer("Generated scene").source(), "MASK": "TEMPORARY_OUTPUT", "PROBABILITY": probability}
    processing.run("roadseg:segment", values)
    processing.run("roadseg:vectorize", {"INPUT": probability, "OUTPUT": files["roads"]})
    both = {"INPUT": files["roads"]}
    processing.run("roadseg:reviewplaces", {**both, "PROBABILITY": probability, "OUTPUT": files["places"]})
    processing.run("roadseg:sampleaccuracy", {**both, "RASTER": probability, "COUNT": 40, "OUTPUT": files["sample"]})
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


def verdicts(name: str) -> list[str]:
    """Return the answers in the file, as another program reads them."""
    file = QgsVectorLayer(layer(name).source(), name, "ogr")
    return [each["review"] for each in file.getFeatures() if each["review"]]


def review_places(stage: Stage, pictures: Path) -> Iterator[Until]:
    """Accept, reject, skip and go back, by keys."""
    stage.step("review")
    yield from begin("Places")
    seen = stage.seen["review"] = [told()]
    hands.picture(iface.mainWindow(), pictures / "review.png")
    hands.picture(panel(), pictures / "review_panel.png")
    for key in "AXNB":
        yield from press(key)
        seen.append({**told(), "verdicts": verdicts("Places")})


def redraw(stage: Stage, pictures: Path) -> Iterator[Until]:
    """Reject the place by its key, and trace its road in the network."""
    stage.step("redraw")
    roads = layer("Roads")
    before = roads.featureCount()
    yield from press("D")
    yield Until(lambda: menu()._tracing.action.isChecked(), "the tool is there")
    line = next(iter(longest_in_view(layer("Places"), 1)))
    yield from draw(stage, [line[0], line[-1]], pictures / "redraw.png")
    yield Until(lambda: not menu()._tracing.action.isChecked(), "the road is drawn")
    after = QgsVectorLayer(roads.source(), "Roads", "ogr")
    drawn = [each["status"] for each in after.getFeatures()].count("drawn") if "status" in after.fields().names() else 0
    stage.seen["redraw"] = {**told(), "verdicts": verdicts("Places"), "drawn": drawn,
                            "more": after.featureCount() - before, "is_editable": roads.isEditable()}  # fmt: skip


def check_accuracy(stage: Stage, pictures: Path) -> Iterator[Until]:
    """Judge places of the sample, in its order, by keys."""
    stage.step("accuracy")
    yield from begin("Sample")
    seen = stage.seen["accuracy"] = []
    for _ in range(JUDGED):
        is_transect = panel().line.text().startswith("<b>Transect")
        if len(seen) == 1 or (is_transect and not any(each["is_transect"] for each in seen)):
            hands.picture(panel(), pictures / f"accuracy_panel_{'transect' if is_transect else 'stretch'}.png")
        yield from press("1" if is_transect and len(seen) < 4 else "0" if is_transect else "A")
        seen.append({**told(), "accuracy": panel().accuracy.text(), "is_transect": is_transect})
    hands.picture(iface.mainWindow(), pictures / "accuracy.png")
    hands.picture(panel(), pictures / "accuracy_panel.png")
    file = QgsVectorLayer(layer("Sample").source(), "Sample", "ogr")
    stage.seen["judged"] = [each.id() for each in file.getFeatures() if each["review"]]
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
    yield from draw(stage, [line[0], line[len(line) // 2], line[-1]], pictures / "trace.png")
    yield Until(lambda: roads.featureCount() > before, "the road is drawn", 30)
    stage.seen["trace"] = {"more": roads.featureCount() - before, "undo": roads.undoStack().undoText()}
    hands.picture(iface.mainWindow(), pictures / "traced.png")
    hands.choose("roadseg_trace")
    yield Until(lambda: not menu()._tracing.action.isChecked(), "the tool is laid down")
    roads.rollBack()
    yield from pause()


def draw(stage: Stage, points: list[QgsPointXY], picture: Path) -> Iterator[Until]:
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
