"""The job exportnetwork: lines become a graph that networkx, and so OSMnx, can route on."""

from __future__ import annotations

import geopandas
import networkx
import numpy as np
import pyproj
import pytest
import shapely
from shapely.geometry import LineString, Point

from tests.core.support.rasters import UTM
from tests.core.support.road_graphs import town
from training_core.errors import LayerError, OutputError
from training_core.events import Log, Reporter, Warning
from training_core.geodata.road_classes import OTHER_KMH, USUAL_KMH
from training_core.jobs import ExportNetwork
from training_core.networks.line_export import export_layer
from training_core.pipelines.exportnetwork import run

# On the meridian of the zone 33 a meter of the grid is 1 / 0.9996 meters on the ground.
CORNER, GROUND = (500000, 5820000), 1 / 0.9996
CRSES = [UTM, "EPSG:4326", "EPSG:3857"]
# A road straight on from (0, 0) to (300, 0), which another one goes around.
STRAIGHT, AROUND = [(0, 0), (300, 0)], [(0, 0), (0, 100), (300, 100), (300, 0)]


def layer_of(*coordinates, crs=UTM, **columns):
    shapes = [LineString(np.array(line, dtype=float) + CORNER) for line in coordinates]
    return geopandas.GeoDataFrame(columns, geometry=shapes, crs=UTM).to_crs(crs)


def exported(folder, layer, events=None, **options):
    """Return the result of the job, and the graph that networkx reads."""
    lines, graphml = str(folder / "lines.gpkg"), str(folder / "graph.graphml")
    layer.to_file(lines)
    reporter = Reporter((events if events is not None else []).append)
    result = run(ExportNetwork(lines=lines, graphml=graphml, **options), reporter)
    return result, networkx.read_graphml(graphml, node_type=int, force_multigraph=True)


def node_at(graph, x, y):
    """The node at a place in meters from the corner, by its longitude and latitude."""
    to_utm = pyproj.Transformer.from_crs(4326, UTM, always_xy=True)
    for node, data in graph.nodes(data=True):
        east, north = to_utm.transform(float(data["x"]), float(data["y"]))
        if np.hypot(east - CORNER[0] - x, north - CORNER[1] - y) < 0.01:
            return node
    raise LookupError(f"no node at {x}, {y}")


def way(graph, begin, end, weight="length"):
    """How far, or how long, the shortest way between two places is."""
    ends = (node_at(graph, *begin), node_at(graph, *end))
    return networkx.shortest_path_length(
        graph, *ends, weight=lambda u, v, edges: min(float(edge[weight]) for edge in edges.values())
    )


@pytest.mark.parametrize("crs", CRSES)
def test_the_shortest_way_is_as_long_as_on_the_ground(tmp_path, crs):
    layer = layer_of(STRAIGHT, AROUND, [(100, -50), (100, 150)], crs=crs)
    result, graph = exported(tmp_path, layer)
    assert way(graph, (100, -50), (300, 0)) == pytest.approx(250 * GROUND, rel=1e-5)
    assert way(graph, (0, 0), (100, 150)) == pytest.approx(250 * GROUND, rel=1e-5)
    assert way(graph, (100, 150), (0, 0)) == way(graph, (0, 0), (100, 150))
    assert (result["nodes"], result["edges"], result["components"]) == (6, 14, 1)
    assert result["length_m"] == pytest.approx(1000 * GROUND, rel=1e-5)
    assert sorted(int(data["street_count"]) for _, data in graph.nodes(data=True)) == [1, 1, 2, 2, 4, 4]


def test_the_fastest_way_is_another_than_the_shortest(tmp_path):
    layer = layer_of(STRAIGHT, AROUND, speed=[36.0, 72.0])  # 10 and 20 m/s
    _, graph = exported(tmp_path, layer, lines_speed_field="speed")
    assert way(graph, (0, 0), (300, 0)) == pytest.approx(300 * GROUND, rel=1e-5)
    assert way(graph, (0, 0), (300, 0), "travel_time") == pytest.approx(25 * GROUND, rel=1e-5)
    assert {edge["speed_kph"] for *_, edge in graph.edges(data=True)} == {"36.0", "72.0"}


