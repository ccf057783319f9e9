import pytest
from hypothesis import given
from hypothesis import strategies as st

from training_core.learning.pipeline_schedules import GPIPE, ONE_F_ONE_B, SCHEDULES, forecast, in_flight

TIMES_S = st.lists(st.tuples(st.floats(0.01, 9), st.floats(0.01, 9)), min_size=1, max_size=6)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("stages", range(1, 7))
@pytest.mark.parametrize("batches", [6, 8, 32])
def test_equal_stages_have_the_bubble_of_the_closed_form(schedule, stages, batches):
    found = forecast([1.0] * stages, [2.0] * stages, batches, schedule)
    passes = batches + stages - 1
    assert found.step_s == pytest.approx(3 * passes)
    assert found.bubble == pytest.approx((stages - 1) / passes)
    assert found.speed_up == pytest.approx(stages * batches / passes)
    assert found.imbalance == pytest.approx(1)


@given(TIMES_S, st.integers(1, 12))
def test_gpipe_fills_and_drains_at_the_pace_of_the_slowest_stage(times_s, batches):
    forward_s, backward_s = zip(*times_s)
    expected_s = sum(each for pair in times_s for each in pair) + (batches - 1) * (max(forward_s) + max(backward_s))
    assert forecast(forward_s, backward_s, batches, GPIPE).step_s == pytest.approx(expected_s)


@given(TIMES_S, st.integers(1, 12), st.sampled_from(SCHEDULES))
def test_no_step_is_shorter_than_its_slowest_stage_or_its_first_batch(times_s, batches, schedule):
    found = forecast(*zip(*times_s), batches, schedule)
    of_stage_s = [sum(pair) for pair in times_s]
    assert found.step_s >= max(batches * max(of_stage_s), sum(of_stage_s)) - 1e-9
    assert found.speed_up <= len(times_s) + 1e-9 and -1e-9 <= found.bubble < 1


def test_1f1b_by_hand():
    # Stage 0: F0 0-2, F1 2-4, B0 5-9, B1 9-13. Stage 1: F0 2-3, B0 3-5, F1 5-6, B1 6-8.
    assert forecast([2, 1], [4, 2], 2, ONE_F_ONE_B).step_s == 13
    # GPipe's second stage begins backward after all forward passes, at 5: stage 0 then at 7, until 15.
    assert forecast([2, 1], [4, 2], 2, GPIPE).step_s == 15


def test_1f1b_keeps_activations_of_as_many_batches_as_stages_follow():
    assert [in_flight(stage, 3, 8, ONE_F_ONE_B) for stage in range(3)] == [3, 2, 1]
    assert [in_flight(stage, 3, 2, ONE_F_ONE_B) for stage in range(3)] == [2, 2, 1]
    assert [in_flight(stage, 3, 8, GPIPE) for stage in range(3)] == [8, 8, 8]
