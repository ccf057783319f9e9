"""The time line of a step: spans to scale, narrow ones merged."""

from __future__ import annotations

import re

import pytest

from tests.core.support.browser import HOSTILE, Page
from tests.core.support.profiles import make_run
from training_core.profiling.profile import CONVOLUTION, LOSS, NORMALIZATION, Span, ThreadLoad, TimeLine
from training_core.reports.kind_colors import kind_color
from training_core.reports.time_line import LEFT_PX, WIDTH_PX, lane, time_line

PIXELS = WIDTH_PX - LEFT_PX


def span(kind, begin_s, duration_s, thread="main thread", name="call"):
    return Span(thread, name, kind, "", begin_s, duration_s)


def boxes(parts):
    """Left, width and fill of each box but the ground of the lane."""
    found = re.findall(r'<rect x="([\d.]+)" y="[\d.]+" width="([\d.]+)" height="[\d.]+" fill="([^"]+)"', "".join(parts))
    return [(float(x), float(width), fill) for x, width, fill in found][1:]


def test_spans_lie_where_they_were():
    found = boxes(lane([span(CONVOLUTION, 0.25, 0.5), span(LOSS, 0.9, 0.1)], 0, PIXELS))
    assert found == [
        (pytest.approx(LEFT_PX + 0.25 * PIXELS), pytest.approx(0.5 * PIXELS), kind_color(CONVOLUTION)),
        (pytest.approx(LEFT_PX + 0.9 * PIXELS), pytest.approx(0.1 * PIXELS), kind_color(LOSS)),
    ]


def test_spans_narrower_than_a_pixel_are_merged_by_the_kind_that_takes_longest():
    pixel_s = 1 / PIXELS
    spans = []
    for number in range(100):  # two in each pixel: three fifths normalization, two fifths loss
        spans.append(span(NORMALIZATION, number * pixel_s, 0.6 * pixel_s))
        spans.append(span(LOSS, (number + 0.6) * pixel_s, 0.4 * pixel_s))
    assert boxes(lane(spans, 0, PIXELS)) == [(LEFT_PX, 100, kind_color(NORMALIZATION))]


def test_the_number_of_boxes_is_bounded():
    spans = [span((CONVOLUTION, LOSS)[number % 2], number / 50_000, 1 / 50_000) for number in range(50_000)]
    assert len(boxes(lane(spans, 0, PIXELS))) <= PIXELS


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


def test_names_are_escaped():
    svg = time_line("A name", TimeLine(spans=(span("other", 0.0, 1.0, HOSTILE, HOSTILE),)))
    assert "<script" not in svg and HOSTILE in Page(svg).text


def test_without_a_record_there_is_no_time_line():
    assert time_line("A name", TimeLine()) == ""
