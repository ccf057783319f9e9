import copy

import pytest
import torch
from torch.optim import SGD

from tests.core.support.bf16 import needs_bf16
from training_core.learning.losses import road_loss
from training_core.models.architectures import Architecture, build_network, freeze_stages, set_training_mode
from training_core.models.engines import BF16, FP32, IPEX, NATIVE, NativeEngine, make_engine, why_not_ipex
from training_core.models.recompute import recompute_activations


@pytest.fixture
def batch():
    torch.manual_seed(1)
    images = torch.randn(2, 3, 64, 64)
    return images, (images[:, :1] > 0.5).to(torch.uint8)


def new_unet(encoder="resnet18"):
    torch.manual_seed(0)
    return build_network(Architecture(encoder=encoder))


def trained(unet, engine, batch, frozen_stages=0, batch_norm="live"):
    """Return the weights and statistics after three steps, and the losses."""
    freeze_stages(unet, frozen_stages)
    live = [parameter for parameter in unet.parameters() if parameter.requires_grad]
    unet, optimizer = engine.prepare_training(unet, SGD(live, lr=0.01))
    set_training_mode(unet, frozen_stages, batch_norm)
    losses = []
    for _ in range(3):
        optimizer.zero_grad()
        loss = road_loss(engine.forward(unet, batch[0]), batch[1])
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
    [("resnet18", 0, "live"), ("resnet18", 2, "live"), ("resnet18", 5, "frozen"), ("resnet34", 0, "live"),
     pytest.param("resnet50", 0, "live", marks=pytest.mark.slow)],
)  # fmt: skip
def test_weights_and_statistics_are_those_of_the_plain_model(batch, encoder, frozen_stages, batch_norm):
    engine = NativeEngine(FP32)
    expected, losses = trained(new_unet(encoder), engine, batch, frozen_stages, batch_norm)
    found, same_losses = trained(recompute_activations(new_unet(encoder)), engine, batch, frozen_stages, batch_norm)
    assert same_losses == pytest.approx(losses, abs=1e-6)
    assert list(found) == list(expected)
    for name, tensor in expected.items():
        torch.testing.assert_close(found[name], tensor, atol=1e-6, rtol=0, msg=name)


def test_statistics_move_once_a_step(batch):
    found, _ = trained(recompute_activations(new_unet()), NativeEngine(FP32), batch)
    counts = {name: int(tensor) for name, tensor in found.items() if name.endswith("num_batches_tracked")}
    assert set(counts.values()) == {3} and len(counts) == 30


@needs_bf16
@pytest.mark.parametrize("name", [NATIVE, IPEX])
def test_it_goes_with_each_engine_in_bf16(batch, name):
    obstacle = why_not_ipex() if name == IPEX else None
    if obstacle:
        pytest.skip(obstacle)
    expected, losses = trained(new_unet(), make_engine(name, BF16), batch)
    found, same_losses = trained(recompute_activations(new_unet()), make_engine(name, BF16), batch)
    assert same_losses == pytest.approx(losses, rel=1e-3)
    for key, tensor in expected.items():
        torch.testing.assert_close(found[key], tensor, atol=1e-3, rtol=1e-2, msg=key)


@pytest.mark.parametrize("precision", [FP32, pytest.param(BF16, marks=needs_bf16)])
@pytest.mark.parametrize("encoder", ["resnet34", pytest.param("resnet50", marks=pytest.mark.slow)])
def test_far_less_is_kept_for_the_backward_pass(precision, encoder):
    images, engine = torch.randn(1, 3, 256, 256), NativeEngine(precision)
    plain = saved_bytes(new_unet(encoder), engine, images)
    assert saved_bytes(recompute_activations(new_unet(encoder)), engine, images) < plain / 3


def test_without_gradients_the_logits_are_the_same(batch):
    unet = new_unet().eval()
    with torch.inference_mode():
        expected = unet(batch[0])
        assert torch.equal(recompute_activations(unet)(batch[0]), expected)


def test_a_copy_learns_by_itself(batch):
    unet = recompute_activations(new_unet())
    before = {name: tensor.clone() for name, tensor in unet.state_dict().items()}
    trained(copy.deepcopy(unet), NativeEngine(FP32), batch)
    assert all(torch.equal(tensor, before[name]) for name, tensor in unet.state_dict().items())


def test_twice_is_once(batch):
    expected, _ = trained(recompute_activations(new_unet()), NativeEngine(FP32), batch)
    found, _ = trained(recompute_activations(recompute_activations(new_unet())), NativeEngine(FP32), batch)
    assert all(torch.equal(found[name], tensor) for name, tensor in expected.items())
