"""Where an image shows water, by the normalized difference water index of its green and near-infrared bands.

Scope: pixels of about a meter around some places. Independent of roads and models.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from rasterio.io import DatasetReader
from scipy.ndimage import uniform_filter

from ..errors import ImageryError
from .grid import grid_of, is_on_grid
from .rasters import Image, band_names, choose_bands
from .road_raster import STRIP_MULTIPLE, pixels_at

# The index is that of means over squares of so many pixels of so many meters.
_SQUARE_PX, _RESOLUTION_M = 5, 1.0


def water_at(
    dataset: DatasetReader, near_infrared: int, pixels_on: Callable[[Image], np.ndarray], check: Callable[[], None]
) -> np.ndarray:
    """Return whether places of an image with a near-infrared band of a number are water: (n,) bool.

    `pixels_on` leads from the image in pixels of about a meter to columns and rows of the places, (n, 2) float64, and
    `check` is called at every strip of it. Raises ImageryError if the image has no such band, or no green one.
    """
    bands = green_band(dataset, near_infrared), near_infrared
    with Image(dataset, bands, max(_RESOLUTION_M, grid_of(dataset).resolution_m)) as image:
        pixels, size, sampled = pixels_on(image), (image.grid.width, image.grid.height), []

        def index_in(first_row: int, count: int) -> np.ndarray:
            check()
            top = max(0, first_row - _SQUARE_PX // 2)
            bottom = min(size[1], first_row + count + _SQUARE_PX // 2)
            values, known = image.read(0, top, size[0], bottom - top)
            index = np.where(known, water_index(*np.where(known, values, 0).astype(np.float32)), np.nan)
            index = index[first_row - top :][:count]
            sampled.append(index[::STRIP_MULTIPLE, ::STRIP_MULTIPLE].ravel())
            return index

        is_on = is_on_grid(image.grid, pixels)
        is_water = np.zeros(len(pixels), dtype=bool)
        if is_on.any():
            index = pixels_at(pixels[is_on] - 0.5, size[1], size[0], index_in)
            is_water[is_on] = index > otsu_threshold(np.concatenate(sampled))
    return is_water


def green_band(dataset: DatasetReader, near_infrared: int) -> int:
    """Return the number of the green band: the one of this name, or the second of three or more.

    Raises ImageryError if the image lacks it, or the near-infrared band of a number.
    """
    choose_bands(dataset, (near_infrared,))
    names = {name: index for index, name in band_names(dataset).items() if index != near_infrared}
    if "green" not in names and len(names) < 3:
        raise ImageryError(
            f"{dataset.name} has a near-infrared band, but no green one beside it, so there is no index of water.",
            "Give an image with red, green, blue and near infrared, or leave the near-infrared band (near_infrared) "
            "out.",
        )
    return names.get("green") or list(names.values())[1]


def water_index(green: np.ndarray, near_infrared: np.ndarray) -> np.ndarray:
    """Return the normalized difference water index of means over 5 x 5 pixels: (height, width) float32, -1 to 1.

    See McFeeters, "The use of the normalized difference water index (NDWI) in the delineation of open water features",
    1996. It is above 0 on water, which absorbs near infrared.
    """
    green, infrared = (uniform_filter(band, _SQUARE_PX, mode="nearest") for band in (green, near_infrared))
    total = green + infrared
    return np.divide(green - infrared, total, out=np.zeros_like(total), where=total > 0)


def otsu_threshold(index: np.ndarray) -> float:
    """Return the threshold of water among an index, (n,): McFeeters' 0, or more where two groups part above it.

    NaN is left out. See Otsu, "A threshold selection method from gray-level histograms", 1979.
    """
    count, edges = np.histogram(index, 256, (-1, 1))
    middle = (edges[1:] + edges[:-1]) / 2
    below, above = count.cumsum()[:-1], count[::-1].cumsum()[::-1][1:]
    sums = (count * middle).cumsum()
    means = sums[:-1] / np.maximum(below, 1), (sums[-1] - sums[:-1]) / np.maximum(above, 1)
    return max(0.0, float(edges[1:-1][(below * above * (means[0] - means[1]) ** 2).argmax()]))
