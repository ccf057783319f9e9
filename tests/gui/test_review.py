"""A review, an accuracy sample and tracing in QGIS itself, by keys and mouse, at two scales of the screen."""

import pytest

from .conftest import act

STEPS = ["start", "scene", "map", "threshold", "review", "missing", "learn", "sample", "accuracy", "trace"]


@pytest.fixture(scope="module", params=[1.5, 2.0], ids=["150 %", "200 %"])
def seen(tmp_path_factory, request):
    plan = {"story": "review_story", "scene_px": 768, "view_m": 200, "minutes": 0.05, "scale": request.param}
    return act(tmp_path_factory.mktemp("Person 3"), plan, 600, request)


def test_the_story_came_to_its_end_without_an_error(seen):
    assert seen["error"] == ""
    assert seen["exceptions"] == []
    assert list(seen["steps"]) == STEPS
    assert seen["exit_status"] == 0


def test_in_a_network_a_click_rejects_a_line_and_a_key_accepts_the_rest_of_the_view(seen):
    before, rejected, accepted, back = seen["review"]
    assert before["progress"].startswith("0 of ") and rejected["verdicts"] == ["rejected"]
    assert accepted["verdicts"].count("accepted") > 0 and accepted["verdicts"].count("rejected") == 1
    assert back["verdicts"] == ["rejected"] and back["progress"] == rejected["progress"]


def test_a_threshold_chosen_by_eye_is_in_the_dialog_that_uses_it(seen):
    assert seen["threshold"]["number"] == "0.20" and "'THRESHOLD' : 0.2" in seen["roads"]["log"]


def test_missing_roads_are_drawn_and_saved(seen):
    assert 1 <= seen["missing"]["drawn"] <= seen["missing"]["more"] and not seen["missing"]["is_editable"]


def test_what_was_judged_and_drawn_is_learned_and_stays(seen):
    applied = seen["learn"]["results"]["CHILD_RESULTS"]["applyreview"]
    assert applied["REJECTED"] > 0 < applied["REVIEWED_M"] and applied["DRAWN_M"] > 0


def test_the_sheet_tells_the_accuracy_of_the_places_that_were_judged(seen):
    assert seen["sheet"]["results"]["JUDGED"] == 24


def test_keys_alone_judge_the_sample_in_its_order_and_the_panel_tells_the_accuracy(seen):
    *judged, end = seen["accuracy"]
    words = {"A": "accepted", "X": "rejected"}
    answers = [words.get(each["key"], each["key"]) for each in judged]
    assert seen["answers"][: len(judged)] == answers and {"accepted", "rejected", "0", "3"} == set(answers)
    assert not any(seen["answers"][len(judged) :]) and end["progress"].startswith(f"{len(judged)} of ")
    assert seen["skipped"]["progress"] == judged[3]["progress"] and seen["skipped"]["line"] != judged[3]["line"]
    assert "before the first estimate: 20" in judged[0]["accuracy"] and "<b>Completeness</b>" in end["accuracy"]


def test_a_road_is_traced_with_the_mouse(seen):
    assert seen["trace"]["more"] > 0 and seen["trace"]["undo"] == "Trace road"


def test_no_button_cuts_off_its_words(seen):
    assert [each["cut"] for each in [*seen["review"], *seen["accuracy"]] if each["cut"]] == []
