import sys

import pytest
import torch

from training_core.profiling import loss_check
from training_core.profiling.loss_check import time_losses

SHAPE = (2, 1, 32, 32)
NAMES = ["RoadSeg", "torchvision", "segmentation_models_pytorch"]


def test_each_loss_is_timed_and_ours_is_first():
    found = time_losses(SHAPE, 0)
    assert [loss.name for loss in found] == NAMES
    assert found[0].ratio == 1
    assert all(loss.ratio == pytest.approx(loss.time_s / found[0].time_s) for loss in found)
    assert all(loss.time_s > 0 for loss in found)


def test_all_compute_the_same_loss_and_gradient(monkeypatch):
    computed = []

    def once(steps, limit_s, least):
        for step in steps:
            loss, logits = step.args
            value = loss(logits)
            computed.append((value.detach(), *torch.autograd.grad(value, logits)))
        return [1.0] * len(steps)

    monkeypatch.setattr(loss_check, "best_times_s", once)
    time_losses(SHAPE, 0)
    (value, gradient), *others = computed
    for other_value, other_gradient in others:
        torch.testing.assert_close(other_value, value)
        torch.testing.assert_close(other_gradient, gradient, rtol=1e-4, atol=1e-8)


@pytest.mark.parametrize(("module", "missing"), [("torchvision.ops", 1), ("segmentation_models_pytorch.losses", 2)])
def test_a_library_that_cannot_be_imported_is_left_out(monkeypatch, module, missing):
    monkeypatch.setitem(sys.modules, module, None)
    assert [loss.name for loss in time_losses(SHAPE, 0)] == NAMES[:missing] + NAMES[missing + 1 :]


def test_the_random_numbers_of_others_stay_as_they_are():
    state = torch.get_rng_state()
    time_losses(SHAPE, 0)
    assert torch.equal(torch.get_rng_state(), state)
