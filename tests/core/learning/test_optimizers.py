import copy

import numpy as np
import pytest
import torch
from torch import nn
from torch.optim import AdamW
from torch.profiler import ProfilerActivity, profile

from tests.core.support.collectives import step_together
from tests.core.support.ranks import run_ranks
from training_core.jobs import FineTune
from training_core.jobs.recipe import OPTIMIZERS
from training_core.learning.trainer import build_optimizer, set_rate
from training_core.learning.training_loop import USUAL_RATES, peak_rate, rate_at


def test_the_rate_warms_up_peaks_and_falls():
    rates = [rate_at(done, 0.01, 0.05) for done in np.linspace(0, 1, 101)]
    assert np.argmax(rates) == 5 and max(rates) == pytest.approx(0.01)
    assert rates[0] == pytest.approx(0.0005) and rates[-1] == pytest.approx(0.0001)
    assert rates[52] == pytest.approx(0.005, rel=0.05)
    assert all(early >= late > 0 for early, late in zip(rates[5:], rates[6:]))
    assert rate_at(0.0, 0.01, 0.0) == pytest.approx(0.01) and rate_at(1.2, 0.01, 0.05) == pytest.approx(0.0001)


def test_the_rate_goes_with_the_whole_batch():
    assert peak_rate(FineTune(batch_size=4, learning_rate=0.01)) == pytest.approx(0.01)
    for optimizer, times in {"sgd": 6, "lars": 6, "adamw": 6**0.5, "lamb": 6**0.5}.items():
        recipe = FineTune(batch_size=8, accumulation=3, learning_rate=0.01, optimizer=optimizer)
        assert peak_rate(recipe) == pytest.approx(0.01 * times)
    assert peak_rate(FineTune(batch_size=1)) == pytest.approx(USUAL_RATES["adamw"] / 2)
    assert USUAL_RATES.keys() == set(OPTIMIZERS)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_biases_and_normalization_do_not_decay_and_frozen_weights_are_left_out(name):
    network = nn.Sequential(nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8), nn.Conv2d(8, 1, 3))
    network[2].requires_grad_(False)
    groups = build_optimizer(network, name).param_groups
    decays = {id(parameter): group["weight_decay"] for group in groups for parameter in group["params"]}
    expected = {network[0].weight: 0.01, network[0].bias: 0.0, network[1].weight: 0.0, network[1].bias: 0.0}
    assert decays == {id(parameter): decay for parameter, decay in expected.items()}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_the_encoder_has_a_part_of_the_learning_rate_and_parameters_keep_their_order(name):
    network = nn.Module()
    network.encoder = nn.Sequential(nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8))
    network.decoder = nn.Conv2d(8, 1, 3)
    usual, careful = build_optimizer(network, name), build_optimizer(network, name, encoder_rate=0.1)
    set_rate(careful, 0.5)
    rates = {id(parameter): group["lr"] for group in careful.param_groups for parameter in group["params"]}
    assert {rates[id(each)] for each in network.encoder.parameters()} == {0.5 * 0.1}
    assert {rates[id(each)] for each in network.decoder.parameters()} == {0.5}
    orders = [
        [id(each) for group in optimizer.param_groups for each in group["params"]] for optimizer in (usual, careful)
    ]
    assert orders[0] == orders[1]  # so that either resumes from a checkpoint of the other


def test_channels_last_weights_are_updated_as_those_of_plain_adamw_and_no_gradient_is_copied():
    torch.manual_seed(0)
    network = nn.Sequential(nn.Conv2d(3, 20, 3, bias=False), nn.BatchNorm2d(20), nn.Conv2d(20, 7, 1))
    network.to(memory_format=torch.channels_last)
    plain = copy.deepcopy(network)
    optimizer, groups = build_optimizer(network, "adamw"), build_optimizer(plain, "adamw").param_groups
    unfused = AdamW([{key: group[key] for key in ("params", "weight_decay")} for group in groups], 0.01, foreach=False)
    for group in optimizer.param_groups:
        group["lr"] = 0.01
    images = torch.randn(2, 3, 8, 8).contiguous(memory_format=torch.channels_last)
    for _ in range(5):
        for model in (network, plain):
            model.zero_grad()
            model(images).square().mean().backward()
        with profile(activities=[ProfilerActivity.CPU]) as step:
            optimizer.step()
        assert "aten::clone" not in {event.key for event in step.key_averages()}
        unfused.step()
    for name, weight in network.state_dict().items():
        torch.testing.assert_close(weight, plain.state_dict()[name], rtol=1e-5, atol=1e-6, msg=name)
    shapes = [state["exp_avg"].shape for state in optimizer.state.values()]
    assert sorted(shapes) == sorted(parameter.shape for parameter in network.parameters())


@pytest.mark.slow
def test_layers_move_by_a_share_of_their_weights_and_ranks_have_the_same():
    lamb, lars = (run_ranks(step_together, 2, name, rate) for name, rate in (("lamb", 0.1), ("lars", 10.0)))
    assert lamb[0] == lamb[1] and lars[0] == lars[1]  # to the last bit
    weights, moments = lamb[0]
    assert moments == pytest.approx([0.1 * 3, 0.1 * 4])  # a tenth of (3, 4), the sum of both ranks
    assert weights == pytest.approx([2 * (1 - 0.1)] * 2)  # however long their gradients are
    assert lars[0][0] == pytest.approx([2 * (1 - 0.001 * 10)] * 2)
