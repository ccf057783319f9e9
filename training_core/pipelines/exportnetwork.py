"""The job exportnetwork: a layer of road lines as a routable graph, in GraphML, GeoPackage or OSM.

Scope: reading and writing of files. The network is made in `line_export`.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import geopandas

from ..comparison.change_results import reviewed_only, without_rejected
from ..errors import OutputError
from ..events import Reporter
from ..geodata.osm_layers import is_extract
from ..geodata.vector_output import check_vector_output, write_layers
from ..jobs import ExportNetwork
from ..networks.line_export import PURPOSE, export_layer, line_fields, write_graphml
from ..networks.lines import read_line_layer
from ..networks.osm_file import TAG_FIELDS, check_osm_output, ways_of, write_osm
from ..system.outputs import Outputs


def run(job: ExportNetwork, reporter: Reporter) -> dict[str, Any]:
    """Run the job and return its result; see `jobs.ExportNetwork`."""
    _check_outputs(job)
    with Outputs(inputs=[job.lines]) as outputs:
        paths, staged = outputs.stage_fields(job, "graphml", "geopackage", "osm")
        reporter.progress(0, "Reading")
        named = (job.lines_oneway_field, job.lines_class_field)
        layer = read_line_layer(job.lines, PURPOSE, line_fields(job), reporter, named)
        layer = reviewed_only(without_rejected(layer, PURPOSE, job.lines), job.reviewed_only, PURPOSE, job.lines)
        job = _with_tags(job, layer, reporter)
        network, numbers = export_layer(layer, job, reporter.part(0.1, 0.7))
        reporter.step(0.7, "Writing")
        if "graphml" in staged:
            write_graphml(network, staged["graphml"])
        if "geopackage" in staged:
            layers = {"nodes": network.nodes, "edges": network.edges}
            write_layers(staged["geopackage"], layers, {"nodes": "Point", "edges": "LineString"})
        if "osm" in staged:
            if tagged := [name for name in TAG_FIELDS if name in network.edges]:
                reporter.log(f"Tags in {job.osm} are made from the fields {', '.join(tagged)}.")
            write_osm(ways_of(network, job.lines_bridge_field, job.lines), staged["osm"])
    return {**paths, **numbers}


def _with_tags(job: ExportNetwork, layer: geopandas.GeoDataFrame, reporter: Reporter) -> ExportNetwork:
    """Return the job with the tags of an extract as the fields for bridges and one-way roads that nobody named."""
    tags = [tag for tag in ("bridge", "oneway") if is_extract(layer) and tag in layer.columns]
    fields: dict[str, Any] = {f"lines_{tag}_field": tag for tag in tags}
    fields = {field: tag for field, tag in fields.items() if not getattr(job, field)}
    if fields:
        reporter.log(f"No fields are chosen for them, so these tags are used: {', '.join(fields.values())}.")
    return replace(job, **fields)


def _check_outputs(job: ExportNetwork) -> None:
    if job.graphml and Path(job.graphml).suffix.lower() != ".graphml":
        raise OutputError(
            f"{job.graphml} is not in a format in which RoadSeg writes graphs.", "Give a name that ends in .graphml."
        )
    if job.geopackage:
        check_vector_output(job.geopackage, 2)
    if job.osm:
        check_osm_output(job.osm)
