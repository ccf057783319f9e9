"""Types of fields as a file declares them, which pyogrio loses where values are missing.

Scope: attributes of a layer that has been read. Independent of geometry and of what fields mean.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas
import pyogrio

from ..jobs.field_names import stored_names

_GEOMETRY = "geometry"
# By the name of numpy's, types that have a place for NULL.
_NULLABLE = {"bool": "boolean", "int16": "Int16", "int32": "Int32", "int64": "Int64"}
# From here on, float64 does not hold every whole number.
_EXACT_BELOW = 2.0**53


def restore_types(layer: pandas.DataFrame, file: str, where: dict[str, Any], about: dict[str, Any]) -> None:
    """Restore the types of a layer that has just been read: pyogrio has decimals where a whole number or bool is NULL.

    A field called `geometry`, which pyogrio replaces by the shapes, is restored under another name.

    Parameters
    ----------
    layer : DataFrame
        As `pyogrio.read_dataframe` returns it, with features' numbers in the file as index.
    where : dict
        The arguments that select its features, layer included.
    about : dict
        What `pyogrio.read_info` returns.
    """
    names = [str(name) for name in about["fields"]]
    for name, declared in zip(names, map(str, about["dtypes"])):
        if name == _GEOMETRY:
            lost = pyogrio.read_dataframe(file, columns=[name], read_geometry=False, **where)[name]
            layer[stored_names(names, [_GEOMETRY])[name]] = lost.array
        elif declared in _NULLABLE and name in layer and layer[name].dtype == np.float64:
            layer[name] = _whole(layer[name], file, where["layer"]).astype(_NULLABLE[declared])


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
