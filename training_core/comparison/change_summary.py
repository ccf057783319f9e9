"""The changes of a road network in numbers and sentences.

Scope: the document of a comparison, as JSON. Independent of how networks are read and changes are written.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Optional

import numpy as np

from ..events import Reporter
from ..jobs import CompareNetworks
from ..system.versions import versions
from .accessibility import PlaceRoutes
from .change_layer import CHANGES, NAMES
from .changes import DISPLACED, ChangeSegments, Limits, classify_changes
from .network_pair import AFTER, BEFORE, Pair

# Lost roads are warned of from this fraction of the roads before.
_WARNED_LOST_FRACTION = 0.5
# What routes run on, by the job's word for it.
ROUTES_ON = {
    "after": "Routes run on the roads after, as they are drawn: where one was not seen, as under trees, they "
    "are interrupted.",
    "remaining": "Routes run on the roads before that are intact or displaced, and on the new ones.",
}


def find_changes(pair: Pair, job: CompareNetworks) -> dict[str, ChangeSegments]:
    """Return the lines of both networks cut into segments by what changed, by BEFORE and AFTER."""
    limits = Limits(job.tolerance_m, job.displaced_m, job.parallel_angle, job.min_stretch_m)
    before, after = classify_changes(pair.roads[BEFORE], pair.roads[AFTER], limits)
    return {BEFORE: before, AFTER: after}


def warn_of_loss(before: ChangeSegments, reporter: Reporter) -> None:
    """Warn if so much is lost that a disaster is not the likely cause."""
    fraction = before.length_m[~before.is_matched].sum() / before.length_m.sum()
    if fraction > _WARNED_LOST_FRACTION:
        reporter.warning(
            f"{fraction:.0%} of the roads before are lost. Check that both layers are aligned, and that the new image "
            "shows all of this area; else give its outline as area of interest."
        )


def to_document(
    job: CompareNetworks, pair: Pair, segments: dict[str, ChangeSegments], routes: Optional[PlaceRoutes]
) -> dict[str, Any]:
    """Return the numbers as they are written to JSON, with all that they depend on.

    Parameters
    ----------
    segments : dict of str to ChangeSegments
        By BEFORE and AFTER.
    routes : PlaceRoutes, optional
        None where there are no places.
    """
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
        "routes": None if routes is None else {"places": len(routes.status), **routes.counts()},
        **{
            name: getattr(job, name)
            for name in (
                "tolerance_m",
                "displaced_m",
                "parallel_angle",
                "min_stretch_m",
                "place_m",
                "routes_on",
                "join_m",
            )
        },
        "versions": versions(),
    }


def summary_sentences(document: dict[str, Any]) -> list[str]:
    """Return the changes and the accessibility of places in sentences, with all that they depend on."""
    words = [
        f"{document[change]['length_m'] / 1000:.2f} km ({document[change]['share']:.1%}) {change}" for change in CHANGES
    ]
    before, after, shift = document["before"], document["after"], document["shift"]
    sentences = [
        f"Of {before['length_m'] / 1000:.2f} km of roads before, {words[0]}, {words[1]} and {words[2]}; of "
        f"{after['length_m'] / 1000:.2f} km after, {words[3]}. Intact is what lies along a road of the other network "
        f"within {document['tolerance_m']:g} m, displaced what does so within {document['displaced_m']:g} m, at an "
        f"angle of at most {document['parallel_angle']:g} degrees; stretches shorter than "
        f"{document['min_stretch_m']:g} m count as their neighbors."
    ]
    if shift["measured"]:
        removed = "removed" if shift["taken_off"] else "not removed"
        sentences.append(
            f"As a whole, the roads after are offset from those before by {shift['east_m']:+.1f} m east and "
            f"{shift['north_m']:+.1f} m north; this shift is {removed}."
        )
    routes = document["routes"]
    if routes is not None:
        counts = ", ".join(
            f"{count} {status.replace('_', ' ')}" for status, count in routes.items() if status != "places"
        )
        sentences.append(f"Of {routes['places']} places: {counts}. {ROUTES_ON[document['routes_on']]}")
    return sentences
