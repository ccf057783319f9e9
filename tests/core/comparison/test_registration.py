"""Registration of two networks: towns that were shifted by known amounts."""

from __future__ import annotations

import numpy as np
import pytest
import shapely

from tests.core.support.road_graphs import town
from training_core.comparison.network_pair import measure_shift, move_closer
from training_core.networks.lines import make_lines
from training_core.networks.road_graph import as_drawn


def lines_of(seed, **details):
    return as_drawn(make_lines(town(seed, **details).graph.shapes()))


@pytest.mark.parametrize("shift", [(0, 0), (6, 0), (-4, 9), (12, -14)])
def test_a_town_that_was_moved_is_found_where_it_is(shift):
    # Streets are missing in both, and drawn up to a meter aside.
    before, after = lines_of(1, kept=0.9), as_drawn(lines_of(2, kept=0.7).lines.moved(np.array(shift)))
    found = measure_shift(before, after, 30, 30)
    assert found == pytest.approx(shift, abs=0.5)
    moved = move_closer(before, after, found, 5, 30)
    assert (moved is not None) == (shift != (0, 0))
    assert moved is None or measure_shift(moved, after, 30, 30) == pytest.approx((0, 0), abs=0.5)


def test_one_road_that_has_moved_is_no_shift():
    before = lines_of(1)
    shapes = before.lines.shapes.copy()
    longest = shapely.length(shapes).argmax()
    shapes[longest] = shapely.affinity.translate(shapes[longest], 10, 10)
    assert measure_shift(before, as_drawn(make_lines(shapes)), 30, 30) == pytest.approx((0, 0), abs=0.1)


def test_roads_of_one_direction_and_networks_far_apart_determine_no_shift():
    streets = [[(0, y), (300, y)] for y in (0, 100, 200)]
    before = as_drawn(make_lines([shapely.LineString(street) for street in streets]))
    assert measure_shift(before, as_drawn(before.lines.moved(np.array([0, 6]))), 30, 30) is None
    before = lines_of(1)
    assert measure_shift(before, as_drawn(before.lines.moved(np.array([5000, 0]))), 30, 30) is None
