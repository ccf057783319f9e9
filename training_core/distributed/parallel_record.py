"""Record of a training by several processes: speed-up, efficiency, communication, imbalance.

Scope: the time and bytes of each process' steps, and figures of them. Independent of reports.
"""

from __future__ import annotations

import math
import platform
from dataclasses import dataclass
from statistics import fmean

import numpy as np
import torch
from scipy.integrate import trapezoid
from scipy.special import ndtr

from ..learning.history import PARTS_OF_A_STEP
from ..learning.training_loop import Training
from .data_parallel import DataParallel


@dataclass(frozen=True)
class ParallelRecord:
    """Time and bytes of the measured `steps`, at least one, of a training by several processes.

    Each process took `compute_s` for forward, backward, optimizer and waiting for chips. In the mean one exchanged
    gradients and sums, or waited for slower ones, for `communication_s`. All together sent `sent_bytes` of payload. For
    `handling_s` of CPU time, the mean, other threads of a process sent and received while it computed. They take it
    from the process' `threads` cores, so it is part of `compute_s`.
    """

    processes: int
    machines: int
    threads: int
    steps: int
    wall_s: float
    compute_s: tuple[float, ...]
    communication_s: float
    sent_bytes: int
    handling_s: float = 0.0

    @property
    def speed_up(self) -> float:
        """How many times as long a single process would have taken."""
        return self._alone_s * self.processes / self.wall_s

    @property
    def efficiency(self) -> float:
        """Fraction of the time of all processes in which they computed, from 0 to 1."""
        return self.speed_up / self.processes

    @property
    def communication_fraction(self) -> float:
        """Fraction of the steps' duration that went to communication, its threads included."""
        return self._communicating_s / self.wall_s

    @property
    def imbalance(self) -> float:
        """By which fraction the slowest process computed longer than all did on average."""
        return max(self.compute_s) * self.processes / sum(self.compute_s) - 1

    @property
    def communication_step_s(self) -> float:
        """Seconds of communication in a step."""
        return self._communicating_s / self.steps

    @property
    def bytes_per_step(self) -> float:
        """Payload of a process in a step, on average."""
        return self.sent_bytes / self.steps / self.processes

    def expected_speed_up(self, processes: int) -> float:
        """Return the speed-up to expect of a number of processes with as many batches each.

        Each process sends 2 (n - 1) / n times the gradients, at the measured time for each byte. All other waiting is
        for the slowest process, and the more there are, the slower it is.
        """
        compute_s = self._alone_s
        if self.processes == 1:
            return float(processes)
        idle_s = max(0.0, self.wall_s - self._communicating_s - compute_s)
        idle_s *= expected_maximum(processes) / expected_maximum(self.processes)
        communication_s = self._communicating_s * bool(self.sent_bytes)
        communication_s *= (1 - 1 / processes) / (1 - 1 / self.processes)
        return processes * compute_s / (compute_s + idle_s + communication_s)

    @property
    def _alone_s(self) -> float:
        """Computing time of a process without that of its communication, the mean."""
        return max(0.0, sum(self.compute_s) / self.processes - self.handling_s / self.threads)

    @property
    def _communicating_s(self) -> float:
        return self.communication_s + self.handling_s / self.threads


class Meter:
    """Measures the time and bytes that each rank spends on the steps of a training from here on."""

    def __init__(self, training: Training, share: DataParallel) -> None:
        self._training, self._share = training, share
        self._steps, self._timings_s = training.history.step, dict(training.history.timings_s)
        self._sent_bytes, self._handled_s = share.sent_bytes, share.group.handled_s

    def read(self) -> ParallelRecord:
        """Return the record, on all ranks, which call this together after the last step of a training."""
        training, share = self._training, self._share
        own_s = {part: training.history.timings_s[part] - self._timings_s.get(part, 0.0) for part in PARTS_OF_A_STEP}
        ranks = share.group.gather_documents(
            {
                "timings_s": own_s,
                "sent_bytes": share.sent_bytes - self._sent_bytes,
                "handled_s": share.group.handled_s - self._handled_s,
                "machine": platform.node(),
            }
        )
        communication_s = [rank["timings_s"].pop("communication") for rank in ranks]
        return ParallelRecord(
            processes=share.group.size,
            machines=len({rank["machine"] for rank in ranks}),
            threads=torch.get_num_threads(),
            steps=max(1, training.history.step - self._steps),
            wall_s=sum(own_s.values()),
            compute_s=tuple(sum(rank["timings_s"].values()) for rank in ranks),
            communication_s=fmean(communication_s),
            sent_bytes=sum(rank["sent_bytes"] for rank in ranks),
            handling_s=fmean(rank["handled_s"] for rank in ranks),
        )


def expected_maximum(count: int) -> float:
    """Return the expected maximum of a number of independent standard normal values: 0 for one, 0.564 for two."""
    values = np.linspace(-9, 9, 3601)
    density = np.exp(-(values**2) / 2) / math.sqrt(2 * math.pi)
    return float(trapezoid(values * count * density * ndtr(values) ** (count - 1), values))
