"""Blocks of a scene: rectangles of about equal size that cover it, and the result rasters made of them.

Blocks begin at multiples of the model's stride on the mosaic's grid, where the tiles of the undivided mosaic would, so
that no pixel is computed in vain. Scope: windows and rasters. Independent of models and of who computes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

import geopandas
import rasterio
import shapely
from rasterio._err import CPLE_BaseError
from rasterio.errors import RasterioError
from shapely.geometry.base import BaseGeometry

from ..geodata.grid import Grid, Window, common_window
from ..geodata.non_roads import RoadLeftOut
from ..geodata.pixel_codes import NO_DATA, ROAD
from ..geodata.road_classes import from_document
from ..geodata.shapes import pixel_window, shapes_on
from ..geodata.tiling import STRIDE_PX, Tile, round_up
from ..segmentation.inference import Prediction
from ..segmentation.no_road import without_places
from ..segmentation.result_rasters import ResultWriter
from ..segmentation.work_plan import Results
from ..system.outputs import Outputs
from .catalog import Scene
from .mask_grid import predictions_on
from .mosaic import Mosaic
from .store import read_arrays
from .virtual_raster import grid_document, grid_from_document

# The tag of a result raster with the key of its content.
KEY_TAG = "ROADSEG_KEY"


@dataclass(frozen=True)
class SceneBlock:
    """A part of a scene: the scene's name, and a window of the mosaic's grid at the model's resolution."""

    scene: str
    column: int
    row: int
    width: int
    height: int

    @property
    def window(self) -> Window:
        """Column, row, width and height."""
        return self.column, self.row, self.width, self.height

    @property
    def megapixels(self) -> float:
        """Its pixels, in millions."""
        return self.width * self.height / 1e6


@dataclass(frozen=True, eq=False)
class MosaicArea:
    """The area of interest on a mosaic, as a shape in ground meters; see `Grid.metric_transform`.

    The grid is that of the model's resolution. The window has column, row, width and height of the pixels that the area
    touches. Width and height are 0 if it touches none.
    """

    grid: Grid
    shape: BaseGeometry
    window: Window

    def within(self, block: SceneBlock) -> Optional[str]:
        """Return the part of the area around a block, as hexadecimal WKB; None where it covers the whole block."""
        window = (block.column - 1, block.row - 1, block.width + 2, block.height + 2)
        around = self.grid.to_metric(self.grid.window(*window).outline)
        part = shapely.clip_by_rect(self.shape, *around.bounds)
        return None if shapely.covers(part, around) else shapely.to_wkb(part, hex=True)


def mosaic_area(mosaic: Mosaic, resolution_m: float, aoi: geopandas.GeoDataFrame) -> MosaicArea:
    """Return an area of interest, of polygons in any CRS, on a mosaic at the model's resolution (0: the mosaic's)."""
    grid = mosaic.grid_at(resolution_m)
    shapes = shapes_on(aoi, grid)
    return MosaicArea(grid, shapely.union_all(shapes), pixel_window(shapes, grid))


def scene_blocks(
    mosaic: Mosaic, scene: Scene, resolution_m: float, block_px: int, window: Optional[Window] = None
) -> list[SceneBlock]:
    """Divide a scene into blocks of about equal size, row by row, without gap or overlap.

    They begin at multiples of the stride, except where the scene or the window begins. Their largest side is
    `block_px`, in steps of the stride. The model's pixels have a size of `resolution_m` on the ground; 0 means the
    mosaic's own. The window has column, row, width and height of the wanted pixels on the mosaic's grid at that
    resolution.
    """
    whole = mosaic.window_at(scene, resolution_m)
    column, row, width, height = common_window(whole, window) if window else whole
    rows = list(_spans(row, row + height, block_px))
    columns = list(_spans(column, column + width, block_px))
    return [SceneBlock(scene.name, left, top, across, down) for top, down in rows for left, across in columns]


