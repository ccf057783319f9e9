import itertools

import pytest

from training_core.learning.training_loop import Throughput

CHIPS = 4


def warnings_of(*stretches):
    """Feed steps, from (seconds in all, seconds a step) each; return the warnings."""
    throughput = Throughput()
    steps = itertools.chain.from_iterable([step_s] * round(total_s / step_s) for total_s, step_s in stretches)
    return [text for text in (throughput.add_step(step_s, CHIPS) for step_s in steps) if text]


@pytest.mark.parametrize(
    "stretches", [[(120, 0.2), (45, 0.5), (60, 0.2), (20, 0.5), (55, 0.2)], [(60, 0.2), (3600, 0.5), (60, 0.2)]]
)
def test_a_fall_to_less_than_half_is_warned_of_once(stretches):
    (warning,) = warnings_of(*stretches)
    assert "fallen to 40%" in warning


@pytest.mark.parametrize(
    "stretches",
    {
        "no step": [],
        "steady, or mildly varying": [(5, 0.2), (5, 0.3), (3, 0.24), (4, 0.35)] * 10,
        "a slow first step": [(60, 60), (60, 0.2)],
        "faster and faster": [(60, 0.5), (120, 0.2)],
        **{
            f"single steps of {long_s} s": [*[(30, 0.2), (long_s, long_s)] * 2, (30, 0.2)] for long_s in (3, 600, 30000)
        },
    }.values(),
)
def test_what_is_no_finding(stretches):
    assert not warnings_of(*stretches)
