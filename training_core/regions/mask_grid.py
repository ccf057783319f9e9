"""The grid of a region's masks: that of its finest scene, on which all masks lie pixel on pixel.

Scope: grids, and result rasters resampled from the model's grid. Independent of how scenes are predicted.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import ExitStack

from rasterio.enums import Resampling

from ..geodata.geotiff import BLOCK_PX
from ..geodata.grid import SAME_PX, Grid, grid_of, shared_offset
from ..geodata.rasters import open_raster
from ..geodata.tiling import Tile
from ..segmentation.image_grid import are_parallel, on_grid
from ..segmentation.inference import Prediction
from ..segmentation.work_plan import Results
from .catalog import Scene
from .region_grid import Part, RasterOnGrid, outline_on


def finest_grid(scenes: Sequence[Scene]) -> Grid:
    """Return the grid of the scene with the smallest pixels on the ground."""
    return min(scenes, key=lambda scene: (scene.grid.resolution_m, scene.name)).grid


def grid_around(grid: Grid, scene: Grid) -> Grid:
    """Return the pixels of a grid, also beyond its extent, that a scene touches."""
    left, top, right, bottom = outline_on(grid, scene).bounds
    column, row = math.floor(left + SAME_PX), math.floor(top + SAME_PX)
    return grid.window(column, row, math.ceil(right - SAME_PX) - column, math.ceil(bottom - SAME_PX) - row)


def have_same_pixels(grid: Grid, other: Grid) -> bool:
    """Return whether two grids have the same pixels up to rounding."""
    same_size = (grid.width, grid.height) == (other.width, other.height)
    return same_size and grid.crs == other.crs and shared_offset(grid, other) == (0, 0)


def predictions_on(target: Grid, rasters: Results) -> Iterator[tuple[Tile, Prediction]]:
    """Yield a scene's prediction on a grid in strips, resampled from its probability and, if any, classes in files."""
    with ExitStack() as stack:
        datasets = [stack.enter_context(open_raster(path)) for path in (rasters.probability, rasters.classes) if path]
        own = grid_of(datasets[0])
        is_parallel = are_parallel(own, target)
        grid = own if is_parallel else target
        # GDAL's warper reprojects to another CRS, and interpolates alike, but takes ten times as long.
        ways = (Resampling.bilinear, Resampling.nearest)
        sources = [RasterOnGrid(dataset, grid, way) for dataset, way in zip(datasets, ways)]
        strips = _strips(grid, sources)
        yield from on_grid(strips, own, target, has_classes=len(sources) > 1) if is_parallel else strips


def _strips(grid: Grid, sources: Sequence[RasterOnGrid]) -> Iterator[tuple[Tile, Prediction]]:
    for top in range(0, grid.height, BLOCK_PX):
        part = Part(top, 0, min(BLOCK_PX, grid.height - top), grid.width)
        probability, *others = (source.read(part) for source in sources)
        tile = Tile(0, top, part.width, part.height, 0, 0, 0, 0)
        yield tile, Prediction(probability, others[0] if others else None)
