"""Tiles of whole images: as large as memory allows, so that the least is computed twice for their halos.

E, the redundancy, is the number of pixels that are computed for each pixel of the image. An exact halo is wide, so E
falls with the size of the tiles. Recomputing activations allows larger tiles, which may pay for it.

Scope: sizes of tiles, memory. Independent of pixels and of how gradients are computed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ...errors import JobError, ResourceError
from ...geodata.tiling import STRIDE_PX, Tile, round_up, tile_count, tile_grid
from ...jobs import StepOptions
from ...models.architectures import Architecture
from ...models.engines import NativeEngine
from ...segmentation.measured import image_halo_px
from ..training_memory import TRIED_RECOMPUTING, Footprint, exchange_bytes, max_bytes, measure_footprint

# Smaller cores would be all halo: of 256 px with a halo of 544 px, E is 28.
MIN_CORE_PX = 256
# Time of a step that recomputes activations, of one that does not: forward without gradients, forward, backward.
RECOMPUTING_TIME = 1.35


@dataclass(frozen=True)
class TilePlan:
    """How whole images are divided into tiles, with the estimated peak memory of a process; 0 where none was estimated.

    For core and halo, see `tile_grid`.
    """

    core_px: int
    halo_px: int
    is_recomputing: bool = False
    peak_bytes: int = 0

    def tiles(self, height: int, width: int) -> Iterator[Tile]:
        """Return the tiles of an image of a height and width in pixels, row by row."""
        return tile_grid(width, height, self.core_px, self.halo_px)

    def computed_px(self, height: int, width: int, ranks: int = 1) -> int:
        """Return how many pixels of an image the rank with the most tiles computes, padding included."""
        count = tile_count(width, height, self.core_px, self.halo_px)
        return -(-count // ranks) * self.tile_px(height, width)

    def tile_px(self, height: int, width: int) -> int:
        """Return the pixels of each tile of an image of a height and width in pixels, halo and padding included."""
        _, _, across, down = next(self.tiles(height, width)).read_window
        return round_up(across) * round_up(down)

    def redundancy(self, height: int, width: int) -> float:
        """Return E: how many pixels are computed for each pixel of an image of a height and width in pixels."""
        return self.computed_px(height, width) / (height * width)


def plan_tiles(
    architecture: Architecture,
    engine: NativeEngine,
    recipe: StepOptions,
    shapes: Sequence[tuple[int, int]],
    log: Callable[[str], None],
    ranks: int = 1,
    processes: int = 1,
) -> TilePlan:
    """Choose the tiles with which a step over whole images takes the least time, with the exact halo.

    The recipe's `recompute` may force the choice. Shapes are heights and widths of the images, in pixels. The tiles of
    an image are shared out among `ranks`, of which as many as `processes` share this machine's memory.

    Raises
    ------
    JobError
        Batch normalization is live.
    ResourceError
        There is too little memory, even for the smallest tiles.
    """
    require_frozen_norm(recipe.batch_norm == "frozen")
    halo_px = image_halo_px(architecture)
    # From the second tile on, there are the gradients of the first.
    measured = dataclasses.replace(recipe, accumulation=max(2, recipe.accumulation))
    sent_bytes, plans, least_bytes = exchange_bytes(architecture, ranks), [], []
    for is_recomputing in TRIED_RECOMPUTING[recipe.recompute]:
        footprint = measure_footprint(architecture, engine, measured, is_recomputing)
        # Buffers of the exchange count as a part of the process.
        footprint = dataclasses.replace(footprint, process_bytes=footprint.process_bytes + sent_bytes)
        plans += _fitting(footprint, TilePlan(0, halo_px, is_recomputing), shapes, ranks, max_bytes(processes))
        least_bytes.append(_peak_bytes(footprint, TilePlan(MIN_CORE_PX, halo_px), shapes))
    if not plans:
        raise ResourceError(
            f"The smallest tiles of whole images, {MIN_CORE_PX} px with a halo of {halo_px} px, need "
            f"{min(least_bytes) / 1e9:.1f} GB of memory; {max_bytes(processes) / 1e9:.1f} GB are available to "
            "each process.",
            "Learn from chips (sample), start fewer processes (processes), or close other programs.",
        )
    best = min(plans, key=lambda plan: _time(plan, shapes, ranks))
    log(_in_words(best, shapes))
    return best


def require_frozen_norm(is_frozen: bool) -> None:
    """Check that whole images may be learned from.

    Raises
    ------
    JobError
        Batch normalization is live.
    """
    if not is_frozen:
        raise JobError(
            "Whole images (sample) cannot be learned from with live batch normalization: its statistics are those of "
            "all pixels of the image in every layer, but tiles are computed one after the other.",
            "Choose frozen for batch norm (batch_norm), or chips (sample).",
        )


def _fitting(
    footprint: Footprint, plan: TilePlan, shapes: Sequence[tuple[int, int]], ranks: int, limit_bytes: int
) -> list[TilePlan]:
    """Return the plan with the core that fits into memory and takes the least time, if there is one."""
    most_px, longest_px = footprint.most_px(limit_bytes), round_up(max(map(max, shapes)))
    cores = range(min(MIN_CORE_PX, longest_px), longest_px + 1, STRIDE_PX)
    plans = [dataclasses.replace(plan, core_px=core_px) for core_px in cores]
    plans = [plan for plan in plans if max(plan.tile_px(*shape) for shape in shapes) <= most_px]
    if not plans:
        return []
    best = min(plans, key=lambda plan: _time(plan, shapes, ranks))
    return [dataclasses.replace(best, peak_bytes=_peak_bytes(footprint, best, shapes))]


def _time(plan: TilePlan, shapes: Sequence[tuple[int, int]], ranks: int) -> float:
    """Return how long a step over all images takes, in pixels that a step without recomputing computes meanwhile."""
    computed_px = sum(plan.computed_px(*shape, ranks) for shape in shapes)
    return computed_px * (RECOMPUTING_TIME if plan.is_recomputing else 1.0)


def _peak_bytes(footprint: Footprint, plan: TilePlan, shapes: Sequence[tuple[int, int]]) -> int:
    return footprint.peak_bytes(1, max(plan.tile_px(*shape) for shape in shapes) ** 0.5)


def _in_words(plan: TilePlan, shapes: Sequence[tuple[int, int]]) -> str:
    largest = max(shapes, key=lambda shape: shape[0] * shape[1])
    _, _, across, down = next(plan.tiles(*largest)).read_window
    return (
        f"Whole images in tiles of {across} x {down} px with an exact halo of {plan.halo_px} px"
        f"{', recomputing activations' * plan.is_recomputing}: {plan.redundancy(*largest):.2f} pixels are computed for "
        f"each of the largest image. A process needs about {plan.peak_bytes / 1e9:.1f} GB of memory."
    )
