import itertools
import re
import tracemalloc

import pytest

from training_core.learning.training_loop import Throughput

CHIPS = 4


def feed(throughput, *stretches):
    """Feed steps, from (seconds in all, seconds a step) each; return the warnings."""
    steps = itertools.chain.from_iterable([step_s] * round(total_s / step_s) for total_s, step_s in stretches)
    return [text for text in (throughput.add_step(step_s, CHIPS) for step_s in steps) if text]


def seconds_in(text):
    """Return the durations that a text names, in seconds."""
    units = {"s": 1, "min": 60, "h": 3600}
    return [float(number) * units[unit] for number, unit in re.findall(r"([\d.]+) (s|min|h)\b", text)]


def test_a_fall_to_half_is_warned_of_once_and_noted_with_its_length_and_cost():
    throughput = Throughput()
    warnings = feed(throughput, (120, 0.2), (45, 0.5), (60, 0.2), (20, 0.5), (55, 0.2))
    assert len(warnings) == 1
    assert "fallen to 40%" in warnings[0]
    slow_s, total_s, cost_s = seconds_in(throughput.note())
    assert "40% of its usual" in throughput.note()
    assert slow_s == pytest.approx(65, abs=8)  # up to a window at each change
    assert total_s == pytest.approx(300, abs=3)
    assert cost_s == pytest.approx(0.6 * slow_s, abs=1)


@pytest.mark.parametrize(
    "stretches",
    {
        "no step": [],
        "steady, or mildly varying": [(5, 0.2), (5, 0.3), (3, 0.24), (4, 0.35)] * 10,
        "a slow first step": [(60, 60), (60, 0.2)],
        **{
            f"single steps of {long_s} s": [*[(30, 0.2), (long_s, long_s)] * 2, (30, 0.2)] for long_s in (3, 600, 30000)
        },
    }.values(),
)
def test_what_is_no_finding(stretches):
    throughput = Throughput()
    assert not feed(throughput, *stretches)
    assert throughput.note() == ""


def test_what_stays_slow_does_not_become_usual():
    throughput = Throughput()
    assert len(feed(throughput, (60, 0.2), (3600, 0.5))) == 1
    slow_s, _, cost_s = seconds_in(throughput.note())
    assert slow_s == pytest.approx(3600, rel=0.03)
    assert cost_s == pytest.approx(2160, rel=0.03)


def test_a_machine_that_was_busy_from_the_start_is_noted_in_hindsight():
    throughput = Throughput()
    assert not feed(throughput, (60, 0.5), (120, 0.2))
    slow_s, *_ = seconds_in(throughput.note())
    assert slow_s == pytest.approx(60, abs=4)


def test_days_of_training_take_little_memory_and_end_in_the_same_note():
    tracemalloc.start()
    throughput = Throughput()
    warnings = feed(throughput, (24 * 3600, 2), (24 * 3600, 5), (24 * 3600, 2))
    kept_bytes, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept_bytes < 200_000
    assert len(warnings) == 1
    slow_s, total_s, _ = seconds_in(throughput.note())
    assert slow_s == pytest.approx(24 * 3600, rel=0.05)
    assert total_s == pytest.approx(3 * 24 * 3600, rel=0.01)
