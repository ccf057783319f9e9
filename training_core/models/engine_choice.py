"""Choice of an engine, its precision and threads: as asked for, or by a trial of those installed, and of devices.

Scope: timing. Independent of what a trial computes.
"""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Optional, TypeVar

import torch
from torch.nn import functional

from ..errors import JobError
from ..events import Reporter
from ..jobs import ACCELERATORS, AUTO, CPU, ComputeOptions
from ..system import environment, processor
from .accelerator import built_kind, find
from .engines import BF16, DEVICE_FAILURES, FP16, FP32, INT8, OPENVINO_AUTO, Engine, why_not
from .openvino_model import CLEAR_WIN

# Below this fraction of the speed in FP32, BF16 is not chosen.
CLEAR_LOSS = 0.85
TRIAL_STEPS = 3
# With fewer threads than this, half of them are not tried.
MANY_THREADS = 4
# Loading the other engines takes this long before any of them computes.
LOADING_S = 4.0
# Channels and side of the convolution that shows the speed in BF16: a layer in the middle of a U-Net; some 30 ms on two
# cores.
_CHANNELS, _SIDE_PX, _TURNS = 64, 128, 4
# The reason of an engine that was not chosen.
_ASKED = "asked for"
_E = TypeVar("_E", bound="Engine[Any]")
_C = TypeVar("_C")


def devices_at_hand(
    job: ComputeOptions,
    precision: str,
    able: Mapping[str, Callable[..., _E]],
    reporter: Reporter,
    is_tried: bool = True,
) -> list[_E]:
    """Return the engines to try on devices: of the one that a job or RoadSeg's settings ask for, or of all there.

    Unless `is_tried`, only of one that is asked for, and of none if an engine is, since it computes on the CPU. `able`
    are the engines on devices that support the task, such as TRAINING_DEVICES. A device that is asked for and cannot be
    used brings a warning. Raises JobError if the environment names no device.
    """
    wanted = environment.device() if job.device == AUTO else job.device
    if job.engine != AUTO or wanted == CPU or (wanted == AUTO and not is_tried):
        return []
    if wanted != AUTO:
        obstacle = why_not(wanted) if wanted in able else "it does not do this task"
        if obstacle:
            reporter.warning(f"The device {wanted} cannot be used: {obstacle}. The CPU computes.")
        return [] if obstacle else [able[wanted](_precision_on(wanted, precision), _ASKED)]
    names = [name for name in able if name != OPENVINO_AUTO]  # which stands for one of the others
    if built_kind() in names and (obstacle := why_not(built_kind())):
        reporter.log(f"The device {built_kind()} cannot be used: {obstacle}.")
    return [able[name](_precision_on(name, precision)) for name in names if not why_not(name)]


def choose_anywhere(
    engine: str,
    precision: str,
    able: Mapping[str, type[_E]],
    devices: Sequence[_E],
    trial: Callable[[_E], object],
    reporter: Reporter,
    limit_s: float = math.inf,
) -> _E:
    """Choose the engine as `choose_engine` does, or a device's that is asked for if its trial succeeds.

    With a limit of 0 s there is no other trial.
    """
    for asked in devices:
        if asked.reason != _ASKED:
            continue
        try:
            trial(asked)
            reporter.log(f"Device {asked.title} in {asked.precision}: {_ASKED}.")
            return asked
        except DEVICE_FAILURES as error:
            reporter.warning(f"{error} The CPU computes.")
    rivals = [each for each in devices if each.reason != _ASKED]
    return choose_engine(engine, precision, able, trial if limit_s else None, reporter.log, limit_s, rivals)


def _precision_on(device: str, asked: str) -> str:
    """Return the precision in which a device computes, by the job's."""
    if device in ACCELERATORS:
        return BF16 if asked != FP32 and find(device).has_bf16 else FP32
    return asked if asked in (INT8, FP32) else FP16


def choose_engine(
    engine: str,
    precision: str,
    able: Mapping[str, type[_E]],
    trial: Optional[Callable[[_E], object]] = None,
    log: Callable[[str], None] = print,
    limit_s: float = math.inf,
    devices: Sequence[_E] = (),
) -> _E:
    """Choose the engine: the one asked for, or of those installed the fastest in a trial.

    A trial runs one step on the actual shapes with an engine. Without it, auto takes the first of `able`: the engines
    that support the task, such as TRAINING, in order of preference. Where it would exceed `limit_s`, engines on
    `devices` alone are tried beside the first, since they may be many times as fast. Raises JobError if the engine
    asked for is not installed, or does not support the task.
    """
    precision = choose_precision(precision, log)
    first, *others = able
    wanted = first if engine == AUTO else engine
    if wanted not in able:
        raise JobError(
            f"The engine {wanted} does not run ONNX models.", f"Choose the engine {' or '.join(able)}, or auto."
        )
    obstacle = why_not(wanted)
    if obstacle:
        instead = "Run Set up runtime." if wanted == first else "Choose the engine native or auto."
        raise JobError(f"The engine {wanted} cannot be used: {obstacle}.", instead)
    if engine != AUTO:
        return able[wanted](precision, _ASKED)
    reason = ""  # why only the first engine remains
    if not others:
        reason = "it is the one that runs ONNX models"
    elif trial is None or not _fits(trial, able[first](precision), len(able), limit_s):
        reason = "there is too little to do, or too little time, to try others"
    elif all(map(why_not, others)):
        reason = "; ".join(why_not(name) or "" for name in others)
    if trial is None or (reason and not devices):
        log(f"Engine {first} in {precision}: {reason}.")
        return able[first](precision, reason)
    rivals = [] if reason else [able[name](precision) for name in others if not why_not(name)]
    return _fastest([able[first](precision), *rivals, *devices], trial, log, 1 if reason else TRIAL_STEPS)


