"""The roofline plot: where dots, roofs and numbers are."""

from __future__ import annotations

import dataclasses
import math
import re
from itertools import combinations

import pytest

from tests.core.support.browser import Page
from tests.core.support.profiles import LIMITS, make_run
from training_core.profiling.profile import Row
from training_core.reports.roofline import axes_for, dots_of, roofline


def row(name, flop, size, time_s):
    return Row(name, 1.0, time_s, 0.1, flop=flop, bytes=size)


def test_dots_have_the_area_of_their_time_and_a_decade_is_the_same_length_everywhere():
    rows = [row("a", 1e6, 1e6, 1.0), row("b", 1e8, 1e7, 1.0), row("c", 1e10, 1e8, 1.0)]
    dots = {dot.row.name: dot for dot in dots_of(rows, axes_for(rows, [1e11], [1e9]))}
    assert dots["b"].x - dots["a"].x == pytest.approx(dots["c"].x - dots["b"].x)  # 1, 10 and 100 FLOP a byte
    assert dots["a"].y - dots["b"].y == pytest.approx(dots["b"].y - dots["c"].y)  # 1e6, 1e8 and 1e10 FLOP/s
    assert dots["a"].x < dots["b"].x and dots["a"].y > dots["b"].y
    rows = [row("long", 1e9, 1e8, 0.9), row("short", 1e9, 1e8, 0.3)]
    long, short = dots_of(rows, axes_for(rows, [], []))
    assert (long.row.name, short.row.name) == ("long", "short")
    assert long.radius**2 / short.radius**2 == pytest.approx(3)


def test_all_roofs_and_dots_are_on_the_plot():
    rows = [row("slow", 1e6, 1e8, 10.0), row("fast", 1e12, 1e9, 1.0)]
    axes = axes_for(rows, [2e12, 4e11], [4e10, 3e11])
    for intensity in (0.01, 1000, 2e12 / 4e10, 4e11 / 3e11):
        assert axes.left < math.log10(intensity) < axes.right
    for per_s in (1e5, 1e12, 2e12):
        assert axes.bottom < math.log10(per_s) < axes.top


def test_roofs_are_named_with_what_was_measured_if_anything_was():
    page = Page(roofline("A name", make_run(), LIMITS))
    for words in ("memory 42.0 GB/s", "cache 260 GB/s", "FP32 peak 460 GFLOP/s", "BF16 peak 1.90 TFLOP/s",
                  "INT8 peak 3.40 TOP/s", "arithmetic intensity"):  # fmt: skip
        assert words in page.text
    assert ("aria-label", "A name") in page.attributes
    nothing = dataclasses.replace(LIMITS, convolution={}, matrix={}, bandwidth={}, cache_per_s=0.0)
    page = Page(roofline("A name", make_run(), nothing))
    assert "peak" not in page.text and "GB/s" not in page.text
    assert "encoder" in page.text or "decoder" in page.text
    run = dataclasses.replace(make_run(), layers=(), primitives=())
    assert roofline("A name", run, LIMITS) == ""


def test_the_largest_are_numbered_and_named_below():
    run = make_run()
    text = Page(roofline("A name", run, LIMITS)).text
    for number, primitive in enumerate(run.primitives[:4], 1):
        assert re.search(rf"\b{number} {re.escape(f'{primitive.name}, {primitive.phase} {primitive.shape}')}: ", text)
    layers = [layer for layer in run.layers if layer.flop]
    for number, layer in enumerate(layers[:4], 5):
        assert re.search(rf"\b{number} {re.escape(layer.name)}, layer: ", text)


@pytest.mark.parametrize("what", ["training", "inference"])
def test_numbers_do_not_overlap(what):
    svg = roofline("A name", make_run(what), LIMITS)
    places = [tuple(map(float, place)) for place in re.findall(r'<circle cx="([\d.]+)" cy="([\d.]+)" r="8.5"', svg)]
    assert len(places) == 8
    for one, other in combinations(places, 2):
        assert max(abs(one[0] - other[0]), abs(one[1] - other[1])) >= 17


@pytest.mark.parametrize(("flop", "size", "time_s"), [(1e18, 1.0, 1e-11), (1.0, 1e18, 1e6), (1e18, 1e18, 1e18)])
def test_absurd_numbers_are_drawn(flop, size, time_s):
    layers = (*make_run().layers, dataclasses.replace(make_run().layers[0], flop=flop, bytes=size, time_s=time_s))
    svg = roofline("A name", dataclasses.replace(make_run(), layers=layers), LIMITS)
    Page(svg)
    assert "nan" not in svg and "inf" not in svg
