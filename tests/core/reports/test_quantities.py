"""Numbers with their units."""

from __future__ import annotations

import pytest

from training_core.reports.quantities import calls, number, percent, quantity, seconds


def plain(text):
    """A text with the spaces and the minus of a keyboard."""
    return text.replace("\u00a0", " ").replace("\u2212", "-").replace("\u2013", "-")


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (1.934e12, "FLOP/s", "1.93 TFLOP/s"),
        (4.2e10, "B/s", "42.0 GB/s"),
        (999.6, "B", "1.00 kB"),
        (999.4, "B", "999 B"),
        (0.0, "B", "0 B"),
        (0.25, "FLOP", "0.250 FLOP"),
        (5.1e10, "", "51.0 G"),
        (7.0, "", "7.00"),
        (None, "B", "-"),
        (float("inf"), "B", "inf B"),
        (3e30, "FLOP", "3,000,000,000,000,000 PFLOP"),
    ],
)
def test_quantities_have_three_digits_and_a_prefix(value, unit, shown):
    assert plain(quantity(value, unit)) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [(1.2344, "1.23 s"), (0.0456, "45.6 ms"), (7.89e-6, "7.89 µs"), (4.2e-13, "0 s"), (-0.17, "-170 ms"), (0, "0 s")],
)
def test_times_go_from_nanoseconds_to_seconds(value, shown):
    assert plain(seconds(value)) == shown


@pytest.mark.parametrize(
    ("share", "shown"),
    [
        (0.1234, "12 %"), (0.0996, "10 %"), (0.0342, "3.4 %"), (0.00052, "0.05 %"), (-0.17, "-17 %"), (0.0, "0 %"),
        (-1e-9, "0 %"), (None, "-"), (1.5, "150 %"),
    ],
)  # fmt: skip
def test_shares_are_percent(share, shown):
    assert plain(percent(share)) == shown


def test_calls_are_whole_where_they_can_be():
    assert [calls(value) for value in (12.0, 1234.0, 0.25)] == ["12", "1,234", "0.250"]
    assert [plain(number(value)) for value in (1168.4, 0.5, None)] == ["1,168", "0.500", "-"]
