"""A Python to build the runtime upon, of interpreters that fail in the ways that they do in the field."""

import os
import sys
from pathlib import Path

import pytest
from roadseg.qgis_roadseg.runtime import build, pythons, runtime
from roadseg.qgis_roadseg.runtime.sources import Sources
from roadseg.training_core.errors import RuntimeEnvironmentError

from ..support.acting import Ear
from ..support.wheels import make_wheel

BASE = Path(sys.base_prefix, "bin", "python3")
NO_ENCODINGS = """echo "Fatal Python error: init_fs_encoding: failed to get the Python codec
ModuleNotFoundError: No module named 'encodings'

Current thread 0x00007f (most recent call first):
<no Python frame>" >&2; exit 1"""
# As on Debian without python3-venv: the environment is half made.
NO_ENSUREPIP = f"""for last; do :; done
case "$*" in *venv*) mkdir "$last/half"
echo "The virtual environment was not created successfully because ensurepip is not
available.

Failing command: $last/bin/python3"; exit 1;; esac
exec {BASE} "$@" """
PYENV = """echo "pyenv: python3.9: command not found

Note: See 'pyenv help global' for tips on allowing multiple
      Python versions to be found at the same time." >&2; exit 127"""
NOT_INSTALLED = 'echo "Python was not found; run without arguments to install from the Microsoft Store"; exit 9'


@pytest.fixture
def machine(no_runtime, tmp_path, monkeypatch):
    """Return a function that puts an interpreter, a script for the shell, at a path; no other is on the machine."""

    def put(path, script):
        program = tmp_path / path
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        return program

    for folder in ("bin", "home"):
        (tmp_path / folder).mkdir()
    for tool in ("mkdir", "sleep"):
        (tmp_path / "bin" / tool).symlink_to(f"/usr/bin/{tool}")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("CONDA_EXE", raising=False)
    monkeypatch.setattr(sys, "base_prefix", str(tmp_path / "qgis"))
    return put


def test_the_first_python_that_works_is_taken_and_each_refusal_told(machine, tiny, tmp_path, monkeypatch):
    monkeypatch.setattr(pythons, "ANSWER_S", 2.0)
    tiny = runtime.RequirementSet("tiny", ((3, 8), (3, 14)))
    refused = {
        machine("qgis/bin/python3", NO_ENCODINGS): "it cannot find its own standard library",
        machine("bin/python3", NO_ENSUREPIP): "it lacks the module ensurepip",
        machine("bin/python3.14", "exec sleep 60"): "it does not answer",
        machine("bin/python3.13", "echo 3 13 32 x86_64"): "it is a program of 32 bits",
        machine("bin/python3.12", "echo 3 6 64 x86_64"): "it is Python 3.6, not 3.8 to 3.14",
        machine("bin/python3.11", NOT_INSTALLED): "Python was not found",
        machine("bin/python3.10", "echo hello"): "it is not a Python interpreter",
        machine("bin/python3.9", PYENV): "it is a pyenv shim for a version that is not in use (pyenv global)",
        machine("bin/python3.8", "kill -9 $$"): "was killed by signal 9",
    }
    works = machine("bin/python", f'exec {BASE} "$@"')
    ear = Ear()
    build.build(tiny, Sources(wheels=make_wheel(tmp_path / "wheels")), None, ear)
    assert f"Creating an environment with {works}" in ear.text
    assert not (tiny.folder / "half").exists()
    for python, reason in refused.items():
        assert f"Skipping {python}: " in ear.text
        assert reason in ear.text.partition(f"Skipping {python}: ")[2].partition("\n")[0]

    works.unlink()
    with pytest.raises(RuntimeEnvironmentError, match=r"No Python 3.8 to 3.14 was found for building") as why:
        build.build(tiny, Sources(), None, Ear())
    for python, reason in refused.items():
        assert f"\n{python}: " in why.value.message and reason in why.value.message
    assert runtime.find().is_file()  # the one built before is kept


