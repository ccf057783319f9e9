"""The recipe fitted to the processor: what to train in the few or many steps that a time budget holds.

Scope: recipes and the measured duration of a step. Independent of how a step is measured. The figures behind each rule
are in benchmarks/experiments.md.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..jobs import FineTune
from ..jobs.recipe import BY_PACE, SMALL_CHIP_PX, USUAL_CHIP_PX

# Share of the time budget that is left for training steps, beside validation.
STEPS_SHARE = 0.9
# With fewer steps than this, a model that starts from a base model gets better if its first stages stay as they are:
# their features are general, and each step takes a fifth less time.
ENOUGH_STEPS, FROZEN_STAGES = 150, 2
# With fewer steps than this, a model that starts from random weights gets better with small chips: more steps teach it
# more than larger pieces of the image do.
ENOUGH_STEPS_FROM_RANDOM = 500


@dataclass(frozen=True)
class Fit:
    """Options of the recipe that were chosen by the pace.

    Parameters
    ----------
    options : dict of str to int
        By name, with those that the job has settled.
    reason : str
        For the user: what was chosen and why; empty where the job left no choice.
    """

    options: dict[str, int]
    reason: str = ""


def has_choice(job: FineTune) -> bool:
    """Whether a job leaves a choice to the pace, so that a step must be measured."""
    return not job.steps and (job.frozen_stages == BY_PACE if job.base_model else not job.chip_px)


def fit_recipe(job: FineTune, step_s: float) -> Fit:
    """Choose the options of a recipe that the job leaves open, by the steps that its time budget holds.

    Parameters
    ----------
    job : FineTune
    step_s : float
        Duration of a training step with usual chips in which all stages are trained. With a number of steps instead of
        a time budget, it does not matter, so that training is reproducible.

    Returns
    -------
    Fit
    """
    options = {"frozen_stages": max(0, job.frozen_stages), "chip_px": job.chip_px or USUAL_CHIP_PX}
    if not has_choice(job):
        return Fit(options)
    steps = STEPS_SHARE * job.minutes * 60 / step_s
    pace = f"A training step takes {step_s:.2f} s, so that the time budget holds about {steps:.0f}"
    if job.base_model and steps < ENOUGH_STEPS:
        kept = f"the first {FROZEN_STAGES} of the encoder's 5 stages keep the base model's weights (frozen stages)"
        return Fit({**options, "frozen_stages": FROZEN_STAGES}, f"{pace}: {kept}, so that more steps fit in.")
    if not job.base_model and steps < ENOUGH_STEPS_FROM_RANDOM:
        return Fit({**options, "chip_px": SMALL_CHIP_PX}, f"{pace}: chips are {SMALL_CHIP_PX} px, so that more fit in.")
    return Fit(options, f"{pace}: all stages are trained, with chips of {options['chip_px']} px.")
