"""The changes of a road network as a vector layer, its review by people, and the changes as numbers and in sentences.

Scope: tables, field types, words that people write into `review`, and the JSON document. Independent of how changes are
classified, and of exports.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import asdict
from typing import Any, Optional

import geopandas
import numpy as np
import pandas
import shapely

from ..errors import LayerError
from ..events import Reporter
from ..geodata.antimeridian import middle_of, settled
from ..geodata.fields import EXACT_BELOW, NULLABLE
from ..geodata.parallel_arrays import selected
from ..geodata.vectors import carried_fields, require_fields, with_names
from ..jobs import CompareNetworks
from ..jobs.fields import word_in
from ..jobs.review import ACCEPTED, CHANGE, CHANGES, DRAWN, REJECTED, REVIEW, REVIEW_WORDS, REVIEWED, STATUS, verdict_of
from ..networks.lines import as_in_file, drawn_places
from ..system.machine import versions
from .accessibility import counts
from .attachment import attach
from .changes import DISPLACED, UNMATCHED, ChangeSegments
from .network_pair import AFTER, BEFORE, Pair, offset_words

# The names of INTACT, DISPLACED and UNMATCHED in the network before and in that after.
NAMES = {BEFORE: ("intact", "displaced", "lost"), AFTER: ("intact", "displaced", "new")}


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


def to_layer(
    pair: Pair, segments: dict[str, ChangeSegments], job: CompareNetworks, reporter: Reporter
) -> geopandas.GeoDataFrame:
    """Return the segments with their change and the fields of their lines, in the CRS of the roads before.

    They are all segments of the network before, where they were drawn, and the new ones of the network after, attached
    to them. Raises LayerError as `attach` does.
    """
    before, after = segments[BEFORE].lines, segments[AFTER].lines
    kind = segments[AFTER].kind
    new = selected(after, kind == UNMATCHED)
    shapes = {BEFORE: before.shapes, AFTER: new.shapes}
    if job.attach_m:
        matched = after.shapes[kind != UNMATCHED]
        shapes[AFTER], shapes[BEFORE] = attach(new, matched, before, job.attach_m, job.join_m)
    shapes = {name: _as_drawn(shapes, name, pair) for name in NAMES}
    tables = [_table(pair, segments[name], name, shapes[name], reporter) for name in NAMES]
    spelled = {name.lower(): name for name in tables[0].columns}  # no format has both Name and name
    tables[1] = tables[1].rename(columns={name: spelled.get(name.lower(), name) for name in tables[1].columns})
    return pandas.concat(of_like_types(*tables), ignore_index=True)


def _as_drawn(shapes: dict[str, np.ndarray], name: str, pair: Pair) -> np.ndarray:
    """Return the lines of a network with the vertices of its file and those that both networks have."""
    places = drawn_places(pair.layers[name], pair.plane)
    if name == BEFORE and pair.field:
        places = pair.field.shifted(np.column_stack([places.real, places.imag])) @ (1, 1j)
    others = np.concatenate([shapely.get_coordinates(shapes[each]) for each in NAMES if each != name])
    return as_in_file(shapes[name], np.concatenate([places, others @ (1, 1j)]))


def _table(
    pair: Pair, segments: ChangeSegments, name: str, shapes: np.ndarray, reporter: Reporter
) -> geopandas.GeoDataFrame:
    """Return the segments of one network that the layer shows, with their shapes, (n,) object."""
    layer = pair.layers[name]
    by_feature_m = np.zeros((len(layer), 3))
    np.add.at(by_feature_m, segments.roads.lines.feature, segments.lengths_by_line())
    shares = by_feature_m / np.maximum(by_feature_m.sum(axis=1, keepdims=True), 1e-12)
    change = np.asarray(NAMES[name])[segments.kind]
    shown = np.ones(len(change), dtype=bool) if name == BEFORE else change == "new"
    feature = segments.lines.feature[shown]
    made = {
        "change": change[shown],
        REVIEW: np.full(len(feature), None),
        "length_m": shapely.length(shapes),
        "offset_m": segments.offset_m[shown],
        "network": np.full(len(feature), name.split()[-1]),
        "line": layer.index.to_numpy()[feature] + 1,
        **{
            f"{change}_share": shares[feature, NAMES[name].index(change)] if change in NAMES[name] else 0.0
            for change in CHANGES
        },
    }
    if pair.field:
        shapes = pair.field.moved_back(shapes)
    rows, carried = layer.iloc[feature], carried_fields(layer, made, reporter)
    fields = {name: rows[field].array for name, field in carried.items()}
    table = geopandas.GeoDataFrame({**made, **fields}, geometry=shapes, crs=pair.plane)
    drawn = pair.layers[BEFORE]
    return settled(table.to_crs(drawn.crs), middle_of(drawn))


def of_like_types(one: geopandas.GeoDataFrame, other: geopandas.GeoDataFrame) -> list[geopandas.GeoDataFrame]:
    """Return two tables that can be concatenated: fields of types without a common one become text."""
    tables = [one.copy(), other.copy()]
    for name in {*one.columns, *other.columns} - {one.geometry.name}:
        holders = [table for table in tables if name in table]
        types = [table[name].dtype for table in holders]
        if len(holders) == 1:
            # Rows of the other table are empty here, which integers and booleans cannot be.
            holders[0][name] = holders[0][name].astype(NULLABLE.get(str(types[0]), types[0]))
        elif len(set(types)) > 1 and not _have_common_type([table[name] for table in holders]):
            for table in holders:
                is_empty = [pandas.api.types.is_scalar(value) and pandas.isna(value) for value in table[name]]
                table[name] = [None if empty else str(value) for value, empty in zip(table[name], is_empty)]
    return tables


def _have_common_type(fields: list[pandas.Series]) -> bool:
    """Whether there is a type that holds all values of fields as they are."""
    common = pandas.concat([values.iloc[:0] for values in fields]).dtype
    whole = (values for values in fields if common.kind == "f" and pandas.api.types.is_integer_dtype(values))
    return str(common) != "object" and not any((values.abs() >= EXACT_BELOW).any() for values in whole)


# Lost roads are warned of from this fraction of the roads before.
_WARNED_LOST_FRACTION = 0.5
# What routes run on, by the job's word for it.
ROUTES_ON = {
    "after": (
        "Routes run on the roads after, as they are drawn. A road that was not seen, for example under trees, "
        "interrupts them."
    ),
    "remaining": "Routes run on the roads before that are intact or displaced, and on the new roads.",
}


def warn_of_loss(before: ChangeSegments, reporter: Reporter) -> None:
    """Warn if so much is lost that a disaster is not the likely cause."""
    fraction = before.length_m[~before.is_matched].sum() / max(before.length_m.sum(), 1e-12)
    if fraction > _WARNED_LOST_FRACTION:
        reporter.warning(
            f"{fraction:.0%} of the roads before are lost. Check that both layers are aligned, and that the new image "
            "shows all of this area. If it does not, give its outline as area of interest."
        )


def to_document(
    job: CompareNetworks, pair: Pair, segments: dict[str, ChangeSegments], routes: Optional[pandas.DataFrame]
) -> dict[str, Any]:
    """Return the numbers as they are written to JSON, with all that they depend on; without places routes are None."""
    options = ("tolerance_m", "displaced_m", "parallel_angle", "min_stretch_m", "place_m", "routes_on", "join_m")
    sums_m = {name: segments[name].lengths_by_line().sum(axis=0) for name in NAMES}
    networks = {
        name: {
            "lines": len(np.unique(pair.roads[name].lines.feature)),
            "length_m": float(sums_m[name].sum()),
            **{f"{change}_m": float(length_m) for change, length_m in zip(NAMES[name], sums_m[name])},
        }
        for name in NAMES
    }
    shares: dict[str, dict[str, Any]] = {}
    for change in CHANGES:  # intact and displaced roads are counted as they were before
        network = networks[AFTER if change == "new" else BEFORE]
        length_m, all_m = network[f"{change}_m"], network["length_m"]
        shares[change] = {"length_m": length_m, "share": length_m / all_m if all_m else 0.0}
    before = segments[BEFORE]
    moved = before.kind == DISPLACED
    shares["displaced"]["offset_m"] = (
        float(np.average(before.offset_m[moved], weights=before.length_m[moved])) if moved.any() else None
    )
    return {
        **shares,
        "before": networks[BEFORE],
        "after": networks[AFTER],
        "shift": asdict(pair.shift),
        "routes": None if routes is None else {"places": len(routes), **counts(routes)},
        **{name: getattr(job, name) for name in options},
        "versions": versions(),
    }


def summary_sentences(document: dict[str, Any]) -> list[str]:
    """Return the changes and the accessibility of places in sentences, with all that they depend on."""
    words = [
        f"{document[change]['length_m'] / 1000:.2f} km ({document[change]['share']:.1%}) {change}" for change in CHANGES
    ]
    before, after, shift = document["before"], document["after"], document["shift"]
    sentences = [
        f"Roads before: {before['length_m'] / 1000:.2f} km, of which {words[0]}, {words[1]} and {words[2]}. Roads "
        f"after: {after['length_m'] / 1000:.2f} km, of which {words[3]}. Intact roads lie along a road of the other "
        f"network within {document['tolerance_m']:g} m, and displaced roads within {document['displaced_m']:g} m, at "
        f"an angle of at most {document['parallel_angle']:g} degrees. Stretches shorter than "
        f"{document['min_stretch_m']:g} m count as their neighbors."
    ]
    if shift["measured"]:
        offset = offset_words(shift["east_m"], shift["north_m"], shift["largest_m"])
        removed = "removed" if shift["taken_off"] else "not removed"
        sentences.append(f"The roads after are offset from the roads before by {offset}. These offsets are {removed}.")
    routes = document["routes"]
    if routes is not None:
        numbers = ", ".join(
            f"{count} {status.replace('_', ' ')}" for status, count in routes.items() if status != "places"
        )
        sentences.append(f"Places: {routes['places']}, of which {numbers}. {ROUTES_ON[document['routes_on']]}")
    return sentences


# A message shows this number of values.
_SHOWN = 3


def known_only(
    layer: geopandas.GeoDataFrame, field: str, known: Collection[str], purpose: str, path: str, reporter: Reporter
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
    verdicts = verdicts_in(named, purpose, path)
    if (verdicts == "").all():
        return layer
    accepted = layer[verdicts == ACCEPTED].reset_index(drop=True)
    if accepted.empty:
        raise LayerError(
            f"Some features of the {purpose} ({path}) are {REJECTED}, but none is {ACCEPTED}.",
            f"Set the field {REVIEW!r} of the features to export to {ACCEPTED!r}, or empty it everywhere.",
        )
    return accepted


def verdicts_in(layer: geopandas.GeoDataFrame, purpose: str, path: str) -> pandas.Series:
    """Return ACCEPTED, REJECTED or an empty word for each feature; empty everywhere without the field `review`.

    `purpose` is the layer in messages. Raises LayerError if a value is not understood.
    """
    verdicts = _words(with_names(layer, (REVIEW,), path, purpose), REVIEW, verdict_of)
    verdicts = verdicts if len(verdicts) == len(layer) else pandas.Series("", index=layer.index)
    is_unknown = ~verdicts.isin((ACCEPTED, REJECTED, ""))
    if is_unknown.any():
        raise LayerError(
            f"The field {REVIEW!r} of the {purpose} ({path}) has {is_unknown.sum():,} unknown values: "
            f"{_shown(verdicts[is_unknown])}.",
            f"Known values are {', '.join(REVIEW_WORDS)}, and empty.",
        )
    return verdicts


def reviewed_only(layer: geopandas.GeoDataFrame, wanted: bool, purpose: str, path: str) -> geopandas.GeoDataFrame:
    """Return the features of a layer whose `status` is reviewed or drawn, if only these are wanted.

    Raises LayerError if there is none, or no such field.
    """
    if not wanted:
        return layer
    layer = with_names(layer, (STATUS,), path, purpose)
    require_fields(layer, (STATUS,), path, purpose)
    chosen = layer[_words(layer, STATUS, word_in).isin((REVIEWED, DRAWN)).to_numpy()].reset_index(drop=True)
    if chosen.empty:
        raise LayerError(
            f"No feature of the {purpose} ({path}) has the {STATUS} {REVIEWED} or {DRAWN}.",
            "Apply a review first, or take all roads (reviewed_only).",
        )
    return chosen


def _words(layer: geopandas.GeoDataFrame, field: str, spelled: Callable[[object], str]) -> pandas.Series:
    """Return the values of a field as words; none of an empty layer, which may lack it."""
    values = layer.get(field, pandas.Series(dtype=object)).astype(object)
    return values.where(values.notna(), None).map(spelled).astype(object)


def _shown(words: pandas.Series) -> str:
    """Return the first different words for a message."""
    different = [repr(word) if word else "empty" for word in words.drop_duplicates()]
    return ", ".join(different[:_SHOWN]) + (", …" if len(different) > _SHOWN else "")
