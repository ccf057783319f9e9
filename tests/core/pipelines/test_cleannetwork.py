"""The job cleannetwork: lines from any source become a network."""

from __future__ import annotations

import geopandas
import numpy as np
import pandas
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from shapely.geometry import LineString

from tests.core.support.rasters import UTM
from training_core.events import Reporter
from training_core.jobs import CleanNetwork
from training_core.networks.lines import make_lines
from training_core.networks.noding import node_lines
from training_core.pipelines.cleannetwork import clean_layer, clean_lines, run

CORNER = (390000, 5820000)
CRSES = [UTM, "EPSG:4326", "EPSG:3857", "EPSG:25833"]


def town(*coordinates, crs=UTM, **columns):
    """A layer of lines given in meters east and north of a corner."""
    shapes = [LineString(np.array(line, dtype=float) + CORNER) for line in coordinates]
    return geopandas.GeoDataFrame(columns, geometry=shapes, crs=UTM).to_crs(crs)


def cleaned(layer, **options):
    return clean_layer(layer, CleanNetwork(**options), Reporter())


def in_meters(table):
    return shapely.transform(table.geometry.to_crs(UTM).to_numpy(), lambda points: points - CORNER)


def degrees(found):
    return sorted(found.nodes["degree"])


@pytest.mark.parametrize("crs", CRSES)
def test_lines_of_any_crs_become_a_network_in_it_measured_on_the_ground(crs):
    layer = town([(0, 0), (200, 0)], [(100, -100), (100, 100)], [(50, 80), (50, 4)], [(208, 0), (300, 0)], crs=crs)
    found = cleaned(layer)
    assert found.roads.crs == found.nodes.crs == layer.crs
    assert degrees(found) == [1] * 5 + [2, 3, 4]
    assert found.roads["length_m"].sum() == pytest.approx(580, rel=1e-3)
    assert set(found.roads["component"]) == {1}
    crossing = in_meters(found.nodes[found.nodes["degree"] == 4])[0]
    assert (crossing.x, crossing.y) == pytest.approx((100, 0), abs=0.01)


def test_parts_keep_the_fields_and_the_direction_of_their_line():
    layer = town([(200, 0), (0, 0)], [(100, 100), (100, -100)], name=["Main", "Side"], lanes=[4, 2], length_m=[1, 1])
    found = cleaned(layer).roads
    assert sorted(zip(found["name"], found["lanes"])) == [("Main", 4), ("Main", 4), ("Side", 2), ("Side", 2)]
    assert found["length_m"].tolist() == pytest.approx([100] * 4, rel=1e-3)
    for name, line in zip(found["name"], in_meters(found)):
        (x, y), (to_x, to_y) = line.coords
        assert to_x < x if name == "Main" else to_y < y


def test_joined_lines_take_the_fields_of_the_longest_part_and_others_stay_apart():
    layer = town([(0, 0), (30, 0)], [(30, 0), (100, 0)], [(100, 0), (120, 0)], name=["a", "b", "c"])
    assert cleaned(layer).roads["name"].tolist() == ["a", "b", "c"]
    joined = cleaned(layer, join_lines=True).roads
    assert joined["name"].tolist() == ["b"]
    assert in_meters(joined)[0].length == pytest.approx(120, abs=0.01)


def test_the_way_over_a_gap_is_a_part_of_its_line():
    layer = town([(0, 0), (100, 0)], [(108, 0), (150, 0)], [(50, 60), (50, 4)], name=["long", "short", "side"])
    found = cleaned(layer).roads
    lengths = found["length_m"].groupby(found["name"]).sum()
    assert lengths.to_dict() == pytest.approx({"long": 108, "short": 42, "side": 60}, rel=1e-3)


@pytest.mark.parametrize("join_lines", [False, True])
def test_a_bridge_is_noded_at_its_ends_alone_and_stays_a_line_of_its_own(join_lines):
    layer = town(
        [(0, 0), (80, 0)], [(80, 0), (120, 0)], [(120, 0), (200, 0)], [(100, -100), (100, 100)], [(90, 50), (90, 4)],
        bridge=[None, "viaduct", "no", "", None],
    )  # fmt: skip
    found = cleaned(layer, lines_bridge_field="bridge", join_lines=join_lines)
    bridge = found.roads[found.roads["bridge"] == "viaduct"]
    assert [line.length for line in in_meters(bridge)] == pytest.approx([40], abs=0.01)
    assert degrees(found) == [1] * 6 + [2, 2]
    assert found.roads["component"].max() == 3
    assert degrees(cleaned(layer)) == [1] * 5 + [2, 2, 3, 4]


