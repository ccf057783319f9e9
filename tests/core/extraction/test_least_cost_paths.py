"""The likeliest path between two places."""

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.csgraph import dijkstra
from shapely import LineString

from training_core.extraction.least_cost_paths import cheapest_rows, least_cost_paths
from training_core.networks.surroundings import log_odds


def paths_through(probability_at, *pairs, threshold=0.5):
    starts, ends = (np.array(each, dtype=float) for each in zip(*pairs))
    return least_cost_paths(starts, ends, probability_at, threshold)


def along(line, width_m=2.0, near=0.8, far=0.02):
    """The probability of a road along a line, the likelier the nearer to its middle."""

    def probability_at(points):
        distance_m = shapely.distance(line, shapely.points(points))
        return np.where(distance_m < 2 * width_m, far + (near - far) * np.exp(-((distance_m / width_m) ** 2)), far)

    return probability_at


@pytest.mark.parametrize("origin", [(0.0, 0.0), (1000.25, -73.5)])
def test_a_path_follows_a_bent_road(origin):
    bend = LineString(np.array([(0, 0), (10, 5), (20, 12), (30, 12), (40, 6), (50, 0)]) + origin)
    (path,) = paths_through(along(bend), (origin, np.add(origin, (50, 0)))).shapes()
    assert path.hausdorff_distance(bend) < 1.5
    assert path.coords[0] == origin and path.coords[-1] == tuple(np.add(origin, (50, 0)))


def test_where_all_is_alike_a_path_is_straight():
    paths = paths_through(lambda points: np.full(len(points), 0.3), ((0, 0), (30, 40)), ((5, 5), (5, 6.5)))
    for path in paths.shapes():
        assert path.length == pytest.approx(LineString([path.coords[0], path.coords[-1]]).length, rel=1e-9)


def test_evidence_is_none_at_the_threshold_less_where_nothing_is_known_and_bounded():
    paths = paths_through(lambda points: np.where(points[:, 0] < 10, 0.4, np.nan), ((0, 0), (20, 0)), threshold=0.4)
    known = paths.points[:, 0] < 10
    assert paths.evidence[known] == pytest.approx(0)
    assert (paths.evidence[~known] < -4).all()
    assert np.isfinite(log_odds(np.array([0.0, 1.0, np.nan]))).all()
    assert log_odds(np.array([0.5, 0.9])) == pytest.approx([0, np.log(9)])


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 24))
def test_no_path_through_a_lattice_is_cheaper(seed, steps):
    """Against Dijkstra's algorithm."""
    probability = np.random.default_rng(seed).random((steps + 1, 2 * (steps // 2) + 1))
    price = 0.1 - np.log(np.maximum(probability, 0.02))
    (rows,) = cheapest_rows(probability[None], np.ones(1))
    at = price[np.arange(steps + 1), rows]
    found = (np.hypot(1, np.diff(rows)) * (at[1:] + at[:-1]) / 2).sum()
    number = np.arange(price.size).reshape(price.shape)
    links = np.zeros((price.size, price.size))
    for aside in (-1, 0, 1):
        inner = number[:-1, max(0, -aside) : price.shape[1] - max(0, aside)].ravel()
        other = inner + price.shape[1] + aside
        links[inner, other] = np.hypot(1, aside) * (price.ravel()[inner] + price.ravel()[other]) / 2
    assert found == pytest.approx(dijkstra(links, indices=number[0, steps // 2])[number[-1, steps // 2]])
