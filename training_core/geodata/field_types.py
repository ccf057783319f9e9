"""Types of fields as a file declares them, which pyogrio and pandas lose where values are missing, and those of days.

In a table, a whole number or yes/no with NULL has a type of pandas. A day is a time in whole seconds, `DAY`, whereas
times are in milliseconds or finer.

Scope: attributes of a layer that has been read, or is written. Independent of what fields mean.
"""

from __future__ import annotations

from typing import Any, Optional

import geopandas
import numpy as np
import pandas
import pyogrio
from pandas.api.extensions import ExtensionArray, ExtensionDtype

from ..jobs.field_names import stored_names

# By the name of numpy's, types that have a place for NULL.
NULLABLE = {"bool": "boolean", "int16": "Int16", "int32": "Int32", "int64": "Int64"}
DAY = np.dtype("datetime64[s]")
_GEOMETRY = "geometry"
# From here on, float64 does not hold every whole number.
_EXACT_BELOW = 2.0**53


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
        # Without NULL among them, they are read as what they are.
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
