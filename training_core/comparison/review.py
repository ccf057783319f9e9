"""The review of a layer of changes: what people have accepted or rejected, and which features are exported.

Scope: fields of known words, and the words that people write into `review`. Independent of the exports.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

import geopandas
import pandas

from ..errors import LayerError
from ..events import Reporter
from ..geodata.vectors import require_fields, with_names
from ..jobs.challenges import ACCEPTED, CHANGE, CHANGES, REJECTED, REVIEW, REVIEW_WORDS, verdict_of
from ..jobs.fields import word_in

# A message shows this number of values.
_SHOWN = 3


def known_only(
    layer: geopandas.GeoDataFrame,
    field: str,
    known: Collection[str],
    purpose: str,
    path: str,
    reporter: Reporter,
) -> geopandas.GeoDataFrame:
    """Return the features of a layer whose `field` has a known word, with that word as it is known.

    Others, such as lines that somebody has added, are left out with a warning. `purpose` is the layer in messages.
    Raises LayerError if the layer lacks the field, or has features, but none with a known word.
    """
    layer = with_names(layer, (field,), path, purpose)
    require_fields(layer, (field,), path, purpose)
    words = _words(layer, field, word_in)
    is_known = words.isin(known)
    if not is_known.all():
        unknown = words[~is_known]
        text = (
            f"The {purpose} ({path}) have features without a known {field!r}: {len(unknown):,} of {len(layer):,} "
            f"({_shown(unknown)}). Known values are {', '.join(known)}."
        )
        if not is_known.any():
            raise LayerError(text, "Choose a layer that RoadSeg wrote.")
        reporter.warning(f"{text} They are left out.")
    return layer.assign(**{field: words})[is_known].reset_index(drop=True)


def without_rejected(layer: geopandas.GeoDataFrame, purpose: str, path: str) -> geopandas.GeoDataFrame:
    """Return the accepted features of a layer of changes where any is accepted or rejected, otherwise the layer.

    Any other layer is returned as it is. `purpose` is the layer in messages. Raises LayerError if a value of `review`
    is not understood; or features are rejected, and none is accepted.
    """
    named = with_names(layer, (CHANGE, REVIEW), path, purpose)
    if not {CHANGE, REVIEW}.issubset(named.columns) or not _words(named, CHANGE, word_in).isin(CHANGES).any():
        return layer
    verdicts = _words(named, REVIEW, verdict_of)
    is_unknown = ~verdicts.isin((ACCEPTED, REJECTED, ""))
    if is_unknown.any():
        raise LayerError(
            f"The field {REVIEW!r} of the {purpose} ({path}) has {is_unknown.sum():,} unknown values: "
            f"{_shown(verdicts[is_unknown])}.",
            f"Known values are {', '.join(REVIEW_WORDS)}, and empty.",
        )
    if (verdicts == "").all():
        return layer
    accepted = layer[verdicts == ACCEPTED].reset_index(drop=True)
    if accepted.empty:
        raise LayerError(
            f"Some features of the {purpose} ({path}) are {REJECTED}, but none is {ACCEPTED}.",
            f"Set the field {REVIEW!r} of the features to export to {ACCEPTED!r}, or empty it everywhere.",
        )
    return accepted


def _words(layer: geopandas.GeoDataFrame, field: str, spelled: Callable[[object], str]) -> pandas.Series:
    """Return the values of a field as words; none of an empty layer, which may lack it."""
    values = layer.get(field, pandas.Series(dtype=object)).astype(object)
    return values.where(values.notna(), None).map(spelled).astype(object)


def _shown(words: pandas.Series) -> str:
    """Return the first different words for a message."""
    different = [repr(word) if word else "empty" for word in words.drop_duplicates()]
    return ", ".join(different[:_SHOWN]) + (", …" if len(different) > _SHOWN else "")
