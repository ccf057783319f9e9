"""The recipe fitted to what it begins with and to the processor: what to train in the steps that a time budget holds.

Scope: recipes and the measured duration of a step. Independent of how a step is measured. The figures behind each rule
are in benchmarks/experiments.md and benchmarks/README.md.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from ..jobs import FineTune
from ..jobs.recipe import BY_PACE, CAREFUL_RATE, CHIPS, SMALL_CHIP_PX, USUAL_CHIP_PX

# Share of the time budget that is left for training steps, beside validation.
STEPS_SHARE = 0.9
# With fewer steps than this, from a base model and from random weights, small chips teach more: more steps count for
# more than larger pieces of the image.
ENOUGH_STEPS, ENOUGH_STEPS_FROM_RANDOM = 150, 500
# So many stages of a base model stay as they are then: their features are general, and each step takes a fifth less.
FROZEN_STAGES = 2


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


def with_encoder_rate(job: FineTune, knows_roads: bool) -> FineTune:
    """Settle the factor on the learning rate for the encoder, where a job leaves it open.

    Parameters
    ----------
    knows_roads : bool
        Whether training begins with a whole network that has learned the same bands and classes.
    """
    if job.encoder_rate:
        return job
    is_careful = knows_roads and job.pipeline_stages == 1
    return dataclasses.replace(job, encoder_rate=CAREFUL_RATE if is_careful else 1.0)


def has_choice(job: FineTune) -> bool:
    """Whether a job leaves a choice to the pace, so that a step must be measured."""
    is_open = not job.chip_px or (job.frozen_stages == BY_PACE and job.base_model)
    return bool(is_open and not job.steps and job.sample == CHIPS and job.pipeline_stages == 1)


def fit_recipe(job: FineTune, step_s: float) -> Fit:
    """Choose the options of a recipe that the job leaves open, by the steps that its time budget holds.

    Parameters
    ----------
    step_s : float
        Duration of a training step with usual chips in which all stages are trained. With a number of steps instead of
        a time budget, it does not matter, so that training is reproducible.
    """
    if not has_choice(job):
        return Fit(_options(job, 0, USUAL_CHIP_PX))
    steps = STEPS_SHARE * job.minutes * 60 / step_s
    pace = f"A training step takes {step_s:.2f} s, so that the time budget holds about {steps:.0f}"
    if steps >= (ENOUGH_STEPS if job.base_model else ENOUGH_STEPS_FROM_RANDOM):
        return Fit(_options(job, 0, USUAL_CHIP_PX), f"{pace}: enough for the usual recipe.")
    options = _options(job, FROZEN_STAGES if job.base_model else 0, SMALL_CHIP_PX)
    frozen = f", and the first {options['frozen_stages']} of the encoder's 5 stages are frozen"
    made = f"chips of {options['chip_px']} px are taken{frozen if options['frozen_stages'] else ''}"
    return Fit(options, f"{pace}. So that more fit in, {made}.")


def _options(job: FineTune, frozen_stages: int, chip_px: int) -> dict[str, int]:
    """Return these options, but for those that the job has settled."""
    return {
        "frozen_stages": frozen_stages if job.frozen_stages == BY_PACE else job.frozen_stages,
        "chip_px": job.chip_px or chip_px,
    }
