"""OpenStreetMap files in programs that are no part of the runtime: OSMnx reads the network, Valhalla routes on it.

`make test-routers` installs both. A test is skipped where its program is missing.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import geopandas
import networkx
import numpy as np
import pyproj
import pytest
import shapely

from tests.core.support.rasters import UTM
from tests.core.support.road_graphs import town
from training_core.events import Reporter
from training_core.jobs import ExportNetwork
from training_core.pipelines.exportnetwork import run

pytestmark = pytest.mark.slow
CORNER = (500000, 5820000)
WGS84 = pyproj.Geod(ellps="WGS84")


@pytest.fixture
def network(tmp_path):
    """Return a town's graph as exported to GraphML, and the folder with roads.osm and roads.osm.pbf."""
    shapes = [shapely.transform(shape, lambda points: points + CORNER) for shape in town(4, blocks=8).lines.shapes]
    oneway = ["yes" if row % 5 == 0 else "no" for row in range(len(shapes))]
    lines, graphml = str(tmp_path / "lines.gpkg"), str(tmp_path / "graph.graphml")
    geopandas.GeoDataFrame({"oneway": oneway, "highway": "residential"}, geometry=shapes, crs=UTM).to_file(lines)
    for name in ("roads.osm", "roads.osm.pbf"):
        options = {"lines_oneway_field": "oneway", "graphml": graphml, "osm": str(tmp_path / name), "keep": "longest"}
        run(ExportNetwork(lines=lines, **options), Reporter())
    return networkx.read_graphml(graphml, node_type=int, force_multigraph=True), tmp_path


def place(data):
    return round(float(data["x"]), 7), round(float(data["y"]), 7)


def test_osmnx_reads_the_same_network(network):
    osmnx = pytest.importorskip("osmnx", reason="OSMnx is not installed (make test-routers)")
    true, folder = network
    graph = osmnx.graph_from_xml(folder / "roads.osm", simplify=False, retain_all=True)
    at = {node: place(data) for node, data in graph.nodes(data=True)}
    counts = osmnx.stats.count_streets_per_node(graph)
    true_counts = [(place(data), int(data["street_count"])) for _, data in true.nodes(data=True)]
    assert sorted((at[node], count) for node, count in counts.items() if count != 2) == sorted(
        (where, count) for where, count in true_counts if count != 2
    )
    for is_oneway in (True, False):
        roads = [(u, v) for u, v, edge in graph.edges(data=True) if edge["oneway"] == is_oneway]
        found_m = sum(WGS84.line_length(*zip(at[u], at[v])) for u, v in roads)  # OSMnx measures on a sphere
        true_m = [float(edge["length"]) for *_, edge in true.edges(data=True) if edge["oneway"] == str(is_oneway)]
        assert found_m == pytest.approx(sum(true_m), rel=1e-4) and found_m > 1000
    assert networkx.number_weakly_connected_components(graph) == 1


@pytest.fixture
def valhalla(network):
    """Return a function that asks Valhalla for the length in meters of the shortest route between two places."""
    spec = importlib.util.find_spec("valhalla")  # whose programs run beside any Python, unlike the module
    if spec is None:
        pytest.skip("Valhalla is not installed (make test-routers)")
    programs = Path(str(spec.origin)).parent
    settings, tiles = network[1] / "valhalla.json", network[1] / "tiles"

    def call(*command):
        return subprocess.run([*map(str, command)], capture_output=True, text=True, check=True, timeout=120).stdout

    settings.write_text(call(sys.executable, programs / "valhalla_build_config.py", "--mjolnir-tile-dir", tiles))
    call(programs / "bin" / "valhalla_build_tiles", "-c", settings, "-j", 1, network[1] / "roads.osm.pbf")

    def route_m(begin, end):
        locations = [{"lon": lon, "lat": lat, "radius": 0} for lon, lat in (begin, end)]
        asked = {"locations": locations, "costing": "auto", "costing_options": {"auto": {"shortest": True}}}
        answer = call(programs / "bin" / "valhalla_service", settings, "route", json.dumps(asked))
        return json.loads(answer)["trip"]["summary"]["length"] * 1000

    return route_m


def test_valhalla_finds_the_shortest_paths(network, valhalla):
    true = network[0]
    lengths = dict(
        networkx.all_pairs_dijkstra_path_length(
            true, weight=lambda u, v, edges: min(float(edge["length"]) for edge in edges.values())
        )
    )
    random, compared, one_way = np.random.default_rng(0), 0, 0
    while compared < 20:
        begin, end = random.choice(true.nodes, 2, replace=False).tolist()
        expected = lengths[begin].get(end)
        if expected is None or expected < 200:
            continue
        found = valhalla(place(true.nodes[begin]), place(true.nodes[end]))
        assert found == pytest.approx(expected, rel=0.01), (begin, end)
        compared += 1
        one_way += abs(lengths[end].get(begin, np.inf) - expected) > 1
    assert one_way  # some paths differ by direction, so one-way streets were among them
