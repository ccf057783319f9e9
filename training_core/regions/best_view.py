"""The best view of each place: one probability of a region from that of scenes which overlap.

Scope: probability rasters, and which counts where. Independent of models and of roads.

The choice is made for cells of the region's grid, so that it is the same whatever window is read. In each cell the
scene with the fewest pixels without data comes first, then the one about which the model is most certain: its mean
distance from a probability of one half. Where the first has no data, the next one counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Optional

import numpy as np
from rasterio.enums import Resampling
from rasterio.io import DatasetReader
from rasterio.vrt import WarpedVRT
from rasterio.windows import Window

from ..geodata.grid import Grid, grid_of
from ..geodata.pixel_codes import CERTAIN, NO_DATA
from ..geodata.rasters import open_raster
from .part_grid import CELL_PX, Part
from .region_grid import shared_offset


@dataclass(frozen=True)
class RegionView:
    """What one scene shows of the region.

    Parameters
    ----------
    name : str
        The scene's; decides where all else is equal.
    probability : str
        Raster of probability bytes.
    classes : str
        Raster of road classes; empty without any.
    bounds : tuple of float
        Least column and row, greatest column and row, on the region's grid.
    """

    name: str
    probability: str
    classes: str
    bounds: tuple[float, float, float, float]

    def touches(self, window: Part) -> bool:
        """Return whether the scene may show a part of the window."""
        left, top, right, bottom = self.bounds
        is_beside = left >= window.column + window.width or right <= window.column
        return not (is_beside or top >= window.row + window.height or bottom <= window.row)


def read_best(grid: Grid, window: Part, views: Sequence[RegionView]) -> tuple[np.ndarray, Optional[np.ndarray]]:
    """Read the best view of a window.

    Parameters
    ----------
    grid : Grid
        Of the region.
    window : Part
        Of whole cells, but where the grid ends.

    Returns
    -------
    probability : ndarray (height, width), uint8
        NO_DATA where no scene has data.
    classes : ndarray (height, width), uint8, optional
        From the same scenes; None where one of them has none.
    """
    seen = sorted((view for view in views if view.touches(window)), key=lambda view: view.name)
    has_classes = bool(seen) and all(view.classes for view in seen)
    probability = np.full((window.height, window.width), NO_DATA, dtype=np.uint8)
    classes = np.full_like(probability, NO_DATA) if has_classes else None
    with ExitStack() as stack:
        sources = [_opened(view, grid, has_classes, stack) for view in seen]
        for top in range(0, window.height, CELL_PX):
            strip = Part(window.row + top, window.column, min(CELL_PX, window.height - top), window.width)
            there = [number for number, view in enumerate(seen) if view.touches(strip)]
            shown = {seen[number]: [source.read(strip) for source in sources[number]] for number in there}
            _fill([each[top : top + CELL_PX] for each in (probability, classes) if each is not None], strip, shown)
    return probability, classes


def _opened(view: RegionView, grid: Grid, has_classes: bool, stack: ExitStack) -> list["_Source"]:
    """Return the probability of a scene, and its classes if they are wanted."""
    wanted = [(view.probability, Resampling.bilinear), *([(view.classes, Resampling.nearest)] if has_classes else [])]
    return [_Source(stack.enter_context(open_raster(path)), grid, resampling) for path, resampling in wanted]


def _fill(targets: Sequence[np.ndarray], strip: Part, shown: Mapping[RegionView, Sequence[np.ndarray]]) -> None:
    """Fill in what is seen in a strip, cell by cell.

    Parameters
    ----------
    targets : sequence of ndarray (height, width), uint8
        Probability and, if there are any, classes of the strip.
    shown : mapping of RegionView to sequence of ndarray (height, width), uint8
        The same as each scene shows it.
    """
    for left in range(0, strip.width, CELL_PX):
        columns = slice(left, min(left + CELL_PX, strip.width))
        cell = Part(strip.row, strip.column + left, strip.height, columns.stop - left)
        values = [[each[:, columns] for each in layers] for view, layers in shown.items() if view.touches(cell)]
        is_open = np.ones((cell.height, cell.width), dtype=bool)
        for layers in _ranked(values):
            takes = is_open & (layers[0] != NO_DATA)
            for target, layer in zip(targets, layers):
                target[:, columns][takes] = layer[takes]
            is_open &= ~takes


def _ranked(values: list[list[np.ndarray]]) -> list[list[np.ndarray]]:
    """Return the scenes that show a cell, the one that counts first; of equal ones the first."""
    if len(values) < 2:
        return values

    def rank(layers: list[np.ndarray]) -> tuple[int, float]:
        known = layers[0][layers[0] != NO_DATA].astype(np.int16)
        return -len(known), -float(np.abs(known - CERTAIN // 2).mean()) if len(known) else 0.0

    return sorted(values, key=rank)


class _Source:
    """A raster that is read on the region's grid.

    Parameters
    ----------
    grid : Grid
        Of the region.
    resampling : Resampling
        Where the raster has a grid of its own.
    """

    def __init__(self, dataset: DatasetReader, grid: Grid, resampling: Resampling) -> None:
        self._dataset, self._grid, self._resampling = dataset, grid, resampling
        self._offset = shared_offset(grid, grid_of(dataset))

    def read(self, strip: Part) -> np.ndarray:
        """Return the values of a strip: (height, width), uint8, with NO_DATA beyond the raster."""
        if self._offset is None:
            return self._read_warped(strip)
        column, row = strip.column - self._offset[0], strip.row - self._offset[1]
        left, top = max(0, column), max(0, row)
        right, bottom = min(self._dataset.width, column + strip.width), min(self._dataset.height, row + strip.height)
        values = np.full((strip.height, strip.width), NO_DATA, dtype=np.uint8)
        if left < right and top < bottom:
            window = Window(left, top, right - left, bottom - top)
            values[top - row : bottom - row, left - column : right - column] = self._dataset.read(1, window=window)
        return values

    def _read_warped(self, strip: Part) -> np.ndarray:
        part = self._grid.window(strip.column, strip.row, strip.width, strip.height)
        with WarpedVRT(
            self._dataset,
            crs=part.crs,
            transform=part.transform,
            width=part.width,
            height=part.height,
            resampling=self._resampling,
            nodata=NO_DATA,
        ) as warped:
            return warped.read(1)
