"""Where a network may be broken, and the order of the places."""

import numpy as np
import pytest
import shapely

from tests.core.support.graphs import evident, lines
from training_core.networks.cleaning import Removed
from training_core.networks.graph import EMPTY, join_chains
from training_core.networks.likely_breaks import APART, DEAD_END, GAP, likely_breaks
from training_core.networks.link_prediction import Links, join_likely
from training_core.networks.surroundings import Surroundings


def found(graph, evidence=-5.0, removed=None):
    """The likely breaks of roads between which there is some evidence."""
    surroundings = evident(evidence)
    graph, links = join_likely(graph, 45.0, 0.3, surroundings)
    return likely_breaks(join_chains(graph), links, removed or Removed(), surroundings)


def test_a_gap_between_two_halves_of_a_road_is_named_with_the_paths_that_it_cuts():
    breaks = found(lines([(0, 0), (100, 0)], [(130, 0), (230, 0)]))
    assert breaks.kind.tolist() == [GAP]
    assert breaks.get_coordinates().to_numpy() == pytest.approx(np.array([[115, 0]]))
    assert breaks.length_m.tolist() == pytest.approx([30])
    assert breaks.paths_share.tolist() == pytest.approx([0.5])  # of two places, one lies in each half
    assert 0 < breaks.probability[0] < 0.3


def test_what_is_joined_and_an_empty_network_have_no_break():
    assert not len(found(lines([(0, 0), (100, 0)], [(130, 0), (230, 0)]), evidence=5.0).kind)
    assert not len(likely_breaks(EMPTY, Links.none(), Removed(), Surroundings()).kind)
    assert not len(found(lines([(0, 0), (1000, 0)])).kind)


def test_within_a_component_a_gap_counts_by_the_detours_that_it_would_spare():
    # Two sides of a long rectangle are connected at its one end; a gap at the other end would be a shortcut.
    breaks = found(lines([(500, 0), (0, 0), (0, 300), (500, 300)], [(500, 300), (500, 170)], [(500, 0), (500, 130)]))
    shortcut = np.flatnonzero(breaks.distance(shapely.Point(500, 150)) < 1)
    assert shortcut.tolist() == [0]
    # On a ring of 1,600 m with a gap of 40 m, a path changes where it is longer than half of the ring.
    assert breaks.paths_share[0] == pytest.approx((1 - 820 / 1560) ** 2, abs=0.02)


def test_a_component_without_a_gap_to_another_one_is_apart():
    breaks = found(lines([(0, 0), (1000, 0)], [(0, 60), (200, 60)], [(0, 900), (100, 900)]))
    assert breaks.kind.tolist() == [APART]  # the third one is far
    assert breaks.length_m.tolist() == pytest.approx([60])
    assert breaks.paths_share.tolist() == pytest.approx([2 * 1000 * 200 / 1300**2])


def test_a_removed_dead_end_counts_by_the_paths_that_lead_there():
    removed = Removed(np.array([shapely.LineString([(500, 0), (500, 50)])]), np.array([0.4]))
    breaks = found(lines([(0, 0), (1000, 0)]), removed=removed)
    assert breaks.kind.tolist() == [DEAD_END] and breaks.probability.tolist() == [0.4]
    assert breaks.paths_share.tolist() == pytest.approx([2 * 50 / 1000])


def test_breaks_at_one_place_are_one():
    breaks = found(lines([(0, 0), (1000, 0)], [(500, 30), (500, 130)], [(504, 30), (560, 130)]))
    assert (breaks.geometry[1:].distance(breaks.geometry[0]) > 15).all()
