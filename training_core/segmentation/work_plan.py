"""Work plans: the images to segment with their grids and areas, and what fits: tiles, the engines' trial, the results.

Scope: sizes, memory, disk space and measured rates. Nothing is measured here, and no pixels are read but by
`read_plans`. Tiles are counted before they are listed: a mistake in a coordinate system can mean more tiles than memory
holds.
"""

from __future__ import annotations

import math
import os
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Optional

import geopandas
import numpy as np
from rasterio.io import DatasetReader

from ..errors import ImageryError, ResourceError
from ..geodata.grid import MAX_PX, Grid, grid_at, grid_of
from ..geodata.rasters import ModelInput, find_bands, open_for_model, open_image
from ..geodata.shapes import burn_shapes, limit_to
from ..geodata.tiling import STRIDE_PX, Tile, tile_count, tile_grid
from ..jobs.shared import IMAGE_GRID, MODEL_GRID
from ..system import environment
from ..system.memory import available_bytes
from .inference import Piece, padded_size, read_piece

# An image that must be enlarged by more than this factor shows nothing that the model was trained on.
MAX_ENLARGEMENT = 8.0
# From here on it is worth a moment to estimate how long it will take.
MUCH_PX = 10**8
# Disk space for a pixel of a result at most, with overviews, draft and final file.
BYTES_PER_RESULT_PX = 1.5
# Share of the free memory that a job may take by default, and what the libraries allocate once they compute.
MAX_FREE_SHARE, LIBRARY_BYTES = 0.25, 120_000_000
# Large tiles waste least on halos. Beyond the largest, that is lost on the first and the last tile, with which little
# other work overlaps.
MIN_CORE_PX, MAX_CORE_PX = 256, 2048
# The share of the job's pixels that may be computed for the trial of engines, and the size below which a trial does
# not represent the job's tiles.
MAX_TRIAL_SHARE, MIN_TRIAL_PX = 0.05, 256**2


class Area:
    """The area of interest on a grid: polygons in any CRS, and the grid's raster, for messages."""

    def __init__(self, grid: Grid, polygons: geopandas.GeoDataFrame, raster: str = "the image") -> None:
        self._grid = grid
        self.window, self._shape = limit_to(grid, polygons, raster)

    def burn(self, tile: Tile) -> np.ndarray:
        """Return which pixels of a tile's core lie in the area: (height, width) bool."""
        return burn_shapes([self._shape], self._grid, (tile.column, tile.row, tile.width, tile.height))


@dataclass(frozen=True)
class Results:
    """Paths of an image's results; empty where one is not wanted."""

    mask: str = ""
    probability: str = ""
    classes: str = ""

    def named(self) -> dict[str, str]:
        """Return the paths of the results that are wanted, by name."""
        return {name: path for name, path in asdict(self).items() if path}


@dataclass(frozen=True, eq=False)
class ImagePlan:
    """An image to segment, on a grid at the model's ground resolution; without an area, all of it.

    The results lie on a grid of the same extent.
    """

    raster: str
    grid: Grid
    area: Optional[Area]
    input: ModelInput
    result_grid: Grid
    results: Results = Results()

    @property
    def window(self) -> tuple[int, int, int, int]:
        """Column, row, width and height in pixels of the part to segment."""
        return self.area.window if self.area else (0, 0, self.grid.width, self.grid.height)

    @property
    def px(self) -> int:
        """Pixels to segment."""
        return self.window[2] * self.window[3]

    @property
    def result_px(self) -> float:
        """Pixels of each result, about."""
        return self.px * self.result_grid.width / self.grid.width * self.result_grid.height / self.grid.height

    def tile_count(self, core_px: int, halo: int) -> int:
        """Return how many tiles of a core size and halo, in pixels, there are, without listing them."""
        return tile_count(self.grid.width, self.grid.height, core_px, halo, self.window)

    def tiles(self, core_px: int, halo: int) -> Iterator[Tile]:
        """Yield the tiles of a core size and halo, in pixels, row by row."""
        return tile_grid(self.grid.width, self.grid.height, core_px, halo, self.window)

    def tile_size(self, core_px: int, halo: int) -> Optional[tuple[int, int]]:
        """Return the height and width of the tiles as the model takes them, in pixels; None if there are none."""
        tile = next(self.tiles(core_px, halo), None)
        return None if tile is None else padded_size(tile.read_window[:1:-1])


