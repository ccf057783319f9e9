"""Model input: which bands of an image, at which ground resolution, and how values are normalized (z-score).

Scope: rasters and a model's input specification. Independent of the model itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from rasterio.io import DatasetReader

from .rasters import Band, Image, band_names, match_bands, measure_bands, open_raster, require_computable, unnamed

# Values are normalized by mean and deviation of the training images, or of the image itself.
MODEL, IMAGE = "model", "image"
SCALINGS = (MODEL, IMAGE)
_COLORS = ("red", "green", "blue")
# Statistics are measured on about a million pixels, in squares spread evenly over the image: a few large ones, or, if
# these have no data, many small ones.
_MEASURED_PX, _SQUARES_A_SIDE, _MIN_PX = 1_000_000, (8, 32, 128), 1000
# A piece with a smaller fraction of data is not representative.
MIN_KNOWN = 0.5


@dataclass(frozen=True)
class ModelInput:
    """The input specification of a model: bands in order, ground size of the pixels, and one of SCALINGS.

    Mean and deviation of the bands are those of the training images, also if the scaling is `image`. `pixel_m` is the
    pixel size of images without georeference, which are refused if it is 0.
    """

    bands: tuple[Band, ...]
    resolution_m: float
    scaling: str = MODEL
    pixel_m: float = 0.0


def find_bands(dataset: DatasetReader, wanted: ModelInput) -> tuple[int, ...]:
    """Return the numbers of a dataset's bands that a model takes, in the model's order.

    A model of red, green and blue that normalizes by the image was also trained on gray images: a single band stands
    for all three. From an image with more bands and no names it takes the first three. Raises ImageryError if the
    dataset has other bands than the model was trained on, or is no image; see `rasters.band_names`.
    """
    is_for_any_color = wanted.scaling == IMAGE and all(band.name in _COLORS for band in wanted.bands)
    indexes = tuple(band_names(dataset))
    if is_for_any_color and len(indexes) == 1:
        return indexes * len(wanted.bands)
    if is_for_any_color and len(indexes) > len(wanted.bands) and unnamed(dataset):
        return indexes[: len(wanted.bands)]
    return match_bands(dataset, wanted.bands)


@contextmanager
def open_for_model(path: str, wanted: ModelInput) -> Iterator[tuple[Image, tuple[Band, ...]]]:
    """Open a raster for a model: the image at the model's resolution, and the bands with which to normalize it."""
    with open_raster(path) as dataset:
        with Image(dataset, find_bands(dataset, wanted), wanted.resolution_m, wanted.pixel_m) as image:
            yield image, measure_scaling(image, wanted.bands) if wanted.scaling == IMAGE else wanted.bands


def measure_scaling(image: Image, bands: tuple[Band, ...]) -> tuple[Band, ...]:
    """Return bands with the mean and standard deviation of an image, estimated from a sample of its pixels.

    The sample is at the model's resolution because pixels of overviews are means and vary less. Without data in the
    sample the bands are returned as they are. Raises ImageryError if the values are too large or too small to normalize
    by.
    """
    for count in _SQUARES_A_SIDE:
        side_px = round(_MEASURED_PX**0.5 / count)
        # Squares of about a million pixels together, count x count of them, in the middle of equal parts of the image.
        columns, rows = (_spans(size, count, side_px) for size in (image.grid.width, image.grid.height))
        pieces = (image.read(left, top, width, height) for top, height in rows for left, width in columns)
        samples = [values[:, known] for values, known in pieces]
        known_px = sum(sample.shape[1] for sample in samples)
        if known_px >= min(_MIN_PX, image.grid.width * image.grid.height):
            break
    if not known_px:
        return bands
    measured = measure_bands(tuple(band.name for band in bands), samples)
    require_computable(measured, image.name)
    return measured


def _spans(size_px: int, count: int, side_px: int) -> list[tuple[int, int]]:
    """Return starts and lengths of spans centered in equal parts of an image's side, or all of a short side."""
    if size_px <= count * side_px:
        return [(0, size_px)]
    return [(int((number + 0.5) * size_px / count - side_px / 2), side_px) for number in range(count)]
