"""The job mapregion: many scenes into masks, and the roads of all of them as one network.

Scope: the order of the phases, what has failed, and the outputs. Independent of how scenes are predicted, of how parts
of the network are joined, and of who does the work.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import geopandas

from ..errors import ImageryError
from ..events import Reporter
from ..geodata.raster_files import with_sources
from ..geodata.vectors import check_vector_output, read_area, write_in_parts
from ..jobs import MapRegion
from ..models.onnx_file import load_runnable
from ..regions.catalog import Catalog, Problem, read_catalog
from ..regions.fitness import Needs
from ..regions.fleet import Crew, Fleet
from ..regions.fleets import open_fleet
from ..regions.mosaic import Mosaic, find_mosaics, normalized_bands
from ..regions.network_tasks import PART_PX, Do, MappedScene, RegionRoads
from ..regions.scene_sources import find_scenes
from ..regions.scene_tasks import Planner, ScenePlan, rounds
from ..regions.settings import choose_settings
from ..regions.store import Store
from ..regions.tasks import Outcome, Task
from ..regions.work import ASSEMBLE, MAP, perform, prepare_worker
from ..segmentation.work_plan import plan_image
from ..system.outputs import Outputs


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
    model, card = load_runnable(job.model)
    aoi = read_area(job.aoi) if job.aoi else None
    paths = find_scenes(job.rasters, job.source)
    with Outputs([*with_sources(paths), job.model, job.aoi]) as outputs:
        roads_path = outputs.stage(job.roads)
        catalog = read_catalog(paths, card.input, aoi, reporter.part(0, 0.02))
        if not catalog.scenes:
            raise _nothing_to_map(catalog)
        Store(job.folder).remove_leftovers()
        job_px = sum(scene.grid.width * scene.grid.height for scene in catalog.scenes)
        sample = max(catalog.scenes, key=lambda scene: scene.grid.width * scene.grid.height)
        predicting, block_px = choose_settings(
            job, model, card, lambda: plan_image(sample.path, aoi, card.input), job_px, reporter
        )
        region = _Region(job, Planner(job.folder, predicting, card, block_px, aoi), reporter)
        region.plan(catalog, find_mosaics(catalog.scenes, predicting.halo_px, card.resolution_m))
        crew = Crew(perform, prepare_worker, predicting.to_document())
        needs = Needs(job.folder, (job.model,), tuple(scene.path for scene in catalog.scenes[:_LOOKED_AT]))
        with closing(open_fleet(crew, needs, reporter, job.scheduler, job.workers, job.threads)) as fleet:
            region.map_scenes(fleet, reporter.part(0.05, 0.8))
            numbers = region.write_roads(fleet, roads_path, reporter.part(0.8, 0.98))
    return {"roads": job.roads, "folder": job.folder, **region.numbers(), **numbers}


# Workers look for so many scenes before they begin; what is missing later is a scene that has failed.
_LOOKED_AT = 20


def _nothing_to_map(catalog: Catalog) -> ImageryError:
    if not catalog.problems:
        return ImageryError(
            "No scene lies in the area of interest.", "Check the coordinate systems of both, or choose other scenes."
        )
    first = catalog.problems[0]
    more = f" The same or another problem has each of {len(catalog.problems):,} scenes."
    return ImageryError(first.reason + (more if len(catalog.problems) > 1 else ""), first.remedy)


class _Region:
    """A region while it is mapped: what is to be done for its scenes, and what came of it.

    Parameters
    ----------
    job : MapRegion
    planner : Planner
    reporter : Reporter
    """

    def __init__(self, job: MapRegion, planner: Planner, reporter: Reporter) -> None:
        self._job, self._planner, self._reporter = job, planner, reporter
        self._plans: list[ScenePlan] = []
        self._failed: dict[str, Problem] = {}
        self._scenes = self._outside = self.mismatches = 0
        self._done: set[str] = set()
        self._kept: set[str] = set()
        self._began_s = time.perf_counter()
        self._megapixels = 0.0

    def plan(self, catalog: Catalog, mosaics: Sequence[Mosaic]) -> None:
        """Plan what is to be done for all scenes."""
        self._scenes = len(catalog.scenes) + len(catalog.problems)
        for problem in catalog.problems:
            self._fail(problem.name, problem.code, problem.reason, problem.remedy)
        self._outside = len(catalog.outside)
        for number, mosaic in enumerate(mosaics):
            self._reporter.check_cancelled()
            self._reporter.progress(0.02 + 0.03 * number / len(mosaics), "Planning")
            try:
                bands, _ = normalized_bands(mosaic, self._planner.card.input)
            except ImageryError as error:
                for scene in mosaic.scenes:
                    self._fail(scene.name, error.code, error.message, error.remedy)
                continue
            plans = self._planner.plan(mosaic, bands)
            self._plans += plans
            self._outside += len(mosaic.scenes) - len(plans)
        self._kept = {plan.scene.name for plan in self._plans if plan.is_done}
        megapixels = sum(plan.megapixels for plan in self._plans)
        kept = f" {len(self._kept):,} of them are there already." if self._kept else ""
        self._reporter.log(
            f"{len(self._plans):,} scenes in {len(mosaics):,} mosaics, {megapixels:,.1f} megapixels, blocks of "
            f"{self._planner.block_px} px.{kept}"
        )

    def map_scenes(self, fleet: Fleet, reporter: Reporter) -> None:
        """Map the scenes that are missing, round by round: the blocks of some scenes, and those before assembled."""
        missing = [plan for plan in self._plans if plan.scene.name not in self._kept]
        total = sum(plan.megapixels for plan in missing)
        waiting: list[ScenePlan] = []
        for group in [*rounds(missing, fleet.workers), []]:
            tasks = [self._planner.assembly(plan) for plan in waiting]
            tasks += [task for plan in group for task in self._planner.missing(plan)]
            for outcome in fleet.run(tasks, reporter):
                self._note(outcome)
                share = self._megapixels / max(total, 1e-9)
                reporter.progress(share, f"{len(self._done):,} of {len(missing):,} scenes mapped")
            waiting = [plan for plan in group if len(plan.blocks) > 1 and plan.scene.name not in self._failed]

    def _note(self, outcome: Outcome) -> None:
        """Take down what came of a task of a scene."""
        task = outcome.task
        self._megapixels += task.megapixels
        if outcome.result is None:
            self._fail(task.scene, outcome.code, outcome.reason, outcome.remedy)
        elif task.work in (MAP, ASSEMBLE):
            self._done.add(task.scene)

    def _fail(self, name: str, code: str, reason: str, remedy: str) -> None:
        if name not in self._failed:
            self._failed[name] = Problem("", name, code, reason, remedy)
            self._reporter.warning(f"{name or 'A part of the network'}: {reason}")

    def write_roads(self, fleet: Fleet, path: Path, reporter: Reporter) -> dict[str, Any]:
        """Extract the roads of all scenes that are mapped, and write them.

        Parameters
        ----------
        fleet : Fleet
        path : Path
            The file to write.
        reporter : Reporter

        Returns
        -------
        dict
            Number of lines, their length in meters, number of components.

        Raises
        ------
        ImageryError
            No scene could be mapped.
        """
        mapped = [plan for plan in self._plans if plan.scene.name in self._done | self._kept]
        if not mapped:
            first = next(iter(self._failed.values()))
            raise ImageryError(f"No scene could be mapped. {first.reason}", first.remedy)
        card, predicting = self._planner.card, self._planner.predicting
        scenes = [_mapped(plan, card.resolution_m) for plan in mapped]
        grids = [mosaic.grid_at(card.resolution_m) for mosaic in dict.fromkeys(plan.mosaic for plan in mapped)]
        part_px = self._job.block_px or PART_PX
        region = RegionRoads(self._job.folder, scenes, grids, self._job, predicting.threshold, part_px, card.classes)

        def do(message: str, stage: Reporter) -> Do:
            def each(tasks: Sequence[Task]) -> list[Outcome]:
                failed = []
                for number, outcome in enumerate(fleet.run(tasks, stage), 1):
                    stage.progress(number / len(tasks), f"{message}: part {number:,} of {len(tasks):,}")
                    if outcome.result is None:
                        failed.append(outcome)
                return failed

            return each

        roads, failed = region.extract(
            do("Extracting roads", reporter.part(0.2, 0.8)), do("Looking at borders", reporter.part(0, 0.2))
        )
        for outcome in failed:
            self._fail("", outcome.code, outcome.reason, outcome.remedy)
        self.mismatches = roads.mismatches
        reporter.progress(0.8, "Joining the network")
        totals = _Totals()
        write_in_parts(path, "roads", totals.counted(roads.tables), "LineString")
        return totals.numbers()

    def numbers(self) -> dict[str, Any]:
        """Return what the result says of the scenes."""
        elapsed_s = time.perf_counter() - self._began_s
        failures = [
            {"scene": each.name, "reason": each.reason, "remedy": each.remedy} for each in self._failed.values()
        ]
        return {
            "scenes": self._scenes,
            "done": len(self._done),
            "kept": len(self._kept),
            "failed": len(failures),
            "outside": self._outside,
            "megapixels": self._megapixels,
            "megapixels_per_s": self._megapixels / max(elapsed_s, 1e-9),
            "seam_mismatches": self.mismatches,
            "partial": bool(failures),
            "failures": failures,
        }


def _mapped(plan: ScenePlan, resolution_m: float) -> MappedScene:
    results = plan.results
    return MappedScene(plan.scene.name, plan.key, plan.grid(resolution_m), results.probability, results.classes)


@dataclass
class _Totals:
    """Of the lines that were written."""

    count: int = 0
    length_m: float = 0.0
    components: int = 0

    def counted(self, tables: Iterator[geopandas.GeoDataFrame]) -> Iterator[geopandas.GeoDataFrame]:
        """Yield tables, and count what is in them."""
        for table in tables:
            self.count += len(table)
            self.length_m += float(table["length_m"].sum())
            self.components = max(self.components, int(table["component"].max()) if len(table) else 0)
            yield table

    def numbers(self) -> dict[str, Any]:
        """Return them by name."""
        return {"count": self.count, "length_m": self.length_m, "components": self.components}
