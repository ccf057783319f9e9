"""Places without a road: layers of water, railways, runways and walls, and what they leave of a road raster.

Scope: layers, and road rasters as data. Independent of models and of how lines are traced.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple, Optional

import geopandas
import numpy as np
import pandas
import shapely
from scipy.ndimage import median_filter
from shapely.geometry.base import BaseGeometry

from ..errors import LayerError
from ..events import Reporter
from ..system import large_arrays
from .bridges import BEYOND_M, MAX_LENGTH_M, Seen, find_bridges, seen_at, steps, turned, unit
from .fields import widths_m_in
from .grid import Grid
from .osm_layers import WIDTH_FIELD, is_extract, is_osm_file, non_roads_of
from .pixel_codes import NO_DATA
from .road_raster import RoadRaster, byte_raster
from .shapes import burn_shapes, ground_shapes, near, widened
from .sources import QGIS_PART
from .vectors import read_layer, require_features, require_geometry

_PURPOSE = "places without a road"
# Layers of large files are read so far around the images.
_AROUND_M = 1000.0
# Width of lines that have none of their own.
_USUAL_WIDTH_M = 4.0
# Lines are widened to the road mask along them, at most so far on either side. A moving median of this length leaves
# out roads that cross them.
_MAX_HALF_WIDTH_M, _MEDIAN_M = 10.0, 30.0
# Farther around a place than this, nothing decides whether it is on a bridge.
REACH_M = MAX_LENGTH_M + 2 * BEYOND_M
# Shares of an image that is covered whole, and of roads that is suspicious.
_WHOLE, _MOST = 0.99, 0.5


def read_no_road(path: str, reporter: Reporter, images: Iterable[Grid] = ()) -> geopandas.GeoDataFrame:
    """Return places without a road as lines and polygons; lines may have a width in WIDTH_FIELD.

    Extracts of OpenStreetMap are read by their tags; see `osm_layers.non_roads_of`. Of large ones, only the
    surroundings of the images are read. Raises LayerError if the layer cannot be used, or lies beside all images.
    """
    images, parts, refused = list(images), [], None
    is_whole = is_osm_file(path) and not QGIS_PART.search(path)
    for source in [f"{path}|layername=lines", f"{path}|layername=multipolygons"] if is_whole else [path]:
        try:
            parts.append(read_layer(source, _PURPOSE, reporter, images, _AROUND_M, are_heights_told=False))
        except LayerError as error:  # an extract may have lines alone near the images, or polygons
            refused = error
    if refused and not any(map(len, parts)):
        raise refused
    layer = pandas.concat(parts, ignore_index=True)
    require_features(layer, path, _PURPOSE)
    if is_osm_file(path) or is_extract(layer):
        layer = non_roads_of(layer, path, _PURPOSE, reporter)
    require_geometry(layer, ("lines", "polygons"), path, _PURPOSE)
    if images and len(layer) and not any(len(near(layer, grid, _AROUND_M)) for grid in images):
        raise LayerError(
            f"None of the {_PURPOSE} ({path}) lies on the images, or within {_AROUND_M:g} m of them.",
            "Give a layer that covers the images, or set the correct coordinate reference systems.",
        )
    return layer


def read_places(path: str, reporter: Reporter, images: Iterable[Grid]) -> Optional[geopandas.GeoDataFrame]:
    """Return the places without a road on images that are mapped; None for an empty path.

    Raises LayerError if the layer covers all images, and as `read_no_road` does.
    """
    if not path:
        return None
    images = list(images)
    layer = read_no_road(path, reporter, images)
    if images and all(_covers(shapely.union_all(areas_on(layer, grid)), grid) for grid in images):
        raise LayerError(
            f"The {_PURPOSE} ({path}) cover all of the images: no road could be left.",
            "Draw water, railways and the like, not the ground around them. An area to map is an area of interest "
            "(aoi).",
        )
    return layer


def _covers(area: BaseGeometry, grid: Grid) -> bool:
    image = grid.to_metric(grid.outline)
    return bool(shapely.intersection(area, image).area > _WHOLE * image.area)


def areas_on(layer: geopandas.GeoDataFrame, grid: Grid) -> np.ndarray:
    """Return places without a road on a grid as polygons in its ground meters, (n,) object, lines as wide as theirs."""
    width_m = widths_m_in(layer, WIDTH_FIELD)
    width_m = np.where(np.isnan(width_m), _USUAL_WIDTH_M, width_m)
    chosen = near(layer, grid, width_m.max(initial=0))
    shapes, _ = widened(layer.iloc[chosen], grid, width_m[chosen])
    return shapes[shapely.intersects(shapes, grid.to_metric(grid.outline).buffer(BEYOND_M))]


def area_on(layer: Optional[geopandas.GeoDataFrame], grid: Grid) -> BaseGeometry:
    """Return the places without a road on a grid, in its ground meters: their areas, and their lines as they are.

    The lines are widened by what the raster shows along them; see `close`. The collection is empty without any place.
    """
    if layer is None or not len(areas := areas_on(layer, grid)):
        return shapely.GeometryCollection()
    around = layer.iloc[near(layer, grid)]
    lines = shapely.get_parts(ground_shapes(around[shapely.get_dimensions(around.geometry) == 1], grid))
    lines = lines[shapely.length(lines) > 0]  # a double click leaves one without a length
    return shapely.GeometryCollection([*shapely.get_parts(shapely.union_all(areas)), *lines])


def _with_mask_width(area: BaseGeometry, grid: Grid, raster: RoadRaster) -> BaseGeometry:
    """Return the area with its lines buffered to the width of the road mask along them; see _MAX_HALF_WIDTH_M."""
    parts, step_m = shapely.get_parts(area), max(1.0, *grid.pixel_m)
    is_line, seen = shapely.get_dimensions(parts) == 1, partial(seen_at, grid, raster)
    vertices, line = shapely.get_coordinates(shapely.segmentize(parts[is_line], step_m), return_index=True)
    # Segments by the index of their first vertex; without those far from the raster.
    first = np.flatnonzero(np.diff(line) == 0)
    low, high = np.reshape(grid.to_metric(grid.outline).bounds, (2, 2))
    first = first[((vertices[first] > low - _MEDIAN_M) & (vertices[first] < high + _MEDIAN_M)).all(axis=1)]
    segments = np.stack([vertices[first], vertices[first + 1]], axis=1)
    normal, breaks = turned(unit(np.diff(segments, axis=1)[:, 0])), np.flatnonzero(np.diff(first) > 1) + 1
    left_m, right_m = (_half_width_m(segments.mean(axis=1), way, breaks, step_m, seen) for way in (normal, -normal))
    shifted = shapely.linestrings(segments + (normal * (left_m - right_m)[:, None] / 2)[:, None])
    width_m = left_m + right_m
    is_wider = width_m > _USUAL_WIDTH_M
    return shapely.union_all([*parts[~is_line], *shapely.buffer(shifted[is_wider], width_m[is_wider] / 2 + step_m)])


def _half_width_m(points: np.ndarray, normal: np.ndarray, breaks: np.ndarray, step_m: float, seen: Seen) -> np.ndarray:
    """Return the width of the road mask on one side of lines, at (n, 2) points, as a moving median: (n,) float64.

    `normal`, (n, 2), points to that side. `breaks` are the indices at which another line begins.
    """
    distance_m = steps(_MAX_HALF_WIDTH_M, step_m / 2)
    is_road = seen(points[:, None] + normal[:, None] * distance_m, 1.0) | (distance_m[:, 0] <= _USUAL_WIDTH_M / 2)
    width_m = np.logical_and.accumulate(is_road, axis=1).sum(axis=1) * step_m / 2
    size = 1 + 2 * round(_MEDIAN_M / 2 / step_m)
    return np.concatenate([median_filter(each, size) for each in np.split(width_m, breaks)])


class RoadLeftOut(NamedTuple):
    """How much of a raster's road lies in places without a road, and how many bridges stay there."""

    bridges: int
    road_px: int  # of the raster
    left_out_px: int  # of these


