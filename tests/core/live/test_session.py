"""A session in this process, on a town of 192 px: its answers to commands, its files, and its resumption."""

import importlib
import json
import time

import geopandas
import pytest
import rasterio
from rasterio.errors import RasterioIOError
from safetensors.torch import load_file

from tests.core.support.towns import ROADS, on_map
from training_core import events
from training_core.errors import JobError, LayerError, ModelFileError
from training_core.events import Reporter
from training_core.jobs import Live, from_options
from training_core.live import session as session_module
from training_core.live import session_files
from training_core.models.loading import load_weights

DAY_S = 120.0


class Player:
    """A client that sends each line once the event that it waits for has come."""

    def __init__(self, *steps):
        self._steps, self.told, self._since = list(steps), [], 0
        self._deadline = time.monotonic() + DAY_S
        self.is_over = False

    def __call__(self, event):
        self.told.append(event)

    def get(self, timeout_s):
        if not self._steps:
            self.is_over = True
            return None
        assert time.monotonic() < self._deadline, (self._steps[0], self.told[-4:])
        line, until = self._steps[0]
        if until is not None and not any(until(event) for event in self.told[self._since :]):
            time.sleep(min(timeout_s or 0, 0.01))
            return None
        del self._steps[0]
        self._since = len(self.told)
        return line if isinstance(line, bytes) else json.dumps(line).encode()

    def all_of(self, kind):
        return [event for event in self.told if isinstance(event, kind)]

    @property
    def warnings(self):
        return [event.message for event in self.all_of(events.Warning)]


def labels(sequence, **shapes):
    changes = [
        {"layer": layer, "id": name, "geometry": None if shape is None else on_map(shape).wkt}
        for name, (layer, shape) in shapes.items()
    ]
    return {"command": "labels", "sequence": sequence, "changes": changes}


def learned(sequence):
    return lambda event: isinstance(event, events.Learned) and event.sequence == sequence


def state(name):
    return lambda event: isinstance(event, events.State) and event.state == name


def complete(event):
    return isinstance(event, events.Prediction) and event.fraction == 1


def after_step(count):
    return lambda event: isinstance(event, events.Prediction) and event.fraction == 1 and event.step >= count


@pytest.fixture
def play(town, planted, tmp_path, monkeypatch):
    monkeypatch.setattr(session_module, "FRESH_STEPS", 2)
    monkeypatch.setattr(session_module, "REFRESH_S", 0.1)
    monkeypatch.setattr(session_module, "IDLE_S", 0.02)

    def run(*steps, **options):
        player = Player(*steps)
        job = from_options(
            Live,
            {
                "raster": town.raster, "base_model": planted, "folder": str(tmp_path / "session"), "threads": 1,
                "precision": "fp32", "width_m": 10.0, **options,
            },
        )  # fmt: skip
        pipeline = importlib.import_module("training_core.pipelines.live")
        result = pipeline.run(job, Reporter(player, lines=player))
        return result, player

    with rasterio.open(town.raster) as dataset:
        run.view = {"command": "view", "extent": list(dataset.bounds)}
    run.folder = tmp_path / "session"
    return run


def test_a_drawing_session_from_the_first_view_to_the_kept_model(play, tmp_path):
    model, report, kept_labels = (tmp_path / f"kept.{suffix}" for suffix in ("safetensors", "html", "gpkg"))
    result, player = play(
        (play.view, None),
        ({"command": "learn"}, complete),
        (labels(1, a=("roads", ROADS[0]), b=("roads", ROADS[1])), None),
        (labels(2, c=("roads", ROADS[2])), learned(1)),
        ({"command": "keep", "model": str(model), "report": str(report), "labels": str(kept_labels)}, after_step(3)),
        ({"command": "stop"}, lambda event: isinstance(event, events.Kept)),
    )
    assert result["roads"] == 3 and result["step"] >= 3 and result["folder"] == str(play.folder)
    assert [event.sequence for event in player.all_of(events.Learned)] == [1, 2]
    assert all(0 <= event.seconds < 30 for event in player.all_of(events.Learned))
    assert player.all_of(events.State)[0].state == "loading"
    predictions = player.all_of(events.Prediction)
    assert predictions[0].step == 0 and predictions[0].fraction == 0
    sizes_m = [predictions[number].resolution_m for number in (0, -1)]
    assert sizes_m == pytest.approx([2.0, 1.0], rel=0.01)  # coarse first
    with rasterio.open(predictions[-1].path) as dataset:
        assert list(dataset.bounds) == pytest.approx(predictions[-1].extent)
        assert dataset.read(1).max() < 255
    weights, card = load_weights(str(model))
    assert card.training["steps"] >= 3 and card.training["base_model"] == "model.safetensors"
    assert card.training["base_sha256"] and card.versions["roadseg"] and weights
    kept = player.all_of(events.Kept)[0]
    assert (kept.model, kept.report, kept.labels) == (str(model), str(report), str(kept_labels))
    assert len(geopandas.read_file(kept_labels, layer="roads")) == 3
    if kept.f1 is not None:
        assert card.metrics["f1"] == pytest.approx(kept.f1)
    assert "</html>" in report.read_text(encoding="utf-8")
    left = sorted(path.name for path in play.folder.iterdir())
    assert [name for name in left if not name.startswith("prediction-")] == [
        "checkpoint.safetensors", "labels.json", "session.json",
    ]  # fmt: skip


