"""Statistics of batch normalization, measured again on images because averaged weights need new ones.

Scope: chips of images through a model in training mode, without labels. Independent of why they are measured.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from itertools import islice

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim.swa_utils import update_bn

from ..errors import ImageryError
from ..events import Reporter
from ..geodata.model_input import MIN_KNOWN, ModelInput, open_for_model
from ..geodata.rasters import Band, Image
from ..geodata.tiling import STRIDE_PX, Tile
from .inference import read_piece

# Chips of all images together: 17 megapixels at most. On smaller chips the zeros around them change the statistics of
# the deep layers, which then do not fit the tiles of a segmentation (benchmarks/README.md, Merging models).
CHIPS, BATCH_SIZE, CHIP_PX = 64, 4, 512
# An image of which so many chips have hardly any data is left.
_MAX_TRIED = 256


def measure_statistics(
    model: nn.Module, rasters: tuple[str, ...], wanted: ModelInput, reporter: Reporter, chip_px: int = CHIP_PX
) -> int:
    """Replace a model's statistics of batch normalization by their means over chips of images.

    Returns the number of chips. The same images give the same chips and so the same statistics. Of more images than
    CHIPS only some are read. `chip_px` is a multiple of the stride.

    Raises
    ------
    ImageryError
        An image does not fit the model, or all of them have hardly any data.
    """
    used = rasters[:: -(-len(rasters) // CHIPS)]
    count = 0

    def counted(chips: Iterable[np.ndarray]) -> Iterator[np.ndarray]:
        nonlocal count
        for count, chip in enumerate(chips, 1):
            reporter.check_cancelled()
            reporter.progress(count / CHIPS, f"Measuring batch normalization, chip {count}")
            yield chip

    with ExitStack() as stack:
        opened = [stack.enter_context(open_for_model(path, wanted)) for path in used]
        chips = [read_chips(image, bands, chip_px) for image, bands in opened]
        update_bn(batches(counted(islice(_in_turns(chips), CHIPS))), model)
    if not count:
        raise ImageryError(f"{' and '.join(used[:3])} have hardly any data, or are too small.", "Choose other images.")
    return count


def read_chips(image: Image, bands: tuple[Band, ...], side_px: int) -> Iterator[np.ndarray]:
    """Yield normalized chips of an image, (bands, height, width) float32, in a random order that is always the same.

    Chips with hardly any data are left out. So are those of one stride: they become a single pixel in the deepest
    layer, which has no deviation. Together chips cover the image. The last ones of a row or column overlap those
    before, so that all have one size. An image smaller than `side_px`, a multiple of the stride, is padded.
    """
    width, height = image.grid.width, image.grid.height
    across, down = -(-width // side_px), -(-height // side_px)
    rng = np.random.default_rng(0)
    for index in rng.choice(across * down, min(across * down, _MAX_TRIED), replace=False).tolist():
        column, row = (min(at * side_px, max(0, size - side_px))
                       for at, size in ((index % across, width), (index // across, height)))  # fmt: skip
        tile = Tile(column, row, min(side_px, width), min(side_px, height), 0, 0, 0, 0)
        piece = read_piece(tile, image.read, bands, name=image.name)
        if piece.wanted.mean() >= MIN_KNOWN and piece.image[0].size > STRIDE_PX**2:
            yield piece.image


def _in_turns(sources: Iterable[Iterator[np.ndarray]]) -> Iterator[np.ndarray]:
    """Yield one item of each source, then the next of each, so that a batch shows several images, as in training."""
    waiting = deque(sources)
    while waiting:
        source = waiting.popleft()
        for item in islice(source, 1):
            yield item
            waiting.append(source)


def batches(chips: Iterable[np.ndarray]) -> Iterator[Tensor]:
    """Yield batches of at most BATCH_SIZE chips of one size: (batch, bands, height, width) float32."""
    waiting: defaultdict[tuple[int, ...], list[np.ndarray]] = defaultdict(list)
    for chip in chips:
        waiting[chip.shape].append(chip)
        if len(waiting[chip.shape]) == BATCH_SIZE:
            yield _stacked(waiting.pop(chip.shape))
    yield from map(_stacked, waiting.values())


def _stacked(chips: list[np.ndarray]) -> Tensor:
    return torch.from_numpy(np.stack(chips)).contiguous(memory_format=torch.channels_last)
