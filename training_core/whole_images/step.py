"""Training step on whole images: exact gradients tile by tile, in memory that depends on the tiles alone.

The loss depends on the pixels through a few sums only (`losses.Joint`). A first pass over the tiles adds these up,
without gradients; a second one computes each tile again, with the gradient of the joint loss, and goes back. A tile has
the exact halo, so its core has the logits and gradients of the undivided image, as long as batch normalization is
frozen. Several processes may share the tiles. Sums are added in the order of the tiles, whoever has computed them.

Scope: see `learning.step`; tiles are planned already. Independent of the choice of images.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from ..geodata.pixel_codes import IGNORE
from ..geodata.tiling import Tile
from ..jobs import FineTune, StepOptions
from ..labels.labeled_images import LabeledImage
from ..labels.training_images import TrainingImages
from ..learning.losses import Joint, count_classes, training_loss
from ..learning.plan import MemoryPlan, Room
from ..learning.setup import Way
from ..learning.share import ALL, Share
from ..learning.step import MakeStep, Step, Stopwatch
from ..learning.training_loop import Batches
from ..models.architectures import Architecture
from ..models.engines import NativeEngine
from ..system.memory import give_free_blocks_back
from ..system.work import ahead
from .precise_sums import PreciseSums
from .samples import ImageSample, draw_images
from .tiles import TilePlan, plan_tiles, require_frozen_norm


class ImageWay(Way):
    """Steps on whole images, tile by tile; for `tick` see `ImageStep`."""

    def __init__(self, tick: Callable[[float], None]) -> None:
        self._tick = tick

    def plan(
        self, job: FineTune, images: list[LabeledImage], architecture: Architecture, engine: NativeEngine, room: Room
    ) -> MemoryPlan:
        """See `Way`."""
        return plan_tiles(architecture, engine, job, [image.known.shape for image in images], room)

    def step(
        self, job: FineTune, model: nn.Module, engine: NativeEngine, layout: dict[str, Any], share: Share
    ) -> tuple[nn.Module, MakeStep]:
        """See `Way`."""
        return model, partial(ImageStep, share=share, tiles=TilePlan(**layout), tick=self._tick)

    def batches(self, job: FineTune, images: TrainingImages, share: Share, first: int) -> Batches:
        """Yield whole images; every process has the images, since it computes some of their tiles."""
        return draw_images(images.in_memory, job.seed, job.accumulation, first)


class ImageStep(Step):
    """A step on whole images with frozen batch normalization, as many as the gradient accumulation.

    `tick` is called after each tile with the fraction of the image that is done; it may raise to cancel.
    """

    def __init__(
        self,
        model: nn.Module,
        engine: NativeEngine,
        recipe: StepOptions,
        stopwatch: Stopwatch,
        share: Share,
        tiles: TilePlan,
        tick: Callable[[float], None],
    ) -> None:
        super().__init__(model, engine, recipe, stopwatch, share)
        self._tiles, self._tick = tiles, tick

    @property
    def samples(self) -> int:
        """Number of images in a step."""
        return self.recipe.accumulation

    @property
    def pixels(self) -> float:
        """Infinite: validation of all held-out blocks takes a small part of such a step."""
        return math.inf

    def compute(self, samples: Sequence[ImageSample], labels: Sequence[int]) -> float:
        """Add the gradients of a step, and return its loss; `labels` are the numbers of labeled pixels."""
        total = 0.0
        for sample, labeled_px in zip(samples, labels):
            fraction = labeled_px / max(1, sum(labels))
            total += add_image_gradients(self.model, self.engine, sample, self._tiles, fraction, self.share, self._tick)
        self.stopwatch.record("backward")
        self.share.finish()
        return total


def add_image_gradients(
    model: nn.Module,
    engine: NativeEngine,
    sample: ImageSample,
    plan: TilePlan,
    fraction: float = 1.0,
    share: Share = ALL,
    tick: Callable[[float], None] = lambda _: None,
) -> float:
    """Add the gradients of an image's loss to those of the model; return the image's part of the loss of the step.

    The image has a `fraction` of that loss. If it is NaN or infinite, no gradients are added. The model is in training
    mode, but for batch normalization. `share` is of the tiles with labels. For `tick`, see `ImageStep`.

    Raises JobError if batch normalization is live.
    """
    norms = [module for module in model.modules() if isinstance(module, nn.BatchNorm2d)]
    require_frozen_norm(not any(norm.training for norm in norms))
    tiles, class_counts = _labeled_tiles(sample, plan)
    # A process without a tile computes the first one, for nothing but the loss.
    assigned = [tiles[number] for number in share.assigned(len(tiles))] or tiles[:1]
    others, passes = assigned[1:], 2 * len(assigned) - 1
    order = [*reversed(others), *assigned]
    images = ahead(((tile, torch.from_numpy(sample.read(tile))[None]) for tile in order), 0)

    def next_loss(joint: Joint) -> Tensor:
        tile, image = next(images)
        rows, columns = slice(tile.top, tile.top + tile.height), slice(tile.left, tile.left + tile.width)
        logits = engine.forward(model, image)[..., rows, columns]
        labels = torch.from_numpy(sample.labels(*tile.destination))[None]
        return fraction * training_loss(logits, labels, joint, class_counts)

    # The sums for which a loss asks, one after the other: of each tile but the first, and those over all tiles.
    noted: list[list[Tensor]] = [[] for _ in others]
    joint: list[Tensor] = []

    def join(sums: Tensor) -> Tensor:
        computed = [sums, *(sums_of_tile[len(joint)] for sums_of_tile in noted)]
        joint.append(sum(share.in_order(torch.stack(computed), len(tiles))))
        return joint[-1]

    with closing(images):
        # First pass: the sums of all tiles of this process but the first, without gradients.
        for done, sums_of_tile in enumerate(reversed(noted), 1):
            with torch.no_grad():
                next_loss(_noting(sums_of_tile))
            tick(done / passes)
        if others:  # else gaps remain that no activations fit
            give_free_blocks_back()
        loss = next_loss(join)  # all others are noted, so that the first tile need not be computed twice
        value = loss.item()
        # Second pass: each tile again, with the gradient of the joint loss.
        for number, _ in enumerate(share.turns(len(tiles), is_last=False) if math.isfinite(value) else ()):
            loss = next_loss(_known(joint)) if number else loss
            with PreciseSums():
                loss.backward()
            tick((len(assigned) + number) / passes)
    return value


def _noting(noted: list[Tensor]) -> Joint:
    """Return a callable that notes the sums of a tile, and returns them as they are."""

    def note(sums: Tensor) -> Tensor:
        noted.append(sums)
        return sums

    return note


def _known(joint: Sequence[Tensor]) -> Joint:
    """Return a callable that returns the sums over all tiles, one after the other."""
    following = iter(joint)
    return lambda _: next(following)


def _labeled_tiles(sample: ImageSample, plan: TilePlan) -> tuple[list[Tile], Tensor]:
    """Return the tiles with labels in their cores, or the first if there are none; the image's `count_classes`."""
    tiles = list(plan.tiles(*sample.shape))
    labeled, counts = [], torch.zeros((), dtype=torch.int64)
    for tile in tiles:
        labels = sample.labels(*tile.destination)
        counts = counts + count_classes(torch.from_numpy(labels))
        labeled += [tile] if (labels != IGNORE).any() else []
    return labeled or tiles[:1], counts
