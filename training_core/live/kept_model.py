"""Keeping: writes the model of a session with its card and report, as a fine-tune does, and its labels as layers.

A fine-tune learns the same from the kept layers as the session did. In the area of interest, it takes everything but
roads for background, and it ignores everything outside. So the kept area of interest consists of the drawn one and of
the surroundings of drawn roads, with holes for spared pixels (see `drawn_labels`). All are ordinary, editable polygons.

Scope: card, report and output files. Independent of how the model was trained.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Optional

import geopandas
import numpy as np
import shapely
from rasterio.features import shapes
from shapely.affinity import translate
from shapely.geometry.base import BaseGeometry

from ..errors import OutputError
from ..geodata.grid import Grid
from ..geodata.pixel_codes import IGNORE
from ..geodata.rasters import Band
from ..geodata.shapes import crs_of
from ..geodata.sources import source_name, with_sources
from ..geodata.vector_output import write_layers
from ..jobs import Live
from ..labels.labeled_images import ImageSummary
from ..learning.history import Trained, best_at_threshold
from ..learning.outcome import facts_of_training
from ..models.base_model import BaseModel
from ..models.engines import NativeEngine
from ..models.model_card import ModelCard
from ..models.model_file import save_model
from ..reports.training_report import record_of, write_training_report
from ..segmentation.pixel_metrics import Confusion
from ..system.machine import versions
from ..system.outputs import Outputs
from .commands import AOI, NO_ROAD, ROADS, Keep
from .drawn_labels import BLOCK_PX, DrawnLabels, Feature
from .learner import BATCH, CHIP_PX, RATE, RECIPE, Learner
from .scoring import is_telling

_NO_SCORE = "Too few drawn pixels lie in held-out blocks for a score and a threshold."
# Options of the recipe that are stored in the model file.
_STORED = {name: getattr(RECIPE, name) for name in ("batch_size", "accumulation", "optimizer", "frozen_stages")}
# Fields of the layer of roads, named as in layers that QGIS makes.
WIDTH_FIELD, SURE_FIELD = "width_m", "sure"


@dataclass(frozen=True)
class SessionSetup:
    """The base model with its card and digest, the image's grid at the working resolution, and the normalization."""

    job: Live
    base: BaseModel
    card: ModelCard
    base_sha256: str
    grid: Grid
    bands: tuple[Band, ...]
    engine: NativeEngine


def keep(
    command: Keep, setup: SessionSetup, learner: Learner, labels: DrawnLabels, confusion: Confusion
) -> Optional[float]:
    """Write the current model, and the report and labels if requested; all of them or none.

    The confusion counts its held-out pixels. Returns the F1 at the model's threshold; None if too few are held out.
    Raises OutputError if a file cannot be written, or would overwrite an input or existing labels.
    """
    job = setup.job
    if command.labels and os.path.lexists(command.labels):
        raise OutputError(
            f"{command.labels} exists already, and the labels in it would be lost.", "Choose another name."
        )
    kept, has_score = best_at_threshold(learner.weights(), confusion), is_telling(confusion)
    if not has_score:
        kept = dataclasses.replace(kept, threshold=setup.card.threshold)
    card = _card(setup, learner, labels, kept, has_score)
    with Outputs([*with_sources([job.raster]), job.roads, job.aoi, job.no_road, job.base_model]) as outputs:
        path = outputs.stage(command.model)
        report = outputs.stage(command.report) if command.report else None
        layers = kept_labels(labels, setup.grid, job.width_m) if command.labels else {}
        if layers:
            write_layers(outputs.stage(command.labels), layers)
        save_model(path, kept.weights, card)
        if report:
            options = {**dataclasses.asdict(job), **_STORED}
            images = [_summary(setup, labels)]
            record = dataclasses.replace(
                record_of(options, setup.engine, images, learner.history, kept, has_score),
                timings_s={"training": learner.history.elapsed_s},
                images_per_s=BATCH * learner.steps_per_s,
                notes=card.training["notes"],
            )
            write_training_report(record, report)
    return kept.scores.f1 if has_score else None


