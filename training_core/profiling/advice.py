"""Advice on a profile: what to change, by rules with evidence, the largest estimated gain first.

Scope: which rules there are, and which of their findings a reader gets. Independent of what each rule looks for
(`step_rules`, `machine_rules`, `choice_rules`), and of trying it (`trials`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence

from . import choice_rules, machine_rules, step_rules
from .profile import Advice, Limits, Run
from .rule import Context, Rule

# More would not be read. What is left out has the smallest estimates; some places are kept for what has none, since a
# container's quota can cost more than all that can be estimated.
MOST, MAX_UNKNOWN = 8, 4


def advise(runs: Sequence[Run], limits: Limits, engines_at_hand: Iterable[str] = ()) -> tuple[Advice, ...]:
    """Return advice on the first run of each task, training and inference; the others are what it compares with.

    Gains are estimated one by one, by the run's own numbers (Amdahl's law), and do not add up. None is below
    `rule.MIN_GAIN`, but for those of 0, which are unknown and come last.

    Parameters
    ----------
    runs : sequence of Run
        The main one of each task first.
    engines_at_hand : iterable of str
        Engines that could be used here, measured or not.

    Returns
    -------
    tuple of Advice
        At most `MOST`, by estimated gain, the largest first.
    """
    context = Context(tuple(runs), limits, tuple(engines_at_hand))
    main_runs = list({run.what: run for run in reversed(context.runs)}.values())[::-1]
    # Training and inference run on the same machine, and what applies the same options is the same to do.
    of_machine = _largest_of_each(lambda piece: piece.rule, _found(machine_rules.RULES, main_runs, context))
    of_runs = _found(choice_rules.RULES + step_rules.RULES, main_runs, context)
    found = _largest_of_each(_what_to_do, [*of_machine, *of_runs])
    unknown = [piece for piece in found if not piece.gain][:MAX_UNKNOWN]
    estimated = [piece for piece in found if piece.gain][: MOST - len(unknown)]
    return (*estimated, *unknown[: MOST - len(estimated)])


def _found(rules: Sequence[Rule], runs: Sequence[Run], context: Context) -> list[Advice]:
    pieces = (rule(run, context) for run in runs for rule in rules)
    return [piece for piece in pieces if piece is not None]


def _largest_of_each(key: Callable[[Advice], Hashable], pieces: Sequence[Advice]) -> list[Advice]:
    """Return the piece with the largest gain of those with the same key, the largest first."""
    largest: dict[Hashable, Advice] = {}
    for piece in sorted(pieces, key=lambda each: -each.gain):
        largest.setdefault(key(piece), piece)
    return list(largest.values())


def _what_to_do(piece: Advice) -> Hashable:
    return piece.run, tuple(sorted(piece.options.items())) or piece.rule
