"""The best view of each place: one probability of a region from that of scenes which overlap.

Scope: probability rasters, and which counts where. Independent of models and of roads.

The choice is made for cells of the region's grid, so that it is the same whatever window is read. In each cell the
scene with the fewest pixels without data comes first, then the one about which the model is most certain: its mean
distance from a probability of one half. Where the first has no data, the next one counts.
"""

from __future__ import annotations

from collections.abc import Sequence
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
    views : sequence of RegionView

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
        opened = [
            (
                _Source(stack.enter_context(open_raster(view.probability)), grid, Resampling.bilinear),
                _Source(stack.enter_context(open_raster(view.classes)), grid, Resampling.nearest)
                if has_classes
                else None,
            )
            for view in seen
        ]
        for top in range(0, window.height, CELL_PX):
            rows = slice(top, min(top + CELL_PX, window.height))
            strip = Part(window.row + top, window.column, rows.stop - top, window.width)
            there = [pair for view, pair in zip(seen, opened) if view.touches(strip)]
            if not there:
                continue
            found = np.stack([source.read(strip) for source, _ in there])
            order = _order(found)
            probability[rows] = _first_known(found, found, order)
            if classes is not None:
                classes[rows] = _first_known(np.stack([source.read(strip) for _, source in there]), found, order)
    return probability, classes


class _Source:
    """A raster that is read on the region's grid.

    Parameters
    ----------
    dataset : DatasetReader
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


def _order(found: np.ndarray) -> np.ndarray:
    """Return which scene comes first, second and so on in each cell: (scenes, cells), int64.

    Parameters
    ----------
    found : ndarray (scenes, rows, width), uint8
        Probability of a row of cells.
    """
    scenes, _, width = found.shape
    padded = np.pad(found, ((0, 0), (0, 0), (0, -width % CELL_PX)), constant_values=NO_DATA)
    cells = padded.reshape(scenes, found.shape[1], -1, CELL_PX)
    is_known = cells != NO_DATA
    known_px = is_known.sum(axis=(1, 3))
    certainty = np.where(is_known, np.abs(cells.astype(np.int16) - CERTAIN // 2), 0).sum(axis=(1, 3), dtype=np.int64)
    mean = certainty / np.maximum(known_px, 1)
    number = np.broadcast_to(np.arange(scenes)[:, None], known_px.shape)
    return np.lexsort((number, -mean, -known_px), axis=0)


def _first_known(values: np.ndarray, probability: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Return the values of the first scene in order that has data at each pixel: (rows, width), uint8."""
    width = values.shape[2]
    best = np.full(values.shape[1:], NO_DATA, dtype=np.uint8)
    is_open = np.ones(best.shape, dtype=bool)
    for scene_of_cell in order:
        scene = np.repeat(scene_of_cell, CELL_PX)[:width]
        at = scene, slice(None), np.arange(width)
        chosen, known = values[at].T, probability[at].T != NO_DATA
        takes = is_open & known
        best[takes] = chosen[takes]
        is_open &= ~known
    return best
