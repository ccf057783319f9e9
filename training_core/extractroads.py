"""The job extractroads: from an image to a road network in one go.

Knows how segmenting and vectorizing join; the probability stays in memory, or in a temporary file where it is large, a
byte a pixel.
"""

from __future__ import annotations

from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, Optional

import numpy as np

from .cache import allocate
from .events import Reporter
from .inference import CERTAIN, NO_DATA
from .jobs import ExtractRoads
from .outputs import Outputs
from .plans import ImagePlan, check_plans, no_data
from .results import ResultWriter
from .roadraster import byte_raster
from .segment import Segmenter, prepare_segmenter, seconds_per_px, segmented
from .vectorize import extract_network, write_network
from .vectors import check_vector_output


def run(job: ExtractRoads, reporter: Reporter) -> dict[str, Any]:
    """Do the job; see `jobs.ExtractRoads`."""
    check_vector_output(job.roads)
    segmenter = prepare_segmenter(job.model, job, reporter)
    with Outputs([job.raster, job.model, job.aoi]) as outputs:
        roads_path = outputs.stage(job.roads)
        mask_path = outputs.stage(job.mask) if job.mask else None
        plan = segmenter.plan(job.raster, job.aoi, mask=job.mask)
        reporter.log(check_plans([plan], partial(seconds_per_px, segmenter)))
        probability = _probability(plan, segmenter, mask_path, reporter.part(0, 0.8))
        raster = byte_raster(probability, CERTAIN, NO_DATA, segmenter.threshold)
        network = extract_network(raster, plan.grid, job, reporter.part(0.8, 1))
        numbers = write_network(network, roads_path, None)
    return {"roads": job.roads, **({"mask": job.mask} if job.mask else {}), **numbers, "engine": segmenter.engine.name}


def _probability(plan: ImagePlan, segmenter: Segmenter, mask_path: Optional[Path], reporter: Reporter) -> np.ndarray:
    """Return the probability bytes of an image, and write its mask where it is wanted."""
    probability = allocate((plan.grid.height, plan.grid.width), np.uint8)
    probability[:], has_data = NO_DATA, False
    with ResultWriter(plan.grid, mask_path, None, segmenter.threshold) as writer:
        with closing(segmented([plan], segmenter, reporter)) as results:
            for _, tile, values in results:
                writer.write(tile, values)
                probability[tile.destination] = values
                has_data |= bool((values != NO_DATA).any())
        if not has_data:
            raise no_data(plan)
    return probability