def test_a_one_way_road_is_driven_one_way(tmp_path):
    events = []
    layer = layer_of(STRAIGHT, AROUND, [(300, 0), (400, 0)], [(300, 0), (300, -90)], oneway=["-1", None, "yes", "no"])
    _, graph = exported(tmp_path, layer, lines_oneway_field="oneway")
    assert way(graph, (300, 0), (0, 0)) == pytest.approx(300 * GROUND, rel=1e-5)
    assert way(graph, (0, 0), (300, 0)) == pytest.approx(500 * GROUND, rel=1e-5)
    assert way(graph, (300, 0), (400, 0)) == pytest.approx(100 * GROUND, rel=1e-5)
    with pytest.raises(networkx.NetworkXNoPath):
        way(graph, (400, 0), (300, 0))
    marks = [(edge["osmid"], edge["oneway"], edge["reversed"]) for *_, edge in graph.edges(data=True)]
    both = [(road, "False", back) for road in "24" for back in ("False", "True")]
    assert sorted(marks) == sorted([("1", "True", "False"), ("3", "True", "False"), *both])
    _, graph = exported(tmp_path, layer, events)
    assert graph.number_of_edges() == 8
    warnings = [event.message for event in events if isinstance(event, Warning)]
    assert any("'oneway', but no one-way field is chosen" in message for message in warnings)


def test_a_closed_road_is_left_out_with_a_word(tmp_path):
    events = []
    layer = layer_of(STRAIGHT, AROUND, [(300, 0), (400, 0)], way=["N", "", "TF"], lanes=[1, 2, 3])
    _, graph = exported(tmp_path, layer, events, lines_oneway_field="way", lines_speed_field="lanes")
    assert way(graph, (0, 0), (300, 0)) == pytest.approx(500 * GROUND, rel=1e-5)
    assert way(graph, (400, 0), (300, 0)) == pytest.approx(100 * GROUND, rel=1e-5)
    assert sorted((edge["lanes"], edge["speed_kph"]) for *_, edge in graph.edges(data=True)) == [
        ("2", "2.0"), ("2", "2.0"), ("3", "3.0"),
    ]  # fmt: skip
    (told,) = [event.message for event in events if isinstance(event, Warning)]
    assert "1 of 3 lines are closed" in told


@pytest.mark.parametrize("oneway", [["yes", "yes", "yes"], ["-1", "-1", "-1"], ["yes", "no", "-1"]])
def test_a_road_of_one_way_lines_on_each_other_is_driven_in_both_directions(tmp_path, oneway):
    layer = layer_of(STRAIGHT, STRAIGHT[::-1], [(300, 0), (400, 0)], oneway=oneway)
    _, graph = exported(tmp_path, layer, lines_oneway_field="oneway")
    assert way(graph, (0, 0), (300, 0)) == way(graph, (300, 0), (0, 0)) == pytest.approx(300 * GROUND, rel=1e-5)
    assert graph.number_of_edges() == 3


@pytest.mark.parametrize(
    ("value", "is_oneway"),
    [(1, True), (1.0, True), (True, True), ("TRUE", True), (" yes ", True), ("-1", True), (-1.0, True),
     (0, False), ("2", False), ("No", False), (False, False), (None, False), (np.nan, False)],
)  # fmt: skip
def test_values_of_a_one_way_field(value, is_oneway):
    layer = layer_of(STRAIGHT, oneway=[value])
    edges = export_layer(layer, ExportNetwork(lines_oneway_field="oneway"), Reporter())[0].edges
    assert edges["oneway"].tolist() == [is_oneway] * (1 if is_oneway else 2)


