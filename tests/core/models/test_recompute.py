import copy
import functools

import pytest
import torch
from torch.optim import SGD

from tests.core.support.bf16 import needs_bf16
from training_core.learning.losses import road_loss
from training_core.models.architectures import Architecture, build_network, freeze_stages, set_training_mode
from training_core.models.engines import BF16, FP32, IPEX, NATIVE, NativeEngine, make_engine, why_not_ipex
from training_core.models.recompute import recompute_activations


@functools.cache
def plain_unet(encoder="resnet18"):
    """A network with random weights; do not change it."""
    torch.manual_seed(0)
    return build_network(Architecture(encoder=encoder))


def new_unet(encoder="resnet18"):
    return copy.deepcopy(plain_unet(encoder))


def recomputing(encoder="resnet18"):
    return recompute_activations(new_unet(encoder))


@functools.cache
def batch():
    torch.manual_seed(1)
    images = torch.randn(2, 3, 64, 64)
    return images, (images[:, :1] > 0.5).to(torch.uint8)


def trained(unet, engine, frozen_stages=0, batch_norm="live"):
    """Return the weights and statistics after two steps, and the losses."""
    freeze_stages(unet, frozen_stages)
    live = [parameter for parameter in unet.parameters() if parameter.requires_grad]
    unet, optimizer = engine.prepare_training(unet, SGD(live, lr=0.01))
    set_training_mode(unet, frozen_stages, batch_norm)
    losses = []
    for _ in range(2):
        optimizer.zero_grad()
        loss = road_loss(engine.forward(unet, batch()[0]), batch()[1])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return unet.state_dict(), losses


def saved_bytes(unet, engine, images):
    """Return the size of what the backward pass keeps, weights left out."""
    weights = {parameter.untyped_storage().data_ptr() for parameter in unet.parameters()}
    sizes = {}

    def pack(tensor):
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in weights:
            sizes[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        logits = engine.forward(unet, images)
    assert logits.requires_grad
    return sum(sizes.values())


@pytest.mark.parametrize(
    ("encoder", "frozen_stages", "batch_norm"),
    [("resnet18", 2, "live"), ("efficientnet_lite0", 0, "live"),
     *(pytest.param(*each, marks=pytest.mark.slow) for each in (
         ("resnet18", 0, "live"), ("resnet18", 5, "frozen"), ("efficientnet_lite0", 2, "frozen"),
         ("resnet34", 0, "live"), ("resnet50", 0, "live"),
     ))],
)  # fmt: skip
def test_weights_and_statistics_are_those_of_the_plain_model(encoder, frozen_stages, batch_norm):
    """Also the counts of batches: statistics move once a step."""
    expected, losses = trained(new_unet(encoder), NativeEngine(FP32), frozen_stages, batch_norm)
    # Made twice: that is as once. Copied: a copy learns by itself.
    unet = recompute_activations(recomputing(encoder))
    found, same_losses = trained(copy.deepcopy(unet), NativeEngine(FP32), frozen_stages, batch_norm)
    assert same_losses == pytest.approx(losses, abs=1e-6)
    assert list(found) == list(expected)
    for name, tensor in expected.items():
        torch.testing.assert_close(found[name], tensor, atol=1e-6, rtol=0, msg=name)
    before = plain_unet(encoder).state_dict()
    assert all(torch.equal(tensor, before[name]) for name, tensor in unet.state_dict().items())


@needs_bf16
@pytest.mark.parametrize("name", [NATIVE, IPEX])
def test_it_goes_with_each_engine_in_bf16(name):
    obstacle = why_not_ipex() if name == IPEX else None
    if obstacle:
        pytest.skip(obstacle)
    expected, losses = trained(new_unet(), make_engine(name, BF16))
    found, same_losses = trained(recomputing(), make_engine(name, BF16))
    assert same_losses == pytest.approx(losses, rel=1e-3)
    for key, tensor in expected.items():
        torch.testing.assert_close(found[key], tensor, atol=1e-3, rtol=1e-2, msg=key)


@pytest.mark.parametrize("precision", [FP32, pytest.param(BF16, marks=needs_bf16)])
@pytest.mark.parametrize(
    "encoder", ["resnet34", "efficientnet_lite0", pytest.param("resnet50", marks=pytest.mark.slow)]
)
def test_far_less_is_kept_for_the_backward_pass(precision, encoder):
    images, engine = torch.randn(1, 3, 128, 128), NativeEngine(precision)
    plain = saved_bytes(new_unet(encoder), engine, images)
    assert saved_bytes(recomputing(encoder), engine, images) < plain / 3


def test_without_gradients_the_logits_are_the_same():
    unet = new_unet().eval()
    with torch.inference_mode():
        expected = unet(batch()[0])
        assert torch.equal(recompute_activations(unet)(batch()[0]), expected)
