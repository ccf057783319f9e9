"""Masks of whole cities in little memory: as bits, for shifting and dilating, and as runs, for connected components.

A bit mask has bitboards of 8 x 8 pixels, as in chess programs, and computes 64 pixels at a time. Runs are intervals of
positions in a flattened frame, found strip by strip, and their memory grows with the outline of a mask. So components
may reach through many strips, or around the whole image. The method is that of He, Chao and Suzuki, "A run-based
two-scan labeling algorithm", IEEE Transactions on Image Processing 17 (2008), with the second scan left to a graph's
connected components. The frame has a row above and below the image and a column at its right, which is also left of
the next row.

Scope: pixels. Independent of roads and files.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from ..geodata.parallel_arrays import offsets_of

# Pixel (row, column) of a board is bit 8 * row + column.
BOARD_PX = 8
_BOARD = np.dtype("<u8")
_FIRST_COLUMN = 0x0101010101010101
_BITS_OF_BYTE = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).sum(axis=1, dtype=np.uint8)


@dataclass(frozen=True)
class BitMask:
    """A mask of any size; pixels outside of it are not set.

    `boards`, (board rows + 2, board columns + 2) uint64, have a border of empty boards. Bits beyond the right and the
    lower edge of the mask are not set.
    """

    boards: np.ndarray
    height: int
    width: int

    @classmethod
    def empty(cls, height: int, width: int) -> "BitMask":
        """Return a mask without pixels."""
        shape = -(-height // BOARD_PX) + 2, -(-width // BOARD_PX) + 2
        return cls(np.zeros(shape, dtype=_BOARD), height, width)

    @classmethod
    def of(cls, mask: np.ndarray) -> "BitMask":
        """Return a mask, (height, width) bool, as bits."""
        bits = cls.empty(*mask.shape)
        bits.write(0, mask)
        return bits

    @property
    def count(self) -> int:
        """Number of pixels that are set."""
        return int(_BITS_OF_BYTE[self.boards.view(np.uint8)].sum(dtype=np.int64))

    def write(self, first_row: int, strip: np.ndarray) -> None:
        """Set the rows from `first_row`, a multiple of 8, to those of a (rows, width) bool strip."""
        # A byte holds 8 pixels of a row; the bytes of 8 rows at the same place are one board.
        lines = np.packbits(strip, axis=1, bitorder="little")
        board_rows, board_columns = -(-len(lines) // BOARD_PX), lines.shape[1]
        if len(lines) % BOARD_PX:
            lines = np.pad(lines, ((0, board_rows * BOARD_PX - len(lines)), (0, 0)))
        stacked = lines.reshape(board_rows, BOARD_PX, board_columns).transpose(0, 2, 1)
        begin = first_row // BOARD_PX + 1
        self.boards[begin : begin + board_rows, 1:-1] = np.ascontiguousarray(stacked).view(_BOARD)[..., 0]

    def read(self, first_row: int, count: int) -> np.ndarray:
        """Return the rows from `first_row`, a multiple of 8: (count, width) bool."""
        begin, board_rows = first_row // BOARD_PX + 1, -(-count // BOARD_PX)
        boards = np.ascontiguousarray(self.boards[begin : begin + board_rows, 1:-1])
        lines = boards[..., None].view(np.uint8).transpose(0, 2, 1).reshape(board_rows * BOARD_PX, -1)
        return np.unpackbits(lines[:count], axis=1, count=self.width, bitorder="little").view(bool)

    def unpacked(self) -> np.ndarray:
        """Return the whole mask: (height, width) bool."""
        return self.read(0, self.height)

    def pixels(self) -> np.ndarray:
        """Return column and row of all pixels, board by board: (n, 2) int64."""
        # Only boards with pixels are unpacked; of the position of a bit, the lower 6 bits are its place in the board.
        at = np.flatnonzero(self.boards)
        bits = np.unpackbits(self.boards.ravel()[at].view(np.uint8), bitorder="little")
        set_bits = np.flatnonzero(bits)
        board_rows, board_columns = np.divmod(at, self.boards.shape[1])
        board, bit = set_bits >> 6, set_bits & 63
        columns = (board_columns[board] - 1) * BOARD_PX + (bit & 7)
        return np.column_stack([columns, (board_rows[board] - 1) * BOARD_PX + (bit >> 3)])

    def at(self, points: np.ndarray) -> np.ndarray:
        """Return whether the pixels nearest to points, (n, 2) columns and rows, are set: (n,) bool."""
        columns, rows = np.rint(points).astype(np.int64).T
        board, bit = self._place(columns, rows)
        return (self.boards[board] >> bit & np.uint64(1)).astype(bool)

    def with_pixels(self, pixels: np.ndarray) -> "BitMask":
        """Return the mask with further pixels set, given by column and row: (n, 2) int64."""
        boards = self.boards.copy()
        board, bit = self._place(*pixels.T)
        np.bitwise_or.at(boards, board, np.uint64(1) << bit)
        return self._like(boards)

    def grown(self) -> "BitMask":
        """Return the mask dilated by a 3 x 3 square, also beyond its border."""
        # A square is a row of three, dilated by a column of three.
        across = self.boards | self.moved(1, 0).boards | self.moved(-1, 0).boards
        tall = self._like(across)
        return self._like(across | tall.moved(0, 1).boards | tall.moved(0, -1).boards)

    def moved(self, columns: int, rows: int) -> "BitMask":
        """Return the mask shifted to the right and down by whole pixels; pixels shifted out of its border are lost."""
        # Down: whole boards first; then rows within a board, and those that enter from the board above.
        boards, bits = divmod(rows, BOARD_PX)
        down = _shifted(self.boards, boards, 0)
        if bits:
            down = down << np.uint64(8 * bits) | _shifted(self.boards, boards + 1, 0) >> np.uint64(64 - 8 * bits)
        # To the right in the same way; `entering` are the first columns of each row, filled from the board at the left.
        boards, bits = divmod(columns, BOARD_PX)
        right = _shifted(down, 0, boards)
        if bits:
            entering = np.uint64(_FIRST_COLUMN * (2**bits - 1))
            carried = _shifted(down, 0, boards + 1) >> np.uint64(BOARD_PX - bits) & entering
            right = right << np.uint64(bits) & ~entering | carried
        return self._like(right)

    def __and__(self, other: "BitMask") -> "BitMask":
        return self._like(self.boards & other.boards)

    def __or__(self, other: "BitMask") -> "BitMask":
        return self._like(self.boards | other.boards)

    def __invert__(self) -> "BitMask":
        """Complement, also around the mask."""
        return self._like(~self.boards)

    def __bool__(self) -> bool:
        return bool(self.boards.any())

    def _place(self, columns: np.ndarray, rows: np.ndarray) -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray]:
        board = (rows >> 3) + 1, (columns >> 3) + 1
        return board, ((rows & 7) * BOARD_PX + (columns & 7)).astype(np.uint64)

    def _like(self, boards: np.ndarray) -> "BitMask":
        return BitMask(boards, self.height, self.width)


def _shifted(boards: np.ndarray, rows: int, columns: int) -> np.ndarray:
    """Return boards shifted down and to the right, filled up with empty ones."""
    shifted = np.zeros_like(boards)
    height, width = boards.shape
    if abs(rows) < height and abs(columns) < width:
        target = boards[max(0, -rows) : height - max(0, rows), max(0, -columns) : width - max(0, columns)]
        shifted[max(0, rows) : height + min(0, rows), max(0, columns) : width + min(0, columns)] = target
    return shifted


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
