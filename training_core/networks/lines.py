"""Lines of several layers projected to one plane in meters, with bridges, speeds and directions from fields.

Scope: layers, coordinate systems and fields. Independent of how lines are connected.

The plane is the azimuthal equidistant projection around the middle of all the layers. From there distances are exact.
Across that direction they are too long by c² / 6, where c is the distance from the middle in Earth radii: by 0.4 mm in
a kilometer 10 km away, and by 16 cm in a kilometer at `MAX_RADIUS_M`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import geopandas
import numpy as np
import pandas
import pyproj
import shapely
from shapely.geometry.base import BaseGeometry

from ..errors import LayerError
from ..events import Reporter
from ..geodata.antimeridian import middle_of, settled
from ..geodata.fields import check_numbers, numbers_in
from ..geodata.osm_layers import are_bridges, is_bridge, is_extract, is_osm_file, network_roads
from ..geodata.parallel_arrays import ranges, selected
from ..geodata.shapes import parts_in, projected, valid
from ..geodata.vectors import read_layer, refuse_tangles, require_fields, require_geometry
from ..jobs import METERS_PER_SECOND
from ..jobs.fields import word_in

MAX_RADIUS_M = 200_000.0
# A message shows this number of values, and of characters of each.
_SHOWN, _SHOWN_CHARACTERS = 3, 50
_GEOGRAPHIC = pyproj.CRS("EPSG:4326")
_SINGLE_LINES = (shapely.GeometryType.LINESTRING, shapely.GeometryType.LINEARRING)
# Shorter segments are straight; longer ones may be apart from their curve by half of what OpenStreetMap rounds to, as
# far as so many vertices allow.
_SHORT_M, _APART_M, _MAX_ADDED = 100.0, 0.005, 200_000
_CIRCUMFERENCE_M = 40_075_017.0  # of the Earth at the equator, WGS 84
# In which direction roads are open; closed ones in none.
BOTH, ALONG, AGAINST, CLOSED = 0, 1, -1, 2
# Values of a one-way field. OpenStreetMap has yes, no and -1, Geofabrik and HERE F (from the first vertex), T (to it)
# and B (both), TomTom and Esri FT, TF and N (closed), SpaceNet 1 for one way and 2 for both.
_DIRECTIONS = {
    **dict.fromkeys(("yes", "y", "true", "1", "f", "ft"), ALONG),
    **dict.fromkeys(("-1", "reverse", "t", "tf"), AGAINST),
    **dict.fromkeys(("no", "false", "0", "2", "b", ""), BOTH),
}
# A field of yes and no, or of N alone, has it for no.
_CLOSED_OR_NO = "n"


@dataclass(frozen=True)
class LineFields:
    """Names of a layer's fields; empty text for none.

    `bridge` marks bridges and tunnels: 1, yes, true, or a kind of bridge. `speed` is a number in `speed_unit`, a key of
    `jobs.METERS_PER_SECOND`.
    """

    bridge: str = ""
    speed: str = ""
    speed_unit: str = "km/h"


@dataclass(frozen=True)
class Lines:
    """Lines in a plane of meters."""

    shapes: np.ndarray  # (n,) object: two-dimensional `LineString`s longer than 0
    feature: np.ndarray  # (n,) int64: the row of the layer that each is a part of
    bridge: np.ndarray  # (n,) bool: lines that meet others only at their ends
    speed_mps: np.ndarray  # (n,) float64: meters per second; NaN where unknown
    direction: np.ndarray  # (n,) int64: BOTH or CLOSED, or ALONG or AGAINST its vertices on a one-way road

    def __len__(self) -> int:
        return len(self.shapes)

    @property
    def length_m(self) -> np.ndarray:
        """Length of each line: (n,) float64."""
        return shapely.length(self.shapes)

    def parted(self, shapes: np.ndarray, line: np.ndarray) -> Lines:
        """Return (k,) object parts with the attributes of the (k,) int64 lines that they belong to."""
        return Lines(shapes, self.feature[line], self.bridge[line], self.speed_mps[line], self.direction[line])

    def with_median_speed(self) -> Lines:
        """Return the lines with unknown speeds replaced by the median of the known ones, of which there must be one."""
        median = np.nanmedian(self.speed_mps)
        return replace(self, speed_mps=np.where(np.isnan(self.speed_mps), median, self.speed_mps))


def make_lines(shapes: np.ndarray, bridge: np.ndarray | None = None, speed_mps: np.ndarray | None = None) -> Lines:
    """Return (n,) object `LineString`s in meters as Lines, each a feature of its own and open in both directions.

    By default no line is a bridge, and speeds are NaN.
    """
    return Lines(
        np.asarray(shapes, dtype=object),
        np.arange(len(shapes)),
        np.zeros(len(shapes), dtype=bool) if bridge is None else np.asarray(bridge, dtype=bool),
        np.full(len(shapes), np.nan) if speed_mps is None else np.asarray(speed_mps, dtype=np.float64),
        np.full(len(shapes), BOTH),
    )


def read_line_layer(
    path: str, purpose: str, fields: LineFields, reporter: Reporter, named: Iterable[str] = ()
) -> geopandas.GeoDataFrame:
    """Return a layer of lines, in its own CRS, that has some fields; see `vectors.read_layer`.

    It may be empty: a job writes such a layer where it finds no road. An extract of OpenStreetMap means its roads, with
    the index of the whole layer; other `named` fields, too, may be tags (see `osm_layers.network_roads`). Raises
    LayerError if the layer cannot be read, has other geometries than lines, none of any length, or lacks a field; an
    extract has no road; a line crosses itself far more often than a drawn one; or it leads beyond the Earth.
    """
    layer = read_layer(path, purpose, reporter)
    if len(layer) and (is_osm_file(path) or is_extract(layer)):
        layer = network_roads(layer, path, purpose, (fields.bridge, fields.speed, *named), reporter)
    return checked_lines(layer, path, purpose, fields, reporter)


def checked_lines(
    layer: geopandas.GeoDataFrame, path: str, purpose: str, fields: LineFields, reporter: Reporter
) -> geopandas.GeoDataFrame:
    """Return a layer as read, if it has lines and some fields; collections of nothing but lines are multi-part lines.

    Raises LayerError as `read_line_layer` does.
    """
    layer = layer.set_geometry(_without_collections(layer.geometry.to_numpy()), crs=layer.crs)
    require_geometry(layer, ("lines",), path, purpose)
    require_fields(layer, (fields.bridge, fields.speed), path, purpose)
    check_numbers(layer, fields.speed, path, purpose, reporter)
    refuse_tangles(layer.geometry.to_numpy(), path, purpose)
    shapes = shapely.get_parts(layer.geometry.to_numpy())
    _refuse_beyond_earth(shapes, layer.crs, path, purpose)
    _tell_of_shapes(shapes, path, purpose, reporter)
    return layer


def _without_collections(shapes: np.ndarray) -> np.ndarray:
    """Return shapes, (n,) object, with collections of nothing but lines as multi-part lines."""
    rows = np.flatnonzero(shapely.get_type_id(shapes) == shapely.GeometryType.GEOMETRYCOLLECTION)
    shapes = shapes.copy()
    for row in rows:
        parts = shapely.get_parts(shapes[row])
        if np.isin(shapely.get_type_id(parts), _SINGLE_LINES).all():
            shapes[row] = shapely.multilinestrings(parts)
    return shapes


def _refuse_beyond_earth(shapes: np.ndarray, crs: pyproj.CRS, path: str, purpose: str) -> None:
    """Raise LayerError if a straight piece of lines, (n,) object, is longer than the Earth's circumference.

    Such a vertex is an error, but projections repeat themselves, so that it may have a place on the Earth.
    """
    if not len(shapes) or not crs.is_projected:  # an empty layer may have no CRS
        return
    points, line = shapely.get_coordinates(shapes, return_index=True)
    piece = np.where(line[1:] == line[:-1], np.hypot(*np.diff(points, axis=0).T), 0)
    piece_m = piece.max(initial=0) * crs.axis_info[0].unit_conversion_factor
    if piece_m > _CIRCUMFERENCE_M:
        raise LayerError(
            f"A line of the {purpose} ({path}) has a straight piece of {piece_m / 1000:,.0f} km, more than the Earth's "
            "circumference.",
            "Delete the wrong vertex, or check the layer's coordinate system.",
        )


def _tell_of_shapes(shapes: np.ndarray, path: str, purpose: str, reporter: Reporter) -> None:
    """Warn of lines, (n,) object, that have no length or lie on others; raise LayerError if none has a length."""
    has_length = shapely.length(shapes) > 0
    if len(shapes) and not has_length.any():
        raise LayerError(f"The {purpose} ({path}) have no line of any length.", "Choose another layer.")
    points, copies = int((~has_length).sum()), int(has_length.sum()) - len(_first_of_same(shapes[has_length]))
    told = [f"lines of no length ({points:,}), which are left out"] if points else []
    told += [f"lines with the vertices of another one in either order ({copies:,}), which count once"] if copies else []
    if told:
        reporter.warning(f"The {purpose} ({path}) have {', and '.join(told)}.")


def _first_of_same(shapes: np.ndarray) -> np.ndarray:
    """Return the first of all lines with the same vertices in either order: (k,) int64, ascending."""
    return np.sort(np.unique(shapely.to_wkb(shapely.normalize(shapes)), return_index=True)[1])


def without_copies(lines: Lines) -> Lines:
    """Return lines of which none has the vertices of another one, in this or the opposite order; the first are kept."""
    return selected(lines, _first_of_same(lines.shapes))


def shared_plane(*layers: geopandas.GeoDataFrame, of: str = "the layers") -> pyproj.CRS:
    """Return the CRS of the plane around the middle of all vertices of layers in any CRSs; `of` names their files.

    Raises LayerError if the layers reach farther than `MAX_RADIUS_M` from their middle.
    """
    # The middle of the bounding box of directions from the Earth's center, which also works across the antimeridian.
    places = np.concatenate([shapely.get_coordinates(layer.geometry.to_crs(_GEOGRAPHIC)) for layer in layers])
    places = places if len(places) else np.zeros((1, 2))  # for empty layers any plane does
    longitude, latitude = np.radians(places).T
    directions = np.column_stack(
        [np.cos(latitude) * np.cos(longitude), np.cos(latitude) * np.sin(longitude), np.sin(latitude)]
    )
    low, high = directions.min(axis=0), directions.max(axis=0)
    x, y, z = (low + high) / 2
    middle = np.degrees([np.arctan2(y, x), np.arctan2(z, np.hypot(x, y))])
    plane = pyproj.CRS.from_dict({"proj": "aeqd", "lon_0": middle[0], "lat_0": middle[1], "datum": "WGS84"})
    reaches_m = (np.hypot(*shapely.get_coordinates(layer.geometry.to_crs(plane)).T) for layer in layers)
    reach_m = max(each_m.max(initial=0) for each_m in reaches_m)
    if not reach_m <= MAX_RADIUS_M:
        raise LayerError(
            f"The lines of {of} reach {reach_m / 1000:,.0f} km from their middle, too far to measure in one plane.",
            f"Check the layers' coordinate systems, or take parts within {MAX_RADIUS_M / 1000:.0f} km of a place.",
        )
    return plane


def areas_in(plane: pyproj.CRS, layer: geopandas.GeoDataFrame) -> np.ndarray:
    """Return a layer's polygons, (n,) object, in the plane of `shared_plane`, as far as lines may reach in it."""
    reach_m = MAX_RADIUS_M
    return valid(projected(layer, plane, (-reach_m, -reach_m, reach_m, reach_m)))


