import dataclasses

import pytest

from training_core.jobs import FineTune
from training_core.learning.fitted_recipe import (
    ENOUGH_STEPS,
    ENOUGH_STEPS_FROM_RANDOM,
    FROZEN_STAGES,
    STEPS_SHARE,
    Fit,
    fit_recipe,
    has_choice,
)

JOB = FineTune(minutes=1.0)


@pytest.mark.parametrize(("steps", "frozen"), [(ENOUGH_STEPS + 1, 0), (ENOUGH_STEPS - 1, FROZEN_STAGES)])
def test_where_few_steps_fit_into_the_budget_the_first_stages_are_frozen(steps, frozen):
    fit = fit_recipe(JOB, STEPS_SHARE * 60 / steps)
    assert fit.options == {"frozen_stages": frozen, "chip_px": 192}
    assert f"holds about {steps}" in fit.reason


@pytest.mark.parametrize(
    ("steps", "chip_px"), [(ENOUGH_STEPS_FROM_RANDOM + 1, 192), (ENOUGH_STEPS_FROM_RANDOM - 1, 128)]
)
def test_where_few_steps_from_random_weights_fit_into_the_budget_chips_are_small(steps, chip_px):
    fit = fit_recipe(dataclasses.replace(JOB, base_model=""), STEPS_SHARE * 60 / steps)
    assert fit.options == {"frozen_stages": 0, "chip_px": chip_px}
    assert f"{chip_px} px" in fit.reason


@pytest.mark.parametrize(
    "options", [{"frozen_stages": 0}, {"frozen_stages": 3}, {"base_model": "", "chip_px": 256}, {"steps": 10}]
)
def test_what_the_job_settles_is_done_whatever_the_pace(options):
    job = dataclasses.replace(JOB, **options)
    assert not has_choice(job)
    expected = {"frozen_stages": options.get("frozen_stages", 0), "chip_px": options.get("chip_px", 192)}
    assert fit_recipe(job, 100.0) == Fit(expected)


def test_chips_that_are_asked_for_stay_where_stages_are_chosen():
    assert fit_recipe(dataclasses.replace(JOB, chip_px=256), 100.0).options == {"frozen_stages": 2, "chip_px": 256}
