"""The course of a region's mapping: tasks round by round, what came of them, and what people see of it.

Scope: outcomes, the index of scenes, pace, failures. Independent of what the work is, and of who does it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from ..events import Reporter
from .catalog import Problem
from .fleet import Fleet
from .index_layer import DONE, FAILED, RUNNING, IndexLayer
from .network_tasks import MappedScene
from .pace import RegionPace
from .region_plan import RegionPlan
from .scene_tasks import ScenePlan, rounds
from .tasks import Outcome, Task
from .work import ASSEMBLE, MAP

# So many failures are warnings; the others are in the log, the index and the report.
_WARNED = 20
# So many points of the course of time are kept, about.
_POINTS = 200


class Course:
    """What has come of the tasks of a region so far.

    Parameters
    ----------
    index : IndexLayer
        Is kept up to date.
    reporter : Reporter
        Is warned of failures.
    """

    def __init__(self, plan: RegionPlan, index: IndexLayer, reporter: Reporter) -> None:
        self._plan, self._index, self._reporter = plan, index, reporter
        self._done: set[str] = set()
        self._blocks: dict[str, int] = {}
        self._work: dict[str, tuple[float, float]] = {}  # megapixels and seconds of a scene's blocks
        self._began_s = time.monotonic()
        # By name and path: of two scenes of a name, one is mapped, and the other is a problem.
        self._failures: dict[tuple[str, str], Problem] = {}
        self.pace = RegionPace(sum(each.megapixels for each in plan.missing))
        self.points: list[tuple[float, float]] = [(0.0, 0.0)]
        for problem in plan.problems:
            self.fail(problem)

    @property
    def mapped(self) -> list[MappedScene]:
        """The scenes whose results are there."""
        names = {*self._done, *self._plan.kept}
        return [self._plan.mapped(each) for each in self._plan.plans if each.scene.name in names]

    @property
    def failures(self) -> list[Problem]:
        """What could not be made: scenes, and parts of the network, which have no name."""
        return list(self._failures.values())

    def status_of(self, name: str) -> str:
        """Return the status of a scene that was to be mapped in this run: as it was planned, done or failed."""
        return FAILED if self._has_failed(name) else DONE if name in self._done else ""

    def _has_failed(self, name: str) -> bool:
        return (name, "") in self._failures

    def map_scenes(self, fleet: Fleet, reporter: Reporter) -> None:
        """Map the scenes that are missing, round by round: the blocks of some scenes, and those before assembled."""
        missing, planner = self._plan.missing, self._plan.planner
        waiting: list[ScenePlan] = []
        for group in [*rounds(missing, fleet.workers), []]:
            tasks = [planner.assembly(plan) for plan in waiting]
            for plan in group:
                found = list(planner.missing(plan))
                self._blocks[plan.scene.name] = len(plan.blocks) - len(found)
                self.pace.skip(plan.megapixels - sum(task.megapixels for task in found))
                self._index.update(plan.scene.name, status=RUNNING, blocks_done=self._blocks[plan.scene.name])
                tasks += found
            for outcome in fleet.run(tasks, reporter):
                self._note(outcome)
                reporter.progress(
                    self.pace.share, f"{len(self._done):,} of {len(missing):,} scenes mapped", self.pace.eta_s()
                )
            waiting = [plan for plan in group if len(plan.blocks) > 1 and not self._has_failed(plan.scene.name)]

    def _note(self, outcome: Outcome) -> None:
        task = outcome.task
        if outcome.result is None:
            self.pace.skip(task.megapixels)
        else:
            self.pace.add(outcome.worker, task.megapixels, outcome.elapsed_s)
        elapsed_s = time.monotonic() - self._began_s
        if elapsed_s >= self.points[-1][0] * (1 + 1 / _POINTS) or len(self.points) < _POINTS:
            self.points.append((elapsed_s, self.pace.megapixels))
        if outcome.result is None:
            self.fail(Problem("", task.scene, outcome.code, outcome.reason, outcome.remedy))
            return
        if task.megapixels:
            self._blocks[task.scene] += 1
            megapixels, busy_s = self._work.get(task.scene, (0.0, 0.0))
            self._work[task.scene] = megapixels + task.megapixels, busy_s + outcome.elapsed_s
            pace = self._work[task.scene][0] / max(self._work[task.scene][1], 1e-9)
            self._index.update(task.scene, blocks_done=self._blocks[task.scene], mp_per_s=pace)
        if task.work in (MAP, ASSEMBLE):
            self._done.add(task.scene)
            self._index.update(task.scene, status=DONE)

    def fail(self, problem: Problem) -> None:
        """Take down that a scene, or a part of the network, could not be made; the first reason counts."""
        name = problem.name
        if (name, problem.path) not in self._failures:
            self._failures[name, problem.path] = problem
            if not problem.path:  # those with a path are in the index already
                self._index.update(name, status=FAILED, reason=problem.reason)
            tell = self._reporter.warning if len(self._failures) <= _WARNED else self._reporter.log
            tell(f"{name or 'A part of the network'}: {problem.reason}")

    def do(self, tasks: Sequence[Task], fleet: Fleet, message: str, reporter: Reporter) -> list[Outcome]:
        """Do tasks on the whole region, and return what came of those that failed.

        Parameters
        ----------
        message : str
            What is done.
        """
        failed = []
        for number, outcome in enumerate(fleet.run(tasks, reporter), 1):
            reporter.progress(number / len(tasks), f"{message}: part {number:,} of {len(tasks):,}")
            if outcome.result is None:
                failed.append(outcome)
                self.fail(Problem("", "", outcome.code, outcome.reason, outcome.remedy))
        return failed

    def numbers(self) -> dict[str, Any]:
        """Return what a job's result says of the scenes."""
        elapsed_s = time.monotonic() - self._began_s
        failures = [{"scene": each.name, "reason": each.reason, "remedy": each.remedy} for each in self.failures]
        return {
            "scenes": len(self._plan.plans) + len(self._plan.problems),
            "done": len(self._done),
            "kept": len(self._plan.kept),
            "failed": len(failures),
            "outside": self._plan.outside,
            "megapixels": self.pace.megapixels,
            "megapixels_per_s": self.pace.megapixels / max(elapsed_s, 1e-9),
            "pace": {worker: each.megapixels_per_s for worker, each in self.pace.by_worker().items()},
            "partial": bool(failures),
            "failures": failures,
        }
