"""New roads attached to the roads before: ends near a road are snapped onto it, and crossings become vertices of both.

Scope: which ends are attached, and the lines with these vertices. Independent of layers and of what has changed.

An end is attached where the network after goes on there, as a stretch that is intact or displaced. A dead end is
attached to a road that lies ahead of it. An end that meets new roads alone stays. The end of an attached line gives way
to a straight piece, for as long as it was away from the road, so that it has neither a hook nor a stub.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import shapely
from scipy.spatial import cKDTree

from ..errors import LayerError
from ..geodata.parallel_arrays import concatenated, selected
from ..networks.lines import Lines, make_lines
from ..networks.noding import MAX_MEETINGS, MAX_MEETINGS_PER_SEGMENT
from ..networks.road_graph import Places, RoadGraph, as_drawn

# A junction this close to a vertex of the road before is at that vertex.
_VERTEX_M = 1.0
# What is attached to a road lies on it, but for rounding.
_ON_ROAD_M = 1e-6
# Vertices of one line closer together than this, along it, are one.
_SAME_M = 1e-3
# Largest angle between a dead end's direction, measured over a few meters, and the way to a road ahead of it.
_AHEAD_DEG, _HEADING_M = 60.0, 10.0


@dataclass(frozen=True)
class _Vertices:
    """Vertices to be inserted: the line, the distance along it, and the coordinates."""

    line: np.ndarray  # (k,) int64
    along_m: np.ndarray  # (k,) float64
    places: np.ndarray  # (k, 2) float64


def attach(
    new: Lines, matched: np.ndarray, before: Lines, within_m: float, join_m: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return new lines and lines before, (n,) and (m,) object, with a vertex in both wherever they are connected.

    All are in one plane. `matched`, (k,) object, are the other lines of the network after. An end is attached within
    `within_m`; lines of one network are connected within `join_m`. Bridges before are not attached to, and bridges of
    both are crossed without a vertex. Raises LayerError if new lines cross those before in more places than roads do.
    """
    at_grade = np.flatnonzero(~before.bridge)
    if not len(new) or not len(at_grade):
        return new.shapes, before.shapes
    roads = as_drawn(selected(before, at_grade))
    shapes, junctions = _with_attached_ends(new, matched, roads, within_m, join_m)
    attached = as_drawn(make_lines(shapes, new.bridge))
    crossings, crossed = _crossings(attached, roads)
    inserted = concatenated(junctions, crossed)
    shapes_before = before.shapes.copy()
    shapes_before[at_grade] = _with_vertices(roads, inserted)
    return _with_vertices(attached, crossings), shapes_before


def _with_attached_ends(
    new: Lines, matched: np.ndarray, roads: RoadGraph, within_m: float, join_m: float
) -> tuple[np.ndarray, _Vertices]:
    """Return new lines whose ends are snapped onto roads, (n,) object, and the vertices of the roads there."""
    count = len(new)
    ends = shapely.get_coordinates(np.concatenate([shapely.get_point(new.shapes, index) for index in (0, -1)]))
    touching_m = max(join_m, _VERTEX_M)
    nearest, away_m = roads.nearest(ends, max(within_m, touching_m))
    near = np.flatnonzero(nearest.edge >= 0)
    junctions = _junctions(roads, selected(nearest, near))
    goes_on, is_dead_end = _kinds_of_ends(new, matched, ends, join_m)
    inward = np.concatenate(
        [shapely.get_coordinates(shapely.line_interpolate_point(new.shapes, m)) for m in (_HEADING_M, -_HEADING_M)]
    )
    outward, way = (ends - inward)[near], junctions.places - ends[near]
    is_ahead = (outward * way).sum(axis=1) >= np.cos(np.radians(_AHEAD_DEG)) * np.hypot(*outward.T) * np.hypot(*way.T)
    kept = (away_m[near] <= touching_m) | goes_on[near] | (is_dead_end[near] & is_ahead)
    end, junctions = near[kept], selected(junctions, kept)
    gap_m = np.full(2 * count, -1.0)
    gap_m[end] = np.minimum(np.hypot(*(junctions.places - ends[end]).T), (1 - 1e-9) * new.length_m[end % count])
    # The vertices of each line without those that are replaced, between its new ends.
    drawn = as_drawn(new)
    owner, along_m = drawn.graph.owner, drawn.along_m
    stays = (along_m > gap_m[:count][owner]) & (along_m < (drawn.length_m - gap_m[count:])[owner])
    owners = np.concatenate([end[end < count], owner[stays], end[end >= count] - count])
    points = np.concatenate([junctions.places[end < count], drawn.graph.points[stays], junctions.places[end >= count]])
    order = np.argsort(owners, kind="stable")
    shapes = shapely.linestrings(points[order], indices=owners[order])
    # A line that would fall onto a road, as a short one beside it, or shrink to a point, stays as it is.
    falls = (_lie_on(shapes, roads) & ~_lie_on(new.shapes, roads)) | (shapely.length(shapes) <= _SAME_M)
    return np.where(falls, new.shapes, shapes), selected(junctions, ~falls[end % count])


