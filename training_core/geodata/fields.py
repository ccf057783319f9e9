"""Fields of a layer: numbers and yes/no as texts, and types that pyogrio and pandas lose where values are missing.

In a table of pandas, a whole number or yes/no with NULL has a type of its own. A day is a time in whole seconds, `DAY`;
times are in milliseconds or finer.

Scope: attributes of a layer that has been read, or is written. Independent of what fields mean, but for their unit.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from typing import Any, Optional

import geopandas
import numpy as np
import pandas
import pyogrio
from pandas.api.extensions import ExtensionArray, ExtensionDtype

from ..errors import LayerError
from ..events import Reporter
from ..jobs.fields import METERS, NO, NO_UNITS, YES, number_in, stored_names, word_in

# Types with a place for NULL, by the name of numpy's type.
NULLABLE = {"bool": "boolean", "int16": "Int16", "int32": "Int32", "int64": "Int64"}
DAY = np.dtype("datetime64[s]")
_GEOMETRY = "geometry"
# float64 does not hold every whole number from here on.
EXACT_BELOW = 2.0**53
# Formats in which any column holds any value, of which GDAL makes 0, or the last bits of a number.
_UNTYPED = ("GPKG", "SQLite")


def numbers_in(values: pandas.Series, units: Mapping[str, float] = NO_UNITS) -> np.ndarray:
    """Return a field's numbers, (n,) float64; NaN where it has none."""
    if pandas.api.types.is_numeric_dtype(values):
        return values.to_numpy(dtype=np.float64, na_value=np.nan)
    return np.array([number_in(value, units) for value in values], dtype=np.float64)


def widths_m_in(layer: geopandas.GeoDataFrame, field: str) -> np.ndarray:
    """Return the widths in a field, in meters: (n,) float64; NaN where it has no number above 0, or is not there."""
    widths_m = numbers_in(layer[field], METERS) if field in layer else np.full(len(layer), np.nan)
    return np.where(widths_m > 0, widths_m, np.nan)


def check_numbers(
    layer: geopandas.GeoDataFrame,
    field: str,
    path: str,
    purpose: str,
    reporter: Reporter,
    units: Mapping[str, float] = NO_UNITS,
) -> None:
    """Check that a field, if it is there and has values, has numbers, and warn of values that are none.

    Raises LayerError if none of the values is a number.
    """
    if field not in layer.columns:
        return
    values = layer[field]
    given = ~values.isna().to_numpy() & (values.astype(str).str.strip() != "").to_numpy()
    unread = given & np.isnan(numbers_in(values, units))
    if not unread.any():
        return
    example = str(values[unread].iloc[0])[:50]
    if unread.sum() == given.sum():
        raise LayerError(
            f"The field {field!r} of the {purpose} ({path}) has no numbers, but values such as {example!r}.",
            "Choose a field with numbers, such as 12.5 or 12,5, or none.",
        )
    reporter.warning(
        f"{unread.sum():,} of {given.sum():,} values in the field {field!r} of the {purpose} are not numbers, such as "
        f"{example!r}. They count as unknown."
    )


def check_yes_no(layer: geopandas.GeoDataFrame, field: str, purpose: str, reporter: Reporter) -> None:
    """Warn of values in a field, if it is there, that are neither yes nor no; see `jobs.fields`."""
    if field not in layer.columns:
        return
    values = layer[field].dropna()
    unread = values[~values.map(word_in).isin(("", *YES, *NO))]
    if len(unread):
        reporter.warning(
            f"{len(unread):,} of {len(values):,} values in the field {field!r} of the {purpose} are neither yes nor "
            f"no, such as {str(unread.iloc[0])[:50]!r}. They count as yes."
        )


def restore_types(layer: geopandas.GeoDataFrame, file: str, where: dict[str, Any], about: dict[str, Any]) -> None:
    """Restore the types of a layer that has just been read: pyogrio has decimals where a whole number or bool is NULL.

    A field called `geometry`, which pyogrio replaces by the shapes, is restored, and the shapes have another name.
    Lists and objects become texts of JSON. Values that are not of their field's type, which a GeoPackage can hold,
    become NULL with a warning like those of GDAL.

    The layer is as `pyogrio.read_dataframe` returns it, with features' numbers in the file as index. `where` are the
    arguments that select its features, layer included, and `about` is what `pyogrio.read_info` returns.
    """
    names = [str(name) for name in about["fields"]]
    for name, declared in zip(names, map(str, about["dtypes"])):
        if name == _GEOMETRY:
            layer.rename_geometry(stored_names([name], names)[name], inplace=True)
            layer[name] = pyogrio.read_dataframe(file, columns=[name], read_geometry=False, **where)[name].array
        elif declared in NULLABLE and layer[name].dtype == np.float64:
            layer[name] = _whole(layer[name], file, where["layer"]).astype(NULLABLE[declared])
        elif declared == "datetime64[D]" and layer[name].dtype.kind == "M":
            layer[name] = layer[name].astype(DAY)
    json_as_text(layer)
    if about["driver"] in _UNTYPED:
        _drop_misfits(layer, file, where, about)


