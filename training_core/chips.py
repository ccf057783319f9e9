"""Chips: the pieces of labeled images that a network learns from.

Knows how chips are drawn, turned and jittered; knows nothing of files or networks.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator

import numpy as np

from .examples import LabeledImage
from .imagery import normalize
from .labels import IGNORE, ROAD

# Half of the chips are centered on a road, so that even a few drawn roads are seen at every step.
ROAD_CHIP_SHARE = 0.5
GAIN_SPREAD, BIAS_SPREAD = 0.2, 0.2


class ChipSampler:
    """Draws batches of chips, half of them centered on roads, turned, mirrored and jittered.

    Parameters
    ----------
    images : list of LabeledImage
    size_px : int
        Side of a chip.
    seed : int
        The same seed draws the same chips.
    """

    def __init__(self, images: list[LabeledImage], size_px: int, seed: int) -> None:
        self._images, self._size_px = images, size_px
        self._random = np.random.default_rng(seed)
        self._roads = [np.flatnonzero(image.training == ROAD) for image in images]
        self._labeled = [np.flatnonzero(image.training != IGNORE) for image in images]

    def batch(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Draw a batch.

        Returns
        -------
        images : ndarray (count, bands, size, size), float32
            Scaled as a network takes them.
        labels : ndarray (count, size, size), uint8
        """
        chips = [self._chip() for _ in range(count)]
        return np.stack([image for image, _ in chips]), np.stack([label for _, label in chips])

    def _chip(self) -> tuple[np.ndarray, np.ndarray]:
        centers = self._roads if self._random.random() < ROAD_CHIP_SHARE else self._labeled
        weights = np.array([len(pixels) for pixels in centers], dtype=float)
        number = self._random.choice(len(self._images), p=weights / weights.sum())
        image = self._images[number]
        center = centers[number][self._random.integers(len(centers[number]))]
        row, column = divmod(int(center), image.training.shape[1])
        jitter_px = self._size_px // 4
        row += int(self._random.integers(-jitter_px, jitter_px + 1))
        column += int(self._random.integers(-jitter_px, jitter_px + 1))
        values, label = self._cut(image, row - self._size_px // 2, column - self._size_px // 2)
        symmetry = int(self._random.integers(8))
        return _turn(self._jitter(values), symmetry), _turn(label, symmetry)

    def _cut(self, image: LabeledImage, row: int, column: int) -> tuple[np.ndarray, np.ndarray]:
        """Cut a chip near (row, column), moved inside the image; an image smaller than a chip is padded."""
        height, width = image.training.shape
        row, column = (max(0, min(at, size - self._size_px)) for at, size in ((row, height), (column, width)))
        window = np.s_[row : row + self._size_px, column : column + self._size_px]
        values = normalize(image.values[(slice(None), *window)], image.known[window], image.bands)
        label = image.training[window]
        padding = [(0, self._size_px - size) for size in label.shape]
        if any(after for _, after in padding):
            values = np.pad(values, [(0, 0), *padding])
            label = np.pad(label, padding, constant_values=IGNORE)
        return values, label

    def _jitter(self, values: np.ndarray) -> np.ndarray:
        """Vary contrast and brightness, a little differently in each band."""
        bands = len(values)
        gain = 1 + self._random.uniform(-GAIN_SPREAD, GAIN_SPREAD) + self._random.normal(0, 0.03, bands)
        bias = self._random.uniform(-BIAS_SPREAD, BIAS_SPREAD) + self._random.normal(0, 0.05, bands)
        values *= gain.astype(np.float32)[:, None, None]
        values += bias.astype(np.float32)[:, None, None]
        return values


def _turn(array: np.ndarray, symmetry: int) -> np.ndarray:
    """Return the array's last two axes after one of the eight symmetries of the square."""
    turned = np.rot90(array, symmetry % 4, axes=(-2, -1))
    return turned[..., ::-1] if symmetry >= 4 else turned


def prefetch(sampler: ChipSampler, batch_size: int, depth: int = 3) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield batches that a thread draws ahead; closing the generator ends the thread."""
    batches: queue.Queue = queue.Queue(depth)
    stopped = threading.Event()

    def draw() -> None:
        while not stopped.is_set():
            try:
                batch = sampler.batch(batch_size)
            except Exception as error:  # it belongs to who waits for the batch
                batch = error
            while not stopped.is_set():
                try:
                    batches.put(batch, timeout=0.1)
                    break
                except queue.Full:
                    continue

    threading.Thread(target=draw, daemon=True).start()
    try:
        while True:
            batch = batches.get()
            if isinstance(batch, Exception):
                raise batch
            yield batch
    finally:
        stopped.set()
