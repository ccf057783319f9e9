"""The starter model: `starter` in place of a model file, in every job that takes a model."""

import threading

import pytest

from tests.core.support.towns import plant_model
from training_core import worker
from training_core.errors import ModelFileError
from training_core.events import Error, Result
from training_core.jobs import (
    JOBS,
    MODEL,
    STARTER,
    ExtractRoads,
    FineTune,
    Segment,
    has_starter,
    model_path,
    recipe,
    with_model_paths,
)
from training_core.models.loading import load_weights

COMPUTE = {"engine": "native", "threads": 1}


@pytest.fixture
def planted_starter(tmp_path, monkeypatch):
    """A starter model, even if this copy comes without one."""
    (tmp_path / "starter").mkdir()
    path = tmp_path / "starter" / "roads.safetensors"
    monkeypatch.setattr(recipe, "STARTER_FOLDER", path.parent)
    plant_model(path)
    return path


@pytest.fixture
def no_starter(tmp_path, monkeypatch):
    monkeypatch.setattr(recipe, "STARTER_FOLDER", tmp_path / "resources")


def do(job):
    """Run a job in the worker and return its last event."""
    sent = []
    worker.run(job, sent.append, threading.Event())
    return sent[-1]


def test_every_model_may_be_the_starter(planted_starter):
    fields = [(job, field) for job in JOBS.values() for field in job.option_fields() if field.option.kind == MODEL]
    assert {job.name for job, _ in fields} == {
        "finetune", "segment", "extractroads", "mapregion", "evaluate", "exportmodel", "quantize", "profile", "live",
        "roadstatus",
    }  # fmt: skip
    for job, field in fields:
        meant = with_model_paths(job(**{field.name: STARTER}))
        assert getattr(meant, field.name) == str(planted_starter)
        assert STARTER in field.option.help


@pytest.mark.usefixtures("enough_memory")
def test_the_first_run_needs_no_model(planted_starter, town, tmp_path):
    assert Segment().model == ExtractRoads().model == FineTune().base_model == STARTER
    mask = tmp_path / "mask.tif"
    assert isinstance(do(Segment(raster=town.raster, mask=str(mask), **COMPUTE)), Result) and mask.is_file()
    model = str(tmp_path / "model.safetensors")
    job = FineTune(rasters=(town.raster,), roads=town.roads, aoi=town.aoi, model=model, steps=1, chip_px=64, **COMPUTE)
    assert isinstance(do(job), Result)
    card = load_weights(model)[1]
    assert card.architecture.encoder == "resnet18"  # that of the planted one, not the default
    assert card.training["base_model"] == planted_starter.name


def test_a_job_may_not_write_over_the_starter(planted_starter, town):
    job = FineTune(rasters=(town.raster,), roads=town.roads, model=str(planted_starter), steps=1, **COMPUTE)
    last = do(job)
    assert isinstance(last, Error) and last.code == "output"


def test_a_copy_without_the_starter_says_what_to_do(no_starter, town, tmp_path):
    assert not has_starter()
    with pytest.raises(ModelFileError, match="without its starter model"):
        model_path(STARTER)
    last = do(Segment(raster=town.raster, mask=str(tmp_path / "mask.tif")))
    assert isinstance(last, Error) and last.code == "model" and "Choose a model file" in last.remedy
