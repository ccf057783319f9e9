"""The job exportnetwork writes OpenStreetMap files: what pyosmium reads from them is the network that was exported."""

from __future__ import annotations

from collections import Counter

import geopandas
import networkx
import numpy as np
import osmium
import pyproj
import pytest
import shapely
from shapely.geometry import LineString

from tests.core.support.rasters import UTM
from tests.core.support.road_graphs import town
from training_core.errors import RoadSegError
from training_core.events import Reporter
from training_core.jobs import ExportNetwork
from training_core.pipelines.exportnetwork import run

CORNER = (500000, 5820000)
STRAIGHT, ACROSS = [(0, 0), (300, 0)], [(150, -80), (150, 80)]
WGS84 = pyproj.Geod(ellps="WGS84")


def layer_of(*coordinates, crs=UTM, corner=CORNER, **columns):
    shapes = [LineString(np.array(line, dtype=float) + corner) for line in coordinates]
    return geopandas.GeoDataFrame(columns, geometry=shapes, crs=crs)


def exported(folder, layer, name="roads.osm", **options):
    """Return the nodes of the file by id, and its ways as their nodes and tags."""
    lines, path = str(folder / "lines.gpkg"), str(folder / name)
    layer.to_file(lines)
    assert run(ExportNetwork(lines=lines, osm=path, **options), Reporter())["osm"] == path
    objects = [
        (each.id, each.version, each.is_node(), (each.lon, each.lat) if each.is_node() else [n.ref for n in each.nodes],
         dict(each.tags))
        for each in osmium.FileProcessor(osmium.io.File(path, "pbf" if path.endswith("pbf") else "osm"))
    ]  # fmt: skip
    for is_node in (True, False):
        ids = [each[0] for each in objects if each[2] == is_node]
        assert ids == list(range(1, len(ids) + 1) if path.endswith("pbf") else range(-len(ids), 0))
    assert not any(each[1] for each in objects)  # new ones have no version
    return {each[0]: each[3] for each in objects if each[2]}, [each[3:] for each in objects if not each[2]]


def length_of(nodes, refs):
    return WGS84.line_length(*zip(*(nodes[ref] for ref in refs)))


def graph_of(nodes, ways):
    """The directed graph between the nodes where ways end."""
    graph = networkx.MultiDiGraph()
    for refs, tags in ways:
        length = length_of(nodes, refs)
        graph.add_edge(refs[0], refs[-1], length=length)
        if tags.get("oneway") != "yes":
            graph.add_edge(refs[-1], refs[0], length=length)
    return graph


@pytest.mark.parametrize("name", ["roads.osm", "Straße.OSM", "roads.osm.pbf"])
def test_what_is_read_again_is_the_network(tmp_path, name):
    shapes = town(4).lines.shapes
    layer = layer_of(
        *map(shapely.get_coordinates, shapes), oneway=[("yes", "no", "-1")[i % 3] for i in range(len(shapes))]
    )
    options = {"lines_oneway_field": "oneway", "graphml": str(tmp_path / "graph.graphml")}
    nodes, ways = exported(tmp_path, layer, name, **options)
    true = networkx.read_graphml(options["graphml"], node_type=int, force_multigraph=True)
    graph = graph_of(nodes, ways)
    at = {number: (round(float(data["x"]), 7), round(float(data["y"]), 7)) for number, data in true.nodes(data=True)}
    assert Counter(map(nodes.get, graph.nodes)) == Counter(at.values())
    pairs = Counter((nodes[u], nodes[v]) for u, v in graph.edges())
    assert pairs == Counter((at[u], at[v]) for u, v in true.edges())
    total = sum(float(edge["length"]) for *_, edge in true.edges(data=True))
    assert sum(length for *_, length in graph.edges(data="length")) == pytest.approx(total, rel=1e-4)
    assert networkx.number_weakly_connected_components(graph) == networkx.number_weakly_connected_components(true)
    assert all(nodes[one] != nodes[next_] for refs, _ in ways for one, next_ in zip(refs, refs[1:]))


def test_a_file_asks_to_be_looked_at_before_an_upload(tmp_path):
    nodes, ways = exported(tmp_path, layer_of(STRAIGHT, ACROSS))
    text = (tmp_path / "roads.osm").read_text(encoding="utf-8")
    assert 'upload="false"' in text and 'generator="RoadSeg ' in text
    assert text.count('visible="true"') == len(nodes) + len(ways) == 5 + 4


def test_a_bridge_shares_no_node_with_the_road_below(tmp_path):
    layer = layer_of(STRAIGHT, ACROSS, on=["no", "Viaduct"])
    _, ways = exported(tmp_path, layer, lines_bridge_field="on")
    (below, low), (above, high) = ways
    assert not {*below} & {*above} and "bridge" not in low and high["bridge"] == "viaduct"
    assert all("bridge" not in tags for _, tags in exported(tmp_path, layer)[1])


