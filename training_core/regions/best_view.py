"""The best view of each place: one probability raster of a region from those of scenes that overlap.

The choice is made for cells of the region's grid, so that it does not depend on the window. In each cell the scene with
the fewest pixels without data comes first, then the one with the most certain model: the largest mean distance from a
probability of one half. Where the first has no data, the next one counts. Scope: probability rasters. Independent of
models and of roads.
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

from ..geodata.grid import Grid, common_window, grid_of, shared_offset
from ..geodata.pixel_codes import CERTAIN, NO_DATA
from ..geodata.rasters import open_raster
from .region_grid import CELL_PX, Part


@dataclass(frozen=True)
class RegionView:
    """The result rasters of one scene, and its place in the region.

    The name decides where all else is equal. `classes` may be empty. The bounds are least column and row, then greatest
    column and row, on the region's grid.
    """

    name: str
    probability: str
    classes: str
    bounds: tuple[float, float, float, float]

    def touches(self, window: Part) -> bool:
        """Return whether the scene may show a part of the window."""
        left, top, right, bottom = self.bounds
        window_left, window_top, window_right, window_bottom = window.bounds
        return left < window_right and right > window_left and top < window_bottom and bottom > window_top


def read_best(grid: Grid, window: Part, views: Sequence[RegionView]) -> tuple[np.ndarray, Optional[np.ndarray]]:
    """Return the best view of a window of whole cells: probability and classes, both (height, width), uint8.

    Probability is NO_DATA where no scene has data. Classes are from the same scenes; None if one of them has no
    classes.
    """
    shown = sorted((view for view in views if view.touches(window)), key=lambda view: view.name)
    has_classes = bool(shown) and all(view.classes for view in shown)
    probability = np.full((window.height, window.width), NO_DATA, dtype=np.uint8)
    classes = np.full_like(probability, NO_DATA) if has_classes else None
    with ExitStack() as stack:
        sources = {view: _opened(view, grid, has_classes, stack) for view in shown}
        # Strips of one cell's height, so that only these rows of all scenes are in memory.
        for top in range(0, window.height, CELL_PX):
            strip = Part(window.row + top, window.column, min(CELL_PX, window.height - top), window.width)
            layers = {view: [source.read(strip) for source in sources[view]] for view in shown if view.touches(strip)}
            targets = [target[top : top + CELL_PX] for target in (probability, classes) if target is not None]
            _fill(targets, strip, layers)
    return probability, classes


def _opened(view: RegionView, grid: Grid, has_classes: bool, stack: ExitStack) -> list["_Source"]:
    """Return the probability of a scene, and its classes if asked."""
    wanted = [(view.probability, Resampling.bilinear), *([(view.classes, Resampling.nearest)] if has_classes else [])]
    return [_Source(stack.enter_context(open_raster(path)), grid, resampling) for path, resampling in wanted]


def _fill(targets: Sequence[np.ndarray], strip: Part, shown: Mapping[RegionView, Sequence[np.ndarray]]) -> None:
    """Fill a strip's probability, and classes if any, (height, width), uint8, cell by cell from the best view.

    `shown` has the same as each scene shows it.
    """
    for left in range(0, strip.width, CELL_PX):
        columns = slice(left, min(left + CELL_PX, strip.width))
        cell = Part(strip.row, strip.column + left, strip.height, columns.stop - left)
        scenes = [[layer[:, columns] for layer in layers] for view, layers in shown.items() if view.touches(cell)]
        is_open = np.ones((cell.height, cell.width), dtype=bool)
        # The best scene fills its pixels with data, the next one fills the gaps, and so on; sorting is stable.
        for layers in sorted(scenes, key=_rank) if len(scenes) > 1 else scenes:
            takes = is_open & (layers[0] != NO_DATA)
            for target, layer in zip(targets, layers):
                target[:, columns][takes] = layer[takes]
            is_open &= ~takes


def _rank(layers: list[np.ndarray]) -> tuple[int, float]:
    """Return the sorting key of a scene in a cell: most pixels with data first, then the most certain."""
    known = layers[0][layers[0] != NO_DATA].astype(np.int16)
    return -len(known), -float(np.abs(known - CERTAIN // 2).mean()) if len(known) else 0.0


class _Source:
    """A raster that is read on the region's grid, resampled if its pixels are others."""

    def __init__(self, dataset: DatasetReader, grid: Grid, resampling: Resampling) -> None:
        self._dataset, self._grid, self._resampling = dataset, grid, resampling
        image_grid = grid_of(dataset)
        self._offset = shared_offset(grid, image_grid) if image_grid.crs == grid.crs else None

    def read(self, strip: Part) -> np.ndarray:
        """Return the values of a strip: (height, width), uint8, with NO_DATA beyond the raster."""
        if self._offset is None:
            return self._read_warped(strip)
        column, row = strip.column - self._offset[0], strip.row - self._offset[1]
        inside = common_window((column, row, strip.width, strip.height), (0, 0, *self._dataset.shape[::-1]))
        values = np.full((strip.height, strip.width), NO_DATA, dtype=np.uint8)
        if inside[2] and inside[3]:
            part = self._dataset.read(1, window=Window(*inside))
            top, left = inside[1] - row, inside[0] - column
            values[top : top + part.shape[0], left : left + part.shape[1]] = part
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
