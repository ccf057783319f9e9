"""The region's grid, on which the roads of all scenes are extracted, and its division into parts.

Parts have cores without gap or overlap, and margins around them. Scenes that overlap give one probability raster. Which
scene counts is decided for cells of the grid, so that it does not depend on the window. In each cell the scene with
the fewest pixels without data comes first, then the one with the most certain model: the largest mean distance from a
probability of one half. Where the first has no data, the next one counts. Scope: grids and probability rasters.
Independent of models and of roads.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Optional

import geopandas
import numpy as np
import shapely
from affine import Affine
from rasterio.enums import Resampling
from rasterio.io import DatasetReader
from rasterio.windows import Window
from shapely.geometry.base import BaseGeometry

from ..geodata.antimeridian import in_one_piece, turn_of
from ..geodata.grid import SAME_PX, Grid, grid_of, shared_offset
from ..geodata.pixel_codes import CERTAIN, NO_DATA
from ..geodata.rasters import open_raster, warped
from ..geodata.shapes import crs_of, turns_on
from ..jobs import NetworkOptions
from ..networks.cleaning import UNLIKELY_ROUNDS
from ..networks.gaps import WAY_AROUND

# Parts and their margins are made of whole cells, so that all parts that show a place see it the same.
CELL_PX = 256
# Far enough for thinning in wide places, and the widths of roads, in meters; and how far other carriageways are seen.
_LOCAL_M, _ALONGSIDE_M = 100.0, 120.0
# The smallest width of a patch of the smallest area that is kept.
_NARROWEST_M = 3.0
_WIDEST_MARGIN_PX = 4096
# Points for each side of an outline that is taken to another CRS, where straight lines are bent.
_POINTS_A_SIDE = 16


@dataclass(frozen=True, order=True)
class Part:
    """A part of the region's grid, by its first pixel and its size in pixels."""

    row: int
    column: int
    height: int
    width: int

    @property
    def bounds(self) -> tuple[int, int, int, int]:
        """Least column and row, greatest column and row."""
        return self.column, self.row, self.column + self.width, self.row + self.height

    def grown(self, margin_px: int, grid: Grid) -> "Part":
        """Return the part with a margin, clipped at the border of the grid."""
        left, top, right, bottom = self.bounds
        left, top = max(0, left - margin_px), max(0, top - margin_px)
        right, bottom = min(grid.width, right + margin_px), min(grid.height, bottom + margin_px)
        return Part(top, left, bottom - top, right - left)


def region_grid(grids: Sequence[Grid]) -> Grid:
    """Return the grid of the largest mosaic at the model's resolution, extended by whole cells to all mosaics."""
    main = max(grids, key=lambda grid: grid.width * grid.height)
    bounds = np.array([outline_on(main, grid).bounds for grid in grids])
    first = np.floor(bounds[:, :2].min(axis=0) / CELL_PX + SAME_PX) * CELL_PX
    size = np.ceil(bounds[:, 2:].max(axis=0) - first - SAME_PX)
    return Grid(main.crs, main.transform @ Affine.translation(*first), *size.astype(int).tolist())


def outline_on(grid: Grid, other: Grid) -> BaseGeometry:
    """Return the outline of another grid in columns and rows of a grid, in the turn of the grid."""
    outline, crs = other.outline, crs_of(grid)
    if other.crs != grid.crs:
        longest = max(outline.bounds[2] - outline.bounds[0], outline.bounds[3] - outline.bounds[1])
        bent = shapely.segmentize(outline, longest / _POINTS_A_SIDE)
        (outline,) = geopandas.GeoSeries([bent], crs=other.crs).to_crs(crs)
    (outline,) = in_one_piece(np.array([outline]), turn_of(crs), grid.outline.centroid.x)
    return shapely.transform(outline, lambda points: np.column_stack(~grid.transform @ tuple(points.T)))


def margin_px(options: NetworkOptions, pixel_m: tuple[float, float]) -> int:
    """Return the margin with which a part has the roads of the undivided region, in pixels of whole cells.

    Every step of extraction looks no farther around than the lengths among its options allow, one after the other.
    `pixel_m` is the size of a pixel along columns and along rows.
    """
    area_m = options.min_area_m2 / _NARROWEST_M
    linked_m = (1 + WAY_AROUND) * options.likely_gap_m  # the link, and the way around it along the network
    pruned_m = options.spur_m + UNLIKELY_ROUNDS * options.stub_m
    joined_m = options.gap_m + options.snap_m + options.close_m + linked_m
    reach_m = _LOCAL_M + max(area_m, pruned_m + joined_m) + _ALONGSIDE_M
    return min(_WIDEST_MARGIN_PX, CELL_PX * math.ceil(reach_m / min(pixel_m) / CELL_PX))


def divide(grid: Grid, side_px: int, footprints: Sequence[BaseGeometry]) -> Iterator[Part]:
    """Yield the parts of a region that may have data, row by row.

    `side_px` is their approximate side, rounded to whole cells. Footprints, in columns and rows of the grid, show where
    there may be data.
    """
    tree = shapely.STRtree(list(footprints))
    rows, columns = _spans(grid.height, side_px), _spans(grid.width, side_px)
    for row, height in rows:
        for column, width in columns:
            part = Part(row, column, height, width)
            if len(tree.query(shapely.box(*part.bounds), predicate="intersects")):
                yield part


