"""Assembly of scenes: result rasters from the bytes of a scene's blocks.

Scope: mask, probability and classes of a scene, and the tag that says from which content they are. Independent of
models.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import rasterio
from rasterio._err import CPLE_BaseError
from rasterio.errors import RasterioError

from ..geodata.pixel_codes import NO_DATA, ROAD
from ..geodata.road_classes import RoadClass, from_document, to_document
from ..geodata.tiling import Tile
from ..segmentation.result_rasters import ResultWriter
from ..segmentation.work_plan import Results
from ..system.outputs import Outputs
from .catalog import Scene
from .mosaic import Mosaic
from .mosaic_view import grid_document, grid_from_document
from .prediction import read_block
from .scene_blocks import Block

# The tag of a result raster that says from which content it was made.
KEY_TAG = "ROADSEG_KEY"


def assembly_document(
    mosaic: Mosaic,
    scene: Scene,
    resolution_m: float,
    blocks: list[tuple[Block, str]],
    results: Results,
    key: str,
    threshold: float,
    classes: tuple[RoadClass, ...] = (),
) -> dict[str, Any]:
    """Return the document of a scene's result rasters, as `assemble` takes it.

    Parameters
    ----------
    resolution_m : float
        Ground size of the model's pixels in meters; 0 means the mosaic's own.
    blocks : list of (Block, str)
        The scene's, with the files of their bytes.
    results : Results
        The files to write.
    key : str
        Says from which content they are made.
    threshold : float
        Probability from which a pixel is road.
    classes : tuple of RoadClass
        Those that the model predicts.

    Returns
    -------
    dict
        Of JSON types.
    """
    window = mosaic.window_at(scene, resolution_m)
    return {
        "scene": scene.name,
        "grid": grid_document(mosaic.grid_at(resolution_m).window(*window)),
        "corner": list(window[:2]),
        "blocks": [{**asdict(block), "path": path} for block, path in blocks],
        "results": results.named(),
        "key": key,
        "threshold": threshold,
        "classes": to_document(classes),
    }


def assemble(document: dict[str, Any]) -> dict[str, Any]:
    """Write a scene's result rasters from the bytes of its blocks; the scene's pixels in no block have no data.

    Parameters
    ----------
    document : dict
        Of `assembly_document`.

    Returns
    -------
    dict
        px, known_px and road_px of the scene, and the paths of its results by name.

    Raises
    ------
    ImageryError
        A block's file is missing or damaged.
    OutputError
        The results cannot be written.
    """
    grid = grid_from_document(document["grid"])
    classes = from_document(document["classes"])
    left, top = document["corner"]
    counts = {"px": grid.width * grid.height, "known_px": 0, "road_px": 0}
    with Outputs([each["path"] for each in document["blocks"]]) as outputs:
        staged = Results(**{name: str(outputs.stage(path)) for name, path in document["results"].items()})
        with ResultWriter(grid, staged, document["threshold"], classes, {KEY_TAG: document["key"]}) as writer:
            for each in document["blocks"]:
                place = Tile(each["column"] - left, each["row"] - top, each["width"], each["height"], 0, 0, 0, 0)
                mask = writer.write(place, read_block(each["path"]))
                counts["known_px"] += int((mask != NO_DATA).sum())
                counts["road_px"] += int((mask == ROAD).sum())
    return {**document["results"], **counts}


def is_assembled(path: str, key: str) -> bool:
    """Whether a result raster is there that was made from this content.

    Parameters
    ----------
    key : str
        See `assembly_document`.
    """
    try:
        with rasterio.open(path) as dataset:
            return dataset.tags().get(KEY_TAG) == key
    except (RasterioError, CPLE_BaseError):
        return False
