import sys

import numpy as np
import pytest
import torch

from training_core.errors import JobError, ModelFileError
from training_core.events import Reporter
from training_core.jobs import Evaluate, ExtractRoads, Segment
from training_core.models import openvino_model
from training_core.models.architectures import Architecture, build_network
from training_core.models.engine_choice import choose_engine
from training_core.models.engines import (
    FP32,
    IPEX,
    NATIVE,
    OPENVINO,
    NativeEngine,
    OpenvinoEngine,
    engines_for,
)
from training_core.models.onnx_file import export_onnx, serialized
from training_core.models.onnx_model import OnnxModel
from training_core.pipelines import evaluate, extractroads, segment


@pytest.fixture
def without_openvino(monkeypatch):
    """A Python in which OpenVINO cannot be imported."""
    monkeypatch.setitem(sys.modules, "openvino", None)


@pytest.fixture(scope="module")
def unet():
    torch.manual_seed(0)
    unet = build_network(Architecture(encoder="resnet18", in_channels=2)).eval()
    with torch.no_grad():
        unet.segmentation_head[0].weight.mul_(5)
    return unet


@pytest.fixture(scope="module")
def graph(unet):
    return serialized(export_onnx(unet))


def images_of(*shape):
    return torch.from_numpy(np.random.default_rng(0).normal(size=shape).astype(np.float32))


def probability(unet, engine, images):
    return engine.probability(engine.prepare_inference(unet), images)


@pytest.mark.parametrize(("kind", "shape"), [("unet", (3, 2, 32, 96)), ("graph", (1, 2, 64, 64))])
def test_in_fp32_it_is_as_torch_computes_it(unet, graph, kind, shape):
    images = images_of(*shape)
    expected = probability(unet, NativeEngine(FP32), images)
    found = probability({"unet": unet, "graph": graph}[kind], OpenvinoEngine(FP32), images)
    assert found.dtype == torch.float32 and expected.std() > 0.01
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=0)


def test_a_result_outlives_the_next_one(graph):
    engine = OpenvinoEngine(FP32)
    prepared = engine.prepare_inference(graph)
    first = engine.probability(prepared, images_of(1, 2, 32, 32))
    kept = first.clone()
    engine.probability(prepared, -images_of(1, 2, 32, 32))
    torch.testing.assert_close(first, kept, atol=0, rtol=0)


def test_expected_and_other_shapes_give_the_same(unet, graph):
    engine = OpenvinoEngine(FP32)
    prepared = engine.prepare_inference(graph)
    for shape in ((1, 2, 64, 32), (1, 2, 32, 64)):
        engine.expect(prepared, shape)
        for images in (images_of(*shape), images_of(1, 2, 32, 32), images_of(2, *shape[1:])):
            expected = probability(unet, NativeEngine(FP32), images)
            torch.testing.assert_close(engine.probability(prepared, images), expected, atol=1e-4, rtol=0)


def test_images_side_by_side_give_what_a_batch_gives(graph, monkeypatch):
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    engine = OpenvinoEngine(FP32)
    batch, said = images_of(5, 2, 64, 32), []
    expected = probability(graph, engine, batch)
    for must_win, way in ((0.0, "as one batch, then."), (float("inf"), "at once.")):
        monkeypatch.setattr(openvino_model, "CLEAR_WIN", must_win)
        prepared = engine.prepare_inference(graph)
        engine.settle_batches(prepared, batch[:2], said.append)
        torch.testing.assert_close(engine.probability(prepared, batch), expected, atol=1e-6, rtol=0)
        torch.testing.assert_close(engine.probability(prepared, batch[:1]), expected[:1], atol=1e-6, rtol=0)
        assert way in said[-1]


def test_a_graph_that_cannot_run_is_refused():
    engine = OpenvinoEngine(FP32)
    with pytest.raises(ModelFileError, match="OpenVINO cannot run this model"):
        engine.prepare_inference(OnnxModel(b"nothing of the kind", False))


def test_where_it_is_not_installed_it_is_refused_or_left_out(without_openvino, unet, graph):
    with pytest.raises(JobError, match="openvino cannot be used: OpenVINO is not installed") as refusal:
        choose_engine(OPENVINO, FP32, engines_for(unet), None, print)
    assert "native" in refusal.value.remedy
    with pytest.raises(JobError, match="OpenVINO is not installed") as refusal:
        choose_engine("auto", FP32, engines_for(graph), None, print)
    assert "Set up runtime" in refusal.value.remedy
    tried = []
    choose_engine("auto", FP32, engines_for(unet), lambda engine: tried.append(engine.name), lambda line: None)
    assert OPENVINO not in tried


@pytest.mark.parametrize("engine", [NATIVE, IPEX])
def test_an_onnx_model_needs_it(graph, engine):
    with pytest.raises(JobError, match=f"The engine {engine} does not run ONNX models") as refusal:
        choose_engine(engine, FP32, engines_for(graph), None, print)
    assert "openvino" in refusal.value.remedy
    assert choose_engine("auto", FP32, engines_for(graph), None, print).name == OPENVINO


@pytest.mark.slow
def test_every_job_that_takes_a_model_takes_an_onnx_file(town, learned_onnx, tmp_path):
    common = {"model": learned_onnx, "threads": 1, "precision": FP32}
    result = segment.run(Segment(raster=town.raster, mask=str(tmp_path / "mask.tif"), **common), Reporter())
    assert (result["engine"], result["precision"]) == (OPENVINO, FP32) and 0.1 < result["road_share"] < 0.9
    job = ExtractRoads(raster=town.raster, roads=str(tmp_path / "roads.gpkg"), **common)
    assert extractroads.run(job, Reporter())["count"] > 0
    job = Evaluate(**town.labeled, **common)
    assert evaluate.run(job, Reporter())["pixel"]["iou"] > 0.8
