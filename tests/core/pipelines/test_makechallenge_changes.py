"""The job makechallenge with an extract: each task of a new road proposes it as a change, of its own, that applies."""

from __future__ import annotations

import base64
import json

import pytest

from tests.core.support.osm_changes import AVENUE, ROAD, STREET, apply_change, changed, placed, read_extract
from training_core.comparison.challenge_file import read_task_ids
from training_core.events import Reporter
from training_core.jobs import MakeChallenge
from training_core.pipelines.makechallenge import run

LOST = [(150, 20), (150, 80)]


def tasks_of(folder, changes, **options):
    path = folder / "challenge.geojson"
    run(MakeChallenge(layer=changes, challenge=str(path), **options), Reporter())
    return [json.loads(text[1:]) for text in path.read_text(encoding="ascii").split("\n")[:-1]]


def change_in(task):
    work = task["cooperativeWork"]
    assert work["meta"] == {"version": 2, "type": 2}
    file = work["file"]
    assert file.keys() == {"type", "format", "encoding", "content"}
    assert (file["type"], file["format"], file["encoding"]) == ("xml", "osc", "base64")
    return base64.b64decode(file["content"], validate=True).decode()


def test_the_task_of_a_new_road_alone_holds_its_change_and_all_else_is_as_without(tmp_path):
    extract, changes = changed(
        tmp_path, before=(STREET, AVENUE, LOST), highway=["", "", "track"], oneway=["", "", "yes"]
    )
    tasks = tasks_of(tmp_path, changes, extract=extract)
    without = tasks_of(tmp_path, changes)
    assert [{key: task[key] for key in ("type", "features")} for task in tasks] == without
    assert {task["features"][0]["properties"]["change"]: "cooperativeWork" in task for task in tasks} == {
        "new": True, "lost": False,
    }  # fmt: skip
    (text,) = [change_in(task) for task in tasks if "cooperativeWork" in task]
    nodes, ways, touched = apply_change(*read_extract(extract), text)
    assert touched["modify"] == {("way", 500)}
    (new,) = [way for number, way in ways.items() if number < 0]
    # One way through the node of the avenue, from a new one in the street.
    assert new[1][0] in ways[500][1] and ways[501][1][1] in new[1]
    assert [nodes[ref] for ref in new[1]][-1] == pytest.approx(placed(ROAD).iloc[0].coords[-1], abs=1e-6)
    assert new[2] == {"highway": "track", "source": "RoadSeg"}


def test_each_part_of_a_long_road_is_a_change_of_its_own_and_its_file_an_earlier_challenge(tmp_path):
    long = [(30, 4), (30, 90), (30, 700)]
    extract, changes = changed(tmp_path, before=(STREET,), after=(STREET, long))
    tasks = tasks_of(tmp_path, changes, extract=extract, max_length_m=250.0)
    assert len(tasks) == 3
    touching = 0
    for task in tasks:
        _, ways, touched = apply_change(*read_extract(extract), change_in(task))
        assert sum(number < 0 for number in ways) == 1
        touching += ("way", 500) in touched["modify"]
    assert touching == 1
    ids = [task["features"][0]["id"] for task in tasks]
    earlier = tmp_path / "challenge.geojson"
    assert read_task_ids(str(earlier)) == ids
    (tmp_path / "again").mkdir()
    again = tasks_of(tmp_path / "again", changes, earlier=str(earlier), max_length_m=250.0)
    assert [task["features"][0]["id"] for task in again] == ids
