"""The review of a layer of changes: what people have accepted or rejected, and what of it is exported.

Scope: the values of the field `review`, which is empty where nobody has decided. Independent of the exports.
"""

from __future__ import annotations

import geopandas

from ..errors import LabelError
from ..jobs.networks import ACCEPTED, CHANGE, REJECTED, REVIEW


def without_rejected(layer: geopandas.GeoDataFrame, purpose: str, path: str) -> geopandas.GeoDataFrame:
    """Return the accepted features of a layer of changes where any is accepted or rejected, otherwise the layer.

    `purpose` is the layer in messages.

    Raises
    ------
    LabelError
        Features are rejected, and none is accepted.
    """
    if REVIEW not in layer.columns or CHANGE not in layer.columns:
        return layer
    decisions = layer[REVIEW].fillna("").astype(str).str.strip().str.lower()
    if not decisions.isin((ACCEPTED, REJECTED)).any():
        return layer
    accepted = layer[decisions == ACCEPTED].reset_index(drop=True)
    if accepted.empty:
        raise LabelError(
            f"Features of the {purpose} ({path}) are {REJECTED}, and none is {ACCEPTED}.",
            f"Set the field {REVIEW!r} of what is to be exported to {ACCEPTED!r}, or empty it everywhere.",
        )
    return accepted
