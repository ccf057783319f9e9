"""The passable road network after a disaster, merged from the roads after and the roads before that are still open.

Scope: merging lines of two layers, in meters. Independent of how changes are classified and of routes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

import numpy as np
import shapely
from shapely.geometry.base import BaseGeometry

from ..geodata.parallel_arrays import concatenated
from ..jobs import CompareNetworks
from ..networks.lines import Lines, make_lines
from .changes import ChangeSegments


def add_linked(main: Lines, added: Lines, left_out: np.ndarray, reach_m: float, join_m: float) -> Lines:
    """Return lines together with those of another layer, which may be offset a little, linked to them.

    Where an added line continued in one of its own layer that is left out, it now continues, straight, to the nearest
    main line. A dead end stays one.

    Parameters
    ----------
    left_out : ndarray (k,), object
        `LineString`s of the layer of those added that are not added, since main lines run where they do.
    reach_m : float
        Greatest length of a link.
    join_m : float
        Ends this near are connected without a link.

    Returns
    -------
    Lines
        `main`, `added`, and the links, in this order.
    """
    ends = shapely.points(_ends(added))
    if not len(ends) or not len(main) or not len(left_out):
        return concatenated(main, added)
    touching, _ = shapely.STRtree(left_out).query(ends, predicate="dwithin", distance=join_m)
    ends = shapely.points(np.unique(shapely.get_coordinates(ends[np.unique(touching)]), axis=0))
    end, near = shapely.STRtree(main.shapes).query_nearest(ends, max_distance=reach_m, all_matches=False)
    links = shapely.shortest_line(ends[end], main.shapes[near])
    links = links[shapely.length(links) > join_m]
    # As bridges, links are connected at their ends only.
    return concatenated(main, added, make_lines(links, np.ones(len(links), dtype=bool)))


def _ends(lines: Lines) -> np.ndarray:
    """Return both ends of each line: (2 n, 2), float64."""
    points = [shapely.get_coordinates(shapely.get_point(lines.shapes, index)) for index in (0, -1)]
    return np.concatenate(points)


@dataclass(frozen=True)
class ComparedRoads:
    """Two compared networks, and the roads before that were not compared.

    Parameters
    ----------
    outside : Lines
        Roads before that lie outside the area of interest.
    """

    before: ChangeSegments
    after: ChangeSegments
    outside: Lines


def is_closed(before: ChangeSegments, damage: Optional[BaseGeometry]) -> np.ndarray:
    """Return which segments of the roads before are closed to routes: (n,), bool.

    Lost segments are closed, or only those that touch the confirmed damage where that is given.
    """
    is_lost = ~before.is_matched
    return is_lost if damage is None else is_lost & shapely.intersects(before.lines.shapes, damage)


def passable_roads(roads: ComparedRoads, damage: Optional[BaseGeometry], job: CompareNetworks) -> Lines:
    """Return the roads that routes may take afterwards.

    Parameters
    ----------
    damage : geometry, optional
        Confirmed damage, see `is_closed`.
    job : CompareNetworks
        Its `routes_on` chooses between the roads after and what remains of those before.
    """
    before, is_matched = roads.before, roads.before.is_matched
    is_open = ~is_matched & ~is_closed(before, damage)
    outside = roads.outside if job.keep_outside else _chosen(roads.outside, np.zeros(len(roads.outside), dtype=bool))
    if job.routes_on == "after":
        kept = concatenated(_chosen(before.lines, is_open), outside)
        return add_linked(roads.after.roads.lines, kept, before.lines.shapes[is_matched], job.reach_m, job.join_m)
    main = concatenated(_chosen(before.lines, is_open | is_matched), outside)
    return with_new_roads(main, roads.after, job)


def with_new_roads(main: Lines, after: ChangeSegments, job: CompareNetworks) -> Lines:
    """Return roads before together with the new roads, linked to them.

    Parameters
    ----------
    main : Lines
        Roads before.
    after : ChangeSegments
        Its unmatched segments are the new roads.

    Returns
    -------
    Lines
        `main` first.
    """
    is_new = ~after.is_matched
    return add_linked(main, _chosen(after.lines, is_new), after.lines.shapes[~is_new], job.reach_m, job.join_m)


def _chosen(lines: Lines, chosen: np.ndarray) -> Lines:
    return lines.parted(lines.shapes[chosen], np.flatnonzero(chosen))
