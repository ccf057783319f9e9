"""Progress of a region: tasks round by round, their results, the throughput, the time left, and the network's size.

Scope: results, the index of scenes, throughput, failures, lengths. Independent of the work itself, and of who does it.
"""

from __future__ import annotations

import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Optional

import geopandas
import numpy as np
import shapely

from ..events import Reporter
from ..extraction.road_extraction import is_too_dense
from ..geodata.grid import Grid
from ..geodata.parallel_arrays import ranges
from .catalog import Problem
from .index_layer import DONE, FAILED, RUNNING, IndexedScene, IndexLayer
from .region_grid import has_data, outline_on
from .region_plan import RegionPlan, ScenePlan, assemble_scene, map_scene, rounds
from .region_roads import MappedScene
from .tasks import Task, TaskResult, TaskRunner

# The first failures are warnings; the others are in the log, the index and the report.
_MAX_WARNINGS = 20
# About the number of points in the report's curve of throughput.
_POINTS = 200
# Roads are counted by pieces of at most this length.
_PIECE_M = 20.0
# The time left follows from the last tasks, so that it adapts when workers come or go.
_RECENT_TASKS = 100


@dataclass(frozen=True)
class WorkerThroughput:
    """The work of one worker, and the seconds that the work itself took."""

    tasks: int = 0
    megapixels: float = 0.0
    busy_s: float = 0.0

    @property
    def megapixels_per_s(self) -> float:
        """Megapixels a second while it worked; 0 before it has done anything."""
        return self.megapixels / self.busy_s if self.busy_s > 0 else 0.0


class Throughput:
    """The throughput of each worker, and the time left. `total_megapixels` includes the work that `skip` takes off."""

    def __init__(self, total_megapixels: float) -> None:
        self._total = self._left = total_megapixels
        self.by_worker: dict[str, WorkerThroughput] = {}
        # When the last tasks ended, in seconds, and their megapixels; the first entry only counts as a begin.
        self._ends: deque[tuple[float, float]] = deque(maxlen=_RECENT_TASKS)

    def add(self, worker: str, megapixels: float, elapsed_s: float, now: Optional[float] = None) -> None:
        """Count a task that has just ended, `now` in seconds of `time.monotonic`.

        Work outside of the total takes time as well. Its `megapixels` are 0.
        """
        now = time.monotonic() if now is None else now
        before = self.by_worker.get(worker, WorkerThroughput())
        self.by_worker[worker] = WorkerThroughput(
            before.tasks + 1, before.megapixels + megapixels, before.busy_s + max(elapsed_s, 0.0)
        )
        if not self._ends:
            self._ends.append((now - elapsed_s, 0.0))
        self._ends.append((now, megapixels))
        self.skip(megapixels)

    def skip(self, megapixels: float) -> None:
        """Take off megapixels, from 0 up, that are done already, or have failed."""
        self._left = max(self._left - megapixels, 0.0)

    @property
    def eta_s(self) -> Optional[float]:
        """Seconds left when the last task ended, by the clock, so that pauses count; None before anything is known."""
        done = sum(megapixels for _, megapixels in list(self._ends)[1:])
        if self._left and not done:
            return None
        return self._left * (self._ends[-1][0] - self._ends[0][0]) / done if self._left else 0.0

    @property
    def megapixels(self) -> float:
        """Megapixels done, without those skipped."""
        return sum(throughput.megapixels for throughput in self.by_worker.values())

    @property
    def fraction(self) -> float:
        """Fraction that is done or skipped, from 0 to 1."""
        return 1 - self._left / self._total if self._total else 1.0


