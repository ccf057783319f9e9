import dataclasses

import pytest

from training_core.jobs import FineTune
from training_core.jobs.recipe import BY_PACE
from training_core.learning.fitted_recipe import ENOUGH_STEPS, FROZEN_STAGES, STEPS_SHARE, fit_recipe, has_choice

JOB = FineTune(minutes=1.0)


@pytest.mark.parametrize(("steps", "frozen"), [(ENOUGH_STEPS + 1, 0), (ENOUGH_STEPS - 1, FROZEN_STAGES)])
def test_where_few_steps_fit_into_the_budget_the_first_stages_are_frozen(steps, frozen):
    fit = fit_recipe(JOB, STEPS_SHARE * 60 / steps)
    assert fit.options == {"frozen_stages": frozen}
    assert f"holds about {steps}" in fit.reason


def test_what_the_job_says_is_done_whatever_the_pace():
    for frozen in (0, 3):
        job = dataclasses.replace(JOB, frozen_stages=frozen)
        assert not has_choice(job) and fit_recipe(job, 100.0).options == {"frozen_stages": frozen}


@pytest.mark.parametrize("options", [{"steps": 10}, {"base_model": ""}])
def test_a_number_of_steps_and_random_weights_leave_no_choice(options):
    job = dataclasses.replace(JOB, **options)
    assert job.frozen_stages == BY_PACE and not has_choice(job)
    assert fit_recipe(job, 100.0).options == {"frozen_stages": 0}
