"""Hostile cases: an input of a job, and how the job must end.

A table is a list of `Case`. A case names a job, and a function that spoils something in a `Place` and returns the
options that replace good ones. `outcome.py` checks what holds for every case: never `unexpected`, no signal, a remedy,
the file named, folders as they were, and all outputs that the result claims are there and can be read.
`representatives.py` names the cases of `make test`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
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
    """A job with one hostile input.

    Parameters
    ----------
    name : str
        The hostile input, unique within its group: `segment, a raster of complex integers`.
    spoil : callable
        Makes the hostile input in `place.bad`; returns the options that replace good ones.
    expect : str
        REFUSED, DONE or EITHER.
    names : tuple of str
        What the message of an error must contain, such as the name of a file.
    job_file : callable, optional
        Returns the bytes of the job file, in place of one with the options.
    limit_s : float
        Processor time that the job may take; it may wait three times as long.
    memory_bytes : int
        Address space that the job may add to that of the loaded libraries.
    limits : dict of str to int
        Further ones, as in `fork_server.Order`.
    """

    name: str
    job: str
    spoil: Callable[[Place], dict[str, Any]]
    expect: str = REFUSED
    names: tuple[str, ...] = ()
    job_file: Optional[Callable[[Place], bytes]] = None
    limit_s: float = 20.0
    memory_bytes: int = 4 << 30
    limits: dict[str, int] = field(default_factory=dict)
