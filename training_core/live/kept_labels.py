"""Kept labels: what a session has learned from, as label layers from which a fine-tune learns the same.

Scope: features, and the ground that is known. Independent of files and of models.

A fine-tune takes all that no road covers in the area of interest for background, and ignores everything outside of it.
So the kept area of interest is what was drawn as such, and the surroundings of drawn roads but for holes where the map
showed roads that nobody drew: a session spares these, see `drawn_labels`. All of it is ordinary polygons, which can be
looked at and changed.
"""

from __future__ import annotations

from collections.abc import Iterable

import geopandas
import numpy as np
import shapely
from rasterio.features import shapes
from shapely.affinity import translate
from shapely.geometry.base import BaseGeometry

from ..geodata.grid import Grid
from ..geodata.pixel_codes import IGNORE
from ..geodata.rasterize import crs_of
from .commands import AOI, NO_ROAD, ROADS
from .drawn_labels import DrawnLabels, Feature
from .held_out import BLOCK_PX

# Of the layer of roads, named as in those that QGIS makes.
WIDTH_FIELD, SURE_FIELD = "width_m", "sure"


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
