from dataclasses import replace

import pytest

from training_core.distributed.parallel_record import ParallelRecord, expected_maximum

# Ten steps of 2.5 s: the processes compute 2.2 and 1.8 s of each, exchange for 0.3 s and send 100 MB each.
RECORD = ParallelRecord(
    processes=2,
    machines=1,
    threads=4,
    steps=10,
    wall_s=25.0,
    compute_s=(22.0, 18.0),
    communication_s=3.0,
    sent_bytes=2_000_000_000,
)


def test_speed_up_is_the_computing_of_all_by_the_duration():
    assert RECORD.speed_up == pytest.approx(40 / 25)
    assert RECORD.efficiency == pytest.approx(0.8)
    assert RECORD.communication_fraction == pytest.approx(0.12)
    assert RECORD.imbalance == pytest.approx(0.1)
    assert RECORD.bytes_per_step == pytest.approx(100e6)


def test_threads_that_send_while_the_others_compute_are_no_speed_up():
    overlapped = replace(RECORD, handling_s=16.0)  # on one of four cores each
    assert overlapped.speed_up == pytest.approx((40 - 8) / 25)
    assert overlapped.communication_fraction == pytest.approx(7 / 25)
    assert overlapped.expected_speed_up(2) == pytest.approx(overlapped.speed_up)
    busy = replace(RECORD, handling_s=100.0)  # more than it computed, as clocks may have it
    assert busy.speed_up == 0 and busy.expected_speed_up(4) == 0


def test_the_expected_speed_up_goes_through_this_run():
    assert RECORD.expected_speed_up(2) == pytest.approx(1.6) and RECORD.expected_speed_up(1) == pytest.approx(1.0)
    # Communication of 0.3 s grows with 2 (n - 1) / n; waiting of 0.2 s with the expected maximum of normal values.
    step_s = 2.0 + 0.3 * 1.5 + 0.2 * expected_maximum(4) / expected_maximum(2)
    assert RECORD.expected_speed_up(4) == pytest.approx(4 * 2.0 / step_s)
