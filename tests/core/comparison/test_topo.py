"""TOPO of road networks: equal to its definition written plainly, and to small cases by hand."""

from __future__ import annotations

import itertools
import math

import networkx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.core.support.road_graphs import roads_of, town
from training_core.comparison.path_scores import score_topo
from training_core.events import Reporter
from training_core.networks.road_graph import contracted, places_along

LINE = [(0, 0), (120, 0)]


def topo(truth, proposal, **options):
    return score_topo(truth, proposal, Reporter(), **options)


def scores(found):
    return found.precision, found.recall, found.f1


def test_a_network_is_like_itself_and_one_that_lies_apart_like_nothing():
    roads = contracted(town(1))
    assert scores(topo(roads, roads)) == pytest.approx((1, 1, 1))
    found = topo(roads_of(LINE), roads_of([(0, 20), (120, 20)]))
    assert scores(found) == (0, 0, 0)
    assert (found.holes, found.marbles) == (4 * 24, 4 * 24)  # seeds on either reach all of the 120 m


def test_half_of_a_line():
    # Two of four seeds have a proposal near, and from each of them 12 of 24 holes are filled, and 1 m beyond the end.
    found = topo(roads_of(LINE), roads_of([(0, 0), (60, 0)]), hole_m=2)
    assert (found.seeds, found.paired) == (4, 2)
    assert (found.holes, found.marbles, found.matched) == (4 * 24, 2 * 12, 2 * 12)
    assert scores(found) == pytest.approx((1, 0.25, 0.4))


def named(kind, places):
    return {(kind, n): (edge, along) for n, (edge, along) in enumerate(zip(places.edge, places.along_m)) if edge >= 0}


def net(roads, places):
    """The graph with places by name as nodes of their own."""
    graph = networkx.Graph()
    for edge, (one, other) in enumerate(roads.graph.edges.tolist()):
        stops = sorted((along, name) for name, (at, along) in places.items() if at == edge)
        stops = [(0.0, ("node", one)), *stops, (roads.length_m[edge], ("node", other))]
        for (low, first), (high, second) in itertools.pairwise(stops):
            known = graph.get_edge_data(first, second, {"weight": math.inf})["weight"]
            graph.add_edge(first, second, weight=min(known, max(high - low, 0.0)))
    return graph


def reached(graph, seed, radius_m):
    lengths = networkx.single_source_dijkstra_path_length(graph, seed, cutoff=radius_m + 1e-6)
    return [number for kind, number in lengths if kind == "spot"]


def plain_match(holes, marbles, hole_m):
    pairs = networkx.Graph()
    pairs.add_nodes_from(("hole", hole) for hole in holes)
    for hole, marble in itertools.product(holes, marbles):
        if math.dist(holes[hole], marbles[marble]) <= hole_m:
            pairs.add_edge(("hole", hole), ("marble", marble))
    top = [("hole", hole) for hole in holes]
    return len(networkx.bipartite.hopcroft_karp_matching(pairs, top)) // 2


def plain_topo(truth, proposal, radius_m, hole_m, seed_m, interval_m):
    """The counts as the definition reads, in networkx and loops."""
    seeds, others = places_along(truth, seed_m), places_along(proposal, seed_m)
    holes, marbles = places_along(truth, interval_m), places_along(proposal, interval_m)
    partners = named("partner", proposal.nearest(truth.points_at(seeds), hole_m)[0])
    backs = named("back", truth.nearest(proposal.points_at(others), hole_m)[0])
    truth_net = net(truth, {**named("seed", seeds), **named("spot", holes)})
    proposal_net = net(proposal, {**named("seed", others), **named("spot", marbles), **partners})
    hole_points, marble_points = truth.points_at(holes), proposal.points_at(marbles)
    hole_count = marble_count = matched = 0
    for seed in range(len(seeds)):
        dug = reached(truth_net, ("seed", seed), radius_m)
        hole_count += len(dug)
        if ("partner", seed) in partners:
            dropped = reached(proposal_net, ("partner", seed), radius_m)
            marble_count += len(dropped)
            found = {hole: hole_points[hole] for hole in dug}, {marble: marble_points[marble] for marble in dropped}
            matched += plain_match(*found, hole_m)
    strays = [seed for seed in range(len(others)) if ("back", seed) not in backs]
    marble_count += sum(len(reached(proposal_net, ("seed", seed), radius_m)) for seed in strays)
    return hole_count, marble_count, matched


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 10**6), st.floats(0.5, 1))
def test_the_counts_are_those_of_the_definition(one, other, kept):
    truth, proposal = contracted(town(one, blocks=2)), contracted(town(other, blocks=2, kept=kept, shift_m=4))
    settings_m = {"radius_m": 150, "hole_m": 8, "seed_m": 40, "interval_m": 10}
    found = topo(truth, proposal, **settings_m)
    assert (found.holes, found.marbles, found.matched) == plain_topo(truth, proposal, **settings_m)