class RegionProgress:
    """The results of the tasks of a region so far; the index is kept up to date, and the reporter warned of failures.

    `points` has seconds since the beginning with the megapixels done by then. `block_s` has the duration of each block.
    """

    def __init__(self, plan: RegionPlan, index: IndexLayer, runner: TaskRunner, reporter: Reporter) -> None:
        self._plan, self._index, self._runner, self._reporter = plan, index, runner, reporter
        self._done: set[str] = set()
        self._blocks: dict[str, int] = {}
        self._work: dict[str, np.ndarray] = defaultdict(lambda: np.zeros(2))  # megapixels and seconds of its blocks
        self._began_s = time.monotonic()
        # By name and path: of two scenes of a name, one is mapped, and the other is a problem.
        self._failures: dict[tuple[str, str], Problem] = {}
        self.throughput = Throughput(sum(scene_plan.megapixels for scene_plan in plan.missing))
        # Of the scenes mapped in this run; numbers of `RoadLeftOut`.
        self.road_left_out: list[list[int]] = []
        self.points: list[tuple[float, float]] = [(0.0, 0.0)]
        self.block_s: list[float] = []
        for problem in plan.problems:
            self._fail(problem)

    @property
    def mapped(self) -> list[MappedScene]:
        """The scenes with results."""
        names = {*self._done, *self._plan.kept}
        return [plan.mapped for plan in self._plan.plans if plan.scene.name in names]

    @property
    def failures(self) -> list[Problem]:
        """Scenes that failed, and parts of the network, which have no name."""
        return list(self._failures.values())

    def indexed(self) -> list[IndexedScene]:
        """Return all scenes as the index has them now, with outlines in meters."""
        scenes = []
        for scene in self._plan.indexed():
            outline = None if scene.outline is None else self._plan.grid.to_metric(scene.outline)
            status = DONE if scene.name in self._done else scene.status
            # A problem stays one, even if another scene of its name was mapped.
            has_failed = scene.status == FAILED or self._has_failed(scene.name)
            scenes.append(replace(scene, outline=outline, status=FAILED if has_failed else status))
        return scenes

    def _has_failed(self, name: str) -> bool:
        return (name, "") in self._failures

    def map_scenes(self, reporter: Reporter) -> None:
        """Map the missing scenes in rounds: each predicts blocks, and assembles the scenes of the round before."""
        missing, planner = self._plan.missing, self._plan.planner
        waiting: list[ScenePlan] = []
        for group in [*rounds(missing, self._runner.workers), []]:
            tasks = [planner.assembly(plan) for plan in waiting]
            for plan in group:
                missing_blocks = list(planner.missing(plan))
                self._blocks[plan.scene.name] = len(plan.blocks) - len(missing_blocks)
                self.throughput.skip(plan.megapixels - sum(task.megapixels for task in missing_blocks))
                self._index.update(plan.scene.name, status=RUNNING, blocks_done=self._blocks[plan.scene.name])
                tasks += missing_blocks
            for result in self._runner.run(tasks, reporter):
                self._note(result)
                message = f"{len(self._done):,} of {len(missing):,} scenes mapped"
                reporter.progress(self.throughput.fraction, message, self.throughput.eta_s)
            waiting = [plan for plan in group if len(plan.blocks) > 1 and not self._has_failed(plan.scene.name)]

    def _note(self, result: TaskResult) -> None:
        task = result.task
        if result.document is None:
            self.throughput.skip(task.megapixels)
            self._fail(Problem("", task.scene, result.code, result.reason, result.remedy))
            return
        self.throughput.add(result.worker, task.megapixels, result.elapsed_s)
        elapsed_s = time.monotonic() - self._began_s
        if elapsed_s >= self.points[-1][0] * (1 + 1 / _POINTS) or len(self.points) < _POINTS:
            self.points.append((elapsed_s, self.throughput.megapixels))
        if task.megapixels:
            self.block_s.append(result.elapsed_s)
            self._blocks[task.scene] += 1
            self._work[task.scene] += np.array([task.megapixels, result.elapsed_s])
            megapixels, busy_s = self._work[task.scene].tolist()
            self._index.update(
                task.scene, blocks_done=self._blocks[task.scene], mp_per_s=megapixels / max(busy_s, 1e-9)
            )
        if task.function in (map_scene, assemble_scene):
            self._done.add(task.scene)
            self._index.update(task.scene, status=DONE)
            self.road_left_out += result.document["road_left_out"]

    def _fail(self, problem: Problem) -> None:
        """Record a scene, or a part of the network, that failed; the first reason counts."""
        name = problem.name
        if (name, problem.path) not in self._failures:
            self._failures[name, problem.path] = problem
            if not problem.path:  # those with a path are in the index already
                self._index.update(name, status=FAILED, reason=problem.reason)
            report = self._reporter.warning if len(self._failures) <= _MAX_WARNINGS else self._reporter.log
            report(f"{name or 'A part of the network'}: {problem.reason}")

    def do(self, tasks: Sequence[Task], message: str, reporter: Reporter) -> list[TaskResult]:
        """Do tasks on the whole region, and return the results of those that failed."""
        failures = []
        for number, result in enumerate(self._runner.run(tasks, reporter), 1):
            reporter.progress(number / len(tasks), f"{message}: part {number:,} of {len(tasks):,}")
            if result.document is None:
                failures.append(result)
                self._fail(Problem("", "", result.code, result.reason, result.remedy))
        return failures

    def numbers(self) -> dict[str, Any]:
        """Return the part of a job's result about its scenes."""
        elapsed_s = time.monotonic() - self._began_s
        throughput = self.throughput
        failures = [
            {"scene": problem.name, "reason": problem.reason, "remedy": problem.remedy} for problem in self.failures
        ]
        return {
            "scenes": len(self._plan.plans) + len(self._plan.problems),
            "done": len(self._done),
            "kept": len(self._plan.kept),
            "failed": len(failures),
            "outside": self._plan.outside,
            "megapixels": throughput.megapixels,
            "megapixels_per_s": throughput.megapixels / max(elapsed_s, 1e-9),
            "throughput": {name: worker.megapixels_per_s for name, worker in sorted(throughput.by_worker.items())},
            "partial": bool(failures),
            "failures": failures,
        }


