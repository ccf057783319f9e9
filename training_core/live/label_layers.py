"""Label layers: reads the first labels of a session from the layers of a job, and returns its labels as layers.

Scope: vector layers, their fields, and known ground. Independent of how labels are used.

A fine-tune learns the same from the kept layers as the session did. In the area of interest, it takes everything but
roads for background, and it ignores everything outside. So the kept area of interest consists of the drawn one and of
the surroundings of drawn roads, with holes for spared pixels (see `drawn_labels`). All are ordinary, editable polygons.
"""

from __future__ import annotations

from collections.abc import Iterable

import geopandas
import numpy as np
import shapely
from rasterio.features import shapes
from shapely.affinity import translate
from shapely.geometry.base import BaseGeometry

from ..errors import JobError
from ..events import Reporter
from ..geodata.grid import Grid
from ..geodata.pixel_codes import IGNORE
from ..geodata.shapes import crs_of, projected
from ..geodata.vectors import read_area, read_polygons
from ..jobs import Live
from ..labels.drawing import Drawing, is_sure, own_widths_m, read_drawing
from .commands import AOI, NO_ROAD, ROADS, Change
from .drawn_labels import BLOCK_PX, DrawnLabels, Feature

# Prefix of the ids of these features, which sets them apart from features of commands.
FILE = "file:"
# Fields of the layer of roads, named as in layers that QGIS makes.
WIDTH_FIELD, SURE_FIELD = "width_m", "sure"


def first_labels(job: Live, grid: Grid, reporter: Reporter) -> tuple[Change, ...]:
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
        drawing = read_drawing(job.roads, job.aoi, job, reporter, images=[grid])
        changes += _roads(drawing, grid)
        areas = {AOI: drawing.aoi, NO_ROAD: drawing.no_road}
    else:
        areas = {
            AOI: read_area(job.aoi) if job.aoi else None,
            NO_ROAD: read_polygons(job.no_road, "places without a road") if job.no_road else None,
        }
    for layer, area in areas.items():
        if area is not None:
            changes += [Change(layer, f"{FILE}{number}", shape) for number, shape in _shapes(area, grid)]
    return tuple(changes)


def _roads(drawing: Drawing, grid: Grid) -> list[Change]:
    roads, options = drawing.roads, drawing.options
    sure = is_sure(roads, options)
    widths_m = own_widths_m(roads, options.width_field) if options.width_field else np.full(len(roads), np.nan)
    changes = []
    for number, shape in _shapes(roads, grid):
        width_m = None if np.isnan(widths_m[number - 1]) else float(widths_m[number - 1])
        changes.append(Change(ROADS, f"{FILE}{number}", shape, width_m, bool(sure[number - 1])))
    return changes


def _shapes(layer: geopandas.GeoDataFrame, grid: Grid) -> list[tuple[int, BaseGeometry]]:
    """Return the geometries that exist in the grid's CRS, with their numbers from 1 in the layer."""
    geometries = projected(layer, crs_of(grid), grid.outline.bounds)
    return [(number, shape) for number, shape in enumerate(geometries, 1) if not shape.is_empty]


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
