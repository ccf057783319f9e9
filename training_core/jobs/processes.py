"""Options of distributed training: the number of processes and their exchange.

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
        "Number of processes that train together on this machine, each on its own cores and memory; auto takes one per "
        "NUMA node or socket, and a single one on small machines. Each computes whole batches of the gradient "
        "accumulation. With equal threads per process, the model is bit-identical for any number of processes.",
        advanced=True,
    )
    exchange_precision: str = option(
        "fp32",
        "Exchange precision",
        "Number format in which processes exchange gradients, which are always summed in fp32. bf16 halves the network "
        "traffic and rounds the gradients of each batch: the model then differs from that of a single process, but "
        "is the same for any larger number.",
        choices=("fp32", "bf16"),
        advanced=True,
    )
    pipeline_stages: int = option(
        1,
        "Pipeline stages",
        "Number of parts into which the network is divided, each in its own process, if it is too large for the memory "
        "of one process. The batches of the gradient accumulation pass through the parts one after the other. The "
        "number of processes must be a multiple of the stages.",
        minimum=1,
        maximum=6,
        advanced=True,
    )

    def validate(self) -> None:
        """See Job.validate; also checks that processes is a number or auto.

        Raises
        ------
        JobError
            An option is invalid.
        """
        super().validate()
        is_number = self.processes.isascii() and self.processes.isdecimal() and len(self.processes) <= 4
        if self.processes != AUTO and not (is_number and 1 <= int(self.processes) <= MAX_PROCESSES):
            raise JobError(
                f"Processes (processes) is {shown(self.processes)}.",
                f"Give auto, or a number from 1 to {MAX_PROCESSES}.",
            )
