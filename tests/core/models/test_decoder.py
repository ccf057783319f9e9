import pytest
import segmentation_models_pytorch
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional

from training_core.models.architectures import Architecture, build_network
from training_core.models.decoder import convolve_repeated


@settings(max_examples=25, deadline=None)
@given(
    features=st.integers(1, 5),
    filters=st.integers(1, 5),
    height=st.integers(1, 9),
    width=st.integers(1, 9),
    seed=st.integers(0, 2**31),
)
def test_repeating_pixels_and_convolving_is_one_operation(features, filters, height, width, seed):
    random = torch.Generator().manual_seed(seed)
    image = torch.randn(2, features, height, width, generator=random, dtype=torch.float64)
    weight = torch.randn(filters, features, 3, 3, generator=random, dtype=torch.float64)
    plain = functional.conv2d(functional.interpolate(image, scale_factor=2, mode="nearest"), weight, padding=1)
    torch.testing.assert_close(convolve_repeated(image, weight), plain, rtol=0, atol=1e-12)


@pytest.mark.parametrize("encoder", ["resnet18", pytest.param("resnet50", marks=pytest.mark.slow)])
def test_the_model_is_that_of_the_library(encoder):
    torch.manual_seed(0)
    ours = build_network(Architecture(encoder=encoder, in_channels=4)).double()
    plain = segmentation_models_pytorch.Unet(encoder, encoder_weights=None, in_channels=4).double()
    plain.load_state_dict(ours.state_dict())
    images = torch.randn(2, 4, 64, 96, dtype=torch.float64)
    outcomes = []
    for unet in (ours, plain):
        logits = unet.train()(images)
        logits.square().mean().backward()
        outcomes.append((logits, {name: parameter.grad for name, parameter in unet.named_parameters()}))
    torch.testing.assert_close(outcomes[0][0], outcomes[1][0], rtol=0, atol=1e-10)
    assert outcomes[0][1].keys() == outcomes[1][1].keys()
    for name, gradient in outcomes[0][1].items():
        torch.testing.assert_close(gradient, outcomes[1][1][name], rtol=1e-6, atol=1e-9, msg=name)
