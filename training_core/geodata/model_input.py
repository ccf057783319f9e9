"""What a model takes of an image: which bands, at which ground resolution, and how their values are scaled.

Knows rasters and what a model says of its input; knows nothing of networks.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from rasterio.io import DatasetReader

from .rasters import Band, Image, band_names, match_bands, measure_bands, open_raster, unnamed

# Values are scaled by the numbers that the model has learned with, or by those of the image itself.
MODEL, IMAGE = "model", "image"
SCALINGS = (MODEL, IMAGE)
_COLORS = ("red", "green", "blue")
# About so many pixels are measured, in squares that lie evenly over the image: first few of them, and where these show
# no data, more and smaller ones.
_MEASURED_PX, _SQUARES_A_SIDE, _FEWEST_PX = 1_000_000, (8, 32, 128), 1000


@dataclass(frozen=True)
class ModelInput:
    """What a model takes.

    Parameters
    ----------
    bands : tuple of Band
        In order. With the scaling `image`, their numbers are those of the images that it has learned from.
    resolution_m : float
        Ground size of the pixels in meters.
    scaling : str
        One of SCALINGS.
    """

    bands: tuple[Band, ...]
    resolution_m: float
    scaling: str = MODEL


def find_bands(dataset: DatasetReader, wanted: ModelInput) -> tuple[int, ...]:
    """Return the numbers of a dataset's bands that a model takes, in the model's order; see `imagery.match_bands`.

    A model of red, green and blue that scales by the image has seen gray ones, too: a single band stands for each of
    its bands. It takes the first bands of an image that has more, but names none of them.

    Raises
    ------
    ImageryError
        The dataset has other bands than the model learned from.
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
    """Open a raster as a model takes it: the image on its grid, and the bands that say how to scale its values."""
    with open_raster(path) as dataset, Image(dataset, find_bands(dataset, wanted), wanted.resolution_m) as image:
        yield image, measure_scaling(image, wanted.bands) if wanted.scaling == IMAGE else wanted.bands


def measure_scaling(image: Image, bands: tuple[Band, ...]) -> tuple[Band, ...]:
    """Return bands with the mean and standard deviation of an image's known pixels, as far as a sample of it tells.

    The sample has the pixels that the network sees. (Those of overviews are means, and vary less.)

    Parameters
    ----------
    image : Image
    bands : tuple of Band
        Give the names, and the numbers where the sample shows no data.
    """
    for count in _SQUARES_A_SIDE:
        side_px = round(_MEASURED_PX**0.5 / count)
        columns, rows = (_spans(size, count, side_px) for size in (image.grid.width, image.grid.height))
        pieces = (image.read(left, top, width, height) for top, height in rows for left, width in columns)
        samples = [values[:, known] for values, known in pieces]
        known_px = sum(sample.shape[1] for sample in samples)
        if known_px >= min(_FEWEST_PX, image.grid.width * image.grid.height):
            break
    return measure_bands(tuple(band.name for band in bands), samples) if known_px else bands


def _spans(size_px: int, count: int, side_px: int) -> list[tuple[int, int]]:
    """Return starts and lengths of stretches in the middle of even parts of an image's side, or all of a short one."""
    if size_px <= count * side_px:
        return [(0, size_px)]
    return [(int((number + 0.5) * size_px / count - side_px / 2), side_px) for number in range(count)]


# A piece with less data than this tells little.
LEAST_KNOWN = 0.5
