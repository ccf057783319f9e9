"""Cleaning of a road graph: spurs, short components, simplification."""

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import ndimage

from tests.core.support.graphs import lines, trace, traced
from training_core.extraction.skeletons import smooth, thin
from training_core.networks.cleaning import (
    component_lengths,
    drop_short_components,
    prune_spurs,
    prune_unlikely,
    simplify,
)
from training_core.networks.graph import scaled
from training_core.networks.junctions import merge_crossings
from training_core.networks.surroundings import Surroundings


def roads(width_m, **known):
    """Roads of one width everywhere, in meters."""
    return Surroundings(width_m=lambda points: np.full(len(points), width_m), **known)


NARROW = roads(1.0)


def component_count(graph):
    return len(np.unique(graph.component[graph.degree > 0]))


def cycles(graph):
    return len(graph.edges) - (graph.degree > 0).sum() + component_count(graph)


def test_a_short_spur_goes_and_the_road_is_whole_again():
    graph = traced((30, 60), np.s_[20, 5:55], np.s_[14:20, 30])
    pruned = prune_spurs(graph, 10, NARROW)
    assert len(pruned.edges) == 1
    assert pruned.lengths() == pytest.approx([49], abs=1)


def test_a_spur_stays_that_is_long_on_the_ground_or_cut_by_the_border():
    long = traced((30, 60), np.s_[20, 5:55], np.s_[5:20, 30])
    assert len(prune_spurs(long, 10, NARROW).edges) == 3
    assert len(prune_spurs(long, 10, roads(20.0)).edges) == 1
    short = traced((30, 60), np.s_[20, 5:55], np.s_[14:20, 30])
    assert len(prune_spurs(scaled(short, (1.0, 3.0)), 10, NARROW).edges) == 3
    cut = traced((30, 60), np.s_[6, 5:55], np.s_[:6, 30])
    assert len(prune_spurs(cut, 10, roads(1.0, is_data_edge=lambda points: points[:, 1] == 0)).edges) == 3


def test_short_components_go_and_long_ones_stay_with_all_their_lines():
    graph = traced((40, 100), np.s_[5, 5:25], np.s_[20, 5:95], np.s_[20:25, 50], np.s_[35, 5:15])
    kept = drop_short_components(graph, 15)
    assert sorted(component_lengths(kept)) == pytest.approx([19, 93], abs=1)
    assert len(kept.edges) == 4
    assert len(drop_short_components(graph, 1000).edges) == 0
    halved = scaled(traced((40, 100), np.s_[5, 5:25]), (0.5, 1.0))  # lengths are those on the ground
    assert len(drop_short_components(halved, 15).edges) == 0


@pytest.mark.parametrize("angle", [0, 22.5, 45, 80])
def test_a_smoothed_line_has_its_true_length(angle):
    steps = np.linspace(0, 300, 2000)
    rows = np.rint(20 + steps * np.sin(np.radians(angle))).astype(int)
    columns = np.rint(20 + steps * np.cos(np.radians(angle))).astype(int)
    pixels = traced((400, 400), (rows, columns))
    graph = smooth(pixels)
    assert (graph.points[graph.is_end] == pixels.points[pixels.is_end]).all()
    assert graph.lengths().sum() == pytest.approx(300, rel=0.01)
    direction = np.array([np.cos(np.radians(angle)), np.sin(np.radians(angle))])
    away = (graph.points - 20) @ np.array([-direction[1], direction[0]])
    assert np.abs(away).max() < 0.75


def test_a_simplified_line_stays_within_its_tolerance():
    x = np.arange(200.0)
    wave = np.column_stack([x / 2, 30 * np.sin(x / 15)])
    graph = lines(wave)
    simple = simplify(graph, 2.0)
    assert 2 < len(simple.points) < 40
    assert shapely.hausdorff_distance(shapely.linestrings(wave), simple.shapes()[0], densify=0.01) <= 2.01
    assert simplify(graph, 0.1).sizes[0] > simple.sizes[0]
    straight = simplify(lines([(column, column) for column in range(50)]), 0.1)
    assert straight.points.tolist() == [[0, 0], [49, 49]]


