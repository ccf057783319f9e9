from contextlib import nullcontext

import pytest
import torch
from torch import nn

from training_core.whole_images.precise_sums import PreciseSums

CONVOLUTIONS = {
    "3 x 3": (nn.Conv2d, {"kernel_size": 3, "padding": 1}),
    "7 x 7, every second pixel": (nn.Conv2d, {"kernel_size": 7, "padding": 3, "stride": 2}),
    "1 x 1, every second pixel": (nn.Conv2d, {"kernel_size": 1, "stride": 2}),
    "transposed": (nn.ConvTranspose2d, {"kernel_size": 4, "padding": 1, "stride": 2}),
}


def model(kind="3 x 3"):
    """Return a convolution and a batch normalization with frozen statistics."""
    torch.manual_seed(0)
    layer, options = CONVOLUTIONS[kind]
    norm = nn.BatchNorm2d(5)
    norm.running_mean += 0.1
    norm.running_var *= 0.3
    nn.init.normal_(norm.weight)
    return nn.Sequential(layer(3, 5, **options), norm.eval())


def gradients(network, features, context):
    """Return the gradients of the features and of the weights of a loss that gives each output another weight."""
    features = features.clone().requires_grad_()
    network.zero_grad()
    output = network(features)
    outer = torch.randn(output.shape, generator=torch.Generator().manual_seed(1)).to(features.dtype)
    with context:
        (output * outer).sum().backward()
    return [features.grad, *(each.grad.clone() for each in network.parameters())]


# The widest have several blocks.
@pytest.mark.parametrize("size", [(2, 3, 7, 9), (1, 3, 451, 300)])
@pytest.mark.parametrize("kind", CONVOLUTIONS)
def test_all_gradients_are_those_of_the_plain_layers(kind, size):
    generator = torch.Generator().manual_seed(2)
    features, network = torch.randn(size, generator=generator, dtype=torch.float64), model(kind).double()
    expected = gradients(network, features, nullcontext())
    for found, reference in zip(gradients(network, features, PreciseSums()), expected, strict=True):
        torch.testing.assert_close(found, reference, rtol=1e-10, atol=1e-10)


def test_what_many_pixels_add_is_not_rounded_away():
    """Of a large gradient and a million small ones, FP32 would keep the large one: there, 1 + 1e-8 is 1."""
    side_px = 1024
    small = torch.full((side_px, side_px), 1e-8)
    small[0, 0] = 1
    expected = small.double().sum().item()
    convolution, norm = model()
    for layer, channels in ((convolution, 3), (norm, 5)):
        with PreciseSums():
            (layer(torch.zeros(1, channels, side_px, side_px)) * small).sum().backward()
        assert layer.bias.grad.tolist() == pytest.approx([expected] * 5, abs=1e-5)
