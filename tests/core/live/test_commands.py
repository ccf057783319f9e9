"""Commands of a live session: valid lines, and refused ones."""

import json

import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

from training_core.events import Reporter
from training_core.live.commands import (
    Change,
    ChangeLabels,
    ChangeView,
    Correct,
    Keep,
    Learn,
    Pause,
    Stop,
    parse_command,
    read_command,
)
from training_core.system.input_lines import TOO_LONG

LINE = "LINESTRING (0 0, 10 0)"
SQUARE = "POLYGON ((0 0, 9 0, 9 9, 0 0))"
ROAD = {"layer": "roads", "id": "12", "geometry": LINE}
TANGLE = shapely.LineString(np.random.default_rng(0).uniform(0, 1000, (3000, 2))).wkt


def parse(command, **members):
    return parse_command(json.dumps({"command": command, **members}).encode())


def labels(*changes):
    return parse("labels", sequence=7, changes=list(changes))


def test_labels_say_what_was_drawn_and_what_is_gone():
    found = labels({**ROAD, "width_m": 4.5, "sure": False}, {"layer": "no_road", "id": "a", "geometry": None})
    assert isinstance(found, ChangeLabels) and found.sequence == 7 and found.refused == ()
    road, gone = found.changes
    assert (road.layer, road.id, road.geometry.length, road.width_m, road.sure) == ("roads", "12", 10.0, 4.5, False)
    assert gone == Change("no_road", "a", None, None, True)


@pytest.mark.parametrize("width", [None, 0, -3.0])
def test_a_road_without_a_width_has_the_usual_one_is_sure_and_has_no_height(width):
    (road,) = labels({**ROAD, "width_m": width, "sure": None, "geometry": "LINESTRING Z (0 0 5, 10 0 5)"}).changes
    assert road.width_m is None and road.sure and not road.geometry.has_z


def test_the_other_commands_are_read():
    view = parse("view", extent=[0, 1, 2.5, 3])
    assert view == ChangeView((0.0, 1.0, 2.5, 3.0), "probability")
    assert parse("view", extent=[0, 1, 2, 3], show="uncertainty").show == "uncertainty"
    assert parse("correct", sequence=9, x=1, y=2.5) == Correct(9, 1.0, 2.5)
    assert parse("keep", model="/a/m.safetensors") == Keep("/a/m.safetensors", "", "")
    assert parse("keep", model="/a/m.safetensors", labels="/a/m.gpkg") == Keep("/a/m.safetensors", "", "/a/m.gpkg")
    assert (parse("learn"), parse("pause"), parse("stop")) == (Learn(), Pause(), Stop())


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"geometry": SQUARE, "layer": "aoi2"}, "layer is 'aoi2'"),
        ({"id": ""}, "id"),
        ({"id": "x" * 201}, "id"),
        ({"id": 12}, "id"),
        ({"geometry": "LINESTRING ("}, "cannot be read"),
        ({"geometry": "LINESTRING (0 0, nan 5)"}, "Earth"),
        ({"geometry": "LINESTRING (0 0, inf 5)"}, "Earth"),
        ({"geometry": "LINESTRING (0 0, 1e300 5)"}, "Earth"),
        ({"geometry": "LINESTRING EMPTY"}, "not a geometry for"),
        ({"geometry": "POINT (1 2)"}, "not a geometry for"),
        ({"geometry": "GEOMETRYCOLLECTION (POINT (1 2))"}, "not a geometry for"),
        ({"layer": "aoi"}, "not a geometry for"),
        ({"geometry": 3}, "not text"),
        ({"width_m": 5000}, "5000 m wide"),
        ({"width_m": "wide"}, "width_m"),
        ({"width_m": True}, "width_m"),
        ({"sure": 1}, "sure"),
        ({"color": "red"}, "unknown"),
        ({"geometry": TANGLE}, "crosses itself"),
    ],
)
def test_a_feature_that_cannot_be_used_is_refused_and_the_others_count(change, why):
    found = labels({**ROAD, **change}, {**ROAD, "id": "good"})
    assert [each.id for each in found.changes] == ["good"]
    assert why in found.refused[0] and len(found.refused) == 1


@pytest.mark.parametrize(
    "line",
    [
        b"", b"roads", b"[]", b"null", b"3", b"{}", b'{"command": 3}', b'{"command": ["stop"]}', b'{"command": "fly"}',
        b'{"command": "stop", "now": true}', b'{"command": "stop", "command": "stop"}', b"\xff\xfe", b"[" * 100_000,
        b'{"command": "view"}', b'{"command": "view", "extent": [0, 0, 0, 1]}', b'{"command": "view", "extent": [1]}',
        b'{"command": "view", "extent": [0, 0, 1, NaN]}', b'{"command": "view", "extent": [0, 0, 1e300, 1]}',
        b'{"command": "view", "extent": [0, 0, 1, 1], "show": "all"}', b'{"command": "view", "extent": "all"}',
        b'{"command": "correct", "sequence": 1, "x": "1", "y": 2}', b'{"command": "correct", "sequence": 1, "x": 1}',
        b'{"command": "labels", "sequence": -1, "changes": []}', b'{"command": "labels", "sequence": 1, "changes": {}}',
        b'{"command": "labels", "sequence": true, "changes": []}', b'{"command": "labels", "sequence": 1.5}',
        b'{"command": "keep", "model": ""}', b'{"command": "keep", "model": "a\\u0000b"}',
        b'{"command": "keep", "model": ["a"]}', b'{"command": "keep", "model": "a", "labels": "\\u0000"}', TOO_LONG,
    ],
)  # fmt: skip
def test_a_malformed_line_is_warned_of_and_passed_over(line):
    told = []
    assert read_command(line, Reporter(told.append)) is None
    (warning,) = told
    assert warning.kind == "warning" and "skipped" in warning.message and len(warning.message) < 1000


@given(st.binary(max_size=200))
def test_any_line_is_a_command_or_passed_over(line):
    read_command(line, Reporter())
