"""Decoder blocks compute what those of the library do, and models with constant weights what the models do."""

import copy
import functools

import pytest
import segmentation_models_pytorch
import torch
from torch import nn

from training_core.models.architectures import Architecture, build_network
from training_core.models.decoder import folded


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


@functools.cache
def built():
    """A U-Net in evaluation mode whose batch normalization changes values; do not change it."""
    torch.manual_seed(1)
    model = build_network(Architecture(encoder="resnet18", classes=2)).eval()
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.running_mean.normal_(0, 0.1)
            module.running_var.uniform_(0.5, 2)
            module.weight.data.uniform_(0.5, 1.5)
            module.bias.data.normal_(0, 0.1)
    return model


def unet():
    return copy.deepcopy(built())


def test_no_batch_normalization_is_left_and_the_model_itself_is_unchanged():
    model = unet()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    for dtype in (torch.float32, torch.bfloat16):
        made = folded(model, dtype)
        assert not any(isinstance(module, nn.BatchNorm2d) for module in made.modules())
        assert {parameter.dtype for parameter in made.parameters()} == {dtype}
    for name, tensor in model.state_dict().items():
        assert torch.equal(tensor, before[name])


def test_a_pixel_has_the_same_logits_in_images_of_all_sizes_where_that_is_asked_for():
    model, images = folded(unet(), torch.float32, is_exact=True), torch.randn(1, 3, 960, 640)
    with torch.inference_mode():
        whole, part = model(images), model(images[:, :, :672, :608])
    assert (whole[:, :, :352, :288] - part[:, :, :352, :288]).abs().max() <= 1e-5 * whole.std()
