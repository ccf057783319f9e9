import dataclasses
import json
import re

import numpy as np
import pytest

from training_core.errors import ResourceError
from training_core.jobs import FineTune
from training_core.jobs.recipe import CAREFUL_RATE, MUCH_LABELED_PX
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
    fit_recipe,
    has_choice,
    plan_from_document,
    plan_memory,
)
from training_core.models.engines import NativeEngine
from training_core.system.tensor_memory import GAPS

GB = 10**9
# Bytes of a batch by the pixel, with activations that are kept and with recomputed ones; 1 GB besides.
KEPT, RECOMPUTED = 2000, 500


def footprint(is_recomputing):
    slope = np.array([(RECOMPUTED if is_recomputing else KEPT) / GAPS])
    return Footprint(GB // 2, GB // 4, GB // 4, np.zeros(1), slope, 0)


def room(limit_gb, **others):
    return Room(int(limit_gb * GB), GB // 2, 10**8, **others)


def plan(limit_gb, can_recompute=True, measure=footprint, room_options=(), **options):
    recipe = FineTune(**{"batch_size": 4, "chip_px": 512, **options})
    return plan_memory(recipe, recipe.chip_px, 3, can_recompute, room(limit_gb, **dict(room_options)), measure)


def test_where_memory_is_plentiful_nothing_is_measured():
    found = plan(100, measure=None)
    assert not found.is_recomputing and not found.peak_bytes
    assert re.fullmatch(r"Training needs less than [\d.]+ GB of memory; 100\.0 GB are available\.", str(found))
    assert plan(100, measure=None, recompute="yes").is_recomputing


def test_activations_are_recomputed_where_room_is_short():
    kept = GB + 4 * 512**2 * KEPT
    found = plan(3.2)
    assert not found.is_recomputing and found.peak_bytes == pytest.approx(kept, abs=1)
    found = plan(3.0)
    assert found.is_recomputing and "about 1.5 GB of memory, recomputing activations" in str(found)
    with pytest.raises(ResourceError, match=r"chips of 512 px and batch size 4 needs about 3\.1 GB") as refusal:
        plan(3.0, recompute="no")
    assert "recompute (recompute) auto" in refusal.value.remedy
    with pytest.raises(ResourceError, match=r"needs about 3\.1 GB"):
        plan(3.0, can_recompute=False)


def test_processes_need_room_to_exchange_gradients():
    together = {"exchange_bytes": GB // 2, "processes": 3}
    with pytest.raises(ResourceError, match=r"1\.5 GB of memory for each of 3 processes") as refusal:
        plan(1.8, room_options=together)
    assert "lower the number of processes" in refusal.value.remedy
    assert plan(2.1, room_options=together).peak_bytes == pytest.approx(1.5 * GB + 4 * 512**2 * RECOMPUTED, abs=1)


def test_a_refusal_says_what_would_fit_and_that_fits():
    with pytest.raises(ResourceError) as refusal:
        plan(2.0, batch_size=8, chip_px=1312)
    chip_px, batch_size, accumulation = (
        int(re.search(rf"{name}\) (\d+)", refusal.value.remedy)[1])
        for name in ("chip_px", "batch_size", "accumulation")
    )
    assert chip_px % 32 == 0 and 64 <= chip_px < 1312 and batch_size * accumulation >= 8
    plan(2.0, batch_size=8, chip_px=chip_px)
    plan(2.0, batch_size=batch_size, accumulation=accumulation, chip_px=1312)
    with pytest.raises(ResourceError):
        plan(2.0, batch_size=8, chip_px=chip_px + 32)
    with pytest.raises(ResourceError) as refusal:
        plan(0.1)
    assert refusal.value.remedy.startswith("Close other programs")


def test_a_footprint_tells_how_many_pixels_fit():
    some = Footprint(100, 20, 3, np.array([50.0, 10.0]), np.array([1.0, 8.0]), 2)
    most_px = some.most_px(10_000)
    assert some.peak_bytes(1, most_px**0.5) <= 10_000 < some.peak_bytes(1, (most_px + 1) ** 0.5)
    assert some.most_px(100) == 0


JOB = FineTune(minutes=1.0)


@pytest.mark.parametrize(
    ("base_model", "enough", "frozen"), [("starter", ENOUGH_STEPS, FROZEN_STAGES), ("", ENOUGH_STEPS_FROM_RANDOM, 0)]
)
def test_where_few_steps_fit_into_the_budget_chips_are_small_and_stages_frozen(base_model, enough, frozen):
    job = dataclasses.replace(JOB, base_model=base_model)
    many, few = (fit_recipe(job, STEPS_FRACTION * 60 / steps) for steps in (enough + 1, enough - 1))
    assert many.options == {"frozen_stages": 0, "chip_px": 192} and f"holds about {enough + 1}" in many.reason
    assert few.options == {"frozen_stages": frozen, "chip_px": 128} and f"holds about {enough - 1}" in few.reason
    assert "128 px" in few.reason and ("5 stages are frozen" in few.reason) == bool(frozen)


@pytest.mark.parametrize(
    "options", [{"frozen_stages": 3, "chip_px": 192}, {"base_model": "", "chip_px": 256}, {"steps": 10}]
)
def test_the_pace_does_not_matter_where_the_job_settles_all(options):
    job = dataclasses.replace(JOB, **options)
    assert not has_choice(job)
    expected = {"frozen_stages": options.get("frozen_stages", 0), "chip_px": options.get("chip_px", 192)}
    assert fit_recipe(job, None) == Fit(expected)


def test_one_option_that_is_settled_leaves_the_other_to_the_pace():
    assert fit_recipe(dataclasses.replace(JOB, chip_px=256), 100.0).options == {"frozen_stages": 2, "chip_px": 256}
    assert fit_recipe(dataclasses.replace(JOB, frozen_stages=0), 100.0).options == {"frozen_stages": 0, "chip_px": 128}


@pytest.mark.parametrize(
    ("options", "knows_roads", "labeled_px", "rate"),
    [
        ({}, True, MUCH_LABELED_PX - 1, CAREFUL_RATE),
        ({}, True, MUCH_LABELED_PX, 1.0),
        ({}, False, 1000, 1.0),
        ({"encoder_rate": 0.1}, True, MUCH_LABELED_PX, 0.1),
    ],
    ids=str,
)
def test_an_encoder_that_knows_roads_learns_slowly_from_little_ground(options, knows_roads, labeled_px, rate):
    assert encoder_rate(dataclasses.replace(JOB, **options), knows_roads, labeled_px) == rate


def test_a_plan_travels_as_json_and_prints_itself():
    memory = MemoryPlan(True, 3 * GB, "It needs 3 GB.", {"balance": [2, 3]})
    whole = Plan(NativeEngine("fp32", "it is"), Fit({"chip_px": 192}, "Steps are slow."), memory)
    assert plan_from_document(json.loads(json.dumps(dataclasses.asdict(whole)))) == whole
    assert str(whole) == "Engine native in fp32. It needs 3 GB. Steps are slow."
