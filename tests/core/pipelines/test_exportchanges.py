"""The job exportchanges: its change, applied to the extract as the database would, adds connected roads alone."""

from __future__ import annotations

import geopandas
import networkx
import numpy as np
import pandas
import pytest
import shapely
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from shapely import LineString

from tests.core.support.disasters import run as compare
from tests.core.support.osm_changes import AVENUE, ROAD, STREET, applied, changed, placed, read_extract, write_extract
from tests.core.support.rasters import UTM, files, write_layer
from tests.core.support.road_graphs import town
from training_core.errors import LayerError
from training_core.events import Reporter
from training_core.jobs import ExportChanges, MakeChallenge
from training_core.pipelines import makechallenge
from training_core.pipelines.exportchanges import run

TAGS = [{"highway": "tertiary", "name": 'A "B" & <C>\n\tD\U0001f6a7'}, {"highway": "residential"}]


def exported(folder, extract, changes):
    path = str(folder / "town.osc")
    result = run(ExportChanges(changes=changes, extract=extract, osc=path), Reporter())
    return result, *applied(extract, path)


def graph_of(ways, chosen=lambda number: True):
    graph = networkx.Graph()
    for number, (_, refs, _) in ways.items():
        if chosen(number):
            networkx.add_path(graph, refs)
    return graph


def test_a_new_road_shares_a_node_or_puts_one_into_the_way_and_nothing_else_changes(tmp_path):
    extract, changes = changed(
        tmp_path, tags=TAGS, highway=["", "", "track"], width_m=[6.0, 6.0, 3.5], road_probability=[1.0, 1.0, 0.3]
    )
    result, nodes, ways, touched = exported(tmp_path, extract, changes)
    old_nodes, old = read_extract(extract)
    assert touched["modify"] == {("way", 500)} and {kind for kind, _ in touched["create"]} == {"node", "way"}
    assert {key: nodes[key] for key in old_nodes} == old_nodes and ways[501] == old[501]
    # A node in the street, whose other nodes and tags stay.
    _, refs, tags = ways[500]
    (node,) = set(refs) - set(old[500][1])
    assert [ref for ref in refs if ref != node] == old[500][1] and tags == TAGS[0] and refs.index(node) == 1
    street = placed(STREET).iloc[0]
    assert street.distance(shapely.Point(nodes[node])) < 2e-7
    # The road passes the avenue at its middle node.
    middle = old[501][1][1]
    new = {number: way for number, way in ways.items() if number < 0}
    assert any(middle in refs for _, refs, _ in new.values()) and any(node in refs for _, refs, _ in new.values())
    assert networkx.is_connected(graph_of(ways))
    (tags,) = {tuple(sorted(tags.items())) for _, _, tags in new.values()}
    assert dict(tags) == {
        "highway": "track", "source": "RoadSeg", "width": "3.5",
        "fixme": "uncertain road (probability 0.30): check it against imagery",
    }  # fmt: skip
    assert result["roads"] == len(new) and result["modified"] == 1 and result["joined"] == 2


def test_lost_roads_and_rejected_ones_are_not_in_the_change(tmp_path):
    lost, other = [(150, 20), (150, 80)], [(60, 5), (60, 50)]
    extract, changes = changed(tmp_path, before=(STREET, AVENUE, lost), after=(STREET, AVENUE, ROAD, other))
    layer = geopandas.read_file(changes)
    assert (layer["change"] == "lost").sum() == 1
    result, _, _, touched = exported(tmp_path, extract, changes)
    assert result["roads"] == 2 and ("way", 502) not in touched["modify"]
    layer.loc[layer["line"] == 4, "review"] = "Accepted"
    layer.loc[layer["change"] == "lost", "review"] = "accepted"
    layer.to_file(changes)
    result, _, _, touched = exported(tmp_path, extract, changes)
    assert result["roads"] == 1 and result["modified"] == 1 and ("way", 502) not in touched["modify"]
    layer["review"] = "rejected"
    layer.to_file(changes)
    with pytest.raises(LayerError, match="are rejected, but none is accepted"):
        exported(tmp_path, extract, changes)


@pytest.mark.parametrize("change", [None, "", "proposed"])
def test_a_line_that_somebody_added_is_left_out_with_a_word_and_the_extract_is_not_blamed(tmp_path, change):
    extract, changes = changed(tmp_path)
    _, _, expected, _ = exported(tmp_path, extract, changes)
    layer = geopandas.read_file(changes)
    (new,) = layer[layer["change"] == "new"].geometry
    end = new.coords[-1]  # where the new road leads to nothing
    added = layer.iloc[:1].assign(change=change, geometry=[LineString([end, (end[0] + 40, end[1])])])
    pandas.concat([layer, added]).to_file(changes)
    reporter = Reporter()
    run(ExportChanges(changes=changes, extract=extract, osc=str(tmp_path / "more.osc")), reporter)
    assert applied(extract, tmp_path / "more.osc")[1] == expected
    (warning,) = reporter.warnings
    assert f"1 of {len(layer) + 1} ({repr(change) if change else 'empty'})" in warning and "left out" in warning
    job = MakeChallenge(layer=changes, extract=extract, challenge=str(tmp_path / "tasks.geojson"))
    assert makechallenge.run(job, Reporter())["tasks"] == 1


