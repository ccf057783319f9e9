import pytest
import torch

from training_core.jobs import FineTune
from training_core.learning.trial_steps import TrialSteps
from training_core.models.architectures import Architecture
from training_core.models.engines import NativeEngine

ARCHITECTURE = Architecture(encoder="resnet18")


@pytest.mark.parametrize("is_recomputing", [False, True])
def test_a_step_of_the_recipe_is_timed_and_draws_no_chance(is_recomputing):
    torch.manual_seed(3)
    expected = torch.rand(1)
    torch.manual_seed(3)
    trial = TrialSteps(ARCHITECTURE, FineTune(batch_size=2, accumulation=2), 64, is_recomputing)
    assert 0 < trial.seconds(NativeEngine("fp32")) < 60
    assert torch.rand(1) == expected
