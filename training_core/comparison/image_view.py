"""What a model sees in an image: the probability of road, to look along lines in.

Scope: images, models and areas. Independent of lines.
"""

from __future__ import annotations

from contextlib import closing
from functools import partial
from typing import Optional

import geopandas
import numpy as np

from ..events import Reporter
from ..geodata.pixel_codes import NO_DATA
from ..models.loading import load_model
from ..segmentation.measured import seconds_per_px
from ..segmentation.segmenter import SegmentJob, prepare_segmenter, segmented
from ..segmentation.work_plan import check_size, plan_image, plan_work
from ..system.large_arrays import allocate
from .road_state import View


def view_of(image: str, area: Optional[geopandas.GeoDataFrame], options: SegmentJob, reporter: Reporter) -> View:
    """Return the probability of road in an image, or in an area of it, by the model of a job.

    Raises errors as `plan_image` and `load_model` do.
    """
    model, card = load_model(options.model)
    plan = plan_image(image, area, card.input)
    check_size([plan])
    segmenter = prepare_segmenter(model, card, [plan], options, reporter)
    work = plan_work([plan], segmenter.tiles, partial(seconds_per_px, segmenter.predictor))
    reporter.log(str(work))
    probability = allocate((plan.grid.height, plan.grid.width), np.uint8)
    probability[:] = NO_DATA
    with closing(segmented(work, segmenter, reporter)) as tiles:
        for _, tile, found in tiles:
            probability[tile.destination] = found.probability
    return View(probability, plan.grid, segmenter.threshold)
