"""The job exportchanges: new roads of a layer of changes as an OsmChange file, connected to the ways of an extract.

Scope: the order of steps. Roads are noded in `line_export`, connected and written in `osm_change`.
"""

from __future__ import annotations

from typing import Any

from ..comparison.change_results import known_only, reviewed_only, without_rejected
from ..comparison.osm_change import BRIDGE, ONE_WAY, change_lines, check_extract, meet, new_roads, shared_places
from ..errors import LayerError, OutputError
from ..events import Reporter
from ..geodata.vectors import read_layer
from ..jobs import ExportChanges, ExportNetwork
from ..jobs.review import CHANGE, CHANGES
from ..networks.line_export import export_layer
from ..networks.lines import LineFields, checked_lines, directions_of
from ..networks.osm_file import read_extract, ways_of
from ..system.outputs import Outputs

PURPOSE = "changes"
# New roads are connected already, so noding must not move a junction off its way.
_JOIN_M = 0.01


def run(job: ExportChanges, reporter: Reporter) -> dict[str, Any]:
    """Run the job and return its result; see `jobs.ExportChanges`."""
    if not job.osc.lower().endswith(".osc"):
        raise OutputError(f"{job.osc} is not the name of a change file.", "Give a name that ends in .osc.")
    with Outputs(inputs=[job.changes, job.extract]) as outputs:
        staged = outputs.stage(job.osc)
        reporter.progress(0, "Reading")
        # A layer of changes may have the fields of an extract, but everything in it is a road.
        changes = read_layer(job.changes, PURPOSE, reporter)
        layer = checked_lines(changes, job.changes, PURPOSE, LineFields(), reporter)
        layer = known_only(layer, CHANGE, CHANGES, PURPOSE, job.changes, reporter)
        chosen = without_rejected(layer, PURPOSE, job.changes)
        new = new_roads(reviewed_only(chosen, job.reviewed_only, PURPOSE, job.changes))
        if new.empty:
            raise LayerError(
                f"The {PURPOSE} ({job.changes}) have no new road to export.",
                "Choose a layer of changes that Compare road networks wrote, and accept the new roads that are right.",
            )
        reporter.step(0.2, "Splitting lines where they meet")
        fields: dict[str, Any] = {f"lines_{name}_field": name for name in (BRIDGE, ONE_WAY) if name in new.columns}
        if fields:
            reporter.log(f"The tags {' and '.join(fields.values())} are taken from the fields of these names.")
        if ONE_WAY in new.columns:  # which the export, kept silent, does not tell
            directions_of(new[ONE_WAY], f"the field {ONE_WAY!r} of the {PURPOSE}", reporter)
        export = ExportNetwork(lines=job.changes, join_m=_JOIN_M, **fields)
        network, numbers = export_layer(new, export, reporter.silent())  # which speaks of routing
        ways = ways_of(network, BRIDGE, job.changes)
        reporter.step(0.5, "Reading the extract")
        extract = read_extract(job.extract, ways.places)
        reporter.step(0.8, "Connecting")
        check_extract(new, layer, extract, job.extract)
        meetings = meet(ways.places, extract, shared_places(new, layer))
        with staged.open("w", encoding="utf-8", newline="\n") as file:
            lines = change_lines(ways.parts(), meetings, extract)
            file.writelines(f"{line}\n" for line in lines)
    counts = {"roads": len(network.edges) - int(network.edges["reversed"].sum()), "joined": int(meetings.met().sum())}
    reporter.log(
        f"New roads: {counts['roads']:,}, connected to ways of the extract in {counts['joined']:,} places. Nothing is "
        "uploaded. Check every road over imagery before you upload it."
    )
    return {"osc": job.osc, **counts, "modified": meetings.ways, "length_m": numbers["length_m"]}
