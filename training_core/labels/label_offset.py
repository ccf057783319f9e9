"""Label offset: the translation between drawn roads and the roads in the image, by cross-correlation, and its removal.

Scope: pixels, shifts, and which offset each image has. Independent of how labels are burned.

The drawn roads and their flanks (strips on both sides) are shifted over the image by up to REACH_M in each direction.
Each shift is scored by how well the image separates the two: the coefficient of determination R² of a linear
discriminant on the bands and their local deviation (a road is smooth, and lighter or darker than both of its sides).
The sums of all shifts are correlations, computed by FFT. Whatever the roads look like, R² is high where the drawing
fits.

Measured on Banepa (drone, RGB, 51 roads) and two scenes of Las Vegas (panchromatic, 9 roads; RGB, 38 roads): R² where
the drawing fits is 0.13, 0.22 and 0.31, and elsewhere 0.003, 0.005 and 0.03 in the median. Moved by 30 m in each of
eight directions, all 24 layers are detected, correct within 4 m. None of 192 random subsets of 2 to 20 roads is a
false alarm; moved by 30 m, none of 2 roads is detected, half of 5, nearly all of 20. It takes 0.2 s for these, and 1.5
s for an image of 8000 px a side.

Drawn roads can be moved onto those in each image. Moved away by 5 m and back by the offset, the mean IoU of the labels
with those that were not moved grows from 0.24 to 0.34 to 0.81 to 0.85, or 0.47 for 9 roads. 5 of 12 offsets of 2 m are
found, of 3 m 8, of 10 and 20 m all, with errors of 0.2 to 2.7 m. No layer that fits is moved.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
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
# A lower R² is rounding, as of an image of one color.
_ROUNDING = 1e-6
MIN_ROAD_M2 = 1000.0
# Roads are not moved by less: offsets are measured in steps of about a meter.
MIN_MOVE_M = 1.0
_DIRECTIONS = ("east", "north-east", "north", "north-west", "west", "south-west", "south", "south-east")


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
    total, width_m, road_m2 = [], 0.0, 0.0
    for window, core in _windows(image, factors, reach):
        values, known, road, labeled = _average(image, window, factors)
        inside = np.zeros_like(road)
        inside[core] = True
        road &= inside
        if not road.any() or not known.any():
            continue
        # The mean distance to the side of a strip is a quarter of its width.
        width_m = max(width_m, 4 * ndimage.distance_transform_edt(road, sampling=cell_m)[road].mean())
        road_m2 += road.sum() * cell_m[0] * cell_m[1]
        distance_m = ndimage.distance_transform_edt(~road, sampling=cell_m)
        flank = labeled & inside & (distance_m > FLANK_M[0]) & (distance_m <= FLANK_M[1])
        total.append(_sum_by_shift(_features(values, known, cell_m), known, road, flank, reach))
    if road_m2 < MIN_ROAD_M2:
        return None
    # A step of one cell to the right and down, on the ground.
    ground = image.grid.metric_transform
    rows, columns = np.mgrid[-reach[0] : reach[0] + 1, -reach[1] : reach[1] + 1]
    across, down = columns * factors[1], rows * factors[0]
    east_m, north_m = ground.a * across + ground.b * down, ground.d * across + ground.e * down
    tolerance_m = max(TOLERANCE_M, width_m)
    determination = _determination(np.sum(total, axis=0), 2 * min(MAX_BANDS, len(image.bands)))
    return _find_shift(determination, east_m, north_m, tolerance_m, min_offset_m or tolerance_m)


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
    if is_near_zero[best] or highest < max(_ROUNDING, MIN_GAIN * without, MIN_LEAD * rival):
        return None
    if highest - usual < MIN_DEVIATIONS * np.nanstd(determination):
        return None
    return -float(east_m[best]), -float(north_m[best])


def _windows(
    image: LabeledImage, factors: tuple[int, int], reach: tuple[int, int]
) -> list[tuple[tuple[slice, ...], tuple[slice, ...]]]:
    """Return the windows with the most road, in pixels, each with its core, in cells; only roads in the core count."""
    sizes = tuple(size // factor for size, factor in zip(image.known.shape, factors))
    side = round(WINDOW_M / CELL_M)
    # As many equal parts as it takes, so that none is a sliver.
    edges = [np.linspace(0, size, max(1, -(-size // side)) + 1).astype(int) for size in sizes]
    rows, columns = (edge * factor for edge, factor in zip(edges, factors))
    amounts = np.zeros((len(rows) - 1, len(columns) - 1))
    for number, (top, bottom) in enumerate(zip(rows[:-1], rows[1:])):
        for part in strips(bottom - top, image.known.shape[1]):
            lines = slice(top + part.start, top + part.stop)
            road = (np.minimum(image.training[lines], image.validation[lines]) == ROAD).sum(axis=0)
            amounts[number] += np.add.reduceat(road[: columns[-1]], columns[:-1])
    windows = []
    for number in np.argsort(-amounts, axis=None, kind="stable")[:MAX_WINDOWS]:
        spans, cores = [], []
        for edge, at, size, factor, margin in zip(edges, divmod(number, len(columns) - 1), sizes, factors, reach):
            start, stop = max(0, edge[at] - margin), min(size, edge[at + 1] + margin)
            spans.append(slice(start * factor, stop * factor))
            cores.append(slice(edge[at] - start, edge[at + 1] - start))
        windows.append((tuple(spans), tuple(cores)))
    return windows


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
) -> np.ndarray:
    """Return sums over the roads and their flanks for each shift, (sums, rows, columns), float64.

    They are the count of road and the sum of each feature over it, the same of the flanks, and the sums of products of
    pairs of features over both, in the order of `np.triu_indices`. Those of several windows add up.
    """
    # Zero-padded, so that correlations do not wrap around.
    sizes = [max(size + margin, 2 * margin + 1) for size, margin in zip(road.shape, reach)]
    shape = [fft.next_fast_len(size, real=True) for size in sizes]

    def transform(array: np.ndarray) -> np.ndarray:
        return fft.rfft2(array.astype(np.float32), shape)

    # Shifts to the left and up are at the end.
    rows, columns = np.ogrid[-reach[0] : reach[0] + 1, -reach[1] : reach[1] + 1]

    def correlate(images: Iterable[np.ndarray], template: np.ndarray) -> list[np.ndarray]:
        return [fft.irfft2(image * template, shape)[rows, columns].astype(np.float64) for image in images]

    roads, flanks = transform(road).conj(), transform(flank).conj()
    counted = [transform(image) for image in (known, *features)]
    products = (transform(features[first] * features[second]) for first, second in zip(*np.triu_indices(len(features))))
    return np.stack([*correlate(counted, roads), *correlate(counted, flanks), *correlate(products, roads + flanks)])


def _determination(sums: np.ndarray, features: int) -> np.ndarray:
    """Return R² of the linear discriminant of road and flanks for each shift; NaN if half of either is off the image.

    Sums are those of `_sum_by_shift` for a number of features. With the fractions p and q of the two, the difference d
    of their means and the covariance S of both together, it is p q dᵀ S⁻¹ d.
    """
    (road, *road_values), (flank, *flank_values) = sums[: features + 1], sums[features + 1 : 2 * features + 2]
    seen = (road >= 0.5 * road.max()) & (flank >= 0.5 * flank.max())
    road, flank = np.maximum(road, 1), np.maximum(flank, 1)
    # Pooled mean and covariance of both classes at each shift, from the sums; the matrix is symmetric.
    mean = (np.array(road_values) + flank_values) / (road + flank)
    first, second = np.triu_indices(features)
    covariance = np.empty((features, features, *road.shape))
    covariance[first, second] = sums[2 * features + 2 :] / (road + flank) - mean[first] * mean[second]
    covariance[second, first] = covariance[first, second]
    difference = np.moveaxis(np.array(road_values) / road - np.array(flank_values) / flank, 0, -1)
    # A small ridge keeps the systems of all shifts solvable at once.
    matrix = np.moveaxis(covariance, (0, 1), (-2, -1)) + 1e-3 * np.eye(features)
    solved = np.linalg.solve(matrix, difference[..., None])[..., 0]
    fraction = road / (road + flank)
    return np.where(seen, fraction * (1 - fraction) * (difference * solved).sum(axis=-1), np.nan)


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
