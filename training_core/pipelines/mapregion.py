"""The job mapregion: many scenes into masks, and the roads of all of them as one network.

Scope: the order of the phases, and the outputs. Independent of how scenes are predicted, of how parts of the network
are joined, and of who does the work.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Optional

import geopandas
import numpy as np
import shapely
from torch import nn

from ..events import Reporter
from ..extraction.sanity_checks import is_too_dense
from ..geodata.grid import Grid
from ..geodata.sources import with_sources
from ..geodata.vector_output import check_vector_output, write_in_parts
from ..geodata.vectors import read_area
from ..jobs import MapRegion
from ..models.loading import load_model
from ..models.model_card import ModelCard
from ..models.onnx_file import OnnxModel
from ..regions.catalog import Catalog, read_catalog
from ..regions.course import Course
from ..regions.fitness import Needs
from ..regions.fleet import Crew, Fleet
from ..regions.fleets import open_fleet
from ..regions.index_layer import FAILED, IndexedScene, IndexLayer
from ..regions.index_style import put_style
from ..regions.mosaic import find_mosaics
from ..regions.network_tasks import PART_PX, RegionRoads
from ..regions.prediction import Predicting
from ..regions.region_plan import RegionPlan, nothing_to_map, plan_region
from ..regions.scene_sources import find_scenes
from ..regions.scene_tasks import Planner
from ..regions.settings import choose_settings
from ..regions.store import Store
from ..regions.work import perform, prepare_worker
from ..reports.maps import RoadSketch
from ..reports.region_report import RegionRecord, write_region_report
from ..segmentation.work_plan import plan_image
from ..system.outputs import Outputs
from ..system.timing import Stages
from ..system.versions import versions

# Workers look for so many scenes before they begin; what is missing later is a scene that has failed.
_LOOKED_AT = 20
# A warning names so many scenes.
_NAMED = 5


def run(job: MapRegion, reporter: Reporter) -> dict[str, Any]:
    """Do the job; see `jobs.MapRegion`.

    Raises
    ------
    ImageryError
        No scene can be mapped.
    RoadSegError
        Nothing can go on: the model, the folder, the scheduler or the output cannot be used.
    """
    check_vector_output(job.roads)
    stages = Stages(reporter)
    with stages.timed("looking at scenes", 0, 0.05) as part:
        model, card = load_model(job.model)
        aoi = read_area(job.aoi) if job.aoi else None
        paths = find_scenes(job.rasters, job.source)
        catalog = read_catalog(paths, card.input, aoi, part.part(0, 0.4))
        if not catalog.scenes:
            raise nothing_to_map(catalog.problems)
        Store(job.folder).remove_leftovers()
        predicting, block_px = _choose(job, model, card, aoi, catalog, reporter)
        planner = Planner(job.folder, predicting, card, block_px, aoi)
        mosaics = find_mosaics(catalog.scenes, predicting.halo_px, card.resolution_m)
        region = plan_region(catalog, mosaics, planner, part.part(0.4, 1))
    crew = Crew(perform, prepare_worker, predicting.to_document())
    needs = Needs(job.folder, (job.model,), tuple(scene.path for scene in catalog.scenes[:_LOOKED_AT]))
    with Outputs([*with_sources(paths), job.model, job.aoi]) as outputs, ExitStack() as stack:
        roads_path = outputs.stage(job.roads)
        index_path, report_path = (str(Path(job.folder) / name) for name in ("index.gpkg", "report.html"))
        index = stack.enter_context(IndexLayer(Path(index_path), region.grid.crs, region.indexed(), reporter))
        put_style(Path(index_path), True, reporter)
        stack.callback(put_style, Path(index_path), False, reporter)
        fleet = stack.enter_context(closing(open_fleet(crew, needs, reporter, job.scheduler, job.workers, job.threads)))
        if fleet.dashboard:
            reporter.log(f"The work can be watched at {fleet.dashboard}.")
        course = Course(region, index, reporter)
        with stages.timed("mapping scenes", 0.05, 0.8) as part:
            course.map_scenes(fleet, part)
        with stages.timed("extracting roads", 0.8, 0.97) as part:
            drawn, mismatches = _write_roads(job, region, course, fleet, roads_path, part)
        for name, length_m in drawn.scene_m.items():
            index.update(name, road_km=length_m / 1000)
        _warn_of_noise(region, drawn, reporter)
        result = {
            **{"roads": job.roads, "folder": job.folder, "index": index_path, "report": report_path},
            **course.numbers(),
            **{"count": drawn.count, "length_m": drawn.length_m, "components": drawn.components},
            "seam_mismatches": mismatches,
        }
        with stages.timed("writing the report", 0.97, 1):
            record = _record(job, region, course, drawn, result, stages, fleet.name)
            write_region_report(record, outputs.stage(report_path))
    return result


def _choose(
    job: MapRegion,
    model: nn.Module | OnnxModel,
    card: ModelCard,
    aoi: Optional[geopandas.GeoDataFrame],
    catalog: Catalog,
    reporter: Reporter,
) -> tuple[Predicting, int]:
    """Return how blocks are predicted, and their largest side in pixels; the largest scene is the sample."""
    sizes_px = {scene.path: scene.grid.width * scene.grid.height for scene in catalog.scenes}
    sample = max(sizes_px, key=lambda path: sizes_px[path])
    return choose_settings(
        job, model, card, lambda: plan_image(sample, aoi, card.input), sum(sizes_px.values()), reporter
    )


@dataclass
class _Drawn:
    """What is taken down of the network as it is written.

    Parameters
    ----------
    outlines : mapping of str to geometry
        Of the scenes, by name.
    """

    outlines: dict[str, Any]
    count: int = 0
    length_m: float = 0.0
    components: int = 0
    sketch: RoadSketch = field(default_factory=RoadSketch)
    scene_m: dict[str, float] = field(default_factory=dict)

    def noted(self, tables: Iterator[geopandas.GeoDataFrame]) -> Iterator[geopandas.GeoDataFrame]:
        """Yield tables of lines, and take down what is in them."""
        names, tree = list(self.outlines), shapely.STRtree(list(self.outlines.values()))
        for table in tables:
            if len(table):
                lines = table.geometry.to_numpy()
                self.count += len(table)
                self.length_m += float(table["length_m"].sum())
                self.components = max(self.components, int(table["component"].max()))
                self.sketch.add(lines)
                middles = shapely.line_interpolate_point(lines, 0.5, normalized=True)
                line, scene = tree.query(middles, predicate="intersects")
                for number, length_m in zip(scene.tolist(), table["length_m"].to_numpy()[line].tolist()):
                    self.scene_m[names[number]] = self.scene_m.get(names[number], 0.0) + length_m
            yield table


def _write_roads(
    job: MapRegion, region: RegionPlan, course: Course, fleet: Fleet, path: Path, reporter: Reporter
) -> tuple[_Drawn, int]:
    """Extract the roads of all scenes that are mapped, and write them; return what was written, and mismatches."""
    scenes = course.mapped
    if not scenes:
        raise nothing_to_map(course.failures)
    threshold, classes = region.planner.predicting.threshold, region.planner.card.classes
    roads = RegionRoads(job.folder, scenes, region.grid, job, threshold, job.block_px or PART_PX, classes)
    borders = partial(course.do, fleet=fleet, message="Looking at borders", reporter=reporter.part(0, 0.2))
    extraction = partial(course.do, fleet=fleet, message="Extracting roads", reporter=reporter.part(0.2, 0.8))
    found = roads.extract(extraction, borders)
    reporter.progress(0.8, "Joining the network")
    drawn = _Drawn({plan.scene.name: region.outline(plan) for plan in region.plans})
    write_in_parts(path, "roads", drawn.noted(found.tables), "LineString")
    return drawn, found.mismatches


def _warn_of_noise(region: RegionPlan, drawn: _Drawn, reporter: Reporter) -> None:
    """Warn of scenes with more roads than any town has."""
    noisy = [
        plan.scene.name
        for plan in region.plans
        if is_too_dense(
            drawn.scene_m.get(plan.scene.name, 0.0) / 1000, region.grid.to_metric(region.outline(plan)).area / 1e6
        )
    ]
    if noisy:
        reporter.warning(
            f"More kilometers of roads a square kilometer than in any town are in {_some(noisy)}: their probability "
            "looks like noise. Look at it; a model that does not know this kind of image needs fine-tuning."
        )


def _some(names: list[str]) -> str:
    """Return the first names, and how many others there are."""
    others = f" and {len(names) - _NAMED} others" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + others


def _record(
    job: MapRegion,
    region: RegionPlan,
    course: Course,
    drawn: _Drawn,
    result: dict[str, Any],
    stages: Stages,
    fleet: str,
) -> RegionRecord:
    """Return what the report shows; shapes are taken to meters."""
    scenes = [_in_meters(scene, region.grid, course.status_of(scene.name)) for scene in region.indexed()]
    mapped = {scene.name for scene in course.mapped}
    area_m2 = shapely.union_all([each.outline for each in scenes if each.name in mapped]).area
    return RegionRecord(
        options=asdict(job),
        timings_s=stages.timings_s,
        warnings=stages.reporter.warnings,
        versions=versions(),
        numbers=result,
        scenes=scenes,
        scene_km={name: length_m / 1000 for name, length_m in drawn.scene_m.items()},
        roads=np.array([region.grid.to_metric(line) for line in drawn.sketch.lines], dtype=object),
        roads_every=drawn.sketch.every,
        fleet=fleet,
        pace=course.pace.by_worker(),
        tasks_s=[task.elapsed_s for task in course.pace.times if task.megapixels],
        course=course.points,
        area_km2=area_m2 / 1e6,
    )


def _in_meters(scene: IndexedScene, grid: Grid, status: str) -> IndexedScene:
    outline = None if scene.outline is None else grid.to_metric(scene.outline)
    # One that is a problem stays one, even if another scene of its name was mapped.
    return replace(scene, outline=outline, status=scene.status if scene.status == FAILED else status or scene.status)
