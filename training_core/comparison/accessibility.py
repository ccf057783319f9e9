"""Accessibility of places before and after: which routes are longer, and which places are cut off.

Scope: places, origins and their status, and the passable network after a disaster: the roads after, merged with the
roads before that are still open. Independent of how routes are found (`routes`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Optional

import geopandas
import numpy as np
import pandas
import pyproj
import shapely
from shapely.geometry.base import BaseGeometry

from ..errors import LayerError
from ..events import Reporter
from ..geodata.parallel_arrays import concatenated, selected
from ..geodata.vectors import (
    carried_fields,
    read_layer,
    read_polygons,
    require_features,
    require_fields,
    require_geometry,
)
from ..jobs import CompareNetworks
from ..networks.lines import Lines, area_in, make_lines
from ..networks.road_graph import RoadGraph, contracted, make_road_graph
from .changes import ChangeSegments
from .network_pair import BEFORE
from .routes import RouteCosts, Sites, from_nearest, least_costs, snap, to_all

CUT_OFF, INTERRUPTED, LONGER, NEVER, NO_ROAD, NEW_WAY, REACHABLE = (
    "cut off",
    "interrupted",
    "longer",
    "never connected",
    "no road near",
    "newly reachable",
    "reachable",
)
STATUSES = (CUT_OFF, INTERRUPTED, LONGER, NEVER, NO_ROAD, NEW_WAY, REACHABLE)  # the worst first
# With less closed road than this on the route, a place is only interrupted: by gaps too short to be classified as lost.
_NOTHING_M = 0.5
# Fraction of interrupted places from which these cause a warning.
_WARNED_INTERRUPTED = 0.25
# Speeds that make travel time the length of closed road: 1 s a closed meter, next to 0 for open ones.
_CLOSED_MPS, _OPEN_MPS = 1.0, 1e9


@dataclass(frozen=True)
class Points:
    """Places and origins in the plane of the networks."""

    layer: geopandas.GeoDataFrame  # the n places as read
    names: np.ndarray  # (n + k,) object: places, then origins
    points: np.ndarray  # (n + k, 2) float64: in meters
    damage: Optional[BaseGeometry]  # area of confirmed damage, in which lost roads are blocked

    @property
    def count(self) -> int:
        """Number of places."""
        return len(self.layer)


def read_points(job: CompareNetworks, plane: pyproj.CRS, reporter: Reporter) -> Optional[Points]:
    """Read places, origins and confirmed damage; None without places.

    Raises LayerError if a layer cannot be read, has other geometry, or lacks a field; or there is only one place and no
    origin.
    """
    if not job.places:
        return None
    layer, names, points = _read_named(job.places, "places", job.places_name_field, plane, reporter)
    if job.origins:
        _, origin_names, origins = _read_named(job.origins, "origins", job.origins_name_field, plane, reporter)
        names, points = np.concatenate([names, origin_names]), np.concatenate([points, origins])
    elif len(layer) < 2:
        raise LayerError(
            f"All places ({job.places}) are one point, and there are no origins, so there is no route to compare.",
            "Give origins, or more places.",
        )
    damage = None
    if job.damage:
        damage = area_in(plane, read_polygons(job.damage, "confirmed damage"))
        shapely.prepare(damage)
    return Points(layer, names, points, damage)


def _read_named(
    path: str, purpose: str, field: str, plane: pyproj.CRS, reporter: Reporter
) -> tuple[geopandas.GeoDataFrame, np.ndarray, np.ndarray]:
    """Return a layer of points, their names and their positions; of a multipoint, the centroid."""
    layer = read_layer(path, purpose, reporter)
    require_features(layer, path, purpose)
    require_geometry(layer, ("points",), path, purpose)
    require_fields(layer, (field,), path, purpose)
    numbers = [str(number) for number in range(1, len(layer) + 1)]
    names = [
        str(value) if field and not pandas.isna(value) else number
        for value, number in zip(layer[field] if field else numbers, numbers)
    ]
    points = shapely.get_coordinates(shapely.centroid(layer.geometry.to_crs(plane).to_numpy()))
    return layer, np.array(names, dtype=object), points


def find_routes(roads: ComparedRoads, points: Points, job: CompareNetworks, reporter: Reporter) -> pandas.DataFrame:
    """Return the accessibility of places, before and after, as a table of n rows.

    `status` is one of STATUSES, and `origin` the name of the route's origin, empty without origins. Numbers are float64
    in meters and, with speeds, seconds: of the routes before and after; of the straight lines to the nearest road; and
    `missing_m` of the least closed road on any route to a place that is cut off or interrupted. They are NaN where
    there is none. Raises LayerError if no place, or no origin, lies on a road before.
    """
    lines = concatenated(roads.before.roads.lines, roads.outside)
    before = snap(_graph(lines, job, f"{BEFORE} ({job.before})"), points.points, job.place_m)
    _check_near(before, points, job, reporter)
    reporter.progress(0.3, "Merging passable roads")
    lines = passable_roads(roads, points.damage, job)
    after = snap(_graph(lines, job, f"passable roads ({job.before}, {job.after})"), points.points, job.place_m)
    reporter.check_cancelled()
    reporter.progress(0.6, "Finding routes")
    sources = _sources(before, after, points)
    find = from_nearest if job.origins else to_all
    # Origins follow the places in all arrays, and count no further.
    places = slice(points.count)
    length = selected(find(before, after, sources, False, reporter), places)
    time = selected(find(before, after, sources, True, reporter), places) if job.before_speed_field else None
    status = _statuses(length, time, before, after, points.count, job)
    reporter.check_cancelled()
    missing_m = np.full(points.count, np.nan)
    is_cut_off = status == CUT_OFF
    if is_cut_off.any():
        reporter.progress(0.8, "Finding missing roads")
        missing_m[is_cut_off] = _missing(roads, points, sources, job, reporter)[is_cut_off]
        status[missing_m < _NOTHING_M] = INTERRUPTED
        interrupted = int((status == INTERRUPTED).sum())
        if interrupted > _WARNED_INTERRUPTED * points.count:
            reporter.warning(
                f"The routes of {interrupted:,} of {points.count:,} places are interrupted by gaps in the roads after "
                "that are too short to be classified as lost. Clean these roads first, or let routes run on the "
                "remaining roads (routes_on)."
            )
    with np.errstate(invalid="ignore", divide="ignore"):
        columns = {
            "status": status,
            "reachable_before": np.isfinite(length.before),
            "reachable_after": np.isfinite(length.after),
            "distance_before_m": length.before,
            "distance_after_m": length.after,
            "detour_m": length.after - length.before,
            "detour_ratio": length.after / length.before,
        }
        if time is not None:
            columns |= {"time_before_s": time.before, "time_after_s": time.after, "delay_s": time.after - time.before}
    columns |= {
        "missing_m": missing_m,
        "to_road_before_m": before.gap_m[places],
        "to_road_after_m": after.gap_m[places],
        "origin": np.where(length.source >= 0, points.names[length.source], ""),
    }
    return pandas.DataFrame(columns).replace([np.inf, -np.inf], np.nan)


def _graph(lines: Lines, job: CompareNetworks, name: str) -> RoadGraph:
    lines = lines.with_median_speed() if job.before_speed_field and len(lines) else lines
    return contracted(make_road_graph(lines, job.join_m, name))


def _missing(
    roads: ComparedRoads, points: Points, sources: np.ndarray, job: CompareNetworks, reporter: Reporter
) -> np.ndarray:
    """Return the least length of closed road on a route to each place: (n,) float64; infinite without any route."""
    closed = is_closed(roads.before, points.damage)
    closed = np.append(closed, np.full(len(roads.outside), not job.keep_outside))
    main = concatenated(roads.before.lines, roads.outside)
    lines = with_new_roads(replace(main, speed_mps=np.where(closed, _CLOSED_MPS, _OPEN_MPS)), roads.after, job)
    is_main = np.arange(len(lines)) < len(main)
    lines = replace(lines, speed_mps=np.where(is_main, lines.speed_mps, _OPEN_MPS))
    sites = snap(contracted(make_road_graph(lines, job.join_m)), points.points, job.place_m)
    return least_costs(sites, sources, True, reporter)[0][: points.count]


def _sources(before: Sites, after: Sites, points: Points) -> np.ndarray:
    """Return the sources of routes: the origins, or the places of the largest connected component."""
    if len(points.points) > points.count:
        return np.arange(points.count, len(points.points))
    for sites in (after, before):
        component = sites.component
        sizes = np.bincount(component[component >= 0], minlength=1)
        if sizes.max() > 1:
            return np.flatnonzero(component == sizes.argmax())
    return np.zeros(0, dtype=np.int64)


def _check_near(before: Sites, points: Points, job: CompareNetworks, reporter: Reporter) -> None:
    """Raise LayerError if no place, or no origin, is on a road before, and warn of those that are not."""
    on_road = before.places.edge >= 0
    kinds = {"places": slice(0, points.count), "origins": slice(points.count, None)}
    for kind, which in kinds.items():
        count, on = len(on_road[which]), int(on_road[which].sum())
        if count and not on:
            gap_m = shapely.STRtree(before.roads.graph.shapes()).query_nearest(
                shapely.points(points.points[which]), return_distance=True, all_matches=False
            )[1]
            nearest = f"the nearest is {gap_m.min():,.0f} m away" if len(gap_m) else "there is none"
            raise LayerError(
                f"None of the {kind} ({getattr(job, kind)}) lies within {job.place_m:g} m of a road before; {nearest}.",
                "Raise the distance of places (place_m), or check the layers' coordinate systems.",
            )
        if on < count:
            names = ", ".join(points.names[which][~on_road[which]][:5])
            more = ", ..." if count - on > 5 else ""
            reporter.warning(
                f"{count - on:,} of {count:,} {kind} lie farther than {job.place_m:g} m from every road before: "
                f"{names}{more}."
            )


def _statuses(
    length: RouteCosts, time: Optional[RouteCosts], before: Sites, after: Sites, count: int, job: CompareNetworks
) -> np.ndarray:
    """Return the status of each place before any counts as interrupted: (n,) object."""
    was_reachable, is_reachable = np.isfinite(length.before), np.isfinite(length.after)
    more = 1 + job.longer_percent / 100
    longer = length.after > more * length.before + job.tolerance_m
    if time is not None:
        longer |= time.after > more * time.before + 1
    off_road = (before.places.edge[:count] < 0) & (after.places.edge[:count] < 0)
    # The first status that applies.
    cases = {
        NO_ROAD: off_road,
        CUT_OFF: was_reachable & ~is_reachable,
        NEVER: ~was_reachable & ~is_reachable,
        NEW_WAY: ~was_reachable,
        LONGER: longer,
    }
    return np.select(list(cases.values()), list(cases), REACHABLE).astype(object)


def to_table(routes: pandas.DataFrame, layer: geopandas.GeoDataFrame, reporter: Reporter) -> geopandas.GeoDataFrame:
    """Return the places, in their own CRS and with their own fields, with their accessibility."""
    fields = {name: layer[field].array for name, field in carried_fields(layer, routes, reporter).items()}
    middles = shapely.centroid(layer.geometry.to_numpy())  # since QGIS often makes multipoints of points
    return geopandas.GeoDataFrame({**fields, **routes}, geometry=middles, crs=layer.crs)


def counts(routes: pandas.DataFrame) -> dict[str, int]:
    """Return the number of places by status, with underscores for spaces."""
    return {status.replace(" ", "_"): int((routes["status"] == status).sum()) for status in STATUSES}


def add_linked(main: Lines, added: Lines, left_out: np.ndarray, reach_m: float, join_m: float) -> Lines:
    """Return lines together with those of another layer, which may have a small offset, linked to them.

    The (k,) object lines `left_out` are of the same layer where main lines run instead. An added line that continued in
    one of them now continues straight to the nearest main line. Links are at most `reach_m` long, and ends within
    `join_m` need none. A dead end stays one. The result is `main`, `added` and the links, in this order.
    """
    ends = np.concatenate([shapely.get_point(added.shapes, index) for index in (0, -1)])
    if not len(ends) or not len(main) or not len(left_out):
        return concatenated(main, added)
    # Ends that touch lines left out, each place once, and the nearest main line.
    touching, _ = shapely.STRtree(left_out).query(ends, predicate="dwithin", distance=join_m)
    ends = shapely.points(np.unique(shapely.get_coordinates(ends[np.unique(touching)]), axis=0))
    end, near = shapely.STRtree(main.shapes).query_nearest(ends, max_distance=reach_m, all_matches=False)
    links = shapely.shortest_line(ends[end], main.shapes[near])
    links = links[shapely.length(links) > join_m]
    # As bridges, links are connected at their ends only.
    return concatenated(main, added, make_lines(links, np.ones(len(links), dtype=bool)))


@dataclass(frozen=True)
class ComparedRoads:
    """Two compared networks, and the roads before, outside the area of interest, that were not compared."""

    before: ChangeSegments
    after: ChangeSegments
    outside: Lines


def is_closed(before: ChangeSegments, damage: Optional[BaseGeometry]) -> np.ndarray:
    """Return which segments of the roads before are closed to routes: (n,) bool.

    They are the lost ones or, with confirmed damage, those of them that touch it.
    """
    is_lost = ~before.is_matched
    return is_lost if damage is None else is_lost & shapely.intersects(damage, before.lines.shapes)


def passable_roads(roads: ComparedRoads, damage: Optional[BaseGeometry], job: CompareNetworks) -> Lines:
    """Return the roads that routes may take afterwards.

    The job's `routes_on` chooses between the roads after and the rest of those before; for `damage` see `is_closed`.
    """
    before, is_matched = roads.before, roads.before.is_matched
    is_open = ~is_matched & ~is_closed(before, damage)
    outside = roads.outside if job.keep_outside else selected(roads.outside, slice(0))
    if job.routes_on == "after":
        kept = concatenated(selected(before.lines, is_open), outside)
        return add_linked(roads.after.roads.lines, kept, before.lines.shapes[is_matched], job.reach_m, job.join_m)
    main = concatenated(selected(before.lines, is_open | is_matched), outside)
    return with_new_roads(main, roads.after, job)


def with_new_roads(main: Lines, after: ChangeSegments, job: CompareNetworks) -> Lines:
    """Return roads before, first, and the new roads linked to them: the unmatched segments of the roads after."""
    is_new = ~after.is_matched
    return add_linked(main, selected(after.lines, is_new), after.lines.shapes[~is_new], job.reach_m, job.join_m)
