import pytest

from training_core.errors import JobError
from training_core.jobs import FineTune
from training_core.learning.pipeline_costs import PartCost
from training_core.learning.pipeline_plan import plan_pipeline, plan_stages
from training_core.models.architectures import Architecture
from training_core.models.engines import make_engine

# Seconds forward and backward, and bytes of weights, of what is kept and of what is received.
COSTS = [PartCost(1, 2, 0, 40, 5), PartCost(2, 4, 10, 30, 8), PartCost(1, 2, 80, 2, 9), PartCost(1, 2, 90, 1, 9)]


def test_stages_are_even_in_time():
    plan = plan_stages(COSTS, 2, 4, "gpipe", "time", copies=4)
    assert plan.balance == (2, 2) and plan.forward_s == (3, 2) and plan.backward_s == (6, 4)
    assert plan.forecast.step_s == 5 + 10 + 3 * (3 + 6) and plan.forecast.imbalance == pytest.approx(9 / 7.5)
    # Four copies of the weights, and of four micro-batches what is kept and received.
    assert plan.stage_bytes == (4 * 10 + 4 * (70 + 5), 4 * 170 + 4 * (3 + 9))


def test_stages_are_even_in_memory():
    # Cut after the first part: 180 and 884 bytes; after the second: 340 and 728; after the third: 668 and 400.
    plan = plan_stages(COSTS, 2, 4, "gpipe", "memory", copies=4)
    assert plan.balance == (3, 1) and plan.stage_bytes == (668, 400)
    # With 1F1B the first stage keeps two micro-batches, the second one.
    plan = plan_stages(COSTS, 2, 4, "1f1b", "memory", copies=4)
    assert plan.balance == (3, 1) and plan.stage_bytes == (360 + 2 * 77, 360 + 10)


def test_a_model_is_measured_and_cut():
    recipe = FineTune(batch_size=2, accumulation=8, frozen_stages=3)
    engine = make_engine("native", "fp32")
    plan = plan_pipeline(Architecture(encoder="resnet18"), engine, recipe, 64, True, 3, 2, "1f1b", "time")
    assert (
        sum(plan.balance) == 15 and plan.balance[0] >= 6
    )  # two frozen levels of blocks, the stem, and one that learns
    assert len(plan.forward_s) == len(plan.stage_bytes) == 3 and min(plan.backward_s) > 0
    with pytest.raises(JobError, match="6 parts of the model are left"):
        plan_pipeline(
            Architecture(encoder="resnet18"), engine, FineTune(batch_size=2, frozen_stages=5), 64, False, 7, 1, "1f1b",
            "time",
        )  # fmt: skip
