"""The job extractroads: from an image to a road network in one go.

Knows how segmenting and vectorizing join; probability and classes stay in memory, or in temporary files where they are
large, a byte a pixel each.
"""

from __future__ import annotations

from contextlib import closing
from functools import partial
from typing import Any, Optional

import numpy as np

from ..events import Reporter
from ..extraction.road_extraction import extract_network
from ..geodata.class_raster import ClassRaster, class_array
from ..geodata.pixel_codes import CERTAIN, NO_DATA
from ..geodata.road_raster import byte_raster
from ..geodata.vectors import check_vector_output
from ..jobs import ExtractRoads
from ..networks.network_tables import write_network
from ..segmentation.result_rasters import ResultWriter
from ..segmentation.segmenter import Segmenter, prepare_segmenter, require_classes, seconds_per_px, segmented
from ..segmentation.work_plan import ImagePlan, Results, check_plans, no_data
from ..system.large_arrays import allocate
from ..system.outputs import Outputs


def run(job: ExtractRoads, reporter: Reporter) -> dict[str, Any]:
    """Do the job; see `jobs.ExtractRoads`."""
    check_vector_output(job.roads)
    segmenter = prepare_segmenter(job.model, job.raster, job.aoi, job, reporter)
    require_classes(job.classes, segmenter.card, job.model)
    with Outputs([job.raster, job.model, job.aoi]) as outputs:
        roads_path = outputs.stage(job.roads)
        wanted = Results(job.mask, classes=job.classes)
        staged = Results(**{name: str(outputs.stage(path)) for name, path in wanted.named().items()})
        plan = segmenter.plan(job.raster, job.aoi, wanted)
        reporter.log(check_plans([plan], partial(seconds_per_px, segmenter)))
        probability, classes = _segment(plan, segmenter, staged, reporter.part(0, 0.8))
        raster = byte_raster(probability, CERTAIN, NO_DATA, segmenter.threshold)
        network = extract_network(raster, plan.grid, job, reporter.part(0.8, 1), classes)
        numbers = write_network(network, roads_path, None)
    return {"roads": job.roads, **wanted.named(), **numbers, "engine": segmenter.engine.name}


def _segment(
    plan: ImagePlan, segmenter: Segmenter, results: Results, reporter: Reporter
) -> tuple[np.ndarray, Optional[ClassRaster]]:
    """Return the probability bytes of an image, and its classes where the network tells them; write what is wanted."""
    size, told = (plan.grid.height, plan.grid.width), segmenter.card.classes
    probability, classes = allocate(size, np.uint8), allocate(size, np.uint8) if told else None
    probability[:], has_data = NO_DATA, False
    if classes is not None:
        classes[:] = NO_DATA
    with ResultWriter(plan.grid, results, segmenter.threshold, told) as writer:
        with closing(segmented([plan], segmenter, reporter)) as tiles:
            for _, tile, found in tiles:
                writer.write(tile, found)
                probability[tile.destination] = found.probability
                if classes is not None:
                    classes[tile.destination] = found.classes  # also where hysteresis alone may find a road
                has_data |= bool((found.probability != NO_DATA).any())
        if not has_data:
            raise no_data(plan)
    return probability, None if classes is None else class_array(classes, told)
