"""QGIS itself, from a fresh profile to a network, a batch and a model: what could be seen of it."""

import json

import pytest

# QGIS' own dialogs take some tenths of a second of the processor to be built; a window that is dead for longer feels
# broken.
MAX_WORK_S = 2.0
STEPS = ["start", "scene", "first result", "fine-tune", "segment", "vectorize", "route", "batch", "model"]


def names(layer_tree):
    return json.dumps(layer_tree)


def test_the_story_came_to_its_end_without_an_error_and_qgis_ended_by_itself(seen):
    assert seen["error"] == ""
    assert seen["exceptions"] == []
    assert list(seen["steps"]) == STEPS
    assert seen["exit_status"] == 0


def test_a_fresh_profile_has_the_menu_and_the_toolbox(seen):
    assert seen["menu"][:3] == ["Fine-tune a model…", "Segment roads…", "Extract roads…"]
    assert {"Training", "Roads", "Network", "Runtime"} <= set(seen["toolbox"])
    assert set(seen["toolbox"]["Roads"]) >= {"Extract roads", "Segment roads", "Vectorize roads"}


def test_the_keys_of_a_review_are_none_of_qgis(seen):
    assert "S" in seen["keys"]  # which toggles snapping
    assert not set("AXNBZD") & set(seen["keys"])


def test_the_demo_comes_as_layers_to_learn_from(seen):
    assert seen["demo_layers"] == ["Area of interest", "Drawn roads", "True roads", "Generated scene"]


def test_one_click_after_set_up_gives_the_roads_in_view(seen):
    assert "nothing is built" in seen["setup"]["log"]
    assert seen["first_result"]["results"]["COUNT"] > 0
    assert "'MODEL' : 'starter'" in seen["first_result"]["log"]


def test_the_dialog_asks_for_what_matters_first(seen):
    labels = [label.removesuffix(" [optional]") for label in seen["finetune_labels"]]
    assert labels[:5] == ["Images", "Drawn roads", "Label masks", "Area of interest", "No road here"]
    assert labels.index("Time budget (min)") < labels.index("Model") < labels.index("Report")
    assert "Learning rate" not in labels  # which is folded away


def test_fine_tuning_leaves_a_model_and_a_report(seen):
    results = seen["finetune"]["results"]
    assert results["STEPS"] == 60
    assert 0 < results["VALIDATION_F1"] <= 1
    assert "Step 60" in seen["finetune"]["log"]


def test_mask_roads_and_way_are_in_the_layer_tree(seen):
    shown = names(seen["layers"])
    assert "Road mask" in shown and "Roads" in shown
    assert seen["vectorize"]["results"]["COUNT"] > 0
    assert seen["route"]["results"]["TRAVEL_COST"] > 100


def test_a_batch_runs_all_of_its_rows(seen, folder):
    assert "failed" not in seen["batch"]["log"]
    # A batch names each layer after its file, which is not a temporary one.
    assert '"joined"' in names(seen["layers_after_batch"]) and '"open"' in names(seen["layers_after_batch"])
    assert (folder / "joined.gpkg").is_file() and (folder / "open.gpkg").is_file()


def test_a_model_of_ones_own_runs(seen):
    assert "Road areas" in names(seen["layers_after_model"])


@pytest.mark.parametrize("step", STEPS[1:])
def test_the_window_answers_while_a_job_runs(seen, step):
    assert seen["steps"][step]["max_work_s"] < MAX_WORK_S