def test_there_is_no_way_from_a_bridge_to_the_road_below(tmp_path):
    layer = layer_of(STRAIGHT, [(150, -80), (150, 80)], bridge=["no", "yes"])
    result, graph = exported(tmp_path, layer, lines_bridge_field="bridge")
    assert (result["nodes"], result["components"]) == (4, 2)
    with pytest.raises(networkx.NetworkXNoPath):
        way(graph, (0, 0), (150, 80))
    _, graph = exported(tmp_path, layer)
    assert way(graph, (0, 0), (150, 80)) == pytest.approx(230 * GROUND, rel=1e-5)


def test_the_longest_component_alone(tmp_path):
    ring = [(0, 500), (80, 500), (80, 580), (0, 500)]
    layer = layer_of([(0, 300), (90, 300)], STRAIGHT, ring, AROUND)
    assert exported(tmp_path, layer)[0]["components"] == 3
    result, graph = exported(tmp_path, layer, keep="longest")
    assert result["components"] == 1 and graph.number_of_edges() == 4
    assert result["length_m"] == pytest.approx(800 * GROUND, rel=1e-5)


def test_every_edge_leads_from_the_one_node_to_the_other(tmp_path):
    """In a town, at any place: what OSMnx takes for granted."""
    shapes = town(4).lines.shapes
    coordinates = [shapely.get_coordinates(shape) for shape in shapes]
    layer = layer_of(*coordinates, oneway=[("yes", "no", "-1")[row % 3] for row in range(len(shapes))])
    _, graph = exported(tmp_path, layer, lines_oneway_field="oneway")
    assert graph.graph["crs"] == "epsg:4326" and graph.graph["simplified"] == "True"
    assert graph.is_directed() and graph.number_of_edges() > len(shapes)
    for u, v, edge in graph.edges(data=True):
        line = shapely.from_wkt(edge["geometry"])
        for node, end in ((u, line.coords[0]), (v, line.coords[-1])):
            assert (float(graph.nodes[node]["x"]), float(graph.nodes[node]["y"])) == end
        assert pyproj.Geod(ellps="WGS84").geometry_length(line) == pytest.approx(float(edge["length"]), abs=1e-3)
        assert all(type(value) is str for value in edge.values())  # on which OSMnx relies
        assert {edge["oneway"], edge["reversed"]} <= {"True", "False"}


def test_the_geopackage_holds_the_same_graph(tmp_path):
    layer = layer_of(STRAIGHT, AROUND, [(100, -50), (100, 150)], oneway=[1, 0, 0], highway=["primary", None, "track"])
    path = str(tmp_path / "graph.gpkg")
    result, graph = exported(tmp_path, layer, geopackage=path, lines_oneway_field="oneway")
    nodes, edges = (geopandas.read_file(path, layer=name) for name in ("nodes", "edges"))
    assert result["geopackage"] == path and (len(nodes), len(edges)) == (result["nodes"], result["edges"])
    assert nodes.crs == edges.crs == "EPSG:4326"
    again = networkx.MultiDiGraph()
    for row in edges.itertuples():
        again.add_edge(row.u, row.v, key=row.key, length=row.length, travel_time=row.travel_time)
    assert set(again.edges(keys=True)) == set(graph.edges(keys=True))
    for (u, v, key), shape in zip(zip(edges["u"], edges["v"], edges["key"]), edges.geometry):
        edge = graph.edges[u, v, key]
        assert shapely.from_wkt(edge["geometry"]).equals(shape)
        assert float(edge["travel_time"]) == pytest.approx(again.edges[u, v, key]["travel_time"])
    assert nodes.set_index("osmid").geometry[1] == Point(float(graph.nodes[1]["x"]), float(graph.nodes[1]["y"]))


def speeds(layer, events=None, **options):
    network, _ = export_layer(layer, ExportNetwork(**options), Reporter((events if events is not None else []).append))
    edges = network.edges.drop_duplicates("osmid").sort_values("osmid")
    return edges["speed_kph"].tolist() if "speed_kph" in edges else None


