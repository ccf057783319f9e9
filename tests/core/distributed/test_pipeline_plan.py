from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from training_core.distributed.pipeline_plan import (
    PartCost,
    in_flight,
    place_cuts,
    plan_pipeline,
    plan_stages,
    step_seconds,
)
from training_core.errors import JobError, ResourceError
from training_core.jobs import FineTune
from training_core.learning.plan import room_for
from training_core.models.architectures import Architecture
from training_core.models.engines import make_engine

# Seconds forward and backward, and bytes of weights, of what is kept and of what is received.
COSTS = [PartCost(1, 2, 0, 40, 5), PartCost(2, 4, 10, 30, 8), PartCost(1, 2, 80, 2, 9), PartCost(1, 2, 90, 1, 9)]
TIMES_S = st.lists(st.tuples(st.floats(0.01, 9), st.floats(0.01, 9)), min_size=1, max_size=6)


def test_stages_are_even_in_time():
    plan = plan_stages(COSTS, 2, 4, copies=4)
    assert plan.balance == (2, 2)
    # Four copies of the weights, and tensors of two micro-batches on the first stage, of one on the second.
    assert plan.stage_bytes == (4 * 10 + 2 * (70 + 5), 4 * 170 + (3 + 9))
    assert plan.step_s == step_seconds([3, 2], [6, 4], 4) and plan.speed_up == 4 * 15 / plan.step_s
    assert plan.bubble == pytest.approx(1 - 4 * 15 / (2 * plan.step_s))


def test_a_model_is_measured_and_cut():
    architecture, engine = Architecture(encoder="resnet18"), make_engine("native", "fp32")
    job = FineTune(batch_size=2, accumulation=8, frozen_stages=3, pipeline_stages=3, recompute="yes")
    room = replace(room_for(architecture), limit_bytes=10**12, ranks=6)
    plan = plan_pipeline(architecture, engine, job, 64, room)
    balance = plan.layout["balance"]
    # The first stage has two frozen levels of blocks, the stem, and a part that learns.
    assert sum(balance) == 15 and balance[0] >= 6 and len(balance) == 3 and plan.is_recomputing
    with pytest.raises(JobError, match="6 parts of the model are left"):
        plan_pipeline(
            architecture,
            engine,
            replace(job, frozen_stages=5, pipeline_stages=7, accumulation=14),
            64,
            replace(room, ranks=7),
        )
    with pytest.raises(ResourceError, match=r"largest of 3 stages .* 0\.0 GB are available to each of 1"):
        plan_pipeline(architecture, engine, job, 64, replace(room, limit_bytes=1, ranks=3))


def all_balances(parts, stages, min_first):
    for cuts in combinations(range(1, parts), stages - 1):
        ends = [0, *cuts, parts]
        if ends[1] >= min_first:
            yield tuple(end - first for first, end in zip(ends, ends[1:]))


def largest(balance, seconds):
    ends = [sum(balance[:stage]) for stage in range(len(balance) + 1)]
    return max(sum(seconds[first:end]) for first, end in zip(ends, ends[1:]))


@given(st.lists(st.integers(0, 50), min_size=6, max_size=9), st.integers(1, 5), st.integers(1, 2))
def test_no_other_cuts_have_a_smaller_largest_stage(seconds, stages, min_first):
    found = place_cuts(seconds, stages, min_first)
    assert sum(found) == len(seconds) and len(found) == stages and min(found) >= 1 and found[0] >= min_first
    assert largest(found, seconds) == min(
        largest(balance, seconds) for balance in all_balances(len(seconds), stages, min_first)
    )


@pytest.mark.parametrize("stages", range(1, 7))
@pytest.mark.parametrize("batches", [6, 32])
def test_equal_stages_have_the_bubble_of_the_closed_form(stages, batches):
    assert step_seconds([1.0] * stages, [2.0] * stages, batches) == pytest.approx(3 * (batches + stages - 1))


@given(TIMES_S, st.integers(1, 12))
def test_no_step_is_shorter_than_its_slowest_stage_or_its_first_batch(times_s, batches):
    of_stages_s = [sum(pair) for pair in times_s]
    assert step_seconds(*zip(*times_s), batches) >= max(batches * max(of_stages_s), sum(of_stages_s)) - 1e-9


def test_the_schedule_by_hand():
    # Stage 0: F0 0-2, F1 2-4, B0 5-9, B1 9-13. Stage 1: F0 2-3, B0 3-5, F1 5-6, B1 6-8.
    assert step_seconds([2, 1], [4, 2], 2) == 13


def test_a_stage_keeps_activations_of_as_many_batches_as_stages_follow():
    assert [in_flight(stage, 3, 8) for stage in range(3)] == [3, 2, 1]
    assert [in_flight(stage, 3, 2) for stage in range(3)] == [2, 2, 1]