class NetworkSummary:
    """Numbers of a network, counted while it is written, with the length of road by name of the mapped scene.

    `see` is called with the lines of each part, (n,) object.
    """

    def __init__(self, grid: Grid, scenes: Sequence[MappedScene], see: Callable[[np.ndarray], None]) -> None:
        self.count, self.length_m, self.components = 0, 0.0, 0
        self.scene_m = {scene.name: 0.0 for scene in scenes}
        self._grid, self._see = grid, see
        self._rasters = [scene.probability for scene in scenes]
        self._outlines = [outline_on(grid, scene.grid) for scene in scenes]

    def noted(self, tables: Iterable[geopandas.GeoDataFrame]) -> Iterator[geopandas.GeoDataFrame]:
        """Yield tables of lines, and count them; each piece of a line belongs to all scenes that have data there."""
        tree = shapely.STRtree(self._outlines)
        for table in tables:
            if len(table):
                lines, lengths_m = table.geometry.to_numpy(), table["length_m"].to_numpy()
                self.count += len(table)
                self.length_m += float(lengths_m.sum())
                self.components = max(self.components, int(table["component"].max()))
                self._see(lines)
                self._count_by_scene(lines, lengths_m, tree)
            yield table

    def _count_by_scene(self, lines: np.ndarray, lengths_m: np.ndarray, outlines: shapely.STRtree) -> None:
        counts = np.maximum(np.ceil(lengths_m / _PIECE_M), 1).astype(np.int64)
        line = np.repeat(np.arange(len(lines)), counts)
        middle = (ranges(np.zeros_like(counts), counts) + 0.5) / counts[line]
        points = shapely.line_interpolate_point(lines[line], middle, normalized=True)
        places = np.column_stack(~self._grid.transform @ tuple(shapely.get_coordinates(points).T))
        piece, scene = outlines.query(shapely.points(places), predicate="intersects")
        names = list(self.scene_m)
        for number in np.unique(scene):
            shown = piece[scene == number]
            shown = shown[has_data(self._rasters[number], self._grid, places[shown])]
            self.scene_m[names[number]] += float((lengths_m / counts)[line[shown]].sum())

    def noisy_scenes(self) -> list[str]:
        """Return the names of scenes with more roads than any town has."""
        areas_m2 = shapely.area(self._grid.from_pixels_to_metric(np.array(self._outlines)))
        return [
            name
            for (name, length_m), area_m2 in zip(self.scene_m.items(), areas_m2)
            if is_too_dense(length_m / 1000, area_m2 / 1e6)
        ]
