"""A road network before and after, read from layers: in one plane, aligned, and clipped to an area of interest.

Scope: layers, what can be wrong with them, and what is told of their alignment. Independent of what has changed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Optional

import geopandas
import numpy as np
import pyproj
import shapely
from shapely.geometry.base import BaseGeometry

from ..errors import LayerError
from ..events import Reporter
from ..geodata.parallel_arrays import selected
from ..geodata.vectors import read_area
from ..jobs import CompareNetworks
from ..networks.displacement import Field
from ..networks.lines import (
    LineFields,
    Lines,
    area_in,
    clipped,
    lines_in,
    read_line_layer,
    shared_plane,
    with_speeds,
    without_copies,
)
from ..networks.road_graph import RoadGraph, as_drawn
from .alignment import along, field_between
from .buffer_matching import matched_intervals

BEFORE, AFTER = "roads before", "roads after"
# Fractions of the tolerance from which an offset that stays, and of the roads before from which those beyond the roads
# after, cause a warning.
_WARNED_SHIFT, _WARNED_BEYOND = 0.4, 0.05
# Offsets below this fraction of the tolerance do not matter.
_MIN_SHIFT = 0.1
# Networks with extents farther apart cover different areas.
_SAME_AREA_M = 1000.0
# Search distance when offsets are measured, as a multiple of the job's `reach_m`.
_REACH = 2.0


@dataclass(frozen=True)
class Shift:
    """The mean offset of the network after from the one before, and the largest; and whether they were removed.

    They are 0 if nothing could be measured.
    """

    east_m: float
    north_m: float
    largest_m: float
    measured: bool
    taken_off: bool


@dataclass(frozen=True)
class Pair:
    """Two networks in one plane: their layers as read and the lines to compare as drawn, by BEFORE and AFTER.

    `outside` are roads before outside the area of interest. If the offsets are removed, all roads before are moved by
    the `field`.
    """

    layers: dict[str, geopandas.GeoDataFrame]
    roads: dict[str, RoadGraph]
    outside: Lines
    shift: Shift
    field: Optional[Field]
    plane: pyproj.CRS


def read_pair(job: CompareNetworks, reporter: Reporter) -> Pair:
    """Read both networks, each in its own CRS.

    Raises LayerError if a layer cannot be read, or the networks cover different areas.
    """
    fields = {
        BEFORE: LineFields(job.before_bridge_field, job.before_speed_field, job.speed_unit),
        AFTER: LineFields(job.after_bridge_field, job.after_speed_field, job.speed_unit),
    }
    paths = {BEFORE: job.before, AFTER: job.after}
    layers = {name: read_line_layer(path, name, fields[name], reporter) for name, path in paths.items()}
    area = read_area(job.aoi) if job.aoi else None
    plane = shared_plane(*layers.values(), of=" and ".join(paths.values()))
    lines = {name: without_copies(lines_in(plane, layer, fields[name])) for name, layer in layers.items()}
    _check_overlap(lines, paths)
    if job.before_speed_field:
        lines = {name: with_speeds(lines[name], name, paths[name], fields[name].speed, reporter) for name in paths}
    shift, field, roads = _align({name: as_drawn(lines[name]) for name in paths}, job, reporter)
    lines = {name: roads[name].lines for name in paths}
    if area is None and len(lines[AFTER]):
        _warn_of_beyond(lines, job.reach_m, reporter)
    outside = selected(lines[BEFORE], slice(0))
    if area is not None:
        inside = area_in(plane, area)
        surroundings = shapely.buffer(_extent(lines[BEFORE]), 1.0)
        outside = clipped(lines[BEFORE], shapely.difference(surroundings, inside))
        lines = {name: clipped(lines[name], inside) for name in paths}
        roads = {name: as_drawn(lines[name]) for name in paths}
    where = f" in the area of interest ({job.aoi})" if job.aoi else ""
    for name, other, change in ((BEFORE, AFTER, "new"), (AFTER, BEFORE, "lost")):
        if not len(lines[name]):
            reporter.warning(f"The {name} ({paths[name]}) have no line{where}: all {other} count as {change}.")
    return Pair(layers, roads, outside, shift, field, plane)


def _check_overlap(lines: dict[str, Lines], paths: dict[str, str]) -> None:
    """Raise LayerError if the networks cover different areas."""
    apart_m = shapely.distance(*(_extent(lines[name]) for name in (BEFORE, AFTER)))  # NaN where one has no roads
    if apart_m > _SAME_AREA_M:
        raise LayerError(
            f"The {BEFORE} ({paths[BEFORE]}) and the {AFTER} ({paths[AFTER]}) lie {apart_m / 1000:,.1f} km apart.",
            "Choose layers of the same area, and check their coordinate systems.",
        )


def _extent(lines: Lines) -> BaseGeometry:
    return shapely.envelope(shapely.geometrycollections(lines.shapes))


def _warn_of_beyond(lines: dict[str, Lines], reach_m: float, reporter: Reporter) -> None:
    """Warn if much of the network before lies beyond the one after."""
    hull = shapely.buffer(shapely.convex_hull(shapely.multilinestrings(lines[AFTER].shapes)), reach_m)
    beyond_m = lines[BEFORE].length_m.sum() - shapely.length(shapely.intersection(lines[BEFORE].shapes, hull)).sum()
    if beyond_m > _WARNED_BEYOND * lines[BEFORE].length_m.sum():
        reporter.warning(
            f"{beyond_m / 1000:.1f} km of the {BEFORE} lie beyond the {AFTER}, and count as lost. If the new image "
            "does not reach there, give its outline as area of interest."
        )


def _align(
    roads: dict[str, RoadGraph], job: CompareNetworks, reporter: Reporter
) -> tuple[Shift, Optional[Field], dict[str, RoadGraph]]:
    """Return the measured offsets between two networks, the field if it is removed, and the networks then."""
    before, after = roads[BEFORE], roads[AFTER]
    field = field_between(before, after, _REACH * job.reach_m, job.parallel_angle) if len(before.lines) else None
    if field is None:
        return Shift(0.0, 0.0, 0.0, False, False), None, roads
    by_m = along(field, before)
    (east_m, north_m), largest_m = by_m.mean(axis=0), float(np.hypot(*by_m.T).max())
    moved = move_closer(before, after, field, job.tolerance_m, job.parallel_angle)
    shift = Shift(float(east_m), float(north_m), largest_m, True, job.align and moved is not None)
    words = f"The {AFTER} are offset from the {BEFORE} by {offset_words(shift.east_m, shift.north_m, largest_m)}"
    if moved is not None and job.align:
        reporter.log(f"{words}. These offsets are removed before the comparison (align).")
        return shift, field, {BEFORE: moved, AFTER: after}
    if moved is not None and largest_m > _WARNED_SHIFT * job.tolerance_m:
        reporter.warning(
            f"{words}. Many roads may therefore be classified as displaced or lost. Switch align on to remove these "
            "offsets."
        )
    return shift, None, roads


def offset_words(east_m: float, north_m: float, largest_m: float) -> str:
    """Return offsets in words: `7.1 m to the east and 3.8 m to the south in the mean, 9.2 m at most`."""
    axes = ((east_m, ("east", "west")), (north_m, ("north", "south")))
    mean = " and ".join(f"{abs(by_m):.1f} m to the {names[by_m < 0]}" for by_m, names in axes if round(abs(by_m), 1))
    return f"{mean or 'less than 0.1 m'} in the mean, {largest_m:.1f} m at most"


def move_closer(
    roads: RoadGraph, other: RoadGraph, field: Field, tolerance_m: float, angle: float
) -> Optional[RoadGraph]:
    """Return a network moved by a field if that matters and brings more of it near the other one.

    Near is `tolerance_m`; much smaller offsets do not matter. `angle` in degrees is as for `field_between`.
    """
    if np.hypot(*along(field, roads).T).max() < _MIN_SHIFT * tolerance_m:
        return None
    moved = as_drawn(replace(roads.lines, shapes=field.moved(roads.lines.shapes)))
    before_m, after_m = (matched_intervals(each, other, tolerance_m, angle).length_m for each in (roads, moved))
    return moved if after_m > before_m else None
