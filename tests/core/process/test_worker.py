"""The worker as a process of its own: what its pipes carry, and what is left when it ends in any way."""

import errno
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.core.support.actor import Act, Listen
from tests.core.support.rasters import write_raster
from tests.core.support.systems import make_pipe, needs_linux, needs_posix
from tests.core.support.worker_process import ROOT, WorkerProcess, job_file
from training_core import events, worker
from training_core.errors import LabelError
from training_core.jobs import Vectorize

ACTOR = str(Path(__file__).parents[1] / "support" / "actor.py")


def play(folder, part, output="", **options):
    return WorkerProcess("run", job_file(folder, Act(part=part, output=str(output))), script=(ACTOR,), **options)


def start(path, **streams):
    """Start the worker of a job file whose pipes nobody reads."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, **streams}
    return subprocess.Popen([sys.executable, ACTOR, "run", str(path)], cwd=ROOT, **pipes)


def files(folder):
    return sorted(path.name for path in folder.rglob("*") if path.is_file() and path.name != "job.json")


def test_a_job_ends_in_its_result_and_leaves_its_outputs(tmp_path):
    mask = write_raster(tmp_path / "mask.tif", [[0] * 90] * 40 + [[1] * 90] * 10 + [[0] * 90] * 40)
    job = Vectorize(raster=mask, roads=str(tmp_path / "Straße नेपाल 1.gpkg"))
    process = WorkerProcess("run", job_file(tmp_path, job))
    status, told = process.end()
    assert status == 0, process.errors
    assert isinstance(told[-1], events.Result)
    assert told[-1].result["roads"] == job.roads and told[-1].result["count"] == 1
    assert told[-1].result["length_m"] == pytest.approx(90, rel=0.15)
    assert any(isinstance(event, events.Progress) for event in told)
    assert json.loads(process.lines[-1])["event"] == "result"
    assert files(tmp_path) == ["Straße नेपाल 1.gpkg", "mask.tif"]


def test_whatever_libraries_print_standard_output_holds_events_alone(tmp_path):
    process = play(tmp_path, "chatter")
    status, told = process.end()
    assert status == 0
    for printed in ("printed", "written at the level of C", "put by the C library", "printed by a child", "forged"):
        assert printed in process.errors
    assert events.Log("forged") not in told
    assert events.Log("two\nlines") in told
    assert "Straße नेपाल" in [event.message for event in told if isinstance(event, events.Progress)]
    assert told[-1].result == {
        "path": os.fsdecode(b"stra\xdfe.tif"),
        "iou": 0.25,
        "validation": {"f1": 0.123456789},
        "images": [{"name": "a.tif"}, {"name": "b [2].tif", "pixel": {"f1": 0.5}}],
    }


def test_nothing_follows_the_last_event(monkeypatch):
    monkeypatch.setattr(worker, "HEARTBEAT_S", 1e-5)

    def sink(event):
        if isinstance(event, events.Heartbeat):
            time.sleep(0.001)
        told.append(event)

    for _ in range(50):
        told = []
        worker.run(Vectorize(), sink, threading.Event())
        time.sleep(0.002)
        assert isinstance(told[-1], events.Error)


def test_a_stopped_job_says_so_and_leaves_nothing(tmp_path):
    process = play(tmp_path, "work", tmp_path / "out.tif")
    process.wait_for(events.Progress)
    assert files(tmp_path) and not (tmp_path / "out.tif").exists()
    process.close_input()
    status, told = process.end(10)
    assert status == 130
    assert told[-1].code == "cancelled" and "No output" in told[-1].message
    assert files(tmp_path) == []


@pytest.mark.parametrize("keep_best", [True, False])
def test_a_stopped_job_has_the_time_to_finish_only_where_it_keeps_its_best(tmp_path, keep_best):
    process = WorkerProcess("run", job_file(tmp_path, Act(part="finish", keep_best=keep_best)), script=(ACTOR,))
    process.wait_for(events.Progress)
    process.close_input()
    status, told = process.end(20)
    assert status == (0 if keep_best else 130)
    assert told[-1] == events.Result({"stopped": True}) if keep_best else told[-1].code == "cancelled"


def test_a_job_that_takes_commands_hears_them_and_has_the_time_to_finish_when_they_end(tmp_path):
    process = WorkerProcess("run", job_file(tmp_path, Listen()), script=(ACTOR,))
    process.wait_for(events.Progress)
    process.process.stdin.write("one\n\nStraße नेपाल\nthree without an end".encode())
    process.close_input()
    status, told = process.end(20)
    assert status == 0 and told[-1] == events.Result({"count": 3, "is_cancelled": True})
    logs = [event.message for event in told if isinstance(event, events.Log)]
    assert logs == ["one", "Straße नेपाल", "three without an end"]


def test_a_job_that_does_not_heed_is_ended_and_leaves_nothing(tmp_path):
    process = play(tmp_path, "deaf", tmp_path / "out.tif")
    process.wait_for(events.Progress)
    assert files(tmp_path) and not (tmp_path / "out.tif").exists()
    process.close_input()
    began = time.monotonic()
    status, told = process.end(20)
    assert time.monotonic() - began < 20
    assert status == 130 and told[-1].code == "cancelled" and "No output" in told[-1].message
    assert files(tmp_path) == []


def test_what_must_not_be_cut_off_is_finished_before_the_process_is_ended(tmp_path):
    process = play(tmp_path, "stubborn", tmp_path / "out.tif")
    process.wait_for(events.Progress)
    process.close_input()
    began = time.monotonic()
    status, told = process.end(20)
    assert 1 < time.monotonic() - began < 20
    assert status == 130 and told[-1].code == "cancelled"
    assert (tmp_path / "out.tif").read_text() == "whole"


@needs_posix
def test_without_standard_input_there_is_nobody_to_work_for(tmp_path):
    path = job_file(tmp_path, Act(part="work", output=str(tmp_path / "out.tif")))
    for closed in ("<&-", "</dev/null"):
        ran = subprocess.run(
            ["sh", "-c", f'exec "$0" "$1" run "$2" {closed}', sys.executable, ACTOR, path],
            cwd=ROOT,
            capture_output=True,
            timeout=60,
        )
        assert ran.returncode == 130
        assert json.loads(ran.stdout.splitlines()[-1])["code"] == "cancelled"
        assert b"Traceback" not in ran.stderr
        assert files(tmp_path) == []


def test_what_nobody_foresaw_is_told_and_its_traceback_goes_to_the_log(tmp_path):
    process = play(tmp_path, "fail", tmp_path / "out.tif")
    status, told = process.end()
    assert status == 1
    last = told[-1]
    assert last.code == "unexpected" and "ZeroDivisionError: nobody foresaw this" in last.message
    assert "Traceback" not in last.message + last.remedy and "\n" not in last.message
    logs = [event.message for event in told if isinstance(event, events.Log)]
    assert any("Traceback" in log and "play_fail" in log for log in logs)
    assert "Traceback" not in process.errors
    assert files(tmp_path) == []


@pytest.mark.parametrize(
    ("part", "code", "words"),
    [
        ("refuse", "labels", "The drawn roads (straße.gpkg) have no features."),
        ("full", "output", "disk is full"),
        ("memory", "resources", "not enough memory"),
        ("leave", "unexpected", "SystemExit"),
    ],
)
def test_failures_are_told_in_words(tmp_path, part, code, words):
    status, told = play(tmp_path, part).end()
    assert status == 1
    assert told[-1].code == code and words in told[-1].message and told[-1].remedy


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "cannot be read"),
        (b"\x80\x04\x95\x10\x00\x00\x00\x00\x00\x00\x00}\x94.", "not a RoadSeg job file"),
        (b'{"job": "act", "version": 1, "options": {"part": "sing"}}', "(part) cannot be 'sing'"),
    ],
)
def test_a_bad_job_file_is_told_as_an_event(tmp_path, content, words):
    path = tmp_path / "job.json"
    if content is not None:
        path.write_bytes(content)
    assert words in refused(path).message


@needs_posix
def test_what_cannot_be_a_job_file_is_told_as_an_event(tmp_path):
    make_pipe(tmp_path / "pipe")
    (tmp_path / "huge").touch()
    os.truncate(tmp_path / "huge", 1 << 34)
    for path in (tmp_path, tmp_path / "pipe", Path("/dev/zero")):
        assert f"{path} is not a regular file" in refused(path).message
    assert "too large" in refused(tmp_path / "huge").message


def refused(path):
    process = WorkerProcess("run", path, script=(ACTOR,))
    status, told = process.end()
    assert status == 1 and len(told) == 1 and told[0].code == "job" and told[0].remedy
    assert process.errors == ""
    return told[0]


@needs_linux
def test_the_process_is_set_up_before_anything_computes_and_leads_its_group_or_session(tmp_path):
    _, told = play(tmp_path, "look").end()
    assert told[-1].result["loaded"] == [] and told[-1].result["leads_group"] is True
    assert int(told[-1].result["threads"]) == len(os.sched_getaffinity(0))
    status, told = play(tmp_path, "look", start_new_session=True).end()
    assert status == 0 and told[-1].result["leads_group"] is True


@needs_posix
def test_a_worker_whose_reader_has_gone_stops_says_so_and_leaves_nothing(tmp_path):
    path = job_file(tmp_path, Act(part="work", output=str(tmp_path / "out.tif")))
    running = start(path, stderr=subprocess.PIPE, text=True)
    running.stdout.close()
    error = running.stderr.read()
    assert running.wait(60) == 1
    assert error.splitlines() == [
        "No events can be written to standard output ([Errno 32] Broken pipe); the job is stopped."
    ]
    assert files(tmp_path) == []
    running.stdin.close()
    running.stderr.close()


@needs_linux
@pytest.mark.parametrize("part", ["chatter", "work", "refuse"])
def test_a_worker_whose_standard_output_is_full_fails_and_says_so_once(tmp_path, part):
    path = job_file(tmp_path, Act(part=part, output=str(tmp_path / "out.tif")))
    with open("/dev/full", "w") as full:
        ran = subprocess.run(
            [sys.executable, ACTOR, "run", str(path)],
            cwd=ROOT, stdin=subprocess.PIPE, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60,
        )  # fmt: skip
    assert ran.returncode == 1
    assert ran.stderr.count("No events can be written") == 1 and "No space left" in ran.stderr
    assert "Traceback" not in ran.stderr and "Exception ignored" not in ran.stderr
    assert files(tmp_path) == []


@needs_posix
@pytest.mark.parametrize("closed", [">&-", ">&- 2>&-"])
def test_a_worker_without_standard_output_does_not_begin(tmp_path, closed):
    path = job_file(tmp_path, Act(part="work", output=str(tmp_path / "out.tif")))
    ran = subprocess.run(
        ["sh", "-c", f'exec "$0" "$1" run "$2" {closed}', sys.executable, ACTOR, path],
        cwd=ROOT, stdin=subprocess.PIPE, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert ran.returncode == 1 and files(tmp_path) == []
    assert ran.stderr == ("" if "2>" in closed else "Standard output, to which events are written, is closed.\n")


def test_a_client_that_stops_reading_and_leaves_does_not_keep_the_worker_alive(tmp_path):
    path = job_file(tmp_path, Act(part="flood"))
    running = start(path)
    running.stdout.read(1)
    running.stdin.close()
    try:
        assert running.wait(30) == 130
    finally:
        running.kill()
        running.stdout.close()


def test_errors_are_explained_in_words_of_a_length_to_read():
    told = []
    error = worker.explain(KeyboardInterrupt(), events.Reporter(told.append))
    assert error.code == "cancelled" and told == []  # an interrupt is a stop

    def explained(error):
        return worker.explain(error, events.Reporter())

    assert explained(LabelError("No roads.", "Draw some.")) == events.Error("labels", "No roads.", "Draw some.")
    long = explained(LabelError("The bands are " + "x" * 10**6 + ".", "Choose others.")).message
    assert len(long) < 10_100 and long.startswith("The bands are x") and long.endswith("x.")
    allocator = "[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried 9 bytes"
    for lacking in (MemoryError(), RuntimeError(allocator)):
        assert "tile size" in explained(lacking).remedy
    for lacking in (
        OSError(errno.EMFILE, os.strerror(errno.EMFILE), "a.tif"),
        RuntimeError("Too many open files (24)"),
    ):
        error = explained(lacking)
        assert error.code == "resources" and error.message.endswith(".") and "ulimit -n" in error.remedy
