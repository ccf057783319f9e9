"""Meter of a training by several processes: what each rank spends on its steps.

Scope: a training under way. What follows from the figures is in `parallel_record`.
"""

from __future__ import annotations

import platform
from statistics import fmean

import torch

from .history import PARTS_OF_A_STEP
from .parallel_record import ParallelRecord
from .training_loop import Training


class Meter:
    """What each rank spends on the steps of a training from here on."""

    def __init__(self, training: Training) -> None:
        self._steps, self._timings_s = training.history.step, dict(training.trainer.timings_s)
        group = training.trainer.group
        self._sent_bytes, self._handled_s = group.sent_bytes, group.handled_s

    def read(self, training: Training) -> ParallelRecord:
        """Return it, on all ranks, which call this together after the last step of a training."""
        trainer, group = training.trainer, training.trainer.group
        own = {part: trainer.timings_s[part] - self._timings_s.get(part, 0.0) for part in PARTS_OF_A_STEP}
        sent_bytes, handled_s = group.sent_bytes - self._sent_bytes, group.handled_s - self._handled_s
        told = {"timings_s": own, "sent_bytes": sent_bytes, "handled_s": handled_s, "machine": platform.node()}
        ranks = group.gather_documents(told)
        communication_s = [rank["timings_s"].pop("communication") for rank in ranks]
        return ParallelRecord(
            processes=group.size,
            machines=len({rank["machine"] for rank in ranks}),
            sharing=trainer.sharing,
            threads=torch.get_num_threads(),
            steps=max(1, training.history.step - self._steps),
            wall_s=sum(own.values()),
            compute_s=tuple(sum(rank["timings_s"].values()) for rank in ranks),
            communication_s=fmean(communication_s),
            sent_bytes=sum(rank["sent_bytes"] for rank in ranks),
            handling_s=fmean(rank["handled_s"] for rank in ranks),
        )
