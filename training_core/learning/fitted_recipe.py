"""The recipe fitted to the processor: what to train in the few or many steps that a time budget holds.

Scope: recipes and the measured duration of a step. Independent of how a step is measured. The figures behind each rule
are in benchmarks/experiments.md.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..jobs import FineTune
from ..jobs.recipe import BY_PACE

# Share of the time budget that is left for training steps, beside validation.
STEPS_SHARE = 0.9
# With fewer steps than this, a model that starts from a base model gets better if its first stages stay as they are:
# their features are general, and each step takes a fifth less time.
ENOUGH_STEPS, FROZEN_STAGES = 150, 2


@dataclass(frozen=True)
class Fit:
    """Options of the recipe that were chosen by the pace.

    Parameters
    ----------
    options : dict of str to int
        By name; empty where the job left no choice.
    reason : str
        For the user: what was chosen and why.
    """

    options: dict[str, int]
    reason: str = ""


def has_choice(job: FineTune) -> bool:
    """Whether a job leaves a choice to the pace, so that a step must be measured."""
    return job.frozen_stages == BY_PACE and bool(job.base_model) and not job.steps


def fit_recipe(job: FineTune, step_s: float) -> Fit:
    """Choose the options of a recipe that the job leaves open, by the steps that its time budget holds.

    Parameters
    ----------
    job : FineTune
    step_s : float
        Duration of a training step in which all stages are trained. With a number of steps instead of a time budget,
        it does not matter, so that training is reproducible.

    Returns
    -------
    Fit
    """
    if not has_choice(job):
        return Fit({"frozen_stages": max(0, job.frozen_stages)})
    steps = STEPS_SHARE * job.minutes * 60 / step_s
    pace = f"A training step takes {step_s:.2f} s, so that the time budget holds about {steps:.0f}"
    if steps >= ENOUGH_STEPS:
        return Fit({"frozen_stages": 0}, f"{pace}: all stages of the encoder are trained.")
    return Fit(
        {"frozen_stages": FROZEN_STAGES},
        f"{pace}: the first {FROZEN_STAGES} of the encoder's 5 stages stay as in the base model (frozen stages), so "
        "that more steps fit in.",
    )
