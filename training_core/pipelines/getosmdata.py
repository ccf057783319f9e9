"""The job getosmdata: a file of OpenStreetMap as layers of roads, bridges, water, railways and runways.

Scope: files and numbers. Nothing is downloaded here: in QGIS, the algorithm does that before.
"""

from __future__ import annotations

from typing import Any

from ..events import Reporter
from ..geodata.osm_data import LAYERS, read_layers
from ..geodata.vector_output import check_vector_output
from ..geodata.vectors import read_area
from ..jobs import GetOsmData
from ..jobs.openstreetmap import ATTRIBUTION, LICENSE, LICENSE_ADDRESS
from ..networks.network_tables import write_tables
from ..system.outputs import Outputs


def run(job: GetOsmData, reporter: Reporter) -> dict[str, Any]:
    """Run the job and return its result; see `jobs.GetOsmData`."""
    with Outputs([job.extract, job.aoi]) as outputs:
        paths, staged = outputs.stage_fields(job, *LAYERS)
        for path in paths.values():
            check_vector_output(path, list(paths.values()).count(path))
        reporter.progress(0, "Reading")
        layers = read_layers(job.extract, read_area(job.aoi) if job.aoi else None, reporter)
        reporter.progress(0.9, "Writing")
        write_tables(layers, staged, LAYERS)
    counts = {name: len(layer) for name, layer in layers.items()}
    reporter.log("; ".join(f"{name} {count:,}" for name, count in counts.items()) + ".")
    reporter.log(f"{ATTRIBUTION}, {LICENSE}: {LICENSE_ADDRESS}")
    return {**paths, "counts": counts, "attribution": f"{ATTRIBUTION}, {LICENSE}"}