def area_in(plane: pyproj.CRS, layer: geopandas.GeoDataFrame) -> BaseGeometry:
    """Return the union of a layer's polygons; see `areas_in`."""
    return shapely.union_all(areas_in(plane, layer))


def lines_in(plane: pyproj.CRS, layer: geopandas.GeoDataFrame, fields: LineFields) -> Lines:
    """Return a layer's lines in the plane of `shared_plane`, parts of multi-part lines, without those of no length.

    Long ones have further vertices; see `as_in_file`. Speeds that are not numbers above 0 are unknown, and all lines
    are open in both directions. In an extract of OpenStreetMap, tunnels count as bridges, and without a bridge field
    its tags say which roads are bridges. An empty layer may lack the fields.
    """
    # Single lines without heights and repeated vertices, each with the row of its feature; then attributes by row.
    shapes, feature = shapely.get_parts(settled(layer, middle_of(layer)).geometry.to_numpy(), return_index=True)
    shapes = shapely.remove_repeated_points(_on_plane(shapes, layer.crs, plane))
    is_line = shapely.length(shapes) > 0
    shapes, feature = shapes[is_line], feature[is_line].astype(np.int64)
    bridge, speed = np.zeros(len(layer), dtype=bool), np.full(len(layer), np.nan)
    if fields.bridge in layer.columns:
        bridge = layer[fields.bridge].map(is_bridge).to_numpy(dtype=bool)
    if is_extract(layer):
        bridge = (bridge if fields.bridge else are_bridges(layer)) | are_bridges(layer, "tunnel")
    if fields.speed in layer.columns:
        speed = numbers_in(layer[fields.speed])
        speed = np.where(np.isfinite(speed) & (speed > 0), speed, np.nan)
    speed_mps = speed[feature] * METERS_PER_SECOND[fields.speed_unit]
    return Lines(shapes, feature, bridge[feature], speed_mps, np.full(len(shapes), BOTH))


