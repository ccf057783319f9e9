"""A live session in QGIS: roads drawn with the mouse, what the map shows of what was learned, and pictures of that.

The plan is that of `story.py`; beside it, `view_m` is how wide the view is, `roads` how many roads are drawn, `rests`
how often four seconds are waited for after that, and `clips` whether the map is pictured for an animation.
"""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Optional

from qgis.core import QgsGeometry, QgsPointXY, QgsProject
from qgis.PyQt.QtCore import QPoint, Qt, QTimer
from qgis.PyQt.QtGui import QPainter, QPen
from qgis.PyQt.QtTest import QTest
from qgis.PyQt.QtWidgets import QFileDialog
from qgis.utils import iface, plugins

from tests.gui import hands
from tests.gui.hands import layer
from tests.gui.stage import Stage, Until
from tests.gui.story import pause, start

VIEW_M = 420
# A false road is looked for at such distances, so far from all true ones, and as sure as that.
STEP_M, AWAY_M, SURE = 5, 15, 0.7
# Radius of the ring that shows the pointer in an animation.
RING_PX = 9


def tell(stage: Stage, plan: dict) -> Iterator[Until]:
    pictures = Path(plan["pictures"])
    yield from start(stage)
    yield from open_scene(stage, plan, pictures)
    ear = Ear()
    yield from begin_session(stage, pictures, ear)
    yield from draw_roads(stage, plan, pictures, ear)
    yield from correct(stage, pictures, ear)
    yield from end(stage, ear)


class Ear:
    """Hears the worker's events, with their times."""

    def __init__(self) -> None:
        self.events = []
        self.scores = []

    def listen(self) -> None:
        control()._session.received.connect(self._hear)

    def of(self, kind: str) -> list:
        return [(at_s, event) for at_s, event in self.events if event.kind == kind]

    def since(self, kind: str, since_s: float) -> list[float]:
        """Return when there were events of a kind after a time."""
        return [at_s for at_s, _ in self.of(kind) if at_s > since_s]

    def _hear(self, event) -> None:
        self.events.append((time.monotonic(), event))


def control():
    """Return what runs the session."""
    return plugins["roadseg"]._menu._live.control


def panel():
    return plugins["roadseg"]._menu._live.panel


def open_scene(stage: Stage, plan: dict, pictures: Path) -> Iterator[Until]:
    """Open the generated scene without what is drawn in it."""
    from roadseg.qgis_roadseg.layers import demo_project

    stage.step("scene")
    demo_project.SCENE["SIZE_PX"] = plan.get("scene_px", demo_project.SCENE["SIZE_PX"])
    hands.choose("roadseg_try")
    yield Until(lambda: layer("Generated scene"), "the demo is open", 120)
    for name in ("Drawn roads", "Area of interest"):
        QgsProject.instance().removeMapLayer(layer(name).id())
    iface.messageBar().clearWidgets()
    hands.toolbox().hide()
    canvas, middle = iface.mapCanvas(), layer("Generated scene").extent().center()
    canvas.setCenter(middle)
    canvas.zoomByFactor(plan.get("view_m", VIEW_M) / canvas.extent().width())
    yield from hands.draw_map()


def begin_session(stage: Stage, pictures: Path, ear: Ear) -> Iterator[Until]:
    """Open the panel and start; the label layers are made, and the map shows what the starter knows."""
    stage.step("panel")
    hands.choose("roadseg_live")
    yield Until(lambda: plugins["roadseg"]._menu._live.panel is not None, "the panel is open")
    yield from pause()
    hands.picture(panel(), pictures / "live_panel_start.png")
    stage.step("begin")
    QFileDialog.getSaveFileName = staticmethod(lambda *_: (str(pictures / "drawn.gpkg"), ""))
    began_s = time.monotonic()
    hands.click(panel().start)
    yield Until(lambda: control()._session is not None, "the worker starts")
    ear.listen()
    yield Until(lambda: ear.of("state"), "the worker speaks", 60)
    stage.step("first prediction")
    yield Until(lambda: any(event.fraction == 1 for _, event in ear.of("prediction")), "the view is predicted", 180)
    stage.seen["first_prediction_s"] = ear.of("prediction")[0][0] - began_s
    yield Until(lambda: control()._overlay.layer is not None, "the overlay is there")
    yield from hands.draw_map()
    stage.seen["layers"] = hands.layer_tree()
    hands.picture(iface.mainWindow(), pictures / "tutorial_live_start.png")


