"""A judged accuracy sample read from its layer, and its estimates as numbers and in sentences.

Scope: features, words and documents. Independent of how accuracy is estimated.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import geopandas

from ..errors import JobError, LayerError
from ..events import Reporter
from ..geodata.vectors import read_layer, require_features, require_fields, require_geometry, with_names
from ..jobs.accuracy import SAMPLE_FIELDS, sample_of
from ..jobs.accuracy_estimates import WANTED_MARGIN, Accuracy, Place, strata_of

_PURPOSE, _REMEDY = "accuracy sample", "Choose a layer that Draw an accuracy sample wrote."
METHOD = (
    "Completeness and correctness were estimated from a stratified random sample of stretches of the network (Olofsson "
    "et al. 2014, Wilson 1927) and of transects (line intersect sampling, de Vries 1986), with 95 % intervals (Fay and "
    "Feuer 1997, Donner and Zou 2012)."
)


def read_sample(path: str, reporter: Reporter) -> tuple[geopandas.GeoDataFrame, list[Place]]:
    """Return the layer of a sample and the place of each feature.

    Raises LayerError if the layer is no sample, a verdict is not understood, or a stratum has several sizes.
    """
    layer = read_layer(path, _PURPOSE, reporter)
    require_features(layer, path, _PURPOSE)
    require_geometry(layer, ("lines",), path, _PURPOSE)
    layer = with_names(layer, SAMPLE_FIELDS, path, _PURPOSE)
    require_fields(layer, SAMPLE_FIELDS, path, _PURPOSE)
    fields = layer[list(SAMPLE_FIELDS)].astype(object)
    rows = fields.where(fields.notna(), None).to_dict("records")
    try:
        return layer, sample_of(rows)
    except JobError as error:
        raise LayerError(f"The {_PURPOSE} ({path}) cannot be used. {error}", _REMEDY) from error


def require_enough(accuracy: Accuracy, path: str) -> None:
    """Raise LayerError if too few places are judged."""
    if accuracy.needed:
        raise LayerError(
            f"Only {accuracy.judged:,} places of the {_PURPOSE} ({path}) are judged.",
            f"Judge at least {accuracy.needed:,} more, in the order of their numbers.",
        )


def to_document(accuracy: Accuracy, places: list[Place]) -> dict[str, Any]:
    """Return the estimates and the strata as they are written to JSON."""
    strata = [
        {"kind": each.kind, "stratum": each.name, "size": each.size, "judged": len(each.judged), "sum": each.total}
        for each in strata_of(places)
    ]
    return {**asdict(accuracy), "is_enough": accuracy.is_enough, "strata": strata, "method": METHOD}


def summary_sentences(document: dict[str, Any]) -> list[str]:
    """Return the estimates in sentences."""
    names = {"completeness": "Completeness", "correctness": "Correctness", "f1": "F1"}
    numbers = "; ".join(
        f"{name} {document[key]['value']:.1%} (95 % interval {document[key]['low']:.1%} to {document[key]['high']:.1%})"
        for key, name in names.items()
    )
    more, margin = document["more"], f"{100 * WANTED_MARGIN:g} points"
    return [
        f"{numbers}, from {document['judged']:,} judged places.",
        f"About {more:,} more places would bring both margins to {margin}."
        if more
        else f"Both margins are within {margin}.",
    ]
