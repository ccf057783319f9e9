"""Advice on a profile: what to change, by rules with evidence, the largest gain first; and trials of it.

Scope: which rules there are, which findings a reader gets, and the order of trials. Independent of what each rule looks
for (`rules`), and of how a step is measured.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import median
from typing import Any

from ..errors import Cancelled, RoadSegError
from ..events import Reporter
from .profile import Advice, Limits, Run, Trial
from .rules import MACHINE_RULES, STEP_RULES, Context, Rule

# Nobody would read more. The smallest estimates are left out; some places are kept for advice without an estimate,
# since a container's quota can cost more than everything that can be estimated.
MAX_PIECES, MAX_UNKNOWN = 8, 4
TURNS = 2
# Seconds for an image with some of a run's options changed; with none, of the run as it is. For images of another size
# than the run's, in proportion to their pixels.
Measure = Callable[[Mapping[str, Any]], float]


def advise(runs: Sequence[Run], limits: Limits, engines_at_hand: Iterable[str] = ()) -> tuple[Advice, ...]:
    """Return advice on the first run of each task, training and inference; the other runs serve for comparison.

    Gains are estimated one by one from the run's own numbers (Amdahl's law), and do not add up. The largest come first.
    Gains of 0 are unknown and come last; all others are at least `rules.MIN_GAIN`. Engines at hand could be used here,
    measured or not.
    """
    context = Context(tuple(runs), limits, tuple(engines_at_hand))
    main_runs = list({run.what: run for run in reversed(context.runs)}.values())[::-1]
    # Advice with the same options asks for the same change.
    of_machine = _largest_of_each(lambda piece: piece.rule, _findings(MACHINE_RULES, main_runs, context))
    of_runs = _findings(STEP_RULES, main_runs, context)
    findings = _largest_of_each(
        lambda piece: (piece.run, tuple(sorted(piece.options.items())) or piece.rule), [*of_machine, *of_runs]
    )
    unknown = [piece for piece in findings if not piece.gain][:MAX_UNKNOWN]
    estimated = [piece for piece in findings if piece.gain][: MAX_PIECES - len(unknown)]
    return (*estimated, *unknown[: MAX_PIECES - len(estimated)])


def _findings(rules: Sequence[Rule], runs: Sequence[Run], context: Context) -> list[Advice]:
    pieces = (rule(run, context) for run in runs for rule in rules)
    return [piece for piece in pieces if piece is not None]


def _largest_of_each(key: Callable[[Advice], Hashable], pieces: Sequence[Advice]) -> list[Advice]:
    """Return the piece with the largest gain of those with the same key, the largest first."""
    largest: dict[Hashable, Advice] = {}
    for piece in sorted(pieces, key=lambda piece: -piece.gain):
        largest.setdefault(key(piece), piece)
    return list(largest.values())


def trials_of(
    advice: Sequence[Advice], measures: Mapping[str, Measure], reporter: Reporter, turns: int = TURNS
) -> tuple[Advice, ...]:
    """Try the advice that options apply; the remedy names the error of a failure.

    Measures are functions by name of the run: options changed in, seconds per image out, or a RoadSegError. They are
    called without and with the options, in turns, of which the medians count.
    """
    results = []
    for number, piece in enumerate(advice):
        reporter.progress(number / len(advice), f"Trying: {piece.rule}")
        if piece.options and piece.run in measures:
            try:
                piece = replace(piece, trial=_try(piece.options, measures[piece.run], reporter, turns))
            except Cancelled:
                raise
            except RoadSegError as error:
                piece = replace(piece, remedy=f"{piece.remedy} Could not be tried: {error}")
        results.append(piece)
    return tuple(results)


def _try(options: Mapping[str, Any], measure: Measure, reporter: Reporter, turns: int) -> Trial:
    times_s: dict[bool, list[float]] = {False: [], True: []}
    for _ in range(turns):
        for is_changed in (False, True):
            reporter.check_cancelled()
            times_s[is_changed].append(measure(options if is_changed else {}))
    return Trial(median(times_s[False]), median(times_s[True]))
