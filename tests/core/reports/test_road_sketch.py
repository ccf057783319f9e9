"""A sketch of a network that comes in parts."""

from __future__ import annotations

import numpy as np
import pytest
from shapely import LineString

from training_core.reports.road_sketch import RoadSketch


def lines(first, count):
    return np.array([LineString([(number, 0), (number, 1)]) for number in range(first, first + count)], dtype=object)


def test_a_small_network_is_kept_whole():
    sketch = RoadSketch(100)
    assert len(sketch.lines) == 0
    sketch.add(lines(0, 60))
    sketch.add(lines(60, 40))
    assert (len(sketch.lines), sketch.every) == (100, 1)


@pytest.mark.parametrize("part", [1, 7, 64, 1000])
def test_of_a_large_one_every_nth_line_is_kept_whatever_parts_it_comes_in(part):
    sketch = RoadSketch(100)
    for first in range(0, 1000, part):
        sketch.add(lines(first, min(part, 1000 - first)))
    assert sketch.every == 16
    assert [line.coords[0][0] for line in sketch.lines] == list(range(0, 1000, 16))
