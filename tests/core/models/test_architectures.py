"""Architectures and encoders: all are built, trained, tiled, stored, exported and quantized, or say why not."""

import copy
import functools
import itertools

import numpy as np
import pytest
import segmentation_models_pytorch as smp
import torch
from torch import nn
from torch.nn import functional

from training_core.errors import JobError, ModelFileError
from training_core.events import Reporter
from training_core.geodata.rasters import Band
from training_core.jobs import StepOptions
from training_core.jobs.recipe import (
    ARCHITECTURES,
    AS_BASE,
    EFFICIENTNET,
    ENCODERS,
    FPN,
    UNET,
    UNET_PLUS_PLUS,
)
from training_core.learning.trainer import Trainer
from training_core.models.architectures import (
    Architecture,
    adapt_first_layer,
    build_network,
    build_uninitialized,
    encoder_stages,
    freeze_stages,
)
from training_core.models.base_model import read_base_model
from training_core.models.decoder import folded
from training_core.models.engines import BF16, FP32, NativeEngine, OpenvinoEngine, make_engine, why_not_ipex
from training_core.models.loading import load_network
from training_core.models.merging import rescaled
from training_core.models.model_card import ModelCard
from training_core.models.model_file import save_model
from training_core.models.onnx_file import export_onnx, read_onnx, save_onnx, serialized
from training_core.models.openvino_model import quantize_layers
from training_core.system import processor

# One of each architecture and of each kind of encoder in `make test`, all pairs in `make test-slow`.
FAST = [(UNET, EFFICIENTNET), (UNET_PLUS_PLUS, "resnet18"), (FPN, EFFICIENTNET)]
each_pair = pytest.mark.parametrize(
    ("name", "encoder"),
    [
        pytest.param(*pair, marks=[] if pair in FAST else pytest.mark.slow)
        for pair in itertools.product(ARCHITECTURES, ENCODERS)
    ],
)
few_pairs = pytest.mark.parametrize(("name", "encoder"), [(UNET, EFFICIENTNET), (FPN, "resnet18")])
BANDS = tuple(Band(name, 10.0, 5.0) for name in ("red", "green", "blue"))


@functools.cache
def built(name, encoder, **shape):
    """A network with random weights, built once: the seconds are in the weights. Do not change it."""
    torch.manual_seed(0)
    return build_network(Architecture(name, encoder, **shape))


def network(name, encoder, **shape):
    return copy.deepcopy(built(name, encoder, **shape))


@each_pair
def test_every_pair_learns_a_road_of_any_number_of_bands(name, encoder):
    model = network(name, encoder, in_channels=2, classes=2)
    trainer = Trainer(model, NativeEngine("fp32"), StepOptions(batch_size=2, chip_px=64))
    images, labels = np.zeros((2, 2, 64, 64), np.float32), np.zeros((2, 64, 64), np.uint8)
    images[:, :, 24:40], labels[:, 24:40] = 2.0, 1
    losses = [trainer.step(images, labels, 1e-3) for _ in range(4)]
    assert np.isfinite(losses).all() and losses[-1] < losses[0]
    assert all(each.grad is not None for each in model.parameters() if each.requires_grad)


@each_pair
def test_weights_that_are_loaded_make_an_uninitialized_network_the_same(name, encoder):
    model = network(name, encoder).eval()
    other = build_uninitialized(Architecture(name, encoder)).eval()
    other.load_state_dict(model.state_dict())
    assert not {key for key, _ in other.named_buffers()} - other.state_dict().keys()
    images = torch.randn(1, 3, 32, 32)
    with torch.inference_mode():
        torch.testing.assert_close(other(images), model(images), rtol=0, atol=0)