def test_speeds_are_those_of_the_field_then_of_the_class_then_the_median():
    events = []
    apart = [[(0, 50 * row), (90, 50 * row)] for row in range(4)]
    layer = layer_of(*apart, highway=["primary", "Residential", "alley", None], mph=["30", "", None, "50"])
    usual = [USUAL_KMH["primary"], USUAL_KMH["residential"], OTHER_KMH]
    assert speeds(layer) == pytest.approx([*usual, OTHER_KMH])
    field = {"lines_speed_field": "mph", "speed_unit": "mph"}
    assert speeds(layer, events, **field) == pytest.approx([48.28032, *usual[1:], 80.4672])
    assert any("2 of 4 lines have no speed" in event.message for event in events if isinstance(event, Log))
    assert speeds(layer.drop(columns="highway"), **field) == pytest.approx([48.28032, 64.37376, 64.37376, 80.4672])
    assert speeds(layer.rename(columns={"highway": "kind"}), lines_class_field="kind") == speeds(layer)
    assert speeds(layer.drop(columns="highway")) is None


def test_fields_of_the_layer_are_those_of_its_edges():
    layer = layer_of(
        STRAIGHT, AROUND, [(100, -50), (100, 50)],
        kind=["primary", "track", None], name=["A", None, "C"], lanes=[1, 2, 3],
        length_m=[9.0, 9.0, 9.0], Length=[9, 9, 9], key=[7, 8, 9], osmid=[70, 80, 90], highway=["x", "y", "z"],
        id=[2**53 + 1, 0, 2],
    )  # fmt: skip
    edges = export_layer(layer, ExportNetwork(lines_class_field="kind"), Reporter())[0].edges
    found = {(row.osmid, row.highway, row.name, row.lanes) for row in edges.fillna("").itertuples(index=False)}
    assert found == {(1, "primary", "A", 1), (2, "track", "", 2), (3, "", "C", 3)}
    assert not {"length_m", "Length"} & set(edges.columns)
    own = edges.drop_duplicates("osmid").set_index("osmid").loc[[1, 2, 3], ["id", "key_2", "osmid_2", "highway_2"]]
    assert own.to_numpy().T.tolist() == [[2**53 + 1, 0, 2], [7, 8, 9], [70, 80, 90], ["x", "y", "z"]]
    assert edges["key"].max() == 0 and edges["length"].min() == pytest.approx(50 * GROUND, rel=1e-5)


def test_text_that_xml_cannot_hold_does_not_spoil_the_file(tmp_path):
    names = ['A \x0b& <b> "ü" 道', "&xxe; <!ENTITY x>"]
    _, graph = exported(tmp_path, layer_of(STRAIGHT, AROUND, name=names))
    assert {edge["name"] for *_, edge in graph.edges(data=True)} == {names[0].replace("\x0b", ""), names[1]}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lines_oneway_field": "one"}, "have no field 'one'"),
        ({"lines_class_field": "class"}, "have no field 'class'"),
        ({"graphml": "graph.xml"}, r"graph\.xml is not in a format"),
        ({"geopackage": "graph.geojson"}, r"graph\.geojson can hold only one layer"),
    ],
)
def test_unusable_inputs_are_named_and_leave_no_output(tmp_path, options, message):
    lines = str(tmp_path / "lines.gpkg")
    layer_of(STRAIGHT).to_file(lines)
    options = {name: str(tmp_path / value) if "." in value else value for name, value in options.items()}
    with pytest.raises((LayerError, OutputError), match=message) as refused:
        run(ExportNetwork(**{"lines": lines, "graphml": str(tmp_path / "graph.graphml"), **options}), Reporter())
    assert refused.value.remedy
    assert [path.name for path in tmp_path.iterdir()] == ["lines.gpkg"]
