"""Distributed job: its ranks are started here, fewer if memory is short, or by torchrun.

Scope: fine-tunes. Independent of a rank's part of a job, which is in `pipelines.<job name>`, a function
`run(job, reporter, group) -> dict`.
"""

from __future__ import annotations

import dataclasses
import importlib
import os
import platform
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from .. import events
from ..errors import Cancelled, JobError, ResourceError, RoadSegError
from ..events import Reporter, explain
from ..jobs import FineTune, Job, from_json
from ..system import environment, work
from ..system.machine import AUTO, count_processes, places, settle
from ..system.outputs import remove_leftovers
from ..system.processor import prepare_process
from .launch import launch


def execute_on_ranks(job: Job, reporter: Reporter) -> dict[str, Any]:
    """Run a job by the ranks that it asks for, or as one of the ranks that torchrun has started; return its result.

    Raises JobError if the job does not run by several ranks, or there are fewer cores than processes. Raises
    RoadSegError; see `launch.launch` and `torchrun.joined`.
    """
    if not isinstance(job, FineTune):
        raise JobError(
            f"The job {job.name} does not run on several machines.", "Start it without torchrun, as a single process."
        )
    if environment.is_rank():
        return _run_as_started(job, reporter)
    count = count_processes(job.processes, job.threads, job.max_processes)
    if job.processes == AUTO:  # whole pipelines
        count = max(job.pipeline_stages, count - count % job.pipeline_stages)
    if count == 1:
        prepare_process(job.threads)
        return _pipeline(job)(job, reporter)
    prepare_process(1)  # this process computes nothing
    return _launch(job, count, reporter)


def _launch(job: FineTune, count: int, reporter: Reporter) -> dict[str, Any]:
    """Run a job by ranks of this machine, by fewer if memory is short."""
    began_s = time.time()
    while True:
        try:
            return launch(run_rank, job.to_json(), places(count, job.threads), reporter)
        except RoadSegError as error:
            for path in filter(None, (job.model, job.report)):
                with suppress(OSError):
                    remove_leftovers(Path(path).parent)  # of a killed rank
            if error.code != ResourceError.code or job.processes != AUTO or count <= job.pipeline_stages:
                raise
            count -= job.pipeline_stages
            reporter.log(f"{error.message} Continuing with {count} process{'es' * (count > 1)}.")
            job = dataclasses.replace(job, resume=job.resume or _has_checkpoint(job, began_s))


def _has_checkpoint(job: FineTune, since_s: float) -> bool:
    """Whether this run has left a checkpoint; an earlier one does not count."""
    from ..learning.checkpoint import checkpoint_path

    try:
        return checkpoint_path(job.model).stat().st_mtime >= since_s
    except OSError:
        return False


def run_rank(
    text: str, send: Callable[[events.Event], None], is_cancelled: Callable[[], bool], join: Callable[[], Any]
) -> None:
    """Do a rank's part of a job; see `launch.Target`."""
    last: events.Event
    try:
        job = from_json(text)
        group = join()
        reporter = Reporter(send if group.leads else lambda event: None, is_cancelled)
        last = events.Result(_pipeline(job)(job, reporter, group))
    except BaseException as error:  # any exception must reach the user as an event
        last = explain(error, Reporter(send))
    send(last)


def _run_as_started(job: FineTune, reporter: Reporter) -> dict[str, Any]:
    """Run a job as one of the ranks that torchrun has started."""
    local = environment.number("LOCAL_WORLD_SIZE", 1)
    place = places(local, job.threads)[environment.number("LOCAL_RANK")]
    settle(place)
    from . import torchrun  # loads PyTorch

    def fail(error: RoadSegError) -> None:
        reporter.pass_on(explain(error, reporter))
        work.clean_up(0)
        os._exit(1)

    if environment.number(environment.RESTARTS):
        job = dataclasses.replace(job, resume=job.resume or _has_checkpoint(job, 0))
    with torchrun.joined(fail) as group:
        try:
            return _pipeline(job)(job, reporter if group.leads else reporter.silent(), group)
        except RoadSegError as error:
            if not group.leads and not isinstance(error, Cancelled):
                error.message = f"Rank {group.rank} of {group.size} on {platform.node()}: {error.message}"
            raise


def _pipeline(job: Job) -> Callable[..., dict[str, Any]]:
    return importlib.import_module(f"..pipelines.{job.name}", __package__).run
