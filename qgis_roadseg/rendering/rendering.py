"""Layers that are no file, as files: QGIS itself renders the wanted ground to a GeoTIFF for the worker.

Knows providers of rasters, ground resolution and disks; knows nothing of what the pixels are for.
"""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Union

from qgis.core import (
    Qgis,
    QgsCoordinateReferenceSystem,
    QgsCoordinateTransformContext,
    QgsDistanceArea,
    QgsMapLayer,
    QgsPointXY,
    QgsProcessingFeedback,
    QgsRasterBlock,
    QgsRasterDataProvider,
    QgsRasterFileWriter,
    QgsRasterLayer,
    QgsRectangle,
)
from qgis.PyQt import sip
from qgis.PyQt.QtCore import QRect
from qgis.PyQt.QtGui import QImage

from ...training_core.errors import ImageryError, OutputError, ResourceError
from .block_loader import BlockLoader

LARGEST_GIGAPIXELS = 20
# What a provider is asked for at once, if it gives that much; a multiple of the file's own tiles.
BLOCK_PX = 1024
WEB_TILE_PX = 256
STORAGE = ["TILED=YES", "COMPRESS=DEFLATE", "ZLEVEL=1", "BIGTIFF=IF_SAFER"]
# How many of its pixels a provider may look at, along a side, to make one.
LARGEST_OVERSAMPLING = 32.0
# A layer whose finest pixels are so many times the model's shows less than the model has learned to see.
TOO_COARSE = 1.5
_CAN_RESAMPLE = QgsRasterDataProvider.ProviderCapability.ProviderHintCanPerformProviderResampling


@dataclass(frozen=True)
class Frame:
    """The pixels that are wanted of a layer.

    Parameters
    ----------
    layer_name : str
        For messages.
    crs : QgsCoordinateReferenceSystem
        The layer's.
    extent : QgsRectangle
        In that CRS; of whole pixels.
    width, height : int
        Size in pixels.
    resolution_m : float
        Side of a pixel on the ground in meters, or the longer of two sides.
    """

    layer_name: str
    crs: QgsCoordinateReferenceSystem
    extent: QgsRectangle
    width: int
    height: int
    resolution_m: float

    @property
    def size(self) -> str:
        """The size in words."""
        return f"{self.width:,} x {self.height:,} px at {self.resolution_m:g} m on the ground"


def make_frame(
    layer_name: str,
    crs: QgsCoordinateReferenceSystem,
    extent: QgsRectangle,
    resolution_m: float,
    transforms: QgsCoordinateTransformContext,
) -> Frame:
    """Return the pixels that cover an extent, to half a pixel at its right and lower border.

    They are square in units of the CRS, as providers of web tiles take for granted, and nowhere coarser than asked for;
    how long a unit is on the ground is measured on the WGS 84 ellipsoid, at the extent's center. In degrees they are
    longer on the ground from south to north than from west to east.

    Raises
    ------
    ImageryError
        The CRS has no place on Earth there.
    """
    x_m, y_m = _measure_m(extent, crs, transforms)
    if not (0 < x_m < math.inf and 0 < y_m < math.inf):
        raise ImageryError(
            f"The extent lies outside of the area of {layer_name}'s coordinate system.", "Choose another extent."
        )
    pixel = resolution_m * min(extent.width() / x_m, extent.height() / y_m)
    width, height = max(1, round(extent.width() / pixel)), max(1, round(extent.height() / pixel))
    left, top = extent.xMinimum(), extent.yMaximum()
    covered = QgsRectangle(left, top - height * pixel, left + width * pixel, top)
    return Frame(layer_name, crs, covered, width, height, resolution_m)


def _measure_m(
    extent: QgsRectangle, crs: QgsCoordinateReferenceSystem, transforms: QgsCoordinateTransformContext
) -> tuple[float, float]:
    """Return width and height of an extent in ground meters, as if all of it were like its center."""
    measure = QgsDistanceArea()
    measure.setSourceCrs(crs, transforms)
    measure.setEllipsoid("WGS84")
    x, y, right, up = extent.center().x(), extent.center().y(), extent.width() / 2000, extent.height() / 2000
    x_m = measure.measureLine(QgsPointXY(x - right, y), QgsPointXY(x + right, y))
    y_m = measure.measureLine(QgsPointXY(x, y - up), QgsPointXY(x, y + up))
    return 1000 * x_m, 1000 * y_m


