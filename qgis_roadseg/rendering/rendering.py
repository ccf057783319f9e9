"""Rendering of a layer's extent to a GeoTIFF for the worker, block by block at a given ground resolution.

Scope: raster providers, ground resolution, disk space. Independent of the pixels' use.
"""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterator, Sequence
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
from ..layers.no_data import ranges_of, value_in
from .block_loader import BlockLoader

MAX_GIGAPIXELS = 20
# Side of the blocks requested from a provider that allows it; a multiple of the file's tiles.
BLOCK_PX = 1024
WEB_TILE_PX = 256
STORAGE = ["TILED=YES", "COMPRESS=DEFLATE", "ZLEVEL=1", "BIGTIFF=IF_SAFER"]
# Limit of source pixels per rendered pixel, along a side.
MAX_OVERSAMPLING = 32.0
# Ratio of the layer's finest pixels to the model's above which roads may be missed.
TOO_COARSE = 1.5
_CAN_RESAMPLE = QgsRasterDataProvider.ProviderCapability.ProviderHintCanPerformProviderResampling


@dataclass(frozen=True)
class Frame:
    """The pixel grid to render a layer on.

    Parameters
    ----------
    extent : QgsRectangle
        In that CRS; of whole pixels.
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
        """The size as text for messages."""
        return f"{self.width:,} x {self.height:,} px at {self.resolution_m:g} m on the ground"


def make_frame(
    layer_name: str,
    crs: QgsCoordinateReferenceSystem,
    extent: QgsRectangle,
    resolution_m: float,
    transforms: QgsCoordinateTransformContext,
) -> Frame:
    """Return the pixel grid that covers an extent, to half a pixel at its right and lower border.

    Pixels are square in units of the CRS, as providers of web tiles expect, and nowhere coarser than `resolution_m`;
    the length of a unit on the ground is measured on the WGS 84 ellipsoid, at the extent's center. In degrees they are
    longer on the ground from south to north than from west to east. Raises ImageryError if the extent is outside of the
    CRS' area of validity.
    """
    pixel = resolution_m * units_per_m(layer_name, crs, extent, transforms)
    width, height = max(1, round(extent.width() / pixel)), max(1, round(extent.height() / pixel))
    left, top = extent.xMinimum(), extent.yMaximum()
    covered = QgsRectangle(left, top - height * pixel, left + width * pixel, top)
    return Frame(layer_name, crs, covered, width, height, resolution_m)


def units_per_m(
    layer_name: str, crs: QgsCoordinateReferenceSystem, extent: QgsRectangle, transforms: QgsCoordinateTransformContext
) -> float:
    """Return how many units of a CRS a meter is at an extent's center, in the direction in which it is the fewest.

    Raises ImageryError if the extent is outside of the CRS' area of validity.
    """
    x_m, y_m = _measure_m(extent, crs, transforms)
    if not (0 < x_m < math.inf and 0 < y_m < math.inf):
        raise ImageryError(
            f"The extent lies outside the area of {layer_name}'s coordinate system.", "Choose another extent."
        )
    return min(extent.width() / x_m, extent.height() / y_m)


def _measure_m(
    extent: QgsRectangle, crs: QgsCoordinateReferenceSystem, transforms: QgsCoordinateTransformContext
) -> tuple[float, float]:
    """Return width and height of an extent in ground meters, at the scale of its center."""
    measure = QgsDistanceArea()
    measure.setSourceCrs(crs, transforms)
    measure.setEllipsoid("WGS84")
    x, y, right, up = extent.center().x(), extent.center().y(), extent.width() / 2000, extent.height() / 2000
    x_m = measure.measureLine(QgsPointXY(x - right, y), QgsPointXY(x + right, y))
    y_m = measure.measureLine(QgsPointXY(x, y - up), QgsPointXY(x, y + up))
    return 1000 * x_m, 1000 * y_m


def check_size(frames: Sequence[Frame], layer: QgsMapLayer, folder: Union[str, Path]) -> None:
    """Check before the work that a layer's frames are of a reasonable size, and fit on the disk for temporary files.

    Raises ResourceError if they are too large; the message has the numbers.
    """
    pixels = sum(frame.width * frame.height for frame in frames)
    tiles = sum(-(-frame.width // WEB_TILE_PX) * -(-frame.height // WEB_TILE_PX) for frame in frames)
    size = (
        frames[0].size if len(frames) == 1 else f"{len(frames):,} parts at {frames[0].resolution_m:g} m on the ground"
    )
    what = f"{pixels / 1e9:,.2f} gigapixels of the layer {layer.name()} ({size}, some {tiles:,} web tiles)"
    if pixels > MAX_GIGAPIXELS * 1e9:
        raise ResourceError(
            f"That would be {what}; at most {MAX_GIGAPIXELS} are allowed.",
            "Choose a smaller extent or area of interest, and check the model's ground resolution.",
        )
    gigabytes, free_gigabytes = pixels * _bytes_per_px(layer) / 1e9, shutil.disk_usage(folder).free / 1e9
    if gigabytes > free_gigabytes:
        raise ResourceError(
            f"That would be {what}, which take up to {gigabytes:,.1f} GB of temporary files, but {folder} has only "
            f"{free_gigabytes:,.1f} GB free.",
            "Choose a smaller extent or area of interest, make room, or set the variable TMPDIR (on Windows TEMP) to "
            "another folder.",
        )


def _bytes_per_px(layer: QgsMapLayer) -> int:
    if not isinstance(layer, QgsRasterLayer):
        return len("RGBA")
    provider = layer.dataProvider()
    return sum(QgsRasterBlock.typeSize(provider.dataType(band)) for band in range(1, provider.bandCount() + 1))


def render(provider: QgsRasterDataProvider, frame: Frame, path: Path, feedback: QgsProcessingFeedback) -> None:
    """Render a frame of a layer to a GeoTIFF, block by block.

    Images become red, green, blue and alpha; data keep the provider's bands and type. Where the layer has nothing, such
    as a missing web tile, the file has no data. Raises Cancelled if the user stopped it. Raises ImageryError if the
    layer could not be loaded completely. Raises OutputError if the file cannot be written. It is to be deleted then.
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
        sip.delete(file)  # which closes it, even if referenced elsewhere
    if loader.missing:
        tiles = f"{len(loader.missing):,} tiles of the layer {frame.layer_name}"
        feedback.pushInfo(f"{tiles} do not exist. They become nodata.")


