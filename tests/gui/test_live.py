"""A live session in QGIS itself: roads drawn with the mouse, learned in the background, shown on the map."""

import pytest

from .conftest import act

PLAN = {"story": "live_story", "scene_px": 768, "view_m": 200, "roads": 2, "rests": 1}
# While a session runs; what QGIS itself does to open a project is not counted.
LIVE = ["first prediction", "drawing", "learning", "correct", "pause", "stop"]
STEPS = ["start", "scene", "panel", "begin", *LIVE, "end"]
# Processor time for which the window's thread works at a time, on which other processes have no influence.
MAX_WORK_S = 0.1


@pytest.fixture(scope="module")
def live(tmp_path_factory, request):
    return act(tmp_path_factory.mktemp("Person 2"), PLAN, 900, request)


def test_the_session_came_to_its_end_without_an_error(live):
    assert live["error"] == ""
    assert live["exceptions"] == []
    assert list(live["steps"]) == STEPS
    assert live["exit_status"] == 0


def test_the_overlay_lies_below_the_labels_and_above_the_image(live):
    labels = ["Drawn roads", "No road here", "Area of interest"]
    group = ["RoadSeg live", ["Road probability, live"]]
    assert live["layers"] == [*labels, group, "True roads", "Generated scene"]


def test_every_stroke_was_learned_and_shown(live):
    assert len(live["strokes"]) == PLAN["roads"] == live["labels"]
    assert all(0 < each["learned_s"] <= each["shown_s"] for each in live["strokes"])
    assert {"state", "learned", "prediction"} <= set(live["events"])
    assert f"Roads drawn: {PLAN['roads']}" in live["numbers"]


def test_a_click_is_answered_by_a_feature_that_undo_takes_back(live):
    assert live["correction"]["layer"] in ("no_road", "roads")
    assert live["corrected"] > live["after_undo"]


def test_the_session_can_be_resumed_after_it_was_stopped(live):
    assert "Stopped" in live["end"]["state"] and live["end"]["can_resume"]


@pytest.mark.parametrize("step", LIVE)
def test_the_window_answers_while_the_worker_learns(live, step):
    assert live["steps"][step]["max_work_s"] < MAX_WORK_S
