import dataclasses

import pytest
import torch

from training_core.jobs import FineTune
from training_core.jobs.recipe import CAREFUL_RATE, MUCH_LABELED_PX
from training_core.learning.fitted_recipe import (
    ENOUGH_STEPS,
    ENOUGH_STEPS_FROM_RANDOM,
    FROZEN_STAGES,
    STEPS_FRACTION,
    Fit,
    TrialSteps,
    encoder_rate,
    fit_recipe,
    has_choice,
)
from training_core.models.architectures import Architecture
from training_core.models.engines import NativeEngine

JOB = FineTune(minutes=1.0)


@pytest.mark.parametrize(
    ("base_model", "enough", "frozen"), [("starter", ENOUGH_STEPS, FROZEN_STAGES), ("", ENOUGH_STEPS_FROM_RANDOM, 0)]
)
def test_where_few_steps_fit_into_the_budget_chips_are_small_and_stages_frozen(base_model, enough, frozen):
    job = dataclasses.replace(JOB, base_model=base_model)
    many, few = (fit_recipe(job, STEPS_FRACTION * 60 / steps) for steps in (enough + 1, enough - 1))
    assert many.options == {"frozen_stages": 0, "chip_px": 192} and f"holds about {enough + 1}" in many.reason
    assert few.options == {"frozen_stages": frozen, "chip_px": 128} and f"holds about {enough - 1}" in few.reason
    assert "128 px" in few.reason and ("5 stages are frozen" in few.reason) == bool(frozen)


@pytest.mark.parametrize(
    "options", [{"frozen_stages": 3, "chip_px": 192}, {"base_model": "", "chip_px": 256}, {"steps": 10}]
)
def test_what_the_job_settles_is_done_whatever_the_pace(options):
    job = dataclasses.replace(JOB, **options)
    assert not has_choice(job)
    expected = {"frozen_stages": options.get("frozen_stages", 0), "chip_px": options.get("chip_px", 192)}
    assert fit_recipe(job, 100.0) == Fit(expected)


def test_one_option_that_is_settled_leaves_the_other_to_the_pace():
    assert fit_recipe(dataclasses.replace(JOB, chip_px=256), 100.0).options == {"frozen_stages": 2, "chip_px": 256}
    assert fit_recipe(dataclasses.replace(JOB, frozen_stages=0), 100.0).options == {"frozen_stages": 0, "chip_px": 128}


@pytest.mark.parametrize(
    ("options", "knows_roads", "labeled_px", "rate"),
    [
        ({}, True, MUCH_LABELED_PX - 1, CAREFUL_RATE),
        ({}, True, MUCH_LABELED_PX, 1.0),
        ({}, False, 1000, 1.0),
        ({"encoder_rate": 0.5}, True, 1000, 0.5),
        ({"encoder_rate": 0.1}, True, MUCH_LABELED_PX, 0.1),
        ({"pipeline_stages": 2}, True, 1000, 1.0),
    ],
    ids=str,
)
def test_an_encoder_that_knows_roads_learns_slowly_from_little_ground(options, knows_roads, labeled_px, rate):
    assert encoder_rate(dataclasses.replace(JOB, **options), knows_roads, labeled_px) == rate


@pytest.mark.parametrize("is_recomputing", [False, True])
def test_a_step_of_the_recipe_is_timed_and_draws_no_random_numbers(is_recomputing):
    before = torch.random.get_rng_state()
    recipe = FineTune(batch_size=2, accumulation=2)
    trial = TrialSteps(Architecture(encoder="resnet18"), recipe, 64, is_recomputing)
    assert 0 < trial.seconds(NativeEngine("fp32")) < 60
    assert torch.equal(torch.random.get_rng_state(), before)
