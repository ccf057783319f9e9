"""From a road mask to a skeleton one pixel wide.

Knows masks: which patches are too small, how to thin what is left without changing its topology, where a road is cut
off by the edge of the data, and how far its sides are. Knows nothing of graphs, maps or files.

Foreground is 8-connected, background 4-connected, throughout.
"""

from __future__ import annotations

import numpy as np
from scipy import ndimage
from scipy.spatial import KDTree

EIGHT_NEIGHBORS = np.ones((3, 3), dtype=bool)
# (row, column) steps to the neighbors p1 ... p8 of Guo & Hall: clockwise from the upper left one.
_STEPS = ((-1, -1), (-1, 0), (-1, 1), (0, 1), (1, 1), (1, 0), (1, -1), (0, -1))
# A road cut straight is as wide at the cut as it is across; one cut at 60 degrees is twice as wide there.
_LONGEST_CUT = 2.0


def clean_mask(road: np.ndarray, known: np.ndarray, smallest_px: float) -> np.ndarray:
    """Return the mask without small patches and small holes.

    Parameters
    ----------
    road : ndarray (height, width), bool
    known : ndarray (height, width), bool
        False where there is no data. A gap that touches such a pixel, or the image's border, may be larger than what
        is seen of it, and is no hole.
    smallest_px : float
        Patches and holes of fewer pixels go.

    Returns
    -------
    ndarray (height, width), bool
    """
    road = road & known
    if smallest_px <= 1 or not road.any():
        return road
    patches, _ = ndimage.label(road, EIGHT_NEIGHBORS)
    road &= (np.bincount(patches.ravel()) >= smallest_px)[patches]
    gaps, _ = ndimage.label(known & ~road)
    is_small = np.bincount(gaps.ravel()) < smallest_px
    is_small[gaps[data_edge(known)]] = False
    is_small[0] = False
    return road | is_small[gaps]


def data_edge(known: np.ndarray) -> np.ndarray:
    """Return which known pixels lie on the image's border or beside a pixel without data: (height, width), bool."""
    edge = ~known
    if edge.any():
        edge = _dilate(edge)
    edge[[0, -1], :] = True
    edge[:, [0, -1]] = True
    return edge & known


class Clearance:
    """How far a point is from the nearest ground that is known to be no road.

    At the pixels of a mask this is its Euclidean distance transform; a tree over the pixels beside the road gives it
    at any point, without arrays of distances as large as the image. Ground without data is not the side of a road.

    Parameters
    ----------
    road, known : ndarray (height, width), bool
    pixel_m : tuple of float
        Ground size of a pixel in meters along columns and along rows.
    """

    def __init__(self, road: np.ndarray, known: np.ndarray, pixel_m: tuple[float, float]) -> None:
        self.pixel_m = np.array(pixel_m)
        other = known & ~road
        roadside = np.argwhere(other & _dilate(~other))[:, ::-1]
        self._tree = KDTree(roadside * self.pixel_m, balanced_tree=False) if len(roadside) else None

    def __call__(self, points: np.ndarray) -> np.ndarray:
        """Return the clearance in meters of points (n, 2) in pixels; infinite where nothing is known to be no road."""
        if self._tree is None:
            return np.full(len(points), np.inf)
        return self._tree.query(points * self.pixel_m)[0]

    def width_m(self, points: np.ndarray) -> np.ndarray:
        """Return the width in meters of the road on whose center-line the points (n, 2) lie.

        It is twice the clearance, less half a pixel in the direction of the nearer side: the clearance reaches to the
        center of the first pixel beyond the road. So a road of an odd number of pixels comes out half a pixel too
        wide, of an even one half a pixel too narrow.
        """
        if self._tree is None:
            return np.full(len(points), np.inf)
        at_m = points * self.pixel_m
        clearance_m, nearest = self._tree.query(at_m)
        pixel_m = np.hypot(*((self._tree.data[nearest] - at_m) * self.pixel_m).T)  # times the clearance
        return 2 * clearance_m - pixel_m / np.maximum(2 * clearance_m, self.pixel_m.min())


def cut_ends(road: np.ndarray, known: np.ndarray, clearance: Clearance) -> np.ndarray:
    """Return where center-lines reach the edge of the data: (height, width), bool.

    For each stretch of road along the edge this is its middle pixel. A stretch much longer than the road is wide there
    is a road that runs along the edge: it has no such pixel.
    """
    ends = np.zeros_like(road)
    rim, count = ndimage.label(road & data_edge(known), EIGHT_NEIGHBORS)
    if not count:
        return ends
    rows, columns = np.nonzero(rim)
    pixels = np.column_stack([columns, rows])
    stretch = rim[rows, columns] - 1
    size = np.bincount(stretch)
    middle = np.column_stack([np.bincount(stretch, axis) / size for axis in pixels.T])
    from_middle_m = np.hypot(*((pixels - middle[stretch]) * clearance.pixel_m).T)
    order = np.lexsort((from_middle_m, stretch))
    nearest = order[np.cumsum(size) - size]
    half_length_m = from_middle_m[order[np.cumsum(size) - 1]]
    crosses = half_length_m <= _LONGEST_CUT * clearance(pixels[nearest])
    ends[rows[nearest[crosses]], columns[nearest[crosses]]] = True
    return ends


