"""What looks like a road from above and is none: washes, canals, ditches, terraces, greenhouses, tree rows, runways.

Scope: shapes on a plane in meters and their kinds. Independent of colors and pixels.
"""

from __future__ import annotations

from collections.abc import Iterator

import geopandas as gpd
import numpy as np
import shapely
from shapely.geometry import LineString, Polygon, box

from .placing import rectangles, table
from .sketch import PAD_M
from .streets import StreetPlan

# What a block of open country may hold, beside the wash and the canal that cross all of it.
DITCH, BALK, TERRACE, GREENHOUSE, TREE_ROW, RUNWAY = BLOCK_KINDS = range(6)
WASH, CANAL, LINING = range(6, 9)
_BLOCK_SHARES = (0.2, 0.3, 0.2, 0.1, 0.15, 0.05)
_MIN_BLOCK_M2 = 2_500.0
_COUNTRY_BELOW = 0.45  # of urbanity
_CROSSING_SHARE = 0.35  # of the scenes, for a wash and for a canal each
_RUNWAY_M = (180.0, (18.0, 45.0))  # least length, and widths
_TONE = 0.12

Strip = tuple[int, Polygon]


def plan_lookalikes(
    side_m: float, streets: StreetPlan, covers: gpd.GeoDataFrame, share: float, rng: np.random.Generator
) -> gpd.GeoDataFrame:
    """Return what looks like a road in the open country of a square scene; roads run across all of it.

    Parameters
    ----------
    side_m : float
        The scene's side.
    covers : GeoDataFrame
        Blocks between roads, with angle (of furrows, in radians) and strip_m (breadth of fields).
    share : float
        Of the open blocks that hold something, from 0 to 1; how often a wash or a canal crosses goes with it.
    rng : Generator
        Draws all of it.

    Returns
    -------
    GeoDataFrame
        Polygons with kind and tone (a factor of brightness); later ones lie above earlier ones.
    """
    if not share:
        return _as_table([], rng)
    blocks = covers.geometry.to_numpy()
    urbanity = streets.towns.urbanity(shapely.get_coordinates(shapely.point_on_surface(blocks)))
    is_open = (urbanity < _COUNTRY_BELOW) & (shapely.area(blocks) > _MIN_BLOCK_M2)
    open_blocks = covers[is_open & (rng.random(len(covers)) < share)]
    strips = [strip for each in open_blocks.itertuples() for strip in _in_block(each, rng)]
    # Beyond the blocks' edges, so that they pass below the roads between them.
    country = shapely.union_all(shapely.buffer(blocks[is_open], 8.0))
    for kind in (WASH, CANAL):
        if rng.random() < _CROSSING_SHARE * share:
            strips.extend(_crossing(kind, side_m, country, rng))
    return _as_table(strips, rng)


def _as_table(strips: list[Strip], rng: np.random.Generator) -> gpd.GeoDataFrame:
    strips = [strip for strip in strips if not strip[1].is_empty]
    kind, shapes = (
        np.array([kind for kind, _ in strips], dtype=int),
        np.array([each for _, each in strips], dtype=object),
    )
    return table(shapes, kind=kind, tone=np.exp(rng.normal(0, _TONE, len(strips))))


