"""An accuracy sample under review: its places as they are judged, and how right the network is, in words.

Scope: values of features. Independent of layers and of the window.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ....training_core.errors import JobError
from ....training_core.jobs.accuracy import place_of, sample_of
from ....training_core.jobs.accuracy_estimates import CROSSING, SAMPLED, WANTED_MARGIN, estimate
from ....training_core.jobs.review import REVIEW
from ...translation import tr

KINDS = (SAMPLED, CROSSING)


class Sample:
    """The places of a sample, by the values of their SAMPLE_FIELDS; see `jobs.accuracy`."""

    def __init__(self, values: Mapping[int, Mapping[str, Any]]) -> None:
        self._values = values
        self._places = {}
        self._problem = ""
        try:
            self._places = dict(zip(values, sample_of(values.values())))
        except JobError as error:
            self._problem = tr("The layer says nothing of the accuracy. {reason}").format(reason=error)

    def answer(self, line: int, word: str) -> None:
        """Note the answer for a place; empty takes it back."""
        if line in self._places:
            self._places[line] = place_of({**self._values[line], REVIEW: word})

    def summary(self) -> str:
        """Return how complete and correct the network is by the answers so far, and whether they are enough."""
        if not self._places:
            return self._problem if self._values else ""
        accuracy = estimate(self._places.values())
        if accuracy.completeness is None or accuracy.correctness is None:
            return tr("Places to judge before the first estimate: {count}").format(count=accuracy.needed)
        names = {tr("Completeness"): accuracy.completeness, tr("Correctness"): accuracy.correctness}
        interval = tr("<b>{name}</b> {value}, 95 % interval {low} to {high}")
        lines = [
            interval.format(name=name, **{key: f"{getattr(each, key):.1%}" for key in ("value", "low", "high")})
            for name, each in names.items()
        ]
        margin = f"{100 * WANTED_MARGIN:g}"
        if accuracy.is_enough:
            end = tr("Both are known to ±{margin} points. <b>Enough: you can stop.</b>").format(margin=margin)
        else:
            end = tr("About {more} more places would give ±{margin} points; {left} are left.")
            end = end.format(more=f"{accuracy.more:,}", margin=margin, left=f"{accuracy.undecided:,}")
        return "<br>".join([*lines, end])
