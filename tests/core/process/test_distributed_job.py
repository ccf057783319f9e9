import dataclasses
import hashlib
import os
import signal
import threading

import psutil
import pytest

from tests.core.support.systems import needs_posix
from tests.core.support.towns import ROAD_M
from training_core.distributed.job import execute_on_ranks, run_rank
from training_core.distributed.launch import launch
from training_core.errors import JobError, WorkerError
from training_core.events import Metric, Reporter
from training_core.jobs import FineTune, Segment
from training_core.models.loading import load_weights
from training_core.system.machine import Place

STEPS = 12


def job_on(town, folder, name, **options):
    defaults = {
        "rasters": (town.raster,), "roads": town.roads, "aoi": town.aoi, "base_model": "", "width_m": ROAD_M,
        "encoder": "resnet18",
        "engine": "native", "precision": "fp32", "chip_px": 64, "batch_size": 1, "accumulation": 2, "steps": STEPS,
        "frozen_stages": 0, "model": str(folder / f"{name}.safetensors"), "threads": 2,
    }  # fmt: skip
    return FineTune(**{**defaults, **options})


def weights_of(job):
    weights, _ = load_weights(job.model)
    return {name: hashlib.sha256(tensor.numpy()).digest() for name, tensor in weights.items()}


def run_alone(job):
    """Run a job in one process, a new one: where the Intel extension is loaded, as it may be here, rounding differs."""
    launch(run_rank, job.to_json(), [Place((), 1)], Reporter())


class Assault:
    """Sends signals to the second rank, each once a training has come so far."""

    def __init__(self, *signals):
        self.signals = list(signals)

    def __call__(self, event):
        if isinstance(event, Metric) and event.name == "loss" and event.step > 1 and self.signals:
            second = sorted(ranks(), key=lambda process: process.pid)[1]
            threading.Timer(0.05, second.send_signal, [self.signals.pop(0)]).start()


def ranks():
    return [process for process in psutil.Process().children() if "spawn_main" in " ".join(process.cmdline())]


@needs_posix
@pytest.mark.slow
def test_a_training_goes_on_to_the_same_model_after_a_rank_hung_and_another_was_killed(town, tmp_path):
    alone = job_on(town, tmp_path, "alone", threads=1)
    run_alone(alone)
    shared = job_on(town, tmp_path, "shared", processes="2")
    for cause, message in ((signal.SIGSTOP, "has not answered"), (signal.SIGKILL, "was killed by SIGKILL")):
        with pytest.raises(WorkerError, match=rf"rank 1 of 2 on .+ {message}"):
            execute_on_ranks(shared, Reporter(Assault(cause)))
        shared = dataclasses.replace(shared, resume=True)
    assert not ranks() and sorted(os.listdir(tmp_path)) == ["alone.safetensors", "shared.safetensors.checkpoint"]
    run_alone(job_on(town, tmp_path, "shared", threads=1, resume=True))
    assert weights_of(shared) == weights_of(alone)


@pytest.mark.slow
def test_whole_images_and_stages_of_a_pipeline_make_the_same_model_by_two_processes(town, tmp_path, planted):
    whole = {"sample": "image", "batch_norm": "frozen", "base_model": planted, "encoder": "auto", "steps": 2}
    for name, options, ways in (("whole", whole, ({},)), ("chips", {"steps": 2}, ({}, {"pipeline_stages": 2}))):
        alone = job_on(town, tmp_path, f"{name}-alone", threads=1, **options)
        run_alone(alone)
        for number, way in enumerate(ways):
            shared = job_on(town, tmp_path, f"{name}-{number}", processes="2", **options, **way)
            execute_on_ranks(shared, Reporter())
            assert weights_of(shared) == weights_of(alone)


def test_more_processes_than_cores_and_jobs_that_do_not_run_on_several_machines_are_refused(town, tmp_path):
    job = job_on(town, tmp_path, "model", processes="3", accumulation=3)
    with pytest.raises(JobError, match=r"3 processes .* only 2 threads"):
        execute_on_ranks(job, Reporter())
    with pytest.raises(JobError, match="does not run on several machines"):
        execute_on_ranks(Segment(), Reporter())
