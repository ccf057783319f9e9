"""A measured run: real training steps and tiles of a small model, beside PyTorch's own count."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from tests.core.support.labeled import labeled_image
from training_core.errors import Cancelled, ResourceError
from training_core.events import Reporter, Warning
from training_core.geodata.rasters import Band
from training_core.geodata.tiling import tile_grid
from training_core.jobs import Profile as ProfileJob
from training_core.models.architectures import Architecture, build_network
from training_core.models.decoder import folded
from training_core.models.engines import make_engine
from training_core.profiling.measurement import measure, write_trace
from training_core.profiling.profile import Limits, Profile, Rate, from_document, to_document
from training_core.profiling.workload import inference_steps, training_steps
from training_core.segmentation.inference import Predictor

LIMITS = Limits({"fp32": (Rate(2, 1e11),)}, {}, {"triad": (Rate(2, 1e10),)}, 1e11, 2_000_000, 0.0)
PX, BATCH = 64, 2
BANDS = tuple(Band(name, 127.0, 74.0) for name in ("red", "green", "blue"))


def small_unet():
    torch.manual_seed(0)
    return build_network(Architecture(encoder="resnet18"))


@pytest.fixture(scope="module")
def training():
    """A run of training steps."""
    rng = np.random.default_rng(0)
    labels = (rng.random((128, 128)) > 0.9).astype(np.uint8)
    values = rng.integers(0, 255, (3, 128, 128), dtype=np.uint8)
    image = labeled_image(labels, values, bands=BANDS)
    recipe = ProfileJob(batch_size=BATCH)
    with training_steps(small_unet(), make_engine("native", "fp32"), recipe, [image], PX) as subject:
        before = {name: tensor.clone() for name, tensor in subject.model.named_parameters()}
        measured = measure(subject, LIMITS, 0.1, {"chip_px": PX}, Reporter())
        assert all(torch.equal(tensor, before[name]) for name, tensor in subject.model.named_parameters())
    return measured


@pytest.fixture(scope="module")
def inference():
    """A run of tiles that are segmented."""
    return measured_inference(0.1, Reporter())


def measured_inference(limit_s, reporter):
    engine = make_engine("native", "fp32")
    predictor = Predictor(engine.prepare_inference(small_unet()), engine, BANDS)

    def read(column, row, width, height):
        return np.zeros((3, height, width), dtype=np.uint8), np.ones((height, width), dtype=bool)

    with inference_steps(predictor, read, list(tile_grid(128, 128, PX, 0)), PX) as subject:
        return measure(subject, LIMITS, limit_s, {"tile_px": PX}, reporter)


def test_phases_come_in_their_order_and_each_breakdown_adds_up_to_the_step(training, inference):
    assert [row.name for row in training.run.phases] == [
        "waiting for data", "forward", "backward", "optimizer", "unaccounted",
    ]  # fmt: skip
    assert [row.name for row in inference.run.phases] == [
        "waiting for data", "forward", "conversion to bytes", "unaccounted",
    ]  # fmt: skip
    assert all(row.time_s > 0 for row in training.run.phases[:-1])
    for run in (training.run, inference.run):
        for rows in (run.phases, run.kinds, run.layers):
            assert sum(row.time_s for row in rows) == pytest.approx(run.step_s)
            assert rows[-1].name == "unaccounted"
        assert abs(run.unaccounted_share) < 0.03
        assert run.steps >= 2


def test_operations_are_counted_as_by_pytorch(training, inference):
    model = small_unet().train()
    with FlopCounterMode(display=False) as counter:
        model(torch.zeros(BATCH, 3, PX, PX)).sum().backward()
    counted = sum(row.flop or 0 for row in training.run.primitives)
    assert counted == counter.get_total_flops()
    assert sum(row.flop or 0 for row in training.run.layers) == counted
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        folded(model, torch.float32)(torch.zeros(1, 3, PX, PX))
    assert sum(row.flop or 0 for row in inference.run.primitives) == counter.get_total_flops()


def test_layers_are_modules_of_the_model_or_lie_around_it(training, inference):
    paths = {name for model in (small_unet(), folded(small_unet(), torch.float32)) for name, _ in model.named_modules()}
    around = {"model", "input and output", "loss", "optimizer", "waiting for data", "unaccounted"}
    paths.remove("")
    assert {row.name for row in training.run.layers} <= paths | around
    assert {row.name for row in inference.run.layers} <= paths | {*around, "conversion to bytes"}
    deepest = next(row for row in training.run.layers if row.name == "encoder.layer4.1.conv2")
    assert deepest.flop == 3 * 2 * BATCH * 512 * 512 * 3 * 3 * (PX // 32) ** 2  # forward, and two gradients


@pytest.mark.skipif(not torch.backends.mkldnn.is_available(), reason="this PyTorch has no oneDNN")
def test_convolutions_have_the_implementation_that_onednn_chose(training):
    rows = [row for row in training.run.primitives if row.kind == "convolution"]
    largest = max(rows, key=lambda row: row.time_s)
    assert ":" in largest.implementation and largest.roof_share > 0 and largest.dtype == "fp32"


def test_runs_survive_as_documents(training, inference):
    for run in (training.run, inference.run):
        document = json.loads(json.dumps(to_document(Profile("a processor", LIMITS, (run,)))))
        assert from_document(document).runs == (run,)


def test_the_trace_shows_all_runs_and_nothing_of_the_machine(training, inference, tmp_path):
    write_trace(tmp_path / "trace.json", [training, inference])
    text = (tmp_path / "trace.json").read_text()
    events = json.loads(text)["traceEvents"]
    names = {event["args"]["name"] for event in events if event["name"] == "process_name"}
    assert names == {"training, native fp32", "inference, native fp32"}
    for process in (1, 2):
        assert any(event["name"] == "aten::convolution" and event["pid"] == process for event in events)
    assert str(tmp_path) not in text and "/tmp" not in text


def test_a_time_too_short_for_a_few_steps_is_warned_of_and_some_are_done():
    warnings = []
    reporter = Reporter(lambda event: warnings.append(event.message) if isinstance(event, Warning) else None)
    run = measured_inference(1e-6, reporter).run
    assert run.steps == 2 and run.step_s > 0
    assert "the time is too short" in warnings[0]


def test_a_stop_is_heeded_between_steps(training):
    class Endless:
        what, batch_size, size_px, engine = "training", 1, PX, SimpleNamespace(name="native", precision="fp32")

        def step(self):
            pass

    with pytest.raises(Cancelled):
        measure(Endless(), LIMITS, 1.0, {}, Reporter(is_cancelled=lambda: True))


@pytest.mark.parametrize("written", [None, "", '{"traceEvents": [{"ph": "X",'], ids=["nothing", "empty", "half"])
def test_a_temporary_folder_without_room_is_named(tmp_path, written):
    def export(path):  # as PyTorch's, which tells nobody
        if written is not None:
            Path(path).write_text(written)

    runs = [SimpleNamespace(profiler=SimpleNamespace(export_chrome_trace=export))]
    with pytest.raises(ResourceError, match="temporary folder") as refused:
        write_trace(tmp_path / "trace.json", runs)
    assert "TMPDIR" in refused.value.remedy and not (tmp_path / "trace.json").exists()
