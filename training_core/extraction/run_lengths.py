"""Run-length encoded masks and their connected components (labeling).

Scope: runs as intervals of positions in a flattened frame. Independent of roads and files.

Runs are found strip by strip and their memory grows with the outline of a mask. So components may reach through many
strips, or around the whole image. The method is that of He, Chao and Suzuki, "A run-based two-scan labeling algorithm",
IEEE Transactions on Image Processing 17 (2008), with the second scan left to a graph's connected components.

The frame has a row above and below the image and a column at its right, which is also left of the next row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from ..geodata.parallel_arrays import offsets_of

Number = TypeVar("Number", int, np.ndarray)


@dataclass(frozen=True)
class Frame:
    """The size of an image in pixels, and the positions of its pixels in the flattened frame."""

    height: int
    width: int

    @property
    def stride(self) -> int:
        """Positions from a pixel to the one below."""
        return self.width + 1

    def row(self, row: Number) -> Number:
        """Return the position of a row's first pixel; of rows, (n,) int64, those of all of them."""
        return (row + 1) * self.stride

    def around(self) -> "Runs":
        """Return the runs of the frame around the image."""
        right = self.row(0) + self.width + self.stride * np.arange(self.height, dtype=np.int64)
        starts = np.concatenate([[0], right, [self.row(self.height)]])
        stops = np.concatenate([[self.stride], right + 1, [self.row(self.height + 1)]])
        return Runs(starts, stops)


@dataclass(frozen=True)
class Runs:
    """Runs of pixels, separated within a row: positions from `starts` to before `stops`, (n,) int64 each."""

    starts: np.ndarray
    stops: np.ndarray

    @property
    def sizes(self) -> np.ndarray:
        """Pixels of each run: (n,) int64."""
        return self.stops - self.starts

    def __getitem__(self, chosen: np.ndarray) -> "Runs":
        return Runs(self.starts[chosen], self.stops[chosen])

    def __len__(self) -> int:
        return len(self.starts)


def runs_of(strip: np.ndarray, first_row: int, frame: Frame) -> Runs:
    """Return the runs of a (rows, width) bool strip of the image that begins at row `first_row`."""
    # A column without road at the right separates rows, so that a run never continues in the next row.
    padded = np.zeros((len(strip), frame.stride), dtype=bool)
    padded[:, :-1] = strip
    flat = padded.ravel()
    # Values change at the start and at the stop of each run, in turns.
    changes = np.flatnonzero(flat[1:] != flat[:-1]) + 1
    if flat.size and flat[0]:
        changes = np.concatenate([[0], changes])
    changes += frame.row(first_row)
    return Runs(changes[::2], changes[1::2])


def runs_at(pixels: np.ndarray, frame: Frame) -> Runs:
    """Return the runs of pixels given by column and row, (n, 2) int64, row by row and from left to right."""
    at = frame.row(0) + pixels[:, 1] * frame.stride + pixels[:, 0]
    is_first = np.diff(at, prepend=-1) != 1
    is_last = np.roll(is_first, -1)
    return Runs(at[is_first], at[is_last] + 1)


def drawn(runs: Runs, first_row: int, count: int, frame: Frame) -> np.ndarray:
    """Return `count` rows of the image with its runs drawn: (count, width) bool."""
    begin, end = frame.row(first_row), frame.row(first_row + count)
    first, last = np.searchsorted(runs.starts, [begin, end])
    # Gaps and runs alternate, so every second length is road.
    bounds = np.column_stack([runs.starts[first:last], runs.stops[first:last]]).ravel()
    lengths = np.diff(np.concatenate([[begin], bounds, [end]]))
    return np.repeat(np.arange(len(lengths)) % 2 == 1, lengths).reshape(count, frame.stride)[:, :-1]


def joined(*several: Runs) -> Runs:
    """Return the union of runs that share no pixel, in order; runs that touch in a row are merged."""
    starts = np.concatenate([runs.starts for runs in several])
    stops = np.concatenate([runs.stops for runs in several])
    order = np.argsort(starts, kind="stable")
    starts, stops = starts[order], stops[order]
    # A run that begins where another stops continues it.
    begins = np.concatenate([[-1], stops[:-1]]) != starts
    return Runs(starts[begins], stops[np.roll(begins, -1)])


def between(runs: Runs) -> Runs:
    """Return the gaps between runs that begin and end with the frame."""
    return Runs(runs.stops[:-1], runs.starts[1:])[runs.stops[:-1] < runs.starts[1:]]


def components(runs: Runs, frame: Frame, diagonal: bool) -> np.ndarray:
    """Return the connected component of each run, from 0: (n,) int64; 8-connected if `diagonal`, else 4-connected."""
    # Runs are sorted, so those that a run touches in the row below are a range: from `first` to before `last`.
    first, last = _overlaps(runs, runs, frame.stride, int(diagonal))
    # The ranges one after the other are the columns of a sparse matrix of links between runs.
    begins = offsets_of(last - first)
    below = np.arange(begins[-1]) - np.repeat(begins[:-1] - first, last - first)
    links = csr_array((np.ones(len(below), dtype=np.int8), below, begins), shape=(len(runs), len(runs)))
    return connected_components(links, directed=False)[1].astype(np.int64)


def touches(runs: Runs, others: Runs, frame: Frame) -> np.ndarray:
    """Return which of n runs touch others in any of eight directions: (n,) bool."""
    touched = np.zeros(len(runs), dtype=bool)
    for rows in (-1, 0, 1):
        first, last = _overlaps(runs, others, rows * frame.stride, 1)
        touched |= first < last
    return touched


def _overlaps(runs: Runs, others: Runs, step: int, reach: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the first and past the last of the others that each run, shifted and extended by a reach, overlaps."""
    first = np.searchsorted(others.stops, runs.starts + (step - reach), side="right")
    last = np.searchsorted(others.starts, runs.stops + (step + reach), side="left")
    return first, np.maximum(first, last)
