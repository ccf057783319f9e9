import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from support.disks import no_more_than
from support.towns import ROAD_M
from training_core.errors import Cancelled, JobError
from training_core.events import Metric, Reporter, Warning
from training_core.jobs import FineTune
from training_core.learning.checkpoint import Checkpoint, CheckpointWriter, check_identity, checkpoint_path
from training_core.learning.history import History
from training_core.models.engines import NativeEngine
from training_core.models.model_file import load_model, load_weights
from training_core.pipelines import finetune

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def job(town, planted):
    """Return a job of forty steps in FP32, for a model in a folder."""

    def make(folder, **options):
        defaults = {
            "rasters": (town.raster,),
            "roads": town.roads,
            "aoi": town.aoi,
            "base_model": planted,
            "model": str(folder / "model.safetensors"),
            "steps": 40,
            "chip_px": 64,
            "batch_size": 1,
            "width_m": ROAD_M,
            "engine": "native",
            "precision": "fp32",
            "threads": 1,
            "averaging": 0.9,
        }
        return FineTune(**{**defaults, **options})

    return make


@pytest.fixture(scope="module")
def uninterrupted(job, tmp_path_factory):
    """The weights and the result of a run that nothing cuts off."""
    wanted = job(tmp_path_factory.mktemp("whole"))
    result = finetune.run(wanted, Reporter())
    assert not checkpoint_path(wanted.model).exists()
    return load_weights(wanted.model)[0], result


def stopping_after(validations):
    """Return a reporter that stops its job after some validations, and the list of its events."""
    events = []
    count = lambda: sum(isinstance(event, Metric) and event.name == "validation_f1" for event in events)  # noqa: E731
    return Reporter(events.append, lambda: count() >= validations), events


def assert_same(weights, other):
    assert weights.keys() == other.keys()
    for name, tensor in weights.items():
        torch.testing.assert_close(tensor, other[name], rtol=0, atol=1e-5, msg=name)


def start(job):
    """Start a job as QGIS does, in a process of its own."""
    file = Path(job.model).with_name("job.json")
    file.write_text(job.to_json())
    command = [sys.executable, "-m", "training_core", "run", str(file)]
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return subprocess.Popen(command, cwd=ROOT, **streams)


def end(process):
    """Wait for a job to be done, holding its standard input open, and return its exit status."""
    while process.poll() is None:
        time.sleep(0.02)
    process.stdin.close()
    return process.returncode


@pytest.mark.slow
def test_a_run_that_was_killed_goes_on_to_the_same_model(job, tmp_path):
    folders = [tmp_path / name for name in ("whole", "killed")]
    for folder in folders:
        folder.mkdir()
    whole, killed = (job(folder, steps=20, checkpoint_minutes=0.02) for folder in folders)
    assert end(start(whole)) == 0
    path, process = checkpoint_path(killed.model), start(killed)
    while not path.exists() and process.poll() is None:
        time.sleep(0.02)
    process.kill()
    assert end(process) == -signal.SIGKILL, "it ended before it could be killed"
    assert not Path(killed.model).exists()
    assert end(start(job(folders[1], steps=20, resume=True))) == 0
    (weights, card), (expected, expected_card) = load_weights(killed.model), load_weights(whole.model)
    assert_same(weights, expected)
    assert card.metrics == expected_card.metrics and card.training["steps"] == 20
    assert card.training["notes"][0].startswith("Resumed at step ")
    assert not path.exists()


WRITING = """
import sys, torch
from pathlib import Path
from training_core.learning.checkpoint import Checkpoint, write_checkpoint
from training_core.learning.history import History
from training_core.models.engines import NativeEngine
checkpoint = Checkpoint({}, NativeEngine("fp32"), False, History(), {"weights": torch.zeros(1 << 26)}, None)
while True:
    write_checkpoint(Path(sys.argv[1]), checkpoint)
"""


def test_what_is_left_of_a_checkpoint_whose_writer_was_killed_is_removed_by_the_next_run(tmp_path):
    path = tmp_path / "model.safetensors.checkpoint"
    process = subprocess.Popen([sys.executable, "-c", WRITING, str(path)], cwd=ROOT)
    while not any(each != path and each.is_file() and each.stat().st_size for each in tmp_path.rglob("*")):
        assert process.poll() is None
    process.kill()
    process.wait()
    assert set(tmp_path.iterdir()) - {path}, "it was killed too late"
    with CheckpointWriter(path, 60.0, {}, NativeEngine("fp32"), Reporter()):
        assert not set(tmp_path.iterdir()) - {path}


