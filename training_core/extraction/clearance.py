"""Clearance: distance from points to the nearest pixel that is known not to be road (distance transform on demand).

Scope: road masks, and points in meters. Independent of graphs.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial import KDTree

from ..networks.graph import connected
from .compact_masks import BitMask

# A road cut straight is as wide at the cut as it is across; one cut at 60 degrees is twice as wide there.
_MAX_CUT = 2.0
# A tree that is built in half the time of a balanced, compact one, and queried as fast.
_TREE = {"balanced_tree": False, "compact_nodes": False, "leafsize": 24}


class Clearance:
    """Distance in meters from a point to the nearest pixel that is known not to be road.

    At the pixels of a mask this is its Euclidean distance transform. A k-d tree over the pixels next to the road gives
    it at any point, without arrays of distances as large as the image. The edge of the data is not a roadside. The (2,)
    float64 `pixel_m` is the ground size of a pixel along columns and along rows.
    """

    def __init__(self, road: BitMask, known: BitMask, pixel_m: np.ndarray) -> None:
        self.pixel_m = pixel_m
        # Only pixels beside road can be the nearest pixel that is not road.
        other = known & ~road
        roadside = (other & (~other).grown()).pixels()
        self._tree = KDTree(roadside * pixel_m, **_TREE) if len(roadside) else None

    def __call__(self, points: np.ndarray) -> np.ndarray:
        """Return the clearance of points, (n, 2) float64, in meters: (n,) float64; infinite without a roadside."""
        if self._tree is None:
            return np.full(len(points), np.inf)
        return self._tree.query(points, workers=-1)[0]

    def width_m(self, points: np.ndarray) -> np.ndarray:
        """Return the width of the road at points on its center-line: (n,) float64; infinite without a roadside.

        It is twice the clearance, less half a pixel in the direction of the nearer side: the clearance reaches to the
        center of the first pixel beyond the road. So a road of an odd number of pixels comes out half a pixel too wide,
        of an even one half a pixel too narrow. Points are (n, 2) float64 meters.
        """
        if self._tree is None:
            return np.full(len(points), np.inf)
        clearance_m, nearest = self._tree.query(points, workers=-1)
        pixel_m = np.hypot(*((self._tree.data[nearest] - points) * self.pixel_m).T)  # times the clearance
        return 2 * clearance_m - pixel_m / np.maximum(2 * clearance_m, self.pixel_m.min())


def cut_ends(road: BitMask, known: BitMask, clearance: Clearance) -> np.ndarray:
    """Return the pixels at which center-lines reach the edge of the data: columns and rows, (n, 2) int64.

    For each stretch of road along the edge this is its middle pixel. A stretch much longer than the road is wide there
    is a road that runs along the edge. It has no such pixel.
    """
    pixels = (road & (~known).grown()).pixels()
    if not len(pixels):
        return pixels
    pixels = pixels[np.lexsort(pixels.T)]
    # 8-connected pixels along the edge of the data are a stretch; the pixel nearest to its mean is its middle.
    stretch = connected(len(pixels), KDTree(pixels).query_pairs(1.5, output_type="ndarray"))
    size = np.bincount(stretch)
    middle = np.column_stack([np.bincount(stretch, axis) / size for axis in pixels.T])
    from_middle_m = np.hypot(*((pixels - middle[stretch]) * clearance.pixel_m).T)
    # Sorted by distance: a stretch's first pixel is the nearest to its middle, and its last one ends it.
    order = np.lexsort((from_middle_m, stretch))
    nearest = order[np.cumsum(size) - size]
    half_length_m = from_middle_m[order[np.cumsum(size) - 1]]
    return pixels[nearest[half_length_m <= _MAX_CUT * clearance(pixels[nearest] * clearance.pixel_m)]]