def _on_plane(shapes: np.ndarray, crs: pyproj.CRS, plane: pyproj.CRS) -> np.ndarray:
    """Return `LineString`s of a CRS, (n,) object, in a plane, where they run as they do in their own CRS.

    What is straight in degrees is curved in meters: at 50 degrees of latitude, by a meter in 7 km. So long segments get
    further vertices, between which they are apart by no more than `_APART_M`; see `as_in_file`.
    """
    to_plane = pyproj.Transformer.from_crs(crs, plane, always_xy=True)
    points, line = shapely.get_coordinates(shapes, return_index=True)
    ends = np.column_stack(to_plane.transform(*points.T))
    begin = np.flatnonzero((np.diff(line) == 0) & (np.hypot(*np.diff(ends, axis=0).T) > _SHORT_M))
    chord, apart_m = ends[begin + 1] - ends[begin], np.zeros(len(begin))
    for share in (0.25, 0.5, 0.75):
        places = points[begin] + share * (points[begin + 1] - points[begin])
        x, y = (np.column_stack(to_plane.transform(*places.T)) - ends[begin]).T
        apart_m = np.maximum(apart_m, np.abs(chord[:, 0] * y - chord[:, 1] * x) / np.hypot(*chord.T))
    # A part of a segment is apart by its length squared.
    pieces = np.sqrt(apart_m / _APART_M)
    pieces *= min(1.0, _MAX_ADDED / max(pieces.sum(), 1.0))
    counts = np.ones(len(points), dtype=np.int64)
    counts[begin] = np.maximum(np.ceil(pieces), 1)
    row = np.repeat(np.arange(len(points)), counts)
    share_of_row = ranges(np.zeros_like(counts), counts) / counts[row]
    dense = points[row] + share_of_row[:, None] * (points[np.minimum(row + 1, len(points) - 1)] - points[row])
    return shapely.linestrings(np.column_stack(to_plane.transform(*dense.T)), indices=line[row])


