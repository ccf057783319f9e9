import dataclasses
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tests.shared_fixtures import make_once
from training_core.errors import ResourceError
from training_core.jobs import FineTune
from training_core.learning import training_memory
from training_core.learning.training_memory import measure_footprint, plan_memory
from training_core.models.architectures import Architecture
from training_core.models.engines import FP32, NativeEngine
from training_core.system import allocator

BENCHMARK = Path(__file__).parents[3] / "benchmarks" / "training_memory.py"
ARCHITECTURE, ENGINE = Architecture(encoder="resnet18"), NativeEngine(FP32)


def footprint(is_recomputing):
    return measure_footprint(ARCHITECTURE, ENGINE, FineTune(), is_recomputing)


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    return make_once(tmp_path_factory, "plain footprint", lambda _: footprint(False))


@pytest.fixture(scope="module")
def recomputing(tmp_path_factory):
    return make_once(tmp_path_factory, "recomputing footprint", lambda _: footprint(True))


@pytest.fixture
def short_of_memory(monkeypatch):
    """Return a function that lets the system have so much memory free."""
    return lambda size: monkeypatch.setattr(training_memory, "available_bytes", lambda: size)


def plan(**options):
    said = []
    recipe = dataclasses.replace(FineTune(batch_size=4, chip_px=512), **options)
    return plan_memory(ARCHITECTURE, ENGINE, recipe, recipe.chip_px, said.append), said


def test_more_pixels_take_more(plain):
    by_chip = [plain.peak_bytes(2, size_px) for size_px in (64, 256, 512, 1312, 4096)]
    by_batch = [plain.peak_bytes(size, 384) for size in (1, 2, 4, 8)]
    assert by_chip == sorted(set(by_chip)) and by_batch == sorted(set(by_batch))
    assert plain.peak_bytes(4, 384, accumulation=8) > plain.peak_bytes(4, 384)


def test_a_step_holds_weights_gradients_and_moments(plain):
    weights = 14_328_354 * 4  # trainable parameters of ResNet18-UNet as the library builds it, in FP32
    assert plain.fixed_bytes[-1] == pytest.approx(4 * weights, rel=0.05)


def test_an_activation_of_the_whole_image_counts_by_the_pixel(plain):
    # The last decoder block alone keeps two convolutions and two activations of 16 channels in FP32.
    assert 4 * 16 * 4 < plain.bytes_per_px.max() < 20 * 16 * 4


def test_recomputing_takes_far_less_a_pixel(plain, recomputing):
    assert recomputing.bytes_per_px.max() < 0.6 * plain.bytes_per_px.max()
    assert recomputing.peak_bytes(1, 1312) < plain.peak_bytes(1, 1312)


@pytest.mark.slow
def test_the_moments_of_the_optimizer_count(plain):
    of_sgd = measure_footprint(ARCHITECTURE, ENGINE, FineTune(optimizer="sgd"), False)
    difference = (plain.fixed_bytes[-1] - of_sgd.fixed_bytes[-1]) / (14_328_354 * 4)
    assert difference == pytest.approx(1, abs=0.1)


@pytest.mark.slow
def test_frozen_stages_take_less(plain):
    frozen = measure_footprint(ARCHITECTURE, ENGINE, FineTune(frozen_stages=5, base_model="b"), False)
    assert frozen.peak_bytes(4, 384) < plain.peak_bytes(4, 384)


@pytest.mark.slow
def test_the_estimate_leaves_the_draws_of_chance_alone():
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    measure_footprint(ARCHITECTURE, ENGINE, FineTune(), False)
    assert torch.equal(torch.rand(3), expected)


@pytest.mark.slow
def test_the_estimate_is_near_the_measured_peak():
    """In a process of its own, which trains as the job does."""
    options = {"batch_size": 1, "chip_px": 256, "precision": "fp32", "encoder": "resnet18"}
    command = [sys.executable, str(BENCHMARK), "--measure", json.dumps(options)]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    measured = json.loads(output.splitlines()[-1])
    assert measured["estimate_mb"] == pytest.approx(measured["measured_mb"], rel=0.2)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="needs glibc")
