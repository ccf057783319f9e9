"""Lines of several layers in one plane of ground meters, with what their fields say of bridges and speeds.

Knows layers, coordinate systems and fields; knows nothing of how lines are linked.

The plane is the azimuthal equidistant projection around the middle of all the layers. From there distances are exact;
across that direction they come out too long by c² / 6, where c is the distance from the middle in Earth radii: by
0.4 mm in a kilometer 10 km away, and by 16 cm in a kilometer at `LARGEST_RADIUS_M`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import geopandas
import numpy as np
import pandas
import pyproj
import shapely
from pyproj.exceptions import ProjError
from shapely.geometry.base import BaseGeometry

from ..errors import LabelError
from ..events import Reporter
from ..geodata.vectors import read_layer, require_fields, require_geometry
from ..jobs import METERS_PER_SECOND

LARGEST_RADIUS_M = 200_000.0
_GEOGRAPHIC = pyproj.CRS("EPSG:4326")
# What a field says of a road that is on no bridge. SpaceNet has 1 for a bridge, 2 for none and 3 for not known;
# OpenStreetMap has yes or a kind of bridge, and its shape files T and F.
_NO_BRIDGE = {"", "no", "n", "false", "f", "none", "nan", "null", "<na>", "unknown"}


@dataclass(frozen=True)
class LineFields:
    """Which fields of a layer tell what; a field that is empty text tells nothing.

    Parameters
    ----------
    bridge : str
        Whether the line is a bridge (or a tunnel): 1, yes, true, or a kind of bridge.
    speed : str
        Speed, a number.
    speed_unit : str
        Of `jobs.METERS_PER_SECOND`.
    """

    bridge: str = ""
    speed: str = ""
    speed_unit: str = "km/h"


@dataclass(frozen=True)
class Lines:
    """Lines in a plane of ground meters.

    Parameters
    ----------
    shapes : ndarray (n,), object
        Flat `LineString`s, each of some length.
    feature : ndarray (n,), int64
        The row of the layer that each is, or is a part of.
    bridge : ndarray (n,), bool
        Lines that meet others only at their ends.
    speed_mps : ndarray (n,), float64
        Meters a second; not a number where it is not known.
    """

    shapes: np.ndarray
    feature: np.ndarray
    bridge: np.ndarray
    speed_mps: np.ndarray

    def __len__(self) -> int:
        return len(self.shapes)

    @property
    def length_m(self) -> np.ndarray:
        """Length of each line: (n,), float64."""
        return shapely.length(self.shapes)

    def parted(self, shapes: np.ndarray, line: np.ndarray) -> Lines:
        """Return parts of lines, with what is known of the line that each is a part of, given by its number."""
        return Lines(shapes, self.feature[line], self.bridge[line], self.speed_mps[line])

    def moved(self, by_m: np.ndarray) -> Lines:
        """Return the lines moved east and north."""
        return replace(self, shapes=shapely.transform(self.shapes, lambda points: points + by_m))

    def with_speeds(self) -> Lines:
        """Return the lines where those without a speed have the median of the others; all must not be without."""
        median = np.nanmedian(self.speed_mps)
        return replace(self, speed_mps=np.where(np.isnan(self.speed_mps), median, self.speed_mps))


def make_lines(shapes: np.ndarray, bridge: np.ndarray | None = None, speed_mps: np.ndarray | None = None) -> Lines:
    """Return single `LineString`s in meters as Lines; bridges are none, and speeds not known, where not given."""
    return Lines(
        np.asarray(shapes, dtype=object),
        np.arange(len(shapes)),
        np.zeros(len(shapes), dtype=bool) if bridge is None else np.asarray(bridge, dtype=bool),
        np.full(len(shapes), np.nan) if speed_mps is None else np.asarray(speed_mps, dtype=np.float64),
    )


def read_line_layer(path: str, purpose: str, fields: LineFields) -> geopandas.GeoDataFrame:
    """Return a layer of lines, in its own CRS.

    Parameters
    ----------
    path, purpose : str
        As for `vectors.read_layer`.
    fields : LineFields

    Raises
    ------
    LabelError
        The layer cannot be read, holds something else than lines, lacks a field, or lies nowhere on Earth.
    """
    layer = read_layer(path, purpose)
    require_geometry(layer, ("lines",), path, purpose)
    require_fields(layer, (fields.bridge, fields.speed), path, purpose)
    _check_place(layer, path, purpose)
    return layer


def _check_place(layer: geopandas.GeoDataFrame, path: str, purpose: str) -> None:
    """Raise LabelError where a layer does not lie on Earth as a whole."""
    try:
        on_earth = np.isfinite(shapely.get_coordinates(layer.geometry.to_crs(_GEOGRAPHIC).to_numpy())).all()
    except ProjError:
        on_earth = False
    if not on_earth:
        raise LabelError(
            f"The {purpose} ({path}) lie outside the area of their coordinate system, {layer.crs.name}.",
            "Check the layer's coordinate system.",
        )


def shared_plane(*layers: geopandas.GeoDataFrame) -> pyproj.CRS:
    """Return the plane around the middle of all vertices of some layers, each of which has a CRS of its own.

    Raises
    ------
    LabelError
        Together they reach too far for one plane.
    """
    places = np.concatenate([shapely.get_coordinates(_project(layer, _GEOGRAPHIC)) for layer in layers])
    longitude, latitude = np.radians(places).T
    directions = np.column_stack(
        [np.cos(latitude) * np.cos(longitude), np.cos(latitude) * np.sin(longitude), np.sin(latitude)]
    )
    low, high = directions.min(axis=0), directions.max(axis=0)  # works across the 180th meridian, too
    x, y, z = (low + high) / 2
    middle = np.degrees([np.arctan2(y, x), np.arctan2(z, np.hypot(x, y))])
    plane = pyproj.CRS.from_dict({"proj": "aeqd", "lon_0": middle[0], "lat_0": middle[1], "datum": "WGS84"})
    reach_m = max(np.hypot(*shapely.get_coordinates(_project(layer, plane)).T).max() for layer in layers)
    if not reach_m <= LARGEST_RADIUS_M:
        raise LabelError(
            f"The lines reach {reach_m / 1000:,.0f} km from their middle, too far to measure in one plane.",
            f"Check the layers' coordinate systems, or take parts within {LARGEST_RADIUS_M / 1000:.0f} km of a place.",
        )
    return plane


def _project(layer: geopandas.GeoDataFrame, crs: pyproj.CRS) -> np.ndarray:
    """Return a layer's geometries in another CRS."""
    return layer.geometry.to_crs(crs).to_numpy()


