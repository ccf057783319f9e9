"""Vector layers read from files and checked: drawn roads, areas, points.

Scope: formats, layers within files, CRS, geometry types, fields. Independent of what the features mean.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from typing import Any, Optional

import geopandas
import numpy as np
import pandas
import pyogrio
import pyproj
import shapely
from pyogrio.errors import FeatureError
from pyproj.exceptions import ProjError
from shapely.errors import ShapelyError
from shapely.geometry.base import BaseGeometry

from ..errors import LayerError
from ..events import Reporter
from ..jobs.fields import TAKEN, describe_renamed, stored_names
from .fields import read_parquet, restore_types
from .grid import MAX_COORDINATE, MAX_DEG, Grid
from .osm_layers import without_deleted_ways
from .shapes import MAX_CROSSINGS, TooManyCrossings, boxes_around, check_crossings, valid
from .sources import QGIS_PART, for_pyogrio, require_openable
from .vector_output import is_parquet

# Dimensions of geometries by their names in messages, and the parts of the names of layer types.
_DIMENSIONS = {"points": 0, "lines": 1, "polygons": 2}
_TYPES = {"points": "Point", "lines": "LineString", "polygons": "Polygon"}
_GEOGRAPHIC = pyproj.CRS("EPSG:4326")
# Extent of layers that do not tell theirs, as extracts of OpenStreetMap.
_WORLD = (-180.0, -90.0, 180.0, 90.0)
# Maximum number of features of a layer that is read whole: it takes a second, and thousands of images stay closed.
MAX_WHOLE = 50_000
# Number of features read to find where a layer lies: the first may have no geometry.
_FEW = 100
# The messages of GDAL where it reads a value as another one, and where it leaves one out or fears that it changes it.
_CHANGED = re.compile(r"parsed incompletely|integer overflow")
_LEFT_OUT = re.compile(r"Invalid (content|value type)|clamped")
# By words in the messages of GDAL and pyogrio for programmers: the fault in other words, and the remedy.
_UNREADABLE = {
    "codec can't decode": (
        "its texts are not in the encoding that its .cpg file names",
        "Correct the .cpg file, for example to UTF-8 or ISO-8859-1.",
    ),
    ".shx": ("its .shx file is missing", "Put the files that end in .shx, .dbf and .prj beside the Shapefile."),
    "duckdb": (
        "it is a Parquet, Arrow or DuckDB file",
        "Let the name of a GeoParquet file end in .parquet. Save any other as a GeoPackage.",
    ),
    ".zip": ("it is no archive of one layer that RoadSeg reads", "Unpack it, and choose one of its files."),
    "not recognized": ("it is in no format that RoadSeg reads", "Save the layer as a GeoPackage, for example in QGIS."),
}


def read_layer(
    path: str,
    purpose: str,
    reporter: Optional[Reporter] = None,
    images: Iterable[Grid] = (),
    margin_m: float = 0.0,
    are_heights_told: bool = True,
    within: Optional[BaseGeometry] = None,
) -> geopandas.GeoDataFrame:
    """Return a vector layer, flat, all of it on Earth, polygons valid, without features that have no geometry.

    All input layers are read here, so GEOS and PROJ never meet NaN, infinity or a coordinate outside the layer's CRS. A
    path may have a layer and a filter in it as QGIS writes them: `roads.gpkg|layername=roads`. `purpose` names the
    layer in messages: `drawn roads`. A reporter is told of values, measures and features that are left out and, on
    demand, of heights, which a layer that is carried over to an output loses.

    A layer with more than `MAX_WHOLE` features, or with an unknown number as in extracts of OpenStreetMap, is read only
    within a distance, `margin_m`, of the grids of some images. `within` are polygons in the layer's CRS: only features
    that meet them are read, and there may be none. Raises LayerError if the layer cannot be read, has no CRS, features
    of which none has a geometry or is near the images, has a coordinate that is not on Earth, a polygon that crosses
    itself far more often than a drawn one, or a value that GDAL cannot read as its field's type. Raises OutputError if
    the runtime cannot read this format.
    """
    named = f"{purpose} ({path})"
    require_openable(path, f"The {named}", LayerError)
    try:
        file, where = _parse_source(path)
        where.update({"mask": within} if within else _near(file, where["layer"], images, margin_m))
        layer = _checked_features(file, where, named, reporter)
        if reporter and where["layer"] == 0 and len(layers := _layers_of(file)) > 1:
            reporter.log(f"Of the layers of the {named}, {layers[0]} is read, and not {', '.join(layers[1:])}.")
        if "mask" in where and layer.empty and not within:
            _refuse_elsewhere(path, purpose, where, margin_m)
    except ShapelyError as error:
        raise LayerError(
            f"A geometry of the {named} cannot be used: {str(error).strip().rstrip('.')}.",
            "Repair it, for example with Fix geometries in QGIS. Lines of a single point, open rings, and surfaces "
            "(TIN, PolyhedralSurface) are not valid lines or polygons.",
        ) from error
    except (RuntimeError, ValueError, OverflowError, OSError) as error:  # pyogrio's and PROJ's are RuntimeErrors
        fault, remedy = next(
            (_UNREADABLE[words] for words in _UNREADABLE if words in str(error)),
            (str(error).rstrip("."), "Check that the file is there and is a vector layer."),
        )
        raise LayerError(f"The {named} cannot be read: {fault}.", remedy) from error
    if not isinstance(layer, geopandas.GeoDataFrame):
        raise LayerError(
            f"There is only a table without geometry in the {named}.",
            "Choose a layer of lines or polygons. In a CSV file, the geometry is read from a column named WKT.",
        )
    has_shape = ~(layer.geometry.isna() | layer.geometry.is_empty)
    if len(layer) and not has_shape.any():
        raise LayerError(f"No feature of the {named} has a geometry.", "Draw them, or choose another layer.")
    if layer.crs is None:
        raise LayerError(
            f"There is no coordinate reference system for the {named}.",
            "Set it in the layer's properties. A Shapefile or CSV file needs a .prj file beside it. Save a file "
            "that can have none, such as a DXF, as a GeoPackage.",
        )
    if reporter and not has_shape.all():
        lost = f"{(~has_shape).sum():,} of {len(layer):,} features of the {named}"
        reporter.warning(f"{lost} have no geometry. They are left out.")
    layer = _flat(layer[has_shape].reset_index(drop=True), named, reporter if are_heights_told else None)
    _check_places(layer, named)
    shapes = layer.geometry.to_numpy()
    wrong = np.flatnonzero((shapely.get_dimensions(shapes) == 2) & ~shapely.is_valid(shapes))
    refuse_tangles(shapes[wrong], path, purpose)
    layer.loc[wrong, layer.geometry.name] = valid(shapes[wrong])
    return layer


def _checked_features(file: str, where: dict[str, Any], named: str, reporter: Optional[Reporter]) -> pandas.DataFrame:
    """Return the features of a file, and warn of values that do not fit their fields; see `read_layer`."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        layer = _features(file, where)
    told = [str(each.message).rstrip(".") for each in caught]
    changed = next(filter(_CHANGED.search, told), "")
    if changed:
        raise LayerError(
            f"The {named} have a value that is not of its field's type: {changed}.",
            "Correct it, or make the field one of texts.",
        )
    left_out = "; ".join(filter(_LEFT_OUT.search, told))
    if reporter and left_out:
        reporter.warning(
            f"Some values of the {named} do not fit their fields. They are left out or changed: {left_out}."
        )
    if reporter and any("Measured (M)" in each for each in told):
        reporter.log(f"The {named} have measures (M). These are dropped.")
    return layer


