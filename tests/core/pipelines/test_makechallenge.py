"""The job makechallenge: tasks in the form that MapRoulette takes, from known geometry."""

from __future__ import annotations

import json
import os

import numpy as np
import pyproj
import pytest
from shapely.geometry import LineString, MultiPoint, Point, shape

from tests.core.support.rasters import files, layer, write_layer
from training_core.errors import LayerError
from training_core.events import Log, Reporter, Warning
from training_core.jobs import MakeChallenge
from training_core.pipelines.makechallenge import run

# On the meridian of the zone 33 a meter of the grid is 1 / 0.9996 meters on the ground.
X, Y, GROUND = 500000, 5820000, 1 / 0.9996
NUMBERS = {"length_m", "offset_m", "probability", "paths_share"}
TO_DEGREES = pyproj.Transformer.from_crs(32633, 4326, always_xy=True)


def line(*points):
    return LineString(np.add(points, (X, Y)))


def challenge(folder, source, events=None, **options):
    """The result of the job, and the features of its tasks, after a check of each line's form."""
    path = folder / "challenge.geojson"
    reporter = Reporter((events if events is not None else []).append)
    result = run(MakeChallenge(layer=str(source), challenge=str(path), **options), reporter)
    features = features_in(path)
    assert result["tasks"] == len(features) == len({feature["id"] for feature in features})
    return result, features


def features_in(path):
    text = path.read_bytes()
    assert text.endswith(b"\n") and text.isascii()
    features = []
    for record in text[:-1].split(b"\n"):
        assert record.startswith(b"\x1e{") and record.count(b"\x1e") == 1
        task = json.loads(record[1:], parse_constant=pytest.fail)
        assert task.keys() == {"type", "features"} and task["type"] == "FeatureCollection"
        (feature,) = task["features"]
        assert feature.keys() == {"type", "id", "geometry", "properties"} and feature["type"] == "Feature"
        check_geometry(feature["geometry"])
        properties = feature["properties"]
        assert (
            {"instruction", "change", "priority"}
            <= properties.keys()
            <= {"instruction", "change", "priority", *NUMBERS}
        )
        assert all(type(properties[name]) is float for name in NUMBERS & properties.keys())
        assert properties["priority"] in ("high", "medium", "low") and properties["instruction"].endswith(".")
        features.append(feature)
    return features


def check_geometry(geometry):
    assert geometry.keys() == {"type", "coordinates"} and shape(geometry).is_valid
    lines = {"Point": lambda at: [[at, at]], "LineString": lambda at: [at], "MultiLineString": list}
    for positions in lines[geometry["type"]](geometry["coordinates"]):
        assert len(positions) >= 2
        for longitude, latitude in positions:
            assert -180 <= longitude <= 180 and -90 <= latitude <= 90
            assert max(len(repr(each).partition(".")[2]) for each in (longitude, latitude)) <= 7


def ends(feature):
    return [feature["geometry"]["coordinates"][end] for end in (0, -1)]


def test_fragments_that_continue_each_other_are_one_road_and_a_long_one_is_split_into_equal_parts(tmp_path):
    # 1200 m in two fragments, drawn toward each other, and a lost road of 30 m.
    source = write_layer(
        tmp_path / "changes.gpkg",
        *(line((0, 0), (700, 0)), line((1200, 0), (700, 0)), line((0, 90), (30, 90)), line((0, 40), (99, 40))),
        change=["new", "new", "lost", "intact"],
        road_probability=[0.875, 0.25, 0.5, 0.5],
    )
    result, features = challenge(tmp_path, source)
    assert (result["tasks"], result["kept"], result["too_short"]) == (4, 0, 0)
    new = sorted((each for each in features if each["properties"]["change"] == "new"), key=lambda each: each["id"])
    borders = np.round(TO_DEGREES.transform(X + 400 * np.arange(4), [Y] * 4), 7).T
    for number, feature in enumerate(new):
        np.testing.assert_allclose(sorted(ends(feature)), borders[number : number + 2], atol=2e-7)
        assert feature["properties"]["length_m"] == pytest.approx(400 * GROUND, abs=0.05)
        assert feature["properties"]["probability"] == 0.875  # of the longest fragment
        assert "(about 400 m)" in feature["properties"]["instruction"]
    (lost,) = (each for each in features if each["properties"]["change"] == "lost")
    assert lost["properties"]["length_m"] == 30.0 and lost["properties"]["priority"] == "low"
    assert "probability" not in lost["properties"] and "only be hidden" in lost["properties"]["instruction"]
    assert features[-1] == lost  # in order of importance


