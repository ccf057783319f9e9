"""Grids: georeferenced pixels, their ground resolution in meters, and resampled grids.

Scope: coordinate reference systems, affine transforms, geodesic lengths. Independent of pixel values.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Optional

import numpy as np
import pyproj
from affine import Affine
from pyproj import Geod
from pyproj.exceptions import ProjError
from rasterio._err import CPLE_BaseError, CPLE_NotSupportedError
from rasterio.crs import CRS
from rasterio.errors import CRSError
from rasterio.io import DatasetReader
from rasterio.warp import transform as transform_coordinates
from shapely import transform as transform_geometry
from shapely.geometry import Polygon, box
from shapely.geometry.base import BaseGeometry

from ..errors import ImageryError, RoadSegError

GEOGRAPHIC = CRS.from_epsg(4326)
ELLIPSOID = Geod(ellps="WGS84")
# A plane in true meters, for pixels whose place is not known; nothing is written there.
NOWHERE = CRS.from_proj4("+proj=aeqd +lat_0=0 +lon_0=0 +datum=WGS84 +units=m")
# An image's own grid is used within this factor of the wanted resolution, so that the output needs no resampling.
OWN_GRID_TOLERANCE = 0.25
# Map coordinates on Earth are smaller, in any unit; PROJ may hang on larger ones.
MAX_COORDINATE = 1e10
# Pixels that are smaller or larger on the ground come from a wrong georeference. No camera takes finer ones, and with
# them any distance on the ground would be millions of pixels.
FINEST_M, COARSEST_M = 0.001, 10_000.0
# More pixels would take one machine weeks.
MAX_PX = 10**12
# Longitudes may be counted from 0 or run on across the antimeridian; a latitude may be off by a rounding error.
MAX_DEG = (540.0, 90.0 + 1e-6)
# Grids share their pixels if these lie on each other to this fraction of a pixel.
SAME_PX = 0.01

# Names of tiles of fAIr, which may have no georeference: column, row and zoom level of the web's tile pyramid.
_FAIR_TILE = re.compile(r"OAM-(\d{1,9})-(\d{1,9})-(\d{1,2})\.[^/\\]+")
_WEB_MERCATOR, _HALF_WORLD = CRS.from_epsg(3857), 20037508.342789244

# Column, row, width and height, in pixels.
Window = tuple[int, int, int, int]


@dataclass(frozen=True)
class Grid:
    """A raster's pixels on the map.

    `transform` leads from (column, row) of pixel corners to map coordinates; it may rotate, and its rows may run north.
    """

    crs: CRS
    transform: Affine
    width: int
    height: int

    @cached_property
    def metric_transform(self) -> Affine:
        """From (column, row) of pixel corners to a plane in ground meters, x east and y north of the first corner.

        One column and one row are measured on the ellipsoid at the grid's center. Raises ImageryError if the grid is
        not on Earth, or outside the area of its CRS.
        """
        # Two pairs of places: half a pixel to the left and right of the center, and above and below it.
        column, row = self.width / 2, self.height / 2
        points = [(column - 0.5, row), (column + 0.5, row), (column, row - 0.5), (column, row + 0.5)]
        longitude, latitude = _places(self, points, "The image")
        # Direction and length of one column step and one row step on the ground, as east and north.
        azimuth, _, length_m = ELLIPSOID.inv(longitude[::2], latitude[::2], longitude[1::2], latitude[1::2])
        east_m, north_m = length_m * np.sin(np.radians(azimuth)), length_m * np.cos(np.radians(azimuth))
        return Affine(east_m[0], east_m[1], 0, north_m[0], north_m[1], 0)

    @property
    def pixel_m(self) -> tuple[float, float]:
        """Size of a pixel on the ground in meters, along columns and along rows."""
        ground = self.metric_transform
        return math.hypot(ground.a, ground.d), math.hypot(ground.b, ground.e)

    @property
    def resolution_m(self) -> float:
        """Ground resolution in meters: the side of a square with the area of a pixel."""
        return math.sqrt(abs(self.metric_transform.determinant))

    @property
    def outline(self) -> Polygon:
        """The grid's border in map coordinates."""
        return transform_geometry(box(0, 0, self.width, self.height), _mapping(self.transform))

    def window(self, column: int, row: int, width: int, height: int) -> "Grid":
        """Return the part of this grid that begins at a pixel and has a size in pixels."""
        return Grid(self.crs, self.transform @ Affine.translation(column, row), width, height)

    def to_metric(self, geometry: BaseGeometry) -> BaseGeometry:
        """Return a geometry of this grid's CRS in the frame of `metric_transform`."""
        return transform_geometry(geometry, _mapping(self.metric_transform @ ~self.transform))

    def from_metric(self, shapes: np.ndarray) -> np.ndarray:
        """Return geometries in the frame of `metric_transform`, (n,) object, in this grid's CRS."""
        return transform_geometry(shapes, _mapping(self.transform @ ~self.metric_transform))

    def from_pixels_to_metric(self, shapes: np.ndarray) -> np.ndarray:
        """Return geometries in (column, row) of this grid, (n,) object, in the frame of `metric_transform`."""
        return transform_geometry(shapes, _mapping(self.metric_transform))

    def from_metric_to_pixels(self, shapes: np.ndarray) -> np.ndarray:
        """Return geometries in the frame of `metric_transform`, (n,) object, in (column, row) of this grid."""
        return transform_geometry(shapes, _mapping(~self.metric_transform))