@pytest.mark.parametrize("radius", [1, 2, 10])
def test_a_ring_stays_a_ring_whatever_the_tolerance(radius):
    angles = np.linspace(0, 2 * np.pi, 41)
    ring = np.rint(50 + radius * 4 * np.column_stack([np.cos(angles), np.sin(angles)]))
    ring[-1] = ring[0]
    simple = simplify(lines(ring), 1000)
    assert len(simple.points) >= 4
    polygon = shapely.polygons(simple.points)
    assert polygon.is_valid
    assert polygon.area > radius**2


def test_parallel_edges_do_not_coincide_once_simplified():
    graph = lines([(0, 0), (5, 3), (10, 0)], [(0, 0), (5, -3), (10, 0)], [(10, 0), (20, 0)], [(-10, 0), (0, 0)])
    simple = simplify(graph, 100)
    assert len({simple.line(edge).tobytes() for edge in range(2)}) == 2
    assert simple.sizes.tolist() == [3, 3, 2, 2]


@settings(deadline=None, max_examples=60)
@given(arrays(bool, (40, 40)), st.floats(0, 30), st.floats(0, 5))
def test_cleaning_keeps_components_and_cycles_and_nodes_at_lines_ends(mask, spur_m, tolerance_m):
    mask = ndimage.binary_opening(mask, np.ones((2, 2)))
    graph = trace(thin(mask))
    cleaned = prune_spurs(graph, spur_m, NARROW)
    cleaned = merge_crossings(cleaned, Surroundings(clearance_m=roads(2.0).width_m))
    cleaned = simplify(smooth(cleaned), tolerance_m)
    assert cycles(cleaned) == cycles(graph)
    assert component_count(cleaned) == component_count(graph)
    first, last = cleaned.points[cleaned.offsets[:-1]], cleaned.points[cleaned.offsets[1:] - 1]
    assert (np.stack([first, last], axis=1) == cleaned.nodes[cleaned.edges]).all()


def unlikely(*numbers):
    """Probabilities of which those of some edges, by their length in whole meters, are low."""
    return lambda graph, chosen: np.where(np.isin(graph.lengths()[chosen].round(), numbers), 0.1, 0.9)


STREET = lines(
    [(0, 0), (50, 0)], [(50, 0), (100, 0)], [(50, 0), (50, 20)], [(100, 0), (100, 30)], [(100, 0), (160, 0)],
    [(300, 0), (312, 0)],
)  # fmt: skip


@pytest.mark.parametrize(
    ("numbers", "max_length_m", "left_m"),
    [((20,), 60, 222 - 20), ((20, 30), 60, 222 - 50), ((12,), 60, 222 - 12), ((20,), 19, 222), ((), 60, 222)],
)
def test_unlikely_dead_ends_and_lonely_lines_go(numbers, max_length_m, left_m):
    pruned, removed = prune_unlikely(STREET, max_length_m, 0.5, unlikely(*numbers), Surroundings())
    assert pruned.lengths().sum() == pytest.approx(left_m)
    assert shapely.length(removed.shapes).sum() == pytest.approx(STREET.lengths().sum() - left_m)


def test_what_connects_others_or_is_cut_off_by_the_edge_of_the_data_stays_however_unlikely():
    between = lines(
        [(0, 0), (0, -70)], [(0, 0), (-70, 0)], [(0, 0), (40, 0)], [(40, 0), (110, 0)], [(40, 0), (40, 70)]
    )  # fmt: skip
    assert len(prune_unlikely(between, 60, 0.5, unlikely(40), Surroundings())[0].edges) == 5
    ring = lines([(0, 0), (50, 0)], [(50, 0), (80, 30), (80, -30), (50, 0)])
    pruned, _ = prune_unlikely(ring, 60, 0.5, lambda graph, chosen: np.full(len(chosen), 0.1), Surroundings())
    assert len(pruned.edges) == 1 and pruned.edges[0, 0] == pruned.edges[0, 1]
    cut_off = Surroundings(is_data_edge=lambda points: points[:, 1] == 20)
    pruned, _ = prune_unlikely(STREET, 60, 0.5, unlikely(20), cut_off)
    assert pruned.lengths().sum() == pytest.approx(222)