def test_nothing_is_learned_before_the_start_nor_while_paused_but_clicks_are_answered(play):
    x, y = on_map(ROADS[0]).centroid.coords[0]
    result, player = play(
        (labels(1, a=("roads", ROADS[0])), state("waiting")),
        (play.view, None),
        ({"command": "learn"}, complete),
        ({"command": "pause"}, learned(1)),
        (labels(2, b=("roads", ROADS[1])), state("paused")),
        ({"command": "view", "extent": play.view["extent"], "show": "uncertainty"}, None),
        ({"command": "correct", "sequence": 5, "x": x, "y": y}, None),
        ({"command": "stop"}, lambda event: isinstance(event, events.Prediction) and event.show == "uncertainty"),
    )
    assert [event.sequence for event in player.all_of(events.Learned)] == [1]
    first = next(event for event in player.told if isinstance(event, events.Prediction))
    assert first.step == 0 and result["roads"] == 2
    (answer,) = player.all_of(events.Correction)
    assert answer.sequence == 5 and answer.layer in ("no_road", "roads", "")
    assert bool(answer.layer) == bool(answer.geometry) != bool(answer.message)


def test_a_session_goes_on_from_its_folder_and_forgets_what_is_erased_there(play, planted):
    base = load_weights(planted)[0]

    def changed_weights():
        """Return the difference of each stored weight from the base model."""
        stored = load_file(play.folder / "checkpoint.safetensors")
        return {name: values - base[name[8:]] for name, values in stored.items() if name.startswith("network.")}

    def distance():
        return sum(float(values.norm()) for values in changed_weights().values())

    before, _ = play(
        ({"command": "learn"}, None),
        (labels(1, a=("roads", ROADS[0]), b=("roads", ROADS[1])), None),
        ({"command": "stop"}, learned(1)),
    )
    changed, taught = changed_weights(), distance()
    assert 0 < len(changed) < len(base) and all(values.any() for values in changed.values())  # no others are stored
    result, player = play((play.view, None), ({"command": "stop"}, complete))
    assert result["step"] == before["step"] > 0 and result["roads"] == 2
    assert player.all_of(events.Prediction)[-1].step == before["step"]
    assert any("continues" in event.message for event in player.all_of(events.Log))
    erase_one, erase_all = labels(2, a=("roads", None)), labels(3, b=("roads", None))
    play((erase_one, None), ({"command": "stop"}, None))  # no step follows
    assert 0 < distance() < 0.87 * taught
    result, _ = play((erase_all, None), ({"command": "stop"}, None))
    assert distance() == 0 and result["step"] == before["step"]
    result, player = play((play.view, None), ({"command": "stop"}, complete))
    assert result["step"] == before["step"] and result["roads"] == 0 and not player.all_of(events.Warning)


def test_what_is_spared_is_spared_after_a_resumption_too(play, town):
    """Of a session that has not learned anything yet."""
    play((play.view, None), (labels(1, a=("roads", ROADS[0])), complete), ({"command": "stop"}, None))
    result, before = play(({"command": "stop"}, state("waiting")))
    assert result["roads"] == 1 and result["step"] == 0
    (play.folder / "checkpoint.safetensors").unlink()  # which holds the spared pixels
    _, after = play(({"command": "stop"}, state("waiting")))
    labeled = [player.all_of(events.State)[-1].labeled_px for player in (before, after)]
    assert labeled[0] < labeled[1]  # the planted model shows roads near this one


def test_labels_that_could_not_be_written_are_written_once_they_can(play, monkeypatch):
    monkeypatch.setattr(session_module, "LABELS_S", 0.05)
    write, failures = session_files._write_lines, []

    def fail_at_first(*arguments):
        if len(failures) < 3:
            failures.append(arguments)
            raise OSError(28, "No space left on device")
        write(*arguments)

    monkeypatch.setattr(session_files, "_write_lines", fail_at_first)

    def is_written(_):
        return (play.folder / "labels.json").is_file()

    _, player = play((labels(1, a=("roads", ROADS[0])), None), ({"command": "stop"}, is_written))
    assert len(failures) == 3 and len(player.all_of(events.Warning)) == 1