def _features(file: str, where: dict[str, Any]) -> pandas.DataFrame:
    """Return the features of a file; those with a geometry, if any has one, as a GeoDataFrame."""
    if is_parquet(file):
        if "where" in where:
            raise ValueError("a filter cannot be applied to GeoParquet")
        return read_parquet(file)
    source, options = for_pyogrio(file), {"fid_as_index": True, "mixed_offsets_as_utc": False, **where}
    try:
        layer = pyogrio.read_dataframe(source, **options)
    except FeatureError as error:
        if "OSM_USE_CUSTOM_INDEXING" not in str(error):
            raise
        # New objects of editors and of RoadSeg have negative ids. GDAL needs its slower index for these.
        layer = pyogrio.read_dataframe(source, USE_CUSTOM_INDEXING="NO", **options)
    if isinstance(layer, geopandas.GeoDataFrame):
        restore_types(layer, source, where, pyogrio.read_info(source, layer=where["layer"]))
    return without_deleted_ways(layer, file)


def _flat(layer: geopandas.GeoDataFrame, named: str, reporter: Optional[Reporter]) -> geopandas.GeoDataFrame:
    """Return a layer without heights; a reporter warns of those that are not 0."""
    if not layer.has_z.any():
        return layer
    heights = shapely.get_coordinates(layer.geometry.to_numpy(), include_z=True)[:, 2]
    if reporter and np.nan_to_num(heights).any():
        reporter.warning(f"The {named} have heights (Z). These are dropped: results are flat.")
    return layer.set_geometry(shapely.force_2d(layer.geometry.to_numpy()), crs=layer.crs)


