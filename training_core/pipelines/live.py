"""The job live: a session that learns from roads while they are drawn, and shows its predictions.

Scope: opens what a session works with, and reads its first labels. Independent of how it goes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import geopandas
import numpy as np
import torch
from shapely.geometry.base import BaseGeometry

from .. import events
from ..errors import JobError
from ..events import Reporter
from ..geodata.fields import widths_m_in
from ..geodata.grid import Grid, grid_of
from ..geodata.rasters import IMAGE, Image, find_bands, measure_scaling, open_image
from ..geodata.shapes import crs_of, projected
from ..geodata.vectors import read_area, read_polygons
from ..jobs import Live
from ..jobs.recipe import AS_BASE
from ..labels.drawing import Drawing, is_sure, read_drawing
from ..live.commands import AOI, NO_ROAD, ROADS, Change
from ..live.image_windows import ImageWindows
from ..live.kept_model import SessionSetup
from ..live.session import Session
from ..live.session_files import SessionFiles
from ..models.architectures import LIBRARY
from ..models.base_model import BaseModel, read_base_model
from ..models.engine_choice import choose_precision
from ..models.engines import NativeEngine
from ..models.model_card import ModelCard
from ..models.model_file import weights_sha256
from ..system.work import preload

# An image coarser than the base model's resolution by no more than this is worked at as it is: the model soon learns
# to read it, and fewer pixels are to be predicted.
COARSEST_RATIO = 2.0
# A session holds, besides the image: weights of the model as it learns, its average, two moments of the optimizer,
# the base model and the one that is shown, twice where they are made ready to infer; and the activations of a step.
_COPIES, _STEP_BYTES = 8, 700 << 20
# Prefix of the ids of features of layers, which sets them apart from features of commands.
_FILE = "file:"


def run(job: Live, reporter: Reporter) -> dict[str, Any]:
    """Run the job and return its result; see `jobs.Live`."""
    preload(LIBRARY)
    reporter.pass_on(events.State(events.LOADING, "Loading the model and the image"))
    torch.manual_seed(job.seed)
    torch.set_num_threads(job.threads or torch.get_num_threads())
    base = read_base_model(job.base_model, AS_BASE, AS_BASE, reporter)
    card = base.card if base else None
    if base is None or card is None:
        raise JobError(
            f"The base model (base_model) {job.base_model} is not a model of RoadSeg, so there is nothing to show.",
            "Choose starter, or a model made by Fine-tune a model.",
        )
    engine, sha256 = NativeEngine(choose_precision(job.precision, reporter.log)), weights_sha256(base.weights)
    with open_image(job.raster) as dataset:
        indexes = find_bands(dataset, card.input)
        with Image(dataset, indexes, _resolution_m(job, card, grid_of(dataset).resolution_m)) as image:
            bands = measure_scaling(image, card.bands) if card.scaling == IMAGE else card.bands
            labels = _first_labels(job, image.grid, reporter)
            with SessionFiles(job.folder, job.raster, base.weights, sha256, image.grid, reporter) as files:
                windows = ImageWindows(image)
                _log_setup(windows, base, engine, reporter)
                setup = SessionSetup(job, base, card, sha256, image.grid, bands, engine)
                session = Session(setup, windows, files, reporter)
                session.resume()
                session.take_over(labels)
                return session.run()


def _resolution_m(job: Live, card: ModelCard, own_m: float) -> float:
    """Return the ground resolution to work at, in meters; 0 for the image's own."""
    if job.resolution_m:
        return job.resolution_m
    wanted_m = card.resolution_m
    return 0.0 if wanted_m <= own_m <= COARSEST_RATIO * wanted_m else wanted_m


def _log_setup(windows: ImageWindows, base: BaseModel, engine: NativeEngine, reporter: Reporter) -> None:
    """Log what the session works at, and how much memory it takes at most."""
    weights = sum(each.numel() * each.element_size() for each in base.weights.values())
    max_bytes = windows.max_bytes + _COPIES * weights + _STEP_BYTES
    grid = windows.grid
    reporter.log(
        f"{windows.name}: {grid.width} x {grid.height} px at {grid.resolution_m:.2f} m, {engine.precision}; memory for "
        f"the model, a step and image windows up to {max_bytes / 1e9:.1f} GB, besides drawn labels and the view."
    )


def _first_labels(job: Live, grid: Grid, reporter: Reporter) -> tuple[Change, ...]:
    """Return the features of a job's layers, named file:1, file:2 and so on in each layer.

    Raises JobError if there are names of road fields, but no roads. Raises LayerError if a layer cannot be used.
    """
    if not job.roads and (job.width_field or job.sure_field):
        raise JobError(
            "Fields of the drawn roads are named, but there are no drawn roads (roads).",
            "Give the roads, or leave out their fields (width_field, sure_field).",
        )
    changes: list[Change] = []
    if job.roads:
        drawing = read_drawing(job.roads, "", replace(job, no_road=""), reporter, images=[grid])
        changes += _roads(drawing, grid)
    areas = {
        AOI: read_area(job.aoi) if job.aoi else None,
        NO_ROAD: read_polygons(job.no_road, "places without a road") if job.no_road else None,
    }
    for layer, area in areas.items():
        if area is not None:
            changes += [Change(layer, f"{_FILE}{number}", shape) for number, shape in _shapes(area, grid)]
    return tuple(changes)


def _roads(drawing: Drawing, grid: Grid) -> list[Change]:
    roads, options = drawing.roads, drawing.options
    sure = is_sure(roads, options)
    widths_m = widths_m_in(roads, options.width_field)
    changes = []
    for number, shape in _shapes(roads, grid):
        width_m = None if np.isnan(widths_m[number - 1]) else float(widths_m[number - 1])
        changes.append(Change(ROADS, f"{_FILE}{number}", shape, width_m, bool(sure[number - 1])))
    return changes


def _shapes(layer: geopandas.GeoDataFrame, grid: Grid) -> list[tuple[int, BaseGeometry]]:
    """Return the geometries that exist in the grid's CRS, with their numbers from 1 in the layer."""
    geometries = projected(layer, crs_of(grid), grid.outline.bounds)
    return [(number, shape) for number, shape in enumerate(geometries, 1) if not shape.is_empty]
