"""Gradients of a whole image's loss, exact and tile by tile, in memory that depends on the tiles alone.

The loss depends on the pixels through a few sums only (`joint_sums`). A first pass over the tiles adds these up,
without gradients; a second one computes each tile again, with the gradient of the joint loss, and goes back. A tile has
the exact halo, so its core has the logits and gradients of the undivided image, as long as batch normalization is
frozen. Ranks share the tiles out.

Scope: one image, one model, tiles already planned. Independent of files, optimizers and how ranks exchange gradients.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import closing
from itertools import count

import torch
from torch import Tensor, nn

from ..distributed.group import ALONE, Group
from ..geodata.pixel_codes import IGNORE
from ..geodata.tiling import Tile
from ..models.engines import NativeEngine
from ..system.prefetch import ahead
from .class_loss import count_classes
from .cldice_loss import REACH_PX
from .gradient_sums import summed_in_fp32
from .image_tiles import TilePlan, require_frozen_norm
from .joint_sums import Joint, Window
from .training_loss import training_loss
from .whole_images import ImageSample


def add_image_gradients(
    model: nn.Module,
    engine: NativeEngine,
    sample: ImageSample,
    plan: TilePlan,
    centerline_weight: float = 0.0,
    share: float = 1.0,
    group: Group = ALONE,
    tick: Callable[[float], None] = lambda _: None,
) -> float:
    """Add the gradients of an image's loss to those of the model, as far as they come from this rank's tiles.

    The sum over the ranks is the gradient of the undivided image. Tiles without labels are left out.

    Parameters
    ----------
    model : Module
        In training mode, but for batch normalization.
    engine : NativeEngine
    sample : ImageSample
        The same on all ranks, as all other arguments.
    plan : TilePlan
    centerline_weight : float
        Share of clDice, from 0 to 1; it needs a halo of `image_halo_px`.
    share : float
        Of this image in the loss of the step.
    group : Group
        Among whose ranks the tiles are shared out.
    tick : callable
        Called after each tile with the share that is done, from 0 to 1; may raise to cancel.

    Returns
    -------
    float
        The image's share of the loss, the same on all ranks; where it is NaN or infinite, no gradients are added.

    Raises
    ------
    JobError
        Batch normalization is live.
    """
    norms = [module for module in model.modules() if isinstance(module, nn.BatchNorm2d)]
    require_frozen_norm(not any(norm.training for norm in norms))
    tiles, class_counts = _labeled_tiles(sample, plan)
    is_idle = group.rank >= len(tiles)  # it goes along with a tile that is another rank's, as if it had no labels
    *others, last = tiles[group.rank :: group.size] or tiles[:1]
    sums = _TileSums(group)
    order = [*others, last, *others]
    images = ahead(((tile, torch.from_numpy(sample.read(tile))[None]) for tile in order), 0)

    def loss_of_next(joint: Joint) -> Tensor:
        tile, image = next(images)
        logits = engine.forward(model, image)
        around, labels, counted = _with_context(tile, sample, is_idle)
        return training_loss(logits[(..., *around)], labels, centerline_weight, joint, counted, class_counts)

    with closing(images), summed_in_fp32(model):
        for number in range(len(others)):
            with torch.no_grad():
                loss_of_next(sums.note())
            tick((number + 1) / len(order))
        loss = share * loss_of_next(sums.join())  # all others are noted, so that this one need not be computed twice
        if math.isfinite(loss.item()):
            loss.backward()
            tick((len(others) + 1) / len(order))
            for number in range(len(others)):
                (share * loss_of_next(sums.joined())).backward()
                tick((len(others) + number + 2) / len(order))
    return loss.item()


def _labeled_tiles(sample: ImageSample, plan: TilePlan) -> tuple[list[Tile], Tensor]:
    """Return the tiles with labels in their cores, or the first where there are none; the image's `count_classes`."""
    tiles = list(plan.tiles(*sample.shape))
    labeled, counts = [], torch.zeros((), dtype=torch.int64)
    for tile in tiles:
        labels = sample.labels(*tile.destination)
        counts = counts + count_classes(torch.from_numpy(labels))
        labeled += [tile] if (labels != IGNORE).any() else []
    return labeled or tiles[:1], counts


def _with_context(tile: Tile, sample: ImageSample, is_idle: bool) -> tuple[Window, Tensor, Window]:
    """Return the pixels of a tile on which its loss depends, their labels, and which of those are its core.

    The first are rows and columns of the tile, the last of the labels, (1, height, width), uint8.
    """
    left, top = min(tile.left, REACH_PX), min(tile.top, REACH_PX)
    right, bottom = min(tile.right, REACH_PX), min(tile.bottom, REACH_PX)
    height, width = top + tile.height + bottom, left + tile.width + right
    row, column = tile.top - top, tile.left - left
    around = slice(row, row + height), slice(column, column + width)
    row, column = tile.row - top, tile.column - left
    labels = sample.labels(slice(row, row + height), slice(column, column + width))
    if is_idle:
        labels[:] = IGNORE
    core = slice(top, top + tile.height), slice(left, left + tile.width)
    return around, torch.from_numpy(labels)[None], core


class _TileSums:
    """The sums of the losses over all tiles: noted tile by tile, joined with those of the other ranks, then known."""

    def __init__(self, group: Group) -> None:
        self._group = group
        self._own: dict[int, Tensor] = {}  # by the number of the call
        self._joint: list[Tensor] = []

    def note(self) -> Joint:
        """Return a callable that adds up sums of a tile, which it returns as they are."""
        number = count()

        def note(sums: Tensor) -> Tensor:
            call = next(number)
            self._own[call] = self._own.get(call, 0) + sums
            return sums

        return note

    def join(self) -> Joint:
        """Return a callable that adds sums of the last tile, and returns those over all tiles."""

        def join(sums: Tensor) -> Tensor:
            self._joint.append(self._group.sum(self._own.get(len(self._joint), 0) + sums))
            return self._joint[-1]

        return join

    def joined(self) -> Joint:
        """Return a callable that returns the sums over all tiles."""
        known = iter(self._joint)
        return lambda _: next(known)
