"""Advice on a profile: what to change, by rules with evidence, the largest estimated gain first.

Scope: which rules there are, and which of their findings a reader gets. Independent of what each rule looks for
(`step_rules`, `machine_rules`, `choice_rules`), and of trying it (`trials`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from . import choice_rules, machine_rules, step_rules
from .profile import Advice, Limits, Run
from .rule import Context, Rule

# More would not be read. What is left out has the smallest estimates.
MOST = 8


def advise(runs: Sequence[Run], limits: Limits, engines_at_hand: Iterable[str] = ()) -> tuple[Advice, ...]:
    """Return advice on the first run of each task, training and inference; the others are what it compares with.

    Gains are estimated one by one, by the run's own numbers (Amdahl's law), and do not add up. None is below
    `rule.LEAST_GAIN`, but for those of 0, which are unknown and come last.

    Parameters
    ----------
    runs : sequence of Run
        The main one of each task first.
    limits : Limits
    engines_at_hand : iterable of str
        Engines that could be used here, measured or not.

    Returns
    -------
    tuple of Advice
        At most `MOST`, by estimated gain, the largest first.
    """
    context = Context(tuple(runs), limits, tuple(engines_at_hand))
    main_runs = {run.what: run for run in reversed(context.runs)}
    found = [
        *(piece for run in main_runs.values() for piece in _found(choice_rules.RULES, run, context)),
        *(piece for run in main_runs.values() for piece in _found(step_rules.RULES, run, context)),
        *_once(piece for run in main_runs.values() for piece in _found(machine_rules.RULES, run, context)),
    ]
    return tuple(_by_gain(found)[:MOST])


def _found(rules: Sequence[Rule], run: Run, context: Context) -> list[Advice]:
    pieces = (rule(run, context) for rule in rules)
    return [piece for piece in pieces if piece is not None]


def _by_gain(pieces: Iterable[Advice]) -> list[Advice]:
    return sorted(pieces, key=lambda piece: -piece.gain)


def _once(pieces: Iterable[Advice]) -> list[Advice]:
    """Return the piece with the largest gain of each rule: training and inference run on the same machine."""
    largest: dict[str, Advice] = {}
    for piece in _by_gain(pieces):
        largest.setdefault(piece.rule, piece)
    return list(largest.values())
