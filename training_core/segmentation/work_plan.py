"""What a job is to work through: images with their tiles, and whether that can be done at all.

Knows grids, areas and disks; knows nothing of networks. Everything is counted before it is listed: a mistake in a
coordinate system can mean more tiles than memory holds.
"""

from __future__ import annotations

import os
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Optional

import numpy as np

from ..errors import ImageryError, ResourceError
from ..geodata.grid import Grid, grid_at, grid_of
from ..geodata.model_input import ModelInput, find_bands, open_for_model
from ..geodata.rasterize import burn_area, limit_to
from ..geodata.rasters import open_raster
from ..geodata.tiling import Tile, tile_count, tile_grid
from ..geodata.vectors import read_area
from .inference import Piece, read_piece

# An image that must be enlarged by more than this, each way, shows nothing of what the model has learned.
LARGEST_ENLARGEMENT = 8.0
# Beyond this the work would take weeks on any one machine.
MOST_PX = 10**12
# From here on it is worth a moment to tell how long it will take.
MUCH_PX = 10**8
# What a pixel of a result takes on the disk at most, with overviews, draft and final file.
BYTES_PER_RESULT_PX = 1.5


class Area:
    """The part of a grid to which the work is limited."""

    def __init__(self, grid: Grid, path: str) -> None:
        self._grid = grid
        self.window, self._shape = limit_to(grid, read_area(path))

    def burn(self, tile: Tile) -> np.ndarray:
        """Return which pixels of the tile's core lie in the area."""
        return burn_area(self._grid, self._shape, (tile.column, tile.row, tile.width, tile.height))


@dataclass(frozen=True)
class Results:
    """Where the results of an image go; empty where they are not wanted."""

    mask: str = ""
    probability: str = ""
    classes: str = ""

    def named(self) -> dict[str, str]:
        """Return the paths of those that are wanted, by name."""
        return {name: path for name, path in asdict(self).items() if path}


@dataclass(frozen=True, eq=False)
class ImagePlan:
    """An image that is to be worked through.

    Parameters
    ----------
    raster : str
    grid : Grid
        On which it is worked through.
    area : Area, optional
        To which the work is limited.
    core_px, halo : int
        Of the tiles.
    results : Results
    """

    raster: str
    grid: Grid
    area: Optional[Area]
    core_px: int
    halo: int
    results: Results = Results()

    @property
    def window(self) -> tuple[int, int, int, int]:
        """Column, row, width and height of what is worked through."""
        return self.area.window if self.area else (0, 0, self.grid.width, self.grid.height)

    @property
    def px(self) -> int:
        """Pixels that are worked through."""
        return self.window[2] * self.window[3]

    @property
    def tile_count(self) -> int:
        """How many tiles that makes, counted without making them."""
        return tile_count(self.grid.width, self.grid.height, self.core_px, self.halo, self.window)

    def tiles(self) -> list[Tile]:
        """Return the tiles, row by row."""
        return list(tile_grid(self.grid.width, self.grid.height, self.core_px, self.halo, self.window))


def plan_image(
    raster: str,
    aoi: str,
    wanted: ModelInput,
    core_px: int,
    halo: int,
    results: Results = Results(),  # it is frozen
) -> ImagePlan:
    """Return the plan for an image.

    Raises
    ------
    ImageryError
        It has no such bands, or is far too coarse for the model.
    """
    with open_raster(raster) as dataset:
        find_bands(dataset, wanted)
        own = grid_of(dataset)
        own_m, resolution_m = own.resolution_m, wanted.resolution_m
        if own_m > LARGEST_ENLARGEMENT * resolution_m:
            width, height = (round(size * own_m / resolution_m) for size in (own.width, own.height))
            raise ImageryError(
                f"{raster} has pixels of {own_m:.3g} m on the ground, but the model learned from pixels of "
                f"{resolution_m:.3g} m. It would be enlarged to {width:,} x {height:,} pixels "
                f"({-(-width // core_px) * -(-height // core_px):,} tiles), and show no more than before.",
                "Choose a model that learned from such an image, or a sharper image; check its coordinate system.",
            )
        grid = grid_at(own, resolution_m)
    return ImagePlan(raster, grid, Area(grid, aoi) if aoi else None, core_px, halo, results)


def no_data(plan: ImagePlan) -> ImageryError:
    """Return the error that nothing of an image could be worked through."""
    where = "within the area of interest" if plan.area is not None else "anywhere"
    return ImageryError(f"{plan.raster} has no data {where}.", "Choose another image or area.")


def check_plans(plans: list[ImagePlan], seconds_per_px: Callable[[], float]) -> str:
    """Return in words what there is to do.

    Parameters
    ----------
    plans : list of ImagePlan
    seconds_per_px : callable
        Measures what the network takes for a pixel; asked where there is much to do.

    Raises
    ------
    ResourceError
        It cannot be done: that many pixels, or results larger than the disk.
    """
    px, tiles = sum(plan.px for plan in plans), sum(plan.tile_count for plan in plans)
    work = f"{px / 1e6:,.1f} megapixels in {tiles:,} tiles"
    if px > MUCH_PX:
        work += f", {_duration(px * seconds_per_px())} for the network alone"
    if px > MOST_PX:
        raise ResourceError(
            f"There is too much to do: {work}.",
            "Check the image's coordinate system and resolution, or limit it by an area of interest.",
        )
    for folder, needed in _bytes_by_disk(plans).items():
        free = shutil.disk_usage(folder).free
        if needed > free:
            raise ResourceError(
                f"The results may take {needed / 1e9:,.1f} GB ({work}), but {folder} has {free / 1e9:,.1f} GB left.",
                "Make room, choose a folder on another disk, or limit the work by an area of interest.",
            )
    return f"{work[0].upper()}{work[1:]}."


def _bytes_by_disk(plans: Iterable[ImagePlan]) -> dict[Path, float]:
    """Return what the results may take, by a folder on each disk that they go to."""
    folders: dict[int, Path] = {}
    needed: dict[Path, float] = defaultdict(float)
    for plan in plans:
        for path in plan.results.named().values():
            folder = Path(path).absolute().parent
            while not folder.exists():
                folder = folder.parent
            needed[folders.setdefault(os.stat(folder).st_dev, folder)] += BYTES_PER_RESULT_PX * plan.px
    return needed


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"about {seconds:.0f} s"
    if seconds < 5400:
        return f"about {seconds / 60:.0f} min"
    return f"about {seconds / 3600:,.0f} h"


def read_plans(plans: Iterable[ImagePlan], wanted: ModelInput) -> Iterator[Piece]:
    """Yield the pieces of all images, one image after the other."""
    for plan in plans:
        with open_for_model(plan.raster, wanted) as (image, bands):
            for tile in plan.tiles():
                yield read_piece(tile, image.read, bands, plan.area.burn(tile) if plan.area else None, plan)
