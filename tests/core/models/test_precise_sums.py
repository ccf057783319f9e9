import pytest
import torch
from torch import nn

from training_core.models.precise_sums import sum_precisely


def layers(dtype=torch.float32):
    """Return a convolution and a batch normalization with frozen statistics."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 5, 3, padding=1), nn.BatchNorm2d(5)).to(dtype)
    model[1].running_mean += 0.1
    model[1].running_var *= 0.3
    nn.init.normal_(model[1].weight)
    return model.train().requires_grad_()


def frozen(model):
    model[1].eval()
    return model


def passed(model, features, outer):
    """Return the output, and the gradients of the input and of the weights."""
    features = features.clone().requires_grad_()
    model.zero_grad()
    output = model(features)
    output.backward(outer)
    return [output.detach(), features.grad, *(each.grad.clone() for each in model.parameters())]


@pytest.mark.parametrize("size", [(2, 3, 7, 9), (1, 3, 700, 300)])
def test_all_gradients_are_those_of_the_plain_layers(size):
    generator = torch.Generator().manual_seed(1)
    features = torch.randn(size, generator=generator, dtype=torch.float64)
    outer = torch.randn(size[0], 5, *size[2:], generator=generator, dtype=torch.float64)
    model = frozen(layers(torch.float64))
    expected = passed(model, features, outer)
    sum_precisely(model)
    for found, reference in zip(passed(model, features, outer), expected):
        torch.testing.assert_close(found, reference, rtol=1e-12, atol=1e-10)


def test_what_many_pixels_add_is_not_rounded_away():
    """Of a large gradient and a million small ones, FP32 would keep the large one: there, 1 + 1e-8 is 1."""
    side_px = 1024
    outer = torch.full((1, 5, side_px, side_px), 1e-8).contiguous(memory_format=torch.channels_last)
    outer[:, :, 0, 0] = 1
    expected = 1 + 1e-8 * (side_px**2 - 1)
    model = frozen(layers())
    sum_precisely(model)
    *_, of_bias = passed(model, torch.zeros(1, 3, side_px, side_px), outer)
    assert of_bias.tolist() == pytest.approx([expected] * 5, abs=1e-5)
    _, _, _, of_bias = passed(model[:1], torch.zeros(1, 3, side_px, side_px), outer)
    assert of_bias.tolist() == pytest.approx([expected] * 5, abs=1e-5)


def test_it_is_the_same_in_bf16_but_for_rounding():
    generator = torch.Generator().manual_seed(1)
    features, outer = (torch.randn(2, bands, 40, 30, generator=generator) for bands in (3, 5))
    exact = passed(frozen(layers()), features, outer)
    model = frozen(layers())
    sum_precisely(model)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        rounded = passed(model, features, outer.bfloat16())
    for found, reference in zip(rounded, exact):
        torch.testing.assert_close(found.float(), reference, rtol=0, atol=0.02 * reference.abs().max().item())


def test_live_statistics_stay_live():
    model, features = layers(), torch.randn(2, 3, 8, 8)
    expected = model(features)
    other = layers()
    sum_precisely(other)
    torch.testing.assert_close(other(features), expected, rtol=0, atol=0)
    torch.testing.assert_close(other[1].running_mean, model[1].running_mean, rtol=0, atol=0)
