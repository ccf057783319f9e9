"""The changes of a road network as layers: stretches with the fields of their lines.

Knows tables and their types; knows nothing of how changes are found.
"""

from __future__ import annotations

from pathlib import Path
from typing import Optional

import geopandas
import numpy as np
import pandas
import shapely

from ..geodata.vectors import write_layers
from .changes import ChangeSegments
from .network_pair import AFTER, BEFORE, Pair

# What a stretch is called, by its kind, in the network before and in that after.
NAMES = {BEFORE: ("intact", "displaced", "lost"), AFTER: ("intact", "displaced", "new")}
CHANGES = ("intact", "displaced", "lost", "new")


def parts_of(segments: dict[str, ChangeSegments]) -> dict[str, np.ndarray]:
    """Return the stretches by what has become of them, as lines in the plane of the roads after."""
    parts = {}
    for name, names in NAMES.items():
        for kind, change in enumerate(names):
            if name == BEFORE or change == "new":
                parts[change] = segments[name].lines.shapes[segments[name].kind == kind]
    return parts


def to_layer(pair: Pair, segments: dict[str, ChangeSegments]) -> geopandas.GeoDataFrame:
    """Return the stretches with what has become of them and the fields of their lines, in the CRS of the roads before.

    Those of the network before lie where they were drawn; of the one after there are the new ones.
    """
    tables = [_table(pair, segments[name], name) for name in NAMES]
    spelled = {name.lower(): name for name in tables[0].columns}  # no format has both Name and name
    tables[1] = tables[1].rename(columns={name: spelled.get(name.lower(), name) for name in tables[1].columns})
    return pandas.concat(_of_like_types(*tables), ignore_index=True)


def _table(pair: Pair, segments: ChangeSegments, name: str) -> geopandas.GeoDataFrame:
    """Return the stretches of one network that the result has."""
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
            f"{each}_share": shares[feature, NAMES[name].index(each)] if each in NAMES[name] else 0.0
            for each in CHANGES
        },
    }
    shapes = segments.lines.shapes[shown]
    if name == BEFORE and pair.shift.taken_off:
        shapes = shapely.transform(shapes, lambda points: points - pair.shift.vector_m)
    own = [str(each) for each in layer.columns if each != layer.geometry.name and each.lower() not in {*made, "fid"}]
    columns = {**made, **{each: layer[each].to_numpy()[feature] for each in own}}
    return geopandas.GeoDataFrame(columns, geometry=shapes, crs=pair.plane).to_crs(pair.layers[BEFORE].crs)


def _of_like_types(one: geopandas.GeoDataFrame, other: geopandas.GeoDataFrame) -> list[geopandas.GeoDataFrame]:
    """Return two tables that can be put below each other: fields of different types as text."""
    tables = [one.copy(), other.copy()]
    for name in {*one.columns, *other.columns} - {one.geometry.name}:
        types = {table[name].dtype for table in tables if name in table}
        if len(types) > 1 and not all(pandas.api.types.is_numeric_dtype(each) for each in types):
            for table in tables:
                table[name] = [_as_text(value) for value in table[name]]
        for table in tables:
            if name in table and len(types) == 1 and not all(name in each for each in tables):
                table[name] = _may_be_empty(table[name])
    return tables


def _as_text(value: object) -> Optional[str]:
    return None if pandas.api.types.is_scalar(value) and pandas.isna(value) else str(value)


def _may_be_empty(values: pandas.Series) -> pandas.Series:
    """Return whole numbers and yes or no as types that also know nothing."""
    if pandas.api.types.is_bool_dtype(values.dtype):
        return values.astype("boolean")
    return values.astype("Int64") if pandas.api.types.is_integer_dtype(values.dtype) else values


def write_tables(
    staged: dict[str, Path], changes: geopandas.GeoDataFrame, reached: Optional[geopandas.GeoDataFrame]
) -> None:
    """Write the layers that are asked for, to one file where both have the same."""
    files: dict[Path, dict[str, geopandas.GeoDataFrame]] = {}
    for name, table in (("changes", changes), ("reached", reached)):
        if name in staged and table is not None:
            files.setdefault(staged[name], {})[name] = table
    for path, layers in files.items():
        write_layers(path, layers, {"changes": "LineString", "reached": "Point"})
