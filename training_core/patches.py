"""What of a mask is taken for road: patches and holes of a size, what hangs together with sure road, narrow gaps.

Knows pixels and their number; knows nothing of meters or files. Roads are connected in eight directions, gaps in four.
"""

from __future__ import annotations

import numpy as np

from .bitmask import BitMask
from .rowruns import Frame, Runs, between, components, joined, touches


def connected_to(likely: Runs, sure: Runs, frame: Frame) -> Runs:
    """Return the likely road that hangs together with sure road, of which all is likely, too.

    This is thresholding with hysteresis, from Canny, "A computational approach to edge detection", IEEE Transactions on
    Pattern Analysis and Machine Intelligence 8 (1986).
    """
    patch = components(likely, frame, diagonal=True)
    is_sure = np.zeros(patch.max(initial=-1) + 1, dtype=bool)
    is_sure[patch[np.searchsorted(likely.starts, sure.starts, side="right") - 1]] = True
    return likely[is_sure[patch]]


def without_small_patches(road: Runs, smallest_px: float, frame: Frame) -> Runs:
    """Return the road without patches of fewer pixels."""
    patch = components(road, frame, diagonal=True)
    return road[(np.bincount(patch, road.sizes) >= smallest_px)[patch]]


def with_small_holes_filled(road: Runs, outside: Runs, smallest_px: float, frame: Frame) -> Runs:
    """Return the road with its holes of fewer pixels filled.

    A gap that touches ground without data, or the image's border, may be larger than what is seen of it, and is no
    hole.

    Parameters
    ----------
    road : Runs
    outside : Runs
        Where there are no data, and the frame.
    smallest_px : float
    frame : Frame
    """
    gaps = between(joined(road, outside))
    gap = components(gaps, frame, diagonal=False)
    is_small = np.bincount(gap, gaps.sizes) < smallest_px
    is_small[gap[touches(gaps, outside, frame)]] = False
    return joined(road, gaps[is_small[gap]])


def closed(road: BitMask, known: BitMask, columns: int, rows: int) -> BitMask:
    """Return the road with gaps closed that are no wider than so many pixels.

    It is the morphological closing by a disc, or by an ellipse where pixels are not square, as large as the gap and one
    pixel more. What lies outside of the data counts as if road might be there, so that nothing is closed off from it.

    Parameters
    ----------
    road, known : BitMask
    columns, rows : int
        The widest gap along columns and along rows.
    """
    grown = _grown(road, columns, rows, 1)
    return known & ~_grown(known & ~grown, columns, rows, -1)


def _grown(mask: BitMask, columns: int, rows: int, sign: int) -> BitMask:
    """Return the union of a mask moved to each pixel of an ellipse, which is in a box from 0 to (columns, rows).

    With a sign of -1 it is moved the other way.
    """
    aside = (2 * np.arange(rows + 1) - rows) / (rows + 1)
    last = ((columns + (columns + 1) * np.sqrt(1 - aside**2)) / 2 + 1e-9).astype(int)
    last = np.maximum(last, (columns + 1) // 2)
    grown, chord, length = BitMask.empty(mask.height, mask.width), mask, 0
    for row in np.argsort(last).tolist():  # from the shortest chord on, so that each is made from the one before
        while length < 2 * last[row] - columns:
            length += 1
            chord = chord | mask.moved(sign * length, 0)
        grown = grown | chord.moved(sign * int(columns - last[row]), sign * row)
    return grown
