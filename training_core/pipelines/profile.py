"""The job profile: the machine's limits, training and inference broken down, advice; writes a report, JSON and a trace.

Scope: the order of the steps, each in a module of its own. Independent of how they work.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import torch

from ..events import Reporter
from ..geodata.sources import with_sources
from ..jobs import Profile
from ..models.architectures import LIBRARY
from ..models.engines import BF16, FP32, INT8, engines_for, why_not
from ..profiling.advice import advise, trials_of
from ..profiling.limits import measure_limits
from ..profiling.measurement import Measured, measure, write_trace
from ..profiling.profile import Advice, Limits, to_document
from ..profiling.profile import Profile as Measurements
from ..profiling.profile_report import write_profile_report
from ..profiling.workload import Workload, cases_of, open_workload
from ..system import processor
from ..system.machine import versions
from ..system.outputs import Outputs, write_json
from ..system.work import preload

# The share of the time that the machine's limits take; the rest is the runs'.
_LIMITS_SHARE = 0.2
# Progress at which the runs begin and end, and with trials of advice.
_RUNS_BEGIN, _RUNS_END, _RUNS_END_WITH_TRIALS = 0.2, 0.95, 0.6
_LOGGED_ADVICE = 3


def run(job: Profile, reporter: Reporter) -> dict[str, Any]:
    """Do the job; see `jobs.Profile`.

    Raises JobError if the engine asked for cannot be used, or the model cannot be trained.
    """
    preload(LIBRARY)
    threads = job.threads or torch.get_num_threads()
    torch.set_num_threads(threads)
    job = dataclasses.replace(job, threads=threads)
    with Outputs([*with_sources([job.raster] if job.raster else []), job.model]) as outputs:
        paths, staged = outputs.stage_fields(job, "report", "profile", "trace")
        with open_workload(job) as workload:
            profile, measured = _profile(workload, reporter)
        if "profile" in staged:
            write_json(staged["profile"], to_document(profile))
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
            "peak_share": run.peak_share(profile.limits),
            "unaccounted_share": run.unaccounted_share,
            "overhead_share": run.overhead_share,
        }
        for run in profile.runs
    ]
    return {**rows[0], "runs": rows, "advice": [_in_words(piece) for piece in profile.advice]}


def _in_words(piece: Advice) -> str:
    gain = f" (estimated to save {piece.gain:.0%})" if piece.gain else ""
    tried = f" Tried: saves {piece.trial.gain:.0%}." if piece.trial else ""
    return f"{piece.run}: {piece.rule}{gain}. {piece.evidence} {piece.remedy}{tried}"


def _profile(workload: Workload, reporter: Reporter) -> tuple[Measurements, list[Measured]]:
    """Measure all that the job asks for."""
    job = workload.job
    cases = cases_of(workload, reporter)
    limits = measure_limits(job.threads, _LIMITS_SHARE * job.seconds, reporter.part(0, _RUNS_BEGIN))
    _log_limits(limits, reporter)
    measured, end = [], _RUNS_END_WITH_TRIALS if job.try_advice else _RUNS_END
    for number, (what, engine) in enumerate(cases):
        span = (_RUNS_BEGIN + (end - _RUNS_BEGIN) * at / len(cases) for at in (number, number + 1))
        part = reporter.part(*span)
        with workload.subject(what, engine, {}, part) as (subject, options):
            limit_s = (1 - _LIMITS_SHARE) * job.seconds / len(cases)
            measured.append(measure(subject, limits, limit_s, options, part))
        run = measured[-1].run
        longest = ", ".join(f"{row.name} {row.share:.0%}" for row in run.kinds[:3])
        reporter.log(
            f"{run.name}: {run.images_per_s:.2f} images of {run.size_px} px a second, {run.peak_share(limits):.0%} of "
            f"the peak; {longest}."
        )
    runs = tuple(each.run for each in measured)
    at_hand = [name for name in engines_for(workload.model) if not why_not(name)]
    advice = advise(runs, limits, at_hand)
    if job.try_advice:
        part = reporter.part(end, _RUNS_END)
        measures = {each.name: lambda options, of=each: workload.image_s(of, options, part) for each in runs}
        advice = trials_of(advice, measures, part)
    for piece in advice[:_LOGGED_ADVICE]:
        reporter.log(_in_words(piece))
    reporter.check_cancelled()
    options, warnings = dataclasses.asdict(job), tuple(reporter.warnings)
    return Measurements(processor.name(), limits, runs, advice, options, versions(), warnings), measured


def _log_limits(limits: Limits, reporter: Reporter) -> None:
    formats = [dtype for dtype in (FP32, BF16, INT8) if limits.peak(dtype)]
    peaks = ", ".join(f"{limits.peak(dtype) / 1e9:.0f} GFLOP/s in {dtype}" for dtype in formats)
    reporter.log(f"{processor.name()}: {peaks}; {limits.memory_per_s / 1e9:.1f} GB/s of memory.")