def _spans(begin: int, end: int, block_px: int) -> Iterator[tuple[int, int]]:
    """Yield start and length of blocks from begin to end."""
    if begin >= end:
        return
    first, most_px = begin // STRIDE_PX * STRIDE_PX, max(STRIDE_PX, block_px // STRIDE_PX * STRIDE_PX)
    count = -(-(end - first) // most_px)
    step_px = round_up(-(-(end - first) // count))
    cuts = [begin, *range(first + step_px, end, step_px), end]
    yield from ((start, stop - start) for start, stop in zip(cuts, cuts[1:]))


@dataclass(frozen=True, eq=False)
class SceneRasters:
    """Rasters of a scene: their grid, their paths, and the key of their content, which the files have as a tag."""

    grid: Grid
    paths: Results
    key: str

    @property
    def exist(self) -> bool:
        """Whether all of them exist, made from this very content."""
        try:
            for path in self.paths.named().values():
                with rasterio.open(path) as dataset:
                    if dataset.tags().get(KEY_TAG) != self.key:
                        return False
        except (RasterioError, CPLE_BaseError):
            return False
        return True

    def to_document(self) -> dict[str, Any]:
        """Return them as JSON types."""
        return {"grid": grid_document(self.grid), "paths": self.paths.named(), "key": self.key}


def scene_rasters_from(document: dict[str, Any]) -> SceneRasters:
    """Return the rasters that a document of `SceneRasters.to_document` describes."""
    return SceneRasters(grid_from_document(document["grid"]), Results(**document["paths"]), document["key"])


def assemble(document: dict[str, Any]) -> dict[str, Any]:
    """Write a scene's rasters from the bytes of its blocks, and its results on their own grid.

    Pixels in no block have no data. The document is that of `region_plan.Planner.assembly`. Return px, known_px and
    road_px of the results, their paths by name, and `road_left_out`, of places without a road if there are any. Raises
    OutputError if a block's file is missing or damaged, or the results cannot be written.
    """
    rasters, results = (scene_rasters_from(document[name]) for name in ("rasters", "results"))
    tiles = _blocks(document)
    if rasters.key != results.key:
        if not rasters.exist:
            _write(document, rasters, 0.0, tiles)  # from this threshold on, all pixels have their class
        tiles = predictions_on(results.grid, rasters.paths)
    road_left_out: list[RoadLeftOut] = []
    for area in document["no_road"]:
        tiles = without_places(tiles, results.grid, shapely.from_wkb(area), document["threshold"], road_left_out.append)
    counts = _write(document, results, document["threshold"], tiles)
    return {**results.paths.named(), **counts, "road_left_out": road_left_out}


def _blocks(document: dict[str, Any]) -> Iterator[tuple[Tile, Prediction]]:
    left, top = document["corner"]
    for block in document["blocks"]:
        held = read_arrays(Path(block["path"]), ["probability"])
        place = Tile(block["column"] - left, block["row"] - top, block["width"], block["height"], 0, 0, 0, 0)
        yield place, Prediction(held["probability"], held.get("classes"))


def _write(
    document: dict[str, Any], rasters: SceneRasters, threshold: float, tiles: Iterable[tuple[Tile, Prediction]]
) -> dict[str, int]:
    """Write the rasters of a scene, of which road begins at a threshold, and count their pixels."""
    grid, classes = rasters.grid, from_document(document["classes"])
    counts = {"px": grid.width * grid.height, "known_px": 0, "road_px": 0}
    with Outputs([block["path"] for block in document["blocks"]]) as outputs:
        staged = Results(**{name: str(outputs.stage(path)) for name, path in rasters.paths.named().items()})
        with ResultWriter(grid, staged, threshold, classes, {KEY_TAG: rasters.key}) as writer:
            for tile, prediction in tiles:
                mask = writer.write(tile, prediction)
                counts["known_px"] += int((mask != NO_DATA).sum())
                counts["road_px"] += int((mask == ROAD).sum())
    return counts
