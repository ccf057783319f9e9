"""Known bridges are laid over traced lines, which then meet no longer where they cross."""

from __future__ import annotations

import geopandas
import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st
from shapely import affinity
from shapely.geometry import LineString, MultiLineString

from tests.core.support.rasters import UTM
from training_core.events import Reporter
from training_core.jobs import CleanNetwork
from training_core.networks.lines import make_lines
from training_core.networks.noding import lay_bridges
from training_core.pipelines.cleannetwork import clean_layer, read_bridges, run

CORNER = (390000, 5820000)
# A road north and a motorway of two carriageways below it, traced from a mask: they are split where they meet.
ROAD = [[(100, -80), (100, 0)], [(100, 0), (100, 15)], [(100, 15), (100, 90)]]
MOTORWAY = [[(0, 0), (100, 0)], [(100, 0), (200, 0)], [(0, 15), (100, 15)], [(100, 15), (200, 15)]]
TRACED = [LineString(line) for line in (*ROAD, *MOTORWAY)]
BRIDGE = LineString([(101, -15), (102, 30)])


def layer_of(shapes, **columns):
    moved = [shapely.transform(shape, lambda points: points + CORNER) for shape in shapes]
    return geopandas.GeoDataFrame(columns, geometry=moved, crs=UTM)


def cleaned(bridges, reporter=None, **columns):
    return clean_layer(layer_of(TRACED, **columns), CleanNetwork(), reporter or Reporter(), layer_of(bridges))


def test_the_road_on_a_bridge_and_those_below_no_longer_meet():
    found = cleaned([BRIDGE], name=["over"] * 3 + ["below"] * 4)
    assert (found.nodes["degree"] <= 2).all()
    assert found.roads["component"].max() == 3  # the road and two carriageways
    on_bridge = found.roads[found.roads["bridge"] == "yes"]
    assert on_bridge[["name", "layer"]].to_numpy().tolist() == [["over", "1"]]
    assert on_bridge["length_m"].tolist() == pytest.approx([45], abs=0.2)
    assert found.roads["bridge"].isna().sum() == len(found.roads) - 1
    lengths = found.roads.groupby("name")["length_m"].sum()
    assert lengths.to_dict() == pytest.approx({"over": 170, "below": 400}, rel=1e-3)


def test_a_bridge_along_which_no_line_runs_changes_nothing_and_is_told():
    told = []
    reporter = Reporter(told.append)
    found = cleaned([LineString([(40, -20), (40, 35)])], reporter)
    assert [event.message for event in told if hasattr(event, "message") and "bridge" in event.message] == [
        "No line runs along 1 of 1 bridges (). These bridges are left out."
    ]
    assert sorted(found.nodes["degree"]) == [1] * 6 + [4, 4]
    assert found.roads["bridge"].isna().all()


@given(st.floats(0, 360), st.floats(-5, 5), st.booleans())
def test_a_bridge_is_laid_however_it_is_drawn(angle, aside_m, is_reversed):
    drawn = affinity.translate(LineString([(100, -15), (100, 30)]), aside_m, 0)
    turned = [affinity.rotate(shape, angle, origin=(0, 0)) for shape in (*TRACED, drawn)]
    bridge = turned[-1].reverse() if is_reversed else turned[-1]
    laid, is_laid = lay_bridges(make_lines(turned[:-1]), np.array([bridge], dtype=object))
    assert is_laid.tolist() == [True]
    assert laid.length_m.sum() == pytest.approx(570, abs=1e-6)
    (deck,) = laid.shapes[laid.bridge]
    assert deck.length == pytest.approx(45, abs=1e-6)
    road = shapely.line_merge(MultiLineString([*laid.shapes[~laid.bridge], deck]))
    ends = affinity.rotate(LineString([(100, -80), (100, 90)]), angle, origin=(0, 0))
    assert any(part.hausdorff_distance(ends) < 5.1 for part in shapely.get_parts(road))


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"bridge": ["viaduct", "no"]}, "1 of 2 lines"),
        ({"bridge": [None, "no"]}, "0 of 2 lines"),
        ({"layer": [1, 0]}, "1 of 2 lines"),
        ({"layer": ["1", ""]}, "1 of 2 lines"),
        ({"layer": [2.0, -1.0]}, "1 of 2 lines"),
    ],
)
def test_only_lines_that_a_field_marks_as_bridges_or_above_others_are_bridges(fields, told, tmp_path):
    layer_of([BRIDGE, TRACED[0]], **fields).to_file(tmp_path / "osm.gpkg")
    events = []
    reporter = Reporter(events.append)
    bridges = read_bridges(str(tmp_path / "osm.gpkg"), reporter)
    assert bridges.geometry.length.tolist() == pytest.approx([45.01][: len(bridges)], abs=0.01)
    assert bridges.empty == bool(reporter.warnings) == told.startswith("0")
    (field,) = fields
    assert events[0].message.startswith(told) and events[0].message.endswith(
        f"are marked as bridges by the field {field!r}."
    )


def test_tags_of_other_lines_are_kept_as_text(tmp_path):
    layer_of(TRACED, Layer=[0, 0, 0, 2, 0, 0, 0]).to_file(tmp_path / "lines.gpkg")
    layer_of([BRIDGE]).to_file(tmp_path / "bridges.gpkg")
    paths = {name: str(tmp_path / f"{name}.gpkg") for name in ("lines", "bridges", "roads")}
    run(CleanNetwork(**paths), Reporter())
    written = geopandas.read_file(paths["roads"])
    assert sorted(written["Layer"]) == ["0"] * 5 + ["1", "2"]
    assert sorted(written["bridge"].dropna()) == ["yes"]
