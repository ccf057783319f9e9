"""The job profile: what it measures and writes, and what it refuses."""

import json

import numpy as np
import pytest

from tests.core.support.rasters import write_raster
from tests.shared_fixtures import make_once
from training_core.errors import Cancelled, JobError
from training_core.events import Log, Reporter, Warning
from training_core.jobs import Profile, from_options, with_model_paths
from training_core.models.engines import why_not
from training_core.models.loading import load_network
from training_core.models.onnx_file import export_onnx, save_onnx
from training_core.pipelines import profile

SMALL = {"seconds": 1, "chip_px": 64, "batch_size": 1, "tile_px": 64}


def run(reporter=None, **options):
    return profile.run(with_model_paths(from_options(Profile, {**SMALL, **options})), reporter or Reporter())


@pytest.fixture(scope="module")
def profiled(tmp_path_factory):
    """The result of a whole profile, its document, and what was logged."""
    return make_once(tmp_path_factory, "profile", profile_all)


def profile_all(folder):
    messages = []
    paths = {name: str(folder / f"{name}{suffix}") for name, suffix in
             (("report", ".html"), ("profile", ".json"), ("trace", "_trace.json"))}  # fmt: skip
    reporter = Reporter(lambda event: messages.append(event) if isinstance(event, (Log, Warning)) else None)
    result = run(reporter, **paths)
    return result, json.loads((folder / "profile.json").read_text()), [message.message for message in messages]


@pytest.mark.slow
def test_a_profile_without_an_image_has_training_and_inference_on_a_generated_scene(profiled):
    result, document, _ = profiled
    assert (result["what"], result["engine"]) == ("training", "native")
    assert [row["what"] for row in result["runs"]] == ["training", "inference"]
    assert [row["what"] for row in document["further_runs"]] == ["inference"]
    assert 0 < result["peak_share"] < 1.5 and result["images_per_s"] > 0


@pytest.mark.slow
def test_the_document_holds_the_limits_the_breakdown_and_the_advice(profiled):
    _, document, _ = profiled
    assert document["format"] == "roadseg-profile-1"
    for name in ("phases", "kinds", "layers", "primitives"):
        assert all({"name", "calls", "time_s", "share"} <= row.keys() for row in document[name])
    for name in ("phases", "kinds", "layers"):
        assert sum(row["time_s"] for row in document[name]) == pytest.approx(document["step_s"], rel=0.03)
    assert abs(document["unaccounted_share"]) < 0.03
    assert document["limits"]["convolution"]["fp32"][0]["threads"] == 1
    assert isinstance(document["advice"], list) and isinstance(document["overhead_share"], float)


@pytest.mark.slow
def test_advice_that_options_apply_is_tried(tmp_path, monkeypatch):
    monkeypatch.setattr(profile, "engines_for", lambda model: ("native",))  # the others take long to load
    run(what="inference", try_advice=True, profile=str(tmp_path / "p.json"))
    advice = json.loads((tmp_path / "p.json").read_text())["advice"]
    (small_tiles,) = [piece for piece in advice if piece.get("options") == {"tile_px": 128}]
    assert 0 < small_tiles["trial"]["after_s"] < small_tiles["trial"]["before_s"]


@pytest.mark.slow
def test_report_and_trace_are_written(profiled):
    result, _, _ = profiled
    with open(result["report"], encoding="utf-8") as file:
        assert "encoder.model.blocks" in file.read()
    with open(result["trace"], encoding="utf-8") as file:
        assert json.load(file)["traceEvents"]


@pytest.mark.slow
def test_an_image_and_random_weights_are_profiled_with_all_its_bands(tmp_path):
    values = np.random.default_rng(0).integers(0, 1000, (5, 100, 90), dtype=np.uint16)
    image = write_raster(tmp_path / "five.tif", values)
    result = run(what="training", raster=str(image), model="", engine="native", precision="fp32")
    assert result["what"] == "training" and result["precision"] == "fp32"


@pytest.mark.slow
@pytest.mark.skipif(bool(why_not("openvino")), reason="OpenVINO is not installed")
def test_an_onnx_model_is_profiled_by_openvino_and_cannot_be_trained(tmp_path):
    model, card = load_network(str(with_model_paths(Profile()).model))
    save_onnx(tmp_path / "m.onnx", export_onnx(model), card, 64)
    with pytest.raises(JobError, match="m.onnx is an ONNX model, which cannot be trained"):
        run(what="training", model=str(tmp_path / "m.onnx"))
    result = run(what="inference", model=str(tmp_path / "m.onnx"), profile=str(tmp_path / "p.json"))
    assert result["engine"] == "openvino"
    document = json.loads((tmp_path / "p.json").read_text())
    convolutions = [row for row in document["primitives"] if row["kind"] == "convolution"]
    assert sum(row["flop"] for row in convolutions) > 1e8
    assert any(row["name"].startswith("encoder.model.blocks.0") for row in document["layers"])


def test_an_image_without_data_is_refused(tmp_path):
    image = write_raster(tmp_path / "nothing.tif", np.zeros((3, 80, 80), dtype=np.uint8), nodata=0)
    with pytest.raises(Exception, match="nothing.tif has no data") as caught:
        run(what="training", raster=str(image))
    assert caught.value.code == "imagery"


@pytest.mark.slow
@pytest.mark.parametrize("checks", [1, 4, 12])
def test_a_stop_at_any_time_leaves_nothing(tmp_path, checks):
    left = iter(range(checks))
    reporter = Reporter(is_cancelled=lambda: next(left, None) is None)
    with pytest.raises(Cancelled):
        run(reporter, what="training", profile=str(tmp_path / "p.json"), report=str(tmp_path / "r.html"))
    assert list(tmp_path.iterdir()) == []
