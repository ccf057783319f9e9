"""The command line as a person or a script uses it."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from tests.core.support.rasters import write_raster
from tests.core.support.systems import needs_linux, needs_posix
from training_core.cli import main
from training_core.jobs import JOBS, describe_range

ROOT = Path(__file__).parents[3]
ACTOR = str(Path(__file__).parents[1] / "support" / "actor.py")
CORE = ("-m", "training_core")


def run(*arguments, script=(ACTOR,), shell="", **options):
    command = [sys.executable, *script, *map(str, arguments)]
    if shell:
        command = ["sh", "-c", f'exec "$@" {shell}', "sh", *command]
    options.setdefault("stdin", subprocess.DEVNULL)
    environment = {**os.environ, "COLUMNS": "200"}
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, env=environment, **options)


@pytest.mark.parametrize("job", JOBS.values(), ids=JOBS)
def test_help_tells_every_option_with_its_range(job):
    shown = CliRunner().invoke(main, [job.name, "--help"], terminal_width=10000).output
    entries = re.split(r"\n(?=  --)", shown)[1:]  # a long name has its help in the next line
    lines = {entry.split()[0]: " ".join(entry.split()) for entry in entries}
    assert set(lines) == {f"--{field.name.replace('_', '-')}" for field in job.option_fields()} | {"--events", "--help"}
    for field in job.option_fields():
        line, option = lines[f"--{field.name.replace('_', '-')}"], field.option
        assert option.help in line and describe_range(option) in line
        assert ("[required]" in line) == (option.required and not field.default)
        assert ("side by side" in line) == field.is_list


def mask_with_a_road(folder):
    values = np.zeros((90, 90), np.uint8)
    values[40:50] = 1
    return write_raster(folder / "mask of Straße.tif", values)


def test_events_are_json_lines_alone_and_the_last_is_the_result(tmp_path):
    mask = mask_with_a_road(tmp_path)
    arguments = ["vectorize", "--raster", mask, "--roads", tmp_path / "नेपाल.gpkg", "--min-length-m", 20, "--events"]
    ran = run(*arguments, script=CORE)
    assert ran.returncode == 0, ran.stderr
    told = [json.loads(line) for line in ran.stdout.splitlines()]
    assert all("event" in event for event in told)
    assert told[-1]["event"] == "result" and told[-1]["result"]["count"] == 1
    assert (tmp_path / "नेपाल.gpkg").is_file()


def test_on_a_terminal_people_read_a_summary(tmp_path):
    ran = run("vectorize", "--raster", mask_with_a_road(tmp_path), "--roads", tmp_path / "roads.gpkg", script=CORE)
    assert ran.returncode == 0
    said = ran.stdout + ran.stderr
    assert re.search(r"^ *count +1 *$", said, re.MULTILINE)
    assert re.search(r"^ *length_m +\d+(\.\d+)? *$", said, re.MULTILINE)
    assert "roads.gpkg" in said and "{" not in said


def looked_at(*arguments, **options):
    ran = run("act", "--part", "look", *arguments, "--events", **options)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return json.loads(ran.stdout.splitlines()[-1])["result"]


@pytest.mark.parametrize(
    ("arguments", "rasters", "bands"),
    [
        ("--rasters a.tif b.tif --bands 3 1", ["a.tif", "b.tif"], [3, 1]),
        ("--rasters a.tif --bands 3 --rasters b.tif --bands 1", ["a.tif", "b.tif"], [3, 1]),
        ("--rasters=a.tif b.tif --bands=3 1 --rasters c.tif", ["a.tif", "b.tif", "c.tif"], [3, 1]),
        ("--rasters -a.tif b.tif", ["-a.tif", "b.tif"], []),
    ],
)
def test_an_option_takes_several_values_side_by_side_or_repeated(arguments, rasters, bands):
    result = looked_at(*arguments.split())
    assert (result["rasters"], result["bands"]) == (rasters, bands)


def test_a_folder_or_a_pattern_gives_its_rasters_whether_the_shell_expands_it_or_not(tmp_path):
    tiles = tmp_path / "tiles of Straße"
    tiles.mkdir()
    first, second = [write_raster(tiles / name, np.ones((4, 4), np.uint8)) for name in ("a.tif", "b.tif")]
    (tiles / "notes.txt").write_text("no raster")
    for given in (f"{tiles}", f"{tiles}/*.tif", f"{tmp_path}/**/*.tif"):
        result = looked_at("--rasters", given)
        assert result["rasters"] == [first, second]
    assert result["threads"] is not None  # which counts only if it is set before rasterio is loaded
    assert looked_at(shell=f"--rasters '{tiles}'/*.tif")["rasters"] == [first, second]


def test_a_summary_shows_numbers_within_numbers():
    said = run("act").stderr
    assert re.search(r"iou +0\.25", said) and re.search(r"validation +f1 0\.1235", said)
    assert re.search(r"images 2 +name b \[2\]\.tif  pixel f1 0\.5", said)
    assert "two\nlines" in said


def test_what_is_done_in_part_ends_with_status_3_and_names_what_failed_and_why():
    ran = run("act", "--part", "half")
    assert ran.returncode == 3
    assert re.search(r"^ *done +1 *$", ran.stderr, re.MULTILINE)
    assert "7 failed" in ran.stderr and "straße 5.tif: Reason [5]. Copy it again." in ran.stderr
    assert "straße 6.tif" not in ran.stderr and "other 2" in ran.stderr
    with_events = run("act", "--part", "half", "--events")
    assert with_events.returncode == 3
    assert len(json.loads(with_events.stdout.splitlines()[-1])["result"]["failures"]) == 7


@needs_posix
@pytest.mark.parametrize(("closed", "mode"), [("<&-", []), ("</dev/null", ["--events"])])
def test_standard_input_is_not_needed(closed, mode):
    ran = run("act", "--part", "look", *mode, shell=closed)
    assert ran.returncode == 0 and "Traceback" not in ran.stderr
    if mode:
        assert json.loads(ran.stdout.splitlines()[-1])["event"] == "result"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["vectorize", "--roads", "roads.gpkg"], "(raster) is missing"),
        (["act", "--part", "sing"], "sing"),
        (["act", "--loud"], "--loud"),
        (["act", "--part", "look", "--rasters", "{folder}"], "The folder {folder} holds no raster"),
        (["act", "--part", "look", "--rasters", "{folder}/*.tif"], "No file matches the pattern {folder}/"),
        (["makescene", "--raster", "a.tif", "--roads", "b.gpkg", "--size-px", "huge"], "--size-px"),
        (["makescene", "--raster", "a.tif", "--roads", "b.gpkg", "--size-px", "63"], "(size_px)"),
        (["act", "--part", "refuse"], "The drawn roads (straße.gpkg) have no features."),
        (["act", "--part", "fail", "--output", "{folder}/out.tif"], "nobody foresaw this"),
        (["act", "--part", "work", "--output", "{folder}/file/out.tif"], "{folder}/file"),
    ],
)
def test_what_is_wrong_is_told_with_a_remedy(tmp_path, arguments, words):
    (tmp_path / "file").write_text("no folder")
    arguments = [argument.format(folder=tmp_path) for argument in arguments]
    words = words.format(folder=tmp_path)
    with_events, on_terminal = run(*arguments, "--events"), run(*arguments)
    assert with_events.returncode != 0 and on_terminal.returncode != 0
    last = json.loads(with_events.stdout.splitlines()[-1])
    assert last["event"] == "error" and words in last["message"] and last["remedy"]
    assert words in on_terminal.stderr.replace("\n", " ")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file"]
    if "fail" not in arguments:
        assert "Traceback" not in on_terminal.stderr + with_events.stderr


def start_work(folder, *mode, ignored=(), **streams):
    """Start a job that works until it is stopped, and return it when it has begun."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    running = subprocess.Popen(
        [sys.executable, ACTOR, "act", "--part", "work", "--output", str(folder / "out.tif"), *mode],
        cwd=ROOT, text=True, start_new_session=True, **{"stdin": subprocess.DEVNULL, **streams},
        preexec_fn=lambda: [
            signal.signal(number, signal.SIG_IGN if number in ignored else signal.SIG_DFL) for number in numbers
        ],
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while not list(folder.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.02)
    return running


