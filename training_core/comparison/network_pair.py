"""A road network before and after, read from layers: in one plane, on each other, and within an area of interest.

Knows layers and what can be wrong with them; knows nothing of what has changed.
"""

from __future__ import annotations

from dataclasses import dataclass

import geopandas
import numpy as np
import pyproj
import shapely
from shapely.geometry.base import BaseGeometry

from ..errors import LabelError
from ..events import Reporter
from ..geodata.vectors import read_area
from ..jobs import CompareNetworks
from ..networks.lines import LineFields, Lines, clipped, lines_in, read_line_layer, shared_plane, with_speeds
from ..networks.road_graph import as_drawn
from .network_shift import fits_better, measure_shift

BEFORE, AFTER = "roads before", "roads after"
# A shift as large as this share of the tolerance is worth a word.
_TOLD_SHARE = 0.4
# Where a larger share of the network before than this lies beyond the one after, that is worth a word, too.
_TOLD_BEYOND = 0.05
# Networks whose extents are farther apart are not of the same ground.
_SAME_GROUND_M = 1000.0
# The network after is looked for within this many times the largest displacement, where a shift is measured.
_REACH = 2.0


@dataclass(frozen=True)
class Shift:
    """How far the network after lies of the one before as a whole, and whether that was taken off.

    Parameters
    ----------
    east_m, north_m : float
        0 where it could not be measured.
    measured, taken_off : bool
    """

    east_m: float
    north_m: float
    measured: bool
    taken_off: bool

    @property
    def vector_m(self) -> np.ndarray:
        """East and north: (2,), float64."""
        return np.array([self.east_m, self.north_m])


@dataclass(frozen=True)
class Pair:
    """Two networks in one plane.

    Parameters
    ----------
    layers : dict of str to GeoDataFrame
        As read, by BEFORE and AFTER.
    lines : dict of str to Lines
        What of them is judged, the network before moved by a shift that is taken off.
    outside : Lines
        Roads before that lie outside of the area of interest, moved as well.
    shift : Shift
    plane : CRS
    """

    layers: dict[str, geopandas.GeoDataFrame]
    lines: dict[str, Lines]
    outside: Lines
    shift: Shift
    plane: pyproj.CRS


def read_pair(job: CompareNetworks, reporter: Reporter) -> Pair:
    """Read both networks, each in its own CRS.

    Raises
    ------
    LabelError
        A layer cannot be read, the networks lie apart, or there is no road before in the area of interest.
    """
    fields = {
        BEFORE: LineFields(job.before_bridge_field, job.before_speed_field, job.speed_unit),
        AFTER: LineFields(job.after_bridge_field, job.after_speed_field, job.speed_unit),
    }
    paths = {BEFORE: job.before, AFTER: job.after}
    layers = {name: read_line_layer(path, name, fields[name]) for name, path in paths.items()}
    area = read_area(job.aoi) if job.aoi else None
    plane = shared_plane(*layers.values())
    lines = {name: lines_in(plane, layer, fields[name]) for name, layer in layers.items()}
    for name, path in paths.items():
        if not len(lines[name]):
            raise LabelError(f"The {name} ({path}) have no line of any length.", "Choose another layer.")
    _check_overlap(lines, paths)
    if job.before_speed_field:
        lines = {name: with_speeds(each, name, fields[name].speed, reporter) for name, each in lines.items()}
    shift = _measure(lines, job, reporter)
    if shift.taken_off:
        lines[BEFORE] = lines[BEFORE].moved(shift.vector_m)
    if area is None:
        _warn_of_beyond(lines, job.reach_m, reporter)
    outside = lines[BEFORE].parted(np.zeros(0, dtype=object), np.zeros(0, dtype=np.int64))
    if area is not None:
        ground = shapely.union_all(shapely.make_valid(area.geometry.to_crs(plane).to_numpy()))
        outside = clipped(lines[BEFORE], _beyond(ground, lines[BEFORE]))
        lines = {name: clipped(each, ground) for name, each in lines.items()}
        if not len(lines[BEFORE]):
            raise LabelError(
                f"The {BEFORE} ({job.before}) have no line in the area of interest ({job.aoi}).",
                "Choose another layer or area.",
            )
        if not len(lines[AFTER]):
            reporter.warning("There are no roads after in the area of interest: all roads there count as lost.")
    return Pair(layers, lines, outside, shift, plane)


def _check_overlap(lines: dict[str, Lines], paths: dict[str, str]) -> None:
    """Raise LabelError where both networks are of different ground."""
    before, after = (shapely.box(*shapely.total_bounds(lines[name].shapes)) for name in (BEFORE, AFTER))
    apart_m = shapely.distance(before, after)
    if apart_m > _SAME_GROUND_M:
        raise LabelError(
            f"The {BEFORE} ({paths[BEFORE]}) and the {AFTER} ({paths[AFTER]}) lie {apart_m / 1000:,.1f} km apart.",
            "Choose layers of the same ground, and check their coordinate systems.",
        )


def _warn_of_beyond(lines: dict[str, Lines], reach_m: float, reporter: Reporter) -> None:
    """Tell how much of the network before lies where the one after does not reach, if that is much."""
    hull = shapely.buffer(shapely.convex_hull(shapely.multilinestrings(lines[AFTER].shapes)), reach_m)
    beyond_m = lines[BEFORE].length_m.sum() - shapely.length(shapely.intersection(lines[BEFORE].shapes, hull)).sum()
    if beyond_m > _TOLD_BEYOND * lines[BEFORE].length_m.sum():
        reporter.warning(
            f"{beyond_m / 1000:.1f} km of the {BEFORE} lie beyond the {AFTER}, and count as lost. If the new image "
            "does not reach there, give its outline as area of interest."
        )


def _beyond(area: BaseGeometry, lines: Lines) -> BaseGeometry:
    """Return what of the lines' surroundings lies outside of an area."""
    surroundings = shapely.buffer(shapely.box(*shapely.total_bounds(lines.shapes)), 1.0)
    return shapely.difference(surroundings, area)


def _measure(lines: dict[str, Lines], job: CompareNetworks, reporter: Reporter) -> Shift:
    """Measure by how much the network after lies aside, and tell what is done about it."""
    before, after = (as_drawn(lines[name]) for name in (BEFORE, AFTER))
    found = measure_shift(before, after, _REACH * job.reach_m, job.parallel_angle)
    if found is None:
        return Shift(0.0, 0.0, False, False)
    gains = fits_better(before, after, found, job.tolerance_m, job.parallel_angle)
    shift = Shift(*map(float, found), True, job.align and gains)
    words = f"As a whole, the {AFTER} lie {_in_words(found)} of the {BEFORE}"
    if shift.taken_off:
        reporter.log(f"{words}; this is taken off before they are compared (align).")
    elif gains and np.hypot(*found) > _TOLD_SHARE * job.tolerance_m:
        reporter.warning(f"{words}, so that many may be told as displaced or lost. Switch align on to take that off.")
    return shift


def _in_words(shift: np.ndarray) -> str:
    """Return a shift as '4.2 m to the east and 1.0 m to the north'."""
    directions = zip(shift, (("east", "west"), ("north", "south")))
    return " and ".join(f"{abs(by_m):.1f} m to the {names[int(by_m < 0)]}" for by_m, names in directions)
