"""Crossings: pairs of shapes that meet, found within a limit, and polygons that cross themselves, repaired.

Scope: shapes in any plane. Independent of layers and roads. Segments can meet in as many places as they have pairs; so
that time and memory are bounded by the size of a layer, far more than any drawing has are not even counted to the end.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import shapely

# What GEOS repairs in seconds.
MOST_RING_CROSSINGS = 100_000
# Of a polygon with fewer vertices, rings cannot have so many.
_FEWEST_VERTICES = 400


class TooManyCrossings(Exception):
    """Shapes meet in more than `limit` places."""

    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        self.limit = limit


def meeting_pairs(
    tree: shapely.STRtree, shapes: np.ndarray, limit: int, **condition: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Query a tree with shapes, a few at a time, so that what is refused never fills the memory.

    Parameters
    ----------
    tree : STRtree
    shapes : ndarray (n,), object
    limit : int
        Most meetings: each may be found twice, and each shape may meet itself.
    **condition
        Of `STRtree.query`.

    Returns
    -------
    shape, found : ndarray (k,), int64
        Positions in `shapes` and in the tree.

    Raises
    ------
    TooManyCrossings
        There are more.
    """
    at_once = max(1, limit // max(1, len(tree)))
    parts = [np.zeros((2, 0), dtype=np.int64)]
    count = 0
    for begin in range(0, len(shapes), at_once):
        shape, found = tree.query(shapes[begin : begin + at_once], **condition)
        parts.append(np.stack([begin + shape, found]))
        count += len(shape)
        if count > 2 * limit + len(shapes):
            raise TooManyCrossings(limit)
    shape, found = np.concatenate(parts, axis=1)
    return shape, found


def check_rings(shapes: np.ndarray) -> None:
    """Check that no polygon's rings cross so often that repairing it would take minutes or more.

    Parameters
    ----------
    shapes : ndarray (n,), object
        Of any kind; only polygons are checked.

    Raises
    ------
    TooManyCrossings
        One's rings cross in more than `MOST_RING_CROSSINGS` places.
    """
    is_large = (shapely.get_dimensions(shapes) == 2) & (shapely.get_num_coordinates(shapes) > _FEWEST_VERTICES)
    for shape in shapes[is_large][~shapely.is_valid(shapes[is_large])]:
        points, ring = shapely.get_coordinates(shapely.get_rings(shapely.get_parts(shape)), return_index=True)
        first = np.flatnonzero(np.diff(ring) == 0)
        segments = shapely.linestrings(np.stack([points[first], points[first + 1]], axis=1))
        neighbors = len(segments)
        meeting_pairs(shapely.STRtree(segments), segments, MOST_RING_CROSSINGS + neighbors, predicate="intersects")


def valid(shapes: np.ndarray) -> np.ndarray:
    """Return polygons repaired where they cross themselves: all that a ring surrounds, but for holes, is inside."""
    return shapely.make_valid(shapes, method="structure", keep_collapsed=False)
