import dataclasses
import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from tests.shared_fixtures import make_once
from training_core.errors import ResourceError
from training_core.jobs import FineTune
from training_core.jobs.recipe import CAREFUL_RATE, MUCH_LABELED_PX
from training_core.learning import plan
from training_core.learning.plan import (
    ENOUGH_STEPS,
    ENOUGH_STEPS_FROM_RANDOM,
    FROZEN_STAGES,
    STEPS_FRACTION,
    Fit,
    Footprint,
    MemoryPlan,
    Plan,
    Room,
    encoder_rate,
    fit_into_memory,
    fit_recipe,
    has_choice,
    max_bytes,
    measure_footprint,
    plan_from_document,
    room_for,
)
from training_core.learning.trial import trial_step
from training_core.models.architectures import Architecture
from training_core.models.engines import FP32, NativeEngine
from training_core.profiling.machine_facts import keeps_freed_memory
from training_core.system.memory import keep_freed_memory
from training_core.system.tensor_memory import GAPS

BENCHMARK = Path(__file__).parents[3] / "benchmarks" / "training_memory.py"
ARCHITECTURE, ENGINE = Architecture(encoder="resnet18"), NativeEngine(FP32)
GB = 10**9
# Bytes of a batch by the pixel, with activations that are kept and with recomputed ones; 1 GB besides.
KEPT, RECOMPUTED = 2000, 500


@pytest.fixture
def known_footprint(monkeypatch):
    """Take a footprint of round numbers for the measured one."""

    def footprint(architecture, engine, recipe, is_recomputing):
        slope = np.array([(RECOMPUTED if is_recomputing else KEPT) / GAPS])
        return Footprint(GB // 2, GB // 4, GB // 4, np.zeros(1), slope, 0)

    monkeypatch.setattr(plan, "measure_footprint", footprint)


def fit(limit_gb, is_unet=True, room_options=(), **options):
    recipe = FineTune(**{"batch_size": 4, "chip_px": 512, **options})
    room = Room(int(limit_gb * GB), GB // 2, 10**8, **dict(room_options))
    architecture = ARCHITECTURE if is_unet else SimpleNamespace(in_channels=3, is_unet=False)
    return fit_into_memory(architecture, ENGINE, recipe, recipe.chip_px, room)


def test_where_memory_is_plentiful_nothing_is_measured(monkeypatch):
    monkeypatch.setattr(plan, "measure_footprint", None)
    found = fit(100)
    assert not found.is_recomputing and not found.peak_bytes
    assert re.search(r"less than [\d.]+ GB of memory.* 100\.0 GB are available", str(found))
    assert fit(100, recompute="yes").is_recomputing


def test_activations_are_recomputed_where_room_is_short(known_footprint):
    kept = GB + 4 * 512**2 * KEPT
    found = fit(3.2)
    assert not found.is_recomputing and found.peak_bytes == pytest.approx(kept, abs=1)
    found = fit(3.0)
    assert found.is_recomputing and "about 1.5 GB of memory, recomputing activations" in str(found)
    with pytest.raises(ResourceError, match=r"chips of 512 px and batch size 4 needs about 3\.1 GB") as refusal:
        fit(3.0, recompute="no")
    assert "recompute (recompute) auto" in refusal.value.remedy
    with pytest.raises(ResourceError, match=r"needs about 3\.1 GB"):
        fit(3.0, is_unet=False)


def test_processes_need_room_to_exchange_gradients(known_footprint):
    together = {"exchange_bytes": GB // 2, "processes": 3}
    with pytest.raises(ResourceError, match=r"1\.5 GB of memory for each of 3 processes") as refusal:
        fit(1.8, room_options=together)
    assert "lower the number of processes" in refusal.value.remedy
    assert fit(2.1, room_options=together).peak_bytes == pytest.approx(1.5 * GB + 4 * 512**2 * RECOMPUTED, abs=1)


def test_a_refusal_says_what_would_fit_and_that_fits(known_footprint):
    with pytest.raises(ResourceError) as refusal:
        fit(2.0, batch_size=8, chip_px=1312)
    chip_px, batch_size, accumulation = (
        int(re.search(rf"{name}\) (\d+)", refusal.value.remedy)[1])
        for name in ("chip_px", "batch_size", "accumulation")
    )
    assert chip_px % 32 == 0 and 64 <= chip_px < 1312 and batch_size * accumulation >= 8
    fit(2.0, batch_size=8, chip_px=chip_px)
    fit(2.0, batch_size=batch_size, accumulation=accumulation, chip_px=1312)
    with pytest.raises(ResourceError):
        fit(2.0, batch_size=8, chip_px=chip_px + 32)
    with pytest.raises(ResourceError) as refusal:
        fit(0.1)
    assert refusal.value.remedy.startswith("Close other programs")


def test_a_footprint_tells_how_many_pixels_fit():
    some = Footprint(100, 20, 3, np.array([50.0, 10.0]), np.array([1.0, 8.0]), 2)
    most_px = some.most_px(10_000)
    assert some.peak_bytes(1, most_px**0.5) <= 10_000 < some.peak_bytes(1, (most_px + 1) ** 0.5)
    assert some.most_px(100) == 0


def test_no_more_is_taken_than_the_settings_allow_and_processes_share_it(monkeypatch, known_footprint):
    monkeypatch.setattr(plan, "available_bytes", lambda: 10**12)
    monkeypatch.setenv("ROADSEG_MEMORY_GB", "3")
    assert [max_bytes(), max_bytes(3)] == [3 * GB, GB]
    monkeypatch.setenv("ROADSEG_MEMORY_GB", "0.1")
    with pytest.raises(ResourceError, match=r"only 0\.1 GB are available"):
        fit_into_memory(ARCHITECTURE, ENGINE, FineTune(batch_size=4, chip_px=512), 512)


# The measured footprint


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    return make_once(
        tmp_path_factory, "plain footprint", lambda _: measure_footprint(ARCHITECTURE, ENGINE, FineTune(), False)
    )


def test_a_step_holds_weights_gradients_and_moments_and_more_pixels_take_more(plain):
    weights = 14_328_354 * 4  # trainable parameters of ResNet18-UNet as the library builds it, in FP32
    assert plain.fixed_bytes[-1] == pytest.approx(4 * weights, rel=0.05)
    # The last decoder block alone keeps two convolutions and two activations of 16 channels in FP32.
    assert 4 * 16 * 4 < plain.bytes_per_px.max() < 20 * 16 * 4
    by_chip = [plain.peak_bytes(2, size_px) for size_px in (64, 256, 512, 1312, 4096)]
    assert by_chip == sorted(set(by_chip)) and plain.peak_bytes(4, 384, accumulation=8) > plain.peak_bytes(4, 384)
    recomputing = measure_footprint(ARCHITECTURE, ENGINE, FineTune(), True)
    assert recomputing.bytes_per_px.max() < 0.6 * plain.bytes_per_px.max()


@pytest.mark.slow
def test_the_estimate_is_near_the_measured_peak():
    """In a process of its own, which trains as the job does."""
    options = {"batch_size": 1, "chip_px": 256, "precision": "fp32", "encoder": "resnet18"}
    command = [sys.executable, str(BENCHMARK), "--measure", json.dumps(options)]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    measured = json.loads(output.splitlines()[-1])
    assert measured["estimate_mb"] == pytest.approx(measured["measured_mb"], rel=0.2)


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"accumulation": 4, "optimizer": "lamb"}])
def test_the_bound_that_spares_measuring_is_above_the_estimate_which_changes_nothing(options):
    recipe = FineTune(batch_size=4, chip_px=512, **options)
    plenty = replace(room_for(ARCHITECTURE), limit_bytes=10**12)
    words = str(fit_into_memory(ARCHITECTURE, ENGINE, recipe, 512, plenty))
    bound_gb = float(re.search(r"less than ([\d.]+) GB", words)[1])
    before = torch.random.get_rng_state()
    if sys.platform == "linux":
        keep_freed_memory()
    estimate = measure_footprint(ARCHITECTURE, ENGINE, recipe, False).peak_bytes(4, 512, recipe.accumulation)
    assert estimate / 1e9 < bound_gb and torch.equal(torch.random.get_rng_state(), before)
    assert sys.platform != "linux" or keeps_freed_memory()


