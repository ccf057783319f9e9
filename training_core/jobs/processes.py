"""Options of distributed training: how many processes, and what they exchange.

Scope: the fields and their texts. Independent of how processes are started; standard library only.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import JobError, shown
from .option import Job, option

AUTO = "auto"
MAX_PROCESSES = 1024


@dataclass(frozen=True)
class ProcessOptions(Job):
    """Options of every job that trains with several processes."""

    processes: str = option(
        "1",
        "Processes",
        "Number of processes that train together on this machine, each on its own cores and memory; auto takes one a "
        "NUMA node or socket, and a single one on small machines. Each computes whole batches of the gradient "
        "accumulation: the model is the same, bit by bit, for any number of processes with as many threads each.",
        advanced=True,
    )
    exchange_precision: str = option(
        "fp32",
        "Exchange precision",
        "Number format in which gradients travel between processes; they are added up in fp32 all the same. bf16 "
        "halves what a slow network carries, and rounds each batch's gradients: the model is then no longer that of a "
        "single process, but still the same for any larger number.",
        choices=("fp32", "bf16"),
        advanced=True,
    )
    pipeline_stages: int = option(
        1,
        "Pipeline stages",
        "Number of parts into which the network is cut, each in a process of its own, for one that is too large for "
        "the memory of a single process. The batches of the gradient accumulation pass through them one after the "
        "other; processes must be a multiple of the stages.",
        minimum=1,
        maximum=6,
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
        if self.processes != AUTO and not (is_number and 1 <= int(self.processes) <= MAX_PROCESSES):
            raise JobError(
                f"Processes (processes) is {shown(self.processes)}.",
                f"Give auto, or a number from 1 to {MAX_PROCESSES}.",
            )