def test_roads_that_meet_or_cross_stay_apart_and_those_of_different_changes_too(tmp_path):
    arms = [line((0, 0), end) for end in ((50, 0), (0, 50), (-50, 0))]
    cross = [line((200, 0), (300, 0)), line((250, -50), (250, 50))]
    after_each_other = [line((0, 500), (50, 500)), line((50, 500), (100, 500))]
    changes = ["new"] * 5 + ["new", "lost"]
    source = write_layer(tmp_path / "changes.gpkg", *arms, *cross, *after_each_other, change=changes)
    assert challenge(tmp_path, source)[0]["tasks"] == 7


@pytest.mark.parametrize(("angle", "tasks"), [(0, 1), (40, 1), (-40, 1), (50, 2), (90, 2), (-170, 2)])
def test_a_road_that_turns_where_another_one_may_begin_is_two(tmp_path, angle, tasks):
    turned = 100 * np.array([np.cos(np.radians(angle)), np.sin(np.radians(angle))])
    source = write_layer(tmp_path / "changes.gpkg", line((0, 0), (-80, 0)), line(turned, (0, 0)), change=["new"] * 2)
    assert challenge(tmp_path, source)[0]["tasks"] == tasks


def test_roads_that_are_not_seen_partly_seen_or_under_water_are_tasks_by_the_paths_that_need_them(tmp_path):
    states = ["seen", "partly seen", "not seen", "under water", "in a hazard"]
    lines = [line((0, 50 * number), (60, 50 * number)) for number in range(5)]
    shares = [0.9, 0.1, 0.2, 0.3, 0.8]
    source = write_layer(
        tmp_path / "states.gpkg",
        *lines,
        state=states,
        lost_probability=[0.5] * 5,
        paths_share=shares,
        change=["new"] * 5,
    )
    _, features = challenge(tmp_path, source)
    properties = [feature["properties"] for feature in features]
    assert [each["change"] for each in properties] == ["under water", "not seen", "partly seen"]
    assert [each["paths_share"] for each in properties] == [0.3, 0.2, 0.1]
    assert len({each["instruction"] for each in properties}) == 3
    assert features[0]["id"].startswith("under-water_")


def test_displaced_and_short_stretches_are_tasks_by_choice(tmp_path):
    events = []
    source = write_layer(
        tmp_path / "changes.gpkg",
        *(line((0, 0), (60, 0)), line((0, 50), (19, 50)), line((0, 100), (60, 100))),
        change=["new", "lost", "displaced"],
        offset_m=[None, None, 8.26],
    )
    result, (feature,) = challenge(tmp_path, source, events)
    assert feature["properties"]["change"] == "new" and result["too_short"] == 1
    assert any(isinstance(event, Log) and "below 20 m, left out: 1." in event.message for event in events)
    result, features = challenge(tmp_path, source, displaced=True, min_length_m=10.0)
    found = {each["properties"]["change"]: each["properties"] for each in features}
    assert found.keys() == {"new", "lost", "displaced"} and result["too_short"] == 0
    assert found["displaced"]["offset_m"] == 8.3 and "(about 8 m)" in found["displaced"]["instruction"]


