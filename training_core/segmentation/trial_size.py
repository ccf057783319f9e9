"""Size of the trial that chooses an engine: the tile as the job computes it, or a part where that would cost too much.

Scope: pixels, memory. Independent of what is tried.
"""

from __future__ import annotations

import math
from typing import Optional

from ..geodata.tiling import STRIDE_PX, tile_grid
from ..models.engines import ENGINES, TRIAL_STEPS
from . import tile_memory
from .inference import padded_size
from .work_plan import ImagePlan

# Of the job's pixels, how many may be computed for the trial, and below which size it says nothing of the job's tiles.
SHARE_OF_JOB, SMALLEST_PX = 0.05, 256**2
# At most, of any engine and precision; measured (benchmarks/README.md), with room for larger models.
BYTES_PER_PX = 2 * max(tile_memory.OPENVINO_BYTES_PER_PX.values())


def trial_size(sample: ImagePlan, core_px: int, halo: int, job_px: int, budget_bytes: int) -> Optional[tuple[int, int]]:
    """Return the size of the image on which engines are tried.

    Parameters
    ----------
    sample : ImagePlan
        An image of the job.
    core_px, halo : int
        Largest side of a tile's core and width of its halo, in pixels.
    job_px : int
        Pixels that the job computes.
    budget_bytes : int
        Memory for the tiles.

    Returns
    -------
    tuple of int, optional
        Height and width in pixels, multiples of the stride: those of the tile, or in its proportions as large as time
        and memory allow. None where the job is too small for a trial.
    """
    tile = next(tile_grid(sample.grid.width, sample.grid.height, core_px, halo, sample.window), None)
    if tile is None:
        return None
    height, width = padded_size(tile.read_window[:1:-1])
    steps = (TRIAL_STEPS + 1) * len(ENGINES)
    of_time, of_memory = SHARE_OF_JOB * job_px / steps, (budget_bytes - tile_memory.LIBRARY_BYTES) / BYTES_PER_PX
    most_px = min(of_time, of_memory)
    if most_px >= height * width:
        return height, width
    if most_px < SMALLEST_PX:
        return None
    shrunk = math.sqrt(most_px / (height * width))
    height, width = (max(STRIDE_PX, int(shrunk * side) // STRIDE_PX * STRIDE_PX) for side in (height, width))
    return height, width