def test_measuring_does_not_change_how_memory_is_allocated():
    allocator.keep_freed_memory()
    assert allocator.keeps_freed_memory()
    measure_footprint(Architecture(encoder="resnet18"), NativeEngine(FP32), FineTune(accumulation=2), True)
    assert allocator.keeps_freed_memory()


def test_where_there_is_room_nothing_is_recomputed(short_of_memory, plain):
    short_of_memory(2 * plain.peak_bytes(4, 512))
    chosen, said = plan()
    assert not chosen.is_recomputing
    assert len(said) == 1 and said[0].startswith(f"Training needs about {chosen.peak_bytes / 1e9:.1f} GB of memory; ")


def test_where_memory_is_plentiful_nothing_is_measured(short_of_memory, monkeypatch):
    short_of_memory(10**12)
    monkeypatch.setattr(training_memory, "measure_footprint", None)
    chosen, said = plan()
    assert not chosen.is_recomputing and not chosen.peak_bytes
    assert len(said) == 1 and re.match(r"Training needs less than [\d.]+ GB of memory; ", said[0])


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"accumulation": 4, "optimizer": "lamb"}])
def test_the_bound_that_spares_measuring_is_above_the_estimate(short_of_memory, options):
    short_of_memory(10**12)
    recipe = FineTune(batch_size=4, chip_px=512, **options)
    bound_gb = float(re.search(r"less than ([\d.]+) GB", plan(**options)[1][0])[1])
    estimate = measure_footprint(ARCHITECTURE, ENGINE, recipe, False).peak_bytes(4, 512, recipe.accumulation)
    assert estimate / 1e9 < bound_gb


def test_where_room_is_short_activations_are_recomputed(short_of_memory, plain, recomputing):
    more = [each.peak_bytes(4, 512) - each.process_bytes for each in (plain, recomputing)]
    short_of_memory(sum(more) / 2 / training_memory.SHARE_OF_FREE)
    chosen, said = plan()
    assert chosen.is_recomputing and "recomputing activations" in said[0]
    with pytest.raises(ResourceError, match=r"4.*512|512.*4") as refusal:
        plan(recompute="no")
    assert "recompute (recompute) auto" in refusal.value.remedy


def test_recomputing_is_done_where_it_is_wished(short_of_memory):
    short_of_memory(10**12)
    assert plan(recompute="yes")[0].is_recomputing


def test_no_more_is_taken_than_the_settings_allow(short_of_memory, monkeypatch):
    short_of_memory(10**12)
    monkeypatch.setenv("ROADSEG_MEMORY_GB", "0.1")
    with pytest.raises(ResourceError, match=r"only 0\.1 GB are available"):
        plan()


def test_a_refusal_says_what_would_fit_and_that_fits(short_of_memory, recomputing):
    enough = recomputing.peak_bytes(2, 1312, accumulation=4) - recomputing.process_bytes
    short_of_memory(1.1 * enough / training_memory.SHARE_OF_FREE)
    with pytest.raises(ResourceError, match=r"chips of 1312 px and batch size 8 needs about \d") as refusal:
        plan(batch_size=8, chip_px=1312)
    assert refusal.value.code == "resources"
    chip_px = int(re.search(r"chip_px\) (\d+)", refusal.value.remedy)[1])
    batch_size = int(re.search(r"batch_size\) (\d+)", refusal.value.remedy)[1])
    accumulation = int(re.search(r"accumulation\) (\d+)", refusal.value.remedy)[1])
    assert chip_px % 32 == 0 and 64 <= chip_px < 1312 and batch_size * accumulation >= 8
    plan(batch_size=8, chip_px=chip_px)
    plan(batch_size=batch_size, accumulation=accumulation, chip_px=1312)
    with pytest.raises(ResourceError):
        plan(batch_size=8, chip_px=chip_px + 32 * 4)


def test_where_nothing_would_fit_other_programs_must_go(short_of_memory):
    short_of_memory(10**6)
    with pytest.raises(ResourceError) as refusal:
        plan()
    assert refusal.value.remedy.startswith("Close other programs")