def draw_roads(stage: Stage, plan: dict, pictures: Path, ear: Ear) -> Iterator[Until]:
    """Draw the longest roads in view with the mouse, and wait for the overlay after each."""
    stage.step("drawing")
    roads = layer("Drawn roads")
    iface.setActiveLayer(roads)
    roads.startEditing()
    iface.actionAddFeature().trigger()
    stage.seen["strokes"], frame = [], Frames(pictures, plan.get("clips", False))
    frame.take()
    for line in longest_in_view(layer("True roads"), plan.get("roads", 5)):
        yield from draw(stage, roads, line, ear)
        yield from rest(1.0)
        frame.take()
    stage.step("learning")
    for _ in range(plan.get("rests", 4)):
        yield from rest(4)
        frame.take()
    hands.picture(iface.mainWindow(), pictures / "tutorial_live_learning.png")
    stage.seen["labels"] = roads.featureCount()
    stage.seen["scores"] = list(panel().chart.scores)
    stage.seen["numbers"] = panel().numbers.text()
    stage.seen["state"] = panel().state.text()


def draw(stage: Stage, roads, line: list[QgsPointXY], ear: Ear) -> Iterator[Until]:
    """Draw one road, and wait until the overlay shows what was learned of it."""
    count, shown = roads.featureCount(), control()._overlay.layer.source()
    for point in line:
        click_on_map(point)
        yield from pause()
    click_on_map(line[-1], Qt.MouseButton.RightButton)
    yield Until(lambda: roads.featureCount() > count, "the road is drawn")
    drawn_s = time.monotonic()
    yield Until(lambda: ear.since("learned", drawn_s), "the stroke is learned", 180)
    learned_s = ear.since("learned", drawn_s)[0]
    yield Until(lambda: ear.since("prediction", learned_s), "the view is predicted anew", 180)
    predicted_s = ear.since("prediction", learned_s)[0]
    yield Until(lambda: control()._overlay.layer.source() != shown, "the overlay shows it", 30)
    shown_s = time.monotonic()
    times = {"learned_s": learned_s - drawn_s, "predicted_s": predicted_s - drawn_s, "shown_s": shown_s - drawn_s}
    stage.seen["strokes"].append({name: round(value, 2) for name, value in times.items()})


def correct(stage: Stage, pictures: Path, ear: Ear) -> Iterator[Until]:
    """Click on a road that is predicted, which becomes no road; and take it back."""
    stage.step("correct")
    hands.click(panel().correct)
    yield from pause()
    click_on_map(falsest_place(layer("True roads"), longest_in_view(layer("True roads"), 40)[stage.seen["labels"] :]))
    yield Until(lambda: ear.of("correction"), "the worker answers", 30)
    answer = ear.of("correction")[0][1]
    stage.seen["correction"] = {"layer": answer.layer, "message": answer.message}
    if answer.layer:
        corrected = layer("No road here" if answer.layer == "no_road" else "Drawn roads")
        stage.seen["corrected"] = corrected.featureCount()
        yield from hands.draw_map()
        hands.picture(iface.mainWindow(), pictures / "tutorial_live_corrected.png")
        corrected.undoStack().undo()
        stage.seen["after_undo"] = corrected.featureCount()
    hands.picture(panel(), pictures / "live_panel_end.png")


