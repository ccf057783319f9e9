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


def test_weights_are_a_share_of_the_way_and_counters_those_of_the_tuned_model():
    base = {"weight": torch.tensor([0.0, 10.0]), "counter": torch.tensor(3)}
    tuned = {"weight": torch.tensor([1.0, 20.0]), "counter": torch.tensor(8)}
    found = interpolated(base, tuned, 0.7)
    assert found["weight"].tolist() == torch.tensor([0.7, 17.0]).tolist() and found["counter"] == 8
    assert base["weight"].tolist() == [0.0, 10.0] and tuned["weight"].tolist() == [1.0, 20.0]
