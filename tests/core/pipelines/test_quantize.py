import json
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
import rasterio
import torch
from shapely import box

from tests.core.support.rasters import write_layer, write_raster
from tests.core.support.towns import RGB, ROAD_M, image_of, on_map, plant_model, true_roads
from tests.shared_fixtures import make_once
from training_core.comparison.path_scores import mean_apls
from training_core.errors import ImageryError, JobError, LabelError, ModelFileError
from training_core.events import Log, Reporter
from training_core.geodata.rasters import Band
from training_core.jobs import Evaluate, ExportModel, Quantize, Segment, from_options
from training_core.labels.training_chips import Sample, collect_samples
from training_core.models.architectures import Architecture
from training_core.models.engines import INT8, OPENVINO, OpenvinoEngine
from training_core.models.loading import load_model, load_network
from training_core.models.model_card import ModelCard
from training_core.models.onnx_file import read_onnx
from training_core.models.onnx_model import OnnxModel
from training_core.pipelines import evaluate, exportmodel, quantize, segment
from training_core.pipelines.quantize import Comparison, compare

CARD = ModelCard(Architecture(), tuple(Band(name) for name in RGB), 1.0)


def job_of(town, model, path, **options):
    return Quantize(model=model, rasters=(town.raster,), onnx=str(path), chip_px=96, threads=1, **options)


@pytest.fixture(scope="module")
def quantized(town, learned, tmp_path_factory):
    """The town's model with 8-bit integers, checked by its drawn roads, and the events; do not write there."""

    def quantize_town(folder):
        path, events = folder / "town.onnx", []
        job = job_of(town, learned.model, path, roads=town.roads, aoi=town.aoi, width_m=ROAD_M, tile_px=96)
        return str(path), quantize.run(job, Reporter(events.append)), events

    return make_once(tmp_path_factory, "quantized", quantize_town)


@pytest.fixture(scope="module")
def samples(town, planted):
    job = job_of(town, planted, "unused.onnx")
    return collect_samples(job.rasters, load_network(planted)[1].input, job.chips, job.chip_px, Reporter())


@pytest.mark.slow
def test_it_is_a_quarter_of_the_size_and_loses_next_to_nothing(quantized, learned):
    path, result, events = quantized
    assert result["onnx"] == path
    assert result["megabytes"] == pytest.approx(Path(path).stat().st_size / 1e6)
    assert Path(path).stat().st_size < 0.35 * Path(learned.model).stat().st_size
    assert result["iou"] >= result["iou_before"] - 0.005 and result["iou_before"] > 0.6
    assert 0.9 < result["agreement"] <= 1
    assert (result["measured_on"], result["checked_on"]) == (2, 2)
    assert any("IoU" in event.message for event in events if isinstance(event, Log))


@pytest.mark.slow
def test_the_file_says_what_was_done(quantized, learned):
    path, result, _ = quantized
    card, before = read_onnx(path)[1], load_network(learned.model)[1]
    told = {name: value for name, value in result.items() if name not in ("onnx", "megabytes")}
    assert card.quantization == told and before.quantization == {}
    assert (card.bands, card.threshold, card.resolution_m) == (before.bands, before.threshold, before.resolution_m)
    notes = {note.key: json.loads(note.value) for note in onnx.load(path).metadata_props}
    assert notes["model_type"] == "Segmentor" and notes["tile_size"] == 96


@pytest.mark.slow
def test_it_runs_as_a_model_like_any_other(town, quantized, tmp_path):
    path, mask = quantized[0], tmp_path / "mask.tif"
    unet, _ = load_model(path)
    assert isinstance(unet, OnnxModel) and unet.is_quantized
    result = segment.run(Segment(raster=town.raster, model=path, mask=str(mask), threads=1), Reporter())
    assert (result["engine"], result["precision"]) == (OPENVINO, INT8)
    with rasterio.open(mask) as dataset:
        found = dataset.read(1) == 1
    assert (found & town.truth).sum() / (found | town.truth).sum() > 0.75
    job = Evaluate(**town.labeled, model=path, threads=1)
    scores = evaluate.run(job, Reporter())
    assert scores["pixel"]["iou"] > 0.75 and scores["precision"] == INT8


@pytest.mark.slow
def test_another_runtime_runs_it_too(quantized, samples):
    path = quantized[0]
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    (theirs,) = session.run(None, {"image": samples[0].images})
    engine = OpenvinoEngine(INT8)
    ours = engine.probability(engine.prepare_inference(load_model(path)[0]), torch.from_numpy(samples[0].images))
    assert theirs.shape == (1, 1, 96, 96)
    assert np.abs(theirs - ours.numpy()).mean() < 0.05


@pytest.mark.slow
def test_an_exported_model_serves_as_well_but_not_a_quantized_one(town, learned, quantized, tmp_path):
    exported = str(tmp_path / "exported.onnx")
    exportmodel.run(ExportModel(model=learned.model, onnx=exported), Reporter())
    job = job_of(town, exported, tmp_path / "town.onnx", roads=town.roads, aoi=town.aoi, width_m=ROAD_M)
    assert quantize.run(job, Reporter())["agreement"] == pytest.approx(quantized[1]["agreement"], abs=0.01)
    with pytest.raises(ModelFileError, match="is already quantized"):
        quantize.run(job_of(town, quantized[0], tmp_path / "again.onnx"), Reporter())


