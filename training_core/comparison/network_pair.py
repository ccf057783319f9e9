"""A road network before and after, read from layers: in one plane, aligned, and clipped to an area of interest.

Scope: layers, what can be wrong with them, and their registration. Independent of what has changed.

Registration finds the translation by which one network as a whole is offset from the other. A road shows its offset
only across its own direction (the aperture problem). So the shift is the one that explains most of these offsets at
once, by least absolute deviations (iteratively reweighted least squares). Each point is compared with the nearest road
of similar direction: point-to-line ICP, the iterative closest point (Chen and Medioni, "Object modelling by
registration of multiple range images", Image and Vision Computing 10 (1992)), for a translation.
"""

from __future__ import annotations

from dataclasses import dataclass
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
from ..networks.road_graph import RoadGraph, as_drawn, places_along
from .buffer_matching import matched_intervals

BEFORE, AFTER = "roads before", "roads after"
# Fractions of the tolerance from which a shift that stays, and of the roads before from which those beyond the roads
# after, cause a warning.
_WARNED_SHIFT, _WARNED_BEYOND = 0.4, 0.05
# Networks with extents farther apart cover different areas.
_SAME_AREA_M = 1000.0
# Search distance when a shift is measured, as a multiple of the job's `reach_m`.
_REACH = 2.0


@dataclass(frozen=True)
class Shift:
    """The offset of the network after from the one before as a whole, and whether it was removed.

    It is 0 if it could not be measured.
    """

    east_m: float
    north_m: float
    measured: bool
    taken_off: bool

    @property
    def vector_m(self) -> np.ndarray:
        """East and north: (2,) float64."""
        return np.array([self.east_m, self.north_m])


@dataclass(frozen=True)
class Pair:
    """Two networks in one plane: their layers as read and the lines to compare as drawn, by BEFORE and AFTER.

    `outside` are roads before outside the area of interest. If a shift is removed, all roads before are moved by it.
    """

    layers: dict[str, geopandas.GeoDataFrame]
    roads: dict[str, RoadGraph]
    outside: Lines
    shift: Shift
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
    shift, roads = _align({name: as_drawn(lines[name]) for name in paths}, job, reporter)
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
    return Pair(layers, roads, outside, shift, plane)


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


def _align(roads: dict[str, RoadGraph], job: CompareNetworks, reporter: Reporter) -> tuple[Shift, dict[str, RoadGraph]]:
    """Return the measured shift between two networks, and these, with the shift removed if the job wants that."""
    before, after = roads[BEFORE], roads[AFTER]
    by_m = measure_shift(before, after, _REACH * job.reach_m, job.parallel_angle)
    if by_m is None:
        return Shift(0.0, 0.0, False, False), roads
    moved = move_closer(before, after, by_m, job.tolerance_m, job.parallel_angle)
    shift = Shift(float(by_m[0]), float(by_m[1]), True, job.align and moved is not None)
    offset = offset_words(shift.east_m, shift.north_m) or "less than 0.1 m"
    words = f"The {AFTER} are offset as a whole by {offset} from the {BEFORE}"
    if moved is not None and job.align:
        reporter.log(f"{words}. This shift is removed before the comparison (align).")
        return shift, {BEFORE: moved, AFTER: after}
    if moved is not None and np.hypot(*by_m) > _WARNED_SHIFT * job.tolerance_m:
        reporter.warning(
            f"{words}. Many roads may therefore be classified as displaced or lost. Switch align on to remove this "
            "shift."
        )
    return shift, roads


def offset_words(east_m: float, north_m: float) -> str:
    """Return an offset in words, to a decimeter: `7.1 m to the east and 3.8 m to the south`; empty if it is none."""
    axes = ((east_m, ("east", "west")), (north_m, ("north", "south")))
    return " and ".join(f"{abs(by_m):.1f} m to the {names[by_m < 0]}" for by_m, names in axes if round(abs(by_m), 1))


_TURNS, _ROUNDS = 8, 10
_SPACING_M, _MAX_POINTS = 10.0, 20_000
# Residuals below this have equal weight.
_MIN_M = 0.1
# Smallest eigenvalue of the normals' covariance; below it the roads have one direction and do not determine a shift.
_MIN_EIGENVALUE = 0.03
# Shifts below this fraction of the tolerance do not matter.
_MIN_SHIFT = 0.1


def measure_shift(roads: RoadGraph, other: RoadGraph, within_m: float, angle: float) -> Optional[np.ndarray]:
    """Return the shift (east, north) in meters of another network from a network as a whole: (2,) float64.

    None if no roads, or only roads of one direction, have a counterpart. Both are `as_drawn`. Counterparts lie within
    `within_m` with directions that differ by at most `angle` degrees.
    """
    places = places_along(roads, max(_SPACING_M, roads.length_m.sum() / _MAX_POINTS))
    points, headings = roads.points_at(places), roads.headings_at(places)
    shift = np.zeros(2)
    for _ in range(_TURNS):
        # Each point with the nearest road, and its offset across that road.
        nearest, _ = other.nearest(points + shift, within_m, headings, angle)
        is_met = nearest.edge >= 0
        nearest = selected(nearest, is_met)
        if not is_met.any():
            return None
        across = other.headings_at(nearest)[:, ::-1] * (1, -1)
        offset_m = ((other.points_at(nearest) - points[is_met]) * across).sum(axis=1)
        better = _explain(across, offset_m, shift)
        if better is None:
            return None
        step_m, shift = np.hypot(*(better - shift)), better
        if step_m < 1e-3:
            break
    return shift


def move_closer(
    roads: RoadGraph, other: RoadGraph, shift: np.ndarray, tolerance_m: float, angle: float
) -> Optional[RoadGraph]:
    """Return a network moved by a (2,) float64 shift if that matters and brings more of it near the other one.

    Near is `tolerance_m`; much smaller shifts do not matter. `angle` in degrees is as for `measure_shift`.
    """
    if np.hypot(*shift) < _MIN_SHIFT * tolerance_m:
        return None
    moved = as_drawn(roads.lines.moved(shift))
    without_m, with_m = (matched_intervals(network, other, tolerance_m, angle).length_m for network in (roads, moved))
    return moved if with_m > without_m else None


def _explain(across: np.ndarray, offset_m: np.ndarray, shift: np.ndarray) -> Optional[np.ndarray]:
    """Return the shift that explains most offsets across roads, or None if these have only one direction."""
    if np.linalg.eigvalsh(across.T @ across / len(across))[0] < _MIN_EIGENVALUE:
        return None
    for _ in range(_ROUNDS):
        weight = 1 / np.maximum(np.abs(offset_m - across @ shift), _MIN_M)
        products = across.T @ (weight[:, None] * across)
        shift = np.linalg.solve(products, across.T @ (weight * offset_m))
    return shift
