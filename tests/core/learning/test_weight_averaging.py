import pytest
import torch
from torch import nn

from training_core.learning.weight_averaging import WeightAverage


def network_at(value):
    network = nn.Sequential(nn.Conv2d(1, 1, 1), nn.BatchNorm2d(1))
    set_all(network, value)
    return network


def set_all(network, value):
    with torch.no_grad():
        for tensor in network.state_dict().values():
            tensor.fill_(value)


def test_it_is_the_moving_average_of_weights_and_statistics():
    network = network_at(0.0)
    average = WeightAverage(network, 0.5)
    expected = 0.0
    for step, value in enumerate((1.0, 5.0, 2.0, 7.0), 1):
        set_all(network, value)
        average.update()
        decay = min(0.5, step / (step + 9))
        expected = decay * expected + (1 - decay) * value
    with average.in_place():
        for name, tensor in network.state_dict().items():
            if tensor.is_floating_point():
                assert tensor.flatten()[0].item() == pytest.approx(expected), name
    assert all(tensor.flatten()[0] == 7 for tensor in network.state_dict().values())


def test_weights_come_back_after_an_error():
    network = network_at(1.0)
    average = WeightAverage(network, 0.5)
    set_all(network, 3.0)
    with pytest.raises(RuntimeError), average.in_place():
        assert network[0].weight.item() == 1
        raise RuntimeError
    assert network[0].weight.item() == 3


def test_what_is_frozen_is_not_averaged_and_a_state_goes_on():
    network = network_at(1.0)
    network[0].requires_grad_(False)
    average = WeightAverage(network, 0.9)
    assert not any(name.startswith("0.") for name in average.state())
    set_all(network, 2.0)
    average.update()
    state = {name: tensor.clone() for name, tensor in average.state().items()}
    other = WeightAverage(network, 0.9)
    other.restore(state)
    set_all(network, 4.0)
    for each in (average, other):
        each.update()
    restored = other.state()
    assert all(torch.equal(tensor, restored[name]) for name, tensor in average.state().items())