def end(stage: Stage, ear: Ear) -> Iterator[Until]:
    """Pause, go on and stop."""
    stage.step("pause")
    hands.click(panel().pause)
    yield Until(lambda: ear.of("state")[-1][1].state == "paused", "the worker pauses", 30)
    hands.click(panel().pause)
    yield Until(lambda: ear.of("state")[-1][1].state != "paused", "the worker goes on", 30)
    stage.step("stop")
    hands.click(panel().stop)
    yield Until(lambda: panel().phase == "idle", "the session has ended", 60)
    stage.seen["end"] = {"state": panel().state.text(), "can_resume": panel().resume.isEnabled()}
    stage.seen["events"] = sorted({event.kind for _, event in ear.events})
    layer("Drawn roads").commitChanges()
    layer("No road here").rollBack()
    stage.step("end")
    yield from pause()


class Frames:
    """Pictures of the map for an animation, where one is wanted."""

    def __init__(self, folder: Path, is_wanted: bool) -> None:
        self._folder, self._is_wanted, self._number = folder, is_wanted, 0

    def take(self, pointer: Optional[QgsPointXY] = None) -> None:
        """Take the next one, with a ring where the pointer is."""
        if not self._is_wanted:
            return
        self._number += 1
        image = iface.mapCanvas().grab()
        if pointer is not None:
            painter = QPainter(image)
            for color, width_px in ((Qt.GlobalColor.black, 5), (Qt.GlobalColor.white, 3)):
                painter.setPen(QPen(color, width_px))
                painter.drawEllipse(on_screen(pointer), RING_PX, RING_PX)
            painter.end()
        image.save(str(self._folder / f"frame_{self._number:03d}.png"))


def longest_in_view(roads, count: int) -> list[list[QgsPointXY]]:
    """Return the longest roads within the view, as a person would draw them: few points each, in the map's CRS."""
    view = iface.mapCanvas().extent().buffered(-15)
    found = []
    for feature in roads.getFeatures(view):
        shape = feature.geometry().simplify(1.0).clipped(view)
        for part in shape.asGeometryCollection():
            points = part.asPolyline()
            if len(points) > 1:
                found.append((part.length(), points))
    found.sort(key=lambda each: -each[0])
    return [points for _, points in found[:count]]


def falsest_place(roads, not_drawn: list[list[QgsPointXY]]) -> QgsPointXY:
    """Return where in view the overlay is surest of a road where none is; else where it is of one that is not drawn."""
    provider, view = control()._overlay.layer.dataProvider(), iface.mapCanvas().extent().buffered(-STEP_M)
    near = QgsGeometry.unaryUnion([each.geometry() for each in roads.getFeatures()]).buffer(AWAY_M, 8)
    columns, rows = int(view.width() / STEP_M), int(view.height() / STEP_M)
    grid = [
        QgsPointXY(view.xMinimum() + column * STEP_M, view.yMinimum() + row * STEP_M)
        for column in range(columns)
        for row in range(rows)
    ]
    false = [(provider.sample(place, 1)[0], place) for place in grid if not near.contains(place)]
    value, place = max(false, key=lambda each: each[0])
    if value > SURE:
        return place
    shapes = [QgsGeometry.fromPolylineXY(line) for line in not_drawn]
    places = [shape.interpolate(shape.length() * part).asPoint() for shape in shapes for part in (0.3, 0.5, 0.7)]
    return max(places, key=lambda each: provider.sample(each, 1)[0])


def on_screen(point: QgsPointXY) -> QPoint:
    """Return where on the map's widget a point is."""
    place = iface.mapCanvas().getCoordinateTransform().transform(point)
    return QPoint(round(place.x()), round(place.y()))


def click_on_map(point: QgsPointXY, button: Qt.MouseButton = Qt.MouseButton.LeftButton) -> None:
    """Click on a point of the map, as a hand does: move there, press, release."""
    viewport, spot = iface.mapCanvas().viewport(), on_screen(point)
    QTest.mouseMove(viewport, spot)
    QTimer.singleShot(0, lambda: QTest.mouseClick(viewport, button, pos=spot))


def rest(seconds: float) -> Iterator[Until]:
    end_s = time.monotonic() + seconds
    yield Until(lambda: time.monotonic() > end_s, "time goes by", seconds + 10)
