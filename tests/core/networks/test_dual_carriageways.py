"""Carriageways alongside each other: which lines are some, and the direction of their traffic."""

import numpy as np
import pytest

from tests.core.support.graphs import lines
from training_core.extraction.centering import tangents
from training_core.jobs import LEFT, RIGHT, UNKNOWN
from training_core.networks.dual_carriageways import (
    ParallelLines,
    carriageway_tags,
    left_fraction,
    other_carriageway,
    runs_against,
)
from training_core.networks.graph import reversed_edges


def dense(*course, step_m=4.0):
    """A line with a vertex every few meters."""
    course = np.array(course, dtype=float)
    along = np.append(0, np.cumsum(np.hypot(*np.diff(course, axis=0).T)))
    at = np.linspace(0, along[-1], int(along[-1] / step_m) + 1)
    return list(zip(*(np.interp(at, along, axis) for axis in course.T)))


def side(graph, width_m=9.0, widths=None):
    """For each line, the share of its vertices with the other carriageway to the left."""
    width = np.full(len(graph.points), width_m) if widths is None else np.repeat(widths, graph.sizes)
    direction = tangents(graph)
    around = ParallelLines(graph.points, direction, width)
    return left_fraction(graph, direction, other_carriageway(graph.points, direction, width, around))


def test_two_lines_alongside_are_carriageways_also_in_a_curve():
    left = side(lines(dense((0, 0), (500, 0)), dense((0, 20), (500, 20))))
    assert left[0] > 0.6 and left[1] < -0.6
    angle = np.linspace(0, np.pi / 2, 200)
    arc = np.column_stack([np.cos(angle), np.sin(angle)])
    left = side(lines(dense(*(600 * arc)), dense(*(618 * arc))))
    assert left[0] < -0.6 and left[1] > 0.6


@pytest.mark.parametrize(
    ("other", "width_m"),
    [
        (dense((0, 60), (500, 60)), 9.0),  # another street
        (dense((0, 9), (500, 9)), 9.0),  # no median in between
        (dense((0, 20), (500, 20)), 4.0),  # alleys
        (dense((200, 20), (280, 20)), 9.0),  # soon ends
        (dense((0, 20), (500, 220)), 9.0),  # leads away
    ],
)
def test_other_lines_are_none(other, width_m):
    assert np.abs(side(lines(dense((0, 0), (500, 0)), other), width_m)).max() < 0.5


@pytest.mark.parametrize(("driving_side", "against"), [(RIGHT, [False, True]), (LEFT, [True, False])])
def test_lines_run_with_the_traffic(driving_side, against):
    # Both eastward: where one drives on the right, the northern one runs against its traffic.
    graph = lines(dense((0, 0), (500, 0)), dense((0, 20), (500, 20)))
    left = side(graph)
    assert runs_against(left, driving_side).tolist() == against
    directed = reversed_edges(graph, runs_against(left, driving_side))
    turned = side(directed)
    assert not runs_against(turned, driving_side).any() and np.abs(turned) == pytest.approx(np.abs(left))
    assert carriageway_tags(left, driving_side)["oneway"].tolist() == ["yes", "yes"]
    assert directed.lengths() == pytest.approx(graph.lengths())
    assert (directed.nodes[directed.edges[:, 0]] == directed.points[directed.offsets[:-1]]).all()


def test_without_a_driving_side_lines_are_tagged_and_stay():
    left = np.array([0.9, -0.9, 0.1])
    assert not runs_against(left, UNKNOWN).any()
    tags = carriageway_tags(left, UNKNOWN)
    assert list(tags) == ["dual_carriageway"] and tags["dual_carriageway"].tolist() == ["yes", "yes", None]
