"""Tracing: a skeleton becomes a graph with its components and cycles."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage

from tests.core.support.graphs import trace
from tests.core.support.masks import EIGHT_NEIGHBORS, MASKS, topology
from training_core.extraction.skeletons import thin
from training_core.networks.graph import contract


def drawn(*rows):
    return np.array([[character == "#" for character in row] for row in rows])


def graph_topology(graph):
    components = len(np.unique(graph.component))
    return components, len(graph.edges) - len(graph.nodes) + components


def assert_sound(graph):
    """Lines begin and end at their nodes, and nodes of degree 2 are there only to hold a ring."""
    assert graph.edges.dtype == graph.offsets.dtype == np.int64
    assert graph.offsets[0] == 0
    assert graph.offsets[-1] == len(graph.points)
    assert (graph.sizes >= 2).all()
    for edge, (first, last) in enumerate(graph.edges):
        assert graph.line(edge)[0].tolist() == graph.nodes[first].tolist()
        assert graph.line(edge)[-1].tolist() == graph.nodes[last].tolist()
    loops = graph.edges[graph.edges[:, 0] == graph.edges[:, 1], 0]
    assert set(np.flatnonzero(graph.degree == 2)) <= set(loops)


@settings(deadline=None, max_examples=150)
@given(MASKS, st.sampled_from([0, 2, 3]))
def test_graphs_of_any_mask_and_of_its_skeleton_have_its_components_and_cycles(mask, opening):
    if opening:
        mask = ndimage.binary_opening(mask, np.ones((opening, opening)))
    assert graph_topology(trace(mask)) == topology(mask)
    skeleton = thin(mask)
    graph = trace(skeleton)
    assert_sound(graph)
    assert graph_topology(graph) == topology(skeleton)
    # Every pixel of the skeleton is a vertex, or merged into a junction.
    columns, rows = graph.points[(graph.points % 1 == 0).all(axis=1)].astype(int).T
    seen = np.zeros_like(skeleton)
    seen[rows, columns] = True
    neighbors = ndimage.convolve(skeleton.astype(int), EIGHT_NEIGHBORS.astype(int), mode="constant") - 1
    assert seen[skeleton & (neighbors == 1)].all()
    assert len(graph.points) >= (skeleton & (neighbors == 2)).sum()


def test_a_line_and_stairs_are_one_edge_with_all_their_pixels():
    graph = trace(drawn("......", ".####.", "......"))
    assert graph.nodes.tolist() == [[1, 1], [4, 1]]
    assert graph.edges.tolist() == [[0, 1]]
    assert graph.points.tolist() == [[1, 1], [2, 1], [3, 1], [4, 1]]
    assert graph.lengths() == pytest.approx([3])
    graph = trace(drawn("##....", ".##...", "..##..", "...##."))
    assert graph.degree.tolist() == [1, 1]
    assert graph.lengths() == pytest.approx([7])


@pytest.mark.parametrize(
    "rows",
    [
        ("..#..", "..#..", "#####", "..#..", "..#.."),
        ("#...#", ".#.#.", "..#..", ".#.#.", "#...#"),
        ("#....#", ".#..#.", "..##..", "..##..", ".#..#.", "#....#"),
        ("..#...", "..#...", "..####", "###...", "..#...", "..#..."),
    ],
)
def test_an_x_has_one_junction(rows):
    graph = trace(drawn(*rows))
    assert sorted(graph.degree) == [1, 1, 1, 1, 4]
    assert graph.nodes[graph.degree == 4] == pytest.approx(np.array([[2.5, 2.5]]), abs=0.6)


def test_more_junctions_and_edges_than_sixteen_bits_count():
    mask = np.zeros((1037, 1037), dtype=bool)
    mask[::4] = mask[:, ::4] = True  # 260 lines each way, of which the four corners are no junctions
    graph = trace(mask)
    assert (graph.degree >= 3).sum() == len(graph.nodes) == 260 * 260 - 4
    assert len(graph.edges) == 2 * 260 * 259 - 4
    assert graph_topology(graph) == (1, 259 * 259)


def test_a_piece_between_junctions_is_contracted_to_its_middle_and_a_cycle_never():
    graph = trace(drawn("#.....#", ".#...#.", "..###..", ".#...#.", "#.....#"))
    between = (graph.degree[graph.edges] == 3).all(axis=1)
    assert between.sum() == 1
    merged = contract(graph, between)
    assert_sound(merged)
    assert merged.nodes[merged.degree == 4].tolist() == [[3, 2]]
    graph = trace(drawn(".###.", "#...#", "##.##", "#...#", ".###."))
    merged = contract(graph, np.ones(len(graph.edges), dtype=bool))
    assert graph_topology(merged) == graph_topology(graph)
