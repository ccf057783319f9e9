"""Prediction of blocks: what a worker needs to know of the model, and the bytes of a block.

Scope: models, mosaics and blocks' files. Independent of who computes what, and when. The engine, its precision and the
halo are chosen once, in the job's process; a worker takes them as they are, so that blocks fit each other. With an
exact halo in FP32 a block has the same bytes as that part of the undivided mosaic.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Optional

import numpy as np
import rasterio
import shapely
import torch
from torch import nn

from ..errors import JobError, ModelFileError, OutputError
from ..geodata.geotiff import named_errors
from ..geodata.grid import Grid, grid_at
from ..geodata.pixel_codes import NO_DATA
from ..geodata.rasterize import burn_shapes
from ..geodata.rasters import Band, open_raster
from ..geodata.tiling import Tile, tile_grid
from ..jobs import SegmentOptions
from ..models.engines import make_engine, why_not
from ..models.loading import load_model
from ..models.model_file import weights_sha256
from ..models.onnx_file import OnnxModel
from ..segmentation.inference import Piece, Prediction, Predictor, padded_size, predict_pieces, read_piece
from ..segmentation.segmenter import Segmenter
from ..segmentation.symmetries import ALL
from ..system.prefetch import ahead
from .catalog import Scene
from .mosaic import Mosaic
from .mosaic_view import View, ViewImage, view_from_document
from .scene_blocks import Block, MosaicArea

# What of `Predicting` does not change the bytes of a block.
_ONLY_HOW = ("model", "threads", "threshold")


@dataclass(frozen=True)
class Predicting:
    """How blocks are predicted: the same for all of a job.

    Parameters
    ----------
    model : str
        The model's file, as workers reach it.
    sha256 : str
        Of its weights; see `model_sha256`.
    engine, precision : str
        See `models.engines.Engine`.
    halo_px, core_px : int
        Of the tiles.
    is_exact : bool
        Whether the halo is exact for the receptive field.
    threshold : float
        Probability from which a pixel is road.
    threads : int
        0 for the process' own number.
    """

    model: str
    sha256: str
    engine: str
    precision: str
    halo_px: int
    core_px: int
    is_exact: bool
    threshold: float
    test_time_augmentation: bool = False
    threads: int = 0

    def to_document(self) -> dict[str, Any]:
        """Return it as JSON types."""
        return asdict(self)


def model_sha256(model: nn.Module | OnnxModel) -> str:
    """Return the SHA-256 digest of a model as `load_model` returns it: the same wherever its file lies."""
    if isinstance(model, OnnxModel):
        return hashlib.sha256(model.content).hexdigest()
    return weights_sha256(model.state_dict())


def predicting_of(segmenter: Segmenter, model: nn.Module | OnnxModel, options: SegmentOptions) -> Predicting:
    """Return how a job's blocks are predicted, from what was chosen in its own process.

    Parameters
    ----------
    segmenter : Segmenter
        As `prepare_segmenter` returns it.
    model : Module or OnnxModel
        As `load_model` returned it.
    options : SegmentOptions
        Of the job, which names its model's file.
    """
    return Predicting(
        model=options.model,
        sha256=model_sha256(model),
        engine=segmenter.engine.name,
        precision=segmenter.engine.precision,
        halo_px=segmenter.halo,
        core_px=segmenter.core_px,
        is_exact=options.halo == "exact",
        threshold=segmenter.threshold,
        test_time_augmentation=options.test_time_augmentation,
        threads=options.threads,
    )


# From so many tiles of a shape on it pays to prepare for it.
_MANY_TILES = 4
_PREPARED: dict[str, Segmenter] = {}
_PREPARING = threading.Lock()


def prepare(document: dict[str, Any]) -> Segmenter:
    """Return the model ready to predict, kept in this process from the first call on; only the last one is kept.

    Parameters
    ----------
    document : dict
        Of `Predicting.to_document`.

    Raises
    ------
    ModelFileError
        The file cannot be read, or holds another model than the job's.
    JobError
        This machine lacks the job's engine.
    """
    key = json.dumps(document, sort_keys=True)
    with _PREPARING:
        if key not in _PREPARED:
            _PREPARED.clear()  # before the next model is loaded
            _PREPARED[key] = _load(Predicting(**document))
        return _PREPARED[key]


def _load(how: Predicting) -> Segmenter:
    model, card = load_model(how.model)
    if model_sha256(model) != how.sha256:
        raise ModelFileError(
            f"{how.model} is not the model that the job began with.", "Give all machines the same model file."
        )
    obstacle = why_not(how.engine)
    if obstacle:
        raise JobError(
            f"The engine {how.engine} cannot be used here: {obstacle}.",
            "Install the same runtime on all machines, or choose the engine native.",
        )
    if how.threads:
        torch.set_num_threads(how.threads)
    engine = make_engine(how.engine, how.precision, "chosen by the job")
    symmetries = ALL if how.test_time_augmentation else ALL[:1]
    prepared = engine.prepare_inference(model, how.is_exact)
    predictor = Predictor(prepared, engine, card.bands, symmetries, card.architecture.classes, how.model)
    tile_px = (how.core_px + 2 * how.halo_px) ** 2
    return Segmenter(predictor, card, how.halo_px, how.core_px, how.threshold, tile_px)


def block_document(
    predicting: Predicting,
    mosaic: Mosaic,
    scene: Scene,
    block: Block,
    bands: tuple[Band, ...],
    area: Optional[MosaicArea] = None,
) -> dict[str, Any]:
    """Return the document of a block, as `predict_block` takes it.

    Parameters
    ----------
    block : Block
        Of that scene.
    bands : tuple of Band
        How the mosaic is normalized; see `normalized_bands`.
    area : MosaicArea, optional
        The area of interest; None for none.

    Returns
    -------
    dict
        Of JSON types.
    """
    return {
        "predicting": predicting.to_document(),
        "view": mosaic.scene_on_top(scene).to_document(),
        "bands": [asdict(band) for band in bands],
        "block": asdict(block),
        "area": area.within(block) if area else None,
    }


def content_of(document: dict[str, Any]) -> dict[str, Any]:
    """Return what of a block's document decides on its bytes: not where the model lies, nor the threads."""
    predicting = {name: value for name, value in document["predicting"].items() if name not in _ONLY_HOW}
    return {**document, "predicting": predicting}