def _in_block(block, rng: np.random.Generator) -> Iterator[Strip]:
    """Yield what a block holds, of one kind."""
    kind = int(rng.choice(BLOCK_KINDS, p=_BLOCK_SHARES))
    outline = block.geometry.buffer(-3.0)
    if outline.is_empty:
        return
    if kind in (DITCH, BALK):
        width_m, apart_m = rng.uniform(0.8, 3.5), block.strip_m * rng.uniform(0.4, 1.0)
        yield from ((kind, each) for each in _parallel(outline, block.angle, apart_m, width_m))
        if rng.random() < 0.6:  # smaller plots
            across = block.angle + np.pi / 2 + rng.normal(0, 0.1)
            yield from ((kind, each) for each in _parallel(outline, across, apart_m * rng.uniform(1, 3), width_m))
    elif kind == TERRACE:
        apart_m, width_m = rng.uniform(7, 20), rng.uniform(0.8, 2.5)
        while not outline.is_empty:
            yield kind, outline.boundary.buffer(width_m / 2)
            outline = outline.buffer(-apart_m * rng.uniform(0.7, 1.3))
    elif kind == GREENHOUSE:
        width_m = rng.uniform(6, 11)
        long = _parallel(outline, block.angle, width_m + rng.uniform(1, 4), width_m)
        gaps = shapely.union_all(_parallel(outline, block.angle + np.pi / 2, rng.uniform(30, 80), rng.uniform(2, 5)))
        yield from ((kind, each) for each in shapely.get_parts(shapely.difference(long, gaps)))
    elif kind == TREE_ROW:
        yield from ((kind, each) for each in _parallel(outline, block.angle, rng.uniform(6, 12), rng.uniform(1.5, 3)))
    else:
        yield from _runway(outline, rng)


def _parallel(outline: Polygon, angle: float, apart_m: float, width_m: float) -> np.ndarray:
    """Return the parts within an outline of strips in a direction."""
    center, reach_m = np.array(outline.centroid.coords[0]), outline.length / 2
    offsets = np.arange(-reach_m, reach_m, apart_m)
    across = np.array([-np.sin(angle), np.cos(angle)])
    count = len(offsets)
    strips = rectangles(
        center + offsets[:, None] * across,
        np.full(count, 2 * reach_m),
        np.full(count, width_m),
        np.full(count, float(angle)),
    )
    parts = shapely.intersection(strips, outline)
    return parts[~shapely.is_empty(parts)]


def _runway(outline: Polygon, rng: np.random.Generator) -> Iterator[Strip]:
    """Yield a runway along a block, if it is long enough."""
    least_m, widths_m = _RUNWAY_M
    corners = shapely.get_coordinates(shapely.oriented_envelope(outline))
    sides = np.diff(corners[:3], axis=0)
    length_m = np.hypot(*sides.T)
    longer = int(length_m.argmax())
    if length_m[longer] < least_m:
        return
    angle = float(np.arctan2(*sides[longer][::-1]))
    strip = rectangles(
        np.array([outline.centroid.coords[0]]),
        length_m[longer : longer + 1],
        rng.uniform(*widths_m, 1),
        np.array([angle]),
    )
    yield RUNWAY, shapely.intersection(strip[0], outline.buffer(-5.0))


def _crossing(kind: int, side_m: float, country: Polygon, rng: np.random.Generator) -> Iterator[Strip]:
    """Yield a wash, or a canal on its lining, from one side of the scene to the other, where it is country."""
    reach_m = side_m + 2 * PAD_M
    along_m = np.arange(-reach_m, reach_m, 8.0)
    aside_m = np.full_like(along_m, rng.uniform(-0.4, 0.4) * side_m)
    if kind == WASH:
        width_m = np.exp(rng.uniform(np.log(3.0), np.log(30.0)))
        for length_m, swing_m in ((600, 40), (240, 20), (90, 6)):
            aside_m += swing_m * np.sin(2 * np.pi * along_m / length_m + rng.uniform(0, 2 * np.pi))
    else:
        width_m = rng.uniform(2.0, 9.0)
        kinks = np.sort(rng.uniform(-side_m / 2, side_m / 2, 2))
        aside_m += np.interp(along_m, [-reach_m, *kinks, reach_m], rng.uniform(-0.3, 0.3, 4) * side_m)
    turn = rng.uniform(0, 2 * np.pi)
    x, y = (np.cos(turn), -np.sin(turn)), (np.sin(turn), np.cos(turn))
    points = np.column_stack([along_m, aside_m]) @ np.array([x, y]).T + side_m / 2
    line = LineString(points).intersection(box(-PAD_M, -PAD_M, side_m + PAD_M, side_m + PAD_M))
    if kind == CANAL:
        yield LINING, line.buffer(width_m / 2 + rng.uniform(0.5, 3.0), join_style="mitre").intersection(country)
    yield kind, line.buffer(width_m / 2, join_style="mitre").intersection(country)
