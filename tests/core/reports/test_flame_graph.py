"""The flame graph: boxes as wide as the time in them."""

from __future__ import annotations

import pytest

from tests.core.support.browser import HOSTILE, Page
from tests.core.support.profiles import make_run
from training_core.profiling.profile import LayerRow
from training_core.reports.flame_graph import MIN_PX, WIDTH_PX, blocks_of, flame_graph


def layer(name, forward_s, backward_s=0.0, rest_s=0.0):
    return LayerRow(name, 1.0, forward_s + backward_s + rest_s, 0.0, forward_s=forward_s, backward_s=backward_s)


STEP = [
    layer("encoder.conv1", 0.1, 0.2),
    layer("encoder.layer1", 0.05),
    layer("encoder.layer1.bn", 0.15),
    layer("head", 0.1, 0.1),
    layer("optimizer", 0.0, 0.0, 0.3),
]


def boxes(layers):
    """Left and width of each box in thousandths of the step, by direction, depth and name."""
    return {
        (block.direction, block.depth, block.name): (pytest.approx(block.x), pytest.approx(block.width))
        for block in blocks_of(layers)
    }


def test_boxes_are_as_wide_as_their_time():
    found = boxes(STEP)
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


def test_a_module_tells_its_own_time_beside_that_within():
    titles = {block.title.replace("\u00a0", " ") for block in blocks_of(STEP)}
    assert "encoder.layer1: 200 ms, 20 % of the step, itself 50.0 ms" in titles
    assert "head: 100 ms, 10 % of the step" in titles


def test_narrow_boxes_are_merged():
    many = [layer("wide", 1.0), *(layer(f"narrow{number}", 0.002) for number in range(50))]
    found = blocks_of(many)
    (other,) = [block for block in found if block.name == "other"]
    assert other.width == pytest.approx(1000 * 0.1 / 1.1)
    assert "50 smaller ones" in other.title.replace("\u00a0", " ")
    assert all(block.width >= MIN_PX for block in found)


def test_boxes_of_a_row_lie_side_by_side_within_their_module():
    rows = {}
    for block in blocks_of(make_run().layers):
        rows.setdefault(block.depth, []).append((block.x, block.x + block.width))
    for depth, spans in rows.items():
        spans.sort()
        assert all(end <= begin + 1e-6 for (_, end), (begin, _) in zip(spans, spans[1:]))
        if depth:
            above = rows[depth - 1]
            assert all(
                any(left - 1e-6 <= begin and end <= right + 1e-6 for left, right in above) for begin, end in spans
            )


def test_modules_nested_by_a_hostile_hand_are_drawn():
    svg = flame_graph("A name", [layer(".".join("a" * 5000), 0.5, 0.5), layer(HOSTILE, 0.5)])
    assert "<script" not in svg
    assert "<script>" in Page(svg).text


def test_without_time_there_is_no_graph():
    assert flame_graph("A name", []) == flame_graph("A name", [layer("idle", 0.0)]) == ""
