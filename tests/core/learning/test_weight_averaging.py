import pytest
import torch
from torch import nn

from training_core.learning.outcome import interpolated
from training_core.learning.trainer import WeightAverage


def model_at(value):
    model = nn.Sequential(nn.Conv2d(1, 1, 1), nn.BatchNorm2d(1))
    set_all(model, value)
    return model


def set_all(model, value):
    with torch.no_grad():
        for tensor in model.state_dict().values():
            tensor.fill_(value)


def test_it_is_the_moving_average_of_weights_and_statistics():
    model = model_at(0.0)
    average = WeightAverage(model, 0.5)
    expected = 0.0
    for step, value in enumerate((1.0, 5.0, 2.0, 7.0), 1):
        set_all(model, value)
        average.update()
        decay = min(0.5, step / (step + 9))
        expected = decay * expected + (1 - decay) * value
    with average.in_place():
        for name, tensor in model.state_dict().items():
            if tensor.is_floating_point():
                assert tensor.flatten()[0].item() == pytest.approx(expected), name
    assert all(tensor.flatten()[0] == 7 for tensor in model.state_dict().values())


def test_weights_come_back_after_an_error():
    model = model_at(1.0)
    average = WeightAverage(model, 0.5)
    set_all(model, 3.0)
    with pytest.raises(RuntimeError), average.in_place():
        assert model[0].weight.item() == 1
        raise RuntimeError
    assert model[0].weight.item() == 3


def test_what_is_frozen_is_not_averaged_and_a_state_goes_on():
    model = model_at(1.0)
    model[0].requires_grad_(False)
    average = WeightAverage(model, 0.9)
    assert not any(name.startswith("0.") for name in average.state_dict())
    set_all(model, 2.0)
    average.update()
    state = {name: tensor.clone() for name, tensor in average.state_dict().items()}
    other = WeightAverage(model, 0.9)
    other.load_state_dict(state)
    set_all(model, 4.0)
    for each in (average, other):
        each.update()
    restored = other.state_dict()
    assert all(torch.equal(tensor, restored[name]) for name, tensor in average.state_dict().items())


def test_weights_are_a_share_of_the_way_and_counters_those_of_the_tuned_model():
    base = {"weight": torch.tensor([0.0, 10.0]), "counter": torch.tensor(3)}
    tuned = {"weight": torch.tensor([1.0, 20.0]), "counter": torch.tensor(8)}
    found = interpolated(base, tuned, 0.7)
    assert found["weight"].tolist() == torch.tensor([0.7, 17.0]).tolist() and found["counter"] == 8
    assert base["weight"].tolist() == [0.0, 10.0] and tuned["weight"].tolist() == [1.0, 20.0]
