"""Rates: work a second of operations by number of threads, the best of several timings within a share of time.

Scope: timing. Independent of what the operations compute.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch

from ..events import Reporter
from .profile import Rate

MAX_COUNTS = 5
# One timing may be disturbed by another process.
MIN_TURNS = 3
# And one measurement by something that takes a second.
PASSES = 2


@dataclass(frozen=True)
class Work:
    """An operation that can be timed.

    Parameters
    ----------
    amount : float
        FLOP or bytes of one call.
    """

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
    least: int = 1,
    clock: Callable[[], float] = time.perf_counter,
) -> list[float]:
    """Return the best time of each operation, timed in turns after a first call that does not count.

    Parameters
    ----------
    limit_s : float
        No further call begins after this, but for the first turns.
    least : int
        So many of the operations are timed MIN_TURNS times, whatever it takes.
    clock : callable
        Returns seconds.

    Returns
    -------
    list of float
        Infinity for operations that there was no time for.
    """
    deadline_s = clock() + limit_s
    best = [math.inf] * len(operations)
    for turn in itertools.count():
        if turn >= MIN_TURNS and clock() >= deadline_s:
            return best
        for index, operation in enumerate(operations):
            if clock() >= deadline_s and (turn >= MIN_TURNS or index >= least):
                break
            if math.isinf(best[index]):
                operation()
            began_s = clock()
            operation()
            best[index] = min(best[index], clock() - began_s)


def best_rate(works: Sequence[Work], limit_s: float, clock: Callable[[], float] = time.perf_counter) -> float:
    """Return the best work a second of some operations.

    Parameters
    ----------
    works : sequence of Work
        The first is timed MIN_TURNS times at least.
    limit_s : float
        See `best_times_s`.
    clock : callable
        Returns seconds.
    """
    times_s = best_times_s([work.run for work in works], limit_s, clock=clock)
    return max(work.amount / time_s for work, time_s in zip(works, times_s))


def measure_rates(
    makers: Mapping[str, Callable[[int], Sequence[Work]]],
    counts: Sequence[int],
    limit_s: float,
    reporter: Reporter,
) -> dict[str, tuple[Rate, ...]]:
    """Measure rates by number of threads.

    Parameters
    ----------
    makers : mapping of str to callable
        Each takes a number of threads and returns operations, the best of which counts.
    counts : sequence of int
        Numbers of threads.
    limit_s : float
        Time for all; each measurement gets an equal part of what is left.

    Returns
    -------
    dict of str to tuple of Rate
        What this PyTorch cannot compute is left out.
    """
    deadline_s = time.perf_counter() + limit_s
    measurements = [(name, threads) for _ in range(PASSES) for name in makers for threads in counts]
    best: dict[tuple[str, int], float] = {}
    failed: set[str] = set()
    for done, (name, threads) in enumerate(measurements):
        reporter.check_cancelled()
        reporter.progress(done / len(measurements))
        share_s = (deadline_s - time.perf_counter()) / (len(measurements) - done)
        if name in failed or (share_s <= 0 and (name, threads) in best):
            continue
        try:
            with using_threads(threads), torch.inference_mode():
                rate = best_rate(makers[name](threads), share_s)
        except (RuntimeError, AttributeError):  # no kernel for this processor, or no such operator
            failed.add(name)
            continue
        best[name, threads] = max(rate, best.get((name, threads), 0))
    return {
        name: tuple(Rate(threads, best[name, threads]) for threads in counts) for name in makers if name not in failed
    }
