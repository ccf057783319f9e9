"""What stretches mean, by hand: a bridge that cuts a village off, two ways round, and roads one below the other."""

from __future__ import annotations

import geopandas
import numpy as np
import pytest
import shapely
from shapely import LineString

from training_core.comparison.accessibility import CUT_OFF, REACHABLE, Points, RouteRules, find_routes
from training_core.comparison.buffer_matching import Intervals
from training_core.comparison.routes import snap
from training_core.comparison.status_network import find_meaning, network_of, reached_m, stretch_of, ways_of
from training_core.events import Reporter
from training_core.networks.lines import make_lines
from training_core.networks.noding import node_lines
from training_core.networks.path_shares import PLACES
from training_core.networks.road_graph import as_drawn

QUIET, NOWHERE = Reporter(), np.zeros((0, 2))
# A road of 1,270 m: a place for paths to every 10 m of it if they lead from one site.
WEST, BRIDGE, EAST = (0, 600), (600, 680), (680, 1270)


def stretches_of(*parts):
    """Stretches of lines, by triples of a line and the distances along it at which a stretch begins and ends."""
    edge, begin_m, end_m = zip(*parts)
    return Intervals(np.array(edge), np.array(begin_m, dtype=float), np.array(end_m, dtype=float))


def network(lines, *parts, bridge=None):
    roads = as_drawn(make_lines(np.array(lines, dtype=object), bridge))
    return network_of(node_lines(roads.lines, 0.5)[0], roads, stretches_of(*parts))


def meaning(roads, sites, closed=(), doubtful=(), lost=0.0):
    is_closed, is_doubtful = (np.isin(np.arange(len(roads.lines)), chosen) for chosen in (closed, doubtful))
    probability = np.where(is_doubtful, lost, is_closed)
    return find_meaning(
        roads, np.array(sites, dtype=float).reshape(-1, 2), 20.0, is_closed, is_doubtful, probability, QUIET
    )


@pytest.fixture
def river():
    return network([LineString([(0, 0), (1270, 0)])], (0, *WEST), (0, *BRIDGE), (0, *EAST))


def test_a_bridge_to_a_village_is_needed_by_the_paths_to_all_that_lies_behind_it(river):
    found = meaning(river, [(0, 0)], closed=[1], doubtful=[1], lost=0.75)
    # To 59 of 127 places. A bridge that is open connects these, and the four nearer to its far end.
    assert found.paths_share == pytest.approx([67 / 127, 59 / 127, 0], abs=1e-9)
    assert np.isnan(found.decides).tolist() == [True, False, True]
    assert found.decides[1] == pytest.approx(0.25 * 63 / 127)


def test_a_bridge_that_is_hardly_seen_decides_as_much_by_the_probability_that_it_is_lost(river):
    found = meaning(river, [(0, 0)], doubtful=[1], lost=0.25)
    # Those of its own places that would be nearer to its far end are cut off as well.
    assert found.decides[1] == pytest.approx(0.25 * 63 / 127)


def test_a_stretch_behind_one_that_is_closed_for_certain_decides_nothing(river):
    assert np.isnan(meaning(river, [(0, 0)], closed=[0, 1], doubtful=[1], lost=0.75).decides).all()


def test_without_sites_paths_lead_between_all_parts(river):
    share = meaning(river, NOWHERE, closed=[1]).paths_share[1]
    at_m = (np.arange(PLACES) + 0.5) * 1270 / PLACES
    assert share == pytest.approx(2 * np.sum(at_m < 600) * np.sum(at_m > 680) / (PLACES * (PLACES - 1)))


