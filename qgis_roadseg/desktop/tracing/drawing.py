"""Drawing by tracing: clicks and moves of the pointer become commands, and the worker's answers lines on the map.

Scope: the map, one line layer, one worker. Independent of how both are chosen and let go.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Optional

from qgis.core import (
    Qgis,
    QgsCoordinateTransform,
    QgsCsException,
    QgsGeometry,
    QgsPointXY,
    QgsProject,
    QgsRasterLayer,
    QgsRectangle,
    QgsSnappingConfig,
    QgsSnappingUtils,
    QgsVectorLayer,
)
from qgis.gui import QgsMapCanvas, QgsRubberBand, QgsVertexMarker
from qgis.PyQt.QtCore import Qt
from qgis.PyQt.QtGui import QColor

from ....training_core.errors import LayerError
from ..session_client import SessionClient
from .line_layer import add_road
from .route import Leg, Route

# How near the pointer is to what it snaps to, where snapping is not set up in QGIS; and what counts as touching.
SNAP_PX, TOUCH_PX = 10, 0.1
_COLOR, _PREVIEW, _PEN_PX = QColor(230, 0, 126), QColor(230, 0, 126, 150), 3


class Drawing:
    """Roads as they are drawn; `tell` is called with what a person should know."""

    def __init__(
        self,
        canvas: QgsMapCanvas,
        layer: QgsVectorLayer,
        raster: QgsRasterLayer,
        session: SessionClient,
        tell: Callable[[str], None],
    ) -> None:
        self._canvas, self._layer, self._session, self._tell = canvas, layer, session, tell
        self._to_raster = QgsCoordinateTransform(layer.crs(), raster.crs(), QgsProject.instance())
        self._route: Optional[Route] = None
        self._finished: list[Route] = []
        # Legs for which the worker has been asked, and the line to the pointer, by the number of the command.
        self._asked: dict[int, Leg] = {}
        self._preview: Optional[int] = None
        self._pointer: Optional[QgsPointXY] = None
        self._wanted, self._is_traceable = False, False
        self._drawn, self._next = QgsRubberBand(canvas), QgsRubberBand(canvas)
        for band, color in ((self._drawn, _COLOR), (self._next, _PREVIEW)):
            band.setColor(color)
            band.setWidth(_PEN_PX)
        self._snapping = _snapping_to(layer)
        self._snapped = QgsVertexMarker(canvas)
        self._snapped.setColor(_COLOR)
        self._snapped.setIconType(QgsVertexMarker.IconType.ICON_BOX)
        self._snapped.hide()
        session.received.connect(self._hear)

    def click(self, point: QgsPointXY, is_straight: bool) -> None:
        """Begin a road at a place of the map, or go on to it."""
        place = self._snap(point)
        if place is None or (self._route is not None and place == self._route.end):
            return
        if self._route is None:
            self._route = Route(place)
        else:
            leg = Leg(place)
            number = 0 if is_straight else self._send("to", place)
            if number:
                self._asked[number] = leg
            else:
                leg.points = [self._route.end, place]
            self._route.legs.append(leg)
        self._go_on()

    def move(self, point: QgsPointXY, is_straight: bool) -> None:
        """Have the line to the pointer drawn."""
        self._pointer = self._snap(point)
        if self._route is None or self._pointer is None:
            return
        self._wanted = not is_straight
        if is_straight:
            self._preview = None
            self._draw([self._route.end, self._pointer], is_straight=True)
        else:
            self._ask()

    def take_back(self) -> None:
        """Take the last click back."""
        if self._route is not None and self._route.legs:
            self._route.legs.pop()
            self._go_on()
        else:
            self.cancel()

    def finish(self) -> None:
        """Add the road to the layer, as soon as all of it is known."""
        route = self._route
        self.cancel()
        if route is not None and route.legs:
            self._finished.append(route)
            self._write()

    def cancel(self) -> bool:
        """Forget the road that is being drawn; return whether there was one, or one waits for the worker."""
        is_busy = self._route is not None or bool(self._finished)
        self._route = self._preview = None
        self._wanted = False
        for band in (self._drawn, self._next):
            band.reset(Qgis.GeometryType.Line)
        return is_busy

    def close(self) -> None:
        """Leave the map for good."""
        self._session.received.disconnect(self._hear)
        for item in (self._drawn, self._next, self._snapped):
            self._canvas.scene().removeItem(item)

    def _go_on(self) -> None:
        """Have the next leg begin at the place that was clicked last."""
        self._is_traceable = self._send("begin", self._route.end) > 0
        self._preview = None
        self._drawn.setToGeometry(QgsGeometry.fromPolylineXY(self._route.points()), self._layer)
        self._next.reset(Qgis.GeometryType.Line)
        if self._wanted:
            self._ask()

    def _ask(self) -> None:
        """Ask for the line to the pointer, unless an answer is still to come: then as soon as it has."""
        if self._preview is None and self._wanted and self._pointer is not None:
            self._wanted = False
            self._preview = (self._send("to", self._pointer) if self._is_traceable else 0) or None
            if self._preview is None:
                self._draw([self._route.end, self._pointer], is_straight=True)

    def _send(self, command: str, place: QgsPointXY) -> int:
        """Send a place in the layer's CRS; return the number of the command, or 0 if it is no place of the raster's."""
        try:
            there = self._to_raster.transform(place)
        except QgsCsException:
            return 0
        return self._session.send_numbered(command, x=there.x(), y=there.y())

    def _hear(self, event: Any) -> None:
        if event.kind == "warning":
            self._tell(event.message)
        elif event.kind == "traced" and event.sequence in self._asked:
            leg = self._asked.pop(event.sequence)
            leg.points = self._points_of(event) or [leg.end, leg.end]
            leg.probability, leg.width_m = event.probability, event.width_m
            if self._route is not None:
                self._drawn.setToGeometry(QgsGeometry.fromPolylineXY(self._route.points()), self._layer)
            self._write()
        elif event.kind == "traced" and event.sequence == self._preview and self._route is not None:
            self._preview = None
            self._draw(self._points_of(event), is_straight=event.probability is None)
            self._ask()

    def _points_of(self, event: Any) -> list[QgsPointXY]:
        line = QgsGeometry.fromWkt(event.geometry)
        try:
            line.transform(self._to_raster, Qgis.TransformDirection.Reverse)
        except QgsCsException:
            return []
        return line.asPolyline()

    def _draw(self, points: list[QgsPointXY], is_straight: bool) -> None:
        """Draw the line to the pointer; dashed where the probability has no part in it."""
        self._next.setLineStyle(Qt.PenStyle.DashLine if is_straight else Qt.PenStyle.SolidLine)
        self._next.setToGeometry(QgsGeometry.fromPolylineXY(points), self._layer)

    def _write(self) -> None:
        """Add the roads that are finished and known, in order."""
        while self._finished and self._finished[0].is_complete:
            route = self._finished.pop(0)
            probability, width_m = route.mean("probability"), route.mean("width_m")
            try:
                add_road(self._layer, route.points(), self._units(route.end, TOUCH_PX), probability, width_m)
            except LayerError as error:
                self._tell(str(error))

    def _snap(self, point: QgsPointXY) -> Optional[QgsPointXY]:
        """Return a place of the map in the layer's CRS, snapped as QGIS is set to, or else to the layer's lines."""
        utils = self._canvas.snappingUtils()
        if not utils.config().enabled():
            utils = self._snapping
            utils.setMapSettings(self._canvas.mapSettings())
        # Until a thread has indexed the lines, which are many, nothing is found.
        match = utils.snapToMap(point, None, True)
        self._snapped.setVisible(match.isValid())
        if match.isValid():
            self._snapped.setCenter(match.point())
        to_map, place = self._canvas.mapSettings().layerTransform(self._layer), match.point()
        try:
            return to_map.transform(place if match.isValid() else point, Qgis.TransformDirection.Reverse)
        except QgsCsException:
            return None

    def _units(self, place: QgsPointXY, pixels: float) -> float:
        """Return how long so many pixels of the map are at a place, in units of the layer's CRS."""
        transform = self._canvas.mapSettings().layerTransform(self._layer)
        box = QgsRectangle.fromCenterAndSize(transform.transform(place), 2, 2)
        box.scale(pixels * self._canvas.mapUnitsPerPixel())
        there = transform.transformBoundingBox(box, Qgis.TransformDirection.Reverse)
        return max(there.width(), there.height()) / 2


def _snapping_to(layer: QgsVectorLayer) -> QgsSnappingUtils:
    """Return what snaps to the ends and lines of a layer within SNAP_PX."""
    config = QgsSnappingConfig()
    config.setEnabled(True)
    config.setMode(Qgis.SnappingMode.ActiveLayer)
    config.setTypeFlag(Qgis.SnappingTypes(Qgis.SnappingType.LineEndpoint) | Qgis.SnappingType.Segment)
    config.setTolerance(SNAP_PX)
    config.setUnits(Qgis.MapToolUnit.Pixels)
    snapping = QgsSnappingUtils()
    snapping.setConfig(config)
    snapping.setCurrentLayer(layer)
    return snapping
