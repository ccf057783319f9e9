"""The passable network after a disaster: the roads after, merged with the roads before that are still open.

Scope: compared networks in meters. Independent of places and routes (`accessibility`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Optional

import numpy as np
import shapely
from shapely.geometry.base import BaseGeometry

from ..events import Reporter
from ..geodata.parallel_arrays import concatenated, selected
from ..jobs import CompareNetworks
from ..networks.lines import Lines, make_lines
from ..networks.road_graph import RoadGraph, contracted, make_road_graph
from .accessibility import CLOSED_MPS, OPEN_MPS, Ways
from .changes import ChangeSegments
from .network_pair import BEFORE


@dataclass(frozen=True)
class ComparedRoads:
    """Two compared networks, and the roads before, outside the area of interest, that were not compared."""

    before: ChangeSegments
    after: ChangeSegments
    outside: Lines


def ways_on(roads: ComparedRoads, damage: Optional[BaseGeometry], job: CompareNetworks, reporter: Reporter) -> Ways:
    """Return the roads that routes run on; see `passable_roads`, and `is_closed` for the damage."""
    before = _graph(concatenated(roads.before.roads.lines, roads.outside), job, f"{BEFORE} ({job.before})")
    reporter.progress(0.3, "Merging passable roads")
    after = _graph(passable_roads(roads, damage, job), job, f"passable roads ({job.before}, {job.after})")
    reporter.check_cancelled()
    return Ways(before, after, lambda: _together(roads, damage, job))


def _graph(lines: Lines, job: CompareNetworks, name: str) -> RoadGraph:
    lines = lines.with_median_speed() if job.before_speed_field and len(lines) else lines
    return contracted(make_road_graph(lines, job.join_m, name))


def _together(roads: ComparedRoads, damage: Optional[BaseGeometry], job: CompareNetworks) -> RoadGraph:
    """Return the roads before and the new ones, on which only closed roads take time."""
    closed = is_closed(roads.before, damage)
    closed = np.append(closed, np.full(len(roads.outside), not job.keep_outside))
    main = concatenated(roads.before.lines, roads.outside)
    lines = with_new_roads(replace(main, speed_mps=np.where(closed, CLOSED_MPS, OPEN_MPS)), roads.after, job)
    is_main = np.arange(len(lines)) < len(main)
    return contracted(
        make_road_graph(replace(lines, speed_mps=np.where(is_main, lines.speed_mps, OPEN_MPS)), job.join_m)
    )


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
