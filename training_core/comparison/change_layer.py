"""The changes of a road network as vector layers: segments with the fields of their lines.

Scope: tables and field types. Independent of how changes are found.
"""

from __future__ import annotations

from pathlib import Path
from typing import Optional

import geopandas
import numpy as np
import pandas
import shapely

from ..geodata.vector_output import write_layers
from ..geodata.vectors import carried_fields
from .changes import ChangeSegments
from .network_pair import AFTER, BEFORE, Pair

# The names of INTACT, DISPLACED and UNMATCHED in the network before and in that after.
NAMES = {BEFORE: ("intact", "displaced", "lost"), AFTER: ("intact", "displaced", "new")}
CHANGES = ("intact", "displaced", "lost", "new")


def parts_of(segments: dict[str, ChangeSegments]) -> dict[str, np.ndarray]:
    """Return the segments by change, each as lines in the plane of the roads after: (n,) object.

    Intact and displaced ones are those of the roads before.
    """
    parts = {}
    for name, names in NAMES.items():
        for kind, change in enumerate(names):
            if name == BEFORE or change == "new":
                parts[change] = segments[name].lines.shapes[segments[name].kind == kind]
    return parts


def to_layer(pair: Pair, segments: dict[str, ChangeSegments]) -> geopandas.GeoDataFrame:
    """Return the segments with their change and the fields of their lines, in the CRS of the roads before.

    They are all segments of the network before, where they were drawn, and the new ones of the network after.
    """
    tables = [_table(pair, segments[name], name) for name in NAMES]
    spelled = {name.lower(): name for name in tables[0].columns}  # no format has both Name and name
    tables[1] = tables[1].rename(columns={name: spelled.get(name.lower(), name) for name in tables[1].columns})
    return pandas.concat(_of_like_types(*tables), ignore_index=True)


def _table(pair: Pair, segments: ChangeSegments, name: str) -> geopandas.GeoDataFrame:
    """Return the segments of one network that the layer shows."""
    layer = pair.layers[name]
    by_feature_m = np.zeros((len(layer), 3))
    np.add.at(by_feature_m, segments.roads.lines.feature, segments.lengths_by_line())
    shares = by_feature_m / np.maximum(by_feature_m.sum(axis=1, keepdims=True), 1e-12)
    change = np.asarray(NAMES[name])[segments.kind]
    shown = np.ones(len(change), dtype=bool) if name == BEFORE else change == "new"
    feature = segments.lines.feature[shown]
    made = {
        "change": change[shown],
        "length_m": segments.length_m[shown],
        "offset_m": segments.offset_m[shown],
        "network": np.full(len(feature), name.split()[-1]),
        "line": feature + 1,
        **{
            f"{change}_share": shares[feature, NAMES[name].index(change)] if change in NAMES[name] else 0.0
            for change in CHANGES
        },
    }
    shapes = segments.lines.shapes[shown]
    if name == BEFORE and pair.shift.taken_off:
        shapes = shapely.transform(shapes, lambda points: points - pair.shift.vector_m)
    fields = {name: layer[field].to_numpy()[feature] for name, field in carried_fields(layer, made).items()}
    return geopandas.GeoDataFrame({**made, **fields}, geometry=shapes, crs=pair.plane).to_crs(pair.layers[BEFORE].crs)


def _of_like_types(one: geopandas.GeoDataFrame, other: geopandas.GeoDataFrame) -> list[geopandas.GeoDataFrame]:
    """Return two tables that can be concatenated: fields of different types become text."""
    tables = [one.copy(), other.copy()]
    for name in {*one.columns, *other.columns} - {one.geometry.name}:
        types = {table[name].dtype for table in tables if name in table}
        if len(types) > 1 and not all(map(pandas.api.types.is_numeric_dtype, types)):
            for table in tables:
                table[name] = [_as_text(value) for value in table[name]]
        for table in tables:
            if name in table and len(types) == 1 and not (name in one and name in other):
                table[name] = _may_be_empty(table[name])
    return tables


def _as_text(value: object) -> Optional[str]:
    return None if pandas.api.types.is_scalar(value) and pandas.isna(value) else str(value)


def _may_be_empty(values: pandas.Series) -> pandas.Series:
    """Return integers and booleans as nullable types."""
    if pandas.api.types.is_bool_dtype(values.dtype):
        return values.astype("boolean")
    return values.astype("Int64") if pandas.api.types.is_integer_dtype(values.dtype) else values


def write_tables(
    staged: dict[str, Path], changes: geopandas.GeoDataFrame, reached: Optional[geopandas.GeoDataFrame]
) -> None:
    """Write the requested layers, "changes" and "reached" by `staged`, to one file if both have the same path.

    `reached` is None without places.
    """
    files: dict[Path, dict[str, geopandas.GeoDataFrame]] = {}
    for name, table in (("changes", changes), ("reached", reached)):
        if name in staged and table is not None:
            files.setdefault(staged[name], {})[name] = table
    for path, layers in files.items():
        write_layers(path, layers, {"changes": "LineString", "reached": "Point"})
