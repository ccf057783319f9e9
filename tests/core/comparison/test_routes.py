"""Route costs before and after: equal to those of networkx, and by hand on roads of two layers."""

from __future__ import annotations

import networkx
import numpy as np
import pytest
import shapely

from tests.core.support.road_graphs import roads_of, town
from training_core.comparison import routes
from training_core.comparison.passable_roads import add_linked
from training_core.events import Reporter
from training_core.networks.lines import make_lines
from training_core.networks.road_graph import Places, contracted

QUIET = Reporter()


def plain_costs(roads, places):
    """Lengths of the routes between all places, from a graph that has each place as a node."""
    plain = networkx.Graph()
    for edge, (one, other) in enumerate(roads.graph.edges.tolist()):
        on_edge = sorted(
            (along, f"place {place}") for place, along in enumerate(places.along_m) if places.edge[place] == edge
        )
        stops = [(0, f"{one}"), *on_edge, (roads.length_m[edge], f"{other}")]
        for (begin, here), (end, there) in zip(stops, stops[1:]):
            least = min(end - begin, plain.get_edge_data(here, there, {"weight": np.inf})["weight"])
            plain.add_edge(here, there, weight=least)
    found = dict(networkx.all_pairs_dijkstra_path_length(plain))
    names = [f"place {place}" for place in range(len(places))]
    return np.array([[found[one].get(other, np.inf) for other in names] for one in names])


@pytest.mark.parametrize(("seed", "block"), [(0, 1), (1, 10**7), (2, 1), (3, 10**7)])
def test_costs_are_those_of_networkx(seed, block, monkeypatch):
    monkeypatch.setattr(routes, "_BATCH", block)
    random = np.random.default_rng(seed)
    sites, plain = [], []
    for part in range(2):
        roads = contracted(town(2 * seed + part, kept=0.45))
        edge = random.integers(0, len(roads.graph.edges), 12)
        places = Places(edge, random.uniform(0, 1, 12) * roads.length_m[edge])
        gap_m = random.uniform(0, 9, 12)
        sites.append(routes.Sites(roads, places, gap_m))
        costs = plain_costs(roads, places) + gap_m + gap_m[:, None]
        np.fill_diagonal(costs, np.inf)
        plain.append(costs)
    sources = np.array([1, 5, 6, 11])
    found = routes.from_nearest(*sites, sources, False, QUIET)
    assert found.before == pytest.approx(plain[0][sources].min(axis=0))
    assert found.after == pytest.approx(plain[1][sources].min(axis=0))
    is_there = np.isfinite(found.after)
    assert (found.source[is_there] == sources[plain[1][sources].argmin(axis=0)][is_there]).all()

    mean = routes.to_all(*sites, sources, False, QUIET)
    for place in range(12):
        before, after = (costs[sources, place] for costs in plain)
        both = np.isfinite(before) & np.isfinite(after)
        for one, expected in ((mean.before, before), (mean.after, after)):
            chosen = both if both.any() else np.isfinite(expected)
            assert one[place] == pytest.approx(expected[chosen].mean() if chosen.any() else np.inf)


def test_times_are_those_on_the_roads_alone():
    roads = roads_of([(0, 0), (100, 0)], [(100, 0), (100, 60)], speeds=[10.0, 20.0])
    sites = routes.snap(roads, np.array([(20, 7), (100, 60), (500, 0)]), 10)
    found = routes.from_nearest(sites, sites, np.array([0]), True, QUIET)
    assert found.before == pytest.approx([np.inf, 8 + 3, np.inf])
    assert sites.gap_m == pytest.approx([7, 0, np.inf]) and sites.component[2] == -1


def lines(*coordinates):
    return make_lines(np.array([shapely.LineString(line) for line in coordinates], dtype=object))


def test_a_continuing_road_is_linked_and_a_dead_end_is_not():
    main, added = lines([(0, 0), (100, 0)]), lines([(100, 4), (200, 4)], [(50, 4), (50, 90)])
    doubles = lines([(0, 4), (100, 4)]).shapes  # of which only the first of those added is the end
    whole = add_linked(main, added, doubles[:1], 10, 0.5)
    assert len(whole) == 5 and whole.bridge.tolist() == [False, False, False, True, True]
    assert shapely.length(whole.shapes[3:]) == pytest.approx([4, 4])
    assert len(add_linked(main, added, lines([(60, 4), (100, 4)]).shapes, 10, 0.5)) == 4  # the second is a dead end
    assert len(add_linked(main, added, doubles, 3, 0.5)) == 3  # too far
    assert len(add_linked(lines([(0, 4.2), (100, 4.2)]), added, doubles, 10, 0.5)) == 3  # joined as it is
