"""Record of a training by several processes: speed-up, efficiency, communication, imbalance.

Scope: what each process spends on its steps, and figures of that. Independent of reports.
"""

from __future__ import annotations

import platform
from dataclasses import dataclass
from statistics import fmean

import torch

from ..learning.history import PARTS_OF_A_STEP
from ..learning.training_loop import Training
from .data_parallel import DataParallel
from .scaling import StepTime, expected_maximum

_VALUE_BYTES = 4


@dataclass(frozen=True)
class ParallelRecord:
    """What the steps of a training took with several processes.

    Parameters
    ----------
    threads : int
        Of each process.
    steps : int
        Those measured, at least one.
    wall_s : float
        Duration of these steps.
    compute_s : tuple of float
        Of each process: forward, backward, optimizer and waiting for chips, in all of these steps.
    communication_s : float
        In which a process exchanged gradients and sums, in all of these steps; the mean over the processes.
    sent_bytes : int
        What all processes together sent for that.
    waiting_s : float
        In which a process waited for slower ones, the mean; 0 where it is part of `communication_s`.
    handling_s : float
        CPU time in which other threads of a process sent and received while it computed, the mean; they take its cores
        from it, `threads` in number, so that this is part of `compute_s`.
    """

    processes: int
    machines: int
    threads: int
    steps: int
    wall_s: float
    compute_s: tuple[float, ...]
    communication_s: float
    sent_bytes: int
    waiting_s: float = 0.0
    handling_s: float = 0.0

    @property
    def speed_up(self) -> float:
        """How many times as long one of the processes would have computed by itself."""
        return self._alone_s * self.processes / self.wall_s

    @property
    def efficiency(self) -> float:
        """Share of the time of all processes in which they computed, from 0 to 1."""
        return self.speed_up / self.processes

    @property
    def communication_share(self) -> float:
        """Share of the steps' duration that went to communication, or to its threads while others computed."""
        return self._communicating_s / self.wall_s

    @property
    def waiting_share(self) -> float:
        """Share of the steps' duration in which a process waited for slower ones."""
        return self.waiting_s / self.wall_s

    @property
    def imbalance(self) -> float:
        """By what share the slowest process computed longer than all did on average."""
        return max(self.compute_s) * self.processes / sum(self.compute_s) - 1

    @property
    def communication_step_s(self) -> float:
        """What communication took of a step."""
        return self._communicating_s / self.steps

    @property
    def bytes_per_step(self) -> float:
        """What a process sent in a step, on average."""
        return self.sent_bytes / self.steps / self.processes

    def step_time(self) -> StepTime:
        """Return the time of a step by the number of processes, which for as many as there were is that of this run.

        Communication grows with the bytes; all that is neither computing nor communication counts as waiting for the
        slowest, which grows with the number of processes.
        """
        ranks, compute_s = self.processes, self._alone_s / self.steps
        if ranks == 1:
            return StepTime(compute_s, 0)
        communication_s = self.communication_step_s
        idle_s = max(0.0, self.wall_s / self.steps - communication_s - compute_s)
        return StepTime(
            compute_s,
            round(self.bytes_per_step / _VALUE_BYTES * ranks / (2 * (ranks - 1))),
            _VALUE_BYTES,
            handling_s_per_byte=communication_s / self.bytes_per_step if self.sent_bytes else 0.0,
            spread=idle_s / compute_s / expected_maximum(ranks) if compute_s else 0.0,
        )

    @property
    def _alone_s(self) -> float:
        """Computing of a process without what its communication took from it, the mean."""
        return max(0.0, sum(self.compute_s) / self.processes - self.handling_s / self.threads)

    @property
    def _communicating_s(self) -> float:
        return self.communication_s + self.handling_s / self.threads


class Meter:
    """Measures what each rank spends on the steps of a training from here on."""

    def __init__(self, training: Training) -> None:
        strategy = training.trainer.strategy
        assert isinstance(strategy, DataParallel), "There are no ranks to measure."
        self._training, self._strategy = training, strategy
        self._steps, self._timings_s = training.history.step, dict(training.trainer.timings_s)
        self._sent_bytes, self._handled_s = strategy.sent_bytes, strategy.group.handled_s

    def read(self) -> ParallelRecord:
        """Return the record, on all ranks, which call this together after the last step of a training."""
        training, strategy = self._training, self._strategy
        own_s = {part: training.trainer.timings_s[part] - self._timings_s.get(part, 0.0) for part in PARTS_OF_A_STEP}
        ranks = strategy.group.gather_documents(
            {
                "timings_s": own_s,
                "sent_bytes": strategy.sent_bytes - self._sent_bytes,
                "handled_s": strategy.group.handled_s - self._handled_s,
                "machine": platform.node(),
            }
        )
        communication_s = [rank["timings_s"].pop("communication") for rank in ranks]
        return ParallelRecord(
            processes=strategy.group.size,
            machines=len({rank["machine"] for rank in ranks}),
            threads=torch.get_num_threads(),
            steps=max(1, training.history.step - self._steps),
            wall_s=sum(own_s.values()),
            compute_s=tuple(sum(rank["timings_s"].values()) for rank in ranks),
            communication_s=fmean(communication_s),
            sent_bytes=sum(rank["sent_bytes"] for rank in ranks),
            handling_s=fmean(rank["handled_s"] for rank in ranks),
        )
