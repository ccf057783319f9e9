"""Times: how long the stages of a job take by the clock."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from ..events import Reporter


@dataclass
class Stages:
    """The stages of a job so far, and how many seconds each took."""

    reporter: Reporter
    timings_s: dict[str, float] = field(default_factory=dict, init=False)

    @contextmanager
    def timed(self, part: str, begin: float, end: float) -> Iterator[Reporter]:
        """Run and time a stage of a name, as a context manager.

        The reporter's progress is that of the stage, from `begin` to `end` of the job's, from 0 to 1.
        """
        self.reporter.check_cancelled()
        reporter = self.reporter.part(begin, end)
        reporter.progress(0, part[0].upper() + part[1:])
        began_s = time.perf_counter()
        yield reporter
        self.timings_s[part] = time.perf_counter() - began_s