@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 10**6))
def test_applied_to_any_town_no_road_but_the_new_ones_is_another(tmp_path, seed):
    before, after = ([shapely.get_coordinates(shape) for shape in town(each, kept=kept).lines.shapes]
                     for each, kept in ((seed, 0.6), (seed + 1, 0.9)))  # fmt: skip
    extract, changes = changed(tmp_path, before, after)
    layer = geopandas.read_file(changes)
    if not (layer["change"] == "new").any():
        return
    result, nodes, ways, touched = exported(tmp_path, extract, changes)
    _, old = read_extract(extract)
    for number, (_, refs, tags) in old.items():
        assert [ref for ref in ways[number][1] if ref > 0] == refs and ways[number][2] == tags
        shape, bent = (LineString([nodes[ref] for ref in each]) for each in (refs, ways[number][1]))
        assert shape.hausdorff_distance(bent) < 1e-6  # degrees: a decimeter
    assert len({("way", number) for number in old} & touched["modify"]) == result["modified"]
    # What the layer connects, the database connects.
    shapes = layer.to_crs("EPSG:4326").geometry
    layer_graph = networkx.Graph()
    for shape in shapes:
        networkx.add_path(layer_graph, map(tuple, shapely.get_coordinates(shape).round(6).tolist()))
    assert networkx.number_connected_components(graph_of(ways)) == networkx.number_connected_components(layer_graph)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        ({"version": 0}, r"has 2 ways without a version.* in files that RoadSeg exports\. .*out meta"),
        ({"edit": ('<way id="501"', '<way action="modify" id="501"')}, "edits that are not uploaded"),
        ({"edit": ('<node id="1000"', "<node id='1000' action='delete'")}, "edits that are not uploaded"),
        ({"edit": ('"501"', '"-501"')}, "new objects with ids below 1"),
        ({"moved": 3}, "of 2 places where new roads are attached .* do not lie on a way of"),
        ({"mapped": ROAD}, r"1 new roads run along a way .* at longitude 13\.3\d+, latitude 52\.5"),
        ({"moved": 9000}, "has no road in the area of the new roads"),
        ({"text": "<osm"}, "cannot be read"),
        ({"text": '<osm version="0.6"></osm>'}, "has no road in the area"),
        ({"text": None}, "cannot be read"),
        ({"name": "before.gpkg"}, "is not in a format of OpenStreetMap"),
        ({"twice": True}, "has a way more than once"),
    ],
)
def test_an_extract_that_does_not_fit_is_refused_and_nothing_is_written(tmp_path, spoil, message):
    _, changes = changed(tmp_path, version=spoil.get("version", 3))
    path = tmp_path / spoil.get("name", "before.osm")
    if "moved" in spoil:
        write_extract(path, placed(*(np.add(line, (0, spoil["moved"])) for line in (STREET, AVENUE))))
    elif "mapped" in spoil:
        write_extract(path, placed(STREET, AVENUE, spoil["mapped"]))
    elif "twice" in spoil:
        write_extract(path, placed(STREET, AVENUE))
        path.write_text(path.read_text().replace('way id="501"', 'way id="500"'))
    elif "edit" in spoil:
        path.write_text(path.read_text().replace(*spoil["edit"]))
    elif "text" in spoil and spoil["text"] is None:
        path.unlink()
    elif "text" in spoil:
        path.write_text(spoil["text"])
    there = files(tmp_path)
    with pytest.raises(LayerError, match=message) as caught:
        exported(tmp_path, str(path), changes)
    assert caught.value.remedy and files(tmp_path) == there


def test_a_way_that_would_have_too_many_nodes_is_named(tmp_path):
    long = [(3 * x, 0) for x in range(2000)]
    extract, changes = changed(tmp_path, before=(long,), after=(long, [(901.5, 60), (901.5, 5)]))
    with pytest.raises(LayerError, match="Way 500 would have more than the 2,000 nodes"):
        exported(tmp_path, extract, changes)


@pytest.mark.parametrize(
    ("corner", "length_deg", "crs"),
    [
        ((13, 50), (0.028, 0), "EPSG:4326"),
        ((13, 50), (0.028, 0), "EPSG:3857"),
        ((13, 50), (0.028, 0), UTM),
        ((13, 60), (0.7, 0.2), "EPSG:4326"),
        ((-70, -80), (2, 0), "EPSG:4326"),
        ((10, 0.5), (1, -1), "EPSG:4326"),
    ],
)
def test_a_road_meets_a_long_straight_way_where_that_lies_in_degrees(tmp_path, corner, length_deg, crs):
    ends = np.array([corner, np.add(corner, length_deg)])
    extract = write_extract(tmp_path / "before.osm", [LineString(ends)], [{"highway": "residential"}])
    before = str(tmp_path / "before.gpkg")
    geopandas.read_file(extract, layer="lines").to_crs(crs).to_file(before)
    middle, across = ends.mean(axis=0), np.array([-length_deg[1], length_deg[0]]) / np.hypot(*length_deg)
    road = [middle, middle + 0.002 * across]
    path = write_layer(tmp_path / "after.gpkg", LineString([ends[0], middle, ends[1]]), LineString(road), crs=4326)
    changes = compare(tmp_path, before, path, align=False)["changes"]
    layer = geopandas.read_file(changes).set_index("change")
    assert shapely.get_num_points(layer.geometry).to_dict() == {"intact": 3, "new": 2}
    result, nodes, ways, _ = exported(tmp_path, extract, changes)
    _, (_, node, _), _ = ways[500]
    assert result["joined"] == 1 and node in ways[-1][1]
    assert LineString(ends).distance(shapely.Point(nodes[node])) < 1e-7
    assert shapely.Point(nodes[node]).distance(shapely.Point(middle)) < 1e-5
    job = MakeChallenge(layer=changes, extract=extract, challenge=str(tmp_path / "tasks.geojson"))
    assert makechallenge.run(job, Reporter())["tasks"] == 1
