"""The job segment: semantic segmentation of whole images, streamed tile by tile into GeoTIFFs.

Scope: model, images and result rasters. Independent of training and of road networks. Tiles are read, computed and
written in parallel, by a thread each.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

from ..events import Reporter
from ..geodata.non_roads import area_on, read_places, tell
from ..geodata.pixel_codes import NO_DATA, ROAD
from ..geodata.rasters import read_grid
from ..geodata.sources import with_sources
from ..geodata.tiling import Tile
from ..geodata.vectors import read_area
from ..jobs import Segment
from ..jobs.file_systems import same_name
from ..models.loading import load_model
from ..models.model_card import ModelCard
from ..segmentation.image_grid import on_grid
from ..segmentation.inference import Prediction
from ..segmentation.measured import seconds_per_px
from ..segmentation.no_road import without_places
from ..segmentation.result_rasters import ResultWriter
from ..segmentation.segmenter import Segmenter, prepare_segmenter, segmented, spread
from ..segmentation.work_plan import ImagePlan, Results, check_size, no_data, plan_image, plan_work
from ..system.outputs import Outputs


def run(job: Segment, reporter: Reporter) -> dict[str, Any]:
    """Do the job; see `jobs.Segment`."""
    inputs = [*with_sources([*job.rasters, job.raster]), job.model, job.aoi, job.no_road]
    outputs = Outputs(inputs)
    targets = _targets(job)
    missing = [target for target in targets if not (job.rasters and job.resume and _is_done(target, job.model))]
    skipped = len(targets) - len(missing)
    if skipped:
        reporter.log(f"{skipped} of {len(targets)} images have their mask already.")
    model, card = load_model(job.model)
    if job.classes:
        card.require_classes(job.model)
    samples, plans = _plan(targets, missing, job, card)
    # Also the images that are done: what is left to do may lie beside all places.
    no_road = read_places(job.no_road, reporter, (read_grid(raster) for raster, _ in targets))
    check_size(plans)
    segmenter = prepare_segmenter(model, card, samples, job, reporter, sum(plan.px for plan in plans))
    work = plan_work(plans, segmenter.tiles, partial(seconds_per_px, segmenter.predictor))
    if plans:
        reporter.log(str(work))
    began_s, counts = time.perf_counter(), _Counts()
    with closing(segmented(work, segmenter, reporter)) as results:
        for plan, tiles in groupby(results, key=lambda result: result[0]):
            area, note = area_on(no_road, plan.grid), partial(tell, reporter=reporter)
            closed = without_places(counts.tiles(tiles), plan.grid, area, segmenter.threshold, note)
            with outputs:
                if not _write(plan, closed, outputs, segmenter, counts):
                    if len(targets) == 1:
                        raise no_data(plan)
                    # One of many, such as a corner of a mosaic, does not stop the others.
                    reporter.warning(f"{no_data(plan).message} Its mask has no data either.")
    return {
        **(targets[0][1].named() if job.raster else {"masks": [each.mask for _, each in targets], "skipped": skipped}),
        "megapixels": counts.px / 1e6,
        "megapixels_per_s": counts.px / 1e6 / max(time.perf_counter() - began_s, 1e-9),
        "engine": segmenter.engine.name,
        "precision": segmenter.engine.precision,
        "overhead": counts.read_px / max(1, counts.px),
        "road_share": counts.road_px / max(1, counts.known_px),
        "threshold": segmenter.threshold,
        "tile_px": segmenter.tiles.core_px,
        "halo_px": segmenter.tiles.halo_px,
    }


def _plan(
    targets: list[tuple[str, Results]], missing: list[tuple[str, Results]], job: Segment, card: ModelCard
) -> tuple[list[ImagePlan], list[ImagePlan]]:
    """Return the plans for a sample of all images, and those for the missing ones.

    The sample decides on halo and threshold. It is of all images, so that a resumed job gives the same results.
    """
    polygons = read_area(job.aoi) if job.aoi else None
    plan = partial(plan_image, aoi=polygons, wanted=card.input, result_grid=job.grid)
    plans = {target: plan(target[0], results=target[1]) for target in missing}
    samples = [plans.get(target) or plan(target[0]) for target in spread(targets)]
    return samples, list(plans.values())


@dataclass
class _Counts:
    px: int = 0
    read_px: float = 0
    known_px: int = 0
    road_px: int = 0

    def tiles(self, tiles: Iterator[Any]) -> Iterator[tuple[Tile, Prediction]]:
        """Yield the tiles of an image, and count the pixels that the model has computed."""
        for _, tile, prediction in tiles:
            self.px += tile.width * tile.height
            self.read_px += math.prod(tile.read_window[2:])
            yield tile, prediction


def _write(
    plan: ImagePlan,
    tiles: Iterator[tuple[Tile, Prediction]],
    outputs: Outputs,
    segmenter: Segmenter,
    counts: _Counts,
) -> int:
    """Write the results of an image, and add to the counts; return how many pixels have data."""
    known_before = counts.known_px
    staged = Results(**{name: str(outputs.stage(path)) for name, path in plan.results.named().items()})
    with ResultWriter(plan.result_grid, staged, segmenter.threshold, segmenter.card.classes) as writer:
        resampled = on_grid(tiles, plan.grid, plan.result_grid, plan.window, bool(plan.results.classes))
        for tile, prediction in resampled:
            mask = writer.write(tile, prediction)
            counts.known_px += int((mask != NO_DATA).sum())
            counts.road_px += int((mask == ROAD).sum())
    return counts.known_px - known_before


def _targets(job: Segment) -> list[tuple[str, Results]]:
    """Return each image with its results: of several, a mask in a folder, numbered where two have the same name."""
    if job.raster:
        return [(job.raster, Results(job.mask, job.probability, job.classes))]
    targets, taken = [], set()
    for raster in job.rasters:
        stem, number = f"{Path(raster).stem}_roads", 2
        name = stem
        while same_name(name) in taken:
            name, number = f"{stem}_{number}", number + 1
        taken.add(same_name(name))
        targets.append((raster, Results(str(Path(job.folder) / f"{name}.tif"))))
    return targets


def _is_done(target: tuple[str, Results], model: str) -> bool:
    """Whether an image has a mask that is newer than the image and the model."""
    raster, mask = target[0], target[1].mask
    if not Path(mask).exists():
        return False
    sources = [path for path in (raster, model) if Path(path).exists()]
    return all(Path(path).stat().st_mtime <= Path(mask).stat().st_mtime for path in sources)