def _interpolate(provider: QgsRasterDataProvider) -> None:
    """Have a provider average when downsampling, and interpolate when upsampling."""
    provider.enableProviderResampling(True)
    provider.setZoomedInResamplingMethod(QgsRasterDataProvider.ResamplingMethod.Bilinear)
    provider.setZoomedOutResamplingMethod(QgsRasterDataProvider.ResamplingMethod.Average)
    provider.setMaxOversampling(MAX_OVERSAMPLING)


def _load_bands(
    loader: BlockLoader, provider: QgsRasterDataProvider, window: QRect, frame: Frame
) -> Iterator[tuple[int, QgsRasterBlock]]:
    """Yield the bands of a window, each with its number in the file."""
    for band in range(1, provider.bandCount() + 1):
        block = loader.load(band, _extent_of(window, frame), window.width(), window.height())
        if _is_image(provider):
            yield from enumerate(_color_parts(block), 1)
        else:
            _unite_no_data(block, provider, band)
            yield band, block


def _unite_no_data(block: QgsRasterBlock, provider: QgsRasterDataProvider, band: int) -> None:
    """Give all pixels of a block that are no data in QGIS the one value that stands for them in the file."""
    ranges = ranges_of(provider, band)
    if ranges:
        block.setNoDataValue(value_in(ranges[0]))
        block.applyNoDataValues(ranges)


def _is_image(provider: QgsRasterDataProvider) -> bool:
    return provider.dataType(1) in (Qgis.DataType.ARGB32, Qgis.DataType.ARGB32_Premultiplied)


def _create_file(provider: QgsRasterDataProvider, frame: Frame, path: Path) -> QgsRasterDataProvider:
    is_image = _is_image(provider)
    bands, data_type = (4, Qgis.DataType.Byte) if is_image else (provider.bandCount(), _data_type(provider))
    writer = QgsRasterFileWriter(str(path))
    writer.setOutputFormat("GTiff")
    writer.setCreateOptions(STORAGE)
    file = writer.createMultiBandRaster(data_type, frame.width, frame.height, frame.extent, frame.crs, bands)
    if file is None or not file.isValid():
        raise _not_written(frame, path)
    if not is_image and ranges_of(provider):
        file.setNoDataValue(1, value_in(ranges_of(provider)[0]))  # of all bands, in this format
    file.setEditable(True)
    return file


def _data_type(provider: QgsRasterDataProvider) -> Qgis.DataType:
    """Return a data type for all bands: their own, or one that holds each."""
    own = {provider.dataType(band) for band in range(1, provider.bandCount() + 1)}
    return own.pop() if len(own) == 1 else Qgis.DataType.Float64


def _not_written(frame: Frame, path: Path) -> OutputError:
    return OutputError(f"The layer {frame.layer_name} cannot be written to {path}.", "Make room on the disk.")


def _windows(frame: Frame, provider: QgsRasterDataProvider) -> Iterator[QRect]:
    side_px = min(BLOCK_PX, provider.stepWidth(), provider.stepHeight())
    for row in range(0, frame.height, side_px):
        for column in range(0, frame.width, side_px):
            yield QRect(column, row, min(side_px, frame.width - column), min(side_px, frame.height - row))


def _extent_of(window: QRect, frame: Frame) -> QgsRectangle:
    pixel = frame.extent.width() / frame.width
    left, top = frame.extent.xMinimum() + window.x() * pixel, frame.extent.yMaximum() - window.y() * pixel
    return QgsRectangle(left, top - window.height() * pixel, left + window.width() * pixel, top)


def _color_parts(block: QgsRasterBlock) -> list[QgsRasterBlock]:
    """Return an ARGB block's red, green, blue and alpha as byte blocks."""
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
            f"The finest pixels of the layer {frame.layer_name} are {finest * frame.resolution_m:.2g} m, but the "
            f"pixels of the model are {frame.resolution_m:g} m. Roads may be missed."
        )
