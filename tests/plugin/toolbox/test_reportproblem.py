"""Report a problem through Processing: what it holds, and what it must not."""

import os
import stat
import sys

import pytest
from qgis.core import QgsSettings
from roadseg.qgis_roadseg.runtime.run_log import RunLog, log_file

from ..support.acting import failure, run

pytestmark = pytest.mark.usefixtures("provider", "qgis_new_project", "no_runtime", "no_settings")


@pytest.fixture
def reported(tmp_path):
    """Return a function that makes a report, and returns its text."""

    def make(**values):
        path = tmp_path / "report.txt"
        assert run("reportproblem", {"OUTPUT": str(path), **values})["OUTPUT"] == str(path)
        return path.read_text(encoding="utf-8")

    return make


@pytest.fixture
def named(tmp_path, monkeypatch):
    """Return a function that names a Python for the runtime: a program of these lines."""

    def make(lines):
        python = tmp_path / "python"
        python.write_text(f"#!/bin/sh\n{lines}\n", encoding="utf-8")
        python.chmod(python.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("ROADSEG_PYTHON", str(python))

    return make


def test_it_holds_what_is_asked_first(reported, monkeypatch):
    QgsSettings().setValue("roadseg/threads", 1)
    monkeypatch.setenv("ONEDNN_MAX_CPU_ISA", "AVX2")
    text = reported()
    for part in ("RoadSeg: 0.", "QGIS: 3.", "Qt: ", f"Python: {sys.version_info.major}.", "Memory: ", "threads: 1"):
        assert part in text
    assert "ONEDNN_MAX_CPU_ISA=AVX2" in text
    assert "Nothing has been run yet." in text


def test_a_missing_runtime_is_told_and_so_is_one_that_is_named_in_vain(reported, monkeypatch, tmp_path):
    assert "RoadSeg has no runtime yet." in reported()
    monkeypatch.setenv("ROADSEG_PYTHON", str(tmp_path / "none"))
    assert "does not exist" in reported()


def test_each_package_that_is_broken_is_told_with_those_that_work(reported, named):
    named(f'exec "{sys.executable}" "$@"')
    text = reported()
    assert "json" not in text and "numpy " in text
    assert "torch cannot be imported: ModuleNotFoundError" in text


def test_a_python_that_crashes_is_told_and_what_it_said_before(reported, named):
    named("echo torch 2.8.0; echo illegal instruction >&2; kill -ILL $$")
    text = reported()
    assert "torch 2.8.0\nillegal instruction\n" in text and "was killed by signal 4" in text


def test_neither_passwords_nor_tokens_nor_paths_are_in_it(reported, tmp_path, monkeypatch):
    monkeypatch.setenv("GDAL_HTTP_PROXY", "http://jo:S3CRET@proxy.example.org:3128")
    QgsSettings().setValue("roadseg/models_folder", "/mnt/Acme Corp/models")
    source = "https://maps.example.org/v1/T0KEN/{z}/{x}/{y}.png?key=T0KEN"
    with RunLog(f"roadseg:segment {{'INPUT': '/mnt/Acme Corp/Site 7.tif', 'MODEL': '{source}'}}") as log:
        log.write("PG:host=db password=S3CRET: /mnt/Acme Corp/Site 7.tif cannot be read: Site 7.tif")
    before = log_file().read_bytes()
    text = reported()
    assert not [secret for secret in ("S3CRET", "T0KEN", "Acme", "Site 7", str(tmp_path)) if secret in text]
    assert "{'INPUT': '<path " in text and ">.tif cannot be read: <path " in text
    assert "https://maps.example.org/…" in text
    with_paths = reported(PATHS=True)
    assert "/mnt/Acme Corp/Site 7.tif" in with_paths and "/mnt/Acme Corp/models" in with_paths
    assert not [secret for secret in ("S3CRET", "T0KEN") if secret in with_paths]
    assert log_file().read_bytes() == before  # a report is no run


def test_a_report_that_cannot_be_written_is_told_and_leaves_the_old_one(tmp_path, monkeypatch, reported):
    text = reported()
    assert "cannot be written" in failure("reportproblem", {"OUTPUT": str(tmp_path / "report.txt" / "new.txt")})
    assert (tmp_path / "report.txt").read_text(encoding="utf-8") == text
    assert sorted(os.listdir(tmp_path)) == ["report.txt"]
