"""Tracing: a skeleton becomes a graph with its components and cycles."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import ndimage

from training_core.extraction.thinning import thin
from training_core.extraction.tracing import trace
from training_core.networks.chains import join_chains
from training_core.networks.graph import contract, select_edges

EIGHT_NEIGHBORS = np.ones((3, 3), dtype=bool)
SIDES = st.integers(1, 24)
MASKS = st.tuples(SIDES, SIDES).flatmap(lambda shape: arrays(bool, shape))


def drawn(*rows):
    return np.array([[character == "#" for character in row] for row in rows])


def image_topology(mask):
    padded = np.pad(mask, 1)
    return ndimage.label(padded, EIGHT_NEIGHBORS)[1], ndimage.label(~padded)[1] - 1


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
def test_a_skeletons_graph_has_its_components_and_cycles(mask, opening):
    if opening:
        mask = ndimage.binary_opening(mask, np.ones((opening, opening)))
    skeleton = thin(mask)
    graph = trace(skeleton)
    assert_sound(graph)
    assert graph_topology(graph) == image_topology(skeleton)


@settings(deadline=None, max_examples=150)
@given(MASKS)
def test_so_has_the_graph_of_any_mask(mask):
    assert graph_topology(trace(mask)) == image_topology(mask)


@settings(deadline=None, max_examples=60)
@given(MASKS)
def test_every_pixel_of_a_skeleton_is_a_vertex_or_merged_into_a_junction(mask):
    skeleton = thin(mask)
    graph = trace(skeleton)
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


@pytest.mark.parametrize("rows", [("##",), ("#.", ".#"), (".#", "#.")])
def test_two_pixels_are_an_edge(rows):
    graph = trace(drawn(*rows))
    assert graph.edges.tolist() == [[0, 1]]
    assert len(graph.points) == 2


def test_a_t_has_one_junction():
    graph = trace(drawn("#######", "...#...", "...#...", "...#..."))
    assert sorted(graph.degree) == [1, 1, 1, 3]
    assert graph.nodes[graph.degree == 3].tolist() == [[3, 0]]
    assert graph.lengths() == pytest.approx([3, 3, 3])


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


def test_a_ring_is_an_edge_from_a_node_to_itself_with_or_without_a_stick():
    graph = trace(drawn(".##.", "#..#", "#..#", ".##."))
    assert len(graph.nodes) == 1
    assert graph.edges.tolist() == [[0, 0]]
    assert graph.line(0)[0].tolist() == graph.line(0)[-1].tolist()
    assert graph.lengths() == pytest.approx([4 + 4 * 2**0.5])
    graph = trace(drawn("..##..", ".#..#.", ".#..#.", "..##..", "..#...", "..#...", "..#..."))
    assert sorted(graph.degree) == [1, 3]
    assert sorted(first == last for first, last in graph.edges) == [False, True]


def test_two_ways_between_the_same_junctions_are_two_edges():
    graph = trace(drawn("...###...", "..#...#..", "##.....##", "..#...#..", "...###..."))
    assert sorted(graph.degree) == [1, 1, 3, 3]
    pairs = [tuple(sorted(edge)) for edge in graph.edges.tolist()]
    assert len(pairs) == 4
    assert len(set(pairs)) == 3


def test_more_nodes_than_sixteen_bits_count():
    mask = np.zeros((702, 700), dtype=bool)
    mask[:700:2, ::2] = True  # lone pixels
    mask[701] = True
    graph = trace(mask)
    assert len(graph.nodes) == 350 * 350 + 2
    assert graph.lengths().tolist() == [699]


def test_more_junctions_and_edges_than_sixteen_bits_count():
    mask = np.zeros((1037, 1037), dtype=bool)
    mask[::4] = mask[:, ::4] = True  # 260 lines each way, of which the four corners are no junctions
    graph = trace(mask)
    assert (graph.degree >= 3).sum() == len(graph.nodes) == 260 * 260 - 4
    assert len(graph.edges) == 2 * 260 * 259 - 4
    assert graph_topology(graph) == (1, 259 * 259)


def test_taking_a_branch_away_lets_the_rest_be_joined():
    graph = trace(drawn("#######", "...#...", "...#..."))
    is_top = np.array([(graph.line(edge)[:, 1] == 0).all() for edge in range(len(graph.edges))])
    rest = join_chains(select_edges(graph, is_top))
    assert rest.edges.tolist() == [[0, 1]]
    assert rest.line(0)[np.argsort(rest.line(0)[:, 0])].tolist() == [[column, 0] for column in range(7)]


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
