"""The job profile: the machine's limits, training and inference broken down, advice; writes a report, JSON and a trace.

Scope: the order of the steps, each in a module of its own. Independent of how they work.
"""

from __future__ import annotations

import dataclasses
import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import rasterio
import torch
from torch import nn

from ..errors import JobError
from ..events import Reporter
from ..geodata.model_input import IMAGE, ModelInput, open_for_model
from ..geodata.rasters import Band, choose_bands, open_raster
from ..geodata.sources import with_sources
from ..geodata.tiling import round_up
from ..jobs import ALL, BOTH, INFERENCE, TRAINING, Profile
from ..models.architectures import LIBRARY, Architecture, build_network
from ..models.engines import (
    AUTO,
    BF16,
    FP32,
    INT8,
    NATIVE,
    Engine,
    choose_engine,
    choose_precision,
    engines_for,
    why_not,
)
from ..models.engines import TRAINING as TRAINING_ENGINES
from ..models.loading import load_model
from ..models.onnx_file import OnnxModel
from ..profiling.advice import advise, trials_of
from ..profiling.breakdown import Roof, roof_of
from ..profiling.limits import measure_limits
from ..profiling.measurement import Measured, measure
from ..profiling.profile import Advice, Limits, Run
from ..profiling.profile import Profile as Measurements
from ..profiling.profile_document import to_document, write_trace
from ..profiling.subjects import Workload
from ..profiling.timing import time_losses
from ..reports.profile_report import write_profile_report
from ..scenes.scene import SCENE_CRS, make_scene
from ..system import processor
from ..system.outputs import Outputs
from ..system.prefetch import preload
from ..system.versions import versions

# Shares of the time: the machine's limits, the losses. The rest is the runs'.
_LIMITS_SHARE, _LOSSES_SHARE = 0.2, 0.03
# Progress at which the runs begin and end, and with trials of advice.
_RUNS_BEGIN, _RUNS_END, _RUNS_END_WITH_TRIALS = 0.2, 0.95, 0.6
# A scene of this size, and of ground resolutions within this range, in meters; repeated for larger tiles.
_SCENE_PX, _SCENE_SEED, _SCENE_M = 1024, 1, (0.25, 1.0)
_LOGGED_ADVICE = 3


def run(job: Profile, reporter: Reporter) -> dict[str, Any]:
    """Do the job; see `jobs.Profile`.

    Raises
    ------
    JobError
        The engine asked for cannot be used, or the model cannot be trained.
    """
    preload(LIBRARY)
    threads = job.threads or torch.get_num_threads()
    torch.set_num_threads(threads)
    job = dataclasses.replace(job, threads=threads)
    paths = {name: getattr(job, name) for name in ("report", "profile", "trace") if getattr(job, name)}
    with Outputs([*with_sources([job.raster] if job.raster else []), job.model]) as outputs:
        staged = {name: outputs.stage(path) for name, path in paths.items()}
        with _workload(job, reporter) as workload:
            profile, measured = _profile(workload, reporter)
        if "profile" in staged:
            staged["profile"].write_text(json.dumps(to_document(profile), indent=1), encoding="utf-8")
        if "trace" in staged:
            write_trace(staged["trace"], measured)
        if "report" in staged:
            write_profile_report(profile, staged["report"])
    return {**paths, **_result(profile)}


def _result(profile: Measurements) -> dict[str, Any]:
    """Return the main numbers, those of the first run and of each."""
    rows = [
        {
            "what": run.what,
            "engine": run.engine,
            "precision": run.precision,
            "step_s": run.step_s,
            "images_per_s": run.images_per_s,
            "peak_share": _peak_share(run, roof_of(profile.limits)),
            "unaccounted_share": run.unaccounted_share,
            "overhead_share": run.overhead_share,
        }
        for run in profile.runs
    ]
    return {**rows[0], "runs": rows, "advice": [_in_words(piece) for piece in profile.advice]}


def _peak_share(run: Run, roof: Roof) -> float:
    """Return the floating-point operations of a step, as a share of what the machine's peak allows in its time."""
    peak = roof.peaks.get(run.precision, 0.0)
    return sum(row.flop or 0.0 for row in run.primitives) / (run.step_s * peak) if peak else 0.0


def _in_words(piece: Advice) -> str:
    gain = f" (estimated to save {piece.gain:.0%})" if piece.gain else ""
    tried = f" Tried: saves {piece.trial.gain:.0%}." if piece.trial else ""
    return f"{piece.run}: {piece.rule}{gain}. {piece.evidence} {piece.remedy}{tried}"


def _profile(workload: Workload, reporter: Reporter) -> tuple[Measurements, list[Measured]]:
    """Measure all that the job asks for."""
    job = workload.job
    cases = _cases(workload, reporter)
    limits = measure_limits(job.threads, _LIMITS_SHARE * job.seconds, reporter.part(0, _RUNS_BEGIN))
    _log_limits(limits, reporter)
    runs_share = 1 - _LIMITS_SHARE - _LOSSES_SHARE
    measured, end = [], _RUNS_END_WITH_TRIALS if job.try_advice else _RUNS_END
    for number, (what, engine) in enumerate(cases):
        span = (_RUNS_BEGIN + (end - _RUNS_BEGIN) * at / len(cases) for at in (number, number + 1))
        part = reporter.part(*span)
        with workload.subject(what, engine, {}, part) as (subject, options):
            limit_s = runs_share * job.seconds / len(cases)
            measured.append(measure(subject, roof_of(limits), limit_s, options, part))
        _log_run(measured[-1].run, roof_of(limits), reporter)
    runs = tuple(each.run for each in measured)
    shape = next(((each.batch_size, 1, each.size_px, each.size_px) for each in runs if each.what == TRAINING), None)
    losses = time_losses(shape, _LOSSES_SHARE * job.seconds) if shape else ()
    at_hand = [name for name in engines_for(workload.model) if not why_not(name)]
    advice = advise(runs, limits, at_hand)
    if job.try_advice:
        part = reporter.part(end, _RUNS_END)
        measures = {each.name: lambda options, of=each: workload.image_s(of, options, part) for each in runs}
        advice = trials_of(advice, measures, part)
    for piece in advice[:_LOGGED_ADVICE]:
        reporter.log(_in_words(piece))
    reporter.check_cancelled()
    options = dataclasses.asdict(job)
    return Measurements(
        processor.name(), limits, runs, advice, losses, options, versions(), tuple(reporter.warnings)
    ), measured


