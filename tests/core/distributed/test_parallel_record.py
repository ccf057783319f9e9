import math

import pytest

from training_core.distributed.parallel_record import expected_maximum, figures

# Ten steps of 2.5 s: the processes compute 2.2 and 1.8 s of each, and exchange for 0.3 s.
TIMES_S = 25.0, (22.0, 18.0), 3.0


def test_speed_up_is_the_computing_of_all_by_the_duration():
    found = figures(*TIMES_S)
    assert found["speed_up"] == pytest.approx(40 / 25) and found["efficiency"] == pytest.approx(0.8)
    assert found["communication_fraction"] == pytest.approx(0.12) and found["imbalance"] == pytest.approx(0.1)


def test_threads_that_send_while_the_others_compute_are_no_speed_up():
    overlapped = figures(*TIMES_S, handling_s=4.0)
    assert overlapped["speed_up"] == pytest.approx((40 - 8) / 25)
    assert overlapped["communication_fraction"] == pytest.approx(7 / 25)
    assert overlapped["expected_speed_ups"][1] == pytest.approx(overlapped["speed_up"])
    busy = figures(*TIMES_S, handling_s=25.0)  # more than it computed, as clocks may have it
    assert busy["speed_up"] < 1e-6 and busy["expected_speed_ups"][3] < 1e-6


def test_the_expected_speed_up_goes_through_this_run():
    expected = figures(*TIMES_S)["expected_speed_ups"]
    assert len(expected) == 8 and expected[1] == pytest.approx(1.6) and expected[0] == pytest.approx(1.0)
    # Communication of 0.3 s grows with 2 (n - 1) / n; waiting of 0.2 s with the expected maximum of normal values.
    step_s = 2.0 + 0.3 * 1.5 + 0.2 * expected_maximum(4) / expected_maximum(2)
    assert expected[3] == pytest.approx(4 * 2.0 / step_s)


@pytest.mark.parametrize(
    ("count", "expected"),
    # Order statistics of the normal distribution: closed forms up to 5, the others from the tables of Harter (1961).
    [(1, 0), (2, 1 / math.sqrt(math.pi)), (3, 1.5 / math.sqrt(math.pi)),
     (4, 6 / math.sqrt(math.pi) * (0.25 + math.asin(1 / 3) / (2 * math.pi))),
     (10, 1.53875), (100, 2.50759)],
)  # fmt: skip
def test_the_expected_maximum_of_normal_values(count, expected):
    assert expected_maximum(count) == pytest.approx(expected, abs=1e-5)
