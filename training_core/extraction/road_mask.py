"""From a raster that shows roads to a clean mask of them, strip by strip.

Knows the order of steps, and their sizes on the ground; each step is `patches`'. Only a strip at a time is held as an
array; of the whole image there are runs and bits, so that no step ever sees the border of a strip.
"""

from __future__ import annotations

import numpy as np

from ..events import Reporter
from ..geodata.road_raster import RoadRaster
from ..jobs import NetworkOptions
from .bitmask import BitMask
from .run_lengths import Frame, Runs, between, components, drawn, joined, runs_of, touches


def connected_to(likely: Runs, sure: Runs, frame: Frame) -> Runs:
    """Return the likely road that hangs together with sure road, of which all is likely, too.

    This is thresholding with hysteresis, from Canny, "A computational approach to edge detection", IEEE Transactions on
    Pattern Analysis and Machine Intelligence 8 (1986).
    """
    patch = components(likely, frame, diagonal=True)
    is_sure = np.zeros(patch.max(initial=-1) + 1, dtype=bool)
    is_sure[patch[np.searchsorted(likely.starts, sure.starts, side="right") - 1]] = True
    return likely[is_sure[patch]]


def without_small_patches(road: Runs, smallest_px: float, frame: Frame) -> Runs:
    """Return the road without patches of fewer pixels."""
    patch = components(road, frame, diagonal=True)
    return road[(np.bincount(patch, road.sizes) >= smallest_px)[patch]]


def with_small_holes_filled(road: Runs, outside: Runs, smallest_px: float, frame: Frame) -> Runs:
    """Return the road with its holes of fewer pixels filled.

    A gap that touches ground without data, or the image's border, may be larger than what is seen of it, and is no
    hole.

    Parameters
    ----------
    road : Runs
    outside : Runs
        Where there are no data, and the frame.
    smallest_px : float
    frame : Frame
    """
    gaps = between(joined(road, outside))
    gap = components(gaps, frame, diagonal=False)
    is_small = np.bincount(gap, gaps.sizes) < smallest_px
    is_small[gap[touches(gaps, outside, frame)]] = False
    return joined(road, gaps[is_small[gap]])


def closed(road: BitMask, known: BitMask, columns: int, rows: int) -> BitMask:
    """Return the road with gaps closed that are no wider than so many pixels.

    It is the morphological closing by a disc, or by an ellipse where pixels are not square, as large as the gap and one
    pixel more. What lies outside of the data counts as if road might be there, so that nothing is closed off from it.

    Parameters
    ----------
    road, known : BitMask
    columns, rows : int
        The widest gap along columns and along rows.
    """
    grown = _grown(road, columns, rows, 1)
    return known & ~_grown(known & ~grown, columns, rows, -1)


def _grown(mask: BitMask, columns: int, rows: int, sign: int) -> BitMask:
    """Return the union of a mask moved to each pixel of an ellipse, which is in a box from 0 to (columns, rows).

    With a sign of -1 it is moved the other way.
    """
    aside = (2 * np.arange(rows + 1) - rows) / (rows + 1)
    last = ((columns + (columns + 1) * np.sqrt(1 - aside**2)) / 2 + 1e-9).astype(int)
    last = np.maximum(last, (columns + 1) // 2)
    grown, chord, length = BitMask.empty(mask.height, mask.width), mask, 0
    for row in np.argsort(last).tolist():  # from the shortest chord on, so that each is made from the one before
        while length < 2 * last[row] - columns:
            length += 1
            chord = chord | mask.moved(sign * length, 0)
        grown = grown | chord.moved(sign * int(columns - last[row]), sign * row)
    return grown


def find_road(
    raster: RoadRaster, pixel_m: tuple[float, float], options: NetworkOptions, reporter: Reporter
) -> tuple[BitMask, BitMask]:
    """Return what of a raster is road once it is cleaned, and where there are data.

    Parameters
    ----------
    raster : RoadRaster
    pixel_m : tuple of float
        Ground size of a pixel in meters along columns and along rows.
    options : NetworkOptions
    reporter : Reporter
    """
    frame = Frame(raster.height, raster.width)
    road, outside, known = _read(raster, options.hysteresis, frame, reporter.part(0, 0.8))
    reporter.progress(0.8, "Cleaning the mask")
    columns, rows = (int(options.close_m / side_m + 1e-6) for side_m in pixel_m)
    if columns or rows:
        road = _runs(closed(_drawn(road, raster, frame), known, columns, rows), raster, frame)
    pixel_m2 = pixel_m[0] * pixel_m[1]
    road = without_small_patches(road, options.min_area_m2 / pixel_m2, frame)
    road = with_small_holes_filled(road, outside, options.min_hole_m2 / pixel_m2, frame)
    return _drawn(road, raster, frame), known


def _read(raster: RoadRaster, hysteresis: float, frame: Frame, reporter: Reporter) -> tuple[Runs, Runs, BitMask]:
    """Return the runs of road, those of what is no ground with data, and where there are data."""
    known = BitMask.empty(raster.height, raster.width)
    likely, sure, outside = [], [], [frame.around()]
    for first_row, count in raster.strips():
        reporter.check_cancelled()
        reporter.progress(first_row / raster.height, "Reading")
        values, is_known = raster.read(first_row, count)
        known.write(first_row, is_known)
        outside.append(runs_of(~is_known, first_row, frame))
        sure.append(runs_of(raster.road(values, is_known), first_row, frame))
        if raster.threshold is not None and hysteresis < 1:
            likely.append(runs_of(raster.road(values, is_known, hysteresis), first_row, frame))
    road = connected_to(joined(*likely), joined(*sure), frame) if likely else joined(*sure)
    return road, joined(*outside), known


def _drawn(runs: Runs, raster: RoadRaster, frame: Frame) -> BitMask:
    mask = BitMask.empty(raster.height, raster.width)
    for first_row, count in raster.strips():
        mask.write(first_row, drawn(runs, first_row, count, frame))
    return mask


def _runs(mask: BitMask, raster: RoadRaster, frame: Frame) -> Runs:
    return joined(*(runs_of(mask.read(first_row, count), first_row, frame) for first_row, count in raster.strips()))