def _near(file: str, layer: str | int, images: Iterable[Grid], margin_m: float) -> dict[str, Any]:
    """Return the surroundings of images as an argument of pyogrio, if only what lies there is to be read of a layer."""
    about = _about(file, layer=layer) if images and not is_parquet(file) else {}
    if not about.get("crs") or 0 <= about["features"] <= MAX_WHOLE:
        return {}
    found = [boxes_around(grid, pyproj.CRS(about["crs"]), margin_m) for grid in images]
    boxes = [each for each in found if each is not None]
    if not boxes or len(boxes) < len(found):
        return {}
    # Turns in which the layer has nothing would have it searched from end to end.
    left, _, right, _ = about["total_bounds"] or _WORLD
    every = np.concatenate(boxes)
    west, _, east, _ = shapely.bounds(every).T
    here = every[(west <= right) & (east >= left)]
    return {"mask": shapely.union_all(here if len(here) else every)}


def _refuse_elsewhere(path: str, purpose: str, where: dict[str, Any], margin_m: float) -> None:
    """Raise LayerError if a layer has features, none of which lies in the surroundings (mask) of the images."""
    file, surroundings = _parse_source(path)[0], where.pop("mask")
    first = _features(file, {**where, "max_features": _FEW})
    shapes = first.geometry[~(first.geometry.isna() | first.geometry.is_empty)]
    if len(shapes):
        centers = geopandas.GeoSeries(shapely.centroid([shapes.iloc[0], surroundings]), crs=first.crs)
        places = centers.to_crs(_GEOGRAPHIC)
        here, there = (f"longitude {place.x:.2f}, latitude {place.y:.2f}" for place in places)
        raise LayerError(
            f"No feature of the {purpose} ({path}) lies within {margin_m:g} m of the images: the first feature is at "
            f"{here}, but the images are at {there}.",
            "Give a layer that covers the images, or set the correct coordinate reference systems.",
        )


def refuse_tangles(shapes: np.ndarray, path: str, purpose: str) -> None:
    """Check that no shape of a layer, (n,) object, crosses itself far more often than a drawn one.

    Raises LayerError if one does; see `check_crossings`.
    """
    try:
        check_crossings(shapes)
    except TooManyCrossings as error:
        raise LayerError(
            f"A line or polygon of the {purpose} ({path}) crosses itself in more than {MAX_CROSSINGS:,} places.",
            "Repair or delete it.",
        ) from error