def test_what_is_malformed_is_warned_of_and_the_session_goes_on(play):
    result, player = play(
        (b"\xff{", None),
        ({"command": "fly"}, None),
        (labels(1, a=("aoi", ROADS[0]), b=("roads", ROADS[1])), None),
        ({"command": "keep", "model": "/nowhere/at/all\x00"}, None),
        ({"command": "view", "extent": [0, 0, 1, 1]}, None),
        ({"command": "correct", "sequence": 1, "x": 1, "y": 1}, None),
    )  # the end of the commands ends the session
    assert result == {"folder": str(play.folder), "step": 0, "roads": 1}
    assert len(player.all_of(events.Warning)) == 4 and player.all_of(events.Correction)[0].message
    assert '"id": "b"' in (play.folder / "labels.json").read_text()


def test_a_model_that_cannot_be_written_is_told_and_the_next_is_kept(play, town, tmp_path):
    model, labels_ = tmp_path / "next.safetensors", tmp_path / "next.gpkg"
    _, player = play(
        ({"command": "keep", "model": town.raster}, None),
        ({"command": "keep", "model": str(play.folder)}, None),
        ({"command": "keep", "model": str(tmp_path / "kept.safetensors"), "labels": town.roads}, None),
        ({"command": "keep", "model": str(model), "labels": str(labels_)}, None),
        ({"command": "stop"}, None),
    )
    assert ["not kept" in warning for warning in player.warnings] == [True, True, True]
    assert not (tmp_path / "kept.safetensors").exists() and len(geopandas.read_file(town.roads)) == len(ROADS)
    (kept,) = player.all_of(events.Kept)
    assert kept.labels == "" and not labels_.exists() and model.is_file()  # nothing was drawn


def test_labels_of_files_are_there_from_the_beginning(play, town):
    result, player = play(
        ({"command": "learn"}, None), ({"command": "stop"}, state("learning")), roads=town.roads, aoi=town.aoi
    )
    assert result["roads"] == len(ROADS)
    assert player.all_of(events.State)[-1].labeled_px == 192 * 192


def test_an_image_that_cannot_be_read_any_more_pauses_the_session(play, monkeypatch):
    def fail(*_):
        raise RasterioIOError("the drive is gone")

    monkeypatch.setattr("training_core.geodata.rasters.Image.read", fail)
    result, player = play((play.view, None), ({"command": "learn"}, state("paused")), ({"command": "stop"}, None))
    assert any("can no longer be read" in warning for warning in player.warnings)
    assert result["step"] == 0


def test_a_full_disk_costs_the_map_and_not_the_session(play, monkeypatch):
    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("training_core.live.session_reports._write_raster", fail)
    result, player = play(
        (play.view, None),
        ({"command": "learn"}, lambda event: isinstance(event, events.Warning)),
        (labels(1, a=("roads", ROADS[0])), None),
        ({"command": "stop"}, learned(1)),
    )
    assert result["step"] >= 1 and not player.all_of(events.Prediction)


def test_a_loss_that_is_not_a_number_restarts_learning_and_then_pauses(play, monkeypatch):
    monkeypatch.setattr("training_core.learning.trainer.Trainer.step", lambda *_: float("nan"))
    result, player = play(
        ({"command": "learn"}, None), (labels(1, a=("roads", ROADS[0])), None), ({"command": "stop"}, state("paused"))
    )
    assert result == {"folder": str(play.folder), "step": 0, "roads": 1}
    warnings = player.warnings
    assert "restarts from" in warnings[0] and "paused" in warnings[-1]


@pytest.mark.parametrize("module", ["map_prediction", pytest.param("scoring", marks=pytest.mark.slow)])
def test_a_model_that_computes_no_numbers_restarts_and_then_rests(play, monkeypatch, module, tmp_path):
    tries = []

    def fail(*_, **__):
        tries.append(module)
        raise ModelFileError("The model computes no numbers.", "Choose another.")

    monkeypatch.setattr(f"training_core.live.{module}.predict_pieces", fail)
    monkeypatch.setattr(session_module, "SCORE_S", 0.05)
    drawn = labels(1, **{str(number): ("roads", road) for number, road in enumerate(ROADS)})
    kept = tmp_path / "kept.safetensors"
    result, player = play(
        (play.view, None),
        ({"command": "learn"}, None),
        (drawn, None),
        ({"command": "keep", "model": str(kept)}, state("paused")),
        ({"command": "stop"}, None),
    )
    warnings = player.warnings
    assert "restarts from" in warnings[0] and any("is paused" in warning for warning in warnings)
    assert result["roads"] == len(ROADS) and len(tries) < 12  # it does not try again and again
    assert any("not kept" in warning for warning in warnings) == (module == "scoring") == (not kept.exists())


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"width_field": "width"}, JobError),
        ({"roads": "nowhere.gpkg"}, LayerError),
        ({"no_road": "no.gpkg"}, LayerError),
    ],
)
def test_what_a_session_cannot_begin_with_is_refused(play, options, error):
    with pytest.raises(error) as refused:
        play(**options)
    assert refused.value.remedy
