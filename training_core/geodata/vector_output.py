"""Vector files: layers written, and read back, since GDAL reports no error if a full disk truncates a file.

Scope: formats, and whether a file holds all features. Independent of what the features mean. GeoParquet 1.1.0 is
written by pyarrow, of the requirement set fleet, with a row group for each part.
"""

from __future__ import annotations

import json
import os
import sqlite3
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

import geopandas
import numpy as np
import pyogrio
from pyogrio.util import vsi_path
from pyproj.exceptions import ProjError

from ..errors import OutputError
from .antimeridian import as_written
from .fields import with_days

_PARQUET = ".parquet"
# The driver of each suffix, and whether a file holds several layers.
FORMATS = {
    ".gpkg": ("GPKG", True),
    ".geojson": ("GeoJSON", False),
    ".fgb": ("FlatGeobuf", False),
    _PARQUET: ("GeoParquet", False),
}
# Older versions of GDAL warn about GeoPackages of version 1.4, which has no advantage here.
CREATION_OPTIONS = {"GPKG": {"VERSION": "1.3"}, "GeoJSON": {"RFC7946": "YES"}}
_MULTI = "Multi"
# How far bounds may be off in GeoJSON, which rounds coordinates, in degrees.
_ROUNDED_DEGREES = 1e-6
# GDAL adds these for a layer when it closes a GeoPackage: the spatial index, then the triggers.
_MADE_AT_CLOSE = (
    "rtree_{0}_geom", "rtree_{0}_geom_insert", "rtree_{0}_geom_delete", "trigger_insert_feature_count_{0}",
    "trigger_delete_feature_count_{0}",
)  # fmt: skip


@dataclass(frozen=True)
class Written:
    """The expected content of a layer: its number of features and their extent, (4,) float64, or None without any."""

    count: int
    extent: Optional[np.ndarray]

    def __add__(self, other: "Written") -> "Written":
        extents = [extent for extent in (self.extent, other.extent) if extent is not None]
        both = [*np.min(extents, axis=0)[:2], *np.max(extents, axis=0)[2:]] if extents else None
        return Written(self.count + other.count, None if both is None else np.array(both))


def is_parquet(path: str) -> bool:
    """Whether the name of a file is one of GeoParquet."""
    return path.lower().endswith((_PARQUET, ".geoparquet"))