def _card(setup: SessionSetup, learner: Learner, labels: DrawnLabels, kept: Trained, has_score: bool) -> ModelCard:
    base, job = setup.card, setup.job
    return ModelCard(
        architecture=setup.base.architecture,
        bands=setup.bands,
        resolution_m=setup.grid.resolution_m,
        threshold=kept.threshold,
        chip_px=CHIP_PX,
        halo_px=base.halo_px,
        training={
            "images": [source_name(job.raster)],
            "labeled_px": sum(labels.labeled_px.values()),
            **_STORED,
            "learning_rate": RATE,
            "seed": job.seed,
            **facts_of_training(learner.history, setup.engine, job.base_model, setup.base_sha256, base.attribution),
            "notes": [f"Learned while {labels.roads} roads were drawn (live).", *([] if has_score else [_NO_SCORE])],
        },
        metrics=dataclasses.asdict(kept.scores) if has_score else {},
        versions=versions(),
        classes=base.classes,
    )


def _summary(setup: SessionSetup, labels: DrawnLabels) -> ImageSummary:
    held_out = [block for block in labels.labels if labels.is_held_out(block)]
    labeled, road = sum(labels.labeled_px.values()), sum(labels.road_px.values())
    held_px = sum(labels.labeled_px[block] for block in held_out)
    held_road = sum(labels.road_px[block] for block in held_out)
    grid = setup.grid
    return ImageSummary(
        name=source_name(setup.job.raster),
        width=grid.width,
        height=grid.height,
        resolution_m=grid.resolution_m,
        labeled_share=labeled / (grid.width * grid.height),
        road_share=road / max(1, labeled),
        training_px=labeled - held_px,
        validation_px=held_px,
        training_road_share=(road - held_road) / max(1, labeled - held_px),
        validation_road_share=held_road / max(1, held_px),
    )


def kept_labels(labels: DrawnLabels, grid: Grid, width_m: float) -> dict[str, geopandas.GeoDataFrame]:
    """Return the labels as those of the layers roads, aoi and no_road that have features; `width_m` is the default."""
    features = list(labels.features)
    drawn = {layer: [item for item in features if item.change.layer == layer] for layer in (ROADS, AOI, NO_ROAD)}
    areas = [area.change.geometry for area in drawn[AOI]]
    layers = {
        ROADS: _road_layer(drawn[ROADS], grid, width_m),
        AOI: _layer([*areas, *_surroundings(drawn[ROADS], labels, grid)], grid),
        NO_ROAD: _layer([place.change.geometry for place in drawn[NO_ROAD]], grid),
    }
    return {name: layer for name, layer in layers.items() if len(layer)}


def _road_layer(roads: list[Feature], grid: Grid, width_m: float) -> geopandas.GeoDataFrame:
    """Return roads as lines; or all as polygons if some are, since a layer holds one type."""
    geometries = np.array([road.change.geometry for road in roads], dtype=object)
    fields = {
        WIDTH_FIELD: np.array([road.change.width_m or width_m for road in roads], dtype=float),
        SURE_FIELD: np.array([road.change.sure for road in roads], dtype=bool),
    }
    if (shapely.get_dimensions(geometries) == 2).any():
        geometries = grid.from_metric(np.array([shapely.union_all(road.shapes) for road in roads], dtype=object))
    return _layer(geometries, grid, fields)


def _surroundings(roads: list[Feature], labels: DrawnLabels, grid: Grid) -> Iterable[BaseGeometry]:
    """Return the surroundings of roads that a session learns from, as polygons."""
    if not roads:
        return ()
    known = shapely.union_all(np.concatenate([road.known for road in roads]))
    holes = grid.from_pixels_to_metric(np.array([_spared_outlines(labels)]))[0]
    return shapely.get_parts(grid.from_metric(np.array([known.difference(holes)])))


def _spared_outlines(labels: DrawnLabels) -> BaseGeometry:
    """Return the outlines, in columns and rows, of spared pixels that no other label covers."""
    holes = []
    for (row, column), spared in labels.spared.items():
        hole = spared & (labels.labels.get((row, column), IGNORE) == IGNORE)
        if hole.any():
            outlines = [shapely.geometry.shape(outline) for outline, _ in shapes(hole.astype(np.uint8), mask=hole)]
            holes += [translate(outline, column * BLOCK_PX, row * BLOCK_PX) for outline in outlines]
    return shapely.union_all(holes)


def _layer(
    geometries: Iterable[BaseGeometry], grid: Grid, fields: dict[str, np.ndarray] | None = None
) -> geopandas.GeoDataFrame:
    layer = geopandas.GeoDataFrame(fields or {}, geometry=list(geometries), crs=crs_of(grid))
    return layer[~layer.is_empty].explode(ignore_index=True)
