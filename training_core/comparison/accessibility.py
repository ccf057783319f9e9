"""Accessibility of places before and after: which routes are longer, and which places are cut off.

Scope: places, origins and their status. Independent of which roads are passable (`passable_roads`, `status_network`)
and of how routes are found (`routes`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Optional

import geopandas
import numpy as np
import pandas
import pyproj
import shapely

from ..errors import LayerError
from ..events import Reporter
from ..geodata.parallel_arrays import selected
from ..geodata.vectors import carried_fields, read_layer, require_features, require_fields, require_geometry
from ..networks.road_graph import RoadGraph
from .routes import RouteCosts, Sites, from_nearest, least_costs, snap, to_all

CUT_OFF, INTERRUPTED, LONGER, NEVER, NO_ROAD, NEW_WAY, REACHABLE = STATUSES = (  # the worst first
    "cut off", "interrupted", "longer", "never connected", "no road near", "newly reachable", "reachable"
)  # fmt: skip
# With less closed road than this on the route, a place is only interrupted: by gaps too short to be classified as lost.
_NOTHING_M = 0.5
# Fraction of interrupted places from which these cause a warning.
_WARNED_INTERRUPTED = 0.25
# Speeds that make travel time the length of closed road: 1 s a closed meter, next to 0 for open ones.
CLOSED_MPS, OPEN_MPS = 1.0, 1e9


@dataclass(frozen=True)
class Points:
    """Places, and origins if any, in the plane of the networks."""

    layer: geopandas.GeoDataFrame  # the n places as read
    names: np.ndarray  # (n + k,) object: places, then origins
    points: np.ndarray  # (n + k, 2) float64: in meters
    paths: Mapping[str, str]  # by what messages call the places, and the origins: their file

    @property
    def count(self) -> int:
        """Number of places."""
        return len(self.layer)

    @property
    def has_origins(self) -> bool:
        """Whether routes begin at origins, and not at the places."""
        return len(self.points) > self.count


@dataclass(frozen=True)
class Ways:
    """The roads that routes run on, before and after, and both together: there only closed roads take time."""

    before: RoadGraph
    after: RoadGraph
    together: Callable[[], RoadGraph]


@dataclass(frozen=True)
class RouteRules:
    """How near a road places are, from when on a route is longer, and whether routes are also compared by time."""

    place_m: float
    longer_percent: float
    tolerance_m: float = 0.0
    has_times: bool = False


def read_points(layers: Mapping[str, tuple[str, str]], plane: pyproj.CRS, reporter: Reporter) -> Points:
    """Read places and, if given, origins: by what messages call them, their file and their name field.

    Raises LayerError if a layer cannot be read, has other geometry, or lacks a field.
    """
    read = [read_named(path, purpose, field, "points", reporter) for purpose, (path, field) in layers.items()]
    # Of a multipoint, the centroid.
    points = [shapely.get_coordinates(shapely.centroid(layer.geometry.to_crs(plane).to_numpy())) for layer, _ in read]
    names = np.concatenate([each for _, each in read])
    return Points(read[0][0], names, np.concatenate(points), {purpose: path for purpose, (path, _) in layers.items()})


def read_named(
    path: str, purpose: str, field: str, geometry: str, reporter: Reporter
) -> tuple[geopandas.GeoDataFrame, np.ndarray]:
    """Return a layer of points or polygons, and the names of its features, (n,) object; without one, their numbers.

    Raises LayerError if the layer cannot be read, is empty, has other geometry, or lacks the field.
    """
    layer = read_layer(path, purpose, reporter)
    require_features(layer, path, purpose)
    require_geometry(layer, (geometry,), path, purpose)
    require_fields(layer, (field,), path, purpose)
    numbers = [str(number) for number in range(1, len(layer) + 1)]
    names = [
        str(value) if field and not pandas.isna(value) else number
        for value, number in zip(layer[field] if field else numbers, numbers)
    ]
    return layer, np.array(names, dtype=object)


def find_routes(ways: Ways, points: Points, rules: RouteRules, reporter: Reporter) -> pandas.DataFrame:
    """Return the accessibility of places, before and after, as a table of n rows.

    `status` is one of STATUSES, and `origin` the name of the route's origin, empty without origins. Numbers are float64
    in meters and, with speeds, seconds: of the routes before and after; of the straight lines to the nearest road; and
    `missing_m` of the least closed road on any route to a place that is cut off or interrupted. They are NaN where
    there is none. Raises LayerError if no place, or no origin, lies on a road before.
    """
    before, after = (snap(roads, points.points, rules.place_m) for roads in (ways.before, ways.after))
    check_near(before, points, rules.place_m, reporter)
    reporter.progress(0.3, "Finding routes")
    sources = _sources(before, after, points)
    find = from_nearest if points.has_origins else to_all
    # Origins follow the places in all arrays, and count no further.
    places = slice(points.count)
    length = selected(find(before, after, sources, False, reporter), places)
    time = selected(find(before, after, sources, True, reporter), places) if rules.has_times else None
    status = _statuses(length, time, before, after, points.count, rules)
    reporter.check_cancelled()
    missing_m = np.full(points.count, np.nan)
    is_cut_off = status == CUT_OFF
    if is_cut_off.any():
        reporter.progress(0.8, "Finding missing roads")
        together = snap(ways.together(), points.points, rules.place_m)
        missing_m[is_cut_off] = least_costs(together, sources, True, reporter)[0][places][is_cut_off]
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


def _sources(before: Sites, after: Sites, points: Points) -> np.ndarray:
    """Return the sources of routes: the origins, or the places of the largest connected component."""
    if points.has_origins:
        return np.arange(points.count, len(points.points))
    for sites in (after, before):
        component = sites.component
        sizes = np.bincount(component[component >= 0], minlength=1)
        if sizes.max() > 1:
            return np.flatnonzero(component == sizes.argmax())
    return np.zeros(0, dtype=np.int64)


def check_near(before: Sites, points: Points, place_m: float, reporter: Reporter) -> None:
    """Raise LayerError if no place, or no origin, is on a road before, and warn of those that are not."""
    on_road = before.places.edge >= 0
    parts = (slice(0, points.count), slice(points.count, None))
    for (kind, path), which in zip(points.paths.items(), parts):
        count, on = len(on_road[which]), int(on_road[which].sum())
        if count and not on:
            gap_m = shapely.STRtree(before.roads.graph.shapes()).query_nearest(
                shapely.points(points.points[which]), return_distance=True, all_matches=False
            )[1]
            nearest = f"the nearest is {gap_m.min():,.0f} m away" if len(gap_m) else "there is none"
            raise LayerError(
                f"None of the {kind} ({path}) lies within {place_m:g} m of a road before; {nearest}.",
                "Raise the distance of places (place_m), or check the layers' coordinate systems.",
            )
        if on < count:
            names = ", ".join(points.names[which][~on_road[which]][:5])
            more = ", ..." if count - on > 5 else ""
            reporter.warning(
                f"{count - on:,} of {count:,} {kind} lie farther than {place_m:g} m from every road before: "
                f"{names}{more}."
            )


def _statuses(
    length: RouteCosts, time: Optional[RouteCosts], before: Sites, after: Sites, count: int, rules: RouteRules
) -> np.ndarray:
    """Return the status of each place before any counts as interrupted: (n,) object."""
    was_reachable, is_reachable = np.isfinite(length.before), np.isfinite(length.after)
    more = 1 + rules.longer_percent / 100
    longer = length.after > more * length.before + rules.tolerance_m
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
