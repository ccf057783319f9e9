from dataclasses import replace
from itertools import combinations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from training_core.distributed.pipeline_plan import (
    PartCost,
    measure_parts,
    place_cuts,
    plan_pipeline,
    plan_stages,
    require_pipelines,
    step_seconds,
)
from training_core.errors import JobError, ResourceError
from training_core.jobs import FineTune
from training_core.learning.plan import room_for
from training_core.models.architectures import Architecture, build_network, freeze_stages, parts_of
from training_core.models.engines import make_engine

# Seconds forward and backward, and bytes of weights, of what is kept and of what is received.
COSTS = [PartCost(1, 2, 0, 40, 5), PartCost(2, 4, 10, 30, 8), PartCost(1, 2, 80, 2, 9), PartCost(1, 2, 90, 1, 9)]


def test_stages_are_even_in_time():
    plan = plan_stages(COSTS, 2, 4, copies=4)
    assert plan.balance == (2, 2)
    # Four copies of the weights, and tensors of two micro-batches on the first stage, of one on the second.
    assert plan.stage_bytes == (4 * 10 + 2 * (70 + 5), 4 * 170 + (3 + 9))
    assert plan.step_s == step_seconds([3, 2], [6, 4], 4) and plan.speed_up == 4 * 15 / plan.step_s
    assert plan.bubble == pytest.approx(1 - 4 * 15 / (2 * plan.step_s))


@pytest.mark.slow
def test_a_model_is_measured_and_cut():
    architecture, engine = Architecture(encoder="resnet18"), make_engine("native", "fp32")
    job = FineTune(batch_size=2, accumulation=8, frozen_stages=3, pipeline_stages=3, recompute="yes")
    room = replace(room_for(architecture), limit_bytes=10**12, ranks=6)
    plan = plan_pipeline(architecture, engine, job, 64, room)
    balance = plan.layout["balance"]
    # The first stage has two frozen levels of blocks, the stem, and a part that learns.
    assert sum(balance) == 15 and balance[0] >= 6 and len(balance) == 3 and plan.is_recomputing
    long = replace(job, frozen_stages=5, pipeline_stages=7, accumulation=14)
    with pytest.raises(JobError, match="6 parts of the model are left"):
        plan_pipeline(architecture, engine, long, 64, replace(room, ranks=7))
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


def test_the_schedule_by_hand():
    # Stage 0: F0 0-2, F1 2-4, B0 5-9, B1 9-13. Stage 1: F0 2-3, B0 3-5, F1 5-6, B1 6-8.
    assert step_seconds([2, 1], [4, 2], 2) == 13


def test_parts_are_measured_as_they_train():
    model = build_network(Architecture(encoder="resnet18"))
    freeze_stages(model, 2)
    before = {name: parameter.clone() for name, parameter in model.named_parameters()}
    costs = measure_parts(model, parts_of(model), torch.float32, (2, 3, 64, 64))
    assert sum(each.weight_bytes for each in costs) == sum(each.nbytes for each in model.state_dict().values())
    assert all(each.forward_s > 0 for each in costs)
    assert [each.backward_s > 0 for each in costs] == [False] * 3 + [True] * 12
    stem, first, second, third = (
        2 * 4 * side * side * bands for side, bands in ((32, 64), (16, 64), (8, 128), (4, 256))
    )
    assert [each.received_bytes for each in costs[:3]] == [2 * 4 * 64 * 64 * 3, stem, stem + first]
    assert costs[9].received_bytes == 2 * 4 * 2 * 2 * 512 + stem + first + second + third
    assert costs[1].kept_bytes == first  # frozen: nothing but what it hands on
    # The last decoder block keeps 16 channels at full size: of both convolutions, normalizations and activations.
    full = 2 * 4 * 64 * 64 * 16
    assert 4 * full <= costs[13].kept_bytes <= 6 * full
    assert all(torch.equal(parameter, before[name]) for name, parameter in model.named_parameters())


@pytest.mark.parametrize(
    ("accumulation", "stages", "ranks", "remedy"),
    [(8, 3, 4, "Choose 3 processes"), (3, 4, 4, "at least 4, better 16"), (5, 3, 6, "at least 6, better 24")],
)
def test_too_few_batches_or_ranks_are_refused(accumulation, stages, ranks, remedy):
    with pytest.raises(JobError) as caught:
        require_pipelines(FineTune(accumulation=accumulation), stages, ranks)
    assert remedy in caught.value.remedy