@dataclass(frozen=True)
class TilePlan:
    """Tiles that fit: the side of the largest core and the width of its halo, and how many pixels fit at once."""

    core_px: int
    halo_px: int
    budget_px: int = 0  # no more than one tile

    @property
    def px(self) -> int:
        """Pixels of the largest tile with its halo."""
        return (self.core_px + 2 * self.halo_px) ** 2


@dataclass(frozen=True)
class WorkPlan:
    """The work in a sentence for the user: megapixels, tiles and, for many pixels, the expected time."""

    images: Sequence[ImagePlan]
    tiles: TilePlan
    tile_count: int
    seconds: Optional[float]  # of the model alone

    def __str__(self) -> str:
        duration = "" if self.seconds is None else f", {_duration(self.seconds)} for the model alone"
        return f"{sum(image.px for image in self.images) / 1e6:,.1f} megapixels in {self.tile_count:,} tiles{duration}."


def plan_image(
    raster: str,
    aoi: Optional[geopandas.GeoDataFrame],
    wanted: ModelInput,
    results: Results = Results(),  # it is frozen
    result_grid: str = MODEL_GRID,
) -> ImagePlan:
    """Check that an image fits a model, and find its grids and area. No pixels are read.

    `aoi` are polygons of the area of interest; None for the whole image. `result_grid` is the option `grid` of a job.
    Raises ImageryError if the image lacks bands of the model, or is far coarser than the model's resolution.
    """
    with open_image(raster) as dataset:
        _, own = fitting(dataset, wanted, raster)
        grid = grid_at(own, wanted.resolution_m)
    area = None if aoi is None else Area(grid, aoi, raster)
    return ImagePlan(raster, grid, area, wanted, own if result_grid == IMAGE_GRID else grid, results)


def fitting(dataset: DatasetReader, wanted: ModelInput, raster: str) -> tuple[tuple[int, ...], Grid]:
    """Check that an image fits a model; return the bands that it takes, in its order, from 1, and the image's own grid.

    Raises ImageryError if the image lacks bands of the model, or is far coarser than the model's resolution.
    """
    indexes, own = find_bands(dataset, wanted), grid_of(dataset, wanted.pixel_m)
    own_m, resolution_m = own.resolution_m, wanted.resolution_m
    if own_m > MAX_ENLARGEMENT * resolution_m:
        width, height = (round(size * own_m / resolution_m) for size in (own.width, own.height))
        raise ImageryError(
            f"{raster} has pixels of {own_m:.3g} m on the ground, but the model was trained on pixels of "
            f"{resolution_m:.3g} m. It would be enlarged to {width:,} x {height:,} pixels, and would show no more "
            "than before.",
            "Choose a model that was trained on such an image, or a sharper image; check its coordinate system.",
        )
    return indexes, own


def no_data(plan: ImagePlan) -> ImageryError:
    """Return the error that an image has no data in the part to segment."""
    where = "within the area of interest" if plan.area is not None else "anywhere"
    return ImageryError(f"{plan.raster} has no data {where}.", "Choose another image or area.")


def memory_budget(memory_gb: float) -> int:
    """Return how many bytes a job may take: what is asked for, or the limit of the environment, or a share of the free.

    `memory_gb` is 0 where nothing is asked for.
    """
    if memory_gb:
        return int(memory_gb * 1e9)
    limit_bytes = environment.memory_bytes()
    return int(MAX_FREE_SHARE * available_bytes()) if limit_bytes is None else min(limit_bytes, available_bytes())


def fitting_px(bytes_per_px: int, budget_bytes: int) -> int:
    """Return how many pixels, halos included, fit into a budget at once."""
    return max(0, budget_bytes - LIBRARY_BYTES) // bytes_per_px