@pytest.mark.parametrize("is_recomputing", [False, True])
def test_a_step_of_the_recipe_is_timed_and_draws_no_random_numbers(is_recomputing):
    before = torch.random.get_rng_state()
    step = trial_step(ARCHITECTURE, FineTune(batch_size=2, accumulation=2), 64, is_recomputing)
    assert 0 < step(ENGINE) < 60
    assert torch.equal(torch.random.get_rng_state(), before)


# Options of the recipe

JOB = FineTune(minutes=1.0)


@pytest.mark.parametrize(
    ("base_model", "enough", "frozen"), [("starter", ENOUGH_STEPS, FROZEN_STAGES), ("", ENOUGH_STEPS_FROM_RANDOM, 0)]
)
def test_where_few_steps_fit_into_the_budget_chips_are_small_and_stages_frozen(base_model, enough, frozen):
    job = replace(JOB, base_model=base_model)
    many, few = (fit_recipe(job, STEPS_FRACTION * 60 / steps) for steps in (enough + 1, enough - 1))
    assert many.options == {"frozen_stages": 0, "chip_px": 192} and f"holds about {enough + 1}" in many.reason
    assert few.options == {"frozen_stages": frozen, "chip_px": 128} and f"holds about {enough - 1}" in few.reason
    assert "128 px" in few.reason and ("5 stages are frozen" in few.reason) == bool(frozen)


@pytest.mark.parametrize(
    "options", [{"frozen_stages": 3, "chip_px": 192}, {"base_model": "", "chip_px": 256}, {"steps": 10}]
)
def test_the_pace_does_not_matter_where_the_job_settles_all(options):
    job = replace(JOB, **options)
    assert not has_choice(job)
    expected = {"frozen_stages": options.get("frozen_stages", 0), "chip_px": options.get("chip_px", 192)}
    assert fit_recipe(job, None) == Fit(expected)


def test_one_option_that_is_settled_leaves_the_other_to_the_pace():
    assert fit_recipe(replace(JOB, chip_px=256), 100.0).options == {"frozen_stages": 2, "chip_px": 256}
    assert fit_recipe(replace(JOB, frozen_stages=0), 100.0).options == {"frozen_stages": 0, "chip_px": 128}


def test_an_encoder_that_knows_roads_learns_slowly_from_little_ground():
    assert encoder_rate(JOB, True, MUCH_LABELED_PX - 1) == CAREFUL_RATE
    assert encoder_rate(JOB, True, MUCH_LABELED_PX) == encoder_rate(JOB, False, 1000) == 1.0
    assert encoder_rate(replace(JOB, encoder_rate=0.1), True, MUCH_LABELED_PX) == 0.1


def test_a_plan_travels_as_json():
    memory = MemoryPlan(True, 3 * GB, "It needs 3 GB.", {"balance": [2, 3]})
    whole = Plan(NativeEngine("fp32", "it is"), Fit({"chip_px": 192}, "Steps are slow."), memory)
    assert plan_from_document(json.loads(json.dumps(dataclasses.asdict(whole)))) == whole
