"""Timing of operations in turns: rates by number of threads, and focal losses of several libraries.

Scope: the best of several timings within a limit. Independent of what the operations compute.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from ..events import Reporter
from ..learning.losses import focal_loss
from .profile import LossTime, Rate

MAX_COUNTS = 5
# One timing may be disturbed by another process, and one measurement by something that takes a second.
MIN_TURNS, PASSES = 3, 2
ROAD_SHARE = 0.1
Loss = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Work:
    """An operation that can be timed, with the FLOP or bytes of one call."""

    amount: float
    run: Callable[[], object]


def thread_counts(threads: int) -> tuple[int, ...]:
    """Return the numbers of threads to measure with: powers of two from 1 on and `threads`, MAX_COUNTS at most."""
    counts = [1 << power for power in range(threads.bit_length()) if 1 << power < threads] + [threads]
    last = len(counts) - 1
    return tuple(dict.fromkeys(counts[round(place * last / (MAX_COUNTS - 1))] for place in range(MAX_COUNTS)))


@contextmanager
def using_threads(threads: int) -> Iterator[None]:
    """Compute with a number of threads, as a context manager; then with as many as before."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def best_times_s(
    operations: Sequence[Callable[[], object]],
    limit_s: float,
    required: int = 1,
    clock: Callable[[], float] = time.perf_counter,
) -> list[float]:
    """Return the best time of each operation, timed in turns after a first call that does not count.

    No further call begins after `limit_s`, and operations without time get infinity. But the first operations, as many
    as required, are timed MIN_TURNS times in any case. The clock returns seconds.
    """
    deadline_s = clock() + limit_s
    best = [math.inf] * len(operations)
    turn = 0
    while turn < MIN_TURNS or clock() < deadline_s:
        for index, operation in enumerate(operations):
            if clock() >= deadline_s and (turn >= MIN_TURNS or index >= required):
                break
            if math.isinf(best[index]):
                operation()
            began_s = clock()
            operation()
            best[index] = min(best[index], clock() - began_s)
        turn += 1
    return best


def best_rate(works: Sequence[Work], limit_s: float, clock: Callable[[], float] = time.perf_counter) -> float:
    """Return the best work per second of some operations; `limit_s` and `clock` as in `best_times_s`."""
    times_s = best_times_s([work.run for work in works], limit_s, clock=clock)
    return max(work.amount / time_s for work, time_s in zip(works, times_s))


def measure_rates(
    makers: Mapping[str, Callable[[int], Sequence[Work]]], counts: Sequence[int], limit_s: float, reporter: Reporter
) -> dict[str, tuple[Rate, ...]]:
    """Measure rates by number of threads, apart from what this PyTorch cannot compute.

    Makers take a number of threads and return operations, the best of which counts. Each measurement gets an equal part
    of what is left of `limit_s`.
    """
    deadline_s = time.perf_counter() + limit_s
    measurements = [(name, threads) for _ in range(PASSES) for name in makers for threads in counts]
    best: dict[tuple[str, int], float] = {}
    failed: set[str] = set()
    for done, (name, threads) in enumerate(measurements):
        reporter.check_cancelled()
        reporter.progress(done / len(measurements))
        part_s = (deadline_s - time.perf_counter()) / (len(measurements) - done)
        if name in failed or (part_s <= 0 and (name, threads) in best):
            continue
        try:
            with using_threads(threads), torch.inference_mode():
                rate = best_rate(makers[name](threads), part_s)
        except (RuntimeError, AttributeError):  # no kernel for this processor, or no such operator
            failed.add(name)
            continue
        best[name, threads] = max(rate, best.get((name, threads), 0))
    return {
        name: tuple(Rate(threads, best[name, threads]) for threads in counts) for name in makers if name not in failed
    }


def time_losses(logits_shape: tuple[int, ...], limit_s: float) -> tuple[LossTime, ...]:
    """Time focal losses (gamma 2, alpha 0.5) forward and backward on the same logits and labels, in turns.

    Logits have the shape of a training step, (batch, 1, height, width). Each loss is timed a few times, whatever the
    limit; the best time counts. RoadSeg's is first, and libraries that cannot be imported are left out.
    """
    random = torch.Generator().manual_seed(0)
    logits = (3 * torch.randn(logits_shape, generator=random)).requires_grad_()
    labels = (torch.rand(logits_shape, generator=random) < ROAD_SHARE).to(torch.uint8)
    losses: dict[str, Loss] = {"RoadSeg": lambda logits: focal_loss(logits, labels)}
    for name, make_loss in {"torchvision": _torchvision, "segmentation_models_pytorch": _segmentation_models}.items():
        try:
            losses[name] = make_loss(labels.float())  # as they compute with it, so that none converts it
        except (ImportError, OSError, RuntimeError):  # RuntimeError: torchvision for another version of PyTorch
            continue
    steps = [partial(_gradient, loss, logits) for loss in losses.values()]
    times_s = best_times_s(steps, limit_s, required=len(steps))
    return tuple(LossTime(name, time_s, time_s / times_s[0]) for name, time_s in zip(losses, times_s))


def _gradient(loss: Loss, logits: Tensor) -> None:
    torch.autograd.grad(loss(logits), logits)


def _torchvision(truth: Tensor) -> Loss:
    from torchvision.ops import sigmoid_focal_loss

    return lambda logits: sigmoid_focal_loss(logits, truth, alpha=0.5, gamma=2, reduction="mean")


def _segmentation_models(truth: Tensor) -> Loss:
    from segmentation_models_pytorch.losses import BINARY_MODE, FocalLoss

    focal = FocalLoss(BINARY_MODE, alpha=0.5, gamma=2.0)
    return lambda logits: focal(logits, truth)
