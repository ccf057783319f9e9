"""The job extractroads: segmentation and vectorization of an image in one run.

Scope: how the two join. Independent of how either is done. Probability and classes are kept in memory, or in temporary
files where they are large: a byte per pixel each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from functools import partial
from typing import Any, Optional

import numpy as np
from shapely.geometry.base import BaseGeometry

from ..events import Reporter
from ..extraction.road_extraction import extract_network
from ..geodata.non_roads import area_on, read_places, tell
from ..geodata.pixel_codes import NO_DATA
from ..geodata.road_classes import ClassRaster, class_array
from ..geodata.road_raster import byte_raster
from ..geodata.sources import with_sources
from ..geodata.tiling import Tile
from ..geodata.vectors import read_area
from ..jobs import ExtractRoads
from ..models.loading import load_model
from ..networks.network_tables import layer_paths, write_network
from ..segmentation.image_grid import on_grid
from ..segmentation.inference import Prediction
from ..segmentation.measured import seconds_per_px
from ..segmentation.no_road import without_places
from ..segmentation.result_rasters import ResultWriter
from ..segmentation.segmenter import Segmenter, prepare_segmenter, segmented
from ..segmentation.work_plan import ImagePlan, Results, WorkPlan, check_size, no_data, plan_image, plan_work
from ..system.large_arrays import allocate
from ..system.outputs import Outputs


def run(job: ExtractRoads, reporter: Reporter) -> dict[str, Any]:
    """Do the job; see `jobs.ExtractRoads`."""
    layer_fields = layer_paths(job)
    model, card = load_model(job.model)
    if job.classes:
        card.require_classes(job.model)
    wanted = Results(job.mask, job.probability, job.classes)
    plan = plan_image(job.raster, read_area(job.aoi) if job.aoi else None, card.input, wanted, job.grid)
    check_size([plan])
    segmenter = prepare_segmenter(model, card, [plan], job, reporter)
    area = area_on(read_places(job.no_road, reporter, [plan.grid]), plan.grid)
    with Outputs([*with_sources([job.raster]), job.model, job.aoi, job.no_road]) as outputs:
        paths, layers = outputs.stage_fields(job, *layer_fields)
        staged = Results(**{name: str(outputs.stage(path)) for name, path in wanted.named().items()})
        work = plan_work([plan], segmenter.tiles, partial(seconds_per_px, segmenter.predictor))
        reporter.log(str(work))
        probability, classes = _segment(work, segmenter, staged, area, reporter.part(0, 0.8))
        raster = byte_raster(probability, segmenter.threshold)
        network = extract_network(raster, plan.grid, job, reporter.part(0.8, 1), classes)
        numbers = write_network(network, layers)
    return {
        **{**paths, **wanted.named(), **numbers},
        **{"engine": segmenter.engine.name, "threshold": segmenter.threshold},
    }


def _segment(
    work: WorkPlan, segmenter: Segmenter, results: Results, area: BaseGeometry, reporter: Reporter
) -> tuple[np.ndarray, Optional[ClassRaster]]:
    """Return the probability bytes of an image and, if the model predicts them, its classes; write result rasters.

    The area has no road but bridges; see `geodata.non_roads`.
    """
    (plan,) = work.images
    size, known_classes = (plan.grid.height, plan.grid.width), segmenter.card.classes
    probability, classes = allocate(size, np.uint8), allocate(size, np.uint8) if known_classes else None
    probability[:] = NO_DATA
    if classes is not None:
        classes[:] = NO_DATA

    def kept(tiles: Iterable[tuple[ImagePlan, Tile, Prediction]]) -> Iterator[tuple[Tile, Prediction]]:
        of_image, note = ((tile, found) for _, tile, found in tiles), partial(tell, reporter=reporter)
        for tile, found in without_places(of_image, plan.grid, area, segmenter.threshold, note):
            probability[tile.destination] = found.probability
            if classes is not None:
                classes[tile.destination] = found.classes  # also where hysteresis alone may find a road
            yield tile, found

    # Without results there is nothing to resample.
    result_grid, has_data = plan.result_grid if results.named() else plan.grid, False
    with ResultWriter(result_grid, results, segmenter.threshold, known_classes) as writer:
        with closing(segmented(work, segmenter, reporter)) as tiles:
            for tile, found in on_grid(kept(tiles), plan.grid, result_grid, plan.window, bool(results.classes)):
                writer.write(tile, found)
                has_data |= bool((found.probability != NO_DATA).any())
        if not has_data:
            raise no_data(plan)
    return probability, None if classes is None else class_array(classes, known_classes)