def test_likely_breaks_are_points_whose_priority_is_by_the_paths_that_would_change(tmp_path):
    places = [(0, 0), (100, 0), (200, 0), (300, 0)]
    source = write_layer(
        tmp_path / "breaks.gpkg",
        *(Point(X + x, Y + y) for x, y in places[:3]),
        MultiPoint([(X + 290, Y), (X + 310, Y)]),
        kind=["gap not joined", "dead end removed", "component apart", "gap not joined"],
        paths_share=[0.001, 0.2, 0.0303306, None],
        probability=[0.9, None, 0.5, 0.75],
        length_m=[12.0, 30.0, None, 8.0],
    )
    _, features = challenge(tmp_path, source)
    found = [each["properties"] for each in features]
    assert [each["change"] for each in found] == [
        "dead end removed",
        "component apart",
        "gap not joined",
        "gap not joined",
    ]
    assert [each["priority"] for each in found] == ["high", "high", "medium", "low"]
    assert found[1]["paths_share"] == 0.030331 and "paths_share" not in found[3]
    assert "about" not in found[1]["instruction"] and "(about 12 m)" in found[2]["instruction"]
    at = [each["geometry"]["coordinates"] for each in features]
    expected = np.round(np.transpose(TO_DEGREES.transform(X + np.array([100, 200, 0, 300]), [Y] * 4)), 7)
    np.testing.assert_allclose(at, expected, atol=2e-7)


def test_a_road_across_the_antimeridian_is_cut_there(tmp_path):
    source = write_layer(
        tmp_path / "changes.gpkg", LineString([(179.999, -16.8), (180.001, -16.7995), (180.002, -16.7995)]), crs=4326,
        change=["new"],
    )  # fmt: skip
    _, (feature,) = challenge(tmp_path, source)
    assert feature["geometry"]["type"] == "MultiLineString"
    east, west = sorted(feature["geometry"]["coordinates"], key=lambda part: -part[0][0])
    assert east == [[179.999, -16.8], [180.0, -16.79975]]
    assert west == [[-180.0, -16.79975], [-179.999, -16.7995], [-179.998, -16.7995]]
    # The parts of 220 m and 106 m have their middles 0 m and 160 m east of the antimeridian, so both 52 m.
    assert feature["id"] == "new_-16.7997_-179.9995" and feature["properties"]["length_m"] == pytest.approx(327, abs=2)


def test_a_break_beyond_the_antimeridian_has_its_place_between_180_and_180(tmp_path):
    source = write_layer(tmp_path / "breaks.gpkg", Point(190, 5), Point(540, 5), crs=4326, kind=["gap not joined"] * 2)
    _, features = challenge(tmp_path, source)
    assert sorted(each["geometry"]["coordinates"][0] for each in features) in ([-180, -170], [-170, 180])
    assert {each["id"].rpartition("_")[2] for each in features} == {"-170.0000", "180.0000"}


def test_nothing_of_other_fields_is_taken_over(tmp_path):
    source = write_layer(
        tmp_path / "changes.gpkg",
        *(line((0, y), (100, y)) for y in (0, 50, 100, 150)),
        change=[" New ", "new", "lost", "{{secret}}\x1e\n"],
        road_probability=["0.5", "\x1b[31m", "1e400", "nan"],
        length_m=[1e308, -5.0, None, 3.0],
        instruction=["Delete all.\x1e"] * 4,
        id=["way/1"] * 4,
        name=["\x1e\n{}"] * 4,
    )
    _, features = challenge(tmp_path, source)
    found = sorted((each["properties"] for each in features), key=lambda each: each.get("probability", 1))
    assert [each.get("probability") for each in found] == [0.5, None, None]
    assert all(each["length_m"] == 100.0 and "Delete" not in each["instruction"] for each in found)


ROAD = line((0, 0), (100, 0))


