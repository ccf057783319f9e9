"""The roads that can be driven on afterwards: those after, and those before that are taken to be there still.

Knows lines in meters; knows nothing of why a road is taken to be there, nor of routes.
"""

from __future__ import annotations

import numpy as np
import shapely

from .networks.lines import Lines, make_lines, together


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
        return together(main, added)
    touching, _ = shapely.STRtree(doubles).query(ends, predicate="dwithin", distance=join_m)
    ends = shapely.points(np.unique(shapely.get_coordinates(ends[np.unique(touching)]), axis=0))
    end, near = shapely.STRtree(main.shapes).query_nearest(ends, max_distance=reach_m, all_matches=False)
    links = shapely.shortest_line(ends[end], main.shapes[near])
    links = links[shapely.length(links) > join_m]
    # As bridges, links meet others at their ends alone.
    return together(main, added, make_lines(links, np.ones(len(links), dtype=bool)))


def _ends(lines: Lines) -> np.ndarray:
    """Return both ends of each line: (2 n, 2), float64."""
    points = [shapely.get_coordinates(shapely.get_point(lines.shapes, index)) for index in (0, -1)]
    return np.concatenate(points)
