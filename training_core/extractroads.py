"""The job extractroads: from an image to a road network in one go.

Knows how segmenting and vectorizing join; the probability stays in memory, a byte a pixel.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .events import Reporter
from .imagery import Image, match_bands, open_raster
from .inference import CERTAIN, NO_DATA, to_mask
from .jobs import ExtractRoads
from .outputs import Outputs
from .segment import Area, ResultWriter, Segmenter, prepare_segmenter, segment_image
from .vectorize import extract_network, write_network
from .vectors import check_vector_output


def run(job: ExtractRoads, reporter: Reporter) -> dict[str, Any]:
    """Do the job; see `jobs.ExtractRoads`."""
    check_vector_output(job.roads)
    segmenter = prepare_segmenter(job.model, job, reporter)
    with Outputs([job.raster, job.model, job.aoi]) as outputs:
        roads_path = outputs.stage(job.roads)
        mask_path = outputs.stage(job.mask) if job.mask else None
        with open_raster(job.raster) as dataset:
            indexes = match_bands(dataset, segmenter.card.bands)
            with Image(dataset, indexes, segmenter.card.resolution_m) as image:
                probability = _probability(image, segmenter, job, mask_path, reporter.part(0, 0.8))
                grid = image.grid
        road = to_mask(probability, segmenter.threshold) == 1
        network = extract_network(
            road, probability != NO_DATA, probability / np.float32(CERTAIN), grid, job, reporter.part(0.8, 1)
        )
        numbers = write_network(network, roads_path, None)
    return {"roads": job.roads, **({"mask": job.mask} if job.mask else {}), **numbers, "engine": segmenter.engine.name}


def _probability(
    image: Image, segmenter: Segmenter, job: ExtractRoads, mask_path: Any, reporter: Reporter
) -> np.ndarray:
    grid = image.grid
    area = Area(grid, job.aoi) if job.aoi else None
    probability = np.full((grid.height, grid.width), NO_DATA, dtype=np.uint8)
    with ResultWriter(grid, mask_path, None, segmenter.threshold) as writer:
        for tile, values in segment_image(image, segmenter, area, reporter):
            writer.write(tile, values)
            probability[tile.destination] = values
    return probability