@each_pair
def test_freezing_all_stages_freezes_the_encoder(name, encoder):
    model = network(name, encoder)
    assert len(encoder_stages(model)) == 5
    freeze_stages(model, 2)
    frozen = {key for key, each in model.encoder.named_parameters() if not each.requires_grad}
    assert 0 < len(frozen) < len(list(model.encoder.parameters()))
    freeze_stages(model, 5)
    assert not any(each.requires_grad for each in model.encoder.parameters())


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_networks_compute_what_those_of_the_library_do(name):
    """But where they upsample with aligned corners, which is compared at the center, where both sample the same."""
    torch.manual_seed(0)
    encoder = "resnet18"
    # In FP64: how far FP32 rounds differently depends on the processor.
    model = network(name, encoder).double().eval()
    library = getattr(smp, name)(encoder, encoder_weights=None).double().eval()
    library.load_state_dict(model.state_dict())
    images = torch.randn(1, 3, 64, 64, dtype=torch.float64)
    with torch.inference_mode():
        expected, found = library(images), model(images)
    if name in (UNET, UNET_PLUS_PLUS):
        torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-9)
    else:
        correlation = np.corrcoef(found.flatten(), expected.flatten())[0, 1]
        assert correlation > 0.9


@each_pair
def test_constant_weights_compute_the_same(name, encoder):
    model = network(name, encoder).double().eval()
    for module in model.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.running_mean.normal_(0, 0.1)
            module.running_var.uniform_(0.5, 2)
    images = torch.randn(1, 3, 32, 64, dtype=torch.float64)
    with torch.inference_mode():
        expected, found = model(images), folded(model, torch.float64)(images)
    assert (found - expected).abs().max() < 1e-9 * expected.abs().max()


@few_pairs
def test_a_model_is_stored_exported_and_run(name, encoder, tmp_path):
    card = ModelCard(Architecture(name, encoder), BANDS, 0.5)
    model = network(name, encoder).eval()
    save_model(tmp_path / "model.safetensors", model.state_dict(), card)
    loaded, found_card = load_network(str(tmp_path / "model.safetensors"))
    assert found_card == card
    save_onnx(tmp_path / "model.onnx", export_onnx(loaded), card, 0)
    graph, _ = read_onnx(str(tmp_path / "model.onnx"))
    engine, images = OpenvinoEngine("fp32"), torch.randn(1, 3, 64, 96)
    with torch.inference_mode():
        expected = torch.sigmoid(model(images))
    found = engine.probability(engine.prepare_inference(serialized(graph)), images)
    assert (found - expected).abs().max() < 1e-3


@pytest.mark.slow
@each_pair
def test_a_model_is_quantized(name, encoder):
    architecture = Architecture(name, encoder)
    graph, images = export_onnx(network(name, encoder).eval()), [np.random.default_rng(0).normal(0, 1, (1, 3, 64, 64))]
    images = [each.astype(np.float32) for each in images]
    for count in (0, 1, 3):
        kept = tuple(part for group in architecture.sensitive_layers[:count] for part in group)
        made = quantize_layers(graph, images, kept, Reporter())
        quantized = {name for node in made.graph.node if node.op_type == "DequantizeLinear" for name in node.output}
        own = [
            node
            for node in made.graph.node
            if node.op_type == "Conv" and any(f"/{part}/" in node.name for part in kept)
        ]
        assert len(own) >= count and not any(node.input[0] in quantized for node in own)


@pytest.mark.skipif(why_not_ipex() is not None, reason=f"Without IPEX: {why_not_ipex()}")
@few_pairs
def test_the_extension_trains_and_runs_them(name, encoder):
    # As jobs choose it: without a unit for BF16, the extension has no layer normalization in it.
    engine = make_engine("ipex", BF16 if processor.has_bf16_unit() else FP32, "")
    trainer = Trainer(network(name, encoder), engine, StepOptions(batch_size=1, chip_px=64))
    images, labels = np.zeros((1, 3, 64, 64), np.float32), np.ones((1, 64, 64), np.uint8)
    assert np.isfinite(trainer.step(images, labels, 1e-3))
    prepared = engine.prepare_inference(network(name, encoder))
    images = torch.randn(1, 3, 64, 64)
    expected = torch.sigmoid(network(name, encoder).eval()(images))
    assert (engine.probability(prepared, images) - expected).abs().max() < 0.1


