"""The roads that can be driven on afterwards: those after, and those before that are taken to be there still.

Knows lines in meters; knows nothing of why a road is taken to be there, nor of routes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

import numpy as np
import shapely
from shapely.geometry.base import BaseGeometry

from ..jobs import CompareNetworks
from ..networks.lines import Lines, make_lines
from ..networks.parallel_arrays import concatenated
from ..networks.road_graph import as_drawn
from .changes import UNMATCHED, Fates, shapes_of


def joined_to(main: Lines, added: Lines, doubles: np.ndarray, reach_m: float, join_m: float) -> Lines:
    """Return lines with those of another layer, which lie a little aside, linked to them.

    Where an added line went on in one of its own layer for which a main line stands, it now goes on, straight, to the
    nearest main line. A dead end stays one.

    Parameters
    ----------
    main, added : Lines
    doubles : ndarray (k,) of LineString
        Lines of the layer of those added that are left out, since main lines run where they do.
    reach_m : float
        How far a main line may be.
    join_m : float
        What is as near as this needs no link.
    """
    ends = shapely.points(_ends(added))
    if not len(ends) or not len(main) or not len(doubles):
        return concatenated(main, added)
    touching, _ = shapely.STRtree(doubles).query(ends, predicate="dwithin", distance=join_m)
    ends = shapely.points(np.unique(shapely.get_coordinates(ends[np.unique(touching)]), axis=0))
    end, near = shapely.STRtree(main.shapes).query_nearest(ends, max_distance=reach_m, all_matches=False)
    links = shapely.shortest_line(ends[end], main.shapes[near])
    links = links[shapely.length(links) > join_m]
    # As bridges, links meet others at their ends alone.
    return concatenated(main, added, make_lines(links, np.ones(len(links), dtype=bool)))


def _ends(lines: Lines) -> np.ndarray:
    """Return both ends of each line: (2 n, 2), float64."""
    points = [shapely.get_coordinates(shapely.get_point(lines.shapes, index)) for index in (0, -1)]
    return np.concatenate(points)


@dataclass(frozen=True)
class RoadsAtHand:
    """The judged roads before and after with their fates, and the roads before beyond the area of interest."""

    before: Lines
    after: Lines
    outside: Lines
    fates_before: Fates
    fates_after: Fates


def stretch_lines(lines: Lines, fates: Fates) -> Lines:
    """Return the stretches of lines as lines of their own."""
    return lines.parted(shapes_of(as_drawn(lines), fates.stretches), fates.stretches.edge)


def _chosen(lines: Lines, chosen: np.ndarray) -> Lines:
    """Return some of the lines."""
    return lines.parted(lines.shapes[chosen], np.flatnonzero(chosen))


def is_closed(stretches: Lines, fates: Fates, damage: Optional[BaseGeometry]) -> np.ndarray:
    """Return which stretches of the roads before are closed to routes: (n,), bool."""
    is_lost = fates.kind == UNMATCHED
    return is_lost if damage is None else is_lost & shapely.intersects(stretches.shapes, damage)


def passable_roads(hand: RoadsAtHand, damage: Optional[BaseGeometry], job: CompareNetworks) -> Lines:
    """Return the roads that routes may take afterwards."""
    stretches = stretch_lines(hand.before, hand.fates_before)
    is_lost = hand.fates_before.kind == UNMATCHED
    is_open = is_lost & ~is_closed(stretches, hand.fates_before, damage)
    outside = hand.outside if job.keep_outside else _chosen(hand.outside, np.zeros(len(hand.outside), dtype=bool))
    if job.routes_on == "after":
        kept = concatenated(_chosen(stretches, is_open), outside)
        return joined_to(hand.after, kept, stretches.shapes[~is_lost], job.reach_m, job.join_m)
    main = concatenated(_chosen(stretches, is_open | ~is_lost), outside)
    return with_new_roads(main, hand, job)


def with_new_roads(main: Lines, hand: RoadsAtHand, job: CompareNetworks) -> Lines:
    """Return roads before, and the new ones linked to them."""
    after = stretch_lines(hand.after, hand.fates_after)
    is_new = hand.fates_after.kind == UNMATCHED
    return joined_to(main, _chosen(after, is_new), after.shapes[~is_new], job.reach_m, job.join_m)
