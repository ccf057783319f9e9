"""How a training by several processes used them: speed-up, efficiency, communication, imbalance.

Scope: the time and bytes of each process' steps, and figures of them. Independent of reports.
"""

from __future__ import annotations

import math
import platform
from collections.abc import Sequence
from statistics import fmean
from typing import Any

import numpy as np
import torch
from scipy.integrate import trapezoid
from scipy.special import ndtr

from ..learning.history import PARTS_OF_A_STEP
from ..learning.training_loop import Training
from .data_parallel import DataParallel

# The curve of speed-up ends at this multiple of the number of processes.
_SHOWN_PROCESSES = 4


class Meter:
    """Measures the time and bytes that each rank spends on the steps of a training from here on."""

    def __init__(self, training: Training, share: DataParallel) -> None:
        self._training, self._share = training, share
        self._steps, self._timings_s = training.history.step, dict(training.history.timings_s)
        self._sent_bytes, self._handled_s = share.sent_bytes, share.group.handled_s

    def read(self) -> dict[str, Any]:
        """Return `figures`, on all ranks, which call this together after the last step of a training."""
        history, share = self._training.history, self._share
        own_s = {part: history.timings_s[part] - self._timings_s.get(part, 0.0) for part in PARTS_OF_A_STEP}
        waited_s, threads = own_s.pop("communication"), torch.get_num_threads()
        computed_s = max(1e-9, sum(own_s.values()))  # more than 0 also where no step was left
        # Other threads of a process, which send and receive while it computes, take their time from its cores.
        handling_s = (share.group.handled_s - self._handled_s) / threads
        own = platform.node(), computed_s, waited_s, handling_s, share.sent_bytes - self._sent_bytes
        machines, compute_s, *others = zip(*share.group.gather_documents(own))
        mean_waited_s, mean_handling_s, mean_sent_bytes = map(fmean, others)
        steps = max(1, history.step - self._steps)
        return {
            "machines": len(set(machines)),
            "threads": threads,
            "communication_step_s": (mean_waited_s + mean_handling_s) / steps,
            "bytes_per_step": mean_sent_bytes / steps,
            **figures(computed_s + waited_s, compute_s, mean_waited_s, mean_handling_s),
        }


def figures(wall_s: float, compute_s: Sequence[float], waited_s: float, handling_s: float = 0.0) -> dict[str, Any]:
    """Return how much faster a training was, and would be with other numbers of processes.

    Parameters
    ----------
    wall_s
        Duration of all steps.
    compute_s
        What each process took for forward, backward, optimizer and waiting for chips.
    waited_s
        What a process took in the mean for exchanging gradients and sums, or waiting for slower ones.
    handling_s
        The part of `compute_s` in which other threads of the process sent and received, the mean.
    """
    count, mean_s = len(compute_s), fmean(compute_s)
    alone_s, communication_s = max(1e-9, mean_s - handling_s), waited_s + handling_s
    idle_s = max(0.0, wall_s - communication_s - alone_s)

    def expected(processes: int) -> float:
        # Each process sends 2 (n - 1) / n times the gradients, at the measured time for each byte. All other waiting is
        # for the slowest process, and the more there are, the slower it is.
        sending_s = communication_s * (1 - 1 / processes) / (1 - 1 / count)
        waiting_s = idle_s * expected_maximum(processes) / expected_maximum(count)
        return processes * alone_s / (alone_s + waiting_s + sending_s)

    return {
        "processes": count,
        "speed_up": count * alone_s / wall_s,
        "efficiency": alone_s / wall_s,
        "communication_fraction": communication_s / wall_s,
        "imbalance": max(compute_s) / mean_s - 1,
        "expected_speed_ups": [expected(processes) for processes in range(1, _SHOWN_PROCESSES * count + 1)],
    }


def expected_maximum(count: int) -> float:
    """Return the expected maximum of a number of independent standard normal values: 0 for one, 0.564 for two."""
    values = np.linspace(-9, 9, 3601)
    density = np.exp(-(values**2) / 2) / math.sqrt(2 * math.pi)
    return float(trapezoid(values * count * density * ndtr(values) ** (count - 1), values))
