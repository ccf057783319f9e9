"""Hostile cases: an input of a job, and how the job must end.

A table is a list of `Case`. A case names a job, and a function that spoils something in a `Place` and returns the
options that replace good ones. `outcome.py` checks what holds for every case: never `unexpected`, no signal, a remedy,
the file named, folders as they were, and all outputs that the result claims are there and can be read.
`representatives.py` names the cases of `make test`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

from tests.hostile.good_inputs import Goods
from training_core.jobs import INTERACTIVE_JOBS, JOBS

# Jobs that end by themselves: the others wait for commands, and are given hostile ones in `test_commands.py`.
ENDING_JOBS = tuple(name for name in JOBS if name not in INTERACTIVE_JOBS)
# What a job must do: end in an error, give its result, or either of them, as with fuzzed files.
REFUSED, DONE, EITHER = "refused", "done", "either"


@dataclass(frozen=True)
class Place:
    """Good inputs, which nothing may change, and empty folders for bad ones and for outputs."""

    goods: Goods
    bad: Path
    out: Path

    def options(self, job: str) -> dict[str, Any]:
        """Return options with which a job succeeds fast, with all of its outputs."""
        return self.goods.options(job, self.out)


@dataclass(frozen=True)
class Case:
    """A job with one hostile input."""

    name: str  # unique within its group: `segment, a raster of complex integers`
    job: str
    spoil: Callable[[Place], dict[str, Any]]  # makes it in `place.bad`, returns options in place of good ones
    expect: str = REFUSED
    names: tuple[str, ...] = ()  # what the message of an error must contain, such as the name of a file
    job_file: Optional[Callable[[Place], bytes]] = None  # in place of a job file with the options
    # Processor time that the job may take, which may wait three times as long, and address space beyond the libraries'.
    limit_s: float = 20.0
    memory_bytes: int = 4 << 30