def _log_limits(limits: Limits, reporter: Reporter) -> None:
    formats = [dtype for dtype in (FP32, BF16, INT8) if limits.peak(dtype)]
    peaks = ", ".join(f"{limits.peak(dtype) / 1e9:.0f} GFLOP/s in {dtype}" for dtype in formats)
    reporter.log(f"{processor.name()}: {peaks}; {limits.memory_per_s / 1e9:.1f} GB/s of memory.")


def _log_run(run: Run, roof: Roof, reporter: Reporter) -> None:
    longest = ", ".join(f"{row.name} {row.share:.0%}" for row in run.kinds[:3])
    reporter.log(
        f"{run.name}: {run.images_per_s:.2f} images of {run.size_px} px a second, {_peak_share(run, roof):.0%} of the "
        f"peak; {longest}."
    )


def _cases(workload: Workload, reporter: Reporter) -> list[tuple[str, Engine]]:
    """Return what is profiled, in order, each with its engine.

    Raises
    ------
    JobError
        The engine asked for cannot be used, or the model cannot be trained.
    """
    job, model = workload.job, workload.model
    if job.what != INFERENCE and isinstance(model, OnnxModel):
        raise JobError(
            f"{job.model} is an ONNX model, which cannot be trained.",
            f"Choose {INFERENCE} as what to profile (what), or a .safetensors file.",
        )
    cases = []
    for what in (TRAINING, INFERENCE) if job.what == BOTH else (job.what,):
        able = TRAINING_ENGINES if what == TRAINING else engines_for(model)
        for name in _engine_names(job, able, reporter):
            for precision in _precisions(job, model):
                cases.append((what, choose_engine(name, precision, None, reporter.log, able)))
    return cases


def _engine_names(job: Profile, able: tuple[str, ...], reporter: Reporter) -> list[str]:
    if job.engine != ALL:
        return [able[0] if job.engine == AUTO else job.engine]
    obstacles = {name: why_not(name) for name in able}
    for name, obstacle in obstacles.items():
        if obstacle and name != NATIVE:
            reporter.warning(f"The engine {name} is not profiled: {obstacle}.")
    return [name for name, obstacle in obstacles.items() if not obstacle]


def _precisions(job: Profile, model: nn.Module | OnnxModel) -> list[str]:
    if isinstance(model, OnnxModel) and model.is_quantized:
        return [INT8]
    if job.precision != ALL:
        return [choose_precision(job.precision, lambda _: None)]
    return [BF16, FP32] if processor.has_bf16_unit() else [FP32]


@contextmanager
def _workload(job: Profile, reporter: Reporter) -> Iterator[Workload]:
    """Yield the job's model and image; without an image a generated scene, without a model random weights."""
    loaded = load_model(job.model) if job.model else None
    resolution_m = loaded[1].resolution_m if loaded else _SCENE_M[0]
    with _image_path(job, min(max(resolution_m, _SCENE_M[0]), _SCENE_M[1]), reporter) as path:
        wanted = loaded[1].input if loaded else _all_bands(path)
        with open_for_model(path, wanted) as (image, bands):
            if loaded:
                model, architecture = loaded[0], loaded[1].architecture
            else:
                architecture = Architecture(in_channels=len(bands))
                model = build_network(architecture)
            yield Workload(job, model, architecture, image, bands)


def _all_bands(path: str) -> ModelInput:
    """Return the input of a model that takes all bands of an image, at its own resolution."""
    with open_raster(path) as dataset:
        names = choose_bands(dataset, ()).values()
    return ModelInput(tuple(Band(name, 0.0, 1.0) for name in names), 0.0, IMAGE)


@contextmanager
def _image_path(job: Profile, scene_m: float, reporter: Reporter) -> Iterator[str]:
    """Yield the image's path; a generated scene, of this ground resolution in meters, is a temporary file."""
    if job.raster:
        yield job.raster
        return
    reporter.progress(0, "Painting a scene")
    scene = make_scene(_SCENE_PX, _SCENE_SEED, scene_m)
    side_px = round_up(max(_SCENE_PX, job.tile_px))
    times = -(-side_px // _SCENE_PX)
    pixels = np.tile(scene.image, (1, times, times))[:, :side_px, :side_px]
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "generated scene.tif"))
        shape = {"count": len(pixels), "width": side_px, "height": side_px, "dtype": pixels.dtype}
        place = {"crs": SCENE_CRS, "transform": scene.transform, "photometric": "rgb"}
        with rasterio.open(path, "w", driver="GTiff", tiled=True, **shape, **place) as dataset:
            dataset.write(pixels)
        yield path