def _lie_on(shapes: np.ndarray, roads: RoadGraph) -> np.ndarray:
    """Return which lines, (n,) object, lie on roads, by three places of each: (n,) bool."""
    places = shapely.line_interpolate_point(
        np.repeat(shapes, 3), np.tile((0.25, 0.5, 0.75), len(shapes)), normalized=True
    )
    away_m = roads.nearest(shapely.get_coordinates(places), _VERTEX_M)[1]
    return np.isfinite(away_m).reshape(-1, 3).all(axis=1)


def _kinds_of_ends(new: Lines, matched: np.ndarray, ends: np.ndarray, join_m: float) -> tuple[np.ndarray, np.ndarray]:
    """Return at which ends of new lines, all starts first, a matched line goes on, and which are dead: (2n,) bool."""
    points, own = shapely.points(ends), np.tile(np.arange(len(new)), 2)
    goes_on, meets_new = np.zeros(len(ends), dtype=bool), np.zeros(len(ends), dtype=bool)
    goes_on[shapely.STRtree(matched).query(points, predicate="dwithin", distance=join_m)[0]] = True
    end, other = shapely.STRtree(new.shapes).query(points, predicate="dwithin", distance=join_m)
    meets_new[end[other != own[end]]] = True
    return goes_on, ~(goes_on | meets_new)


def _junctions(roads: RoadGraph, places: Places) -> _Vertices:
    """Return places on roads, each at the nearest vertex if that is near enough."""
    points = roads.points_at(places)
    gap_m, vertex = cKDTree(roads.graph.points).query(points, distance_upper_bound=_VERTEX_M)
    at_vertex = np.isfinite(gap_m)
    vertex = np.where(at_vertex, vertex, 0)
    return _Vertices(
        np.where(at_vertex, roads.graph.owner[vertex], places.edge),
        np.where(at_vertex, roads.along_m[vertex], places.along_m),
        np.where(at_vertex[:, None], roads.graph.points[vertex], points),
    )


def _crossings(new: RoadGraph, roads: RoadGraph) -> tuple[_Vertices, _Vertices]:
    """Return where new lines cross roads at other places than their ends: the vertices of both, k each."""
    limit, count = max(MAX_MEETINGS, MAX_MEETINGS_PER_SEGMENT * len(new.graph.points)), 0
    found = []
    for road, line in roads.neighbors(new, 0.0):
        at_grade = ~new.lines.bridge[new.line[line]]
        road, line = road[at_grade], line[at_grade]
        steps = [
            shapely.linestrings(np.stack([graph.points[vertex], graph.points[vertex + 1]], axis=1))
            for graph, vertex in ((roads.graph, road), (new.graph, line))
        ]
        points, pair = shapely.get_coordinates(shapely.intersection(*steps), return_index=True)
        count += len(points)
        if count > limit:
            raise LayerError(
                f"The new roads cross the roads before in more than {limit:,} places.",
                "Choose layers in which each road is drawn once.",
            )
        found.append((road[pair], line[pair], points))
    road, line, points = map(np.concatenate, zip(*found))
    along_m = roads.along_m[road] + np.hypot(*(points - roads.graph.points[road]).T)
    crossed = _junctions(roads, Places(roads.graph.owner[road], along_m))
    owner, line_m = new.graph.owner[line], new.along_m[line] + np.hypot(*(points - new.graph.points[line]).T)
    # Ends on a road are attached already.
    starts, lasts = np.isfinite(roads.nearest(new.graph.nodes, _ON_ROAD_M)[1]).reshape(-1, 2).T
    inner = ((line_m > _VERTEX_M) | ~starts[owner]) & ((line_m < new.length_m[owner] - _VERTEX_M) | ~lasts[owner])
    return selected(_Vertices(owner, line_m, crossed.places), inner), selected(crossed, inner)


def _with_vertices(roads: RoadGraph, inserted: _Vertices) -> np.ndarray:
    """Return lines with further vertices, which replace those at the same place: (n,) object."""
    line = np.concatenate([inserted.line, roads.graph.owner])
    along_m = np.concatenate([inserted.along_m, roads.along_m])
    points = np.concatenate([inserted.places, roads.graph.points])
    is_old = np.arange(len(line)) >= len(inserted.line)
    order = np.lexsort((is_old, along_m, line))
    line, along_m, points, is_old = line[order], along_m[order], points[order], is_old[order]
    # A line that is hardly longer than that, as one cut at the edge of an area, keeps both ends.
    same_m = np.minimum(_SAME_M, roads.length_m / 4)[line]
    follows = (np.diff(line) == 0) & (np.diff(along_m) <= same_m[1:])
    is_replaced = np.zeros(len(line), dtype=bool)
    is_replaced[1:] |= follows & ~is_old[:-1]
    is_replaced[:-1] |= follows & ~is_old[1:]
    kept = ~(is_old & is_replaced)
    return shapely.remove_repeated_points(shapely.linestrings(points[kept], indices=line[kept]))
