"""Prediction of blocks: its settings, chosen once for all workers, and the bytes of a block.

The job's process chooses engine, precision, halo and sizes, and workers take them as they are, so that blocks fit each
other. A choice by timing may differ the next time. So it is kept in the job's folder, and a job of the same model and
options takes it up again. With an exact halo in FP32 a block has the same bytes as that part of the undivided mosaic.
Scope: models and pixels of mosaics. Independent of who computes which block.
"""

from __future__ import annotations

import hashlib
import json
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from typing import Annotated, Any, Optional

import geopandas
import numpy as np
import shapely
import torch
from torch import nn

from ..errors import JobError, ModelFileError
from ..events import Reporter
from ..geodata.grid import grid_at
from ..geodata.pixel_codes import NO_DATA
from ..geodata.rasters import Band
from ..geodata.shapes import burn_shapes
from ..geodata.tiling import Tile, tile_grid
from ..jobs import AUTO, MapRegion, SegmentOptions
from ..jobs.json_fields import MAX_TEXT, Range, parse_file, read
from ..models.engines import make_engine, why_not
from ..models.fallback import FallbackEngine
from ..models.loading import load_model
from ..models.model_card import ModelCard
from ..models.model_file import weights_sha256
from ..models.onnx_model import OnnxModel
from ..segmentation.inference import SYMMETRIES, Piece, Prediction, Predictor, padded_size, predict_pieces, read_piece
from ..segmentation.measured import seconds_per_px
from ..segmentation.segmenter import Segmenter, image_threshold, prepare_segmenter, spread
from ..segmentation.work_plan import TilePlan, plan_image
from ..system.work import ahead
from .catalog import Scene
from .mosaic import Mosaic
from .scene_blocks import MosaicArea, SceneBlock
from .store import Store, content_key
from .tasks import Document
from .virtual_raster import VirtualImage, VirtualRaster, virtual_raster_from

# These fields of `Predicting` do not change the bytes of a block.
_ONLY_HOW = ("model", "threads", "threshold", "block_px")
_SETTINGS = "settings"
# The time that a block's prediction should take, and the sides of blocks, in pixels, to choose from.
_BLOCK_S = 60.0
_SIDES_PX = (1024, 2048, 4096, 8192)
# These options of prediction are taken as the job has them; the others decide which choice is taken up again.
_FROM_JOB = ("threads", "memory_gb", "threshold")


@dataclass(frozen=True)
class Predicting:
    """How blocks are predicted: the same for all blocks of a job.

    The model's file is given as workers reach it, 0 threads for the process' own number. If `is_exact`, the halo is
    exact for the receptive field. See `models.engines.Engine` for engine and precision. `block_px` is the largest side
    of a block.
    """

    model: str
    sha256: str
    engine: str
    precision: str
    halo_px: Annotated[int, Range(0, 4096)]
    core_px: Annotated[int, Range(32, 32768)]
    is_exact: bool
    threshold: Annotated[float, Range(0, 1)]
    block_px: Annotated[int, Range(_SIDES_PX[0], _SIDES_PX[-1])]
    test_time_augmentation: bool = False
    threads: int = 0


def model_sha256(model: nn.Module | OnnxModel) -> str:
    """Return the SHA-256 digest of a model as `load_model` returns it: the same wherever its file lies."""
    if isinstance(model, OnnxModel):
        return hashlib.sha256(model.content).hexdigest()
    return weights_sha256(model.state_dict())