PIPES = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}


@needs_posix
@pytest.mark.parametrize(("name", "mode"), [("SIGINT", []), ("SIGTERM", ["--events"]), ("SIGHUP", [])])
def test_a_signal_stops_the_job(tmp_path, mode, name):
    running = start_work(tmp_path, *mode, **PIPES)
    running.send_signal(signal.Signals[name])
    out, error = running.communicate(timeout=60)
    assert running.returncode == 130
    assert "No output was written" in (out if mode else error) and "Traceback" not in error
    assert list(tmp_path.iterdir()) == []


@needs_posix
def test_a_job_under_nohup_goes_on_when_the_terminal_goes(tmp_path):
    running = start_work(tmp_path, ignored=(signal.SIGHUP,), **PIPES)
    running.send_signal(signal.SIGHUP)
    with pytest.raises(subprocess.TimeoutExpired):
        running.wait(1)
    running.send_signal(signal.SIGTERM)
    running.communicate(timeout=60)
    assert running.returncode == 130


@needs_posix
def test_a_terminal_that_goes_stops_the_job_as_a_signal_does(tmp_path):
    ours, its = os.openpty()
    running = start_work(tmp_path, stdin=its, stdout=its, stderr=its)
    os.close(its)
    os.close(ours)
    time.sleep(0.5)  # in which it writes to the terminal that has gone
    running.send_signal(signal.SIGHUP)
    assert running.wait(60) == 130
    assert list(tmp_path.iterdir()) == []


@needs_linux
@pytest.mark.parametrize("arguments", [["--help"], ["segment", "--help"], ["act", "--loud", "--events"]])
def test_help_or_a_refusal_that_cannot_be_written_is_a_failure_in_a_line(arguments):
    ran = run(*arguments, shell=">/dev/full")
    assert ran.returncode == 1 and "Traceback" not in ran.stderr and len(ran.stderr.splitlines()) == 1
    assert "--help" not in arguments or ran.stderr == "The output cannot be written: No space left on device.\n"