def _mapping(transform: Affine) -> Callable[[np.ndarray], np.ndarray]:
    return lambda points: np.column_stack(transform @ tuple(points.T))


def is_georeferenced(dataset: DatasetReader) -> bool:
    """Whether a dataset says where it lies."""
    crs, transform = _place(dataset)
    return crs is not None and not (transform.is_degenerate or transform == Affine.identity())


def _place(dataset: DatasetReader) -> tuple[Optional[CRS], Affine]:
    """Return the CRS and transform of a dataset: its own or, if a tile of fAIr has none, those in its name."""
    found = _FAIR_TILE.fullmatch(re.split(r"[/\\]", dataset.name)[-1])
    if dataset.crs is not None or not found:
        return dataset.crs, dataset.transform
    column, row, zoom = map(int, found.groups())
    side = 2 * _HALF_WORLD / 2**zoom
    corner = Affine.translation(column * side - _HALF_WORLD, _HALF_WORLD - row * side)
    return _WEB_MERCATOR, corner @ Affine.scale(side / dataset.width, -side / dataset.height)


def grid_of(dataset: DatasetReader, pixel_m: float = 0.0) -> Grid:
    """Return a dataset's own grid; one without georeference gets square pixels of `pixel_m`, nowhere in particular.

    Raises ImageryError if the dataset has no CRS or georeference, is not on Earth, or its pixels are of absurd size or
    number.
    """
    if pixel_m and not is_georeferenced(dataset):
        return Grid(NOWHERE, Affine.scale(pixel_m, -pixel_m), dataset.width, dataset.height)
    crs, transform = _place(dataset)
    if not is_georeferenced(dataset):
        _require_no_model(dataset)
    if crs is None:
        raise ImageryError(
            f"{dataset.name} has no coordinate reference system.", "Set it in the layer's properties or with gdal_edit."
        )
    if transform.is_degenerate or transform == Affine.identity():
        raise ImageryError(
            f"{dataset.name} has no georeference.", "Georeference it, for example with QGIS' Georeferencer."
        )
    grid = Grid(crs, transform, dataset.width, dataset.height)
    if grid.width * grid.height > MAX_PX:
        raise ImageryError(
            f"{dataset.name} has {grid.width:,} x {grid.height:,} pixels, but at most {MAX_PX:,} can be used.",
            "Cut it into parts.",
        )
    _places(grid, [(0, 0), (grid.width, 0), (0, grid.height), (grid.width, grid.height)], dataset.name)
    sides_m = (*grid.pixel_m, grid.resolution_m)
    if not all(FINEST_M <= side_m <= COARSEST_M for side_m in sides_m):
        raise ImageryError(
            f"{dataset.name} has pixels of {sides_m[0]:.3g} x {sides_m[1]:.3g} m on the ground.",
            f"Set its correct coordinate reference system and georeference. Pixels from {FINEST_M * 1000:g} mm to "
            f"{COARSEST_M / 1000:g} km can be used.",
        )
    return grid


def _require_no_model(dataset: DatasetReader) -> None:
    """Check that a dataset without georeference is not placed by control points or RPCs, by which QGIS shows it.

    It would be resampled to another number of pixels, which must be the same for masks, mosaics and other machines.
    Raises ImageryError if it is.
    """
    points, tool = len(dataset.gcps[0]), "Raster > Projections > Warp (Reproject) in QGIS"
    if points:
        raise ImageryError(
            f"{dataset.name} is georeferenced only by {points} ground control points.",
            f"Warp it to a file with {tool}, and give that.",
        )
    if dataset.rpcs is not None:
        raise ImageryError(
            f"{dataset.name} is georeferenced only by RPCs (rational polynomial coefficients), which need the height "
            "of the ground.",
            f"Orthorectify it to a file with {tool}, with the additional parameters -rpc -to RPC_DEM= and the path of "
            "an elevation model, and give that.",
        )


