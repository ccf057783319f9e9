"""Fields of a layer: numbers written as texts, and types that pyogrio and pandas lose where values are missing.

In a table of pandas, a whole number or yes/no with NULL has a type of its own. A day is a time in whole seconds, `DAY`;
times are in milliseconds or finer.

Scope: attributes of a layer that has been read, or is written. Independent of what fields mean, but for their unit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Optional

import geopandas
import numpy as np
import pandas
import pyogrio
from pandas.api.extensions import ExtensionArray, ExtensionDtype

from ..errors import LayerError
from ..events import Reporter
from ..jobs.fields import NO_UNITS, number_in, stored_names

# Types with a place for NULL, by the name of numpy's type.
NULLABLE = {"bool": "boolean", "int16": "Int16", "int32": "Int32", "int64": "Int64"}
DAY = np.dtype("datetime64[s]")
_GEOMETRY = "geometry"
# float64 does not hold every whole number from here on.
_EXACT_BELOW = 2.0**53


def numbers_in(values: pandas.Series, units: Mapping[str, float] = NO_UNITS) -> np.ndarray:
    """Return a field's numbers, (n,) float64; NaN where it has none."""
    if pandas.api.types.is_numeric_dtype(values):
        return values.to_numpy(dtype=np.float64, na_value=np.nan)
    return np.array([number_in(value, units) for value in values], dtype=np.float64)


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


def restore_types(layer: geopandas.GeoDataFrame, file: str, where: dict[str, Any], about: dict[str, Any]) -> None:
    """Restore the types of a layer that has just been read: pyogrio has decimals where a whole number or bool is NULL.

    A field called `geometry`, which pyogrio replaces by the shapes, is restored, and the shapes have another name.

    Parameters
    ----------
    layer : GeoDataFrame
        As `pyogrio.read_dataframe` returns it, with features' numbers in the file as index.
    where : dict
        The arguments that select its features, layer included.
    about : dict
        What `pyogrio.read_info` returns.
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


def _whole(values: pandas.Series, file: str, layer: str | int) -> pandas.Series:
    """Return whole numbers, (n,) float64 with NaN for NULL, as Int64, with large ones as they are in the file."""
    large = values.index[values.abs() >= _EXACT_BELOW]
    whole = values.where(values.abs() < _EXACT_BELOW).astype("Int64")
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
