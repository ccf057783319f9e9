"""What rules of advice have in common: what they know, how they estimate a gain, how they word a piece of advice.

Scope: helpers of rules. Independent of what any rule looks for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Optional

from .. import jobs
from .profile import CONVOLUTION, Advice, Limits, PrimitiveRow, Row, Run

TRAINING, INFERENCE = "training", "inference"
# What is estimated to bring less is not worth a reader's time, nor can it be told from noise.
MIN_GAIN = 0.01
GUIDE, PAGE = "guide.md#where-the-time-goes", "algorithms/profile.md#advanced-parameters"
_LABELS = {field.name: field.option.label for field in jobs.Profile.option_fields()}


@dataclass(frozen=True)
class Context:
    """What a rule knows beside the run that it is about.

    Parameters
    ----------
    engines_at_hand : tuple of str
        Engines that could be used here, measured or not.
    """

    runs: tuple[Run, ...]
    limits: Limits
    engines_at_hand: tuple[str, ...] = ()

    def others(self, run: Run) -> list[Run]:
        """Return the other runs of the same task, training or inference."""
        return [other for other in self.runs if other is not run and other.what == run.what]

    def fact(self, name: str) -> Optional[float]:
        """Return a number among the facts about the machine, or None where it is unknown."""
        value = self.limits.machine.get(name)
        return value if isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0 else None


Rule = Callable[[Run, Context], Optional[Advice]]


def estimated(
    run: Run,
    rule: str,
    gain: float,
    evidence: str,
    remedy: str,
    options: Optional[Mapping[str, Any]] = None,
    link: str = "",
) -> Optional[Advice]:
    """Return a piece of advice whose gain is estimated from the run, or None where it is too small.

    Parameters
    ----------
    rule : str
        Its name.
    gain : float
        Share of the time that it would save.
    evidence, remedy : str
        Sentences.
    options : dict, optional
        Options of the job that apply it.
    link : str
        By default the job's parameters where there are options, or else the guide's heading on profiles.

    Returns
    -------
    Advice, optional
    """
    if gain < MIN_GAIN:
        return None
    options = options or {}
    return Advice(rule, run.name, evidence, remedy, min(gain, 1.0), options, link or (PAGE if options else GUIDE))


def unknown(
    run: Run, rule: str, evidence: str, remedy: str, options: Optional[Mapping[str, Any]] = None, link: str = ""
) -> Advice:
    """Return a piece of advice whose gain cannot be estimated: it is 0, and the evidence says that it is unknown.

    Parameters
    ----------
    options : dict, optional
    link : str
        As of `estimated`.
    """
    options = options or {}
    evidence = f"{evidence} What a change would bring is unknown until it is measured."
    return Advice(rule, run.name, evidence, remedy, 0.0, options, link or (PAGE if options else GUIDE))


def amdahl(share: float, speedup: float) -> float:
    """Return the share of the time that is saved if a share of it becomes faster by a factor (Amdahl's law)."""
    return share * (1 - 1 / speedup) if speedup > 1 else 0.0


def share_of(rows: Iterable[Row], name: str) -> float:
    """Return the share of the row of a name; 0 without one."""
    return sum(row.share for row in rows if row.name == name)


def catching_up(run: Run, slow: Sequence[PrimitiveRow]) -> Optional[float]:
    """Return the share of the step saved if convolutions came as close to their roofs as the run's others do.

    Parameters
    ----------
    slow : sequence of PrimitiveRow
        Convolutions of the run.

    Returns
    -------
    float, optional
        None where too little is known of their roofs.
    """
    others = [
        row.roof_share for row in run.primitives if row.kind == CONVOLUTION and row not in slow and row.roof_share
    ]
    known = [row for row in slow if row.roof_share]
    if not others or not known:
        return None
    return sum(amdahl(row.share, median(others) / row.roof_share) for row in known)


def named(option: str) -> str:
    """Return an option of the job in words: `batch size (batch_size)`, `threads`."""
    label = _LABELS[option][0].lower() + _LABELS[option][1:]
    return label if label == option else f"{label} ({option})"


def percent(share: float) -> str:
    """Return a share in words: `12 %`, `3.4 %`."""
    return f"{100 * share:.0f} %" if share >= 0.0995 else f"{100 * share:.1f} %"


def milliseconds(time_s: float) -> str:
    """Return a time in words: `12.3 ms`."""
    return f"{1000 * time_s:,.0f} ms" if time_s >= 0.0995 else f"{1000 * time_s:.2g} ms"


def largest(rows: Iterable[PrimitiveRow]) -> str:
    """Return the row that takes the most time, in words."""
    return described(max(rows, key=lambda row: row.time_s))


def described(row: PrimitiveRow) -> str:
    """Return the name, shape and implementation of a row in words."""
    return " ".join(word for word in (row.name, row.shape, row.implementation) if word)