def check_vector_output(path: str, layer_count: int = 1) -> None:
    """Check that RoadSeg can write a number of layers to a path, by its suffix.

    Raises OutputError if RoadSeg does not write this format, or it holds only one layer.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in FORMATS:
        raise OutputError(
            f"{path} is not in a format that RoadSeg writes.", f"Give a name that ends in {', '.join(FORMATS)}."
        )
    if layer_count > 1 and not FORMATS[suffix][1]:
        raise OutputError(f"{path} can hold only one layer.", "Give each output a file of its own, or use .gpkg.")


def write_layers(
    path: str | Path, layers: Mapping[str, geopandas.GeoDataFrame], geometry_types: Optional[Mapping[str, str]] = None
) -> None:
    """Write layers to a file, in the format of its suffix, replacing it. GeoJSON is in WGS 84, as its standard has it.

    Layers in degrees are cut at the antimeridian. With a feature in several parts they are of the type `Multi...`, but
    for GeoJSON, which mixes types. Only a GeoPackage holds more than one layer. Types are `LineString` or the like, by
    layer; by default the features decide and an empty layer has none. Raises OutputError if the suffix is unknown, or
    the file is not complete when it is read back.
    """
    types = geometry_types or {}
    _write_all(Path(path), {name: ([layer], types.get(name)) for name, layer in layers.items()})


def write_in_parts(path: str | Path, name: str, parts: Iterable[geopandas.GeoDataFrame], geometry_type: str) -> None:
    """Write a layer part by part, so that it need not fit into memory, and replace a file.

    There is at least one part. All have the same columns and CRS, and some may be empty. Raises OutputError as for
    `write_layers`.
    """
    _write_all(Path(path), {name: (parts, geometry_type)})


def _write_all(path: Path, layers: Mapping[str, tuple[Iterable[geopandas.GeoDataFrame], Optional[str]]]) -> None:
    """Write the parts of layers and their types of geometry; see `write_layers`."""
    check_vector_output(str(path), len(layers))
    if vsi_path(path) != str(path):
        raise OutputError(f"{path} cannot be written: GDAL takes it for an address.", "Choose another folder.")
    driver = FORMATS[path.suffix.lower()][0]
    written: dict[str, Written] = {}
    try:
        path.unlink(missing_ok=True)
        for name, (parts, geometry_type) in layers.items():
            if driver == "GeoParquet":
                _write_geoparquet(path, parts, geometry_type or "")
                return
            written[name] = Written(0, None)
            for part in _filled(parts):
                part = as_written(part.to_crs("EPSG:4326") if driver == "GeoJSON" else part)
                geometry_type = geometry_type if driver == "GeoJSON" else type_of(part, geometry_type)
                pyogrio.write_dataframe(
                    with_days(part), path, layer=name, driver=driver, geometry_type=geometry_type, append=path.exists(),
                    promote_to_multi=(geometry_type or "").startswith(_MULTI) or None,
                    **CREATION_OPTIONS.get(driver, {}),
                )  # fmt: skip
                written[name] += Written(len(part), extent_of(part))
    except (RuntimeError, ValueError, ProjError, OSError) as error:  # pyogrio's are RuntimeErrors
        raise OutputError(
            f"{path} cannot be written: {str(error).rstrip('.')}.",
            "Make room on the disk, or choose another place or format.",
        ) from error
    check_written(path, driver, written)


def _filled(parts: Iterable[geopandas.GeoDataFrame]) -> Iterator[geopandas.GeoDataFrame]:
    """Yield the parts that have features; the last one if none has any.

    Some formats keep no fields of a layer without features, so that nothing could be appended to it.
    """
    part, is_any = None, False
    for part in parts:
        if len(part):
            is_any = True
            yield part
    if not is_any:
        yield part


def type_of(layer: geopandas.GeoDataFrame, geometry_type: Optional[str]) -> Optional[str]:
    """Return the type of geometry that a layer is written with: the given one or, for several parts, its `Multi...`."""
    is_multi = bool(geometry_type) and bool((layer.geom_type == f"{_MULTI}{geometry_type}").any())
    return f"{_MULTI}{geometry_type}" if is_multi else geometry_type


def extent_of(layer: geopandas.GeoDataFrame) -> Optional[np.ndarray]:
    """Return the extent of a layer, (4,) float64, or None if no feature has a shape."""
    return None if layer.geometry.isna().all() or layer.is_empty.all() else layer.total_bounds


def check_written(path: Path, driver: str, layers: Mapping[str, Written]) -> None:
    """Check that a file (GPKG, GeoJSON or FlatGeobuf) is complete.

    It has the features of layers in its CRS, by their count and extent. Raises OutputError if something is missing.
    """
    try:
        is_whole = _is_closed(path, driver, layers) and all(
            _has_features(path, name, layer, driver) for name, layer in layers.items()
        )
    except (RuntimeError, ValueError, OSError, sqlite3.Error) as error:  # pyogrio's are RuntimeErrors
        raise OutputError.incomplete(path) from error
    if not is_whole:
        raise OutputError.incomplete(path)


def _is_closed(path: Path, driver: str, layers: Mapping[str, Written]) -> bool:
    """Whether a file has its end: a GeoPackage all its pages and, of each layer, all that closing the file adds."""
    if driver == "FlatGeobuf":
        return True  # it has the size of each feature, and so of the file, in it
    with path.open("rb") as file:
        if driver == "GeoJSON":
            file.seek(-2, os.SEEK_END)
            return file.read() == b"}\n"
        header = file.read(100)
    page_bytes, pages = int.from_bytes(header[16:18], "big"), int.from_bytes(header[28:32], "big")
    if path.stat().st_size != page_bytes * pages:
        return False
    with closing(sqlite3.connect(path)) as database:
        made = {name for (name,) in database.execute("SELECT name FROM sqlite_master")}
        counts = dict(database.execute("SELECT table_name, feature_count FROM gpkg_ogr_contents"))
        checked = database.execute("PRAGMA quick_check").fetchall()
    return (
        checked == [("ok",)]
        and counts == {name: layer.count for name, layer in layers.items()}
        and made >= {each.format(name) for name in layers for each in _MADE_AT_CLOSE}
    )


def _has_features(path: Path, name: str, layer: Written, driver: str) -> bool:
    """Whether a layer of a file has the right number of features and the right extent."""
    rounded = driver == "GeoJSON"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of times with a zone in a GeoPackage, which GDAL has written
        _, bounds = pyogrio.read_bounds(path, layer=None if rounded else name)
    if bounds.shape[1] != layer.count or layer.extent is None:
        return bounds.shape[1] == layer.count
    extent = np.concatenate([np.nanmin(bounds[:2], axis=1), np.nanmax(bounds[2:], axis=1)])
    return np.allclose(extent, layer.extent, rtol=0, atol=_ROUNDED_DEGREES if rounded else 0)


_GEOMETRY = "geometry"


def _write_geoparquet(path: Path, parts: Iterable[geopandas.GeoDataFrame], geometry_type: str) -> None:
    """Write parts of a layer as `write_in_parts` does; raise OSError if the file cannot be written."""
    from pyarrow import parquet

    count, writer = 0, None
    try:
        for part in map(as_written, _filled(parts)):
            table = _table(part, type_of(part, geometry_type) or "")
            writer = writer or parquet.ParquetWriter(path, table.schema, compression="zstd")
            writer.write_table(table.cast(writer.schema))
            count += len(part)
    finally:
        if writer is not None:
            writer.close()
    if parquet.read_metadata(path).num_rows != count:
        raise OutputError.incomplete(path)


def _table(part: geopandas.GeoDataFrame, geometry_type: str) -> Any:
    """Return features as a table of pyarrow, with shapes as WKB."""
    import pyarrow

    plain = pyarrow.Table.from_pandas(part.drop(columns=_GEOMETRY), preserve_index=False)
    # In a part where a column has no value it has no type either. Days are times to pandas.
    types = {pyarrow.null(): pyarrow.string(), pyarrow.timestamp("s"): pyarrow.date32()}
    fields = [field.with_type(types.get(field.type, field.type)) for field in plain.schema]
    plain = plain.cast(pyarrow.schema(fields))
    shapes = pyarrow.array(part.geometry.to_wkb().tolist(), type=pyarrow.binary())
    types_of_shapes = list(dict.fromkeys([geometry_type.removeprefix(_MULTI), geometry_type]))
    column = {"encoding": "WKB", "geometry_types": types_of_shapes, "crs": part.crs.to_json_dict()}
    document = {"version": "1.1.0", "primary_column": _GEOMETRY, "columns": {_GEOMETRY: column}}
    table = plain.append_column(_GEOMETRY, shapes)
    return table.replace_schema_metadata({"geo": json.dumps(document)})
