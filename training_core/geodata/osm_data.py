"""Layers of a file of OpenStreetMap in an area: roads, bridges, water, railways, runways, with tags and versions.

Scope: GDAL's reading of the file, and features cut and widened. `osm_layers` says which of them are roads.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Optional

import geopandas
import numpy as np
import pandas
import pyogrio
import pyproj
import shapely

from ..errors import LayerError
from ..events import Reporter
from ..jobs.openstreetmap import NON_ROADS, RAILS, RUNWAYS, WATER
from ..jobs.overpass import JSON, fault_of
from .antimeridian import cut_at_antimeridian
from .fields import numbers_in
from .osm_layers import WIDTH_FIELD, are_bridges, classified, is_osm_file, non_roads_in, tag_values
from .shapes import parts_in, valid
from .sources import require_openable
from .vectors import read_layer

ROADS, BRIDGES, NO_ROAD = "roads", "bridges", "no_road"
# The type of geometry of each layer; the names are those of the job's fields.
LAYERS = {
    ROADS: "LineString", BRIDGES: "LineString", WATER: "Polygon", RAILS: "LineString", RUNWAYS: "Polygon",
    NO_ROAD: "Polygon",
}  # fmt: skip
_GEOGRAPHIC = pyproj.CRS("EPSG:4326")
_PURPOSE = "data of OpenStreetMap"
_OBJECT = ("osm_id", "osm_type", "osm_version")
_ALL_TAGS = "all_tags"
_OF_ROADS = (
    "name", "highway", "ref", "bridge", "tunnel", "layer", "oneway", "junction", "maxspeed", "lanes", "width",
    "surface", "tracktype", "smoothness", "access", "construction",
)  # fmt: skip
_OF_OTHERS = (
    "name", *(key for keys in NON_ROADS.values() for key in keys), "water", "intermittent", "service", "surface",
    "bridge", "tunnel", "layer", "width",
)  # fmt: skip
_SPEED, _KMH = "speed_kmh", {"km/h": 1.0, "kmh": 1.0, "mph": 1.609344}
# Closed ways with these keys are polygons, as GDAL has them by default.
_AREAS = "aeroway,natural,landuse"
_DEGREE_M = 111_195.0
_READABLE = (
    "Its name must end in .osm or .osm.pbf. In overpass turbo, write [out:xml] in place of [out:json], run the query, "
    "and export the raw data."
)


def read_layers(
    path: str, area: Optional[geopandas.GeoDataFrame], reporter: Reporter
) -> dict[str, geopandas.GeoDataFrame]:
    """Return the layers of a file of OpenStreetMap, by the names of `LAYERS`, in degrees and cut at polygons.

    Raises LayerError if the file is in another format, not complete or not readable, or has nothing in the area.
    """
    _check_file(path)
    areas = None if area is None else _in_degrees(area)
    table = _read(path, areas, reporter)
    ways = classified(table)
    roads = table[ways.is_road | ways.is_unbuilt]
    others = non_roads_in(table)
    if roads.empty and others.empty:
        raise LayerError(
            f"The {_PURPOSE} ({path}) have no road, water, railway or runway{'' if area is None else ' in the area'}.",
            "Choose another area, or a file that covers it.",
        )
    roads = _cut(roads.assign(**{_SPEED: numbers_in(tag_values(roads, "maxspeed"), _KMH)}), areas)
    others = _cut(others, areas)
    wide = _widened(others)
    kinds = {
        layer: np.any([tag_values(others, key).isin(values) for key, values in keys.items()], axis=0)
        for layer, keys in NON_ROADS.items()
    }
    is_line = shapely.get_dimensions(others.geometry.to_numpy()) == 1
    of_roads, of_others = [*_OBJECT, *_OF_ROADS, _SPEED, _ALL_TAGS], [*_OBJECT, *_OF_OTHERS, _ALL_TAGS]
    return {
        ROADS: roads[[*of_roads, "geometry"]],
        BRIDGES: roads[are_bridges(roads)][[*of_roads, "geometry"]],
        **{
            name: table[rows][[*of_others, "geometry"]]
            for name, table, rows in (
                (WATER, wide, kinds[WATER]),
                (RAILS, others, kinds[RAILS] & is_line),
                (RUNWAYS, wide, kinds[RUNWAYS]),
                (NO_ROAD, wide, slice(None)),
            )
        },
    }


def _check_file(path: str) -> None:
    """Raise LayerError if a file is in no format of OpenStreetMap, or is XML that is not complete."""
    name = f"The file of OpenStreetMap ({path})"
    if not is_osm_file(path):
        raise LayerError(f"{name} is not in a format that can be read here.", _READABLE)
    require_openable(path, name, LayerError)
    try:
        fault = "" if path.lower().endswith(".pbf") else fault_of(path)
    except OSError as error:
        raise LayerError(f"{name} cannot be read: {error.strerror}.", "Check that it is there.") from error
    if fault:
        remedy = _READABLE if fault == JSON else "Download it again, or a smaller area."
        raise LayerError(f"{name} cannot be used: {fault.rstrip('.')}.", remedy)


def _in_degrees(area: geopandas.GeoDataFrame) -> np.ndarray:
    """Return polygons as simple ones in degrees, (n,) object, cut at the antimeridian."""
    return shapely.get_parts(valid(cut_at_antimeridian(area.geometry.to_crs(_GEOGRAPHIC).to_numpy())))


def _read(path: str, areas: Optional[np.ndarray], reporter: Reporter) -> geopandas.GeoDataFrame:
    """Return the lines and polygons of a file, with their tags, that meet polygons."""
    within = None if areas is None else shapely.union_all(areas)
    with _configured():
        lines, polygons = (
            read_layer(f"{path}|layername={name}", _PURPOSE, reporter, within=within)
            for name in ("lines", "multipolygons")
        )
    of_ways = polygons["osm_id"].isna()
    polygons["osm_id"] = polygons["osm_id"].fillna(polygons["osm_way_id"])
    polygons["osm_type"], lines["osm_type"] = np.where(of_ways, "way", "relation"), "way"
    return pandas.concat([lines, polygons.drop(columns="osm_way_id")], ignore_index=True)


@contextmanager
def _configured() -> Iterator[None]:
    """Have GDAL read versions, all tags, and fields of usual ones."""
    fields = f"osm_id=yes\nosm_version=yes\nall_tags=yes\nattributes={','.join(dict.fromkeys(_OF_ROADS + _OF_OTHERS))}"
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "osmconf.ini")
        file.write_text(f"closed_ways_are_polygons={_AREAS}\n[lines]\n{fields}\n[multipolygons]\n{fields}\n")
        pyogrio.set_gdal_config_options({"OSM_CONFIG_FILE": str(file)})
        try:
            yield
        finally:
            pyogrio.set_gdal_config_options({"OSM_CONFIG_FILE": None})


def _cut(layer: geopandas.GeoDataFrame, areas: Optional[np.ndarray]) -> geopandas.GeoDataFrame:
    """Return the simple parts of lines and polygons, each with its fields, that lie within polygons if there are any.

    Where a feature only touches a polygon, nothing is left of it.
    """
    whole = layer.geometry.to_numpy()
    parts, row = shapely.get_parts(whole if areas is None else parts_in(whole, areas), return_index=True)
    is_kept = shapely.get_dimensions(parts) == shapely.get_dimensions(whole)[row]
    return layer.iloc[row[is_kept]].set_geometry(parts[is_kept], crs=layer.crs).reset_index(drop=True)


def _widened(layer: geopandas.GeoDataFrame) -> geopandas.GeoDataFrame:
    """Return a layer in degrees with its lines as polygons, as wide as WIDTH_FIELD says."""
    shapes = layer.geometry.to_numpy().copy()
    is_line = shapely.get_dimensions(shapes) == 1
    _, south, _, north = shapely.bounds(shapes[is_line]).T
    # On a map where degrees of longitude are as long as those of latitude, in the middle of each line.
    squeeze = np.cos(np.radians((south + north) / 2))
    width_deg = layer[WIDTH_FIELD].to_numpy()[is_line] / _DEGREE_M
    wide = shapely.buffer(_stretched(shapes[is_line], squeeze), width_deg / 2, quad_segs=4)
    shapes[is_line] = valid(_stretched(wide, 1 / squeeze))
    return layer.set_geometry(shapes, crs=layer.crs)


def _stretched(shapes: np.ndarray, factors: np.ndarray) -> np.ndarray:
    """Return shapes with the x of each multiplied by its factor."""
    points, owner = shapely.get_coordinates(shapes, return_index=True)
    points[:, 0] *= factors[owner]
    return shapely.set_coordinates(shapes.copy(), points)
