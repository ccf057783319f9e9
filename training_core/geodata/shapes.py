"""Shapes of layers: repaired, cut into pieces, projected, on the ground of a grid and as its pixels.

Scope: geometries and grids. Independent of layers' fields and of roads. Segments can meet in as many places as they
have pairs. To bound time and memory by the size of a layer, the search stops at far more places than any drawing has.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import replace
from functools import lru_cache
from typing import Any, Optional

import geopandas
import numpy as np
import pyproj
import shapely
from affine import Affine
from pyproj import CRS
from pyproj.exceptions import ProjError
from rasterio.features import rasterize
from shapely.errors import ShapelyError
from shapely.geometry.base import BaseGeometry

from ..errors import LayerError, shown
from .antimeridian import bounding_box, clipped_in_turns, in_one_piece, turn_of
from .grid import MAX_COORDINATE, Grid, Window
from .parallel_arrays import ranges

# GEOS repairs so many in seconds.
MAX_CROSSINGS = 100_000
# A shape of fewer vertices cannot cross itself that often.
_MIN_VERTICES = 400
_PIECE_SEGMENTS = 8
# Wider shapes are clipped first: between distant vertices a straight line on one map is curved on the other.
_WIDEST_DEG, _WIDEST_M = 20.0, 2e6
_EMPTY = shapely.GeometryCollection()
_GEOGRAPHIC = CRS("EPSG:4326")
_Bounds = tuple[float, float, float, float]


class TooManyCrossings(Exception):
    """Shapes meet in more than `limit` places."""

    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        self.limit = limit


def meeting_pairs(
    tree: shapely.STRtree, shapes: np.ndarray, limit: int, **condition: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Query a tree with (n,) object shapes, a few at a time so that a layer that is refused never fills the memory.

    Returns (k,) int64 positions in `shapes` and in the tree. `limit` is the largest number of meetings. Each may be
    counted twice, and each shape may meet itself. Raises TooManyCrossings.
    """
    at_once = max(1, limit // max(1, len(tree)))
    parts = [np.zeros((2, 0), dtype=np.int64)]
    count = 0
    for begin in range(0, len(shapes), at_once):
        shape, hit = tree.query(shapes[begin : begin + at_once], **condition)
        parts.append(np.stack([begin + shape, hit]))
        count += len(shape)
        if count > 2 * limit + len(shapes):
            raise TooManyCrossings(limit)
    shape, hit = np.concatenate(parts, axis=1)
    return shape, hit


def check_crossings(shapes: np.ndarray) -> None:
    """Check that repairing or clipping lines or polygons, (n,) object, takes seconds at most.

    Raises TooManyCrossings if one crosses itself in more than `MAX_CROSSINGS` places.
    """
    shapes = shapes[shapely.get_num_coordinates(shapes) > _MIN_VERTICES]
    is_area = shapely.get_dimensions(shapes) == 2
    for shape in shapes[~np.where(is_area, shapely.is_valid(shapes), shapely.is_simple(shapes))]:
        parts = shapely.get_parts(shape)
        rings = shapely.get_rings(parts) if shapely.get_dimensions(shape) == 2 else parts
        # All segments of all rings: each vertex whose successor lies in the same ring begins one.
        points, ring = shapely.get_coordinates(rings, return_index=True)
        first = np.flatnonzero(np.diff(ring) == 0)
        segments = shapely.linestrings(np.stack([points[first], points[first + 1]], axis=1))
        neighbors = len(segments)  # consecutive segments always meet, which is no crossing
        meeting_pairs(shapely.STRtree(segments), segments, MAX_CROSSINGS + neighbors, predicate="intersects")


def shape_of(text: str, types: Collection[str], user: str) -> BaseGeometry:
    """Return the flat geometry of a WKT, which is untrusted, of one of some types: LineString.

    `user` names in messages what it is for. Raises ValueError if it is another one, not on Earth, or crosses itself far
    more often than a drawn one.
    """
    try:
        with np.errstate(invalid="ignore"):  # of NaN, which is refused below
            shape = shapely.force_2d(shapely.from_wkt(text))
    except (ShapelyError, NotImplementedError, ValueError) as error:  # curves are not implemented
        raise ValueError(f"the geometry {shown(text)} cannot be read") from error
    if shape is None or shape.is_empty or shape.geom_type not in types:
        raise ValueError(f"{shown(text)} is not a geometry for {user}")
    points = shapely.get_coordinates(shape)
    if not (np.abs(points) < MAX_COORDINATE).all():  # written so that NaN fails
        raise ValueError(f"the geometry {shown(text)} is not on Earth")
    try:
        check_crossings(np.array([shape], dtype=object))
    except TooManyCrossings as error:
        raise ValueError(f"a geometry of {user} crosses itself too often") from error
    return shape


def in_short_pieces(shapes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (k,) object shapes with lines in pieces of a few segments and the (k,) int64 shape of each.

    GEOS takes time that grows faster than the square of a line's length to buffer or clip a line that crosses itself,
    as a track may. The buffers of its pieces cover the same ground. The (n,) object shapes may have several parts. All
    but lines stay as they are.
    """
    is_line = shapely.get_dimensions(shapes) == 1
    lines, others = np.flatnonzero(is_line), np.flatnonzero(~is_line)
    parts, line = shapely.get_parts(shapes[lines], return_index=True)
    points, part = shapely.get_coordinates(parts, return_index=True)
    # First and last vertex of each part, and the pieces between them: their number, first vertex and size.
    end = np.cumsum(np.bincount(part, minlength=len(parts))) - 1
    begin = np.append(0, end[:-1] + 1)[: len(parts)]
    counts = -(-(end - begin) // _PIECE_SEGMENTS)
    first = ranges(begin, counts, np.full(len(parts), _PIECE_SEGMENTS))
    sizes = np.minimum(first + _PIECE_SEGMENTS, np.repeat(end, counts)) - first + 1
    pieces = shapely.linestrings(points[ranges(first, sizes)], indices=np.repeat(np.arange(len(first)), sizes))
    # Back in the order of the shapes, together with those that are not lines.
    shape = np.concatenate([np.repeat(lines[line], counts), others])
    order = np.argsort(shape, kind="stable")
    return np.concatenate([pieces, shapes[others]])[order], shape[order]


def around(shapes: np.ndarray, distance_m: float) -> np.ndarray:
    """Return (k,) object polygons that together cover all within a distance of (n,) object polygons.

    GEOS takes minutes and gigabytes to buffer a polygon of very many vertices that lie closer together than that. The
    polygon itself and the buffers of the pieces of its rings cover the same ground.
    """
    is_large = shapely.get_num_coordinates(shapes) > _MIN_VERTICES
    pieces, _ = in_short_pieces(shapely.boundary(shapes[is_large]))
    rims = shapely.get_parts(shapely.union_all(shapely.buffer(pieces, distance_m, quad_segs=4)))
    return np.concatenate([shapely.buffer(shapes[~is_large], distance_m, quad_segs=4), shapes[is_large], rims])


def parts_in(shapes: np.ndarray, areas: np.ndarray) -> np.ndarray:
    """Return the parts of shapes within any of some polygons, (n,) object; empty where there are none.

    Only shapes at the edge of an area are cut: cutting many shapes by an area of very many vertices takes long, as does
    the union of all areas.
    """
    tree = shapely.STRtree(shapes)
    inside = np.full(len(shapes), _EMPTY, dtype=object)
    # Shapes that one area covers stay as they are.
    _, whole = tree.query(areas, predicate="covers")
    inside[whole] = shapes[whole]
    # The others are cut: those that meet a single area by it, the few that meet several by the union of these.
    area, shape = tree.query(areas, predicate="intersects")
    is_cut = ~np.isin(shape, whole)
    area, shape = area[is_cut], shape[is_cut]
    inside[shape] = shapely.intersection(shapes[shape], areas[area])
    for number in np.flatnonzero(np.bincount(shape, minlength=len(shapes)) > 1):
        inside[number] = shapely.intersection(shapes[number], shapely.union_all(areas[area[shape == number]]))
    return inside


def valid(shapes: np.ndarray) -> np.ndarray:
    """Return (n,) object polygons repaired where they cross themselves.

    All that a ring surrounds is inside, except for holes.
    """
    return shapely.make_valid(shapes, method="structure", keep_collapsed=False)


def projected(layer: geopandas.GeoDataFrame, crs: CRS, extent: _Bounds) -> np.ndarray:
    """Return a layer's geometries in another CRS, (n,) object, all with finite coordinates.

    They lie in the turn of the extent where shapes are needed: left, bottom, right and top in the other CRS. A shape
    that has no place there, or is as wide as a continent, is first clipped to the surroundings of the extent. If it
    still has no place it becomes empty.
    """
    left, bottom, right, top = extent
    across, up = right - left, top - bottom
    there = _bounds_in((left - across, bottom - up, right + across, top + up), crs, layer.crs)
    turn = turn_of(layer.crs)
    own = layer.geometry.to_numpy()
    own = in_one_piece(own, turn, (there[0] + there[2]) / 2) if there else own
    shapes = geopandas.GeoSeries(own, crs=layer.crs).to_crs(crs).to_numpy().copy()
    # Far shapes: without a place in the other CRS, or too wide in their own for straight lines to stay straight.
    west, south, east, north = shapely.bounds(own).T
    widest = _WIDEST_DEG if layer.crs.is_geographic else _WIDEST_M / layer.crs.axis_info[0].unit_conversion_factor
    is_far = ~_are_finite(shapes) | (np.maximum(east - west, north - south) > widest)
    if is_far.any():  # projected again, clipped first
        far = np.where(shapely.get_dimensions(own[is_far]) == 2, valid(own[is_far]), own[is_far])
        clipped = clipped_in_turns(far, turn, there) if there else np.full(len(far), _EMPTY, dtype=object)
        shapes[is_far] = geopandas.GeoSeries(clipped, crs=layer.crs).to_crs(crs).to_numpy()
        shapes[~_are_finite(shapes)] = _EMPTY
    return in_one_piece(shapes, turn_of(crs), (left + right) / 2)


def _are_finite(shapes: np.ndarray) -> np.ndarray:
    """Return which shapes have only finite coordinates: (n,) bool."""
    points, owner = shapely.get_coordinates(shapes, return_index=True)
    return np.bincount(owner, ~np.isfinite(points).all(axis=1), minlength=len(shapes)) == 0


@lru_cache(maxsize=64)
def _transformer(crs: CRS, other: CRS) -> pyproj.Transformer:
    return pyproj.Transformer.from_crs(crs, other, always_xy=True)


def _bounds_in(bounds: _Bounds, crs: CRS, other: CRS) -> Optional[_Bounds]:
    """Return left, bottom, right and top of a box in another CRS, the right beyond the left; None without a place."""
    try:
        west, south, east, north = _transformer(crs, _GEOGRAPHIC).transform_bounds(*bounds)
        east += 360 if west > east else 0  # across the antimeridian
        if (turn := turn_of(other)) and np.isfinite([west, east]).all():
            # In a map that begins again after a turn, x follows from longitude.
            (left, _), (bottom, top) = _transformer(_GEOGRAPHIC, other).transform([west] * 2, [south, north])
            found = (left, bottom, left + (east - west) / 360 * turn, top)
        else:
            found = _transformer(crs, other).transform_bounds(*bounds)
    except ProjError:
        return None
    return found if np.isfinite(found).all() else None


def ground_shapes(layer: geopandas.GeoDataFrame, grid: Grid, clip: Optional[_Bounds] = None) -> np.ndarray:
    """Return a layer's geometries in the ground meters of a grid, (n,) object, with valid polygons.

    Shapes without a place in the grid's CRS are empty. Polygons may be clipped to left, bottom, right and top.
    """
    shapes = np.array([grid.to_metric(each) for each in projected(layer, crs_of(grid), grid.outline.bounds)], object)
    is_area = shapely.get_dimensions(shapes) == 2
    areas = shapes[is_area] if clip is None else shapely.clip_by_rect(shapes[is_area], *clip)
    shapes[is_area] = valid(areas)
    return shapes


def shapes_on(layer: geopandas.GeoDataFrame, grid: Grid, margin_m: float = 0.0) -> np.ndarray:
    """Return a layer's geometries as `ground_shapes` does, (n,) object, with polygons clipped to the grid and a margin.

    So each image takes only its part of an area with very many vertices. The layer's polygons must be valid, as
    `read_layer` returns them.
    """
    return ground_shapes(layer, grid, grid.to_metric(_with_margin(grid, margin_m).outline).bounds)


def widened(
    layer: geopandas.GeoDataFrame, grid: Grid, width_m: np.ndarray, margin_m: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Return lines with their widths, (n,) float64, and polygons as polygons in ground meters, and the row of each.

    They are (k,) object and (k,) int64: a line comes as the buffers of its pieces. See `shapes_on` for the margin.
    """
    shapes, row = in_short_pieces(shapes_on(layer, grid, width_m.max(initial=0) / 2 + margin_m))
    is_line = shapely.get_dimensions(shapes) == 1
    shapes[is_line] = shapely.buffer(shapes[is_line], width_m[row[is_line]] / 2)
    return shapes, row


def _with_margin(grid: Grid, margin_m: float) -> Grid:
    """Return a grid with a margin around it, in whole pixels, and one more against rounding."""
    column, row = (math.ceil(margin_m / side_m) + 1 for side_m in grid.pixel_m)
    return grid.window(-column, -row, grid.width + 2 * column, grid.height + 2 * row)


def translated(layer: geopandas.GeoDataFrame, grid: Grid, east_m: float, north_m: float) -> geopandas.GeoDataFrame:
    """Return a layer in the CRS of a grid, its shapes moved on the ground; those without a place there are empty."""
    moved = shapely.transform(ground_shapes(layer, grid), lambda points: points + np.array([east_m, north_m]))
    return layer.set_geometry(geopandas.GeoSeries(grid.from_metric(moved), layer.index, crs_of(grid)))


def near(layer: geopandas.GeoDataFrame, grid: Grid, margin_m: float = 0.0) -> np.ndarray:
    """Return the rows of a layer, (n,) int64, whose bounding boxes come within a distance of a grid.

    With thousands of shapes and thousands of images, each image then takes only its own. The layer keeps its index.
    """
    surroundings = boxes_around(grid, layer.crs, margin_m)
    return np.arange(len(layer)) if surroundings is None else np.unique(layer.sindex.query(surroundings)[1])


def boxes_around(grid: Grid, crs: CRS, margin_m: float) -> Optional[np.ndarray]:
    """Return the bounding box, in a CRS, of all within a distance of a grid, in each turn that a layer may be written.

    They are (n,) object, or None if there is none in that CRS.
    """
    bounds = _bounds_in(_with_margin(grid, margin_m).outline.bounds, crs_of(grid), crs)
    if bounds is None:
        return None
    left, bottom, right, top = bounds
    by = turn_of(crs) * np.arange(-2, 3) if turn_of(crs) else np.zeros(1)
    return shapely.box(left + by, bottom, right + by, top)


def limit_to(grid: Grid, aoi: geopandas.GeoDataFrame, image: str = "the image") -> tuple[Window, BaseGeometry]:
    """Return the window (column, row, width, height) that holds an area of interest, and its shape in ground meters.

    The area is polygons in any CRS. `image` names the grid's raster in messages. Raises LayerError if the area of
    interest is outside the grid.
    """
    shape = shapely.union_all(shapes_on(aoi, grid))
    window = pixel_window(np.array([shape]), grid)
    if not window[2] or not window[3]:
        raise LayerError(f"The area of interest lies outside {image}.", "Check both layers' coordinate systems.")
    return window, shape


def burn_shapes(shapes: Iterable[BaseGeometry], grid: Grid, window: Window) -> np.ndarray:
    """Return which pixel centers of a window lie in any of some shapes in ground meters: (height, width) bool.

    The window is column, row, width and height.
    """
    column, row, width, height = window
    # Clipped to the window and a pixel around it, so that no cut edge runs through a pixel center of the window.
    bounds = grid.to_metric(grid.window(column - 1, row - 1, width + 2, height + 2).outline).bounds
    parts = shapely.clip_by_rect(np.array(list(shapes), dtype=object), *bounds)
    parts = parts[~shapely.is_empty(parts)]
    if not len(parts):
        return np.zeros((height, width), dtype=bool)
    transform = grid.metric_transform @ Affine.translation(column, row)
    return rasterize(parts, out_shape=(height, width), transform=transform, dtype=np.uint8) > 0


def outline_in_degrees(grid: Grid) -> BaseGeometry:
    """Return a grid's border in longitude and latitude, in one piece."""
    outline = geopandas.GeoSeries([grid.outline], crs=crs_of(grid)).to_crs(_GEOGRAPHIC).to_numpy()
    whole: BaseGeometry = in_one_piece(outline, 360.0, float(shapely.get_coordinates(outline)[0, 0]))[0]
    return whole


def crosses_antimeridian(grid: Grid) -> bool:
    """Return whether a grid has ground on both sides of the antimeridian."""
    west, _, east, _ = bounding_box(outline_in_degrees(grid))
    return west > east


def turns_on(grid: Grid, other: Grid) -> list[Grid]:
    """Return a grid, moved by whole turns, in all places where its pixels are found for another grid.

    In one CRS that is the place nearest to the other grid. From another CRS, coordinates come out in the first turn; a
    grid across its edge is found there on both sides.
    """
    turn = turn_of(crs_of(grid))
    if not turn:
        return [grid]
    left, _, right, _ = grid.outline.bounds
    if grid.crs == other.crs:
        turns = [round((other.outline.centroid.x - (left + right) / 2) / turn)]
    else:
        turns = [by for by in range(-2, 3) if right + by * turn > -turn / 2 and left + by * turn < turn / 2]
    return [replace(grid, transform=Affine.translation(by * turn, 0) @ grid.transform) if by else grid for by in turns]


def crs_of(grid: Grid) -> CRS:
    """Return a grid's CRS as pyproj has it."""
    epsg = grid.crs.to_epsg()
    return CRS.from_epsg(epsg) if epsg else CRS.from_wkt(grid.crs.to_wkt())


def pixel_window(shapes: np.ndarray, grid: Grid) -> Window:
    """Return the window (column, row, width, height) of the pixels that polygons touch; size 0 where they touch none.

    Polygons are (n,) object in ground meters.
    """
    on_grid = shapely.clip_by_rect(grid.from_metric_to_pixels(shapes), 0, 0, grid.width, grid.height)
    on_grid = on_grid[shapely.area(on_grid) > 0]
    if not len(on_grid):
        return 0, 0, 0, 0
    left, top, right, bottom = shapely.total_bounds(on_grid)
    # Touching a pixel by less than rounding errors does not count.
    column, row = math.floor(left + 1e-6), math.floor(top + 1e-6)
    return column, row, math.ceil(right - 1e-6) - column, math.ceil(bottom - 1e-6) - row
