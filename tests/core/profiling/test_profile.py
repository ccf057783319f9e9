"""Profiles as JSON documents: nothing is lost on the way, and what others wrote is checked."""

from __future__ import annotations

import dataclasses
import json
import os

import numpy as np
import pytest

from tests.core.support.profiles import make_profile, make_run
from tests.core.support.systems import make_pipe
from training_core.errors import JobError
from training_core.profiling.profile import MAX_BYTES, Row, from_document, read_profile, to_document

RUN_KEYS = {
    "what", "engine", "precision", "threads", "batch_size", "size_px", "step_s", "spread_s", "steps", "phases", "kinds",
    "layers", "primitives", "unaccounted_share", "overhead_share", "counters",
}  # fmt: skip


def through_json(profile):
    return from_document(json.loads(json.dumps(to_document(profile), allow_nan=False)))


def test_the_numbers_of_a_file_stand_where_scripts_look_for_them(tmp_path):
    profile = make_profile()
    document = json.loads(json.dumps(to_document(profile)))
    assert document["format"] == "roadseg-profile-1"
    assert {"hardware", "versions", "options", "warnings", "limits", "advice"} | RUN_KEYS <= set(document)
    assert document["step_s"] == profile.runs[0].step_s
    (other,) = document["further_runs"]
    assert set(other) >= RUN_KEYS and other["what"] == "inference"
    path = tmp_path / "profile.json"
    path.write_text(json.dumps(document, indent=1), encoding="utf-8")
    assert read_profile(str(path)) == profile
    document.pop("layers")
    with pytest.raises(ValueError, match="layers is missing"):
        from_document(document)
    limits_alone = dataclasses.replace(profile, runs=(), advice=())
    assert through_json(limits_alone) == limits_alone


def test_numbers_of_numpy_are_written_and_nan_is_none():
    row = Row("forward", 1.0, 0.2, 0.5, flop=float("nan"))
    run = dataclasses.replace(make_run(), phases=(row,), step_s=np.float32(0.5), threads=np.int64(3))
    document = json.loads(json.dumps(to_document(make_profile(run))))
    assert (document["step_s"], document["threads"]) == (0.5, 3)
    (written,) = document["phases"]
    assert (written["time_s"], written["flop"]) == (0.2, None)


def test_paths_of_any_encoding_come_back_and_passwords_do_not():
    path = os.fsdecode(b"/data/\xff.tif")
    profile = make_profile(options={"raster": path, "roads": "PG:dbname=x password=hush"})
    text = json.dumps(to_document(profile))
    assert text.isascii() and "hush" not in text
    assert from_document(json.loads(text)).options["raster"] == path


def test_members_of_later_versions_are_passed_over():
    document = to_document(make_profile())
    document["of tomorrow"] = document["layers"][0]["color"] = {"any": ["thing"]}
    assert from_document(json.loads(json.dumps(document))) == make_profile()


@pytest.mark.parametrize(
    ("keys", "value", "words"),
    [
        (["format"], "roadseg-profile-9", "roadseg-profile-9"),
        (["step_s"], 0, "step_s"),
        (["threads"], 2.5, "threads"),
        (["layers", 3, "flop"], -1, "layers flop"),
        (["layers", 3, "name"], "\x1b[2J", "layers name"),
        (["limits", "convolution", "fp32", 0, "per_s"], 0, "per_s"),
        (["advice", 0, "trial", "before_s"], 0, "before_s"),
        (["further_runs"], "none", "further_runs|runs"),
        (["further_runs", 0, "batch_size"], 0, "batch_size"),
    ],
)
def test_an_error_names_the_member(tmp_path, keys, value, words):
    document = to_document(make_profile())
    *holders, last = keys
    holder = document
    for key in holders:
        holder = holder[key]
    holder[last] = value
    path = tmp_path / "spoilt.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(JobError, match=words) as error:
        read_profile(str(path))
    assert str(path) in error.value.message and error.value.remedy


@pytest.mark.parametrize("content", [b"", b"null", b"\xff\xfe", b'{"format": NaN}', b"[" * 10**5])
def test_files_that_hold_no_profile_are_refused(tmp_path, content):
    path = tmp_path / "file.json"
    path.write_bytes(content)
    with pytest.raises(JobError, match=r"file\.json"):
        read_profile(str(path))


def test_only_files_of_a_readable_size_are_opened(tmp_path):
    path = tmp_path / "large.json"
    with path.open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    with pytest.raises(JobError, match="50 MB"):
        read_profile(str(path))
    pipe = tmp_path / "pipe"
    make_pipe(pipe)
    for path in (pipe, tmp_path, "/dev/zero"):
        with pytest.raises(JobError, match="not a regular file"):
            read_profile(str(path))
    for path in (str(tmp_path / "none.json"), "null\0character"):
        with pytest.raises(JobError):
            read_profile(path)
