"""Trials: advice that options apply is measured, in turns with the step as it is.

Scope: what is tried, in which order, and what becomes of it. Independent of how a step is measured.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from statistics import median
from typing import Any, Union

from ..errors import Cancelled, RoadSegError
from ..events import Reporter
from .profile import Advice, Trial

# Seconds for an image with some of a run's options changed; with none, of the run as it is. For images of another size
# than the run's, in proportion to their pixels.
Measure = Callable[[Mapping[str, Any]], float]
TURNS = 2


def trials_of(
    advice: Sequence[Advice], measures: Mapping[str, Measure], reporter: Reporter, turns: int = TURNS
) -> tuple[Advice, ...]:
    """Try the advice that options apply, each set of options once a run.

    Parameters
    ----------
    measures : dict of str to callable
        By the name of the run, a function that measures it: options changed in, seconds an image out. It raises a
        RoadSegError where it cannot.
    turns : int
        How often it is measured without and with the options, in turns; medians count.

    Returns
    -------
    tuple of Advice
        In the same order, with a trial where there is one. What could not be tried says why in its remedy.
    """
    tried: dict[tuple[str, str], Union[Trial, RoadSegError]] = {}
    results = []
    for number, piece in enumerate(advice):
        reporter.progress(number / len(advice), f"Trying: {piece.rule}")
        if piece.options and piece.run in measures:
            key = (piece.run, repr(sorted(piece.options.items())))
            if key not in tried:
                tried[key] = _try(piece.options, measures[piece.run], reporter, turns)
            piece = _with_outcome(piece, tried[key])
        results.append(piece)
    return tuple(results)


def _try(options: Mapping[str, Any], measure: Measure, reporter: Reporter, turns: int) -> Union[Trial, RoadSegError]:
    """Return a trial, or the error that prevented it."""
    before_s, after_s = [], []
    try:
        for _ in range(turns):
            for changed, times_s in (({}, before_s), (options, after_s)):
                reporter.check_cancelled()
                times_s.append(measure(changed))
    except Cancelled:
        raise
    except RoadSegError as error:
        return error
    return Trial(median(before_s), median(after_s))


def _with_outcome(piece: Advice, outcome: Union[Trial, RoadSegError]) -> Advice:
    if isinstance(outcome, Trial):
        return replace(piece, trial=outcome)
    return replace(piece, remedy=f"{piece.remedy} Could not be tried: {outcome}")
