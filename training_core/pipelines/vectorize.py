"""The job vectorize: from a mask or probability raster to a road network.

Scope: inputs and outputs; the steps are those of `extraction.road_extraction`. Independent of where a mask comes from.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from ..errors import ImageryError
from ..events import Reporter
from ..extraction.road_extraction import extract_network
from ..geodata.grid import Grid, grid_of
from ..geodata.local_thresholds import read_threshold_areas, with_threshold_areas
from ..geodata.non_roads import area_on, close, read_places, tell, without
from ..geodata.rasters import open_mask, open_raster
from ..geodata.road_classes import class_band
from ..geodata.road_raster import RoadRaster, band_raster
from ..geodata.sources import with_sources
from ..jobs import Vectorize
from ..networks.network_tables import layer_paths, write_network
from ..system.outputs import Outputs


def run(job: Vectorize, reporter: Reporter) -> dict[str, Any]:
    """Run the job and return its result; see `jobs.Vectorize`."""
    with Outputs(with_sources([job.raster, job.classes, job.no_road, job.threshold_areas])) as outputs:
        paths, staged = outputs.stage_fields(job, *layer_paths(job))
        with ExitStack() as stack:
            dataset = stack.enter_context(open_mask(job.raster, job.road_values))
            grid, classes = grid_of(dataset), None
            if job.classes:
                classes = class_band(stack.enter_context(open_raster(job.classes)), grid, job.raster)
            raster = band_raster(dataset, job.threshold, reporter, job)
            if raster.mask_values:
                reporter.log(f"{job.raster} is a mask: {raster.mask_values}.")
            if job.threshold_areas:
                raster = _with_areas(raster, grid, job, reporter)
            if (no_road := read_places(job.no_road, reporter, [grid])) is not None:
                closed = close(raster, grid, area_on(no_road, grid))
                tell(closed.left_out, reporter)
                raster = without(raster, closed)
            found = extract_network(raster, grid, job, reporter.part(0, 0.9), classes)
        reporter.progress(0.9, "Writing")
        numbers = write_network(found, staged)
    return {**paths, **numbers}


def _with_areas(raster: RoadRaster, grid: Grid, job: Vectorize, reporter: Reporter) -> RoadRaster:
    """Return the raster with its threshold areas; raise ImageryError if it is a mask, which has no threshold."""
    if raster.threshold is None:
        raise ImageryError(
            f"{job.raster} is a mask, so threshold areas (threshold_areas) have no effect.",
            "Give the road probability that Segment roads or Extract roads writes, or leave the areas out.",
        )
    return with_threshold_areas(raster, grid, read_threshold_areas(job.threshold_areas, grid, reporter))