def choose_settings(
    job: MapRegion,
    model: nn.Module | OnnxModel,
    card: ModelCard,
    scenes: Sequence[Scene],
    aoi: Optional[geopandas.GeoDataFrame],
    reporter: Reporter,
) -> Predicting:
    """Return how blocks are predicted.

    The choice is kept in the job's folder for this model and these options, without what the job itself decides.
    A region keeps its threshold when scenes are added. Raises RoadSegError; see
    `segmentation.segmenter.prepare_segmenter`.
    """
    store, sha256 = Store(job.folder), model_sha256(model)
    options = {
        option.name: getattr(job, option.name) for option in fields(SegmentOptions) if option.name not in _FROM_JOB
    }
    if options["device"] == AUTO:  # jobs before there were devices have the same choice
        del options["device"]
    key = content_key(sha256, options)
    kept = _kept_settings(store, key)
    if kept is None:
        sizes_px = {scene.path: scene.grid.width * scene.grid.height for scene in scenes}
        largest_first = sorted(sizes_px, key=lambda path: sizes_px[path], reverse=True)
        samples = [plan_image(path, aoi, card.input) for path in spread(largest_first)]
        segmenter = prepare_segmenter(model, card, samples, job, reporter, sum(sizes_px.values()))
        threshold = segmenter.threshold
        if job.threshold:  # a later run in this folder may give none
            threshold = image_threshold(samples, card, segmenter.predictor, reporter.silent())
        kept = Predicting(
            model=job.model,
            sha256=sha256,
            engine=segmenter.engine.name,
            precision=segmenter.engine.precision,
            halo_px=segmenter.tiles.halo_px,
            core_px=segmenter.tiles.core_px,
            is_exact=job.halo == "exact",
            threshold=threshold,
            block_px=block_side_px(seconds_per_px(segmenter.predictor)),
            test_time_augmentation=job.test_time_augmentation,
        )
        content = json.dumps(asdict(kept)).encode("ascii")
        store.write(_SETTINGS, key, ".json", lambda path: path.write_bytes(content))
    else:
        reporter.log(
            f"As in the previous run in this folder: engine {kept.engine}, {kept.precision}, halo {kept.halo_px} px, "
            f"tiles of {kept.core_px} px. Threshold {job.threshold or kept.threshold:.2f}."
        )
    return replace(
        kept,
        model=job.model,
        threshold=job.threshold or kept.threshold,
        block_px=job.block_px or kept.block_px,
        threads=job.threads,
    )


def block_side_px(seconds_a_px: float) -> int:
    """Return the side of the largest block that is predicted in time, or the smallest side."""
    return max((side for side in _SIDES_PX if side * side * seconds_a_px <= _BLOCK_S), default=_SIDES_PX[0])


def _kept_settings(store: Store, key: str) -> Optional[Predicting]:
    """Return the choice of an earlier job; None if there is none, or none that can be used here."""
    try:
        kept = read(Predicting, parse_file(store.path(_SETTINGS, key, ".json"), MAX_TEXT), is_exact=True)
        return None if why_not(kept.engine) else kept
    except (OSError, ValueError, KeyError):  # KeyError: an engine of another version
        return None


# From this number of tiles of a shape on, preparing for the shape pays.
_MANY_TILES = 4
_PREPARED: dict[str, Segmenter] = {}
_PREPARING = threading.Lock()


def prepare(document: Document) -> Document:
    """Prepare this process for `predict_block`; see `prepared`."""
    prepared(document)
    return {}


def prepared(document: Document) -> Segmenter:
    """Return the model of `Predicting`, as JSON types, ready to predict; this process keeps the last one.

    Raises ModelFileError if the file cannot be read, or holds another model. Raises JobError if this machine lacks the
    job's engine.
    """
    key = json.dumps(document, sort_keys=True)
    with _PREPARING:
        if key not in _PREPARED:
            _PREPARED.clear()  # before the next model is loaded
            _PREPARED[key] = _load(Predicting(**document))
        return _PREPARED[key]


def _load(predicting: Predicting) -> Segmenter:
    model, card = load_model(predicting.model)
    if model_sha256(model) != predicting.sha256:
        raise ModelFileError(
            f"{predicting.model} is not the model that the job began with.", "Give all machines the same model file."
        )
    obstacle = why_not(predicting.engine)
    if obstacle:
        raise JobError(
            f"The engine {predicting.engine} cannot be used here: {obstacle}.",
            "Install the same runtime on all machines, or choose the engine native.",
        )
    if predicting.threads:
        torch.set_num_threads(predicting.threads)
    engine: Any = make_engine(predicting.engine, predicting.precision, "chosen by the job")
    symmetries = SYMMETRIES if predicting.test_time_augmentation else SYMMETRIES[:1]
    prepared = engine.prepare_inference(model, predicting.is_exact)
    if engine.is_device:
        engine = FallbackEngine(engine, prepared, model, predicting.is_exact, partial(print, file=sys.stderr))
    predictor = Predictor(prepared, engine, card.bands, symmetries, card.architecture.classes, predicting.model)
    tiles = TilePlan(predicting.core_px, predicting.halo_px)
    return Segmenter(predictor, card, tiles, predicting.threshold)


