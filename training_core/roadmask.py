"""From a raster that shows roads to a clean mask of them, strip by strip.

Knows the order of steps, and their sizes on the ground; each step is `patches`'. Only a strip at a time is held as an
array; of the whole image there are runs and bits, so that no step ever sees the border of a strip.
"""

from __future__ import annotations

from .bitmask import BitMask
from .events import Reporter
from .geodata.road_raster import RoadRaster
from .jobs import NetworkOptions
from .patches import closed, connected_to, with_small_holes_filled, without_small_patches
from .rowruns import Frame, Runs, drawn, joined, runs_of


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