@pytest.mark.slow
def test_where_the_roads_do_not_stay_the_same_there_is_no_file(town, tmp_path, monkeypatch):
    """A model that has learned nothing says almost 0.5 everywhere, so that any rounding turns pixels over."""
    monkeypatch.setattr(Architecture, "sensitive_layers", (("segmentation_head",),))
    model = plant_model(tmp_path / "model.safetensors")
    events = []
    with pytest.raises(ModelFileError, match="does not find the same roads.*segmentation_head") as caught:
        quantize.run(job_of(town, model, tmp_path / "town.onnx"), Reporter(events.append))
    assert caught.value.remedy
    assert [path.name for path in tmp_path.iterdir()] == ["model.safetensors"]
    assert sum("In full precision" in event.message for event in events if isinstance(event, Log)) == 2


def sample(truth=None, side=2):
    return Sample(np.zeros((1, 3, side, side), np.float32), np.ones((side, side), bool), truth)


def test_agreement_counts_pixels_on_the_same_side_of_the_threshold():
    before, after = np.array([[0, 254], [120, 130]], np.uint8), np.array([[100, 128], [130, 254]], np.uint8)
    assert compare([before], [after], [sample()], CARD, Reporter()) == Comparison(0.75)
    unknown = Sample(np.zeros((1, 3, 2, 2), np.float32), np.array([[True, True], [False, True]]), None)
    assert compare([before], [after], [unknown], CARD, Reporter()) == Comparison(1.0)


def test_with_labels_the_iou_decides():
    truth = np.array([[0, 1], [1, 1]], np.uint8)
    before, after = np.array([[0, 254], [254, 254]], np.uint8), np.array([[0, 254], [254, 0]], np.uint8)
    found = compare([before], [after], [sample(truth)], CARD, Reporter())
    assert found == Comparison(0.75, pytest.approx(2 / 3), 1.0) and not found.is_good
    assert Comparison(0.9, 0.7951, 0.8).is_good and not Comparison(1.0, 0.7949, 0.8).is_good
    assert Comparison(0.995).is_good and not Comparison(0.9949).is_good
    assert Comparison(0.9, 0.8, 0.8, 0.5951, 0.6).is_good and not Comparison(0.9, 0.8, 0.8, 0.5949, 0.6).is_good


def test_a_road_that_is_cut_costs_paths():
    """A street of 200 m, and one that crosses it, with a gap in the former that is too long to be joined."""
    truth = np.zeros((256, 256), np.uint8)
    truth[124:132, 20:236] = truth[20:236, 60:68] = 1
    whole = np.where(truth, 254, 0).astype(np.uint8)
    broken = whole.copy()
    broken[:, 110:190] = 0
    before, after = (mean_apls([found], [truth], 0.5, 1.0, Reporter()) for found in (whole, broken))
    assert before == pytest.approx(1, abs=0.01) and 0.1 < after < 0.8
    assert mean_apls([whole], [np.zeros_like(truth)], 0.5, 1.0, Reporter()) is None
    ignored = np.where(np.arange(256) < 100, truth, 255).astype(np.uint8)
    assert mean_apls([broken], [ignored], 0.5, 1.0, Reporter()) == pytest.approx(1, abs=0.02)


def test_pieces_are_of_any_size_and_hold_what_the_image_holds(tmp_path, planted):
    values = image_of(true_roads()[:128, :160])
    values[:, :, 150:] = 0
    raster = write_raster(tmp_path / "image.tif", values, nodata=0)
    wanted = load_network(planted)[1].input
    found = collect_samples([raster], wanted, 24, 64, Reporter())
    assert {each.images.shape for each in found} == {(1, 3, 64, 64)}
    (whole,) = collect_samples([raster], wanted, 24, 256, Reporter())
    assert whole.images.shape == (1, 3, 128, 160)
    for each in (*found, whole):
        assert each.images.shape[2:] == each.known.shape and (each.images[0, :, ~each.known] == 0).all()


def test_what_cannot_be_looked_at_is_refused(town, planted, tmp_path):
    empty = write_raster(tmp_path / "empty.tif", np.zeros((3, 100, 100), np.uint8), nodata=0)
    job = Quantize(model=planted, rasters=(empty,), onnx=str(tmp_path / "o.onnx"))
    with pytest.raises(ImageryError, match="hardly any data"):
        quantize.run(job, Reporter())
    far = write_layer(tmp_path / "far.gpkg", on_map(box(9000, 9000, 9100, 9100)))
    with pytest.raises(LabelError, match="Neither drawn roads"):
        quantize.run(job_of(town, planted, tmp_path / "o.onnx", roads=far), Reporter())
    assert not (tmp_path / "o.onnx").exists()
    with pytest.raises(JobError, match=r"drawn roads \(roads\)"):
        from_options(Quantize, {"model": "m", "rasters": ["a.tif"], "onnx": "o", "aoi": "aoi.gpkg"})
