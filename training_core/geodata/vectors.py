"""Vector layers read from files and checked: drawn roads, areas, points.

Scope: formats, layers within files, CRS, geometry types, fields. Independent of what the features mean.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
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

from ..errors import LayerError
from ..events import Reporter
from ..jobs.fields import TAKEN, describe_renamed, stored_names
from .fields import read_parquet, restore_types
from .grid import MAX_COORDINATE, MAX_DEG, Grid
from .osm_layers import without_deleted_ways
from .shapes import MAX_CROSSINGS, TooManyCrossings, box_around, check_crossings, valid
from .sources import QGIS_PART, for_pyogrio, require_openable
from .vector_output import PARQUET, require_pyarrow

# Dimensions of geometries by their names in messages, and the parts of the names of layer types.
_DIMENSIONS = {"points": 0, "lines": 1, "polygons": 2}
_TYPES = {"points": "Point", "lines": "LineString", "polygons": "Polygon"}
_GEOGRAPHIC = pyproj.CRS("EPSG:4326")
# Maximum number of features of a layer that is read whole: it takes a second, and thousands of images stay closed.
MAX_WHOLE = 50_000
# Number of features read to find where a layer lies: the first may have no geometry.
_FEW = 100


def read_layer(
    path: str,
    purpose: str,
    reporter: Optional[Reporter] = None,
    images: Iterable[Grid] = (),
    margin_m: float = 0.0,
) -> geopandas.GeoDataFrame:
    """Return a vector layer, flat, all of it on Earth, polygons valid, without features that have no geometry.

    All input layers are read here, so GEOS and PROJ never meet NaN, infinity or a coordinate outside the layer's CRS. A
    path may have a layer and a filter in it as QGIS writes them: `roads.gpkg|layername=roads`. `purpose` names the
    layer in messages: `drawn roads`. A reporter, given where the layer is carried over to an output, is told of
    heights, measures and features without a geometry.

    A layer with more than `MAX_WHOLE` features, or with an unknown number as in extracts of OpenStreetMap, is read only
    within a distance, `margin_m`, of the grids of some images. Raises
    LayerError if the layer cannot be read, has no CRS, features of which none has a geometry or is near the images, has
    a coordinate that is not on Earth, or a polygon that crosses itself far more often than a drawn one. Raises
    OutputError if the runtime cannot read this format.
    """
    named = f"{purpose} ({path})"
    require_openable(path, f"The {named}", LayerError)
    try:
        file, where = _parse_source(path)
        where.update(_near(file, where["layer"], images, margin_m))
        with warnings.catch_warnings(record=True) as raised:
            warnings.simplefilter("always")  # pyogrio drops measures with a warning
            layer = _features(file, where)
        if "mask" in where and layer.empty:
            _refuse_elsewhere(path, purpose, where, margin_m)
    except ShapelyError as error:
        raise LayerError(
            f"A geometry of the {named} cannot be used: {str(error).strip().rstrip('.')}.",
            "Repair it, for example with Fix geometries in QGIS. Lines of a single point, open rings, and surfaces "
            "(TIN, PolyhedralSurface) are not valid lines or polygons.",
        ) from error
    except (RuntimeError, ValueError, OverflowError, OSError) as error:  # pyogrio's and PROJ's are RuntimeErrors
        raise LayerError(
            f"The {named} cannot be read: {str(error).rstrip('.')}.",
            "Check that the file is there and is a vector layer.",
        ) from error
    if not isinstance(layer, geopandas.GeoDataFrame):
        raise LayerError(
            f"The {named} is a table without geometry.",
            "Choose a layer of lines or polygons. In a CSV file, the geometry is read from a column named WKT.",
        )
    has_shape = ~(layer.geometry.isna() | layer.geometry.is_empty)
    if len(layer) and not has_shape.any():
        raise LayerError(f"No feature of the {named} has a geometry.", "Draw them, or choose another layer.")
    if layer.crs is None:
        raise LayerError(
            f"The {named} has no coordinate reference system.",
            "Set it in the layer's properties. A Shapefile or CSV file needs a .prj file beside it.",
        )
    if reporter and not has_shape.all():
        lost = f"{(~has_shape).sum():,} of {len(layer):,} features of the {named}"
        reporter.warning(f"{lost} have no geometry. They are left out.")
    if reporter and any("Measured (M)" in str(each.message) for each in raised):
        reporter.log(f"The {named} have measures (M). These are dropped.")
    layer = _flat(layer[has_shape].reset_index(drop=True), named, reporter)
    _check_places(layer, named)
    shapes = layer.geometry.to_numpy()
    wrong = np.flatnonzero((shapely.get_dimensions(shapes) == 2) & ~shapely.is_valid(shapes))
    refuse_tangles(shapes[wrong], path, purpose)
    layer.loc[wrong, layer.geometry.name] = valid(shapes[wrong])
    return layer


def _features(file: str, where: dict[str, Any]) -> pandas.DataFrame:
    """Return the features of a file; those with a geometry, if any has one, as a GeoDataFrame."""
    if file.lower().endswith(PARQUET):
        require_pyarrow(file)
        if "where" in where:
            raise ValueError("a filter cannot be applied to GeoParquet")
        return read_parquet(file)
    source, options = for_pyogrio(file), {"fid_as_index": True, **where}
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
    about = pyogrio.read_info(for_pyogrio(file), layer=layer) if images and not file.lower().endswith(PARQUET) else {}
    if not about.get("crs") or 0 <= about["features"] <= MAX_WHOLE:
        return {}
    boxes = [box_around(grid, pyproj.CRS(about["crs"]), margin_m) for grid in images]
    return {"mask": shapely.union_all(boxes)} if boxes and None not in boxes else {}


def _refuse_elsewhere(path: str, purpose: str, where: dict[str, Any], margin_m: float) -> None:
    """Raise LayerError if a layer has features, none of which lies in the surroundings (mask) of the images."""
    file, surroundings = _parse_source(path)[0], where.pop("mask")
    first = _features(file, {**where, "max_features": _FEW})
    shapes = first.geometry[~(first.geometry.isna() | first.geometry.is_empty)]
    if len(shapes):
        places = geopandas.GeoSeries(shapely.centroid([shapes.iloc[0], surroundings]), crs=first.crs).to_crs(
            _GEOGRAPHIC
        )
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
    first = "lines" if file.lower().endswith((".osm", ".pbf")) else int(asked.get("layerid", 0))
    where: dict = {"layer": asked.get("layername", first)}
    if asked.get("subset"):
        where["where"] = asked["subset"]
    return file, where


def require_features(layer: geopandas.GeoDataFrame, path: str, purpose: str) -> None:
    """Check that a layer has features.

    Raises LayerError if it is empty.
    """
    if layer.empty:
        raise LayerError(
            f"The {purpose} ({path}) has no features.",
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
    if fits.any():
        other += f" ({(~fits).sum():,} of {len(fits):,} features)" if other else ""
        remedy = f"Choose another layer, or save its {' or '.join(allowed)} alone to one."
    if layer.empty and not (file := _parse_source(path))[0].lower().endswith(PARQUET):
        # The declared type of geometry, as GDAL calls it.
        declared = str(pyogrio.read_info(for_pyogrio(file[0]), layer=file[1]["layer"])["geometry_type"] or "")
        is_other = any(word in declared for name, word in _TYPES.items() if name not in allowed)
        other = declared if is_other else ""
    if other:
        raise LayerError(f"The {purpose} ({path}) must be {' or '.join(allowed)}, but it holds {other}.", remedy)


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


def read_polygons(path: str, purpose: str) -> geopandas.GeoDataFrame:
    """Return a layer of polygons.

    Raises LayerError; see `read_layer`, `require_features` and `require_geometry`.
    """
    area = read_layer(path, purpose)
    require_features(area, path, purpose)
    require_geometry(area, ("polygons",), path, purpose)
    return area


read_area = partial(read_polygons, purpose="area of interest")


def carried_fields(layer: geopandas.GeoDataFrame, made: Iterable[str], reporter: Reporter) -> dict[str, str]:
    """Return the fields of a layer to carry over to an output: the layer's names by the output's, in order.

    Fields with the lower-case names of the output's own columns are left out. A GeoPackage ignores case and has a
    column `geom` of its own. So the second of `Name` and `name` becomes `name_2`, and a field `geom` becomes `geom_2`.
    """
    left_out = {*made, "fid"}
    fields = [str(name) for name in layer.columns if name != layer.geometry.name and name.lower() not in left_out]
    stored = stored_names(fields, {*left_out, *TAKEN})
    renamed = describe_renamed(stored)
    if renamed:
        reporter.log(f"Fields are renamed in the results, because their names are taken: {renamed}.")
    return {other: name for name, other in stored.items()}
