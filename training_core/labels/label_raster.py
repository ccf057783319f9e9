"""Label rasters: drawn roads rasterized to 1 road, 0 background, 255 ignore.

Scope: lines, polygons and their ground widths. Independent of the image's values and of the model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

import geopandas
import numpy as np
import pandas
import shapely

from ..geodata.grid import Grid
from ..geodata.pixel_codes import BACKGROUND, IGNORE, ROAD
from ..geodata.rasterize import burn_shapes, ground_shapes, pixel_window
from ..jobs import LabelOptions
from ..system import large_arrays

# Of which a line is buffered at once.
_PIECE_SEGMENTS = 8


@dataclass(frozen=True)
class Labels:
    """Labels on the part of a grid that is labeled.

    Parameters
    ----------
    column, row : int
        Of the first pixel of that part on the grid.
    values : ndarray (height, width), uint8
        BACKGROUND, ROAD or IGNORE.
    classes : ndarray (height, width), uint8, optional
        Number of the road's class, from 1; 0 without a road, or if its class is not known.
    """

    column: int
    row: int
    values: np.ndarray
    classes: Optional[np.ndarray] = None


def burn_labels(
    grid: Grid,
    roads: geopandas.GeoDataFrame,
    aoi: Optional[geopandas.GeoDataFrame],
    options: LabelOptions,
    class_numbers: Optional[np.ndarray] = None,
) -> Optional[Labels]:
    """Rasterize drawn roads to labels on a grid.

    Lines are buffered on the ground by half their width. Unlabeled is not background: pixels outside the area of
    interest, or without one further from a road than `background_m`, are ignored, and so are roads marked unsure.

    Parameters
    ----------
    grid : Grid
    roads : GeoDataFrame
        Lines or polygons, in any CRS.
    aoi : GeoDataFrame, optional
        Polygons, in any CRS.
    options : LabelOptions
        Width, fields and background distance.
    class_numbers : ndarray (roads,), uint8, optional
        Class of each road, from 1; 0 if it is not known. Where roads of several classes meet, the last class wins.

    Returns
    -------
    Labels or None
        None if neither the area of interest nor, without one, a road touches the grid.
    """
    shapes, road = _road_shapes(roads, grid, options)
    sure = is_sure(roads, options)[road]
    known = _known_ground(shapes, aoi, grid, options)
    column, row, width, height = pixel_window(known, grid)
    if not width or not height:
        return None
    values = large_arrays.allocate((height, width), np.uint8)
    for rows in large_arrays.strips(height, width):
        window = (column, row + rows.start, width, rows.stop - rows.start)
        strip = np.where(burn_shapes(known, grid, window), BACKGROUND, IGNORE).astype(np.uint8)
        is_known = strip == BACKGROUND
        strip[is_known & burn_shapes(shapes[sure], grid, window)] = ROAD
        strip[is_known & burn_shapes(shapes[~sure], grid, window)] = IGNORE
        values[rows] = strip
    numbers = np.zeros(len(road), dtype=np.uint8) if class_numbers is None else np.where(sure, class_numbers[road], 0)
    classes = _burn_classes(shapes, numbers, grid, (column, row, width, height)) if numbers.any() else None
    return Labels(column, row, values, classes)


def _burn_classes(shapes: np.ndarray, numbers: np.ndarray, grid: Grid, window: tuple[int, int, int, int]) -> np.ndarray:
    """Return the class of the road at each pixel of a window: (height, width), uint8."""
    column, row, width, height = window
    classes = large_arrays.allocate((height, width), np.uint8)
    for rows in large_arrays.strips(height, width):
        strip = (column, row + rows.start, width, rows.stop - rows.start)
        classes[rows] = 0
        for number in np.unique(numbers[numbers > 0]):
            classes[rows][burn_shapes(shapes[numbers == number], grid, strip)] = number
    return classes


def is_sure(roads: geopandas.GeoDataFrame, options: LabelOptions) -> np.ndarray:
    """Return which roads are not marked unsure in the sure field, all without one: (roads,), bool."""
    if not options.sure_field:
        return np.ones(len(roads), dtype=bool)
    doubtful = {"false", "f", "no", "n", "0", "0.0"}
    return ~roads[options.sure_field].map(lambda value: str(value).strip().lower() in doubtful).to_numpy(dtype=bool)


def own_widths_m(roads: geopandas.GeoDataFrame, field: str) -> np.ndarray:
    """Return the roads' widths in a field, in meters: (roads,), float64; NaN where it has no number above 0."""
    widths_m = pandas.to_numeric(roads[field], errors="coerce").to_numpy(dtype=float)
    return np.where(widths_m > 0, widths_m, np.nan)


def _road_shapes(roads: geopandas.GeoDataFrame, grid: Grid, options: LabelOptions) -> tuple[np.ndarray, np.ndarray]:
    """Return the roads as polygons in ground meters; lines without a valid width in the field get the common one.

    Returns
    -------
    shapes : ndarray (n,), object
        A line comes as the buffers of its pieces.
    road : ndarray (n,), int64
        The road that each is of.
    """
    width_m = np.full(len(roads), options.width_m)
    if options.width_field:
        own = own_widths_m(roads, options.width_field)
        width_m = np.where(np.isnan(own), width_m, own)
    shapes = ground_shapes(roads, grid)
    lines, areas = (np.flatnonzero(shapely.get_dimensions(shapes) == dimension) for dimension in (1, 2))
    pieces, line = _short_pieces(shapes[lines])
    road = np.concatenate([lines[line], areas])
    shapes = np.concatenate([shapely.buffer(pieces, width_m[lines[line]] / 2), shapes[areas]])
    order = np.argsort(road, kind="stable")  # of roads of several classes the last one counts
    return shapes[order], road[order]


def _short_pieces(lines: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return lines in pieces of a few segments each, and the line that each is a part of: (n,), object and int64.

    The time to buffer a line that crosses itself, as a track may, grows faster than the square of its length. The
    buffers of its pieces cover the same ground.
    """
    parts, line = shapely.get_parts(lines, return_index=True)
    points, part = shapely.get_coordinates(parts, return_index=True)
    end = np.cumsum(np.bincount(part, minlength=len(parts))) - 1
    begin = np.append(0, end[:-1] + 1)[: len(parts)]
    counts = -(-(end - begin) // _PIECE_SEGMENTS)
    part = np.repeat(np.arange(len(parts)), counts)
    first = begin[part] + _PIECE_SEGMENTS * (np.arange(len(part)) - np.repeat(np.cumsum(counts) - counts, counts))
    sizes = np.minimum(first + _PIECE_SEGMENTS, end[part]) - first + 1
    piece = np.repeat(np.arange(len(part)), sizes)
    within = np.arange(len(piece)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return shapely.linestrings(points[first[piece] + within], indices=piece), line[part]


def _known_ground(
    shapes: np.ndarray, aoi: Optional[geopandas.GeoDataFrame], grid: Grid, options: LabelOptions
) -> np.ndarray:
    if aoi is None:
        return shapely.buffer(shapes, options.background_m, quad_segs=4)
    return ground_shapes(aoi, grid)