def json_as_text(layer: pandas.DataFrame) -> None:
    """Replace lists and objects in a layer's fields by texts of JSON, as GDAL's formats store them."""
    for name in layer.columns[layer.dtypes.map(str) == "object"]:
        if pandas.api.types.infer_dtype(layer[name]).startswith("mixed"):
            layer[name] = layer[name].map(_json_text, na_action="ignore")


def _json_text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=lambda each: getattr(each, "tolist", each.__str__)())


def _drop_misfits(layer: geopandas.GeoDataFrame, file: str, where: dict[str, Any], about: dict[str, Any]) -> None:
    """Make values NULL that are not of their field's type, and warn of their number in each field."""
    types = {str(name): str(declared) for name, declared in zip(about["fields"], about["dtypes"])}
    misfits = {name: condition for name, declared in types.items() if (condition := _misfits(name, declared))}

    def found(condition: str) -> pandas.Index:
        asked = f"({where['where']}) AND ({condition})" if where.get("where") else condition
        options = {**where, "where": asked, "columns": [], "read_geometry": False, "fid_as_index": True}
        return layer.index.intersection(pyogrio.read_dataframe(file, **options).index)

    if not misfits or not len(found(" OR ".join(misfits.values()))):
        return
    for name, condition in misfits.items():
        rows = found(condition)
        if len(rows):
            told = f"Invalid content in {len(rows):,} values of the field {name!r}"
            warnings.warn(told, RuntimeWarning, stacklevel=2)
            layer[name] = layer[name].astype(NULLABLE.get(types[name], layer[name].dtype))
            layer.loc[rows, name] = None


def _misfits(name: str, declared: str) -> str:
    """Return the condition in SQLite's terms for values of a field that are not of its type; empty for any value."""
    column = '"{}"'.format(name.replace('"', '""'))
    if declared.startswith("float"):
        return f"typeof({column}) IN ('text', 'blob')"
    if declared not in NULLABLE:
        return ""
    within = ""
    if declared in ("int16", "int32"):
        limits = np.iinfo(declared)
        within = f" OR {column} NOT BETWEEN {limits.min} AND {limits.max}"
    return f"typeof({column}) NOT IN ('integer', 'null'){within}"


def _whole(values: pandas.Series, file: str, layer: str | int) -> pandas.Series:
    """Return whole numbers, (n,) float64 with NaN for NULL, as Int64, with large ones as they are in the file."""
    large = values.index[values.abs() >= EXACT_BELOW]
    whole = values.where(values.abs() < EXACT_BELOW).astype("Int64")
    if len(large):
        # They keep their type if no NULL is among them.
        exact = pyogrio.read_dataframe(
            file, layer=layer, columns=[values.name], read_geometry=False, fids=large, fid_as_index=True
        )
        whole.loc[large] = exact[values.name].astype("Int64").loc[large]
    return whole


def read_parquet(file: str) -> geopandas.GeoDataFrame:
    """Return the features of a GeoParquet file; pyarrow must be there."""
    import pyarrow
    from pyarrow import parquet

    nullable = {pyarrow.from_numpy_dtype(name): pandas.api.types.pandas_dtype(NULLABLE[name]) for name in NULLABLE}
    to_pandas = {"types_mapper": nullable.get, "date_as_object": False}
    layer = geopandas.read_parquet(file, to_pandas_kwargs=to_pandas)
    days = [field.name for field in parquet.read_schema(file) if pyarrow.types.is_date(field.type)]
    json_as_text(layer)
    return layer.astype(dict.fromkeys(days, DAY))


def with_days(layer: geopandas.GeoDataFrame) -> geopandas.GeoDataFrame:
    """Return a layer of which pyogrio writes days as such, not as times."""
    names = layer.columns[layer.dtypes == DAY]
    return layer.assign(**{name: _Days(layer[name].to_numpy().astype("datetime64[D]")) for name in names})


class _DayType(ExtensionDtype):
    name, type = "day", np.datetime64


class _Days(ExtensionArray):
    """Days as numpy has them, (n,) datetime64[D], of which pandas would make times; made to be written."""

    dtype = _DayType()

    def __init__(self, days: np.ndarray) -> None:
        self._days = days

    def __len__(self) -> int:
        return len(self._days)

    def __getitem__(self, item: Any) -> Any:
        return self._days[item]

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> np.ndarray:
        return self._days

    def isna(self) -> np.ndarray:
        return np.isnat(self._days)

    def copy(self) -> _Days:
        return _Days(self._days)
