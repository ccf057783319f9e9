"""Layers that have no pixels of their own, which are meshes, as pictures: painted as they are styled.

Knows how QGIS paints a layer; knows nothing of which ground is wanted, or what for.
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


def provider_of(layer: Union[QgsRasterLayer, QgsMeshLayer]) -> QgsRasterDataProvider:
    """Return a provider of a layer's pixels for another thread, made in the layer's own."""
    return layer.dataProvider().clone() if isinstance(layer, QgsRasterLayer) else PaintedLayer(layer)


class PaintedLayer(QgsRasterDataProvider):
    """A provider of pictures of a layer, whose pixels no provider has.

    It paints a copy of the layer, with its style as it is now and at any scale, in the thread that asks for blocks.

    Parameters
    ----------
    layer : QgsMeshLayer
        A layer of this thread.
    """

    def __init__(self, layer: QgsMeshLayer) -> None:
        super().__init__()
        self._layer = _copy(layer)
        self._layer.setScaleBasedVisibility(False)
        self._layer.moveToThread(None)  # where it is free to be taken by the thread that paints

    def crs(self) -> QgsCoordinateReferenceSystem:
        """Return the layer's CRS."""
        return self._layer.crs()

    def extent(self) -> QgsRectangle:
        """Return the layer's extent."""
        return self._layer.extent()

    def isValid(self) -> bool:
        """Say whether the layer is valid."""
        return self._layer.isValid()

    def name(self) -> str:
        """Return the kind of provider."""
        return "painted"

    def description(self) -> str:
        """Return what it is to a person."""
        return "Pictures of a layer"

    def bandCount(self) -> int:
        """Return 1: a picture holds its colors in one band."""
        return 1

    def dataType(self, band: int) -> Qgis.DataType:
        """Return the type of a picture's pixels."""
        return Qgis.DataType.ARGB32_Premultiplied

    def block(
        self,
        band: int,
        extent: QgsRectangle,
        width: int,
        height: int,
        feedback: Optional[QgsRasterBlockFeedback] = None,
    ) -> QgsRasterBlock:
        """Return what the layer looks like there; transparent where it is not."""
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
    """Return a layer like this, as a project would keep it: a mesh's own clone lacks style and added data."""
    document, context = QDomDocument(), QgsReadWriteContext()
    element = document.createElement("maplayer")
    layer.writeLayerXml(element, document, context)
    copy = QgsMeshLayer()
    copy.readLayerXml(element, context)
    return copy
