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
    handling_s : float
        CPU time in which other threads of a process sent and received while it computed, the mean; they take its cores
        from it, `threads` in number, so that this is part of `compute_s`.
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
