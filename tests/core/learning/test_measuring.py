import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from tests.shared_fixtures import make_once
from training_core.errors import ResourceError
from training_core.jobs import FineTune
from training_core.learning import measuring
from training_core.learning.measuring import TrialSteps, fit_into_memory, max_bytes, measure_footprint, room_for
from training_core.models.architectures import Architecture
from training_core.models.engines import FP32, NativeEngine
from training_core.profiling.machine_facts import keeps_freed_memory
from training_core.system.memory import keep_freed_memory

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
    keep_freed_memory()
    assert keeps_freed_memory()
    measure_footprint(Architecture(encoder="resnet18"), NativeEngine(FP32), FineTune(accumulation=2), True)
    assert keeps_freed_memory()


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"accumulation": 4, "optimizer": "lamb"}])
def test_the_bound_that_spares_measuring_is_above_the_estimate(options):
    recipe = FineTune(batch_size=4, chip_px=512, **options)
    plenty = replace(room_for(ARCHITECTURE), limit_bytes=10**12)
    bound_gb = float(
        re.search(r"less than ([\d.]+) GB", str(fit_into_memory(ARCHITECTURE, ENGINE, recipe, 512, plenty)))[1]
    )
    estimate = measure_footprint(ARCHITECTURE, ENGINE, recipe, False).peak_bytes(4, 512, recipe.accumulation)
    assert estimate / 1e9 < bound_gb


def test_no_more_is_taken_than_the_settings_allow_and_processes_share_it(monkeypatch):
    monkeypatch.setattr(measuring, "available_bytes", lambda: 10**12)
    monkeypatch.setenv("ROADSEG_MEMORY_GB", "3")
    assert [max_bytes(), max_bytes(3)] == [3 * 10**9, 10**9]
    monkeypatch.setenv("ROADSEG_MEMORY_GB", "0.1")
    with pytest.raises(ResourceError, match=r"only 0\.1 GB are available"):
        fit_into_memory(ARCHITECTURE, ENGINE, FineTune(batch_size=4, chip_px=512), 512)


@pytest.mark.parametrize("is_recomputing", [False, True])
def test_a_step_of_the_recipe_is_timed_and_draws_no_random_numbers(is_recomputing):
    before = torch.random.get_rng_state()
    trial = TrialSteps(ARCHITECTURE, FineTune(batch_size=2, accumulation=2), 64, is_recomputing)
    assert 0 < trial.seconds(ENGINE) < 60
    assert torch.equal(torch.random.get_rng_state(), before)