@pytest.mark.parametrize("encoder", ["resnet18", EFFICIENTNET])
def test_the_first_layer_takes_other_bands_and_another_normalization(encoder):
    architecture = Architecture(UNET, encoder)
    model = network(UNET, encoder).eval()
    new = (Band("red", 20.0, 8.0), *BANDS[1:])
    values = torch.rand(1, 3, 64, 64) * 30

    def first(bands):
        normalized = torch.stack([(values[:, at] - band.mean) / band.std for at, band in enumerate(bands)], dim=1)
        modules = dict(model.named_modules())
        result = modules[architecture.first_layer](normalized)
        return modules[architecture.first_normalization](result)[..., 2:-2, 2:-2]

    with torch.inference_mode():
        before = first(BANDS)
        model.load_state_dict(rescaled(model.state_dict(), architecture, BANDS, new))
        torch.testing.assert_close(first(new), before, rtol=1e-4, atol=1e-4)
    weights = model.state_dict()
    assert rescaled(weights, architecture, BANDS, BANDS) is weights
    adapted = adapt_first_layer(model.state_dict(), architecture.first_layer, ("red", "green", "blue"), ("gray",))
    network(UNET, encoder, in_channels=1).load_state_dict(adapted)


def test_a_base_model_does_not_change_its_architecture(tmp_path):
    card = ModelCard(Architecture(UNET, "resnet18"), BANDS, 0.5)
    path = str(tmp_path / "model.safetensors")
    save_model(tmp_path / "model.safetensors", network(UNET, "resnet18").state_dict(), card)
    assert read_base_model(path, UNET, "resnet18", Reporter()).architecture == card.architecture
    for name, encoder in ((FPN, AS_BASE), (AS_BASE, "resnet34")):
        with pytest.raises(JobError, match="is a Unet with resnet18; it cannot become") as caught:
            read_base_model(path, name, encoder, Reporter())
        assert "imagenet" in caught.value.remedy


def test_a_network_of_another_kind_is_refused_with_those_that_are_taken():
    with pytest.raises(ModelFileError, match=r"not take .*'Linknet'.* only Unet, UnetPlusPlus, FPN; resnet18, .*lite0"):
        build_network(Architecture("Linknet"))


@pytest.mark.parametrize("name", [FPN, UNET_PLUS_PLUS])
def test_only_a_unet_is_cut_or_recomputed(name):
    with pytest.raises(JobError, match=f"Whole images .sample. need a Unet; this model is a {name} with resnet18"):
        Architecture(name, "resnet18").require_unet("Whole images (sample)")
    for encoder in ENCODERS:
        Architecture(UNET, encoder).require_unet("Whole images (sample)")


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.bfloat16, 0.02)])
def test_gradients_of_depthwise_convolutions_are_those_of_pytorch_in_fp32(dtype, tolerance):
    torch.manual_seed(0)
    model = build_network(Architecture(encoder=EFFICIENTNET)).train()
    layers = [each for each in model.modules() if isinstance(each, nn.Conv2d) and each.groups == each.in_channels > 1]
    assert {(layer.kernel_size[0], layer.stride[0]) for layer in layers} == set(itertools.product((3, 5), (1, 2)))
    for layer in layers:
        features = torch.randn(2, layer.groups, 13, 18).to(dtype).requires_grad_()
        exact, weight = (each.detach().float().requires_grad_() for each in (features, layer.weight))
        expected = functional.conv2d(exact, weight, None, layer.stride, layer.padding, groups=layer.groups)
        outer = torch.randn_like(expected)
        expected.backward(outer)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=dtype == torch.bfloat16):
            found = layer(features)
        found.backward(outer.to(dtype))
        assert found.dtype == dtype
        for one, other in ((found, expected), (features.grad, exact.grad), (layer.weight.grad, weight.grad)):
            assert (one.float() - other).abs().max() <= tolerance * other.abs().max()
        assert layer.state_dict().keys() == {"weight"}
