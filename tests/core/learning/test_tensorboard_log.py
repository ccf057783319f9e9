import dataclasses
import functools
import os
import struct

import pytest
from tensorboardX.proto.event_pb2 import Event

from training_core import events
from training_core.errors import Cancelled, OutputError
from training_core.events import Reporter
from training_core.jobs import FineTune
from training_core.learning import tensorboard_log

OPTIONS = dataclasses.asdict(FineTune(rasters=("a.tif", "b.tif"), roads=os.fsdecode(b"stra\xdfe.gpkg"), seed=7))


def records(run):
    """Return what a run's event file holds: records of length, checksum, content, checksum."""
    (file,) = run.iterdir()
    assert "tfevents" in file.name
    data, found = file.read_bytes(), []
    while data:
        (length,) = struct.unpack("<Q", data[:8])
        found.append(Event.FromString(data[12 : 12 + length]))
        data = data[16 + length :]
    return found


def series(run):
    values = [(value, record.step) for record in records(run) for value in record.summary.value]
    return [
        (value.tag, value.simple_value, step) for value, step in values if value.WhichOneof("value") == "simple_value"
    ]


def test_numbers_go_to_the_listener_and_to_a_run_named_for_the_model(tmp_path):
    heard = []
    with tensorboard_log.logged(
        Reporter(heard.append), str(tmp_path / "logs"), "/m/Straße 1.safetensors", OPTIONS
    ) as both:
        both.part(0, 0.5).metric("loss", 0.75, 10)
        both.log("no number")
        both.metric("validation_f1", 0.5, 20)
        both.metric("loss", float("nan"), 30)
    (run,) = (tmp_path / "logs").iterdir()
    assert run.name.startswith("Straße 1-")
    assert series(run) == [("loss", 0.75, 10), ("validation_f1", 0.5, 20)]
    assert [event.kind for event in heard] == ["metric", "log", "metric"]


def test_a_run_says_what_it_was_asked_to_do(tmp_path):
    with tensorboard_log.TensorBoardLog(str(tmp_path), "m", OPTIONS) as log:
        log.add("loss", 1.0, 1)
    first, *others = records(log.run)
    assert first.file_version == "brain.Event:2"
    tags = {value.tag: value for record in others for value in record.summary.value}
    assert "| seed | `7` |" in tags["job/text_summary"].tensor.string_val[0].decode()
    assert b"validation_f1" in tags["_hparams_/experiment"].metadata.plugin_data.content
    assert b"a.tif" in tags["_hparams_/session_start_info"].metadata.plugin_data.content


def test_two_runs_of_a_second_do_not_share_a_folder(tmp_path):
    begin = functools.partial(tensorboard_log.TensorBoardLog, str(tmp_path), "m", {})
    with begin() as one, begin() as two:
        one.add("loss", 1.0, 1)
        two.add("loss", 2.0, 1)
    assert series(one.run) == [("loss", 1.0, 1)] and series(two.run) == [("loss", 2.0, 1)]


def test_a_run_that_told_nothing_leaves_nothing_and_a_stopped_one_what_it_told(tmp_path):
    with pytest.raises(Cancelled), tensorboard_log.logged(Reporter(), str(tmp_path), "m", {}):
        raise Cancelled()
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(Cancelled), tensorboard_log.logged(Reporter(), str(tmp_path), "m", {}) as reporter:
        reporter.metric("loss", 0.5, 1)
        raise Cancelled()
    (run,) = tmp_path.iterdir()
    assert series(run) == [("loss", 0.5, 1)]


def test_without_a_folder_there_is_no_log(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    reporter = Reporter()
    with tensorboard_log.logged(reporter, "", "m", {}) as same:
        assert same is reporter
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["file/logs", "file", "a\0b"])
def test_a_folder_that_cannot_be_written_is_refused_by_name(tmp_path, name):
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(OutputError) as refused, tensorboard_log.logged(Reporter(), str(tmp_path / name), "m", {}):
        pass
    assert str(tmp_path / name) in refused.value.message and refused.value.remedy
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no device that is always full")
def test_a_disk_that_runs_full_ends_the_log_and_not_the_job(tmp_path, monkeypatch):
    heard = []
    monkeypatch.setattr(tensorboard_log, "FLUSH_EVERY_S", 0.0)
    with tensorboard_log.logged(Reporter(heard.append), str(tmp_path), "m", {}) as reporter:
        reporter.metric("loss", 0.5, 1)
        (run,) = tmp_path.iterdir()
        (file,) = run.iterdir()
        (number,) = [fd for fd in os.listdir("/proc/self/fd") if os.path.realpath(f"/proc/self/fd/{fd}") == str(file)]
        full = os.open("/dev/full", os.O_WRONLY)
        os.dup2(full, int(number))
        os.close(full)
        for step in range(2, 5):
            reporter.metric("loss", 0.25, step)
    (warning,) = [event for event in heard if isinstance(event, events.Warning)]
    assert "No space left" in warning.message and str(run) in warning.message
    assert sum(isinstance(event, events.Metric) for event in heard) == 4
