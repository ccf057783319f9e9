"""Handlers of tasks on workers, by kind of work: map or predict, assemble, borders, extract.

Every result is a file under a name from its content (`store`), so that work done twice is harmless. Scope: from a
task's document to files and numbers. Independent of which tasks there are, and of who does them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ..events import Reporter
from ..geodata.grid import Grid
from ..geodata.road_classes import from_document
from ..geodata.road_raster import byte_raster, class_array
from ..jobs import NetworkOptions
from .mosaic_view import grid_from_document
from .part_roads import border_patches, extract_part, write_part, write_patches
from .prediction import predict_block
from .region_grid import Part, RegionView, read_best
from .scene_blocks import assemble, write_block
from .store import Store

PREDICT, MAP, ASSEMBLE, BORDERS, EXTRACT = "predict", "map", "assemble", "borders", "extract"


def perform(work: str, document: dict[str, Any]) -> dict[str, Any]:
    """Do a task of one of the kinds above, and return its result, of JSON types; the handlers below take the document.

    Raises
    ------
    RoadSegError
        The task fails.
    """
    return _HANDLERS[work](document)


def _predict(document: dict[str, Any]) -> dict[str, Any]:
    """Predict a block: `folder`, `key`, and `block` as `prediction.block_document` returns it."""
    prediction, grid, left_out = predict_block(document["block"])
    Store(document["folder"]).write(PREDICT, document["key"], ".tif", lambda path: write_block(path, prediction, grid))
    return {"left_out": left_out}


def _map(document: dict[str, Any]) -> dict[str, Any]:
    """Predict and assemble a scene of a single block: `predict` and `assemble` are the documents of both."""
    return {**_predict(document["predict"]), **_assemble(document["assemble"])}


def _assemble(document: dict[str, Any]) -> dict[str, Any]:
    """Assemble a scene; see `scene_blocks.assemble`. Its blocks are removed, since the results hold their bytes."""
    result = assemble(document)
    for block in document["blocks"]:
        with contextlib.suppress(OSError):
            Path(block["path"]).unlink()
    return result


def _borders(document: dict[str, Any]) -> dict[str, Any]:
    """Find the patches at the borders of a part.

    The document has `folder`, `key`, `grid`, `core`, `views`, `threshold` and `hysteresis`.
    """
    core, grid = Part(**document["core"]), grid_from_document(document["grid"])
    probability, _ = read_best(grid, core, _views(document))
    raster = byte_raster(probability, document["threshold"])
    patches = border_patches(raster, core, document["hysteresis"])
    Store(document["folder"]).write(BORDERS, document["key"], ".npz", lambda path: write_patches(path, patches))
    return {"patches": len(patches.is_sure)}


def _extract(document: dict[str, Any]) -> dict[str, Any]:
    """Extract the roads of a part.

    The document has `folder`, `key`, `grid`, `window`, `core`, `views`, `threshold`, `options`, `classes`, and in
    `linked` columns and rows of likely pixels that are connected with sure road.
    """
    grid = grid_from_document(document["grid"])
    window, core = Part(**document["window"]), Part(**document["core"])
    probability, numbers = read_best(grid, window, _views(document))
    classes = None if numbers is None else class_array(numbers, from_document(document["classes"]))
    raster = byte_raster(probability, document["threshold"])
    linked = np.array(document["linked"], dtype=np.int64).reshape(-1, 2)
    options = NetworkOptions(**document["options"])
    roads = extract_part(raster, window, core, part_pixel_m(grid, core), options, Reporter(), classes, linked)
    Store(document["folder"]).write(EXTRACT, document["key"], ".npz", lambda path: write_part(path, roads))
    return {"lines": len(roads.graph.edges)}


def part_pixel_m(grid: Grid, core: Part) -> tuple[float, float]:
    """Return the ground size of a pixel in meters, along columns and rows, in the middle of a part."""
    return grid.window(core.column, core.row, core.width, core.height).pixel_m


def _views(document: dict[str, Any]) -> list[RegionView]:
    return [RegionView(**{**view, "bounds": tuple(view["bounds"])}) for view in document["views"]]


_HANDLERS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    PREDICT: _predict,
    MAP: _map,
    ASSEMBLE: _assemble,
    BORDERS: _borders,
    EXTRACT: _extract,
}