def test_where_there_are_two_ways_round_a_check_decides_by_the_detour():
    """Four sides of 100 m, of which one is in doubt, and beyond it a road of 870 m."""
    ring = [LineString([(0, 0), (100, 0)]), LineString([(100, 0), (100, 100), (0, 100), (0, 0)])]
    spur = LineString([(100, 0), (970, 0)])
    roads = network([*ring, spur], (0, 0, 100), (1, 0, 300), (2, 0, 870))
    found = meaning(roads, [(0, 0)], closed=[0], doubtful=[0], lost=0.5)
    around_m = np.arange(5, 300, 10)  # of places on the ring, from the far end of the road
    spur_m = np.arange(5, 870, 10)
    gains = [*np.maximum(1 - (100 + around_m) / (300 - around_m), 0), *(1 - (100 + spur_m) / (300 + spur_m))]
    gains += [1 - 100 / 300] * 5  # places on the road itself, at its far end
    assert found.decides[0] == pytest.approx(0.5 * sum(gains) / 127)


def test_closed_stretches_of_one_link_are_one_check_at_the_likeliest(river):
    parts = [(0, 0, 300), (0, 300, 340), (0, 340, 600), (0, 600, 680), (0, 680, 1270)]
    roads = network([LineString([(0, 0), (1270, 0)])], *parts)
    is_closed, is_doubtful = np.isin(np.arange(5), [1, 3]), np.isin(np.arange(5), [1, 3])
    found = find_meaning(roads, np.zeros((1, 2)), 20.0, is_closed, is_doubtful, np.array([0, 0.6, 0, 0.9, 0]), QUIET)
    assert np.flatnonzero(np.isfinite(found.decides)).tolist() == [3] and 0.04 < found.decides[3] < 0.1


def test_where_a_stretch_of_a_bridge_begins_above_another_road_there_is_no_junction():
    above, below = LineString([(0, 0), (200, 0)]), LineString([(100, -100), (100, 100)])
    roads = network([above, below], (0, 0, 100), (0, 100, 200), (1, 0, 200), bridge=[True, False])
    assert roads.graph.component.max() == 1
    assert sorted(stretch_of(roads).tolist()) == [0, 1, 2]
    crossing = network([above, below], (0, 0, 100), (0, 100, 200), (1, 0, 200))
    assert crossing.graph.component.max() == 0


def test_the_village_is_cut_off_and_each_bank_reaches_its_own_road(river):
    closed = np.array([False, True, False])
    ways = ways_of(river, closed)
    points = np.array([(0.0, 0.0), (100.0, 5.0), (1270.0, 0.0)])
    before, after = (reached_m(snap(each, points, 20.0)) for each in (ways.before, ways.after))
    assert before == pytest.approx(1270) and after == pytest.approx([600, 600, 590])
    sites = Points(
        geopandas.GeoDataFrame(index=range(3)), np.array(["a", "b", "village"]), points, {"sites": "sites.gpkg"}
    )
    routes = find_routes(ways, sites, RouteRules(20.0, 10.0), QUIET)
    assert routes["status"].tolist() == [REACHABLE, REACHABLE, CUT_OFF]
    assert routes["missing_m"].iloc[2] == pytest.approx(80)


def test_every_part_of_a_network_belongs_to_the_stretch_that_lies_there():
    random = np.random.default_rng(3)
    lines = [LineString(random.uniform(0, 300, (4, 2))) for _ in range(12)]
    parts = []
    for number, line in enumerate(lines):
        cuts = [0, *sorted(random.uniform(0, line.length, 3)), line.length]
        parts += [(number, *pair) for pair in zip(cuts, cuts[1:])]
    roads = network(lines, *parts)
    shapes, stretch = roads.graph.shapes(), stretch_of(roads)
    apart = shapely.distance(roads.lines.shapes[stretch], shapely.line_interpolate_point(shapes, 0.5, normalized=True))
    assert apart.max() < 1 and np.unique(stretch).tolist() == list(range(len(parts)))


def test_a_network_without_a_road_means_nothing():
    tiny = LineString([(0, 0), (0.2, 0), (0, 0.2), (0, 0)])
    found = meaning(network([tiny], (0, 0, tiny.length)), [(0, 0)], closed=[0])
    assert found.paths_share.tolist() == [0] and np.isnan(found.decides).all()
