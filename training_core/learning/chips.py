"""Training chips: random crops of labeled images, with augmentation (symmetries, contrast and brightness jitter).

Scope: sampling and augmentation. Independent of files and of the model.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from itertools import count as count_from
from itertools import zip_longest
from typing import Any, Optional

import numpy as np

from ..geodata.pixel_codes import IGNORE, ROAD
from ..geodata.rasters import Band
from ..labels.labeled_images import LabeledImage
from ..labels.training_images import ShuffleBuffer
from ..segmentation.inference import turned
from ..system.large_arrays import strips
from ..system.work import ahead

# Half of the chips are centered on road pixels, so that every step has some, however few roads are drawn.
ROAD_CHIP_FRACTION = 0.5
GAIN_SPREAD, BIAS_SPREAD = 0.2, 0.2
# Candidate centers are thinned to this number: chips are shifted at random by far more.
MAX_CENTERS = 500_000


class ChipSampler:
    """Draws batches of augmented chips, half of them centered on road pixels; the same seed draws the same chips."""

    def __init__(
        self,
        images: list[LabeledImage],
        size_px: int,
        seed: int,
        others: Optional[ShuffleBuffer[Any, "ChipSource"]] = None,
    ) -> None:
        self._bands, self._size_px, self._seed, self._others = images[0].bands, size_px, seed, others
        self._in_memory = [source_of(image) for image in images]

    def batch(
        self, number: int, count: int, assigned: Optional[Sequence[int]] = None, has_images: bool = True
    ) -> tuple[np.ndarray, np.ndarray]:
        """Draw a batch of `count` chips, or the `assigned` ones of it; it depends on the seed and its number alone.

        Each chip has its own random numbers, so all ranks draw the same. Images, (assigned, bands, size, size),
        float32, are normalized, and 0 without data. If `has_images` is false, there are only labels, (assigned, size,
        size), uint8: BACKGROUND, ROAD or IGNORE, and for road of a known class ROAD + its number.
        """
        assigned, side = range(count) if assigned is None else assigned, self._size_px
        chips = np.zeros((len(assigned) * has_images, len(self._bands), side, side), dtype=np.float32)
        labels = np.full((len(assigned), side, side), IGNORE, dtype=np.uint8)
        sources, weights = self._sources(number)
        for wanted, chip, label in zip_longest(assigned, chips, labels):
            self._draw(sources, weights, np.random.default_rng([self._seed, number, wanted]), chip, label)
        return chips, labels

    def _sources(self, batch: int) -> tuple[list["ChipSource"], np.ndarray]:
        """Return the images to draw a batch from, and how many each stands for, (n,), float64."""
        if self._others is None:
            return self._in_memory, np.ones(len(self._in_memory))
        others = self._others.at_hand(batch)
        weights = [1.0] * len(self._in_memory) + [self._others.weight(batch)] * len(others)
        return [*self._in_memory, *others], np.array(weights)

    def _draw(
        self,
        sources: list["ChipSource"],
        weights: np.ndarray,
        rng: np.random.Generator,
        chip: Optional[np.ndarray],
        label: np.ndarray,
    ) -> None:
        """Fill a chip (bands, size, size) of zeros, if there is one, and its labels (size, size) of IGNORE."""
        # The center: of all images' road pixels, or of all labeled ones, each pixel is as likely.
        is_road = rng.random() < ROAD_CHIP_FRACTION
        pools = [source.roads if is_road else source.labeled for source in sources]
        weights = weights * [pool.total for pool in pools]
        number = rng.choice(len(pools), p=weights / weights.sum())
        image, centers = sources[number].image, pools[number].centers
        center = divmod(int(centers[rng.integers(len(centers))]), image.training.shape[1])
        window = self._window(image.training.shape, center, rng)
        # The augmentation; everything is written through a turned view, so that nothing is copied twice.
        scale, offset = draw_scaling(image.bands, rng)
        symmetry = int(rng.integers(8))
        known = image.known[window]
        height, width = known.shape
        label = turned(label, symmetry)[..., :height, :width]
        label[...] = image.training[window]
        if image.classes is not None:
            label[label == ROAD] += image.classes[window][label == ROAD]
        if chip is None:
            return
        chip = turned(chip, symmetry)[..., :height, :width]
        rows, columns = window
        scale_into(chip, image.values[:, rows, columns], known, scale, offset)

    def _window(self, shape: tuple[int, ...], center: tuple[int, int], rng: np.random.Generator) -> tuple[slice, slice]:
        """Return a window around a pixel, shifted at random and into the image; the whole image if it is smaller."""
        shift_px = self._size_px // 4
        starts = [
            max(0, min(at + int(rng.integers(-shift_px, shift_px + 1)) - self._size_px // 2, size - self._size_px))
            for at, size in zip(center, shape)
        ]
        rows, columns = (slice(start, start + self._size_px) for start in starts)
        return rows, columns


@dataclass(frozen=True)
class _Pool:
    """Candidate centers as flat indexes, (n,), int64, and the number of pixels that they were thinned from."""

    centers: np.ndarray
    total: int


@dataclass(frozen=True)
class ChipSource:
    """An image, and the centers that chips of it may have: those on road, and all that are labeled."""

    image: LabeledImage
    roads: _Pool
    labeled: _Pool


def source_of(image: LabeledImage) -> ChipSource:
    """Return an image with the centers of its chips."""
    return ChipSource(image, *_find_centers(image.training))


def _find_centers(labels: np.ndarray) -> tuple[_Pool, _Pool]:
    """Return the road pixels and the labeled pixels of an image, evenly thinned to `MAX_CENTERS`."""
    pools = []
    for is_wanted in (lambda part: part == ROAD, lambda part: part != IGNORE):
        parts = strips(*labels.shape)
        counts = [int(np.count_nonzero(is_wanted(labels[rows]))) for rows in parts]
        total = sum(counts)
        kept = min(total, MAX_CENTERS)
        ranks = np.arange(kept, dtype=np.int64) * total // max(kept, 1)
        first, found = 0, [np.zeros(0, dtype=np.int64)]
        for rows, count in zip(parts, counts):
            mine = ranks[(ranks >= first) & (ranks < first + count)] - first
            found.append(np.flatnonzero(is_wanted(labels[rows]))[mine] + rows.start * labels.shape[1])
            first += count
        pools.append(_Pool(np.concatenate(found), total))
    return pools[0], pools[1]


def draw_scaling(bands: tuple[Band, ...], rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return scale and offset of each band, (bands,), float32: normalization with jittered contrast and brightness."""
    gain = 1 + rng.uniform(-GAIN_SPREAD, GAIN_SPREAD) + rng.normal(0, 0.03, len(bands))
    bias = rng.uniform(-BIAS_SPREAD, BIAS_SPREAD) + rng.normal(0, 0.05, len(bands))
    scale = gain / np.array([band.std for band in bands])
    offset = bias - scale * np.array([band.mean for band in bands])
    return scale.astype(np.float32), offset.astype(np.float32)


