"""Numbers in fields, also as texts.

Scope: values of a field. Independent of what the numbers mean, but for their unit.
"""

from __future__ import annotations

from collections.abc import Mapping

import geopandas
import numpy as np
import pandas

from ..errors import LayerError
from ..events import Reporter
from ..jobs.field_values import NO_UNITS, number_in


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

    Raises
    ------
    LayerError
        None of the values is a number.
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
        f"{unread.sum():,} of {given.sum():,} values in the field {field!r} of the {purpose} are no numbers, such as "
        f"{example!r}; they count as unknown."
    )
