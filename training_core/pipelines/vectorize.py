"""The job vectorize: from a mask or probability raster to a road network.

Scope: inputs and outputs; the steps are those of `extraction.road_extraction`. Independent of where a mask comes from.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from ..events import Reporter
from ..extraction.road_extraction import extract_network
from ..geodata.class_raster import class_band
from ..geodata.grid import grid_of
from ..geodata.raster_files import with_sources
from ..geodata.rasters import open_raster
from ..geodata.road_raster import band_raster
from ..geodata.vectors import check_vector_output
from ..jobs import Vectorize
from ..networks.network_tables import write_network
from ..system.outputs import Outputs


def run(job: Vectorize, reporter: Reporter) -> dict[str, Any]:
    """Run the job and return its result; see `jobs.Vectorize`."""
    paths = list(filter(None, (job.roads, job.nodes, job.links)))
    for path in paths:
        check_vector_output(path, paths.count(path))
    with Outputs(with_sources([job.raster, job.classes])) as outputs:
        roads_path = outputs.stage(job.roads)
        others = {name: outputs.stage(path) for name in ("nodes", "links") if (path := getattr(job, name))}
        with ExitStack() as stack:
            dataset = stack.enter_context(open_raster(job.raster))
            grid, classes = grid_of(dataset), None
            if job.classes:
                classes = class_band(stack.enter_context(open_raster(job.classes)), grid, job.raster)
            raster = band_raster(dataset, job.threshold)
            found = extract_network(raster, grid, job, reporter.part(0, 0.9), classes)
        reporter.progress(0.9, "Writing")
        numbers = write_network(found, roads_path, others.get("nodes"), others.get("links"))
    return {"roads": job.roads, **{name: getattr(job, name) for name in others}, **numbers}
