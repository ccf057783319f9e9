"""Jobs on a device that computes as the CPU does, and fails."""

import numpy as np
import pytest
import rasterio
from safetensors.torch import load_file

from tests.core.support.devices import GONE, OUT_OF_MEMORY, plug_in
from training_core.events import Log, Reporter
from training_core.jobs import FineTune, Segment
from training_core.learning import checkpoint, plan
from training_core.pipelines import finetune, segment
from training_core.segmentation import segmenter, work_plan


def fine_tune(town, folder, reporter=None, **options):
    """Fine-tune for some steps; return the result and the weights."""
    fixed = {"model": str(folder / "model.safetensors"), "base_model": "", "encoder": "resnet18", "threads": 1}
    usual = {"device": "cuda", "steps": 3, "chip_px": 64, "batch_size": 2, "precision": "fp32"}
    job = FineTune(**town.labeled, **fixed, **{**usual, **options})
    result = finetune.run(job, reporter or Reporter())
    return result, load_file(job.model)


@pytest.fixture(scope="module")
def on_cpu(town, tmp_path_factory):
    """The weights that the CPU learns."""
    return fine_tune(town, tmp_path_factory.mktemp("cpu"), device="cpu")[1]


def same(weights, others):
    return weights.keys() == others.keys() and all(weights[name].equal(others[name]) for name in weights)


def test_a_training_on_a_device_goes_its_way_there(town, on_cpu, tmp_path, monkeypatch):
    fake = plug_in(monkeypatch)
    result, weights = fine_tune(town, tmp_path)
    assert result["engine"] == "cuda" and same(weights, on_cpu)
    assert len(fake.sent) > 3 + 2


@pytest.mark.parametrize(
    ("error", "interval_s", "word"),
    [(OUT_OF_MEMORY, 0.0, "goes on"), pytest.param(GONE, 1e9, "begins again", marks=pytest.mark.slow)],
)
def test_where_the_device_fails_in_a_step_the_training_ends_on_the_cpu(
    town, on_cpu, tmp_path, monkeypatch, error, interval_s, word
):
    plug_in(monkeypatch, fails_at=3 + 2, error=error)  # two models and a batch of the trial, and the second step
    monkeypatch.setattr(checkpoint, "INTERVAL_S", interval_s)
    reporter = Reporter()
    result, weights = fine_tune(town, tmp_path, reporter)
    assert result["engine"] == "native" and result["steps"] == 3 and same(weights, on_cpu)
    assert f"The training {word} on the CPU." in reporter.warnings[0]
    assert str(error).splitlines()[0].rstrip(".") in reporter.warnings[0]
    assert not list(tmp_path.glob("*.checkpoint*"))


def test_a_training_that_does_not_fit_into_the_device_goes_to_the_cpu_and_says_what_would_fit(
    town, on_cpu, tmp_path, monkeypatch
):
    plug_in(monkeypatch, memory_bytes=500 << 20)
    needs = plan.Footprint(0, 0, 10**10, np.zeros(1), np.zeros(1), 0)
    monkeypatch.setattr(plan, "measure_footprint", lambda *_: needs)
    reporter = Reporter()
    result, weights = fine_tune(town, tmp_path, reporter)
    assert result["engine"] == "native" and same(weights, on_cpu)
    (warning,) = reporter.warnings
    assert "chips of 64 px and batch size 2 needs about" in warning and "The CPU computes." in warning


def segmented(town, planted, folder, reporter=None, **options):
    """Segment the town; return the result and the probability."""
    outputs = {"mask": str(folder / "mask.tif"), "probability": str(folder / "probability.tif")}
    job = Segment(raster=town.raster, model=planted, **outputs, precision="fp32", threads=1, **options)
    result = segment.run(job, reporter or Reporter())
    with rasterio.open(job.probability) as file:
        return result, file.read(1)


def test_an_image_is_segmented_on_the_device_and_after_its_failure_on_the_cpu(town, planted, tmp_path, monkeypatch):
    options = {"tile_px": 64, "halo": "32", "device": "cuda"}
    expected = segmented(town, planted, tmp_path, **options | {"device": "cpu"})[1].astype(int)
    for fails_at, engine in ((1 << 30, "cuda"), (6, "native")):
        plug_in(monkeypatch, fails_at=fails_at, error=OUT_OF_MEMORY)
        reporter = Reporter()
        result, found = segmented(town, planted, tmp_path, reporter, **options)
        assert result["engine"] == engine and len(reporter.warnings) == (engine == "native")
        assert np.abs(found - expected).max() <= 1  # of 254


def test_the_memory_of_the_device_bounds_tiles(town, planted, tmp_path, monkeypatch):
    monkeypatch.setattr(work_plan, "available_bytes", lambda: 64 << 30)
    tiles_px = []
    for memory_bytes in (64 << 30, 500 << 20):
        plug_in(monkeypatch, memory_bytes=memory_bytes)
        tiles_px.append(segmented(town, planted, tmp_path, device="cuda")[0]["tile_px"])
    assert tiles_px[0] == 2048 and 256 <= tiles_px[1] < 1024


def test_where_a_halo_is_exact_no_device_is_tried(town, planted, tmp_path, monkeypatch):
    monkeypatch.setattr(work_plan, "MIN_TRIAL_PX", 1)  # so that there is a trial
    monkeypatch.setattr(segmenter, "image_halo_px", lambda architecture: 32)
    told = []
    for halo, is_tried in (("exact", False), ("32", True)):
        fake = plug_in(monkeypatch)
        segmented(town, planted, tmp_path, Reporter(told.append), halo=halo)
        assert bool(fake.sent) == is_tried
    assert any("cuda (a fake GPU)" in each.message for each in told if isinstance(each, Log))
