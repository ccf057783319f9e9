"""Bit-packed mask: one bit a pixel in bitboards of 8 x 8 pixels, as in chess programs.

Scope: setting, shifting, dilating and finding pixels, 64 at a time. Independent of roads, runs and files.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

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