def plan_tiles(bytes_per_px: int, halo_px: int, budget_bytes: int, asked_px: int = 0) -> TilePlan:
    """Return the tiles of a model that takes so many bytes for a pixel of its input.

    The core is the one that is asked for, a multiple of the stride, or the largest that fits into the budget. Raises
    ResourceError if not even the smallest tile fits.
    """
    budget_px = fitting_px(bytes_per_px, budget_bytes)
    core_px = asked_px or min(MAX_CORE_PX, (int(budget_px**0.5) - 2 * halo_px) // STRIDE_PX * STRIDE_PX)
    if core_px < MIN_CORE_PX and not asked_px:
        least_gb = (LIBRARY_BYTES + bytes_per_px * (MIN_CORE_PX + 2 * halo_px) ** 2) / 1e9
        raise ResourceError(
            f"The smallest tiles need {least_gb:.1f} GB of memory, but {budget_bytes / 1e9:.1f} GB may be used.",
            "Give more memory (memory_gb), choose a smaller halo (halo), or close other programs.",
        )
    return TilePlan(core_px, halo_px, budget_px)


def plan_work(images: Sequence[ImagePlan], tiles: TilePlan, seconds_per_px: Callable[[], float]) -> WorkPlan:
    """Return what there is to do.

    `seconds_per_px` measures how long the model takes for a pixel. It is called only where there is much to do.
    """
    px = sum(image.px for image in images)
    count = sum(image.tile_count(tiles.core_px, tiles.halo_px) for image in images)
    return WorkPlan(images, tiles, count, px * seconds_per_px() if px > MUCH_PX else None)


def trial_size(
    tile_size: tuple[int, int], job_px: int, passes: int, budget_bytes: int, bytes_per_px: int
) -> Optional[tuple[int, int]]:
    """Return the height and width of the image on which engines are tried: multiples of the stride in pixels.

    They are those of the tile, or in its proportions as large as memory allows, and time for so many `passes` in a job
    of `job_px`. None where the job is too small for a trial.
    """
    height, width = tile_size
    most_px = min(MAX_TRIAL_SHARE * job_px / passes, (budget_bytes - LIBRARY_BYTES) / bytes_per_px)
    if most_px >= height * width:
        return height, width
    if most_px < MIN_TRIAL_PX:
        return None
    shrunk = math.sqrt(most_px / (height * width))
    height, width = (max(STRIDE_PX, int(shrunk * side) // STRIDE_PX * STRIDE_PX) for side in (height, width))
    return height, width


def check_size(plans: list[ImagePlan]) -> None:
    """Check that there is not too much to segment; nothing is measured for it.

    Raises ResourceError if there are too many pixels, or the results are larger than the free disk space.
    """
    px = sum(plan.px for plan in plans)
    if px > MAX_PX:
        raise ResourceError(
            f"The area is too large: {px / 1e6:,.1f} megapixels, of at most {MAX_PX / 1e6:,.0f}.",
            "Check the image's coordinate system and resolution, or limit it by an area of interest.",
        )
    check_room((path, plan.result_px) for plan in plans for path in plan.results.named().values())


def check_room(results: Iterable[tuple[str, float]]) -> None:
    """Check that there is room on the disks for results, each a path with its number of pixels.

    Raises ResourceError if they may be larger than the free disk space.
    """
    for folder, px in _px_by_disk(results).items():
        needed, free = BYTES_PER_RESULT_PX * px, shutil.disk_usage(folder).free
        if needed > free:
            raise ResourceError(
                f"The results may take {needed / 1e9:,.1f} GB ({px / 1e6:,.1f} megapixels), but {folder} has "
                f"{free / 1e9:,.1f} GB left.",
                "Make room, choose a folder on another disk, limit the work by an area of interest, or choose the "
                "model's grid (grid) if it is coarser.",
            )


def _px_by_disk(results: Iterable[tuple[str, float]]) -> dict[Path, float]:
    """Return the sum of the pixels by a folder on each disk."""
    folders: dict[int, Path] = {}
    total: dict[Path, float] = defaultdict(float)
    for path, px in results:
        folder = Path(path).absolute().parent
        while not folder.exists():
            folder = folder.parent
        total[folders.setdefault(os.stat(folder).st_dev, folder)] += px
    return total


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"about {seconds:.0f} s"
    if seconds < 5400:
        return f"about {seconds / 60:.0f} min"
    return f"about {seconds / 3600:,.0f} h"


def read_plans(plans: Iterable[ImagePlan], wanted: ModelInput, core_px: int, halo: int) -> Iterator[Piece]:
    """Read all images tile by tile, one image after the other; the source of a piece is its plan."""
    for plan in plans:
        with open_for_model(plan.raster, wanted) as (image, bands):
            for tile in plan.tiles(core_px, halo):
                area = plan.area.burn(tile) if plan.area else None
                yield read_piece(tile, image.read, bands, area, plan, plan.raster)