def _check_places(layer: geopandas.GeoDataFrame, named: str) -> None:
    """Raise LayerError where a vertex of a layer is not on Earth."""
    points, owner = shapely.get_coordinates(layer.geometry.to_numpy(), return_index=True)

    def first(chosen: np.ndarray) -> str:
        x, y = points[chosen][0]
        return f"({x:.10g}, {y:.10g})"

    is_number = np.isfinite(points).all(axis=1)
    if not is_number.all():
        raise LayerError(
            f"Feature {owner[~is_number][0] + 1} of the {named} has a vertex at {first(~is_number)}.",
            "Repair or delete that feature.",
        )
    remedy = "Set the layer's correct coordinate reference system in its properties."
    try:
        if not (layer.crs.is_geographic or layer.crs.is_projected):
            raise ProjError("neither geographic nor projected")
        to_geographic = pyproj.Transformer.from_crs(layer.crs, _GEOGRAPHIC, always_xy=True)
    except ProjError as error:
        raise LayerError(
            f"The coordinate reference system of the {named}, {layer.crs.name}, cannot be placed on Earth.", remedy
        ) from error
    is_on_earth = (np.abs(points) < MAX_COORDINATE).all(axis=1)
    places = np.column_stack(to_geographic.transform(*np.where(is_on_earth[:, None], points, 0).T))
    is_on_earth &= (np.abs(places) <= MAX_DEG).all(axis=1)
    if not is_on_earth.all():
        raise LayerError(
            f"The {named} reach outside the area of their coordinate reference system, {layer.crs.name}: a vertex is "
            f"at {first(~is_on_earth)}.",
            remedy,
        )


def _parse_source(path: str) -> tuple[str, dict]:
    """Return the file in a path as QGIS writes it, and layer and filter as arguments of pyogrio."""
    file, *parts = QGIS_PART.split(path)
    asked = dict(zip((key.lower() for key in parts[::2]), parts[1::2]))
    where: dict = {"layer": asked.get("layername") or int(asked.get("layerid", 0)) or _first_layer(file)}
    if asked.get("subset"):
        where["where"] = asked["subset"]
    return file, where


def _first_layer(file: str) -> str | int:
    """Return the layer that is read of a file unless another is asked for: of OpenStreetMap and GPX, that of lines."""
    if file.lower().endswith((".osm", ".pbf")):
        return "lines"
    of_gpx = ("tracks", "routes") if file.lower().endswith(".gpx") else ()
    infos = (_about(file, layer=name, force_feature_count=True) for name in of_gpx)
    return next((str(info["layer_name"]) for info in infos if info["features"]), 0)