@dataclass(frozen=True)
class Closed:
    """The pixels on which there is no road, (height, width) bool: places without a road, but for bridges."""

    pixels: np.ndarray
    left_out: RoadLeftOut


def tell(left_out: RoadLeftOut, reporter: Reporter) -> None:
    """Log what is left out, and warn where that is most of the road."""
    bridges, road_px, left_out_px = left_out
    fraction = left_out_px / max(1, road_px)
    reporter.log(f"{fraction:.1%} of the road pixels lie in {_PURPOSE} and are left out. Bridges kept: {bridges:,}.")
    if fraction > _MOST:
        reporter.warning(
            f"{fraction:.0%} of all road pixels lie in {_PURPOSE} (no_road) and are left out. Check that this "
            "layer does not mark the roads."
        )


def close(raster: RoadRaster, grid: Grid, area: BaseGeometry) -> Closed:
    """Return where a raster on a grid has no road, by an area in the grid's ground meters; see `area_on`."""
    area = _with_mask_width(area, grid, raster)
    bridges = find_bridges(area, grid, raster)
    shapes = shapely.get_parts([shapely.difference(area, shapely.union_all(bridges))])
    pixels, road_px, left_out_px = large_arrays.allocate((raster.height, raster.width), bool), 0, 0
    for first_row, count in raster.strips():
        strip = burn_shapes(shapes, grid, (0, first_row, raster.width, count))
        pixels[first_row : first_row + count] = strip
        road = raster.road(*raster.read(first_row, count))
        road_px, left_out_px = road_px + int(road.sum()), left_out_px + int((road & strip).sum())
    return Closed(pixels, RoadLeftOut(len(bridges), road_px, left_out_px))


def without(raster: RoadRaster, closed: Closed) -> RoadRaster:
    """Return a road raster without road on closed pixels."""

    def read(first_row: int, count: int) -> tuple[np.ndarray, np.ndarray]:
        values, known = raster.read(first_row, count)
        return np.where(closed.pixels[first_row : first_row + count], values.dtype.type(0), values), known

    return replace(raster, read=read)


def keep_out(probability: np.ndarray, grid: Grid, area: BaseGeometry, threshold: float) -> Closed:
    """Set the probability bytes of a grid, (height, width) uint8, to 0 where there is no road; see `close`."""
    closed = close(byte_raster(probability, threshold), grid, area)
    for rows in large_arrays.strips(*probability.shape):
        probability[rows][closed.pixels[rows] & (probability[rows] != NO_DATA)] = 0
    return closed
