"""Shared parts of the rules of advice: their context, estimates of gains, and wording.

Scope: helpers of rules. Independent of what any rule looks for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Optional

from .. import jobs
from .profile import Advice, Limits, PrimitiveRow, Row, Run

# A smaller estimate is not worth a reader's time, and cannot be distinguished from noise.
MIN_GAIN = 0.01
GUIDE, PAGE = "guide.md#where-the-time-goes", "algorithms/profile.md#advanced-parameters"
_LABELS = {field.name: field.option.label for field in jobs.Profile.option_fields()}


@dataclass(frozen=True)
class Context:
    """What a rule knows in addition to the run that it is about; the engines could be used here, measured or not."""

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
    """Return advice whose gain is estimated from the run, or None where the gain is too small.

    Its gain is the fraction of the time that it would save. The link is by default that to the job's parameters where
    there are options, or else to the guide's heading on profiles.
    """
    if gain < MIN_GAIN:
        return None
    options = options or {}
    return Advice(rule, run.name, evidence, remedy, min(gain, 1.0), options, link or (PAGE if options else GUIDE))


def unknown(run: Run, rule: str, evidence: str, remedy: str, options: Optional[Mapping[str, Any]] = None) -> Advice:
    """Return advice whose gain cannot be estimated: it is 0, and the evidence says that it is unknown."""
    options = options or {}
    evidence = f"{evidence} The effect of a change is unknown until it is measured."
    return Advice(rule, run.name, evidence, remedy, 0.0, options, PAGE if options else GUIDE)


def amdahl(fraction: float, speedup: float) -> float:
    """Return the fraction of the time that a speedup of a part of it, by a factor, saves (Amdahl's law)."""
    return fraction * (1 - 1 / speedup) if speedup > 1 else 0.0


def share_of(rows: Iterable[Row], name: str) -> float:
    """Return the share of the row of a name; 0 without one."""
    return sum(row.share for row in rows if row.name == name)


def named(option: str) -> str:
    """Return an option of the job in words: `batch size (batch_size)`, `threads`."""
    label = _LABELS[option][0].lower() + _LABELS[option][1:]
    return label if label == option else f"{label} ({option})"


def percent(fraction: float) -> str:
    """Return a fraction in words: `12 %`, `3.4 %`."""
    return f"{100 * fraction:.0f} %" if fraction >= 0.0995 else f"{100 * fraction:.1f} %"


def milliseconds(time_s: float) -> str:
    """Return a time in words: `12.3 ms`."""
    return f"{1000 * time_s:,.0f} ms" if time_s >= 0.0995 else f"{1000 * time_s:.2g} ms"


def described(row: PrimitiveRow) -> str:
    """Return the name, shape and implementation of a row in words."""
    return " ".join(word for word in (row.name, row.shape, row.implementation) if word)
