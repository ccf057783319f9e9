"""Memory bandwidth: STREAM's triad, reading and copying; a triad within the last-level cache; starting threads.

Bytes count as in STREAM (McCalpin, 1995): each array once, without the reading of lines that are about to be written.

Scope: arrays of FP32. Independent of how they are timed, but for the start of threads.
"""

from __future__ import annotations

from functools import partial

import torch

from .rates import Work, best_times_s, using_threads

MAX_BYTES = 1 << 30
MAX_SHARE_OF_MEMORY = 1 / 4
# STREAM's rule is four times the cache; where that is unknown or small, four times this.
MIN_CACHE_BYTES = 16 << 20
SCALAR = 3.0
# PyTorch gives a thread no less than this.
GRAIN = 1 << 15
# So many at once, since one takes about a microsecond.
ADDITIONS = 100


def array_bytes(cache_bytes: int, available_bytes: int) -> int:
    """Return the size of each of three arrays to measure memory with.

    Parameters
    ----------
    cache_bytes : int
        Last-level cache; 0 where unknown.
    available_bytes : int
        Free memory.

    Returns
    -------
    int
        Four times the cache, or less where memory is short or the cache very large: there it counts as memory.
    """
    most = min(MAX_BYTES, int(available_bytes * MAX_SHARE_OF_MEMORY)) // 3
    return min(4 * max(cache_bytes, MIN_CACHE_BYTES), most)


def memory_works(size_bytes: int) -> dict[str, Work]:
    """Return a triad, a read and a copy of arrays of so many bytes each; their memory is touched by all threads."""
    a, b, c = (torch.full((size_bytes // 4,), float(value)) for value in range(3))
    each = 4.0 * a.numel()
    return {
        "triad": Work(3 * each, partial(torch.add, b, c, alpha=SCALAR, out=a)),
        "read": Work(each, b.sum),
        "copy": Work(2 * each, partial(a.copy_, b)),
    }


def parallel_region_s(threads: int, limit_s: float) -> float:
    """Return the time of starting an OpenMP region, and of waiting for its end.

    It is what an addition with all threads takes longer than with one, for as many elements a thread: few enough to
    stay in the fastest cache.

    Parameters
    ----------
    limit_s : float
        Time to measure.

    Returns
    -------
    float
        0 for one thread.
    """
    if threads == 1:
        return 0.0
    times_s = []
    for count in (threads, 1):
        elements = torch.zeros(count * GRAIN, dtype=torch.uint8)
        with using_threads(count), torch.inference_mode():
            times_s += best_times_s([partial(_add_often, elements)], limit_s / 2)
    return max(0.0, (times_s[0] - times_s[1]) / ADDITIONS)


def _add_often(elements: torch.Tensor) -> None:
    for _ in range(ADDITIONS):
        elements.add_(1)