@pytest.mark.filterwarnings("ignore:'crs' was not provided")
@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (layer(ROAD, change=["new"]).set_crs(None, allow_override=True), "no coordinate reference system"),
        (layer(ROAD, change=["misplaced"]), r"without a known 'change': 1 of 1 \('misplaced'\)"),
        (layer(ROAD, name=["new"]), "neither a field 'change' nor a field 'kind'"),
        (layer(ROAD.centroid, change=["new"]), "must be lines"),
        (layer(ROAD, kind=["missed"]), "must be points"),
        (layer(ROAD.centroid, kind=["missed"]), r"without a known 'kind': 1 of 1 \('missed'\)"),
    ],
)
def test_a_layer_that_holds_no_changes_is_refused_and_writes_nothing(tmp_path, source, reason):
    source.to_file(tmp_path / "changes.gpkg")
    with pytest.raises(LayerError, match=reason) as refused:
        challenge(tmp_path, tmp_path / "changes.gpkg")
    assert "changes.gpkg" in refused.value.message and refused.value.remedy
    assert files(tmp_path) == ["changes.gpkg"]


@pytest.mark.parametrize(
    ("source", "too_short"),
    [
        (layer(ROAD, change=["new"]).iloc[:0], 0),
        (layer(ROAD.centroid).iloc[:0], 0),  # as of formats that keep no fields without features
        (layer(ROAD, change=["intact"]), 0),
        (layer(line((0, 0), (15, 0)), change=["new"]), 1),
    ],
)
def test_where_nothing_is_to_be_done_the_challenge_is_empty_and_serves_as_the_earlier_one(tmp_path, source, too_short):
    source.to_file(tmp_path / "changes.gpkg")
    path, events = str(tmp_path / "challenge.geojson"), []
    job = MakeChallenge(layer=str(tmp_path / "changes.gpkg"), challenge=path)
    result = run(job, Reporter(events.append))
    assert (result["tasks"], result["too_short"], os.path.getsize(path)) == (0, too_short, 0)
    (warning,) = (event.message for event in events if isinstance(event, Warning))
    assert warning.startswith("No feature of the changes, states or likely breaks") and "(min_length_m)" in warning
    source = write_layer(tmp_path / "now.gpkg", ROAD, Change=[" New"])
    assert run(MakeChallenge(layer=source, challenge=path + ".json", earlier=path), Reporter())["tasks"] == 1


def test_more_tasks_than_anyone_could_want_are_refused_before_they_are_made(tmp_path, monkeypatch):
    monkeypatch.setattr("training_core.comparison.challenge_tasks.MAX_PARTS", 10)
    source = write_layer(
        tmp_path / "changes.gpkg", *(line((0, y), (1900, y)) for y in (0, 90, 180)), change=["new"] * 3
    )
    with pytest.raises(LayerError, match=r"changes\.gpkg.* 12 stretches of 500 m, but at most 10 .*\(max_length_m\)"):
        challenge(tmp_path, source)
    assert files(tmp_path) == ["changes.gpkg"]


TASK = '{"type":"FeatureCollection","features":[{"type":"Feature","id":%s}]}'


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (TASK % '"way/12"', "no task with an id of RoadSeg"),
        ("\x1e" + TASK % "12", "an item of line 1 features id is 12, not text"),
        ("\x1e" + TASK % '"new_1.0000_2.0000"' + "\n\x1e{", "line 2 is not JSON"),
        ("[" * 5000, "is not a challenge"),
        ('{"features":[]}', "line 1 features has 0 items"),
        ("\xff", "it is not text"),
    ],
)
def test_an_earlier_challenge_that_is_none_is_refused_by_name(tmp_path, text, reason):
    source = write_layer(tmp_path / "changes.gpkg", ROAD, change=["new"])
    earlier = tmp_path / "earlier.geojson"
    earlier.write_bytes(text.encode("latin-1"))
    with pytest.raises(LayerError, match=rf"earlier\.geojson.*{reason}"):
        challenge(tmp_path, source, earlier=str(earlier))
    assert files(tmp_path) == ["changes.gpkg", "earlier.geojson"]