def test_a_checkpoint_for_which_there_is_no_room_is_a_warning_and_leaves_nothing(job, tmp_path):
    (tmp_path / "whole").mkdir()
    finetune.run(job(tmp_path / "whole", steps=2), Reporter())
    room = (tmp_path / "whole" / "model.safetensors").stat().st_size + 1000  # a checkpoint is larger than its model
    events = []
    with no_more_than(room):
        finetune.run(job(tmp_path, steps=20, checkpoint_minutes=0.0), Reporter(events.append))
    warnings = [event.message for event in events if isinstance(event, Warning)]
    assert any("No checkpoint could be written" in each and "training continues" in each for each in warnings)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.safetensors", "whole"]


def test_a_stop_keeps_the_best_model_where_that_is_wished(job, tmp_path):
    reporter, events = stopping_after(1)
    result = finetune.run(job(tmp_path, keep_best=True, report=str(tmp_path / "report.html")), reporter)
    assert result["stopped"] and 20 <= result["steps"] < 40
    _, card = load_model(result["model"])
    (f1,) = [event.value for event in events if isinstance(event, Metric) and event.name == "validation_f1"]
    assert card.metrics["f1"] == pytest.approx(f1) == result["validation"]["f1"]
    assert any("Stopped at step" in note for note in card.training["notes"])
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "model.safetensors",
        "model.safetensors.checkpoint",
        "report.html",
    ]


def test_a_stop_before_any_validation_still_gives_a_validated_model(job, tmp_path):
    events = []
    reporter = Reporter(events.append, lambda: any(isinstance(event, Metric) for event in events))
    result = finetune.run(job(tmp_path, keep_best=True), reporter)
    assert result["stopped"] and 0 <= result["validation"]["f1"] <= 1
    load_model(result["model"])


@pytest.fixture(scope="module")
def stopped_once(job, tmp_path_factory):
    """A folder with the checkpoint of a run that was stopped, to copy."""
    folder, (reporter, _) = tmp_path_factory.mktemp("stopped"), stopping_after(1)
    with pytest.raises(Cancelled, match="with resume continues"):
        finetune.run(job(folder), reporter)
    return folder


@pytest.fixture
def stopped(stopped_once, tmp_path):
    """A folder of its own with that checkpoint."""
    return Path(shutil.copytree(stopped_once, tmp_path, dirs_exist_ok=True))


def test_a_run_that_was_stopped_goes_on_to_the_same_model(job, uninterrupted, stopped):
    assert [path.name for path in stopped.iterdir()] == ["model.safetensors.checkpoint"]
    finetune.run(job(stopped, resume=True), Reporter())
    assert_same(load_weights(str(stopped / "model.safetensors"))[0], uninterrupted[0])


def test_it_goes_on_only_with_the_same_job(job, stopped, town):
    with pytest.raises(JobError, match="is of another job: chip_px, the images or labels, seed differ"):
        finetune.run(job(stopped, resume=True, seed=3, chip_px=96, width_m=4.0), Reporter())
    assert checkpoint_path(str(stopped / "model.safetensors")).exists()
    events = []
    finetune.run(job(stopped, steps=2), Reporter(events.append))
    assert any("is replaced, since resume is off" in e.message for e in events if isinstance(e, Warning))


def test_an_option_that_a_checkpoint_lacks_had_its_default():
    former = Checkpoint({"seed": 1, "images": "a"}, NativeEngine("fp32"), False, History(), {}, None)
    identity = {"seed": 1, "images": "a", "clip_norm": 0.0}
    check_identity(former, identity, Path("m.checkpoint"))
    with pytest.raises(JobError, match="of another job: clip_norm differ"):
        check_identity(former, {**identity, "clip_norm": 1.0}, Path("m.checkpoint"))


def test_a_longer_run_goes_on_from_a_shorter_one(job, stopped):
    result = finetune.run(job(stopped, resume=True, steps=42), Reporter())
    assert result["steps"] == 42


@pytest.mark.parametrize("damage", ["cut", "other", "empty"])
def test_a_damaged_checkpoint_is_refused(job, stopped, planted, damage):
    path = checkpoint_path(str(stopped / "model.safetensors"))
    whole = path.read_bytes()
    path.write_bytes({"cut": whole[: len(whole) // 2], "other": Path(planted).read_bytes(), "empty": b""}[damage])
    with pytest.raises(JobError, match="is damaged. Run it without resume"):
        finetune.run(job(stopped, resume=True), Reporter())


def test_without_a_checkpoint_there_is_nothing_to_go_on_from(job, tmp_path):
    with pytest.raises(JobError, match="There is no checkpoint"):
        finetune.run(job(tmp_path, resume=True), Reporter())


def test_a_checkpoint_that_cannot_be_written_does_not_end_the_training(job, tmp_path):
    events = []
    wanted = job(tmp_path, steps=20, checkpoint_minutes=0.02)
    checkpoint_path(wanted.model).mkdir()
    (checkpoint_path(wanted.model) / "something").touch()
    assert finetune.run(wanted, Reporter(events.append))["steps"] == 20
    assert any("No checkpoint could be written" in event.message for event in events if isinstance(event, Warning))
