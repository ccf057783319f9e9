import math
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.scaling_model import StepTime, fit_costs
from training_core.distributed.parallel_record import expected_maximum

# 1 s of work, 100 MB of gradients, a network of 1 GB/s.
PLAIN = StepTime(compute_s=1.0, gradient_values=25_000_000, link_bytes_per_s=1e9)


def test_one_rank_alone_only_computes():
    alone = replace(PLAIN, spread=0.1, latency_s=1.0, packing_s_per_byte=1.0, handling_s_per_byte=1.0)
    assert alone.step_s(1) == pytest.approx(1.0, abs=1e-9)
    assert alone.sent_bytes(1) == alone.communication_s(1) == 0
    assert alone.speed_up(1) == pytest.approx(1.0, abs=1e-9)


def test_every_batch_of_a_rank_is_packed_and_sent_and_the_sums_are_sent_once():
    three = replace(PLAIN, rounds=3, packing_s_per_byte=1e-8, link_bytes_per_s=math.inf)
    assert three.sent_bytes(2) == pytest.approx(4 * 50e6) and three.communication_s(2) == pytest.approx(3.0)
    assert three.messages(2) == 4 * 6 and three.messages(3) == 4 * 2 * 6  # 6 buckets of 16 MB


def test_the_slower_of_network_and_processor_counts():
    # 150 MB sent and 100 MB packed by 4 ranks, in 36 messages, take the processor 0.03 + 0.01 + 0.06 s, or ten times
    # that.
    handled = replace(PLAIN, handling_s_per_byte=2e-10, packing_s_per_byte=1e-10, latency_s=0.06 / 36)
    assert handled.handling_s(4) == pytest.approx(0.1) and handled.communication_s(4) == pytest.approx(0.15)
    slow = replace(PLAIN, handling_s_per_byte=2e-9, packing_s_per_byte=1e-9, latency_s=0.6 / 36)
    assert slow.communication_s(4) == pytest.approx(1.0)


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


def test_a_fit_finds_costs_again():
    amounts = np.array([[2, 4e3, 1], [2, 1e8, 3], [6, 1e6, 2], [6, 2e8, 5]])
    costs = np.array([0.0002, 8e-10, 0.01])
    assert fit_costs(amounts, amounts @ costs) == pytest.approx(costs)
