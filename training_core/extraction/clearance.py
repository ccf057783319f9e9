"""Distance from points to the nearest pixel that is known not to be road (the distance transform where it is needed).

Scope: road masks and points in pixels. Independent of graphs.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial import KDTree

from .bitmask import BitMask
from .run_lengths import Frame, components, runs_at

# A road cut straight is as wide at the cut as it is across; one cut at 60 degrees is twice as wide there.
_LONGEST_CUT = 2.0
# A tree that is built in half the time of a tidy one, and asked as fast.
_TREE = {"balanced_tree": False, "compact_nodes": False, "leafsize": 24}


class Clearance:
    """How far a point is from the nearest ground that is known to be no road.

    At the pixels of a mask this is its Euclidean distance transform; a tree over the pixels beside the road gives it
    at any point, without arrays of distances as large as the image. Ground without data is not the side of a road.

    Parameters
    ----------
    road, known : BitMask
    pixel_m : tuple of float
        Ground size of a pixel in meters along columns and along rows.
    """

    def __init__(self, road: BitMask, known: BitMask, pixel_m: tuple[float, float]) -> None:
        self.pixel_m = np.array(pixel_m)
        other = known & ~road
        roadside = (other & (~other).grown()).pixels()
        self._tree = KDTree(roadside * self.pixel_m, **_TREE) if len(roadside) else None

    def __call__(self, points: np.ndarray) -> np.ndarray:
        """Return the clearance in meters of points (n, 2) in pixels; infinite where nothing is known to be no road."""
        if self._tree is None:
            return np.full(len(points), np.inf)
        return self._tree.query(points * self.pixel_m, workers=-1)[0]

    def width_m(self, points: np.ndarray) -> np.ndarray:
        """Return the width in meters of the road on whose center-line the points (n, 2) lie.

        It is twice the clearance, less half a pixel in the direction of the nearer side: the clearance reaches to the
        center of the first pixel beyond the road. So a road of an odd number of pixels comes out half a pixel too
        wide, of an even one half a pixel too narrow.
        """
        if self._tree is None:
            return np.full(len(points), np.inf)
        at_m = points * self.pixel_m
        clearance_m, nearest = self._tree.query(at_m, workers=-1)
        pixel_m = np.hypot(*((self._tree.data[nearest] - at_m) * self.pixel_m).T)  # times the clearance
        return 2 * clearance_m - pixel_m / np.maximum(2 * clearance_m, self.pixel_m.min())


def cut_ends(road: BitMask, known: BitMask, clearance: Clearance) -> np.ndarray:
    """Return where center-lines reach the edge of the data, as columns and rows: (n, 2), int64.

    For each stretch of road along the edge this is its middle pixel. A stretch much longer than the road is wide there
    is a road that runs along the edge: it has no such pixel.
    """
    pixels = (road & (~known).grown()).pixels()
    if not len(pixels):
        return pixels
    frame = Frame(road.height, road.width)
    pixels = pixels[np.lexsort(pixels.T)]
    rim = runs_at(pixels, frame)
    stretch = np.repeat(components(rim, frame, diagonal=True), rim.sizes)
    size = np.bincount(stretch)
    middle = np.column_stack([np.bincount(stretch, axis) / size for axis in pixels.T])
    from_middle_m = np.hypot(*((pixels - middle[stretch]) * clearance.pixel_m).T)
    order = np.lexsort((from_middle_m, stretch))
    nearest = order[np.cumsum(size) - size]
    half_length_m = from_middle_m[order[np.cumsum(size) - 1]]
    return pixels[nearest[half_length_m <= _LONGEST_CUT * clearance(pixels[nearest])]]
