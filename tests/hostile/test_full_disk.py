"""Every output of every job where there is too little of something: disk, files that may be open, temporary files.

The result is that of an undisturbed run, or an error, and then the folders are as they were.
"""

from __future__ import annotations

import os
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.hostile.cases import ENDING_JOBS
from tests.hostile.good_inputs import Goods
from tests.hostile.outcome import check_error, claimed, job_document, run, snapshot
from tests.hostile.references import assert_same, outputs_of, with_suffix

# By the format of vector outputs: the jobs that try it. All write vector files the same way.
_JOBS_BY_SUFFIX = {".gpkg": ENDING_JOBS, ".geojson": ("vectorize",), ".fgb": ("vectorize",)}
# Fraction of the output's size that the largest file may have, and bytes in addition.
_ROOMS = {"all but a byte": (1, -1), "all but 100 bytes": (1, -100), "half": (0.5, 0), "4096 bytes": (0, 4096)}
# Size of a small disk as a fraction of that of all outputs.
_DISKS = {"a tenth": 0.1, "half": 0.5, "nearly all": 0.9}
_FEW_FILES = (14, 20, 40)
_FULL = "full"
# Jobs that always take many seconds, and the one room that is tried with them.
_LONG, _ROOM_OF_LONG = ("profile",), "half"
_NO_TEMPORARY_FOLDERS = {"missing": "/nonexistent", "read-only": "/proc", _FULL: ""}
_PAGE_BYTES = 4096


@dataclass(frozen=True)
class Trouble:
    """A job, what is scarce, the output for which there is too little room, and the format of vector outputs."""

    job: str
    kind: str
    amount: str
    output: str = ""
    suffix: str = ".gpkg"

    @property
    def name(self) -> str:
        return f"{self.job}, {self.amount}{self.output and f' of {self.output}'}, {self.suffix}"


CASES = {
    "file size": [
        Trouble(job, "file size", room, output, suffix)
        for suffix, jobs in _JOBS_BY_SUFFIX.items()
        for job in jobs
        for output in outputs_of(job)
        for room in _ROOMS
        if job not in _LONG or room == _ROOM_OF_LONG
    ],
    "disk": [Trouble(job, "disk", disk) for job in ENDING_JOBS for disk in _DISKS],
    "open files": [Trouble(job, "open files", f"{count} open files") for job in ENDING_JOBS for count in _FEW_FILES],
    "temporary folder": [
        Trouble(job, "temporary folder", which) for job in ENDING_JOBS for which in _NO_TEMPORARY_FOLDERS
    ],
}


def test_the_result_is_whole_or_there_is_none(case, references, goods: Goods, server, tmp_path):
    reference = references.of(case.job, case.suffix)
    (tmp_path / "job").mkdir()
    (tmp_path / "out").mkdir()
    options, limits = with_suffix(goods.options(case.job, tmp_path / "out"), case.suffix), {}
    disk_bytes = temporary_bytes = 0
    if case.kind == "file size":
        fraction, more = _ROOMS[case.amount]
        output = reference.outputs[Path(options[case.output]).name]
        size = max(file.stat().st_size for file in (output.rglob("*") if output.is_dir() else [output]))
        limits["limits"] = {"FSIZE": max(1, int(fraction * size) + more)}
    elif case.kind == "disk":
        disk_bytes = max(int(_DISKS[case.amount] * reference.bytes), 2 * _PAGE_BYTES)  # for what is there before
    elif case.kind == "open files":
        limits["limits"] = {"NOFILE": int(case.amount.split()[0])}
    else:
        limits["variables"] = {"TMPDIR": _NO_TEMPORARY_FOLDERS[case.amount] or str(tmp_path / "temporary")}
        temporary_bytes = _PAGE_BYTES * (case.amount == _FULL)
    (tmp_path / "temporary").mkdir()
    with small_disk(tmp_path / "temporary", temporary_bytes), small_disk(tmp_path / "out", disk_bytes):
        if temporary_bytes:
            (tmp_path / "temporary" / "all there is").write_bytes(bytes(_PAGE_BYTES))
        (tmp_path / "out" / "neighbor.txt").write_text("former")
        for path in claimed(case.job, options)[:1]:
            if not reference.outputs[Path(path).name].is_dir():
                Path(path).write_text("former")
        before = snapshot(tmp_path / "out")
        outcome = run(server, tmp_path / "job", job_document(case.job, options), cpu_s=120, wall_s=480, **limits)
        if outcome.is_done:
            assert_same(case.job, options, outcome.last.result, reference)
            assert len(os.listdir(tmp_path / "out")) == 1 + len(reference.outputs)
        else:
            check_error(outcome.last, (), outcome.log)
            assert snapshot(tmp_path / "out") == before, "the folder is not as it was"


@contextmanager
def small_disk(folder: Path, size_bytes: int):
    """Mount a disk of a size at a folder, unless that is 0."""
    if not size_bytes:
        yield
        return
    command = ["mount", "-t", "tmpfs", "-o", f"size={size_bytes}", "none", str(folder)]
    try:
        mounted = subprocess.run(command, capture_output=True, check=False)
    except FileNotFoundError:
        pytest.skip("no mount here")
    if mounted.returncode:
        pytest.skip("no small disk can be made here")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