def drawn_places(layer: geopandas.GeoDataFrame, plane: pyproj.CRS) -> np.ndarray:
    """Return the vertices of a layer in the plane of `shared_plane`, as complex numbers: (n,) complex128."""
    shapes = settled(layer, middle_of(layer)).geometry.to_crs(plane).to_numpy()
    return shapely.get_coordinates(shapes) @ (1, 1j)


def as_in_file(shapes: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Return lines, (n,) object, without the vertices that `lines_in` has added; ends and `drawn_places` stay."""
    points, line = shapely.get_coordinates(shapes, return_index=True)
    changes = np.diff(line, prepend=-1, append=-1) != 0
    stays = changes[:-1] | changes[1:] | np.isin(points @ (1, 1j), places)
    return shapely.linestrings(points[stays], indices=line[stays])


def clipped(lines: Lines, area: BaseGeometry) -> Lines:
    """Return the parts of lines within an area in the same plane."""
    inside = parts_in(lines.shapes, np.array([area]))
    shapes, line = shapely.get_parts(inside, return_index=True)
    kept = (shapely.get_dimensions(shapes) == 1) & (shapely.length(shapes) > 0)
    return lines.parted(shapes[kept], line[kept])


def with_speeds(lines: Lines, name: str, path: str, speed_field: str, reporter: Reporter) -> Lines:
    """Return lines with unknown speeds replaced by the median of the others, and warn of their number.

    `name` is the lines in the plural. Raises LayerError if all speeds are unknown.
    """
    unknown = np.isnan(lines.speed_mps)
    if len(lines) and unknown.all():
        raise LayerError(
            f"The field {speed_field!r} of the {name} ({path}) has no number above 0.",
            "Choose another speed field, or none.",
        )
    if unknown.any():
        reporter.warning(
            f"{unknown.sum():,} of {len(lines):,} {name} have no speed. They get the median of the others."
        )
    return lines.with_median_speed() if unknown.any() else lines


def directions_of(values: pandas.Series, named: str, reporter: Reporter) -> np.ndarray:
    """Return BOTH, ALONG, AGAINST or CLOSED for each value of a one-way field, (n,) int64; messages call it `named`.

    Values of no known or no lasting direction, such as `reversible`, are BOTH, with a warning.
    """
    words = values.astype(object).where(values.notna(), None).map(word_in)
    is_no = "y" in set(words) or set(words) <= {_CLOSED_OR_NO}
    directions = words.map({**_DIRECTIONS, _CLOSED_OR_NO: BOTH if is_no else CLOSED})
    unknown = words[directions.isna()].value_counts()
    if len(unknown):
        examples = ", ".join(f"{str(word)[:_SHOWN_CHARACTERS]} ({count:,})" for word, count in unknown[:_SHOWN].items())
        reporter.warning(
            f"{unknown.sum():,} of {len(values):,} values in {named} tell no direction: {examples}"
            f"{', …' if len(unknown) > _SHOWN else ''}. These roads are two-way."
        )
    return directions.fillna(BOTH).to_numpy(dtype=np.int64)
