"""What a dialog begins with, as the open project has it: the view of the map, its only image.

Scope: QGIS' window. Without one, and in other threads than its own, there are none: scripts choose all inputs.
"""

from __future__ import annotations

from typing import Any, Optional

from qgis import utils
from qgis.core import QgsApplication, QgsProject, QgsRasterLayer
from qgis.PyQt.QtCore import QThread

from ..layers.styles import GROUP


def view() -> Optional[str]:
    """Return what the map shows, as the value of an extent."""
    window = _window()
    if window is None:
        return None
    settings = window.mapCanvas().mapSettings()
    extent, crs = settings.visibleExtent(), settings.destinationCrs()
    if extent.isEmpty() or not crs.isValid():
        return None
    sides = extent.xMinimum(), extent.xMaximum(), extent.yMinimum(), extent.yMaximum()
    return f"{','.join(map(repr, sides))} [{crs.authid()}]"


def only_image() -> Optional[str]:
    """Return the id of the only raster layer of a file that is no result of RoadSeg; None if there are several."""
    layers = QgsProject.instance().mapLayers().values() if _window() is not None else ()
    images = [each for each in layers if isinstance(each, QgsRasterLayer) and each.providerType() == "gdal"]
    ids = [each.id() for each in images if not _is_result(each)]
    return ids[0] if len(ids) == 1 else None


def _is_result(layer: QgsRasterLayer) -> bool:
    node = QgsProject.instance().layerTreeRoot().findLayer(layer)
    return node is not None and node.parent().name().startswith(GROUP)


def _window() -> Optional[Any]:
    """Return QGIS' window if it is open and this is its thread."""
    return utils.iface if QThread.currentThread() == QgsApplication.instance().thread() else None
