"""The review of a whole network, view by view: joins its lines, the layer of verdicts, the panel and the brush.

Scope: what follows from what. Independent of how verdicts are written.
"""

from __future__ import annotations

from qgis.core import (
    Qgis,
    QgsCoordinateTransform,
    QgsCsException,
    QgsGeometry,
    QgsProject,
    QgsRasterLayer,
    QgsRectangle,
    QgsVectorLayer,
)
from qgis.gui import QgisInterface
from qgis.PyQt.QtCore import QObject

from ....training_core.errors import RoadSegError
from ....training_core.jobs.review import ACCEPTED, REJECTED, VERDICTS
from ...translation import tr
from ..dialogs import open_dialog
from ..probability import is_probability
from ..tracing.control import Tracing
from .network_verdicts import NetworkVerdicts, verdict_layer
from .painting import BRUSH_PX, PaintingTool
from .panel import BACK, SKIP, TRACE, ReviewPanel
from .review_lines import note_for

# Roads are hardly seen at coarser scales, and the next view has this one where the map's is coarser.
COARSEST_SCALE, SCALE = 10_000, 2_500
_LEARN = "learnfromreview"


class NetworkReview:
    """The review of a network: what is wrong is painted, and what is left of a view accepted as a whole.

    Raises LayerError or OutputError if there can be no layer of verdicts; see `verdict_layer`.
    """

    def __init__(self, window: QgisInterface, panel: ReviewPanel, network: QgsVectorLayer, tracing: Tracing) -> None:
        self._window, self._panel, self._network, self._tracing = window, panel, network, tracing
        self._canvas = window.mapCanvas()
        self._layer = verdict_layer(network)
        self._verdicts = NetworkVerdicts(network, self._layer)
        self._total = self._verdicts.left
        self.layer_ids = (network.id(), self._layer.id())
        self._tool = PaintingTool(self._canvas)
        self._tool.painted.connect(self._paint)
        self._connections = [
            self._canvas.extentsChanged.connect(self._show),
            panel.learn.clicked.connect(self._learn),
        ]
        window.setActiveLayer(network)
        panel.show_layer(network.name(), note_for(network), can_learn=True)
        self._take_up_brush()
        self._show()

    def end(self) -> None:
        """Let go of the layers; the next review goes on with the lines that are left."""
        for connection in self._connections:
            QObject.disconnect(connection)
        self._connections = []
        self._tool.close()

    def act(self, what: str) -> None:
        """Do what a key or button asks; raises OutputError if it cannot be written."""
        view = self._view()
        if what == ACCEPTED:
            if self._canvas.scale() > COARSEST_SCALE:
                text = tr("Roads are hardly visible at this scale. Zoom in to at least 1:{scale} to accept a view.")
                self._panel.tell(text.format(scale=f"{COARSEST_SCALE:,}"))
                return
            self._verdicts.accept_in(view)
            self._go_on()
        elif what == REJECTED:
            self._take_up_brush()
        elif what == SKIP:
            self._verdicts.skip(view)
            self._go_on()
        elif what == BACK:
            self._verdicts.back()
        elif what == TRACE:
            self._tracing.draw_one(self._network, self._take_up_brush)
        self._show()

    def _take_up_brush(self) -> None:
        if self._connections:  # or the review ended while a road was drawn
            self._canvas.setMapTool(self._tool)

    def _learn(self) -> None:
        """Open the dialog of what a model learns from the review, with the map's image where it shows just one."""
        values = {"ROADS": self._network.id(), "REVIEW": self._layer.id()}
        rasters = [each for each in self._canvas.layers() if isinstance(each, QgsRasterLayer)]
        images = [each.id() for each in rasters if not is_probability(each)]
        open_dialog(self._window, _LEARN, {**values, "INPUT": images[0]} if len(images) == 1 else values)

    def _go_on(self) -> None:
        """Move to the nearest line that is left, unless some are in view."""
        place = self._verdicts.next(self._view().center())
        if place is not None and not self._view().contains(place):
            try:
                center = self._to_network().transform(place, Qgis.TransformDirection.Reverse)
            except QgsCsException:  # no map of this CRS shows it
                return
            self._canvas.setCenter(center)
            if self._canvas.scale() > COARSEST_SCALE:
                self._canvas.zoomScale(SCALE)
            self._canvas.refresh()

    def _paint(self, stroke: QgsGeometry) -> None:
        """Reject the line at a click, or the parts of lines under a stroke."""
        self._panel.tell("")
        reach = BRUSH_PX / 2 * self._canvas.mapUnitsPerPixel()
        brush = stroke.buffer(reach, 6)
        try:
            brush.transform(self._to_network())
            self._check_whole(brush.boundingBox())
            if stroke.type() == Qgis.GeometryType.Point:
                stroke.transform(self._to_network())
                is_met = self._verdicts.reject_at(stroke.asPoint(), brush.boundingBox().width() / 2)
            else:
                is_met = self._verdicts.reject(brush)
        except QgsCsException:
            is_met = False
        except RoadSegError as error:
            self._panel.tell(str(error))
            return
        if not is_met:
            self._panel.tell(tr("There is no line under the brush."))
        self._show()

    def _show(self) -> None:
        if self._verdicts.left:
            text = tr(
                "Lines in this view without a verdict: <b>{count}</b>. Click each wrong line, or paint along its wrong "
                "part. Trace each missing road. Then accept the rest of the view."
            ).format(count=f"{self._verdicts.count_in(self._view()):,}")
        else:
            text = tr("The review is complete. Run Apply a review to get the network without the rejected parts.")
        self._panel.show_line(text, (*VERDICTS, TRACE), self._verdicts.can_go_back)
        self._panel.show_progress(self._total - self._verdicts.left, self._total, "")

    def _view(self) -> QgsRectangle:
        """Return what the map shows, in the network's CRS; nothing where it has no place there."""
        try:
            view = self._to_network().transformBoundingBox(self._canvas.extent())
            self._check_whole(view)
        except QgsCsException:
            return QgsRectangle()
        return view

    def _check_whole(self, box: QgsRectangle) -> None:
        """Raise QgsCsException if a box reaches across the antimeridian: in degrees, it goes around the Earth."""
        if self._network.crs().isGeographic() and box.width() > 180:
            raise QgsCsException("antimeridian")

    def _to_network(self) -> QgsCoordinateTransform:
        crs = self._canvas.mapSettings().destinationCrs()
        return QgsCoordinateTransform(crs, self._network.crs(), QgsProject.instance())
