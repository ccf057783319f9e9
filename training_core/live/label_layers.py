"""Label layers: the layers of a job as the labels that a session begins with, and the labels of a session as layers.

Scope: vector layers, their fields, and the ground that is known. Independent of how labels are used.

A fine-tune learns the same from the kept layers as the session did. It takes everything in the area of interest that no
road covers for background, and ignores everything outside. So the kept area of interest is the drawn one and the
surroundings of drawn roads, with holes where the map showed roads that nobody drew: a session spares these, see
`drawn_labels`. All of it is ordinary polygons, which can be looked at and changed.
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
from ..geodata.grid import Grid
from ..geodata.pixel_codes import IGNORE
from ..geodata.rasterize import crs_of
from ..geodata.shapes import projected
from ..geodata.vectors import read_area, read_polygons
from ..jobs import Live
from ..labels.label_raster import is_sure, own_widths_m
from ..labels.labeled_images import Drawing, read_drawing
from .commands import AOI, NO_ROAD, ROADS, Change
from .drawn_labels import BLOCK_PX, DrawnLabels, Feature

# Before the ids of these features, so that those of a command are others.
FILE = "file:"
# Of the layer of roads, named as in those that QGIS makes.
WIDTH_FIELD, SURE_FIELD = "width_m", "sure"


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
    changes: list[Change] = []
    if job.roads:
        drawing = read_drawing(job.roads, job.aoi, job)
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
    """Return the geometries in the grid's CRS with their numbers from 1, but for those that have no place there."""
    geometries = projected(layer, crs_of(grid), grid.outline.bounds)
    return [(number, shape) for number, shape in enumerate(geometries, 1) if not shape.is_empty]


def kept_labels(labels: DrawnLabels, grid: Grid, width_m: float) -> dict[str, geopandas.GeoDataFrame]:
    """Return the labels of a session as layers.

    Parameters
    ----------
    grid : Grid
        Theirs.
    width_m : float
        Width of roads that have none of their own.

    Returns
    -------
    dict of str to GeoDataFrame
        The layers roads (with width and sureness), aoi and no_road, of lines or polygons in the grid's CRS; those
        without features are left out.
    """
    features = list(labels.features)
    drawn = {layer: [each for each in features if each.change.layer == layer] for layer in (ROADS, AOI, NO_ROAD)}
    areas = [each.change.geometry for each in drawn[AOI]]
    layers = {
        ROADS: _road_layer(drawn[ROADS], grid, width_m),
        AOI: _layer([*areas, *_surroundings(drawn[ROADS], labels, grid)], grid),
        NO_ROAD: _layer([each.change.geometry for each in drawn[NO_ROAD]], grid),
    }
    return {name: layer for name, layer in layers.items() if len(layer)}


def _road_layer(roads: list[Feature], grid: Grid, width_m: float) -> geopandas.GeoDataFrame:
    """Return roads as lines; where some are polygons, all of them as polygons, since a layer holds one of both."""
    geometries = np.array([each.change.geometry for each in roads], dtype=object)
    fields = {
        WIDTH_FIELD: np.array([each.change.width_m or width_m for each in roads], dtype=float),
        SURE_FIELD: np.array([each.change.sure for each in roads], dtype=bool),
    }
    if (shapely.get_dimensions(geometries) == 2).any():
        geometries = grid.from_metric(np.array([shapely.union_all(each.shapes) for each in roads], dtype=object))
    return _layer(geometries, grid, fields)


def _surroundings(roads: list[Feature], labels: DrawnLabels, grid: Grid) -> Iterable[BaseGeometry]:
    """Return where it is known what is beside roads: all that a session learns from there, as polygons."""
    if not roads:
        return ()
    known = shapely.union_all(np.concatenate([each.known for each in roads]))
    holes = grid.from_pixels_to_metric(np.array([_spared_outlines(labels)]))[0]
    return shapely.get_parts(grid.from_metric(np.array([known.difference(holes)])))


def _spared_outlines(labels: DrawnLabels) -> BaseGeometry:
    """Return the outlines of the pixels that are spared, and nothing else says what they are, in columns and rows."""
    found = []
    for (row, column), spared in labels.spared.items():
        hole = spared & (labels.labels.get((row, column), IGNORE) == IGNORE)
        if hole.any():
            outlines = [shapely.geometry.shape(each) for each, _ in shapes(hole.astype(np.uint8), mask=hole)]
            found += [translate(outline, column * BLOCK_PX, row * BLOCK_PX) for outline in outlines]
    return shapely.union_all(found)


def _layer(
    geometries: Iterable[BaseGeometry], grid: Grid, fields: dict[str, np.ndarray] | None = None
) -> geopandas.GeoDataFrame:
    layer = geopandas.GeoDataFrame(fields or {}, geometry=list(geometries), crs=crs_of(grid))
    return layer[~layer.is_empty].explode(ignore_index=True)
