"""Rules of advice on engine and precision: what was measured faster, and what is worth measuring.

Scope: one function a rule. Independent of what a step computes within them.
"""

from __future__ import annotations

from functools import partial
from typing import Optional

from ..models.engines import BF16, ENGINES, FP32
from ..models.engines import TRAINING as TRAINING_ENGINES
from ..models.openvino_model import CLEAR_WIN
from .profile import CONVOLUTION, Advice, Run
from .rule import TRAINING, Context, amdahl, estimated, milliseconds, named, share_of, unknown

# Peaks differ by a few percent by chance; a unit for a format makes its peak twice as high.
CLEAR_PEAK = 1.2


def faster_choice(run: Run, context: Context) -> Optional[Advice]:
    """Find another engine or precision that was measured clearly faster."""
    fastest = min(context.others(run), key=_px_s, default=run)
    if _px_s(fastest) >= CLEAR_WIN * _px_s(run):
        return None
    chosen = {"engine": fastest.engine, "precision": fastest.precision}
    options = {name: value for name, value in chosen.items() if value != getattr(run, name)}
    own_px = run.size_px**2
    return estimated(
        run,
        "a faster " + " and ".join(options),
        1 - _px_s(fastest) / _px_s(run),
        f"Measured: an image takes {milliseconds(own_px * _px_s(run))} with {run.engine} in {run.precision}, and "
        f"{milliseconds(own_px * _px_s(fastest))} with {fastest.engine} in {fastest.precision}.",
        "Set " + " and ".join(f"{named(name)} to {value}" for name, value in options.items()) + ".",
        options,
    )


def better_precision(run: Run, context: Context) -> Optional[Advice]:
    """Find a number format with a higher peak that was not measured in a run."""
    other = {FP32: BF16, BF16: FP32}.get(run.precision)
    if other is None or any(each.precision == other and each.engine == run.engine for each in context.others(run)):
        return None
    own_peak, peak = context.limits.peak(run.precision), context.limits.peak(other)
    if not peak > CLEAR_PEAK * own_peak > 0:
        return None
    return estimated(
        run,
        "precision",
        amdahl(share_of(run.kinds, CONVOLUTION), peak / own_peak),
        f"This processor peaks at {peak / 1e9:,.0f} GFLOP/s in {other}, and {own_peak / 1e9:,.0f} in {run.precision}. "
        "The estimate makes convolutions faster by that factor, and nothing else.",
        f"Set {named('precision')} to {other}.",
        {"precision": other},
    )


def _untried_engine(run: Run, context: Context, engine: str) -> Optional[Advice]:
    """Find out whether an engine is at hand that was not measured."""
    is_able = run.what != TRAINING or engine in TRAINING_ENGINES
    measured = {run.engine, *(other.engine for other in context.others(run))}
    if not is_able or engine in measured or engine not in context.engines_at_hand:
        return None
    return unknown(
        run,
        "an engine to try",
        f"The engine {engine} is installed, and was not measured for {run.what}.",
        f"Try it, or set {named('engine')} to {engine}.",
        {"engine": engine},
    )


RULES = (faster_choice, better_precision, *(partial(_untried_engine, engine=name) for name in ENGINES))


def _px_s(run: Run) -> float:
    """Return the time of a pixel, in which runs of different batches and sizes compare."""
    return run.step_s / (run.batch_size * run.size_px**2)