def lines_in(plane: pyproj.CRS, layer: geopandas.GeoDataFrame, fields: LineFields) -> Lines:
    """Return a layer's lines in a plane: multi-part lines as their parts, and what has no length left out."""
    shapes, feature = shapely.get_parts(_project(layer, plane), return_index=True)
    shapes = shapely.remove_repeated_points(shapely.force_2d(shapes))
    is_line = shapely.length(shapes) > 0
    shapes, feature = shapes[is_line], feature[is_line].astype(np.int64)
    nothing = pandas.Series(np.nan, index=layer.index)
    bridge = layer[fields.bridge].map(_is_bridge).to_numpy(dtype=bool) if fields.bridge else np.zeros(len(layer), bool)
    speed = _positive(layer[fields.speed] if fields.speed else nothing) * METERS_PER_SECOND[fields.speed_unit]
    return Lines(shapes, feature, bridge[feature], speed[feature])


def clipped(lines: Lines, area: BaseGeometry) -> Lines:
    """Return the parts of lines that lie in an area of the same plane."""
    inside = shapely.intersection(lines.shapes, area)
    shapes, line = shapely.get_parts(inside, return_index=True)
    kept = (shapely.get_dimensions(shapes) == 1) & (shapely.length(shapes) > 0)
    return lines.parted(shapes[kept], line[kept])


def with_speeds_told(lines: Lines, name: str, speed_field: str, reporter: Reporter) -> Lines:
    """Return lines of which each has a speed, and tell how many had none.

    Raises
    ------
    LabelError
        None has.
    """
    unknown = np.isnan(lines.speed_mps)
    if len(lines) and unknown.all():
        raise LabelError(
            f"The field {speed_field!r} of the {name} has no number above 0.", "Choose another speed field, or none."
        )
    if unknown.any():
        reporter.warning(
            f"{unknown.sum():,} of {len(lines):,} {name} have no speed; they get the median of the others."
        )
    return lines.with_speeds() if unknown.any() else lines


def _is_bridge(value: object) -> bool:
    text = str(value).strip().lower()
    try:
        return float(text) == 1
    except ValueError:
        return text not in _NO_BRIDGE


def _positive(values: pandas.Series) -> np.ndarray:
    """Return numbers, and not a number where there is none above 0."""
    numbers = pandas.to_numeric(values, errors="coerce").to_numpy(dtype=np.float64)
    return np.where(np.isfinite(numbers) & (numbers > 0), numbers, np.nan)
