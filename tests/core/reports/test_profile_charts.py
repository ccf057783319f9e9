"""Charts of a step: the flame graph, the time line, the curve of memory."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.core.support.browser import HOSTILE, Page
from tests.core.support.profiles import make_run
from training_core.profiling.profile import Kind, LayerRow, MemoryCurve, Span, ThreadLoad, TimeLine
from training_core.reports.colors import kind_color
from training_core.reports.profile_charts import (
    LEFT_PX,
    MIN_PX,
    WIDTH_PX,
    blocks_of,
    flame_graph,
    lane,
    memory_curve,
    points_of,
    time_line,
)
from training_core.reports.svg import ticks

PIXELS = WIDTH_PX - LEFT_PX


def layer(name, forward_s, backward_s=0.0, rest_s=0.0):
    return LayerRow(name, 1.0, forward_s + backward_s + rest_s, 0.0, forward_s=forward_s, backward_s=backward_s)


STEP = [
    layer("encoder.conv1", 0.1, 0.2),
    layer("encoder.layer1", 0.05),
    layer("encoder.layer1.bn", 0.15),
    layer("head", 0.1, 0.1),
    layer("optimizer", 0.0, 0.0, 0.3),
]


def flame_boxes(layers):
    """Left and width of each box in thousandths of the step, by direction, depth and name."""
    return {
        (block.direction, block.depth, block.name): (pytest.approx(block.x), pytest.approx(block.width))
        for block in blocks_of(layers)
    }


def test_boxes_are_as_wide_as_their_time():
    found = flame_boxes(STEP)
    assert WIDTH_PX == 1000  # of a step of 1 s
    assert found == {
        ("", 0, "step"): (0, 1000),
        ("forward", 1, "forward"): (0, 400),
        ("forward", 2, "encoder"): (0, 300),
        ("forward", 3, "layer1"): (0, 200),
        ("forward", 4, "bn"): (0, 150),
        ("forward", 3, "conv1"): (200, 100),
        ("forward", 2, "head"): (300, 100),
        ("backward", 1, "backward"): (400, 300),
        ("backward", 2, "encoder"): (400, 200),
        ("backward", 3, "conv1"): (400, 200),
        ("backward", 2, "head"): (600, 100),
        ("outside of modules", 1, "outside of modules"): (700, 300),
        ("outside of modules", 2, "optimizer"): (700, 300),
    }


def test_a_module_tells_its_own_time_and_narrow_boxes_are_merged():
    titles = {block.title.replace("\u00a0", " ") for block in blocks_of(STEP)}
    assert "encoder.layer1: 200 ms, 20 % of the step, itself 50.0 ms" in titles
    assert "head: 100 ms, 10 % of the step" in titles
    many = [layer("wide", 1.0), *(layer(f"narrow{number}", 0.002) for number in range(50))]
    found = blocks_of(many)
    (other,) = [block for block in found if block.name == "other"]
    assert other.width == pytest.approx(1000 * 0.1 / 1.1)
    assert "50 smaller ones" in other.title.replace("\u00a0", " ")
    assert all(block.width >= MIN_PX for block in found)


def test_names_are_escaped_and_hostile_nesting_is_drawn():
    svg = flame_graph("A name", [layer(".".join("a" * 5000), 0.5, 0.5), layer(HOSTILE, 0.5)])
    assert "<script" not in svg
    assert "<script>" in Page(svg).text
    svg = time_line("A name", TimeLine(spans=(span("other", 0.0, 1.0, HOSTILE, HOSTILE),)))
    assert "<script" not in svg and HOSTILE in Page(svg).text


def span(kind, begin_s, duration_s, thread="main thread", name="call"):
    return Span(thread, name, kind, "", begin_s, duration_s)


def lane_boxes(parts):
    """Left, width and fill of each box but the ground of the lane."""
    found = re.findall(r'<rect x="([\d.]+)" y="[\d.]+" width="([\d.]+)" height="[\d.]+" fill="([^"]+)"', "".join(parts))
    return [(float(x), float(width), fill) for x, width, fill in found][1:]


def test_spans_lie_where_they_were_and_narrow_ones_are_merged_by_the_kind_that_takes_longest():
    found = lane_boxes(lane([span(Kind.CONVOLUTION, 0.25, 0.5), span(Kind.LOSS, 0.9, 0.1)], 0, PIXELS))
    assert found == [
        (pytest.approx(LEFT_PX + 0.25 * PIXELS), pytest.approx(0.5 * PIXELS), kind_color(Kind.CONVOLUTION)),
        (pytest.approx(LEFT_PX + 0.9 * PIXELS), pytest.approx(0.1 * PIXELS), kind_color(Kind.LOSS)),
    ]
    pixel_s = 1 / PIXELS
    spans = []
    for number in range(100):  # two in each pixel: three fifths normalization, two fifths loss
        spans.append(span(Kind.NORMALIZATION, number * pixel_s, 0.6 * pixel_s))
        spans.append(span(Kind.LOSS, (number + 0.6) * pixel_s, 0.4 * pixel_s))
    assert lane_boxes(lane(spans, 0, PIXELS)) == [(LEFT_PX, 100, kind_color(Kind.NORMALIZATION))]
    spans = [span((Kind.CONVOLUTION, Kind.LOSS)[number % 2], number / 50_000, 1 / 50_000) for number in range(50_000)]
    assert len(lane_boxes(lane(spans, 0, PIXELS))) <= PIXELS


def test_phases_threads_and_loads_are_named():
    run = make_run()
    page = Page(time_line("A name", run.time_line))
    for words in ("phases", "forward", "backward", "main thread", "data thread", "thread 0", "thread 3", "200 ms"):
        assert words in page.text
    assert page.text.index("main thread") < page.text.index("data thread")
    assert "validation: " in page.text  # too narrow for its name, but the pointer tells


def test_the_busier_a_thread_the_darker():
    load = ThreadLoad("worker", (0.0, 0.5, 0.5, 1.0), 0.25)
    svg = time_line("A name", TimeLine(phases=(("forward", 0.0, 1.0),), loads=(load,)))
    drawn = re.findall(r'x="([\d.]+)" y="[\d.]+" width="([\d.]+)"[^>]*fill-opacity="([\d.]+)" shape', svg)
    half, full = ((float(x), float(width), float(opacity)) for x, width, opacity in drawn)
    assert half == (pytest.approx(LEFT_PX + PIXELS / 4), pytest.approx(PIXELS / 2), 0.5)
    assert full == (pytest.approx(LEFT_PX + PIXELS * 3 / 4), pytest.approx(PIXELS / 4), 1.0)


def test_no_peak_is_lost_in_a_long_step_and_a_short_one_is_drawn_point_by_point():
    values = np.zeros(100_000, dtype=int)
    values[[7, 54_321, 99_999]] = 5, 9, 3
    x, drawn = points_of(MemoryCurve(tuple(values.tolist())))
    assert len(x) == len(drawn) <= 1000
    assert sorted(drawn[drawn > 0]) == [3, 5, 9]
    assert abs(x[drawn.argmax()] - (LEFT_PX + 0.54321 * (WIDTH_PX - LEFT_PX))) < 2
    x, drawn = points_of(MemoryCurve((1, 4, 2)))
    assert drawn.tolist() == [1, 4, 2]
    assert x.tolist() == [LEFT_PX, (LEFT_PX + WIDTH_PX) / 2, WIDTH_PX]


def test_phases_tell_their_peaks_and_memory_that_is_given_back_is_below_zero():
    memory = MemoryCurve((1_000_000, 3_000_000, 2_000_000, 500_000), (("forward", 1), (HOSTILE, 3)))
    svg = memory_curve("A name", memory)
    text = Page(svg).text
    assert "forward: peak 3.00 MB" in text and f"{HOSTILE}: peak 2.00 MB" in text
    assert "<script" not in svg
    svg = memory_curve("A name", MemoryCurve((5, -5, 5), (("forward", 2),)))
    Page(svg)
    assert "nan" not in svg


def test_without_a_record_there_are_no_charts():
    assert flame_graph("A name", []) == flame_graph("A name", [layer("idle", 0.0)]) == ""
    assert time_line("A name", TimeLine()) == ""
    assert memory_curve("A name", MemoryCurve()) == memory_curve("A name", MemoryCurve((0, 0))) == ""


def test_ticks_are_round():
    assert ticks(1.0, 4) == [0, 0.2, 0.4, 0.6000000000000001, 0.8, 1.0]
    assert ticks(2.7e9, 4) == [0, 5e8, 1e9, 1.5e9, 2e9, 2.5e9]
    assert ticks(0, 4) == ticks(float("nan"), 4) == [0]