def thin(road: np.ndarray, fixed: np.ndarray | None = None) -> np.ndarray:
    """Return the skeleton of a mask: lines one pixel wide with the mask's components, holes and ends.

    Layers are peeled by the parallel rule A1 of Guo & Hall, "Parallel thinning with two-subiteration algorithms",
    Communications of the ACM 32 (1989), which keeps thin diagonal roads at their length, where the rule of Zhang and
    Suen halves it. Only pixels beside those just removed are looked at again. What remains is then reduced, one
    pixel of any neighborhood at a time, until no pixel can go: every pixel left is an end, or its removal would break
    a line or join two gaps.

    Parameters
    ----------
    road : ndarray (height, width), bool
    fixed : ndarray (height, width), bool, optional
        Pixels to keep.

    Returns
    -------
    ndarray (height, width), bool
    """
    padded = np.pad(road, 1)
    pixels = padded.ravel().view(np.uint8)
    free = np.ones(pixels.size, dtype=bool) if fixed is None else ~np.pad(fixed, 1).ravel()
    steps = [row * padded.shape[1] + column for row, column in _STEPS]
    active = np.flatnonzero(pixels)
    while active.size:
        active = active[free[active]]
        removed = []
        for rule in (_PEEL_FIRST, _PEEL_SECOND):
            layer = active[rule[_neighborhoods(pixels, active, steps)]]
            pixels[layer] = 0
            removed.append(layer)
            active = active[pixels[active] == 1]
        active = _remaining_neighbors(pixels, np.concatenate(removed), steps)
    _reduce(pixels, free, steps, padded.shape[1])
    return padded[1:-1, 1:-1].copy()


def _reduce(pixels: np.ndarray, free: np.ndarray, steps: list[int], stride: int) -> None:
    """Remove redundant pixels of a thin mask in place; of four interleaved sets, no two neighbors are in the same."""
    left = np.flatnonzero(pixels)
    left = left[free[left]]
    field = left // stride % 2 * 2 + left % stride % 2
    changed = True
    while changed:
        changed = False
        for number in range(4):
            candidates = left[(field == number) & (pixels[left] == 1)]
            redundant = candidates[_REDUNDANT[_neighborhoods(pixels, candidates, steps)]]
            pixels[redundant] = 0
            changed |= redundant.size > 0


def _neighborhoods(pixels: np.ndarray, at: np.ndarray, steps: list[int]) -> np.ndarray:
    """Return the eight neighbors of pixels as the bits of a byte."""
    codes = np.zeros(at.size, dtype=np.uint8)
    for bit, step in enumerate(steps):
        codes |= pixels[at + step] << np.uint8(bit)
    return codes


def _remaining_neighbors(pixels: np.ndarray, removed: np.ndarray, steps: list[int]) -> np.ndarray:
    """Return each pixel that is left beside a removed one, once."""
    found = []
    for step in steps:
        beside = removed + step
        beside = beside[pixels[beside] == 1]
        pixels[beside] = 2  # taken
        found.append(beside)
    neighbors = np.concatenate(found)
    pixels[neighbors] = 1
    return neighbors


def _dilate(mask: np.ndarray) -> np.ndarray:
    """Return the mask grown by a pixel in all eight directions."""
    grown = mask.copy()
    grown[1:] |= mask[:-1]
    grown[:-1] |= mask[1:]
    across = grown.copy()
    grown[:, 1:] |= across[:, :-1]
    grown[:, :-1] |= across[:, 1:]
    return grown


def _rules() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return which neighborhoods let a pixel go: in the two peeling steps, and in the final reduction."""
    codes = np.arange(256)
    p1, p2, p3, p4, p5, p6, p7, p8 = ((codes >> bit & 1).astype(bool) for bit in range(8))
    pairs = ((p2, p3, p4), (p4, p5, p6), (p6, p7, p8), (p8, p1, p2))
    crossings = sum((~side & (corner | next_side)).astype(int) for side, corner, next_side in pairs)
    first = sum((a | b).astype(int) for a, b in ((p1, p2), (p3, p4), (p5, p6), (p7, p8)))
    second = sum((a | b).astype(int) for a, b in ((p2, p3), (p4, p5), (p6, p7), (p8, p1)))
    spread = np.minimum(first, second)
    peelable = (crossings == 1) & (spread >= 2) & (spread <= 3)
    neighbors = sum((codes >> bit & 1) for bit in range(8))
    return (
        peelable & ~((p2 | p3 | ~p5) & p4),
        peelable & ~((p6 | p7 | ~p1) & p8),
        (crossings == 1) & (neighbors >= 2),
    )


_PEEL_FIRST, _PEEL_SECOND, _REDUNDANT = _rules()
