"""The job mapregion: many scenes into masks, and the roads of all of them as one network.

Scope: the order of the phases, and the outputs. Independent of how scenes are predicted, of how parts of the network
are joined, and of who does the work.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import shapely

from ..events import Reporter
from ..geodata.non_roads import RoadLeftOut, read_places, tell
from ..geodata.shapes import crosses_antimeridian
from ..geodata.sources import with_sources
from ..geodata.vector_output import check_vector_output, write_in_parts
from ..geodata.vectors import read_area
from ..jobs import MapRegion
from ..jobs.fields import parse_interval
from ..jobs.shared import IMAGE_GRID
from ..models.loading import load_model
from ..regions.catalog import find_scenes, read_catalog
from ..regions.index_layer import IndexLayer, put_style
from ..regions.mask_grid import finest_grid
from ..regions.prediction import choose_settings, prepare
from ..regions.progress import NetworkSummary, RegionProgress
from ..regions.region_plan import Planner, RegionPlan, ScenePlan, nothing_to_map, plan_region
from ..regions.region_roads import PART_PX, RegionRoads, network_options
from ..regions.stac import ItemFilter, area_in_degrees
from ..regions.store import Store
from ..regions.tasks import InProcessRunner, Task, TaskRunner
from ..reports.maps import RoadSketch
from ..reports.region_report import RegionRecord, write_region_report
from ..system.machine import AUTO, count_processes, places
from ..system.outputs import Outputs
from ..system.work import Stages

# Before they begin, workers check that they see this number of scenes; one that is missing later has failed.
_CHECKED_SCENES = 20
# A warning names this number of scenes.
_NAMED = 5


def run(job: MapRegion, reporter: Reporter) -> dict[str, Any]:
    """Do the job; see `jobs.MapRegion`.

    Raises ImageryError if no scene can be mapped. Raises RoadSegError if the model, the folder, the scheduler or the
    output cannot be used.
    """
    stages = Stages(reporter)
    with stages.timed("looking at scenes", 0, 0.05) as part:
        model, card = load_model(job.model)
        check_vector_output(job.roads)
        dates = parse_interval(job.dates)
        aoi = read_area(job.aoi) if job.aoi else None
        wanted = ItemFilter(area_in_degrees(aoi), dates, job.max_cloud_percent)
        paths = find_scenes(job.rasters, job.source, wanted, part)
        catalog = read_catalog(paths, card.input, aoi, part.part(0, 0.4))
        if not catalog.scenes:
            raise nothing_to_map(catalog.problems)
        no_road = read_places(job.no_road, reporter, [scene.grid for scene in catalog.scenes])
        Store(job.folder).remove_leftovers()
        predicting = choose_settings(job, model, card, catalog.scenes, aoi, part)
        mask_grid = finest_grid(catalog.scenes) if job.grid == IMAGE_GRID else None
        planner = Planner(job.folder, predicting, card, aoi, mask_grid, no_road)
        region = plan_region(catalog, planner, part.part(0.4, 1))
    index_path, report_path = (str(Path(job.folder) / name) for name in ("index.gpkg", "report.html"))
    with Outputs([*with_sources(paths), job.model, job.aoi, job.no_road, job.source]) as outputs, ExitStack() as stack:
        roads_path = outputs.stage(job.roads)
        rasters = [path for plan in region.plans for path in plan.results.paths.named().values()]
        for path in (index_path, report_path, *rasters):
            outputs.check(path)
        index = stack.enter_context(closing(IndexLayer(Path(index_path), region.grid.crs, region.indexed(), reporter)))
        put_style(Path(index_path), True, reporter)
        stack.callback(put_style, Path(index_path), False, reporter)
        preparation = Task(prepare, asdict(predicting))
        runner = stack.enter_context(closing(_open_runner(job, preparation, region.plans, reporter)))
        progress, sketch = RegionProgress(region, index, runner, reporter), RoadSketch()
        with stages.timed("mapping scenes", 0.05, 0.8) as part:
            progress.map_scenes(part)
        if progress.road_left_out:
            tell(RoadLeftOut(*map(sum, zip(*progress.road_left_out))), reporter)
        if not progress.mapped:
            raise nothing_to_map(progress.failures)
        options, part_px = network_options(job), job.block_px or PART_PX
        roads = RegionRoads(
            job.folder, progress.mapped, region.grid, options, predicting.threshold, part_px, card.classes, no_road
        )
        summary = NetworkSummary(region.grid, progress.mapped, sketch.add)
        with stages.timed("extracting roads", 0.8, 0.97) as part:
            tables, mismatches = roads.extract(progress.do, part)
            part.progress(0.8, "Joining the network")
            is_cut = region.grid.crs.is_geographic and crosses_antimeridian(region.grid)
            line_type = "MultiLineString" if is_cut else "LineString"
            write_in_parts(roads_path, "roads", summary.noted(tables), line_type)
        for name, length_m in summary.scene_m.items():
            index.update(name, road_km=length_m / 1000)
        _warn_of_noise(summary.noisy_scenes(), reporter)
        result = {
            **{"roads": job.roads, "folder": job.folder, "index": index_path, "report": report_path},
            **progress.numbers(),
            **{"count": summary.count, "length_m": summary.length_m, "components": summary.components},
            "seam_mismatches": mismatches,
        }
        with stages.timed("writing the report", 0.97, 1):
            record = RegionRecord(
                options=asdict(job),
                timings_s=stages.timings_s,
                warnings=stages.reporter.warnings,
                numbers=result,
                executor=runner.name,
                **_found(region, progress, summary, sketch),
            )
            write_region_report(record, outputs.stage(report_path))
    return result


def _open_runner(job: MapRegion, preparation: Task, plans: Sequence[ScenePlan], reporter: Reporter) -> TaskRunner:
    """Return the runner that a job asks for: this process, several of this machine, or the workers of a scheduler.

    Raises JobError if there are fewer cores than workers. Raises RoadSegError; see `fleet.runner.FleetRunner` and
    `fleet.dask_workers.DaskWorkers`, or the model cannot be used.
    """
    wanted = str(job.workers) if job.workers else AUTO
    count = 0 if job.scheduler else count_processes(wanted, job.threads, max(job.workers, 1 << 16))
    if count == 1:
        return InProcessRunner(preparation)
    own_places = places(count, job.threads) if count else []
    from ..fleet.runner import FleetRunner

    if own_places:
        from ..fleet.processes import ProcessWorkers

        return FleetRunner(ProcessWorkers(preparation, own_places), reporter)
    from ..fleet.dask_workers import DaskWorkers
    from ..fleet.worker_checks import Leader

    leader = Leader(job.folder, [job.model], [plan.scene.path for plan in plans[:_CHECKED_SCENES]])
    return FleetRunner(DaskWorkers(job.scheduler, preparation, leader, reporter), reporter)


def _warn_of_noise(names: list[str], reporter: Reporter) -> None:
    if names:
        others = f" and {len(names) - _NAMED} others" if len(names) > _NAMED else ""
        reporter.warning(
            f"{', '.join(names[:_NAMED])}{others} have more kilometers of roads per square kilometer than any town. "
            "Their probability looks like noise: check it. A model that does not know this kind of image needs "
            "fine-tuning."
        )


def _found(region: RegionPlan, progress: RegionProgress, summary: NetworkSummary, sketch: RoadSketch) -> dict[str, Any]:
    """Return what the report shows of scenes, roads and workers, with shapes in meters."""
    scenes = progress.indexed()
    mapped = {scene.name for scene in progress.mapped}
    outlines = [scene.outline for scene in scenes if scene.name in mapped and scene.outline is not None]
    return {
        "scenes": scenes,
        "scene_km": {name: length_m / 1000 for name, length_m in summary.scene_m.items()},
        "roads": np.array([region.grid.to_metric(line) for line in sketch.lines], dtype=object),
        "roads_every": sketch.every,
        "workers": progress.throughput.by_worker,
        "block_s": progress.block_s,
        "points": progress.points,
        "area_km2": shapely.union_all(outlines).area / 1e6,
    }
