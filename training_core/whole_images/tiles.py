"""Tiles of whole images: as large as memory allows, so that the least is computed twice for their halos.

E, the redundancy, is the number of pixels that are computed for each pixel of the image. An exact halo is wide, so E
falls with the size of the tiles. Recomputing activations allows larger tiles, which may pay for it.

Scope: sizes of tiles, memory. Independent of pixels and of how gradients are computed.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..errors import JobError, ResourceError
from ..geodata.tiling import STRIDE_PX, Tile, round_up, tile_count, tile_grid
from ..jobs import StepOptions
from ..learning.plan import TRIED_RECOMPUTING, Footprint, MemoryPlan, Room, measure_footprint
from ..models.architectures import Architecture
from ..models.engines import NativeEngine
from ..segmentation.measured import image_halo_px

# Smaller cores would be all halo: of 256 px with a halo of 544 px, E is 28.
MIN_CORE_PX = 256
# Time of a step that recomputes activations, of one that does not: forward without gradients, forward, backward.
RECOMPUTING_TIME = 1.35


@dataclass(frozen=True)
class TilePlan:
    """How whole images are divided into tiles; for core and halo, see `tile_grid`."""

    core_px: int
    halo_px: int

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
    room: Room,
) -> MemoryPlan:
    """Return how a training on whole images fits into memory, with its tiles as layout; see `choose_tiles`.

    Raises JobError if batch normalization is live, or the network is not computed in tiles. Raises ResourceError if
    there is too little memory, even for the smallest tiles.
    """
    architecture.require_unet("Whole images (sample)")
    require_frozen_norm(recipe.batch_norm == "frozen")
    # The gradients of the first tile exist from the second tile on.
    measured = dataclasses.replace(recipe, accumulation=max(2, recipe.accumulation))

    def measure(is_recomputing: bool) -> Footprint:
        footprint = measure_footprint(architecture, engine, measured, is_recomputing)
        # Buffers of the exchange count as a part of the process.
        return dataclasses.replace(footprint, process_bytes=footprint.process_bytes + room.exchange_bytes)

    footprints = {is_recomputing: measure(is_recomputing) for is_recomputing in TRIED_RECOMPUTING[recipe.recompute]}
    tiles, is_recomputing = choose_tiles(image_halo_px(architecture), footprints, shapes, room.limit_bytes, room.ranks)
    peak_bytes = _peak_bytes(footprints[is_recomputing], tiles, shapes)
    largest = max(shapes, key=math.prod)
    _, _, across, down = next(tiles.tiles(*largest)).read_window
    words = (
        f"Whole images in tiles of {across} x {down} px with an exact halo of {tiles.halo_px} px"
        f"{', recomputing activations' * is_recomputing}: {tiles.redundancy(*largest):.2f} pixels are computed for "
        f"each of the largest image. A process needs about {peak_bytes / 1e9:.1f} GB of memory."
    )
    return MemoryPlan(is_recomputing, peak_bytes, words, dataclasses.asdict(tiles))


def choose_tiles(
    halo_px: int, footprints: dict[bool, Footprint], shapes: Sequence[tuple[int, int]], limit_bytes: int, ranks: int = 1
) -> tuple[TilePlan, bool]:
    """Choose the tiles with which a step over whole images takes the least time; with them, whether it recomputes.

    The footprints are those with recomputed activations and without. Shapes are heights and widths of the images, in
    pixels, whose tiles are shared out among `ranks`.

    Raises ResourceError if there is too little memory, even for the smallest tiles.
    """
    longest_px = round_up(max(map(max, shapes)))
    cores = range(min(MIN_CORE_PX, longest_px), longest_px + 1, STRIDE_PX)
    plans = [
        (plan, is_recomputing)
        for is_recomputing, footprint in footprints.items()
        for plan in (TilePlan(core_px, halo_px) for core_px in cores)
        if _largest_px(plan, shapes) <= footprint.most_px(limit_bytes)
    ]
    if not plans:
        least_bytes = min(_peak_bytes(each, TilePlan(MIN_CORE_PX, halo_px), shapes) for each in footprints.values())
        raise ResourceError(
            f"The smallest tiles of whole images, {MIN_CORE_PX} px with a halo of {halo_px} px, need "
            f"{least_bytes / 1e9:.1f} GB of memory, and {limit_bytes / 1e9:.1f} GB are available to each process.",
            "Learn from chips (sample), start fewer processes (processes), or close other programs.",
        )

    def time(choice: tuple[TilePlan, bool]) -> float:
        # In pixels that a step without recomputing computes meanwhile.
        plan, is_recomputing = choice
        computed_px = sum(plan.computed_px(*shape, ranks) for shape in shapes)
        return computed_px * (RECOMPUTING_TIME if is_recomputing else 1.0)

    return min(plans, key=time)


def require_frozen_norm(is_frozen: bool) -> None:
    """Check that whole images may be learned from.

    Raises JobError if batch normalization is live.
    """
    if not is_frozen:
        raise JobError(
            "Whole images (sample) cannot be learned from with live batch normalization: its statistics are those of "
            "all pixels of the image in every layer, but tiles are computed one after the other.",
            "Choose frozen for batch norm (batch_norm), or chips (sample).",
        )


def _largest_px(plan: TilePlan, shapes: Sequence[tuple[int, int]]) -> int:
    return max(plan.tile_px(*shape) for shape in shapes)


def _peak_bytes(footprint: Footprint, plan: TilePlan, shapes: Sequence[tuple[int, int]]) -> int:
    return footprint.peak_bytes(1, _largest_px(plan, shapes) ** 0.5)
