"""Road mask: hysteresis thresholding, closing, small patches removed and small holes filled.

Scope: road rasters, and the order and sizes of the steps. Independent of skeletons, graphs and maps.

Only one strip at a time is an array. The whole image is held as runs and bits, so that no result depends on where
strips begin.
"""

from __future__ import annotations

from typing import Optional

import numpy as np

from ..events import Reporter
from ..geodata.road_raster import RoadRaster
from ..jobs import NetworkOptions
from .compact_masks import BitMask, Frame, Runs, between, components, drawn, joined, runs_of, touches


def connected_to(likely: Runs, sure: Runs, frame: Frame) -> Runs:
    """Return hysteresis: the patches of likely road that contain sure road.

    All sure pixels, in any order, are likely too. The method is that of Canny, "A computational approach to edge
    detection", IEEE Transactions on Pattern Analysis and Machine Intelligence 8 (1986).
    """
    patch = components(likely, frame, diagonal=True)
    is_sure = np.zeros(patch.max(initial=-1) + 1, dtype=bool)
    # A sure run lies in the likely run that starts last before it.
    is_sure[patch[np.searchsorted(likely.starts, sure.starts, side="right") - 1]] = True
    return likely[is_sure[patch]]


def without_small_patches(road: Runs, smallest_px: float, frame: Frame) -> Runs:
    """Return the road without connected components of fewer pixels than `smallest_px`."""
    patch = components(road, frame, diagonal=True)
    return road[(np.bincount(patch, road.sizes) >= smallest_px)[patch]]


def with_small_holes_filled(road: Runs, outside: Runs, smallest_px: float, frame: Frame) -> Runs:
    """Return the road with holes of fewer pixels than `smallest_px` filled.

    A gap that touches missing data or the image's border is only partly visible and not a hole. `outside` is where
    there are no data, and the frame.
    """
    # The rest is neither road nor outside; holes are its 4-connected components.
    rest = between(joined(road, outside))
    hole = components(rest, frame, diagonal=False)
    is_small = np.bincount(hole, rest.sizes) < smallest_px
    is_small[hole[touches(rest, outside, frame)]] = False
    return joined(road, rest[is_small[hole]])


def closed(road: BitMask, known: BitMask, columns: int, rows: int) -> BitMask:
    """Return the morphological closing of the road, which fills gaps of up to some columns and rows of pixels.

    The structuring element is a disk, or an ellipse where pixels are not square, one pixel larger than the gap. Beyond
    the edge of the data road is assumed, so that closing does not erode roads there.
    """
    grown = _grown(road, columns, rows, 1)
    return known & ~_grown(known & ~grown, columns, rows, -1)


def _grown(mask: BitMask, columns: int, rows: int, sign: int) -> BitMask:
    """Return the dilation of a mask by an ellipse in a box from 0 to (columns, rows), mirrored with a sign of -1."""
    # The last column of each row's chord in the ellipse; none ends left of the middle.
    aside = (2 * np.arange(rows + 1) - rows) / (rows + 1)
    last = ((columns + (columns + 1) * np.sqrt(1 - aside**2)) / 2 + 1e-9).astype(int)
    last = np.maximum(last, (columns + 1) // 2)
    grown, chord, length = BitMask.empty(mask.height, mask.width), mask, 0
    for row in np.argsort(last).tolist():  # from the shortest chord on, each made from the one before
        while length < 2 * last[row] - columns:
            length += 1
            chord = chord | mask.moved(sign * length, 0)
        grown = grown | chord.moved(sign * int(columns - last[row]), sign * row)
    return grown


def find_road(
    raster: RoadRaster,
    pixel_m: tuple[float, float],
    options: NetworkOptions,
    reporter: Reporter,
    linked: Optional[np.ndarray] = None,
) -> tuple[BitMask, BitMask]:
    """Return the clean road mask of a raster, and where there are data.

    `linked`, (n, 2) int64, are columns and rows of likely pixels that are connected to sure ones beyond the raster.
    """
    frame = Frame(raster.height, raster.width)
    road, outside, known = _read(raster, options.hysteresis, frame, reporter.part(0, 0.8), linked)
    reporter.progress(0.8, "Cleaning the mask")
    sizes_px = (raster.width, raster.height)  # no gap is wider than the image
    columns, rows = (min(int(options.close_m / side_m + 1e-6), px) for side_m, px in zip(pixel_m, sizes_px))
    if columns or rows:
        road = _runs(closed(_drawn(road, raster, frame), known, columns, rows), raster, frame)
    pixel_m2 = pixel_m[0] * pixel_m[1]
    road = without_small_patches(road, options.min_area_m2 / pixel_m2, frame)
    road = with_small_holes_filled(road, outside, options.min_hole_m2 / pixel_m2, frame)
    return _drawn(road, raster, frame), known


def _read(
    raster: RoadRaster, hysteresis: float, frame: Frame, reporter: Reporter, linked: Optional[np.ndarray]
) -> tuple[Runs, Runs, BitMask]:
    """Return the runs of road, the runs without data and around the image, and where there are data."""
    known = BitMask.empty(raster.height, raster.width)
    likely, sure, outside = [], [], [frame.around()]
    for first_row, count in raster.strips():
        reporter.step(first_row / raster.height, "Reading")
        values, is_known = raster.read(first_row, count)
        known.write(first_row, is_known)
        outside.append(runs_of(~is_known, first_row, frame))
        sure.append(runs_of(raster.road(values, is_known), first_row, frame))
        if raster.threshold is not None and hysteresis < 1:
            likely.append(runs_of(raster.road(values, is_known, hysteresis), first_row, frame))
    road = joined(*sure)
    if likely:
        if linked is not None:
            at = frame.row(linked[:, 1]) + linked[:, 0]
            road = Runs(np.append(road.starts, at), np.append(road.stops, at + 1))
        road = connected_to(joined(*likely), road, frame)
    return road, joined(*outside), known


def _drawn(runs: Runs, raster: RoadRaster, frame: Frame) -> BitMask:
    mask = BitMask.empty(raster.height, raster.width)
    for first_row, count in raster.strips():
        mask.write(first_row, drawn(runs, first_row, count, frame))
    return mask


def _runs(mask: BitMask, raster: RoadRaster, frame: Frame) -> Runs:
    return joined(*(runs_of(mask.read(first_row, count), first_row, frame) for first_row, count in raster.strips()))