def test_the_python_of_apple_is_never_started_since_it_may_open_a_dialog(machine, tmp_path, monkeypatch):
    apples = machine("bin/python3", f"touch {tmp_path}/dialog; echo 3 12 64 arm64")
    monkeypatch.setattr(pythons, "APPLES", apples)
    monkeypatch.setattr(sys, "platform", "darwin")
    refused, requirements = {}, runtime.RequirementSet("any", ((3, 12), (3, 12)))
    monkeypatch.setattr(pythons, "MAC_FOLDERS", ())
    assert list(pythons.fitting(requirements, None, refused.__setitem__)) == []
    assert "opens a dialog" in refused[apples] and not (tmp_path / "dialog").exists()


INTEL_PYTHON = "echo 3 13 64 x86_64"


@pytest.fixture
def mac(machine, tiny, monkeypatch):
    """Return a function that says what sets up the runtime on a Mac: the system's answer for its processor is given."""

    def refusal(answer):
        monkeypatch.setattr(pythons, "SYSCTL", str(machine("sysctl", answer)))
        ear = Ear()
        with pytest.raises(RuntimeEnvironmentError) as why:
            build.build(runtime.RequirementSet("tiny", ((3, 10), (3, 14))), Sources(), None, ear)
        assert "Download" not in ear.text
        return str(why.value)

    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(pythons, "MAC_FOLDERS", ())
    return refusal


def test_on_apple_silicon_pythons_under_rosetta_are_passed_over(machine, mac, tiny, monkeypatch):
    qgis = machine("qgis/bin/python3", INTEL_PYTHON)
    why = mac("echo 1")
    assert "no Python 3.10 to 3.14 for it" in why and f"{qgis}: it is a program for Intel processors" in why
    assert "QGIS for Apple silicon (arm64)" in why and "brew install python@3.14" in why and "/opt/homebrew" in why
    brew = machine("brew/python3.13", "echo 3 13 64 arm64")
    monkeypatch.setattr(pythons, "MAC_FOLDERS", (str(brew.parent),))
    refused = {}
    assert list(pythons.fitting(tiny, None, refused.__setitem__)) == [brew] and list(refused) == [qgis]
    assert list(pythons.fitting(tiny, qgis, refused.__setitem__)) == []


def test_a_mac_with_an_intel_processor_is_told_so_before_anything_is_downloaded(machine, mac):
    machine("qgis/bin/python3", INTEL_PYTHON)
    why = mac("echo unknown oid >&2; exit 1")
    assert "last PyTorch for these is 2.2" in why and "Apple silicon, or on Windows or Linux" in why


def test_pythons_are_looked_for_where_installers_put_them(machine, tmp_path, monkeypatch):
    requirements = runtime.RequirementSet("any", ((3, 12), (3, 13)))
    assert list(pythons.installed(requirements)) == []
    expected = [
        machine("qgis/bin/python3", ""),
        machine("bin/python3.12", ""),
        machine("brew/python3.13", ""),
        machine("brew/python3.12", ""),
        machine("Framework/Versions/3.12/bin/python3.12", ""),
        machine("uv/cpython-3.13.0-linux-x86_64-gnu/bin/python3", ""),
        machine("conda/bin/python3", ""),
        machine("home/miniforge3/bin/python3", ""),
    ]
    machine("brew/python3.11", "")  # not needed
    (tmp_path / "bin" / "python3").symlink_to(expected[1])  # the same once more
    monkeypatch.setattr(sys, "platform", "darwin")
    places = (str(tmp_path / "brew"), str(tmp_path / "Framework/Versions/3.{minor}/bin"))
    monkeypatch.setattr(pythons, "MAC_FOLDERS", places)
    machine("bin/uv", f'[ "$*" = "python dir" ] && echo {tmp_path}/uv')
    monkeypatch.setenv("CONDA_EXE", str(machine("conda/bin/conda", "")))
    found = list(pythons.installed(requirements))
    assert list(map(os.path.realpath, found)) == list(map(str, expected))
    monkeypatch.setattr(sys, "platform", "linux")
    assert [each for each in pythons.installed(requirements) if "brew" in str(each)] == []


def test_pythons_of_the_launcher_of_windows():
    listing = (
        " -V:3.13 *        C:\\Program Files\\Python313\\python.exe\n"
        " -V:3.11-32       D:\\py\\python.exe\n"
        " -V:Astral/CPython3.12.4   <not found>\n"
    )
    assert pythons.listed(listing) == [Path("C:\\Program Files\\Python313\\python.exe"), Path("D:\\py\\python.exe")]
