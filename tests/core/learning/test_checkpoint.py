import dataclasses
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file

from tests.core.support.disks import no_more_than
from tests.core.support.systems import make_pipe
from tests.shared_fixtures import make_once
from training_core.errors import Cancelled, JobError
from training_core.events import Metric, Reporter, Warning
from training_core.jobs import FineTune
from training_core.learning import checkpoint, training_loop
from training_core.learning.checkpoint import (
    Checkpoint,
    CheckpointWriter,
    check_identity,
    checkpoint_path,
    read_checkpoint,
    take_over,
)
from training_core.learning.history import History
from training_core.learning.trainer import Trainer
from training_core.models.engines import NativeEngine
from training_core.models.loading import load_network, load_weights
from training_core.pipelines import finetune

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module", autouse=True)
def frequent_validations():
    """Validations each five steps instead of twenty, so that short runs have two."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training_loop, "MIN_INTERVAL_STEPS", 5)
        yield


@pytest.fixture(scope="module")
def job(town, planted):
    """Return a job of ten steps in FP32, for a model in a folder."""

    def make(folder, **options):
        defaults = {
            **town.labeled,
            "base_model": planted,
            "model": str(folder / "model.safetensors"),
            "steps": 10,
            "chip_px": 64,
            "batch_size": 1,
            "engine": "native",
            "precision": "fp32",
            "threads": 1,
        }
        return FineTune(**{**defaults, **options})

    return make


@pytest.fixture(scope="module")
def uninterrupted(job, tmp_path_factory):
    """The weights and the result of a run that nothing cuts off."""

    def train(folder):
        wanted = job(folder)
        result = finetune.run(wanted, Reporter())
        assert not checkpoint_path(wanted.model).exists()
        return load_weights(wanted.model)[0], result

    return make_once(tmp_path_factory, "uninterrupted", train)


def stopping_after(validations):
    """Return a reporter that stops its job after some validations, and the list of its events."""
    events = []
    count = lambda: sum(isinstance(event, Metric) and event.name == "validation_f1" for event in events)  # noqa: E731
    return Reporter(events.append, lambda: count() >= validations), events


def assert_same(weights, other):
    assert weights.keys() == other.keys()
    for name, tensor in weights.items():
        torch.testing.assert_close(tensor, other[name], rtol=0, atol=1e-5, msg=name)


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


@pytest.mark.slow
def test_what_is_left_of_a_checkpoint_whose_writer_was_killed_is_removed_by_the_next_run(tmp_path):
    path = tmp_path / "model.safetensors.checkpoint"
    process = subprocess.Popen([sys.executable, "-c", WRITING, str(path)], cwd=ROOT)
    while not any(each != path and each.is_file() and each.stat().st_size for each in tmp_path.rglob("*")):
        assert process.poll() is None
    process.kill()
    process.wait()
    assert set(tmp_path.iterdir()) - {path}, "it was killed too late"
    with CheckpointWriter(path, {}, NativeEngine("fp32"), Reporter()):
        assert not set(tmp_path.iterdir()) - {path}


@pytest.mark.slow
def test_a_checkpoint_for_which_there_is_no_room_is_a_warning_and_leaves_nothing(job, tmp_path, monkeypatch):
    (tmp_path / "whole").mkdir()
    finetune.run(job(tmp_path / "whole", steps=2), Reporter())
    room = (tmp_path / "whole" / "model.safetensors").stat().st_size + 1000  # a checkpoint is larger than its model
    events = []
    monkeypatch.setattr(checkpoint, "INTERVAL_S", 0.0)
    with no_more_than(room):
        finetune.run(job(tmp_path, steps=20), Reporter(events.append))
    warnings = [event.message for event in events if isinstance(event, Warning)]
    assert any("No checkpoint could be written" in each and "training continues" in each for each in warnings)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.safetensors", "whole"]


@pytest.mark.slow
def test_a_stop_keeps_the_best_model_where_that_is_wished(job, tmp_path):
    reporter, events = stopping_after(1)
    options = {"keep_best": True, "interpolation": "no", "report": str(tmp_path / "report.html")}
    result = finetune.run(job(tmp_path, **options), reporter)
    assert result["stopped"] and 5 <= result["steps"] < 10
    _, card = load_network(result["model"])
    (f1,) = [event.value for event in events if isinstance(event, Metric) and event.name == "validation_f1"]
    assert card.metrics["f1"] == result["validation"]["f1"] == pytest.approx(f1, abs=0.01)  # before the calibration
    assert any("Stopped at step" in note for note in card.training["notes"])
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "model.safetensors",
        "model.safetensors.checkpoint",
        "report.html",
    ]


@pytest.fixture(scope="module")
def stopped_once(job, tmp_path_factory):
    """A folder with the checkpoint of a run that was stopped, to copy."""

    def stop(folder):
        reporter, _ = stopping_after(1)
        with pytest.raises(Cancelled, match="with resume continues"):
            finetune.run(job(folder), reporter)
        return folder

    return make_once(tmp_path_factory, "stopped", stop)


@pytest.fixture
def stopped(stopped_once, tmp_path):
    """A folder of its own with that checkpoint."""
    return Path(shutil.copytree(stopped_once, tmp_path, dirs_exist_ok=True))


def test_a_run_that_was_stopped_goes_on_to_the_same_model(job, uninterrupted, stopped):
    assert [path.name for path in stopped.iterdir()] == ["model.safetensors.checkpoint"]
    finetune.run(job(stopped, resume=True), Reporter())
    assert_same(load_weights(str(stopped / "model.safetensors"))[0], uninterrupted[0])


def test_it_goes_on_only_with_the_same_job(job, stopped, town):
    with pytest.raises(JobError, match="belongs to another job: chip_px, the images or labels, seed differ"):
        finetune.run(job(stopped, resume=True, seed=3, chip_px=96, width_m=4.0), Reporter())
    assert checkpoint_path(str(stopped / "model.safetensors")).exists()
    events = []
    finetune.run(job(stopped, steps=2), Reporter(events.append))
    assert any("is replaced, since resume is off" in e.message for e in events if isinstance(e, Warning))


def test_an_option_that_a_checkpoint_lacks_had_its_default():
    former = Checkpoint({"seed": 1, "images": "a"}, NativeEngine("fp32"), False, History(), {}, None)
    identity = {"seed": 1, "images": "a", "accumulation": 1}
    check_identity(former, identity, Path("m.checkpoint"))
    with pytest.raises(JobError, match="belongs to another job: accumulation differ"):
        check_identity(former, {**identity, "accumulation": 2}, Path("m.checkpoint"))


@pytest.fixture(scope="module")
def trainer(planted, job, stopped_once):
    """A trainer that averages weights, as that of a live session."""
    return Trainer(load_network(planted)[0], NativeEngine("fp32"), job(stopped_once), averaging=0.9)


@pytest.fixture(scope="module")
def state(stopped_once, trainer):
    """The state, with an average, and the document in the checkpoint of a run that was stopped; do not change them."""
    path = checkpoint_path(str(stopped_once / "model.safetensors"))
    with safe_open(path, "pt") as file:
        document = json.loads(file.metadata()["roadseg"])
    former = read_checkpoint(path)
    average = {name: tensor for name, tensor in trainer.state_dict().items() if name.startswith("average.")}
    return dataclasses.replace(former, state={**former.state, **average}), document


def with_value(value):
    def change(tensor):
        changed = tensor.clone()
        changed.view(-1)[0] = value
        return changed

    return change


WEIGHT, BIAS, MOMENT, SQUARE = (
    "network.encoder.conv1.weight",
    "network.encoder.bn1.bias",
    "optimizer.encoder.bn1.bias.exp_avg",
    "optimizer.encoder.bn1.bias.exp_avg_sq",
)
AVERAGE = "average.encoder.conv1.weight"
CHANGES = {
    "of another shape": lambda tensor: tensor[:1].clone(),
    "of one dimension more": lambda tensor: tensor[None].clone(),
    "of integers": lambda tensor: tensor.to(torch.int32),
    "empty": lambda tensor: tensor[:0].clone(),
}
STATES = {
    **{f"{name} {what}": (name, name, change)
       for name in (WEIGHT, MOMENT, AVERAGE) for what, change in CHANGES.items()},
    **{f"{name} missing": (name, None, None) for name in (BIAS, SQUARE, "average.updates")},
    **{f"{name} renamed": (name, name + ".x", torch.clone) for name in (WEIGHT, MOMENT, AVERAGE)},
    **{f"{name} of half precision": (name, name, torch.Tensor.half) for name in (WEIGHT, AVERAGE)},
    "a negative square": (SQUARE, SQUARE, with_value(-1.0)),
    "a step below 1": ("optimizer.encoder.bn1.bias.step", "optimizer.encoder.bn1.bias.step", with_value(-3.0)),
    "a parameter that is none": (MOMENT, "optimizer.other.exp_avg", torch.clone),
}  # fmt: skip


@pytest.mark.parametrize(("old", "new", "change"), STATES.values(), ids=STATES)
def test_a_state_of_another_model_or_optimizer_is_refused_before_any_of_it_is_taken(state, trainer, old, new, change):
    tensors = dict(state[0].state)
    tensor = tensors.pop(old)
    if new is not None:
        tensors[new] = change(tensor)
    before = trainer.weights()[WEIGHT.partition(".")[2]]
    with pytest.raises(
        JobError, match=r"The checkpoint m\.checkpoint does not fit the model\. Run it without resume\.$"
    ):
        take_over(trainer, dataclasses.replace(state[0], state=tensors), Path("m.checkpoint"))
    torch.testing.assert_close(trainer.weights()[WEIGHT.partition(".")[2]], before)


def test_best_weights_of_another_model_are_refused_before_the_training_goes_on(state, trainer):
    best = dataclasses.replace(state[0].best, weights={"encoder.conv1.weight": torch.zeros(3)})
    with pytest.raises(JobError, match="does not fit the model"):
        take_over(trainer, dataclasses.replace(state[0], best=best), Path("m.checkpoint"))
    take_over(trainer, state[0], Path("m.checkpoint"))


SCORES = {"iou": 0.5, "f1": 0.5, "precision": 0.5, "recall": 0.5}
HISTORIES = {
    "step": (-1, 2.0, True, 10**19),
    "elapsed_s": (-1, "1", 1e300),
    "images_seen": (-5,),
    "steps": ([[1, 2]], [[10**9, 0.0, 1.0, 1.0]], [[2, 0.1, 0.5, 0.1], [1, 0.2, 0.5, 0.1]]),
    "validations": ([], [[1, 0.1, {"f1": 1}]], [[1, 0.1, {**SCORES, "f1": 2.0}]]),
    "timings_s": ({"forward": -1.0},),
    "notes": (["x" * 100_000],),
    "fitted": ({"chip_px": 1}, {"seed": 3}),
    "other": (1,),
}  # fmt: skip
ENGINE = {"name": "native", "precision": "fp32", "reason": ""}
DOCUMENTS = {
    "format": ("other", None, 1),
    "identity": (None, 3, "x"),
    "engine": ({}, {**ENGINE, "name": "openvino"}, {**ENGINE, "precision": "fp8"}, {**ENGINE, "threads": 1}),
    "has_extension": (None, 1),
    "history": (None, []),
    "best": (None, [[1, 2]], [[0.5] * 255] * 2, [[-1] * 255] * 2, [[10**18] * 255] * 2),
}  # fmt: skip


@pytest.mark.parametrize(
    ("part", "name", "value"),
    [(part, name, value) for part, table in (("history", HISTORIES), (None, DOCUMENTS))
     for name, values in table.items() for value in values],
    ids=lambda value: str(value)[:30],
)  # fmt: skip
def test_a_checkpoint_whose_document_was_tampered_with_is_refused_by_name(state, tmp_path, part, name, value):
    path, document = tmp_path / "model.safetensors.checkpoint", json.loads(json.dumps(state[1]))
    write_small(path, document)
    assert read_checkpoint(path).history == state[0].history
    (document[part] if part else document)[name] = value
    write_small(path, document)
    with pytest.raises(JobError, match=r"model\.safetensors\.checkpoint is damaged\. Run it without resume\.$"):
        read_checkpoint(path)


def write_small(path, document, **tensors):
    save_file({"state.x": torch.zeros(1), **tensors}, path, metadata={"roadseg": json.dumps(document)})


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_checkpoint_with_values_that_are_no_numbers_is_refused(state, tmp_path, value):
    path = tmp_path / "model.safetensors.checkpoint"
    write_small(path, state[1], **{"best.a": torch.tensor([1.0, value])})
    with pytest.raises(JobError, match=r"model\.safetensors\.checkpoint is damaged"):
        read_checkpoint(path)


@pytest.mark.parametrize("make", [make_pipe, os.mkdir, lambda path: path.write_bytes(b"\xff" * 100)])
def test_what_is_no_checkpoint_at_all_is_refused(tmp_path, make):
    path = tmp_path / "model.safetensors.checkpoint"
    make(path)
    with pytest.raises(JobError, match="model.safetensors.checkpoint is damaged. Run it without resume"):
        read_checkpoint(path)


def test_without_a_checkpoint_there_is_nothing_to_go_on_from(job, tmp_path):
    with pytest.raises(JobError, match="There is no checkpoint"):
        finetune.run(job(tmp_path, resume=True), Reporter())
