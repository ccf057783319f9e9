"""Models with constant weights compute what the models do that they are made from."""

import copy
import functools

import torch
from torch import nn

from training_core.models.architectures import Architecture, build_network
from training_core.models.folding import folded


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
