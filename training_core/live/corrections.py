"""Corrections by a click: a false road becomes a place without a road, and a gap gets its likely road.

Scope: the probability in view, the drawn roads, and a place. Independent of models and of commands.

A click removes connected pixels of the mask without drawn roads. They end at junctions of the network, since a false
road mostly branches off a true one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import shapely
from affine import Affine
from rasterio.features import shapes
from scipy import ndimage
from scipy.spatial import KDTree
from shapely.affinity import affine_transform
from shapely.geometry.base import BaseGeometry

from ..events import Reporter
from ..extraction.road_extraction import TracedRoads, trace_roads
from ..geodata.grid import Grid
from ..geodata.pixel_codes import reaches
from ..geodata.road_raster import byte_raster
from ..jobs import NetworkOptions
from ..networks.link_prediction import CONNECTED
from .commands import NO_ROAD, ROADS

# A click this near to a road means the road.
AIM_M = 3.0
# Links are searched within this distance of a click.
REACH_M = 40.0
# Only these surroundings of a click are traced, so that a large view does not slow down the answer.
AROUND_M, MAX_AROUND_PX = 250.0, 1000
# Links alone bridge gaps, and unlikely links are proposed as well, since a person asked for one.
_OPTIONS = NetworkOptions(gap_m=0, snap_m=0, likely_gap_m=60.0, link_probability=0.05, stub_m=0, spur_m=6.0)
# Outlines of pixels are simplified by this fraction of a pixel.
_SIMPLER = 0.75
# A piece extends this far beyond the mask, so that a lower threshold does not leave a rim.
_RIM_PX = 2


@dataclass(frozen=True)
class Correction:
    """A feature for a label layer in map coordinates, or a message why there is none."""

    layer: str = ""
    geometry: BaseGeometry | None = None
    message: str = ""


def correct(
    place: tuple[float, float], probability: np.ndarray, drawn: np.ndarray, grid: Grid, threshold: float
) -> Correction:
    """Return the correction for a click at a place (x, y) in the grid's CRS.

    The probability, (height, width), uint8, is road from the threshold on; drawn roads are (height, width), bool.
    """
    column, row = ~grid.transform @ place
    height, width = probability.shape
    if not (0 <= column < width and 0 <= row < height):
        return Correction(message="The place is not in view.")
    # Cut out the surroundings of the click.
    around = math.ceil(min(AROUND_M / grid.resolution_m, MAX_AROUND_PX))
    left, top = max(0, int(column) - around), max(0, int(row) - around)
    part = np.s_[top : int(row) + around, left : int(column) + around]
    probability, drawn, column, row = probability[part], drawn[part], column - left, row - top
    grid = grid.window(left, top, probability.shape[1], probability.shape[0])
    mask = reaches(probability, threshold)
    road = mask & ~drawn
    aim_px = AIM_M / grid.resolution_m
    near = _nearest(road, column, row, aim_px)
    traced = None
    if mask.any():
        raster = byte_raster(probability, threshold)
        traced = trace_roads(raster, grid.pixel_m, _OPTIONS, Reporter())
    if near is not None:
        piece = _piece(road, near, traced, grid)
        return Correction(NO_ROAD, _to_map(_outline(piece & ~drawn), grid.transform))
    if drawn[int(row), int(column)]:
        return Correction(message="A road is drawn here; delete or move it instead.")
    link = _nearest_link(traced, column, row, grid) if traced else None
    if link is None:
        return Correction(message="There is neither a predicted road here, nor a likely link over a gap.")
    return Correction(ROADS, _to_map(link, grid.transform))


def _nearest(mask: np.ndarray, column: float, row: float, reach_px: float) -> tuple[int, int] | None:
    """Return row and column of the pixel of a mask nearest to a place, if one is within reach."""
    top, left = max(0, int(row - reach_px)), max(0, int(column - reach_px))
    # Search the square around the place, then compare distances from pixel centers.
    rows, columns = np.nonzero(mask[top : int(row + reach_px) + 1, left : int(column + reach_px) + 1])
    if not len(rows):
        return None
    distance = np.hypot(rows + top + 0.5 - row, columns + left + 0.5 - column)
    nearest = int(distance.argmin())
    if distance[nearest] > reach_px:
        return None
    return int(rows[nearest]) + top, int(columns[nearest]) + left


def _piece(road: np.ndarray, at: tuple[int, int], traced: TracedRoads | None, grid: Grid) -> np.ndarray:
    """Return the pixels, (height, width), bool, of the connected road at a pixel, up to the next junctions."""
    parts, _ = ndimage.label(road, structure=np.ones((3, 3)))
    piece = parts == parts[at]
    if traced is not None and len(traced.graph.edges) > 1:
        graph = traced.graph
        # Each pixel belongs to the nearest edge of the network; keep those of the edge that was clicked.
        places = graph.points / grid.pixel_m  # in columns and rows
        tree = KDTree(places)
        rows, columns = np.nonzero(piece)
        nearest = graph.owner[tree.query(np.column_stack([columns, rows]))[1]]
        clicked = graph.owner[tree.query((at[1], at[0]))[1]]
        piece = np.zeros_like(piece)
        piece[rows[nearest == clicked], columns[nearest == clicked]] = True
        parts, _ = ndimage.label(piece, structure=np.ones((3, 3)))
        piece = parts == parts[at]
    return ndimage.binary_dilation(piece, iterations=_RIM_PX)


def _outline(piece: np.ndarray) -> BaseGeometry:
    """Return the outline of pixels in columns and rows."""
    outlines = [shapely.geometry.shape(outline) for outline, _ in shapes(piece.astype(np.uint8), mask=piece)]
    return shapely.make_valid(shapely.union_all(outlines).simplify(_SIMPLER))


def _nearest_link(traced: TracedRoads, column: float, row: float, grid: Grid) -> BaseGeometry | None:
    """Return the open link with the best distance and probability, in columns and rows."""
    links = traced.links
    if not len(links.paths):
        return None
    x_m, y_m = grid.pixel_m
    lines, place = links.paths.shapes(), shapely.Point((column - 0.5) * x_m, (row - 0.5) * y_m)
    distance_m = shapely.distance(lines, place)
    is_open = (links.outcome != CONNECTED) & (distance_m <= REACH_M)
    if not is_open.any():
        return None
    # Near and likely links are cheap.
    cost = np.where(is_open, (distance_m + 1) / np.maximum(links.probability, 1e-3), np.inf)
    return affine_transform(lines[int(cost.argmin())], [1 / x_m, 0, 0, 1 / y_m, 0.5, 0.5])


def _to_map(shape: BaseGeometry, transform: Affine) -> BaseGeometry:
    return affine_transform(shape, [transform.a, transform.b, transform.d, transform.e, transform.c, transform.f])