def _about(file: str, **options: Any) -> dict[str, Any]:
    """Return pyogrio's information on a layer, without warnings: `read_layer` tells of the same."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return dict(pyogrio.read_info(for_pyogrio(file), **options))


def _layers_of(file: str) -> list[str]:
    """Return the layers of a file that have geometry; none of one that GDAL does not read."""
    with suppress(RuntimeError), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [str(name) for name, kind in pyogrio.list_layers(for_pyogrio(file)) if kind]
    return []


def require_features(layer: geopandas.GeoDataFrame, path: str, purpose: str) -> None:
    """Check that a layer has features.

    Raises LayerError if it is empty.
    """
    if layer.empty:
        raise LayerError(
            f"There are no features in the {purpose} ({path}).",
            "Choose another layer, or another filter or selection of it. If you have just drawn it, save its edits. "
            "If a job wrote it, the job found nothing.",
        )


def require_geometry(layer: geopandas.GeoDataFrame, allowed: tuple[str, ...], path: str, purpose: str) -> None:
    """Check that a layer holds only `points`, `lines` or `polygons`, as allowed, each including its multipart type.

    Raises LayerError if it holds other geometry or, if it is empty, is made for other geometry.
    """
    shapes = layer.geometry.to_numpy()
    fits = np.isin(shapely.get_dimensions(shapes), [_DIMENSIONS[name] for name in allowed])
    fits &= layer.geom_type.to_numpy() != "GeometryCollection"
    other = ", ".join(sorted(set(layer.geom_type[~fits])))
    remedy = "Choose another layer."
    layers = _layers_of(_parse_source(path)[0])
    if len(layers) > 1:
        remedy = f"Choose another layer of the file: {', '.join(layers)}."
    if fits.any():
        other += f" ({(~fits).sum():,} of {len(fits):,} features)" if other else ""
        remedy = f"Choose another layer, or save its {' or '.join(allowed)} alone to one."
    if layer.empty and not is_parquet((file := _parse_source(path))[0]):
        # The declared type of geometry, as GDAL calls it.
        declared = str(_about(file[0], layer=file[1]["layer"])["geometry_type"] or "")
        other = declared if any(word in declared for name, word in _TYPES.items() if name not in allowed) else ""
    if other:
        raise LayerError(f"The {purpose} ({path}) must be {' or '.join(allowed)}, not {other}.", remedy)


def with_names(layer: geopandas.GeoDataFrame, names: Iterable[str], path: str, purpose: str) -> geopandas.GeoDataFrame:
    """Return a layer in which a field that differs from one of some names in case alone has that name.

    Raises LayerError if several fields are called so but for case.
    """
    renamed: dict[str, str] = {}
    for name in names:
        alike = [field for field in layer.columns if str(field).lower() == name.lower()]
        if len(alike) > 1:
            raise LayerError(
                f"The {purpose} ({path}) have the fields {' and '.join(map(repr, alike))}: only one can be {name!r}.",
                "Remove or rename the other.",
            )
        renamed |= {field: name for field in alike}
    return layer.rename(columns=renamed)


def require_fields(layer: geopandas.GeoDataFrame, names: Iterable[str], path: str, purpose: str) -> None:
    """Check that a layer has fields of some names; empty names are skipped.

    An empty layer may lack them, since some formats keep no fields without features. Raises LayerError if a field is
    missing.
    """
    for name in filter(None, names):
        fields = [str(field) for field in layer.columns if field != layer.geometry.name]
        if name not in fields and not layer.empty:
            known = ", ".join(fields) or "no fields"
            raise LayerError(f"The {purpose} ({path}) have no field {name!r}.", f"They have: {known}.")


def read_polygons(path: str, purpose: str, reporter: Optional[Reporter] = None) -> geopandas.GeoDataFrame:
    """Return a layer of polygons.

    Raises LayerError; see `read_layer`, `require_features` and `require_geometry`.
    """
    area = read_layer(path, purpose, reporter)
    require_features(area, path, purpose)
    require_geometry(area, ("polygons",), path, purpose)
    return area


read_area = partial(read_polygons, purpose="area of interest")


def carried_fields(
    layer: geopandas.GeoDataFrame, made: Iterable[str], reporter: Reporter, taken: Iterable[str] = ()
) -> dict[str, str]:
    """Return the fields of a layer to carry over to an output: the layer's names by the output's, in order.

    Fields with the lower-case names of the output's own columns are left out, and so are binary data. A GeoPackage
    ignores case and has a column `geom` of its own. So the second of `Name` and `name` becomes `name_2`, and a field
    `geom` becomes `geom_2`, as do fields with names that are `taken`.
    """
    left_out = {*made, "fid"}
    fields = [str(name) for name in layer.columns if name != layer.geometry.name and name.lower() not in left_out]
    if binary := [name for name in fields if pandas.api.types.infer_dtype(layer[name]) == "bytes"]:
        reporter.warning(f"Fields of binary data are left out of the results: {', '.join(binary)}.")
    stored = stored_names([name for name in fields if name not in binary], {*left_out, *map(str.lower, taken), *TAKEN})
    if renamed := describe_renamed(stored):
        reporter.log(f"Fields are renamed in the results, because their names are taken: {renamed}.")
    return {other: name for name, other in stored.items()}
