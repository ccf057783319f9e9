"""A mask as the runs of its rows, and which of them hang together.

Knows intervals in a flat frame; knows nothing of roads or files. Runs are found strip by strip and take as much memory
as a mask has sides, so patches that reach through many strips, or around the whole image, are no different from others.
The method is that of He, Chao and Suzuki, "A run-based two-scan labeling algorithm", IEEE Transactions on Image
Processing 17 (2008), with the second scan left to a graph's connected components.

The frame has a row above and below the image and a column at its right, which also is what lies left of the next row.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components


@dataclass(frozen=True)
class Frame:
    """The size of an image in pixels, and where its pixels are in the flat frame."""

    height: int
    width: int

    @property
    def stride(self) -> int:
        """Positions from a pixel to the one below."""
        return self.width + 1

    def row(self, row: int) -> int:
        """Return the position of a row's first pixel."""
        return (row + 1) * self.stride

    def around(self) -> "Runs":
        """Return the runs of what lies around the image."""
        right = self.row(0) + self.width + self.stride * np.arange(self.height, dtype=np.int64)
        starts = np.concatenate([[0], right, [self.row(self.height)]])
        stops = np.concatenate([[self.stride], right + 1, [self.row(self.height + 1)]])
        return Runs(starts, stops)


@dataclass(frozen=True)
class Runs:
    """Runs of pixels, none touching another in its row: positions from `starts` to before `stops`, (n,), int64."""

    starts: np.ndarray
    stops: np.ndarray

    @property
    def sizes(self) -> np.ndarray:
        """Pixels of each run: (n,), int64."""
        return self.stops - self.starts

    def __getitem__(self, chosen: np.ndarray) -> "Runs":
        return Runs(self.starts[chosen], self.stops[chosen])

    def __len__(self) -> int:
        return len(self.starts)


def runs_of(strip: np.ndarray, first_row: int, frame: Frame) -> Runs:
    """Return the runs of a strip (rows, width), bool, that begins at `first_row`."""
    padded = np.zeros((len(strip), frame.stride), dtype=bool)
    padded[:, :-1] = strip
    flat = padded.ravel()
    changes = np.flatnonzero(flat[1:] != flat[:-1]) + 1
    if flat.size and flat[0]:
        changes = np.concatenate([[0], changes])
    changes += frame.row(first_row)
    return Runs(changes[::2], changes[1::2])


def runs_at(pixels: np.ndarray, frame: Frame) -> Runs:
    """Return the runs of pixels given by column and row, (n, 2), int64, row by row and from left to right."""
    at = frame.row(0) + pixels[:, 1] * frame.stride + pixels[:, 0]
    is_first = np.diff(at, prepend=-1) != 1
    is_last = np.roll(is_first, -1)
    return Runs(at[is_first], at[is_last] + 1)


def drawn(runs: Runs, first_row: int, count: int, frame: Frame) -> np.ndarray:
    """Return some rows of the image, (count, width), bool, with the runs drawn."""
    begin, end = frame.row(first_row), frame.row(first_row + count)
    first, last = np.searchsorted(runs.starts, [begin, end])
    bounds = np.column_stack([runs.starts[first:last], runs.stops[first:last]]).ravel()
    lengths = np.diff(np.concatenate([[begin], bounds, [end]]))
    return np.repeat(np.arange(len(lengths)) % 2 == 1, lengths).reshape(count, frame.stride)[:, :-1]


def joined(*several: Runs) -> Runs:
    """Return runs that share no pixel as one, in order; where they touch they become one run."""
    starts = np.concatenate([runs.starts for runs in several])
    stops = np.concatenate([runs.stops for runs in several])
    order = np.argsort(starts, kind="stable")
    starts, stops = starts[order], stops[order]
    begins = np.concatenate([[-1], stops[:-1]]) != starts
    return Runs(starts[begins], stops[np.roll(begins, -1)])


def between(runs: Runs) -> Runs:
    """Return the gaps between runs that begin and end with the frame."""
    return Runs(runs.stops[:-1], runs.starts[1:])[runs.stops[:-1] < runs.starts[1:]]


def components(runs: Runs, frame: Frame, diagonal: bool) -> np.ndarray:
    """Return the number of the connected component of each run, from 0: (n,), int64."""
    first, last = _overlaps(runs, runs, frame.stride, int(diagonal))
    begins = np.concatenate([[0], np.cumsum(last - first)])
    below = np.arange(begins[-1]) - np.repeat(begins[:-1] - first, last - first)
    links = csr_array((np.ones(len(below), dtype=np.int8), below, begins), shape=(len(runs), len(runs)))
    return connected_components(links, directed=False)[1].astype(np.int64)


def touches(runs: Runs, others: Runs, frame: Frame) -> np.ndarray:
    """Return which runs have a pixel of others beside them, in any of eight directions: (n,), bool."""
    touched = np.zeros(len(runs), dtype=bool)
    for rows in (-1, 0, 1):
        first, last = _overlaps(runs, others, rows * frame.stride, 1)
        touched |= first < last
    return touched


def _overlaps(runs: Runs, others: Runs, step: int, reach: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the first and past the last of the others that each run meets, moved by a step and longer by a reach."""
    first = np.searchsorted(others.stops, runs.starts + (step - reach), side="right")
    last = np.searchsorted(others.starts, runs.stops + (step + reach), side="left")
    return first, np.maximum(first, last)
