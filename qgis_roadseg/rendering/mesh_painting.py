"""Mesh layers as raster providers: painted as they are styled.

Scope: QGIS' map rendering. Independent of the extent that is rendered, and of its use.
"""

from __future__ import annotations

from typing import Optional, Union

from qgis.core import (
    Qgis,
    QgsCoordinateReferenceSystem,
    QgsMapRendererCustomPainterJob,
    QgsMapSettings,
    QgsMeshLayer,
    QgsRasterBlock,
    QgsRasterBlockFeedback,
    QgsRasterDataProvider,
    QgsRasterLayer,
    QgsReadWriteContext,
    QgsRectangle,
)
from qgis.PyQt.QtCore import QSize, Qt, QThread
from qgis.PyQt.QtGui import QColor, QImage, QPainter
from qgis.PyQt.QtXml import QDomDocument

from ..layers.no_data import check_no_data


def provider_of(layer: Union[QgsRasterLayer, QgsMeshLayer]) -> QgsRasterDataProvider:
    """Return a provider of a layer's pixels for use in another thread; call it in the layer's thread.

    Raises ImageryError if the layer's pixels without data cannot be told from the others; see `check_no_data`.
    """
    check_no_data(layer)
    return layer.dataProvider().clone() if isinstance(layer, QgsRasterLayer) else PaintedLayer(layer)


class PaintedLayer(QgsRasterDataProvider):
    """A raster provider that paints a layer.

    It paints a copy of the layer, with its current style and at any scale, in the thread that requests blocks.
    """

    def __init__(self, layer: QgsMeshLayer) -> None:
        super().__init__()
        self._layer = _copy(layer)
        self._layer.setScaleBasedVisibility(False)
        self._layer.moveToThread(None)  # so that the thread that paints can take it

    def crs(self) -> QgsCoordinateReferenceSystem:
        return self._layer.crs()

    def extent(self) -> QgsRectangle:
        return self._layer.extent()

    def isValid(self) -> bool:
        return self._layer.isValid()

    def name(self) -> str:
        return "painted"

    def description(self) -> str:
        return "Images painted of a layer"

    def bandCount(self) -> int:
        """Return 1: one ARGB band holds all colors."""
        return 1

    def dataType(self, band: int) -> Qgis.DataType:
        return Qgis.DataType.ARGB32_Premultiplied

    def block(
        self,
        band: int,
        extent: QgsRectangle,
        width: int,
        height: int,
        feedback: Optional[QgsRasterBlockFeedback] = None,
    ) -> QgsRasterBlock:
        """Return the painted layer in premultiplied ARGB pixels; transparent where it has nothing."""
        if self._layer.thread() is None:
            self._layer.moveToThread(QThread.currentThread())
        image = QImage(width, height, QImage.Format.Format_ARGB32_Premultiplied)
        image.fill(Qt.GlobalColor.transparent)
        painter = QPainter(image)
        job = QgsMapRendererCustomPainterJob(self._settings(extent, image.size()), painter)
        if feedback is not None:
            feedback.canceled.connect(job.cancelWithoutBlocking, Qt.ConnectionType.DirectConnection)
        job.renderSynchronously()
        painter.end()
        for error in job.errors():
            if feedback is not None:
                feedback.appendError(error.message)
        block = QgsRasterBlock()
        block.setImage(image)
        return block

    def _settings(self, extent: QgsRectangle, size: QSize) -> QgsMapSettings:
        settings = QgsMapSettings()
        settings.setLayers([self._layer])
        settings.setDestinationCrs(self._layer.crs())
        settings.setExtent(extent)
        settings.setOutputSize(size)
        settings.setBackgroundColor(QColor(Qt.GlobalColor.transparent))
        settings.setFlag(Qgis.MapSettingsFlag.RenderMapTile)  # no seams between neighbors
        return settings


def _copy(layer: QgsMeshLayer) -> QgsMeshLayer:
    """Return a copy of the layer, by its XML: a mesh's clone() lacks style and extra datasets."""
    document, context = QDomDocument(), QgsReadWriteContext()
    element = document.createElement("maplayer")
    layer.writeLayerXml(element, document, context)
    copy = QgsMeshLayer()
    copy.readLayerXml(element, context)
    return copy
