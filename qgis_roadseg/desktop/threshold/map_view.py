"""The threshold on the map: the probability as a mask by its style alone, the lines of the view, and the areas.

Scope: renderers and rubber bands. Independent of where lines come from. The layer's own style comes back in the end,
and a project that is saved meanwhile has it, too.
"""

from __future__ import annotations

from qgis.core import (
    Qgis,
    QgsColorRampShader,
    QgsGeometry,
    QgsProject,
    QgsRasterLayer,
    QgsRasterShader,
    QgsSingleBandPseudoColorRenderer,
)
from qgis.gui import QgsMapCanvas, QgsRubberBand
from qgis.PyQt.QtCore import QObject
from qgis.PyQt.QtGui import QColor

from ....training_core.jobs import NetworkOptions
from .choice import Choice

_NOTHING, _LIKELY, _SURE = QColor(0, 0, 0, 0), QColor(253, 141, 60, 90), QColor(240, 59, 32, 170)
_LINES, _MORE, _FEWER = QColor(0, 229, 255), QColor(60, 220, 90), QColor(255, 90, 200)
_PEN_PX = 2
# A probability that was rounded to a byte reaches a threshold up to this.
_ROUNDING = 1e-6


def mask_renderer(layer: QgsRasterLayer, threshold: float) -> QgsSingleBandPseudoColorRenderer:
    """Return a style that shows road, and pale what counts as road where it touches it; see the option hysteresis."""
    likely = threshold * NetworkOptions().hysteresis
    ramp = QgsColorRampShader(0, 1, None, Qgis.ShaderInterpolationMethod.Discrete)
    ends = [(likely - _ROUNDING, _NOTHING), (threshold - _ROUNDING, _LIKELY), (float("inf"), _SURE)]
    ramp.setColorRampItemList([QgsColorRampShader.ColorRampItem(value, color, "") for value, color in ends])
    shader = QgsRasterShader(0, 1)
    shader.setRasterShaderFunction(ramp)
    return QgsSingleBandPseudoColorRenderer(layer.dataProvider(), 1, shader)


class ThresholdView:
    """One probability as a mask, with lines and areas."""

    def __init__(self, canvas: QgsMapCanvas, layer: QgsRasterLayer) -> None:
        self._canvas, self._layer, self._choice = canvas, layer, Choice()
        self._own = layer.renderer().clone()
        line, area = Qgis.GeometryType.Line, Qgis.GeometryType.Polygon
        self._lines, self._more, self._fewer = (QgsRubberBand(canvas, kind) for kind in (line, area, area))
        for band, color in ((self._lines, _LINES), (self._more, _MORE), (self._fewer, _FEWER)):
            band.setStrokeColor(color)
            band.setFillColor(_NOTHING)
            band.setWidth(_PEN_PX)
        project = QgsProject.instance()
        self._connections = [project.writeProject.connect(self._put_back), project.projectSaved.connect(self._show)]

    def show_choice(self, choice: Choice) -> None:
        """Show a mask at once, and outline areas with more or fewer roads than the threshold alone gives."""
        self._choice = choice
        self._show()
        for band in (self._more, self._fewer):
            band.reset(Qgis.GeometryType.Polygon)
        for area in choice.areas:
            band = self._more if area.threshold <= choice.threshold else self._fewer
            band.addGeometry(QgsGeometry.fromWkt(area.geometry), self._layer.crs())

    def show_lines(self, lines: QgsGeometry) -> None:
        """Show lines in the layer's CRS; none where they are empty."""
        self._lines.setToGeometry(lines, self._layer.crs())

    def close(self, is_layer_there: bool) -> None:
        """Leave the map for good, and give the layer its style back if it is still there."""
        for connection in self._connections:
            QObject.disconnect(connection)
        for band in (self._lines, self._more, self._fewer):
            self._canvas.scene().removeItem(band)
        if is_layer_there:
            self._put_back()
            self._layer.triggerRepaint()

    def _show(self) -> None:
        self._layer.setRenderer(mask_renderer(self._layer, self._choice.threshold))
        self._layer.triggerRepaint()

    def _put_back(self) -> None:
        self._layer.setRenderer(self._own.clone())
