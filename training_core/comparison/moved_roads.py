"""Drawn roads moved onto those that a model sees in each image, before they are learned from.

Scope: a drawing and the images that it labels. Independent of training. Only lines show an offset; polygons and points
of the layer move with them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace

import geopandas
import numpy as np
import shapely

from ..errors import ImageryError
from ..events import Reporter
from ..geodata.rasters import read_grid
from ..geodata.shapes import crs_of, ground_shapes, near
from ..geodata.sources import source_name
from ..jobs import Segment
from ..labels.drawing import Drawing, Move
from ..networks.lines import make_lines
from ..networks.road_graph import as_drawn
from .alignment import along, field_in_view, told
from .image_view import view_of

# Lines are looked at within this distance.
_AROUND_M = 50.0


def moves_onto_images(drawing: Drawing, options: Segment, reporter: Reporter) -> Callable[[str], Move]:
    """Return the function from an image's path to the move of drawn roads onto those in it, by the model of a job.

    An image is segmented when its labels are first burned.
    """

    @functools.cache
    def move_of(path: str) -> Move:
        whole = read_grid(path)
        layer = drawing.roads.iloc[near(drawing.roads, whole)]
        left, bottom, right, top = whole.to_metric(whole.outline).bounds
        shapes = shapely.get_parts(shapely.clip_by_rect(ground_shapes(layer, whole), left, bottom, right, top))
        lines = shapes[(shapely.get_dimensions(shapes) == 1) & (shapely.length(shapes) > 0)]
        if not len(lines):
            return _stay(path, "no line to measure an offset by.", reporter)
        window = shapely.box(*(shapely.total_bounds(lines) + _AROUND_M * np.array([-1, -1, 1, 1])))
        around = whole.from_metric(np.array([window], dtype=object))
        area = geopandas.GeoDataFrame(geometry=shapely.intersection(around, whole.outline), crs=crs_of(whole))
        try:
            view = view_of(path, area, replace(options, raster=path), reporter.silent())
        except ImageryError as error:
            return _stay(path, error.message, reporter)
        grid, roads = view.grid, as_drawn(make_lines(lines))
        to_columns = ~grid.metric_transform
        field = field_in_view(view, roads, lambda points: np.column_stack(to_columns @ tuple(points.T)))
        if field is None:
            return _stay(path, "no line to measure an offset by.", reporter)
        reporter.log(f"{source_name(path)}: the drawn roads are moved by {told(along(field, roads))}.")

        def move(layer: geopandas.GeoDataFrame) -> geopandas.GeoDataFrame:
            moved = grid.from_metric(field.moved(ground_shapes(layer, grid)))
            return layer.set_geometry(geopandas.GeoSeries(moved, layer.index, crs_of(grid)))

        return move

    return move_of


def _stay(path: str, why: str, reporter: Reporter) -> Move:
    reporter.warning(f"{source_name(path)}: the drawn roads are not moved: {why}")
    return lambda layer: layer