def check_size(frame: Frame, layer: QgsMapLayer, folder: Union[str, Path]) -> None:
    """Find out before the work that a frame is absurdly large, or larger than the disk of temporary files.

    Raises
    ------
    ResourceError
        It is; the message has the numbers.
    """
    pixels = frame.width * frame.height
    tiles = -(-frame.width // WEB_TILE_PX) * -(-frame.height // WEB_TILE_PX)
    what = f"{pixels / 1e9:,.2f} gigapixels of the layer {frame.layer_name} ({frame.size}, some {tiles:,} web tiles)"
    if pixels > LARGEST_GIGAPIXELS * 1e9:
        raise ResourceError(
            f"That would be {what}; {LARGEST_GIGAPIXELS} are the most.",
            "Choose a smaller extent or area of interest, and check the model's ground resolution.",
        )
    gigabytes, free_gigabytes = pixels * _bytes_per_px(layer) / 1e9, shutil.disk_usage(folder).free / 1e9
    if gigabytes > free_gigabytes:
        raise ResourceError(
            f"That would be {what}, which take up to {gigabytes:,.1f} GB of temporary files; "
            f"{folder} has {free_gigabytes:,.1f} GB free.",
            "Choose a smaller extent or area of interest, make room, or name another folder in TMPDIR "
            "(on Windows TEMP).",
        )


def _bytes_per_px(layer: QgsMapLayer) -> int:
    if not isinstance(layer, QgsRasterLayer):
        return len("RGBA")
    provider = layer.dataProvider()
    return sum(QgsRasterBlock.typeSize(provider.dataType(band)) for band in range(1, provider.bandCount() + 1))


def render(provider: QgsRasterDataProvider, frame: Frame, path: Path, feedback: QgsProcessingFeedback) -> None:
    """Write a frame of a layer to a GeoTIFF, block by block.

    Pictures become red, green, blue and alpha, data what the provider gives. Where the layer has nothing, such as a
    web tile that is not there, the file has no data.

    Parameters
    ----------
    provider : QgsRasterDataProvider
        A provider of this thread's own.
    frame : Frame
        What is wanted of it.
    path : Path
        The file to write; where this raises, what is there is to be thrown away.
    feedback : QgsProcessingFeedback
        Hears of progress, and says whether the person stopped it.

    Raises
    ------
    Cancelled
        The person stopped it.
    ImageryError
        The layer could not be loaded whole.
    OutputError
        The file cannot be written.
    """
    feedback.setProgressText(f"Rendering the layer {frame.layer_name}: {frame.size}")
    _warn_of_coarse_pixels(provider, frame, feedback)
    if provider.providerCapabilities() & _CAN_RESAMPLE:
        _interpolate(provider)
    loader, file = BlockLoader(provider, frame.layer_name, feedback), _create_file(provider, frame, path)
    windows = list(_windows(frame, provider))
    try:
        for number, window in enumerate(windows, 1):
            for band, block in _load_bands(loader, provider, window, frame):
                if not (block.convert(file.dataType(band)) and file.writeBlock(block, band, window.x(), window.y())):
                    raise _not_written(frame, path)
            feedback.setProgress(100 * number / len(windows))
    finally:
        sip.delete(file)  # which closes it, whoever still holds it
    if loader.missing:
        feedback.pushInfo(f"{loader.missing:,} tiles of the layer {frame.layer_name} are not there: no data.")


def _interpolate(provider: QgsRasterDataProvider) -> None:
    """Have a provider average what it makes coarser, and interpolate what it makes finer."""
    provider.enableProviderResampling(True)
    provider.setZoomedInResamplingMethod(QgsRasterDataProvider.ResamplingMethod.Bilinear)
    provider.setZoomedOutResamplingMethod(QgsRasterDataProvider.ResamplingMethod.Average)
    provider.setMaxOversampling(LARGEST_OVERSAMPLING)


def _load_bands(
    loader: BlockLoader, provider: QgsRasterDataProvider, window: QRect, frame: Frame
) -> Iterator[tuple[int, QgsRasterBlock]]:
    """Yield the bands of a window as they go into the file, each with its number there."""
    for band in range(1, provider.bandCount() + 1):
        block = loader.load(band, _extent_of(window, frame), window.width(), window.height())
        if _is_picture(provider):
            yield from enumerate(_color_parts(block), 1)
        else:
            yield band, block


def _is_picture(provider: QgsRasterDataProvider) -> bool:
    return provider.dataType(1) in (Qgis.DataType.ARGB32, Qgis.DataType.ARGB32_Premultiplied)


def _create_file(provider: QgsRasterDataProvider, frame: Frame, path: Path) -> QgsRasterDataProvider:
    is_picture = _is_picture(provider)
    bands, data_type = (4, Qgis.DataType.Byte) if is_picture else (provider.bandCount(), _data_type(provider))
    writer = QgsRasterFileWriter(str(path))
    writer.setOutputFormat("GTiff")
    writer.setCreateOptions(STORAGE)
    file = writer.createMultiBandRaster(data_type, frame.width, frame.height, frame.extent, frame.crs, bands)
    if file is None or not file.isValid():
        raise _not_written(frame, path)
    if not is_picture and provider.sourceHasNoDataValue(1):
        file.setNoDataValue(1, provider.sourceNoDataValue(1))  # of all bands, in this format
    file.setEditable(True)
    return file


def _data_type(provider: QgsRasterDataProvider) -> Qgis.DataType:
    """Return a data type for all bands: their own, or one that holds each."""
    own = {provider.dataType(band) for band in range(1, provider.bandCount() + 1)}
    return own.pop() if len(own) == 1 else Qgis.DataType.Float64


def _not_written(frame: Frame, path: Path) -> OutputError:
    return OutputError(f"The layer {frame.layer_name} cannot be written to {path}.", "Make room on the disk.")


def _windows(frame: Frame, provider: QgsRasterDataProvider) -> Iterator[QRect]:
    """Yield the blocks of a frame, in pixels, row by row."""
    side_px = min(BLOCK_PX, provider.stepWidth(), provider.stepHeight())
    for row in range(0, frame.height, side_px):
        for column in range(0, frame.width, side_px):
            yield QRect(column, row, min(side_px, frame.width - column), min(side_px, frame.height - row))


def _extent_of(window: QRect, frame: Frame) -> QgsRectangle:
    pixel = frame.extent.width() / frame.width
    left, top = frame.extent.xMinimum() + window.x() * pixel, frame.extent.yMaximum() - window.y() * pixel
    return QgsRectangle(left, top - window.height() * pixel, left + window.width() * pixel, top)


def _color_parts(block: QgsRasterBlock) -> list[QgsRasterBlock]:
    """Return a picture's red, green, blue and alpha as bytes."""
    width, height = block.width(), block.height()
    image = block.image().convertToFormat(QImage.Format.Format_RGBA8888)
    pixels = bytes(image.constBits().asarray(4 * width * height))
    parts = [QgsRasterBlock(Qgis.DataType.Byte, width, height) for _ in "RGBA"]
    for number, part in enumerate(parts):
        part.setData(pixels[number::4])
    return parts


def _warn_of_coarse_pixels(provider: QgsRasterDataProvider, frame: Frame, feedback: QgsProcessingFeedback) -> None:
    finest = min(provider.nativeResolutions(), default=0.0) / (frame.extent.width() / frame.width)
    if finest > TOO_COARSE:
        feedback.pushWarning(
            f"The layer {frame.layer_name} has pixels of {finest * frame.resolution_m:.2g} m at its finest, where the "
            f"model has {frame.resolution_m:g} m: roads may be missed."
        )
