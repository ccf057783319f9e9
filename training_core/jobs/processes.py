"""Options of distributed training: how many processes, and what they share.

Scope: the fields and their texts. Independent of how processes are started; standard library only.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import JobError, shown
from .option import Job, option
from .recipe import BATCHES, SPLIT

AUTO = "auto"
MOST_PROCESSES = 1024


@dataclass(frozen=True)
class ProcessOptions(Job):
    """Options of every job that trains with several processes."""

    processes: str = option(
        "1",
        "Processes",
        "Number of processes that train together on this machine, each on its own cores and memory; auto takes one a "
        "NUMA node or socket, and a single one on small machines. The model does not depend on it.",
        advanced=True,
    )
    sharing: str = option(
        BATCHES,
        "Sharing",
        "What the processes share of a step. With batches, each takes whole batches of the gradient accumulation: the "
        "model is the same, bit by bit, for any number of processes with as many threads each. With split, each batch "
        "is cut into parts, with synchronized batch normalization and joint losses: the same up to rounding.",
        choices=(BATCHES, SPLIT),
        advanced=True,
    )
    max_restarts: int = option(
        0,
        "Restarts",
        "How often the training is resumed from its checkpoint by itself when a process has been killed or hangs.",
        minimum=0,
        maximum=100,
        advanced=True,
    )

    def validate(self) -> None:
        """See Job.validate; also checks that the number of processes is one, or auto.

        Raises
        ------
        JobError
            See Job.validate, or it is neither.
        """
        super().validate()
        is_number = self.processes.isascii() and self.processes.isdecimal() and len(self.processes) <= 4
        if self.processes != AUTO and not (is_number and 1 <= int(self.processes) <= MOST_PROCESSES):
            raise JobError(
                f"Processes (processes) is {shown(self.processes)}.",
                f"Give auto, or a number from 1 to {MOST_PROCESSES}.",
            )
