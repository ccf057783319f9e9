"""Label offset: the translation between drawn roads and the roads in the image, by cross-correlation, and its removal.

Scope: pixels, shifts, and which offset each image has. Independent of how labels are burned.

The drawn roads and their flanks (strips on both sides) are shifted over the image by up to REACH_M in each direction.
Each shift is scored by how well the image separates the two: the coefficient of determination R² of a linear
discriminant on the bands and their local deviation (a road is smooth, and lighter or darker than both of its sides).
The sums of all shifts are correlations, computed by FFT. Whatever the roads look like, R² is high where the drawing
fits.

Measured on Banepa (drone, RGB, 51 roads) and two scenes of Las Vegas (panchromatic, 9 roads; RGB, 38 roads): R² where
the drawing fits is 0.13, 0.22 and 0.31, and elsewhere 0.003, 0.005 and 0.03 in the median. Moved by 30 m in each of
eight directions, all 24 layers are detected, correct within 4 m; so are all 32 with half of Banepa's area. Of 192
random subsets of 2 to 20 roads, none is a false alarm; moved by 30 m, 84 are detected, all correctly: none of 2 roads,
half of 5, nearly all of 20. It takes 0.2 s for these, and 1.5 s for an image of 8000 px a side.

Drawn roads can be moved onto those in each image. Measured on Banepa (northwest, 53 roads; south, 59) and two scenes of
Las Vegas (9 and 38 roads), moved by 5 m in three directions: the mean IoU of the labels with those that were not moved
is 0.24, 0.28, 0.31 and 0.34; after the move by the offset 0.85, 0.81, 0.85 and 0.47 (one of the last three stays). Of 2
m, 5 of 12 offsets are found, of 3 m 8, of 10 and 20 m all, with errors of 0.2 to 2.7 m. No layer that fits is moved.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Optional

import numpy as np
from scipy import fft, ndimage

from ..events import Reporter
from ..geodata.pixel_codes import IGNORE, ROAD
from ..geodata.sources import source_name
from ..system.large_arrays import strips
from .drawing import Drawing
from .labeled_images import ImagePart, LabeledImage, read_labeled_image

REACH_M = 60.0
# Roads drawn by hand are offset by a few meters; an offset below this, or below the width of a road, is normal.
TOLERANCE_M = 8.0
# The image is averaged to cells of about this size; with pixels larger than the coarsest, roads are too thin.
CELL_M, COARSEST_M = 1.0, 2.5
# Distances from a road between which its flanks lie.
FLANK_M = (1.5, 10.0)
MAX_BANDS, MAX_WINDOWS, WINDOW_M = 3, 4, 512.0
# A shift counts as detected if its R² exceeds the median of all shifts by MIN_DEVIATIONS standard deviations,
# that without a shift by MIN_GAIN times, and that of any other place by MIN_LEAD times.
MIN_DEVIATIONS, MIN_GAIN, MIN_LEAD = 8.0, 1.4, 1.15
MIN_ROAD_M2 = 1000.0
# Roads are not moved by less: offsets are measured in steps of about a meter.
MIN_MOVE_M = 1.0
_DIRECTIONS = ("east", "north-east", "north", "north-west", "west", "south-west", "south", "south-east")


@dataclass(frozen=True)
class _Sums:
    """Sums over the roads and their flanks for each shift, all float64; those of several windows add up.

    `road`, `flank`: counts (rows, columns). `road_values`, `flank_values`: (features, rows, columns).
    `products`: of pairs of features over both, (features, features, rows, columns).
    """

    road: np.ndarray
    flank: np.ndarray
    road_values: np.ndarray
    flank_values: np.ndarray
    products: np.ndarray

    def __add__(self, other: "_Sums") -> "_Sums":
        return _Sums(*(mine + others for mine, others in zip(vars(self).values(), vars(other).values())))


def measure_offset(image: LabeledImage, min_offset_m: Optional[float] = None) -> Optional[tuple[float, float]]:
    """Return the offset (east, north), in meters, of the drawn roads from those in the image, if it is significant.

    The minimum offset that counts is by default TOLERANCE_M, or the width of a road.
    """
    x_m, y_m = image.grid.pixel_m
    if max(x_m, y_m) > COARSEST_M:
        return None
    factors = max(1, round(CELL_M / y_m)), max(1, round(CELL_M / x_m))
    cell_m = y_m * factors[0], x_m * factors[1]
    reach = int(REACH_M / cell_m[0]), int(REACH_M / cell_m[1])
    total, width_m = None, 0.0
    road_m2 = 0.0
    for window, core in _windows(image, factors, reach):
        values, known, road, labeled = _average(image, window, factors)
        inside = np.zeros_like(road)
        inside[core] = True
        road, labeled = road & inside, labeled & inside
        if not road.any() or not known.any():
            continue
        # The mean distance to the side of a strip is a quarter of its width.
        width_m = max(width_m, 4 * ndimage.distance_transform_edt(road, sampling=cell_m)[road].mean())
        road_m2 += road.sum() * cell_m[0] * cell_m[1]
        flank = labeled & _flanks(road, cell_m)
        sums = _sum_by_shift(_features(values, known, cell_m), known, road, flank, reach)
        total = sums if total is None else total + sums
    if total is None or road_m2 < MIN_ROAD_M2:
        return None
    # A step of one cell to the right and down, on the ground.
    ground = image.grid.metric_transform
    rows, columns = np.mgrid[-reach[0] : reach[0] + 1, -reach[1] : reach[1] + 1]
    across, down = columns * factors[1], rows * factors[0]
    east_m, north_m = ground.a * across + ground.b * down, ground.d * across + ground.e * down
    tolerance_m = max(TOLERANCE_M, width_m)
    return _find_shift(_determination(total), east_m, north_m, tolerance_m, min_offset_m or tolerance_m)


def _find_shift(
    determination: np.ndarray, east_m: np.ndarray, north_m: np.ndarray, tolerance_m: float, min_offset_m: float
) -> Optional[tuple[float, float]]:
    """Return minus the shift with the highest R², if it is large and significant; arrays (rows, columns)."""
    if not np.isfinite(determination).any():
        return None
    best = np.unravel_index(np.nanargmax(determination), determination.shape)
    # The best shift competes with those too small to count, and with those of other places.
    is_near_zero = np.hypot(east_m, north_m) <= min_offset_m
    is_elsewhere = np.hypot(east_m - east_m[best], north_m - north_m[best]) > tolerance_m
    without, rival = (np.nanmax(determination[where], initial=0) for where in (is_near_zero, is_elsewhere))
    highest, usual = determination[best], np.nanmedian(determination)
    if is_near_zero[best] or highest < MIN_GAIN * without or highest < MIN_LEAD * rival:
        return None
    if highest - usual < MIN_DEVIATIONS * np.nanstd(determination):
        return None
    return -float(east_m[best]), -float(north_m[best])


def _windows(
    image: LabeledImage, factors: tuple[int, int], reach: tuple[int, int]
) -> list[tuple[tuple[slice, ...], tuple[slice, ...]]]:
    """Return the windows with the most road, in pixels, each with its core, in cells; only roads in the core count."""
    height, width = (size // factor for size, factor in zip(image.known.shape, factors))
    side = round(WINDOW_M / CELL_M)
    # As many equal parts as it takes, so that none is a sliver.
    edges = [np.linspace(0, size, max(1, -(-size // side)) + 1).astype(int) for size in (height, width)]
    amounts = _road_in_blocks(image, [edge * factor for edge, factor in zip(edges, factors)])
    most = np.argsort(-amounts, axis=None, kind="stable")[:MAX_WINDOWS]
    windows = []
    for row, column in zip(*np.unravel_index(most, amounts.shape)):
        spans, cores = [], []
        for edge, at, size, factor, margin in zip(edges, (row, column), (height, width), factors, reach):
            start, stop = max(0, edge[at] - margin), min(size, edge[at + 1] + margin)
            spans.append(slice(start * factor, stop * factor))
            cores.append(slice(edge[at] - start, edge[at + 1] - start))
        windows.append((tuple(spans), tuple(cores)))
    return windows


def _road_in_blocks(image: LabeledImage, edges: list[np.ndarray]) -> np.ndarray:
    rows, columns = edges
    amounts = np.zeros((len(rows) - 1, len(columns) - 1))
    for number, (top, bottom) in enumerate(zip(rows[:-1], rows[1:])):
        for part in strips(bottom - top, image.known.shape[1]):
            lines = slice(top + part.start, top + part.stop)
            road = (np.minimum(image.training[lines], image.validation[lines]) == ROAD).sum(axis=0)
            amounts[number] += np.add.reduceat(road[: columns[-1]], columns[:-1])
    return amounts


def _average(
    image: LabeledImage, window: tuple[slice, ...], factors: tuple[int, int]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return a window averaged to cells: values (bands, rows, columns), float32; masks of data, road and labels."""

    def average(array: np.ndarray) -> np.ndarray:
        *bands, height, width = array.shape
        cells = array.reshape(*bands, height // factors[0], factors[0], width // factors[1], factors[1])
        return cells.mean(axis=(-3, -1), dtype=np.float32)

    labels = np.minimum(image.training[window], image.validation[window])
    known = image.known[window]
    coverage = average(known)
    chosen = np.unique(np.linspace(0, len(image.bands) - 1, MAX_BANDS).round().astype(int))
    values = np.stack([average(np.where(known, image.values[(band, *window)], 0)) for band in chosen])
    # Means over the pixels with data alone; a cell has data, is road or labeled if most of it is.
    return (
        values / np.maximum(coverage, 1e-6),
        coverage > 0.5,
        average(labels == ROAD) > 0.5,
        average(labels != IGNORE) > 0.5,
    )


def _flanks(road: np.ndarray, cell_m: tuple[float, float]) -> np.ndarray:
    distance_m = ndimage.distance_transform_edt(~road, sampling=cell_m)
    return (distance_m > FLANK_M[0]) & (distance_m <= FLANK_M[1])


def _features(values: np.ndarray, known: np.ndarray, cell_m: tuple[float, float]) -> np.ndarray:
    """Return the features, float32: each band, standardized and clipped, and the logarithm of its local deviation."""
    sigma = [1.5 / size_m for size_m in cell_m]
    weight = ndimage.gaussian_filter(known.astype(np.float32), sigma) + 1e-6
    features = []
    for band in values:
        # Standardized and clipped, so that roofs and shadows do not dominate; then smoothed over valid cells only.
        scaled = np.clip((band - band[known].mean()) / (band[known].std() + 1e-9), -3, 3)
        scaled[~known] = 0
        mean = ndimage.gaussian_filter(scaled, sigma) / weight
        squared = np.where(known, (scaled - mean) ** 2, 0)
        variance = ndimage.gaussian_filter(squared, sigma) / weight
        features += [scaled, np.where(known, np.log(np.maximum(variance, 1e-4)) / 2, 0)]
    return np.stack(features).astype(np.float32)


def _sum_by_shift(
    features: np.ndarray, known: np.ndarray, road: np.ndarray, flank: np.ndarray, reach: tuple[int, int]
) -> _Sums:
    # Zero-padded, so that correlations do not wrap around.
    sizes = [max(size + margin, 2 * margin + 1) for size, margin in zip(road.shape, reach)]
    shape = [fft.next_fast_len(size, real=True) for size in sizes]

    def transform(array: np.ndarray) -> np.ndarray:
        return fft.rfft2(array.astype(np.float32), shape)

    def correlate(image: np.ndarray, template: np.ndarray) -> np.ndarray:
        sums = np.roll(fft.irfft2(image * template.conj(), shape), reach, axis=(0, 1))
        return sums[: 2 * reach[0] + 1, : 2 * reach[1] + 1].astype(np.float64)

    roads, flanks, data = transform(road), transform(flank), transform(known)
    both = roads + flanks
    transformed = [transform(feature) for feature in features]
    count = len(features)
    # Sums of products of features, which give the covariance at each shift; the matrix is symmetric.
    products = np.empty((count, count, 2 * reach[0] + 1, 2 * reach[1] + 1))
    for first in range(count):
        for second in range(first, count):
            product = correlate(transform(features[first] * features[second]), both)
            products[first, second] = products[second, first] = product
    return _Sums(
        road=correlate(data, roads),
        flank=correlate(data, flanks),
        road_values=np.stack([correlate(feature, roads) for feature in transformed]),
        flank_values=np.stack([correlate(feature, flanks) for feature in transformed]),
        products=products,
    )


def _determination(sums: _Sums) -> np.ndarray:
    """Return R² of the linear discriminant of road and flanks for each shift; NaN if half of either is off the image.

    With the fractions p and q of the two, the difference d of their means and the covariance S of both together, it is
    p q dᵀ S⁻¹ d.
    """
    road, flank = np.maximum(sums.road, 1), np.maximum(sums.flank, 1)
    # Pooled mean and covariance of both classes at each shift, from the sums.
    fraction = road / (road + flank)
    mean = (sums.road_values + sums.flank_values) / (road + flank)
    covariance = sums.products / (road + flank) - mean[:, None] * mean[None]
    difference = np.moveaxis(sums.road_values / road - sums.flank_values / flank, 0, -1)
    # A small ridge keeps the systems of all shifts solvable at once.
    matrix = np.moveaxis(covariance, (0, 1), (-2, -1)) + 1e-3 * np.eye(len(mean))
    solved = np.linalg.solve(matrix, difference[..., None])[..., 0]
    determination = fraction * (1 - fraction) * (difference * solved).sum(axis=-1)
    seen = (sums.road >= 0.5 * sums.road.max()) & (sums.flank >= 0.5 * sums.flank.max())
    return np.where(seen, determination, np.nan)


def move_onto(images: Sequence[ImagePart], drawing: Drawing, reporter: Reporter) -> Drawing:
    """Return a drawing whose roads are moved onto those in each of some whole images, if the offset is significant.

    An image is read and measured when its labels are first burned.
    """
    image_of = {image.path: image for image in images}

    @functools.cache
    def move_of(path: str) -> tuple[float, float]:
        image = read_labeled_image(image_of[path], drawing, reporter.silent())
        offset_m = image and measure_offset(image, MIN_MOVE_M)
        if not offset_m:
            reporter.log(f"{source_name(path)}: no significant offset of the drawn roads; they are not moved.")
            return 0.0, 0.0
        east_m, north_m = -offset_m[0], -offset_m[1]
        reporter.log(
            f"{source_name(path)}: the drawn roads are moved by {math.hypot(east_m, north_m):.1f} m to the "
            f"{direction(east_m, north_m)}."
        )
        return east_m, north_m

    return replace(drawing, move_of=move_of)


def direction(east_m: float, north_m: float) -> str:
    """Return the name of the nearest of eight directions."""
    return _DIRECTIONS[round(math.atan2(north_m, east_m) / (math.pi / 4)) % len(_DIRECTIONS)]
