"""Building sites: graded ground with edges and platforms, and the tracks that lead in, which are roads.

Scope: shapes on a plane in meters. Independent of colors.
"""

from __future__ import annotations

from dataclasses import replace

import geopandas as gpd
import numpy as np
import shapely
from shapely.geometry import LineString, Polygon
from shapely.ops import nearest_points

from .drafting import (
    EARTH,
    EDGE,
    GRAVEL,
    SAND,
    Draft,
    Layer,
    NewRoad,
    cleared,
    plots,
    with_access,
    with_ground,
    with_roads,
)
from .placing import rectangles, rounded

_SIDES_M = (35.0, 120.0)
_TRACKED = 0.7  # of the sites
_TRIES = 8
_WIDTHS_M = (2.6, 5.0)
_BERM_M = (0.5, 1.4)


def add_building_sites(draft: Draft, share: float, rng: np.random.Generator) -> Draft:
    """Return the draft with building sites on a share of the blocks.

    Parameters
    ----------
    share : float
        From 0 to 1.
    rng : Generator
        Draws them.
    """
    sites = plots(draft, 3.0, _SIDES_M, share, rng)
    if not sites:
        return draft
    layers: list[Layer] = []
    tracks: list[NewRoad] = []
    roads = with_access(draft.streets.roads)
    for site, angle in sites:
        layers += _graded(site, angle, rng)
        if rng.random() < _TRACKED:
            found = _tracks(site, roads, rng)
            layers += [(EDGE, each.line.buffer(each.width_m / 2 + rng.uniform(*_BERM_M))) for each in found]
            tracks += found
    ground = np.array([site for site, _ in sites], dtype=object)
    draft = replace(draft, land=cleared(draft.land, ground))
    return with_roads(with_ground(draft, "building_sites", layers, rng), tracks, rng)


def _graded(outline: Polygon, angle: float, rng: np.random.Generator) -> list[Layer]:
    """Return bare ground with a berm around it, and platforms on it, each with an edge."""
    berm_m = rng.uniform(*_BERM_M)
    layers: list[Layer] = [(EDGE, outline), (int(rng.choice([EARTH, SAND])), outline.buffer(-berm_m))]
    west, south, east, north = outline.bounds
    count = rng.poisson(outline.area / 1500)
    center = rng.uniform((west, south), (east, north), (count, 2))
    sides_m = rng.uniform(8, 40, (2, count))
    for platform in rectangles(center, *sides_m, np.full(count, angle + rng.normal(0, 0.2))):
        inner = platform.intersection(outline.buffer(-2.0))
        layers += [(EDGE, inner), (int(rng.choice([EARTH, SAND, GRAVEL])), inner.buffer(-rng.uniform(*_BERM_M)))]
    return layers


def _tracks(site: Polygon, roads: gpd.GeoDataFrame, rng: np.random.Generator) -> list[NewRoad]:
    """Return a track from the nearest road into a site, and often a branch of it."""
    if roads.empty:
        return []
    near = roads.iloc[[roads.distance(site).argmin()]].geometry.to_numpy()[0]
    start, entry = nearest_points(near, site)
    inside = site.buffer(-4.0)
    if inside.is_empty or start.distance(entry) > 30:
        return []
    way = shapely.union_all([site.buffer(1.0), LineString([start, entry]).buffer(1.0)])
    surface, width_m = str(rng.choice(["dirt", "gravel"], p=[0.75, 0.25])), rng.uniform(*_WIDTHS_M)
    main = _wound([start.coords[0], entry.coords[0]], inside, way, rng)
    if main is None:
        return []
    tracks = [NewRoad(main, "track", width_m, surface)]
    if rng.random() < 0.7:
        begin = main.coords[int(rng.uniform(0.4, 0.8) * len(main.coords))]
        branch = _wound([begin], inside, way, rng)
        if branch is not None and branch.intersection(main.buffer(width_m)).length < 4 * width_m:
            tracks.append(NewRoad(branch, "track", width_m * rng.uniform(0.7, 1.0), surface))
    return tracks


def _wound(
    begin: list[tuple[float, float]], inside: Polygon, way: Polygon, rng: np.random.Generator
) -> LineString | None:
    """Return a smooth line from a beginning through some points of an area that stays on its way, if one was found."""
    west, south, east, north = inside.bounds
    for _ in range(_TRIES):
        through = rng.uniform((west, south), (east, north), (12, 2))
        through = through[shapely.contains_xy(inside, *through.T)][: rng.integers(2, 4)]
        if len(through) < 2:
            continue
        # The nearer ones first, so that the line does not turn back on itself.
        through = through[np.hypot(*(through - begin[-1]).T).argsort()]
        line = LineString(rounded(np.vstack([begin, through])))
        if line.is_simple and line.length > 25 and way.covers(line):
            return line
    return None
