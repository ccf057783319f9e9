"""The curve of memory over a step."""

from __future__ import annotations

import numpy as np

from tests.core.support.browser import HOSTILE, Page
from training_core.profiling.profile import MemoryCurve
from training_core.reports.memory_curve import LEFT_PX, WIDTH_PX, memory_curve, points_of
from training_core.reports.svg import ticks


def test_no_peak_is_lost_in_a_long_step():
    values = np.zeros(100_000, dtype=int)
    values[[7, 54_321, 99_999]] = 5, 9, 3
    x, drawn = points_of(MemoryCurve(tuple(values.tolist())))
    assert len(x) == len(drawn) <= 1000
    assert sorted(drawn[drawn > 0]) == [3, 5, 9]
    assert abs(x[drawn.argmax()] - (LEFT_PX + 0.54321 * (WIDTH_PX - LEFT_PX))) < 2


def test_a_short_step_is_drawn_point_by_point():
    x, drawn = points_of(MemoryCurve((1, 4, 2)))
    assert drawn.tolist() == [1, 4, 2]
    assert x.tolist() == [LEFT_PX, (LEFT_PX + WIDTH_PX) / 2, WIDTH_PX]


def test_phases_tell_their_peaks():
    memory = MemoryCurve((1_000_000, 3_000_000, 2_000_000, 500_000), (("forward", 1), (HOSTILE, 3)))
    svg = memory_curve("A name", memory)
    text = Page(svg).text
    assert "forward: peak 3.00 MB" in text and f"{HOSTILE}: peak 2.00 MB" in text
    assert "<script" not in svg


def test_memory_that_a_step_gives_back_is_below_zero():
    svg = memory_curve("A name", MemoryCurve((5, -5, 5), (("forward", 2),)))
    Page(svg)
    assert "nan" not in svg


def test_without_memory_there_is_no_curve():
    assert memory_curve("A name", MemoryCurve()) == memory_curve("A name", MemoryCurve((0, 0))) == ""


def test_ticks_are_round():
    assert ticks(1.0, 4) == [0, 0.2, 0.4, 0.6000000000000001, 0.8, 1.0]
    assert ticks(2.7e9, 4) == [0, 5e8, 1e9, 1.5e9, 2e9, 2.5e9]
    assert ticks(0, 4) == ticks(float("nan"), 4) == [0]
