"""Ground cover: where an image shows water, cloud, shadow or canopy, by a small classifier, or water by an index.

Scope: pixels of about a meter around some places, and the probability of each class there. Independent of roads, of the
segmentation model and of output files. `scripts/ground_cover/fit.py` fits the coefficients, and tells the error of each
class on ground that is left out of the fit.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
from rasterio.io import DatasetReader
from scipy.ndimage import maximum_filter, minimum_filter, uniform_filter
from scipy.special import softmax

from ..errors import ImageryError
from ..geodata.grid import grid_of
from ..geodata.rasters import Band, Image, band_names, choose_bands, measure_scaling

OTHER, WATER, CLOUD, SHADOW, CANOPY = CLASSES = range(5)
RESOLUTION_M = 1.0
# The features of a pixel depend on pixels so far away: half the widest box, or a minimum of a maximum of means.
_HALO_PX, _CORE_PX = 40, 960
# Standardized features farther from the mean are cut.
_MOST = 4.0
_COEFFICIENTS = Path(__file__).with_name("ground_cover.json")
_COLORS = ("red", "green", "blue")
# Pixels of each tile from which the index of water has its threshold.
_SAMPLED = 2000


def cover_at(
    dataset: DatasetReader, near_infrared: int, pixels_on: Callable[[Image], np.ndarray], check: Callable[[], None]
) -> np.ndarray:
    """Return the probability of each of CLASSES at places of an image: (n, 5) float64, NaN without data.

    `pixels_on` leads from the image in pixels of about a meter to columns and rows of the places, (n, 2) float64, and
    `check` is called at every tile. With the number of a near-infrared band, not 0, an index says what is water.
    Raises ImageryError if the image has no such band.
    """
    indexes = _bands_of(dataset, near_infrared)
    with Image(dataset, indexes, max(RESOLUTION_M, grid_of(dataset).resolution_m)) as image:
        pixels = np.floor(pixels_on(image)).astype(np.int64)
        colors = len(indexes) - bool(near_infrared)
        scaling = measure_scaling(image, tuple(Band(str(index)) for index in indexes))[:colors]
        mean, std = (float(np.mean([getattr(band, name) for band in scaling])) for name in ("mean", "std"))
        found = np.full((len(pixels), len(CLASSES)), np.nan)
        index, sampled = np.full(len(pixels), np.nan), []
        is_on = ((pixels >= 0) & (pixels < (image.grid.width, image.grid.height))).all(axis=1)
        tiles = pixels // _CORE_PX
        for tile in np.unique(tiles[is_on], axis=0):
            check()
            here = np.flatnonzero(is_on & (tiles == tile).all(axis=1))
            left, top = np.maximum(tile * _CORE_PX - _HALO_PX, 0)
            right, bottom = np.minimum((tile + 1) * _CORE_PX + _HALO_PX, (image.grid.width, image.grid.height))
            values, known = image.read(int(left), int(top), int(right - left), int(bottom - top))
            if not known.any():
                continue
            values = values.astype(np.float32)
            values[:, ~known] = values[:, known].mean(axis=1, keepdims=True)
            columns, rows = (pixels[here] - (left, top)).T
            features = features_of(values[:colors], max(mean, 1e-6), max(std, 1e-6))[:, rows, columns].T
            found[here] = np.where(known[rows, columns, None], classified(features), np.nan)
            if near_infrared:
                wet = water_index(values[1], values[-1])
                index[here] = wet[rows, columns]
                sampled.append(wet[known][:: max(1, int(known.sum()) // _SAMPLED)])
    return _with_index(found, index, otsu_threshold(np.concatenate(sampled))) if sampled else found


def _bands_of(dataset: DatasetReader, near_infrared: int) -> tuple[int, ...]:
    """Return the numbers of red, green and blue, or of one band of gray, then that of near infrared unless it is 0."""
    names = {index: name for index, name in band_names(dataset).items() if index != near_infrared}
    by_name = {name: index for index, name in names.items()}
    if len(names) < len(_COLORS):
        colors: tuple[int, ...] = tuple(names)[:1]
    else:
        is_named = all(color in by_name for color in _COLORS)
        colors = tuple(by_name[color] for color in _COLORS) if is_named else tuple(names)[: len(_COLORS)]
    if not near_infrared:
        return colors
    choose_bands(dataset, (near_infrared,))
    if len(colors) < len(_COLORS):
        raise ImageryError(
            f"{dataset.name} has a near-infrared band, but no green one beside it, so there is no index of water.",
            "Give an image with red, green, blue and near infrared, or leave the near-infrared band (near_infrared) "
            "out.",
        )
    return (*colors, near_infrared)


def features_of(values: np.ndarray, mean: float, std: float) -> np.ndarray:
    """Return the features of pixels of a meter: (features, height, width) float32.

    Values, (bands, height, width) float32, are red, green and blue, or one band of gray. Their mean and standard
    deviation are those of the whole image, so that its brightness and bit depth do not matter. Features of color come
    last, and only with three bands.
    """

    def box(plane: np.ndarray, side: int) -> np.ndarray:
        return uniform_filter(plane, side, mode="nearest")

    def deviation(plane: np.ndarray, side: int) -> np.ndarray:
        return np.sqrt(np.maximum(box(plane * plane, side) - box(plane, side) ** 2, 0))

    light = values.mean(axis=0) / np.float32(mean)
    near, far = box(light, 5), box(light, 61)
    fine, rough, coarse = (np.log(deviation(light, side) / (box(light, side) + 0.001) + 0.005) for side in (3, 7, 25))
    found = [
        np.log(near + 0.02), (near - 1) * np.float32(mean / std), np.log((near + 0.02) / (far + 0.02)),
        fine, rough, coarse,
        # Form: what is smooth, bright or dark over more than the width of a road.
        minimum_filter(maximum_filter(fine, 11), 11), minimum_filter(maximum_filter(rough, 25), 25),
        np.log(maximum_filter(minimum_filter(near, 21), 21) + 0.02),
        np.log(minimum_filter(maximum_filter(near, 21), 21) + 0.02),
    ]  # fmt: skip
    if len(values) == len(_COLORS):
        red, green, blue = (box(band, 5) / np.float32(mean) + np.float32(0.02) for band in values)
        total, most = red + green + blue, np.maximum(np.maximum(red, green), blue)
        least = np.minimum(np.minimum(red, green), blue)
        tint = (values[1] - values[0]) / (values.sum(axis=0) + np.float32(0.05 * mean))
        found += [(green - red) / total, (blue - green) / total, (most - least) / most]
        found += [np.log(deviation(tint, 9) + 0.003)]
    return np.stack(found)


def products(standardized: np.ndarray) -> np.ndarray:
    """Return standardized features, (n, features), with all their products of two and a constant: (n, terms)."""
    cut = np.clip(standardized, -_MOST, _MOST)
    first, second = np.triu_indices(cut.shape[1])
    return np.concatenate([np.ones((len(cut), 1)), cut, cut[:, first] * cut[:, second]], axis=1)


def classified(features: np.ndarray) -> np.ndarray:
    """Return the probability of each of CLASSES by multinomial logistic regression of features, (n, features)."""
    fitted = _fitted()["color" if features.shape[1] == len(_fitted()["color"]["mean"]) else "gray"]
    terms = products((features - fitted["mean"]) / fitted["std"])
    return np.asarray(softmax(terms @ fitted["coefficients"], axis=1))


@cache
def _fitted() -> dict[str, dict[str, np.ndarray]]:
    document = json.loads(_COEFFICIENTS.read_text(encoding="ascii"))
    return {kind: {name: np.array(values) for name, values in fit.items()} for kind, fit in document.items()}


def water_index(green: np.ndarray, near_infrared: np.ndarray) -> np.ndarray:
    """Return the normalized difference water index of means over 5 x 5 pixels: (height, width) float32, -1 to 1.

    See McFeeters, "The use of the normalized difference water index (NDWI) in the delineation of open water features",
    1996. It is above 0 on water, which absorbs near infrared.
    """
    green, infrared = (uniform_filter(band, 5, mode="nearest") for band in (green, near_infrared))
    return (green - infrared) / np.maximum(green + infrared, np.finfo(np.float32).tiny)


def otsu_threshold(index: np.ndarray) -> float:
    """Return the threshold of water among an index, (n,): McFeeters' 0, or more where two groups part above it.

    See Otsu, "A threshold selection method from gray-level histograms", 1979.
    """
    count, edges = np.histogram(index, 256, (-1, 1))
    middle = (edges[1:] + edges[:-1]) / 2
    below, above = count.cumsum()[:-1], count[::-1].cumsum()[::-1][1:]
    sums = (count * middle).cumsum()
    means = sums[:-1] / np.maximum(below, 1), (sums[-1] - sums[:-1]) / np.maximum(above, 1)
    return max(0.0, float(edges[1:-1][(below * above * (means[0] - means[1]) ** 2).argmax()]))


def _with_index(probability: np.ndarray, index: np.ndarray, threshold: float) -> np.ndarray:
    """Return probabilities, (n, 5), in which an index alone, (n,), decides on water."""
    others = probability.copy()
    others[:, WATER] = 0
    others /= np.maximum(others.sum(axis=1, keepdims=True), 1e-9)
    others[index > threshold] = np.eye(len(CLASSES))[WATER]
    return np.where(np.isnan(probability), np.nan, others)
