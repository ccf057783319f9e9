"""GeoParquet: tables of lines written part by part, a row group each.

Scope: the format, version 1.1.0, by pyarrow of the requirement set fleet. Independent of what the lines mean.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import geopandas

from ..errors import OutputError

SUFFIX = ".parquet"
_GEOMETRY = "geometry"


def require_pyarrow(path: str) -> None:
    """Check that the runtime can write GeoParquet.

    Raises
    ------
    OutputError
        It has no pyarrow.
    """
    if find_spec("pyarrow") is None:
        raise OutputError(
            f"{path} cannot be written: the runtime has no pyarrow (requirement set fleet).",
            "Run Set up runtime with Many machines (fleet), or choose a GeoPackage.",
        )


def write_geoparquet(path: Path, parts: Iterable[geopandas.GeoDataFrame], geometry_type: str) -> int:
    """Write parts of a layer, replacing a file, and return the number of features.

    There is at least one part. All have the same columns and CRS, and some may be empty. `geometry_type` is
    `LineString` or the like.

    Raises
    ------
    OSError
        The file cannot be written.
    OutputError
        Read back, it is not complete.
    """
    from pyarrow import parquet

    count, writer, empty = 0, None, None
    try:
        for part in parts:
            if not len(part):
                empty = part
                continue
            table = _table(part, geometry_type)
            writer = writer or parquet.ParquetWriter(path, table.schema, compression="zstd")
            writer.write_table(table.cast(writer.schema))
            count += len(part)
        if writer is None:
            parquet.write_table(_table(empty, geometry_type), path, compression="zstd")
    finally:
        if writer is not None:
            writer.close()
    if parquet.read_metadata(path).num_rows != count:
        raise OutputError.incomplete(path)
    return count


def _table(part: geopandas.GeoDataFrame, geometry_type: str) -> Any:
    """Return features as a table of pyarrow, with shapes as WKB."""
    import pyarrow

    plain = pyarrow.Table.from_pandas(part.drop(columns=_GEOMETRY), preserve_index=False)
    # In a part where a column has no value it has no type either.
    fields = [
        field.with_type(pyarrow.string()) if pyarrow.types.is_null(field.type) else field for field in plain.schema
    ]
    plain = plain.cast(pyarrow.schema(fields))
    shapes = pyarrow.array(part.geometry.to_wkb().tolist(), type=pyarrow.binary())
    column = {"encoding": "WKB", "geometry_types": [geometry_type], "crs": part.crs.to_json_dict()}
    document = {"version": "1.1.0", "primary_column": _GEOMETRY, "columns": {_GEOMETRY: column}}
    table = plain.append_column(_GEOMETRY, shapes)
    return table.replace_schema_metadata({"geo": json.dumps(document)})