def scale_into(
    target: np.ndarray, values: np.ndarray, known: np.ndarray, scale: np.ndarray, offset: np.ndarray
) -> None:
    """Scale values, (bands, height, width), any dtype, by band into `target`, float32 of the same shape.

    Pixels that are not `known`, (height, width), bool, become 0. For scale and offset, (bands,), float32, see
    `draw_scaling`.
    """
    is_complete = known.all()
    for band, plane in enumerate(target):
        plane[...] = values[band]
        plane *= scale[band]
        plane += offset[band]
        if not is_complete:
            plane[~known] = 0


def chips_of(batches: Sequence[int], batch_size: int) -> list[int]:
    """Return the numbers of the chips in some batches of a step."""
    return [chip for batch in batches for chip in range(batch * batch_size, (batch + 1) * batch_size)]


def prefetch(
    sampler: ChipSampler,
    batch_size: int,
    first: int = 0,
    depth: int = 3,
    assigned: Optional[Sequence[int]] = None,
    has_images: bool = True,
) -> Generator[tuple[np.ndarray, np.ndarray], None, None]:
    """Yield batches that a background thread draws ahead, up to `depth`; closing the generator ends the thread.

    For images, (assigned or 0, bands, ...), float32, and labels, (assigned, ...), uint8, see `ChipSampler.batch`.
    """
    return ahead((sampler.batch(number, batch_size, assigned, has_images) for number in count_from(first)), depth)
