import math
from dataclasses import replace

import numpy as np
import pytest

from training_core.distributed.scaling import StepTime, expected_maximum, fit_transfer

# 1 s of work, 100 MB of gradients, a network of 1 GB/s.
PLAIN = StepTime(compute_s=1.0, gradient_values=25_000_000, link_bytes_per_s=1e9)


def test_one_rank_alone_only_computes():
    alone = replace(PLAIN, spread=0.1, latency_s=1.0, handled_bytes_per_s=1.0)
    assert alone.step_s(1) == pytest.approx(1.0, abs=1e-9)
    assert alone.sent_bytes(1) == alone.communication_s(1) == 0
    assert alone.speed_up(1) == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize(("ranks", "sent_mb"), [(2, 100), (4, 150), (100, 198)])
def test_each_rank_sends_its_gradients_almost_twice(ranks, sent_mb):
    assert PLAIN.sent_bytes(ranks) == pytest.approx(sent_mb * 1e6)
    assert PLAIN.step_s(ranks) == pytest.approx(1 + sent_mb / 1000)
    assert PLAIN.speed_up(ranks) == pytest.approx(ranks / (1 + sent_mb / 1000))


def test_latency_counts_for_every_message():
    assert replace(PLAIN, latency_s=0.01).communication_s(4) == pytest.approx(6 * 0.01 + 0.15)


def test_a_value_of_two_bytes_takes_half_the_time():
    assert replace(PLAIN, value_bytes=2).communication_s(4) == pytest.approx(0.075)


def test_the_slower_of_network_and_processor_counts():
    assert replace(PLAIN, handled_bytes_per_s=2e9).communication_s(2) == pytest.approx(0.1)
    assert replace(PLAIN, handled_bytes_per_s=5e8).communication_s(2) == pytest.approx(0.2)


def test_gradients_that_travel_while_the_rank_computes_cost_what_its_processor_does_for_them():
    overlapped = replace(PLAIN, handled_bytes_per_s=4e9, overlap=0.05)
    assert overlapped.communication_s(2) == pytest.approx(0.05)  # of 0.1 s, 0.05 s of the computing
    assert replace(overlapped, overlap=0.5).communication_s(2) == pytest.approx(0.025)


@pytest.mark.parametrize(
    ("count", "expected"),
    # Order statistics of the normal distribution: closed forms up to 5, the others from the tables of Harter (1961).
    [(1, 0), (2, 1 / math.sqrt(math.pi)), (3, 1.5 / math.sqrt(math.pi)),
     (4, 6 / math.sqrt(math.pi) * (0.25 + math.asin(1 / 3) / (2 * math.pi))),
     (10, 1.53875), (100, 2.50759)],
)  # fmt: skip
def test_the_expected_maximum_of_normal_values(count, expected):
    assert expected_maximum(count) == pytest.approx(expected, abs=1e-5)


def test_all_wait_for_the_slowest():
    uneven = StepTime(compute_s=2.0, gradient_values=0, spread=0.1)
    assert uneven.step_s(2) == pytest.approx(2 + 0.2 / math.sqrt(math.pi))
    drawn = np.random.default_rng(0).normal(2, 0.2, (100_000, 16)).max(axis=1).mean()
    assert uneven.step_s(16) == pytest.approx(drawn, rel=2e-3)


def test_a_fit_finds_latency_and_throughput_again():
    messages, sent_bytes = np.array([2, 2, 6, 6]), np.array([4e3, 1e8, 1e6, 2e8])
    seconds = 0.0002 * messages + sent_bytes / 1.25e9
    assert fit_transfer(messages, sent_bytes, seconds) == pytest.approx((0.0002, 1.25e9))


def test_a_fit_never_finds_a_latency_below_zero():
    latency_s, bytes_per_s = fit_transfer([2, 2], [1e8, 2e8], [0.09, 0.21])
    assert latency_s == 0 and 9e8 < bytes_per_s < 1.2e9


def test_where_more_bytes_take_no_longer_the_throughput_is_infinite():
    assert fit_transfer([2, 2], [1e3, 2e3], [0.02, 0.02])[1] == math.inf