def _spans(size_px: int, side_px: int) -> list[tuple[int, int]]:
    """Return start and length of parts of about equal length along one side, in whole cells but for the last."""
    count = max(1, round(size_px / side_px))
    step_px = CELL_PX * math.ceil(size_px / count / CELL_PX)
    return [(begin, min(step_px, size_px - begin)) for begin in range(0, size_px, step_px)]


@dataclass(frozen=True)
class PlacedScene:
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


def read_best(grid: Grid, window: Part, scenes: Sequence[PlacedScene]) -> tuple[np.ndarray, Optional[np.ndarray]]:
    """Return the best probability of a window of whole cells: probability and classes, both (height, width) uint8.

    Probability is NO_DATA where no scene has data. Classes are from the same scenes; None if one of them has no
    classes.
    """
    shown = sorted((scene for scene in scenes if scene.touches(window)), key=lambda scene: scene.name)
    has_classes = bool(shown) and all(scene.classes for scene in shown)
    probability = np.full((window.height, window.width), NO_DATA, dtype=np.uint8)
    classes = np.full_like(probability, NO_DATA) if has_classes else None
    with ExitStack() as stack:
        sources = {scene: _opened(scene, grid, has_classes, stack) for scene in shown}
        # Strips of one cell's height, so that only these rows of all scenes are in memory.
        for top in range(0, window.height, CELL_PX):
            strip = Part(window.row + top, window.column, min(CELL_PX, window.height - top), window.width)
            layers = {
                scene: [source.read(strip) for source in sources[scene]] for scene in shown if scene.touches(strip)
            }
            targets = [target[top : top + CELL_PX] for target in (probability, classes) if target is not None]
            _fill(targets, strip, layers)
    return probability, classes


def has_data(path: str, grid: Grid, places: np.ndarray) -> np.ndarray:
    """Return at which places, (n, 2) float64 columns and rows of the region's grid, a raster has data: (n,) bool."""
    column, row = np.floor(places).astype(np.int64).T
    known = np.zeros(len(places), dtype=bool)
    with open_raster(path) as dataset:
        source = RasterOnGrid(dataset, grid, Resampling.nearest)
        # Strips of one cell's height, since a line may run across a whole scene.
        for cell in np.unique(row // CELL_PX):
            here = np.flatnonzero(row // CELL_PX == cell)
            left, width = int(column[here].min()), int(np.ptp(column[here])) + 1
            values = source.read(Part(int(cell) * CELL_PX, left, CELL_PX, width))
            known[here] = values[row[here] % CELL_PX, column[here] - left] != NO_DATA
    return known


def _opened(scene: PlacedScene, grid: Grid, has_classes: bool, stack: ExitStack) -> list["RasterOnGrid"]:
    """Return the probability of a scene, and its classes if asked."""
    wanted = [(scene.probability, Resampling.bilinear), *([(scene.classes, Resampling.nearest)] if has_classes else [])]
    return [RasterOnGrid(stack.enter_context(open_raster(path)), grid, resampling) for path, resampling in wanted]


def _fill(targets: Sequence[np.ndarray], strip: Part, shown: Mapping[PlacedScene, Sequence[np.ndarray]]) -> None:
    """Fill a strip's probability, and classes if any, (height, width) uint8, cell by cell from the best scene.

    `shown` has the same as each scene shows it.
    """
    for left in range(0, strip.width, CELL_PX):
        columns = slice(left, min(left + CELL_PX, strip.width))
        cell = Part(strip.row, strip.column + left, strip.height, columns.stop - left)
        scenes = [[layer[:, columns] for layer in layers] for scene, layers in shown.items() if scene.touches(cell)]
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


class RasterOnGrid:
    """A raster that is read on the region's grid, resampled if its pixels are others."""

    def __init__(self, dataset: DatasetReader, grid: Grid, resampling: Resampling) -> None:
        self._dataset, self._grid, self._resampling = dataset, grid, resampling
        self._turns = turns_on(grid_of(dataset), grid)
        self._offset = shared_offset(grid, self._turns[0]) if self._turns[0].crs == grid.crs else None

    def read(self, strip: Part) -> np.ndarray:
        """Return the values of a strip: (height, width) uint8, with NO_DATA beyond the raster."""
        if self._offset is None:
            return self._read_warped(strip)
        column, row = strip.column - self._offset[0], strip.row - self._offset[1]
        window = Window(column, row, strip.width, strip.height)
        values: np.ndarray = self._dataset.read(1, window=window, boundless=True, fill_value=NO_DATA)
        return values

    def _read_warped(self, strip: Part) -> np.ndarray:
        part = self._grid.window(strip.column, strip.row, strip.width, strip.height)
        values = np.full((part.height, part.width), NO_DATA, dtype=np.uint8)
        for image_grid in self._turns:
            with warped(self._dataset, image_grid, part, self._resampling, nodata=NO_DATA) as source:
                np.copyto(values, source.read(1), where=values == NO_DATA)
        return values
