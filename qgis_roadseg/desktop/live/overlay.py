"""The overlay of a live session: the newest prediction as a raster layer that QGIS draws itself.

Scope: layers, styles, the layer tree. Independent of how predictions are made. The layer stays the same one and points
to another file each time, so that nothing flickers.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Optional

from qgis.core import QgsDataProvider, QgsLayerTreeGroup, QgsLayerTreeNode, QgsMapLayer, QgsProject, QgsRasterLayer
from qgis.gui import QgsMapCanvas
from qgis.PyQt.QtCore import QObject, QTimer

from ....training_core.jobs.file_systems import replace
from ...layers.styles import style_file
from ...translation import tr
from .session_store import SHOWN

PROBABILITY, UNCERTAINTY = "probability", "uncertainty"
GROUP = "RoadSeg live"
# The layer's property by which it is found in a project that was saved.
PROPERTY = "roadseg/live"
# A map that is being drawn is let finish for so long before the next prediction is drawn.
MAX_WAIT_S, TICK_MS = 1.5, 50


class LiveOverlay(QObject):
    """The layer of predictions in the project, below the label layers that lie above the image.

    The map is not interrupted while it is drawn.
    """

    def __init__(self, canvas: QgsMapCanvas, folder: Path, image: QgsMapLayer, labels: Iterable[QgsMapLayer]) -> None:
        super().__init__()
        self._canvas, self._folder = canvas, folder
        self._image, self._labels = image.id(), [layer.id() for layer in labels]
        self._layer_id = ""
        self._pending = self._shown = ""
        self._pending_style = self._style = ""
        self._waited_ms = 0
        self._timer = QTimer(self)
        self._timer.setInterval(TICK_MS)
        self._timer.timeout.connect(self._on_tick)
        QgsProject.instance().writeProject.connect(self._on_project_written)

    @property
    def layer(self) -> Optional[QgsRasterLayer]:
        """The layer; None before the first prediction, and once it was removed."""
        return QgsProject.instance().mapLayer(self._layer_id) if self._layer_id else None

    def show(self, path: str, style: str) -> None:
        """Show a prediction as soon as the map is not being drawn; of several, the last."""
        self._pending, self._pending_style = path, style
        if not self._timer.isActive():
            self._waited_ms = 0
            self._timer.start(0 if not self._canvas.isDrawing() else TICK_MS)

    def close(self) -> None:
        """Remove the layer, and its group where nothing else is in it."""
        self._timer.stop()
        with contextlib.suppress(TypeError):  # it was closed before
            QgsProject.instance().writeProject.disconnect(self._on_project_written)
        group = self._group()
        if self.layer is not None:
            QgsProject.instance().removeMapLayer(self._layer_id)
        self._layer_id = ""
        if group is not None and not group.children():
            group.parent().removeChildNode(group)

    def _on_tick(self) -> None:
        self._timer.setInterval(TICK_MS)
        self._waited_ms += TICK_MS
        if self._canvas.isDrawing() and self._waited_ms < 1000 * MAX_WAIT_S:
            return
        self._timer.stop()
        if Path(self._pending).is_file():  # or a newer one is on its way
            self._point_to(self._pending)

    def _point_to(self, path: str) -> None:
        layer = self.layer
        if layer is None:
            layer = self._add(path)
        else:
            layer.setDataSource(path, layer.name(), "gdal", QgsDataProvider.ProviderOptions(), False)
            if not layer.isValid() and self._shown:  # it was removed in this moment
                layer.setDataSource(self._shown, layer.name(), "gdal", QgsDataProvider.ProviderOptions(), False)
                return
        if layer is None:
            return
        if self._style != self._pending_style:
            self._style = self._pending_style
            layer.loadNamedStyle(str(style_file(self._style)))
            layer.setName(_titles()[self._style])
        self._shown = path
        layer.triggerRepaint()

    def _add(self, path: str) -> Optional[QgsRasterLayer]:
        plain = QgsRasterLayer.LayerOptions(False)  # without a style of QGIS' own, for which it would read all pixels
        layer = QgsRasterLayer(path, _titles()[self._pending_style], "gdal", plain)
        if not layer.isValid():
            return None
        layer.setCustomProperty(PROPERTY, True)
        project, group = QgsProject.instance(), self._group() or self._make_group()
        for former in former_overlays(project):
            project.removeMapLayer(former)
        self._layer_id, self._style = layer.id(), ""
        project.addMapLayer(layer, False)
        group.addLayer(layer)
        return layer

    def _group(self) -> Optional[QgsLayerTreeGroup]:
        return QgsProject.instance().layerTreeRoot().findGroup(GROUP)

    def _make_group(self) -> QgsLayerTreeGroup:
        """Return a new group on top of the layer tree, or below the labels where these lie there."""
        root = QgsProject.instance().layerTreeRoot()
        lowest = _place_of(self._image, root)
        places = [_place_of(each, root) for each in self._labels]
        above = [place for place in places if place is not None and (lowest is None or place < lowest)]
        return root.insertGroup(max(above) + 1 if above else 0, GROUP)

    def _on_project_written(self) -> None:
        """Have the project name a file that stays: predictions are removed as newer ones come."""
        layer = self.layer
        if layer is None or not Path(self._shown).is_file():
            return
        kept = self._folder / SHOWN
        with contextlib.suppress(OSError):  # then the saved project names a file that may be gone
            draft = kept.with_name(f".{kept.name}")
            shutil.copyfile(self._shown, draft)
            replace(draft, kept)
            layer.setDataSource(str(kept), layer.name(), "gdal", QgsDataProvider.ProviderOptions(), False)


def former_overlays(project: QgsProject) -> list[str]:
    """Return the ids of overlays of earlier sessions, which were saved with a project."""
    return [layer.id() for layer in project.mapLayers().values() if layer.customProperty(PROPERTY)]


def _titles() -> dict[str, str]:
    return {PROBABILITY: tr("Road probability, live"), UNCERTAINTY: tr("Uncertainty, live")}


def _place_of(layer_id: str, root: QgsLayerTreeGroup) -> Optional[int]:
    """Return where below the root a layer lies, alone or in a group; None where it is not in the tree."""
    node: Optional[QgsLayerTreeNode] = root.findLayer(layer_id)
    if node is None:
        return None
    while node.parent() != root:
        node = node.parent()
    return root.children().index(node)
