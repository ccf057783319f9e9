"""A review, an accuracy sample and tracing in QGIS itself, by keys and mouse, on screens of two scales."""

import pytest

from .conftest import act

STEPS = ["start", "scene", "map", "review", "redraw", "accuracy", "trace"]


@pytest.fixture(scope="module", params=[1.5, 2.0], ids=["150 %", "200 %"])
def seen(tmp_path_factory, request):
    plan = {"story": "review_story", "scene_px": 768, "view_m": 200, "scale": request.param}
    return act(tmp_path_factory.mktemp("Person 3"), plan, 400, request)


def test_the_story_came_to_its_end_without_an_error(seen):
    assert seen["error"] == ""
    assert seen["exceptions"] == []
    assert list(seen["steps"]) == STEPS
    assert seen["exit_status"] == 0


def test_keys_alone_judge_skip_and_go_back(seen):
    progress = [each["progress"].split(" of ")[0] for each in seen["review"]]
    assert progress == ["0", "1", "2", "2", "2"]
    lines = [each["line"] for each in seen["review"]]
    assert lines[3] != lines[2] == lines[4]
    assert sorted(seen["review"][-1]["verdicts"]) == ["accepted", "rejected"]


def test_a_place_is_drawn_anew_and_saved(seen):
    assert sorted(seen["redraw"]["verdicts"]) == ["accepted", "rejected", "rejected"]
    assert seen["redraw"]["more"] > 0 and not seen["redraw"]["is_editable"]
    assert seen["redraw"]["progress"].startswith("3 of ")


def test_the_sample_is_judged_in_its_order_and_tells_the_accuracy(seen):
    assert seen["judged"] == list(range(1, len(seen["accuracy"]) + 1))
    assert "before the first estimate: 19" in seen["accuracy"][0]["accuracy"]
    assert "<b>Completeness</b>" in seen["accuracy"][-1]["accuracy"]


def test_a_road_is_traced_with_the_mouse(seen):
    assert seen["trace"]["more"] > 0 and seen["trace"]["undo"] == "Trace road"


def test_no_button_cuts_off_its_words(seen):
    assert [each["cut"] for each in [*seen["review"], *seen["accuracy"]] if each["cut"]] == []