def predict_block(document: dict[str, Any]) -> tuple[Prediction, list[str]]:
    """Predict a block.

    Parameters
    ----------
    document : dict
        Of `block_document`.

    Returns
    -------
    prediction : Prediction
        Of the block; NO_DATA outside the area of interest.
    left_out : list of str
        Names of neighboring scenes that turned out to be damaged.

    Raises
    ------
    ImageryError
        The scene cannot be read, or its values are too far from what a model can compute with.
    JobError, ModelFileError
        See `prepare`.
    """
    segmenter = prepare(document["predicting"])
    block, left_out = Block(**document["block"]), []
    predictor = replace(segmenter.predictor, bands=tuple(Band(**each) for each in document["bands"]))
    probability = np.full((block.height, block.width), NO_DATA, dtype=np.uint8)
    classes = probability.copy() if segmenter.card.classes else None
    view = view_from_document(document["view"])
    tiles = _tiles(view, block, segmenter)
    if len(tiles) >= _MANY_TILES:
        shape = (1, len(predictor.bands), *padded_size(tiles[0].read_window[:1:-1]))
        segmenter.engine.expect(predictor.model, shape)
    with closing(ahead(_pieces(document, view, tiles, segmenter, left_out), 1)) as pieces:
        for piece, found in predict_pieces(predictor, pieces, segmenter.tile_px):
            place = _place(piece.tile, block)
            probability[place] = found.probability
            if classes is not None and found.classes is not None:
                classes[place] = found.classes
    return Prediction(probability, classes), left_out


def _tiles(view: View, block: Block, segmenter: Segmenter) -> list[Tile]:
    """Return the tiles of a block, which begin where those of the undivided mosaic would."""
    grid = grid_at(view.grid, segmenter.card.resolution_m)
    return list(tile_grid(grid.width, grid.height, segmenter.core_px, segmenter.halo, block.window))


def _pieces(
    document: dict[str, Any], view: View, tiles: list[Tile], segmenter: Segmenter, left_out: list[str]
) -> Iterator[Piece]:
    """Yield the tiles of a block with their pixels; names of damaged neighbors go into a list.

    It opens and closes the rasters itself, since both must be done in the thread that reads them.
    """
    bands = tuple(Band(**each) for each in document["bands"])
    shape = shapely.from_wkb(document["area"]) if document["area"] else None
    with ViewImage(view, segmenter.card.resolution_m) as image:
        for tile in tiles:
            core = (tile.column, tile.row, tile.width, tile.height)
            area = None if shape is None else burn_shapes([shape], image.grid, core)
            yield read_piece(tile, image.read, bands, area, name=image.name)
        left_out += image.left_out


def _place(tile: Tile, block: Block) -> tuple[slice, slice]:
    top, left = tile.row - block.row, tile.column - block.column
    return slice(top, top + tile.height), slice(left, left + tile.width)


def write_block(path: Path, prediction: Prediction, grid: Grid) -> None:
    """Write a block's bytes as a compressed GeoTIFF, and read it back: probability, and classes if there are any.

    Parameters
    ----------
    grid : Grid
        The block's own.

    Raises
    ------
    OutputError
        It cannot be written whole.
    """
    values = np.stack([each for each in (prediction.probability, prediction.classes) if each is not None])
    place = {"crs": grid.crs, "transform": grid.transform, "width": grid.width, "height": grid.height}
    layout = {"compress": "deflate", "zlevel": 1, "interleave": "band"}
    with named_errors(path):
        with rasterio.open(
            path, "w", driver="GTiff", count=len(values), dtype="uint8", nodata=NO_DATA, **place, **layout
        ) as dataset:
            dataset.write(values)
        with rasterio.open(path) as dataset:
            is_whole = np.array_equal(dataset.read(), values)
    if not is_whole:
        raise OutputError.incomplete(path)


def read_block(path: str) -> Prediction:
    """Return the bytes that `write_block` wrote.

    Raises
    ------
    ImageryError
        The file is not there, or is damaged.
    """
    with open_raster(path) as dataset:
        probability, *classes = dataset.read()
    return Prediction(probability, classes[0] if classes else None)


def block_grid(document: dict[str, Any], resolution_m: float) -> Grid:
    """Return a block's own grid.

    Parameters
    ----------
    document : dict
        Of `block_document`.
    resolution_m : float
        Ground size of the model's pixels in meters; 0 means the mosaic's own.
    """
    block = Block(**document["block"])
    view = view_from_document(document["view"])
    return grid_at(view.grid, resolution_m).window(*block.window)
