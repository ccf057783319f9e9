"""Models, learning, segmentation and a fine-tune on the GPU that is there, beside the same on the CPU.

`make test-device` runs them, within 8 minutes, and shows their times. Without a GPU they are
skipped, with the reason.
"""

import time

import pytest
import rasterio
import torch

from training_core.events import Reporter
from training_core.jobs import FineTune, MakeScene, Segment, StepOptions, with_model_paths
from training_core.learning.trainer import Trainer
from training_core.learning.trial import trial_step
from training_core.models import accelerator
from training_core.models.architectures import Architecture, build_network
from training_core.models.engine_choice import choose_precision
from training_core.models.engines import BF16, FP32, NativeEngine, make_engine
from training_core.models.fallback import FallbackEngine
from training_core.models.recompute import recompute_activations
from training_core.pipelines import finetune, makescene, segment

UNET = Architecture(encoder="efficientnet_lite0")
NETWORKS = (UNET, Architecture(encoder="resnet34"), Architecture(name="FPN", encoder="resnet18"))
RANDOM = torch.Generator().manual_seed(0)
IMAGES = torch.randn(4, 3, 128, 128, generator=RANDOM)


def told(line):
    print(f"\n    {line}", flush=True)


@pytest.fixture(scope="session")
def device():
    """The accelerator of this machine."""
    kind = accelerator.built_kind()
    found = accelerator.probe(kind) if kind else "this PyTorch is built for the CPU alone"
    if isinstance(found, str):
        pytest.skip(f"There is no device here: {found}.")
    return found


@pytest.fixture(scope="session")
def scene(tmp_path_factory):
    """A generated image with its roads."""
    folder = tmp_path_factory.mktemp("scene")
    job = MakeScene(raster=str(folder / "scene.tif"), roads=str(folder / "roads.gpkg"), size_px=2048)
    makescene.run(job, Reporter())
    return job


def precisions(device):
    return (FP32, BF16) if device.has_bf16 else (FP32,)


def network(architecture):
    torch.manual_seed(0)
    return build_network(architecture).eval()


def predicted(engine, model):
    return engine.probability(engine.prepare_inference(model), IMAGES)


@pytest.mark.parametrize("architecture", NETWORKS, ids=lambda each: f"{each.name}-{each.encoder}")
def test_a_network_computes_what_it_does_on_the_cpu(device, architecture):
    model = network(architecture)
    expected = predicted(NativeEngine(FP32), model)
    for precision in precisions(device):
        found = predicted(make_engine(device.kind, precision), model)
        error = float((found - expected).abs().max())
        told(f"{architecture.name} with {architecture.encoder}, {precision}: probability within {error:.1e}")
        assert error < {FP32: 1e-3, BF16: 0.05}[precision]


def losses(engine, architecture, is_recomputing=False, **recipe):
    """Return the losses of four steps, and the trainer."""
    model = network(architecture)
    trainer = Trainer(recompute_activations(model) if is_recomputing else model, engine, StepOptions(**recipe))
    labels = (IMAGES[:, 0] > 0.5).to(torch.uint8)
    if architecture.classes > 1:
        labels[:, ::2] += labels[:, ::2]  # roads of the first class
    return [trainer.step(IMAGES.numpy(), labels.numpy(), 1e-3) for _ in range(4)], trainer


@pytest.mark.parametrize(
    "options",
    [
        *({"optimizer": name} for name in ("adamw", "sgd", "lamb", "lars")),
        {"accumulation": 2, "batch_size": 2},
        {"is_recomputing": True},
        {"batch_norm": "frozen", "frozen_stages": 2},
    ],
    ids=str,
)
@pytest.mark.parametrize("classes", [1, 3])
def test_a_training_goes_the_way_that_it_does_on_the_cpu(device, options, classes):
    recipe = {"batch_size": 4, "chip_px": 128, **options}
    architecture = Architecture(encoder="resnet18", classes=classes)
    expected, on_cpu = losses(NativeEngine(FP32), architecture, **recipe)
    for precision in precisions(device):
        found, trainer = losses(make_engine(device.kind, precision), architecture, **recipe)
        assert found == pytest.approx(expected, rel={FP32: 0.01, BF16: 0.05}[precision])
    trainer.load_state_dict(on_cpu.state_dict())
    on_cpu.load_state_dict(trainer.state_dict())


def test_the_same_steps_on_the_device_give_the_same_weights(device):
    precision = precisions(device)[-1]
    first, second = (losses(make_engine(device.kind, precision), UNET, batch_size=4, chip_px=128) for _ in range(2))
    assert first[0] == second[0]
    assert all(torch.equal(each, second[1].weights()[name]) for name, each in first[1].weights().items())


def test_where_its_memory_does_not_suffice_the_cpu_predicts(device):
    if device.kind != accelerator.CUDA:
        pytest.skip("only CUDA can be told to have less memory")
    engine, model, warnings = make_engine(device.kind, FP32), network(UNET), []
    fallback = FallbackEngine(engine, engine.prepare_inference(model), model, False, warnings.append)
    torch.cuda.empty_cache()
    torch.cuda.set_per_process_memory_fraction(1e-4)
    try:
        found = fallback.probability(None, IMAGES)
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    torch.testing.assert_close(found, predicted(NativeEngine(FP32), model))
    assert len(warnings) == 1 and "out of memory" in warnings[0]


def test_steps_are_timed(device):
    for name, precision in (("native", choose_precision("auto", print)), (device.kind, precisions(device)[-1])):
        engine = make_engine(name, precision)
        step = trial_step(UNET, FineTune(batch_size=8), 192, False)
        step(engine)
        engine.synchronize()
        began_s = time.perf_counter()
        for _ in range(3):
            step(engine)
        engine.synchronize()
        step_s = (time.perf_counter() - began_s) / 3
        told(f"a step on 8 chips of 192 px: {1000 * step_s:.0f} ms on {engine.title} in {precision}")


def test_an_image_is_segmented_as_on_the_cpu(device, scene, tmp_path):
    masks = []
    for name in ("cpu", device.kind):
        job = Segment(raster=scene.raster, model="starter", mask=str(tmp_path / f"{name}.tif"), device=name)
        result = segment.run(with_model_paths(job), Reporter())
        told(f"segmented on {result['engine']} in {result['precision']}: {result['megapixels_per_s']:.2f} MP/s")
        with rasterio.open(job.mask) as file:
            masks.append(file.read(1))
    assert result["engine"] == device.kind
    assert (masks[0] == masks[1]).mean() > 0.999 and (masks[0] == 1).any()


def test_a_fine_tune_takes_the_device_and_learns(device, scene, tmp_path):
    log = []
    job = FineTune(
        rasters=(scene.raster,), roads=scene.roads, model=str(tmp_path / "model.safetensors"), base_model="", steps=200
    )
    began_s = time.perf_counter()
    result = finetune.run(job, Reporter(log.append))
    told("\n    ".join(each.message for each in log if "Engine" in getattr(each, "message", "")))
    told(f"{result['steps']} steps in {time.perf_counter() - began_s:.0f} s, {result['images_per_s']:.1f} chips/s")
    assert result["engine"] == device.kind and result["validation"]["f1"] > 0.5
