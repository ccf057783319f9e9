"""Labels to begin with: layers in files as the changes that a command would bring.

Scope: vector layers and their fields. Independent of how labels are used.
"""

from __future__ import annotations

from typing import Optional

import geopandas
import numpy as np

from ..errors import JobError
from ..geodata.grid import Grid
from ..geodata.rasterize import crs_of
from ..geodata.shapes import projected
from ..geodata.vectors import read_area, read_polygons
from ..jobs import Live
from ..labels.label_raster import is_sure, own_widths_m
from ..labels.labeled_images import Drawing, read_drawing
from .commands import AOI, NO_ROAD, ROADS, Change

# Before the ids of these features, so that those of a command are others.
FILE = "file:"


def first_labels(job: Live, grid: Grid) -> tuple[Change, ...]:
    """Return the features of a job's layers, named file:1, file:2 and so on in each layer.

    Raises
    ------
    JobError
        Fields of the roads are named, but no roads.
    LabelError
        A layer cannot be used.
    """
    if not job.roads and (job.width_field or job.sure_field):
        raise JobError(
            "Fields of the drawn roads are named, but there are no drawn roads (roads).",
            "Give the roads, or leave out their fields (width_field, sure_field).",
        )
    drawing: Optional[Drawing] = read_drawing(job.roads, job.aoi, job) if job.roads else None
    changes: list[Change] = []
    if drawing is not None:
        changes += _roads(drawing, grid)
    areas = {
        AOI: drawing.aoi if drawing else read_area(job.aoi) if job.aoi else None,
        NO_ROAD: drawing.no_road
        if drawing
        else read_polygons(job.no_road, "places without a road")
        if job.no_road
        else None,
    }
    for layer, area in areas.items():
        if area is not None:
            changes += [Change(layer, f"{FILE}{number}", shape) for number, shape in _shapes(area, grid)]
    return tuple(changes)


def _roads(drawing: Drawing, grid: Grid) -> list[Change]:
    roads, options = drawing.roads, drawing.options
    sure = is_sure(roads, options)
    widths_m = own_widths_m(roads, options.width_field) if options.width_field else np.full(len(roads), np.nan)
    return [
        Change(ROADS, f"{FILE}{number}", shape, *_road_of(widths_m[number - 1], sure[number - 1]))
        for number, shape in _shapes(roads, grid)
    ]


def _road_of(width_m: float, is_sure_: bool) -> tuple[Optional[float], bool]:
    return (None if np.isnan(width_m) else float(width_m)), bool(is_sure_)


def _shapes(layer: geopandas.GeoDataFrame, grid: Grid) -> list[tuple[int, object]]:
    """Return the geometries in the grid's CRS with their numbers from 1, but for those that have no place there."""
    shapes = projected(layer, crs_of(grid), grid.outline.bounds)
    return [(number, shape) for number, shape in enumerate(shapes, 1) if not shape.is_empty]