def test_a_tunnel_shares_no_node_with_the_road_above_when_its_file_is_exported_again(tmp_path):
    layer = layer_of(STRAIGHT, ACROSS, osm_id=["1", "2"], highway="service", tunnel=[None, "building_passage"])
    _, ways = exported(tmp_path, layer)
    assert [tags.get("tunnel") for _, tags in ways] == [None, "building_passage"]
    again = run(ExportNetwork(lines=str(tmp_path / "roads.osm"), osm=str(tmp_path / "again.osm")), Reporter())
    assert again["nodes"] == 4


def tags_of(folder, **columns):
    """The tags of roads of their own, in the order of the layer."""
    count = len(next(iter(columns.values())))
    layer = layer_of(*([(0, 50 * row), (90, 50 * row)] for row in range(count)), **columns)
    nodes, ways = exported(folder, layer)
    return [tags for refs, tags in sorted(ways, key=lambda way: nodes[way[0][0]][1])]


def test_fields_become_tags(tmp_path):
    tags = tags_of(
        tmp_path,
        highway=["Primary", "alley", None, "motorway"], surface=["gravel", None, "", "asphalt"],
        width_m=[5.26, 4.0, np.nan, -1], width=["7", None, "wide", None], lanes=[2.0, np.nan, np.nan, 3],
        layer=["1", "roads_2024", "0", "7"], source=[None, "survey", "", None],
        confidence=[0.2, 0.2, 0.9, np.nan], road_probability=[0.6, 0.31, np.nan, np.nan],
    )  # fmt: skip
    doubt = "uncertain road (probability 0.31): check it against imagery"
    assert tags == [
        {"highway": "primary", "width": "7", "layer": "1", "surface": "gravel", "lanes": "2", "source": "RoadSeg"},
        {"highway": "road", "width": "4", "source": "survey", "fixme": doubt},
        {"highway": "road", "source": "RoadSeg"},
        {"highway": "motorway", "surface": "asphalt", "lanes": "3", "oneway": "no", "source": "RoadSeg"},
    ]


def test_values_hold_no_control_characters_and_fit_the_database(tmp_path):
    names = ["A\x0b\x1b[31m &\n\t<b> \x85 “ü” 道 ", "道" * 300, "x" * 254 + " y", "\x07"]
    assert [tags.get("name") for tags in tags_of(tmp_path, name=names)] == [
        "A [31m & <b> “ü” 道", "道" * 255, "x" * 254, None,
    ]  # fmt: skip


@pytest.mark.parametrize(("vertices", "sizes"), [(2000, [2000]), (2001, [2000, 2]), (5000, [2000, 2000, 1002])])
def test_long_ways_are_split_at_shared_nodes(tmp_path, vertices, sizes):
    line = np.column_stack([np.arange(vertices) * 2.0, np.arange(vertices) % 2])
    nodes, ways = exported(tmp_path, layer_of(line, name=["A"]))
    assert [len(refs) for refs, _ in ways] == sizes and {tags["name"] for _, tags in ways} == {"A"}
    assert all(one[0][-1] == next_[0][0] for one, next_ in zip(ways, ways[1:])) and len(nodes) == vertices


def test_a_closed_road_is_a_closed_way_and_vertices_at_one_place_are_one(tmp_path):
    ring = [(0, 0), (80, 0), (80.001, 0), (80, 60), (0.001, 0), (0, 0)]
    nodes, (way,) = exported(tmp_path, layer_of(ring))
    assert way[0][0] == way[0][-1] and len(way[0]) == 4 and len(nodes) == 3


def crossing_the_antimeridian():
    return layer_of([(0, 0), (9000, 0)], corner=(828000, 0), crs="EPSG:32660")


@pytest.mark.parametrize(
    ("layer", "name", "message"),
    [
        (crossing_the_antimeridian(), "roads.osm", r"1 lines of .*lines\.gpkg cross the antimeridian"),
        (layer_of(STRAIGHT, crs=None), "roads.osm", r"lines\.gpkg.*CRS|coordinate"),
        (layer_of(STRAIGHT), "roads.osc", r"roads\.osc is not in a format"),
        (layer_of(STRAIGHT), "roads.pbf", r"roads\.pbf is not in a format"),
    ],
)
def test_unusable_inputs_are_named_and_leave_no_output(tmp_path, layer, name, message):
    lines = str(tmp_path / "lines.gpkg")
    layer.to_file(lines)
    with pytest.raises(RoadSegError, match=message) as refused:
        run(ExportNetwork(lines=lines, osm=str(tmp_path / name)), Reporter())
    assert refused.value.remedy and [each.name for each in tmp_path.iterdir()] == ["lines.gpkg"]


def test_lines_cut_at_the_antimeridian_are_ways_with_nodes_of_their_own_there(tmp_path):
    halves = layer_of([(179.99, 5), (180, 5)], [(-180, 5), (-179.99, 5)], crs="EPSG:4326", corner=(0, 0))
    nodes, ways = exported(tmp_path, halves)
    places = sorted([nodes[ref] for ref in refs] for refs, _ in ways)
    assert np.allclose(places, [[(-180, 5), (-179.99, 5)], [(179.99, 5), (180, 5)]], rtol=0, atol=1e-7)
