"""How the processes of a training shared its work: speed-up, efficiency, communication, imbalance.

Scope: the record of one run, and what follows from it. Independent of how processes exchange and of reports.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..distributed.scaling import StepTime, expected_maximum

_VALUE_BYTES = 4


@dataclass(frozen=True)
class ParallelRecord:
    """What the steps of a training took with several processes.

    Parameters
    ----------
    processes, machines : int
    sharing : str
        What they share: batches or split.
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
    """

    processes: int
    machines: int
    sharing: str
    threads: int
    steps: int
    wall_s: float
    compute_s: tuple[float, ...]
    communication_s: float
    sent_bytes: int
    waiting_s: float = 0.0

    @property
    def speed_up(self) -> float:
        """How many times as long one of the processes would have computed by itself."""
        return sum(self.compute_s) / self.wall_s

    @property
    def efficiency(self) -> float:
        """Share of the time of all processes in which they computed, from 0 to 1."""
        return self.speed_up / self.processes

    @property
    def communication_share(self) -> float:
        """Share of the steps' duration that went to communication."""
        return self.communication_s / self.wall_s

    @property
    def waiting_share(self) -> float:
        """Share of the steps' duration in which a process waited for slower ones."""
        return self.waiting_s / self.wall_s

    @property
    def imbalance(self) -> float:
        """By what share the slowest process computed longer than all did on average."""
        return max(self.compute_s) * self.processes / sum(self.compute_s) - 1

    @property
    def bytes_per_step(self) -> float:
        """What a process sent in a step, on average."""
        return self.sent_bytes / self.steps / self.processes

    def step_time(self) -> StepTime:
        """Return the time of a step by the number of processes, which for as many as there were is that of this run.

        Communication grows with the bytes; all that is neither computing nor communication counts as waiting for the
        slowest, which grows with the number of processes.
        """
        ranks, steps = self.processes, self.steps
        compute_s = sum(self.compute_s) / ranks / steps
        if ranks == 1:
            return StepTime(compute_s, 0)
        idle_s = max(0.0, (self.wall_s - self.communication_s) / steps - compute_s)
        values = self.bytes_per_step / _VALUE_BYTES * ranks / (2 * (ranks - 1))
        return StepTime(
            compute_s,
            round(values),
            _VALUE_BYTES,
            handling_s_per_byte=self.communication_s / steps / self.bytes_per_step if self.sent_bytes else 0.0,
            spread=idle_s / compute_s / expected_maximum(ranks),
        )