def _places(grid: Grid, points: list[tuple[float, float]], name: str) -> tuple[list[float], list[float]]:
    """Return the longitudes and latitudes of points in pixels of a grid.

    Raises ImageryError if the CRS has no place on Earth, or a point lies outside its area.
    """
    x, y = zip(*(grid.transform @ point for point in points))
    place = f"({x[0]:g}, {y[0]:g})"
    remedy = (
        "Set its correct coordinate reference system and georeference, in the layer's properties or with gdal_edit."
    )
    if not all(abs(value) < MAX_COORDINATE for value in (*x, *y)):
        raise ImageryError(f"{name} is not on Earth: its coordinates are {place}.", remedy)
    try:
        if not (grid.crs.is_geographic or grid.crs.is_projected):
            raise CRSError("neither geographic nor projected")
        longitude, latitude = transform_coordinates(grid.crs, GEOGRAPHIC, x, y)
    except (CRSError, CPLE_NotSupportedError) as error:
        raise ImageryError(
            f"The coordinate reference system of {name}, {_crs_name(grid.crs)}, cannot be placed on Earth.", remedy
        ) from error
    except CPLE_BaseError:  # a point is outside
        longitude, latitude = [math.inf], [math.inf]
    if not (max(map(abs, longitude)) <= MAX_DEG[0] and max(map(abs, latitude)) <= MAX_DEG[1]):
        raise ImageryError(
            f"{name}, at {place}, lies outside the area of its coordinate reference system, {_crs_name(grid.crs)}.",
            remedy,
        )
    return longitude, latitude


def _crs_name(crs: CRS) -> str:
    try:
        return pyproj.CRS.from_wkt(crs.to_wkt()).name
    except (ProjError, CRSError):
        return "unknown"


def grid_at(image_grid: Grid, resolution_m: float) -> Grid:
    """Choose the grid on which to process an image at a ground resolution in meters; 0 means the image's own.

    It has the image's CRS, extent and orientation. It is the image's own grid if both sides of its pixels are within 25
    % of the resolution. Otherwise its pixels are square on the ground, as nearly as whole pixels allow. Raises
    RoadSegError if it would have more than 10^12 pixels.
    """
    if not resolution_m:
        return image_grid
    x_m, y_m = image_grid.pixel_m
    if all(abs(size_m / resolution_m - 1) <= OWN_GRID_TOLERANCE for size_m in (x_m, y_m)):
        return image_grid
    width = max(1, round(image_grid.width * x_m / resolution_m))
    height = max(1, round(image_grid.height * y_m / resolution_m))
    if width * height > MAX_PX:
        raise RoadSegError(
            f"At {resolution_m:g} m on the ground the image would have {width:,} x {height:,} pixels.",
            "Check the image's coordinate system and the ground resolution.",
        )
    scale = Affine.scale(image_grid.width / width, image_grid.height / height)
    return Grid(image_grid.crs, image_grid.transform @ scale, width, height)


def pixels_on(grid: Grid, plane: pyproj.CRS) -> Callable[[np.ndarray], np.ndarray]:
    """Return the function from points of a plane, (n, 2), to columns and rows of a grid, (n, 2) float64."""
    to_map = pyproj.Transformer.from_crs(plane, grid.crs, always_xy=True)
    inverse, middle = ~grid.transform, grid.transform @ (grid.width / 2, grid.height / 2)

    def to_pixels(points: np.ndarray) -> np.ndarray:
        x, y = to_map.transform(*points.T)
        if grid.crs.is_geographic:  # longitudes may run on across the antimeridian
            x = x + 360 * np.rint((middle[0] - x) / 360)
        return np.column_stack(inverse @ (x, y))

    return to_pixels


def is_on_grid(grid: Grid, pixels: np.ndarray) -> np.ndarray:
    """Return which columns and rows, (n, 2) float64, lie on a grid: (n,) bool."""
    columns, rows = pixels.T
    return (columns >= 0) & (columns < grid.width) & (rows >= 0) & (rows < grid.height)


def shared_offset(grid: Grid, other: Grid) -> Optional[tuple[int, int]]:
    """Return the column and row of a grid at which another one of its CRS begins; None if they do not share pixels."""
    to_pixels = ~grid.transform @ other.transform
    column, row = (round(value) for value in to_pixels @ (0, 0))
    # All corners are compared, since a difference in scale adds up over the pixels.
    for corner in ((0, 0), (other.width, 0), (0, other.height), (other.width, other.height)):
        x, y = to_pixels @ corner
        if max(abs(x - column - corner[0]), abs(y - row - corner[1])) > SAME_PX:
            return None
    return column, row


def common_window(window: Window, other: Window) -> Window:
    """Return the common part of two windows; width and height are 0 where they have none."""
    left, top = max(window[0], other[0]), max(window[1], other[1])
    right, bottom = (min(window[axis] + window[axis + 2], other[axis] + other[axis + 2]) for axis in (0, 1))
    return left, top, max(0, right - left), max(0, bottom - top)