@pytest.mark.parametrize(
    ("name", "along", "against", "both"),
    [
        ("oneway", "yes", "-1", "no"),
        ("ONEWAY", 1, -1, 0),
        ("oneway", 1.0, -1.0, 0),
        ("oneway", True, "", ""),
        ("oneway", "F", "T", "B"),
        ("oneway", "FT", "TF", ""),
    ],
)
@pytest.mark.parametrize("join_lines", [False, True])
def test_one_way_lines_on_each_other_are_a_two_way_road_as_far_as_they_are(name, along, against, both, join_lines):
    # The second runs back over the last 100 m of the first, and over nothing but it; the third is drawn twice alike.
    back = [(300, 0), (200, 0)]
    layer = town([(0, 0), (300, 0)], back, back[::-1], [(0, 50), (99, 50)], **{name: [along, along, against, along]})
    if along is True:  # of bool, which has no word for against
        layer = layer.drop(2).astype({name: bool})
        both = False
    layer = pandas.concat([layer, layer.iloc[-1:]], ignore_index=True)
    found = cleaned(layer, join_lines=join_lines).roads
    lengths = found["length_m"].groupby(found[name]).sum()
    assert lengths.to_dict() == pytest.approx({along: 299, both: 100}, rel=1e-3)
    assert found[name].dtype == layer[name].dtype and len(found) == 3


def test_cleaning_a_clean_network_changes_nothing():
    rng = np.random.default_rng(3)
    across = [[(-10, y), (310, y + 20)] for y in (0, 70, 140)] + [[(x, y) for y in (-20, 63)] for x in (40, 120, 250)]
    noisy = [np.array(line) + rng.uniform(-1, 1, (2, 2)) for line in across]
    once = cleaned(town(*noisy))
    twice = cleaned(once.roads)
    assert len(twice.roads) == len(once.roads)
    assert degrees(twice) == degrees(once)
    assert twice.roads["length_m"].sum() == pytest.approx(once.roads["length_m"].sum(), abs=0.2)


coordinate = st.integers(0, 30).map(lambda number: 3.0 * number)
streets = st.lists(st.lists(st.tuples(coordinate, coordinate), min_size=2, max_size=4, unique=True), min_size=1,
                   max_size=12)  # fmt: skip


@settings(deadline=None, max_examples=60)
@given(streets, st.booleans())
def test_lines_that_were_connected_stay_connected(coordinates, join_lines):
    lines = make_lines(np.array([LineString(line) for line in coordinates], dtype=object))
    job = CleanNetwork(spur_m=5.0, gap_m=10.0, snap_m=8.0, junction_m=6.0, join_lines=join_lines)
    before, _ = node_lines(lines, job.join_m)
    line = before.origin
    after = clean_lines(lines, job, Reporter())
    pairs = coo_array((np.ones(len(line)), (before.edge_component, line)))
    _, number = connected_components(pairs @ pairs.T)
    was = {each: number[component] for each, component in zip(line, before.edge_component)}
    now = {}
    for each, component in zip(after.origin, after.edge_component):
        assert now.setdefault(was[each], component) == component


# The job, from file to file.


def test_the_job_writes_roads_and_nodes_and_returns_their_numbers(tmp_path):
    town([(0, 0), (200, 0)], [(100, -100), (100, 100)], name=["Zürich", "b"], fid=[7, 8]).to_file(
        tmp_path / "in.geojson"
    )
    job = CleanNetwork(
        lines=str(tmp_path / "in.geojson"), roads=str(tmp_path / "out.gpkg"), nodes=str(tmp_path / "out.gpkg")
    )
    heard = []
    result = run(job, Reporter(heard.append))
    assert (result["count"], result["components"]) == (4, 1)
    assert result["length_m"] == pytest.approx(400, rel=1e-3)
    roads = geopandas.read_file(job.roads, layer="roads")
    assert list(roads.columns) == ["length_m", "name", "component", "geometry"]
    assert set(roads["name"]) == {"Zürich", "b"}
    assert len(geopandas.read_file(job.roads, layer="nodes")) == 5
    fractions = [event.fraction for event in heard if event.kind == "progress"]
    assert fractions == sorted(fractions)