def settle_threads(step: Callable[[], object], asked: int, log: Callable[[str], None]) -> None:
    """Halve the number of PyTorch's threads as long as a step is clearly faster with half of them.

    Each layer waits for its slowest thread: one on an efficiency core, or one that shares its core with another. A
    number that is `asked` for by the job or by RoadSeg's settings is kept.
    """
    threads = torch.get_num_threads()
    if asked or environment.threads() or threads < MANY_THREADS:
        return
    half = threads // 2

    def step_with(count: int) -> None:
        torch.set_num_threads(count)
        step()

    minimum_s = _minimum_s((threads, half), step_with, TRIAL_STEPS)
    is_clear = minimum_s[half] < CLEAR_WIN * minimum_s[threads]
    torch.set_num_threads(half if is_clear else threads)
    if is_clear:
        half_ms, all_ms = 1000 * minimum_s[half], 1000 * minimum_s[threads]
        log(f"{half} threads: {half_ms:.0f} ms a step, instead of {all_ms:.0f} ms with {threads}.")
        settle_threads(step, asked, log)


def _minimum_s(candidates: Iterable[_C], run: Callable[[_C], object], rounds: int) -> dict[_C, float]:
    """Return the minimum time of each candidate over some rounds, in seconds; the first one also prepares the kernels.

    Candidates alternate, so that other programs slow all of them alike.
    """
    minimum_s = dict.fromkeys(candidates, math.inf)
    for _ in range(rounds):
        for candidate in minimum_s:
            began_s = time.perf_counter()
            run(candidate)
            minimum_s[candidate] = min(minimum_s[candidate], time.perf_counter() - began_s)
    return minimum_s


def _fits(trial: Callable[[_E], object], first: _E, engines: int, limit_s: float) -> bool:
    """Whether a trial of this number of engines fits into the limit, estimated by a step of the first one."""
    if limit_s <= LOADING_S or limit_s == math.inf:
        return limit_s == math.inf
    began_s = time.perf_counter()
    trial(first)
    return LOADING_S + (1 + TRIAL_STEPS) * engines * (time.perf_counter() - began_s) <= limit_s


def choose_precision(precision: str, log: Callable[[str], None]) -> str:
    """Return the precision asked for, or fp32 where this processor is slow in BF16; int8 stays int8."""
    if processor.limit():
        sets = " ".join(processor.instruction_sets()) or "none of those that speed up models"
        log(f"The instruction sets are limited by {processor.limit()}, to {sets}.")
    if precision in (INT8, FP32):
        return precision
    if not processor.has_bf16_unit():
        if precision == BF16:
            log("This processor has no BF16 unit, and would be far slower in BF16 than in FP32; FP32 is used.")
        return FP32
    if precision == AUTO and not processor.has_amx() and bf16_speedup() < CLEAR_LOSS:
        log(f"This processor computes in BF16 at {bf16_speedup():.0%} of its speed in FP32, as measured; FP32 is used.")
        return FP32
    return BF16


@functools.lru_cache
def bf16_speedup() -> float:
    """Return how many times as fast as in FP32 a convolution and its gradients are in BF16, measured in turns."""
    with torch.random.fork_rng(devices=[]), torch.enable_grad():
        filters = torch.randn(_CHANNELS, _CHANNELS, 3, 3, requires_grad=True)
        images = torch.randn(2, _CHANNELS, _SIDE_PX, _SIDE_PX).contiguous(memory_format=torch.channels_last)
        images.requires_grad_()

        def convolve(dtype: torch.dtype) -> None:
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=dtype == torch.bfloat16):
                convolved = functional.conv2d(images, filters, padding=1)
            convolved.sum().backward()

        minimum_s = _minimum_s((torch.float32, torch.bfloat16), convolve, _TURNS)
    return minimum_s[torch.float32] / minimum_s[torch.bfloat16]


def _fastest(engines: Sequence[_E], trial: Callable[[_E], object], log: Callable[[str], None], turns: int) -> _E:
    seconds = dict.fromkeys(engines, math.inf)
    # In turns, and the best of each, so that what else the machine does is fair to all. The first step prepares weights
    # and memory.
    for turn in range(1 + turns):
        for engine in list(seconds):
            began = time.perf_counter()
            try:
                trial(engine)
                engine.synchronize()
            except DEVICE_FAILURES as error:
                if not engine.is_device:
                    raise
                log(f"The engine {engine.name} is left out. {error}")
                del seconds[engine]
                continue
            if turn:
                seconds[engine] = min(seconds[engine], time.perf_counter() - began)
    times = ", ".join(f"{engine.title} {second * 1000:.0f} ms" for engine, second in seconds.items())
    fastest = min(seconds, key=lambda engine: seconds[engine])
    is_clear = seconds[fastest] < CLEAR_WIN * seconds[engines[0]]
    best = fastest if is_clear else engines[0]
    reason = f"{'clearly fastest' if is_clear else 'none is clearly faster'} of {times} a step in {best.precision}"
    log(f"Engine {best.name}: {reason}.")
    return replace(best, reason=reason)