def block_document(
    predicting: Predicting,
    mosaic: Mosaic,
    scene: Scene,
    block: SceneBlock,
    bands: tuple[Band, ...],
    area: Optional[MosaicArea] = None,
) -> dict[str, Any]:
    """Return the document of a block of a scene, of JSON types, as `predict_block` takes it.

    The mosaic is normalized by `bands`; see `normalized_bands`.
    """
    return {
        "predicting": asdict(predicting),
        "raster": mosaic.scene_on_top(scene).to_document(),
        "bands": [asdict(band) for band in bands],
        "block": asdict(block),
        "area": area.within(block) if area else None,
    }


def content_of(document: dict[str, Any]) -> dict[str, Any]:
    """Return the part of a block's document that decides on its bytes: not the model's path, nor the threads."""
    predicting = {name: value for name, value in document["predicting"].items() if name not in _ONLY_HOW}
    return {**document, "predicting": predicting}


def predict_block(document: dict[str, Any]) -> tuple[Prediction, list[str]]:
    """Predict the block of a `block_document`: NO_DATA outside the area of interest.

    Return with it the names of neighboring scenes that turned out to be damaged. Raises ImageryError if the scene
    cannot be read, or its values are too far from what a model can compute with. Raises JobError or ModelFileError; see
    `prepared`.
    """
    segmenter = prepared(document["predicting"])
    block = SceneBlock(**document["block"])
    left_out: list[str] = []
    predictor = replace(segmenter.predictor, bands=tuple(Band(**band) for band in document["bands"]))
    probability = np.full((block.height, block.width), NO_DATA, dtype=np.uint8)
    classes = probability.copy() if segmenter.card.classes else None
    raster = virtual_raster_from(document["raster"])
    grid = grid_at(raster.grid, segmenter.card.resolution_m)
    # They begin where those of the undivided mosaic would.
    tiles = list(tile_grid(grid.width, grid.height, segmenter.tiles.core_px, segmenter.tiles.halo_px, block.window))
    if len(tiles) >= _MANY_TILES:
        shape = (1, len(predictor.bands), *padded_size(tiles[0].read_window[:1:-1]))
        segmenter.engine.expect(predictor.model, shape)
    with closing(ahead(_pieces(document["area"], raster, tiles, segmenter, predictor.bands, left_out), 1)) as pieces:
        for piece, predicted in predict_pieces(predictor, pieces, segmenter.tiles.px):
            top, left = piece.tile.row - block.row, piece.tile.column - block.column
            place = slice(top, top + piece.tile.height), slice(left, left + piece.tile.width)
            probability[place] = predicted.probability
            if classes is not None and predicted.classes is not None:
                classes[place] = predicted.classes
    return Prediction(probability, classes), left_out


def _pieces(
    area_wkb: Optional[str],
    raster: VirtualRaster,
    tiles: list[Tile],
    segmenter: Segmenter,
    bands: tuple[Band, ...],
    left_out: list[str],
) -> Iterator[Piece]:
    """Yield the tiles of a block with their pixels; names of damaged neighbors go into a list.

    It opens and closes the rasters itself, since both must be done in the thread that reads them.
    """
    shape = shapely.from_wkb(area_wkb) if area_wkb else None
    with VirtualImage(raster, segmenter.card.resolution_m) as image:
        for tile in tiles:
            core = (tile.column, tile.row, tile.width, tile.height)
            area = None if shape is None else burn_shapes([shape], image.grid, core)
            yield read_piece(tile, image.read, bands, area, name=image.name)
        left_out += image.left_out
