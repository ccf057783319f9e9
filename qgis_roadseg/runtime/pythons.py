"""Pythons to build a runtime upon: QGIS' own and those that are installed, one after another.

Scope: interpreters, their places and versions. Independent of packages and of how an environment is made.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Optional

from ...training_core.errors import Cancelled, RuntimeEnvironmentError
from .process import run_to_end
from .runtime import REQUIREMENT_SETS, RequirementSet

ANSWER_S = 20  # within which a Python says its version; on a cold disk it may take seconds
_PRINT_VERSION = (
    "import platform, struct, sys; print(*sys.version_info[:2], struct.calcsize('P') * 8, platform.machine() or '?')"
)
APPLES = Path("/usr/bin/python3")
SYSCTL = "/usr/sbin/sysctl"
# Where Homebrew and the installers of python.org put them on macOS; QGIS is not started with a shell's PATH there.
MAC_FOLDERS = ("/opt/homebrew/bin", "/usr/local/bin", "/Library/Frameworks/Python.framework/Versions/3.{minor}/bin")
# A program for Intel processors starts others for these, too, where they are for both.
ROSETTA = "it is a program for Intel processors (x86-64), under Rosetta, for which PyTorch is no longer built"
INTEL_MAC = "this Mac has an Intel processor, for which PyTorch is no longer built"
_CONDAS = ("~/miniforge3", "~/miniconda3", "~/anaconda3", "/opt/conda")
_WINDOWS_PATH = re.compile(r"[A-Za-z]:\\.*\.exe")
# Words of an interpreter's last output, and what they mean.
_REASONS = {
    "ensurepip": "it lacks the module ensurepip (on Debian and Ubuntu install the package python3-venv)",
    "encodings": "it cannot find its own standard library",
    "No module named venv": "it lacks the module venv",
    "pyenv help global": "it is a pyenv shim for a version that is not in use (pyenv global)",
}


class NoPython(RuntimeEnvironmentError):
    """None of the Pythons can be taken for a requirement set."""


def fitting(requirements: RequirementSet, base: Optional[Path], refuse: Callable[[Path, str], None]) -> Iterator[Path]:
    """Yield the Pythons of a version that the packages exist for: of the given one, or of all on this machine.

    Each of the others that is met is handed to `refuse`, with the reason.
    """
    for python in installed(requirements) if base is None else [base]:
        reason = _refusal(python, requirements)
        if reason:
            refuse(python, reason)
        else:
            yield python


def fits_any(requirements: RequirementSet, base: Optional[Path]) -> bool:
    """Return whether there is a Python of a version that the packages exist for."""
    return next(fitting(requirements, base, lambda *_: None), None) is not None


def installed(requirements: RequirementSet) -> Iterator[Path]:
    """Yield the Pythons on this machine, each once: QGIS' own, PATH, launcher, Homebrew, Framework, uv's, conda's."""
    minors = range(requirements.pythons[1][1], requirements.pythons[0][1] - 1, -1)
    places = (_of_qgis, _on_path, _of_launcher, _on_mac, _of_uv, _of_conda)
    seen = set()
    for python in chain.from_iterable(find(minors) for find in places):
        real = os.path.realpath(python)
        if real not in seen and python.is_file():
            seen.add(real)
            yield python


def listed(listing: str) -> list[Path]:
    """Return the Pythons in what the launcher of Windows lists."""
    return [Path(each) for each in _WINDOWS_PATH.findall(listing)]


def version_of(python: Path) -> tuple[int, int, int, str]:
    """Return the Python's major and minor version, the bits of its addresses, and the processor that it runs on.

    Raises RuntimeEnvironmentError if it does not run; the message ends in its output.
    """
    end = time.monotonic() + ANSWER_S
    try:
        said = run_to_end(python, ["-I", "-B", "-c", _PRINT_VERSION], is_cancelled=lambda: time.monotonic() > end)
        major, minor, bits, machine = said.split()
        return int(major), int(minor), int(bits), machine
    except Cancelled as error:
        raise RuntimeEnvironmentError("it does not answer") from error
    except ValueError as error:
        raise RuntimeEnvironmentError("it is not a Python interpreter") from error


def reason_of(error: RuntimeEnvironmentError) -> str:
    """Return in one line why an interpreter has failed."""
    last_line = error.message.strip().splitlines()[-1]
    return next((reason for word, reason in _REASONS.items() if word in error.message), last_line)


def none_found(requirements: RequirementSet, base: Optional[Path], refused: dict[Path, str]) -> NoPython:
    """Return the error that says why none of the Pythons can be taken."""
    others = [each.name for each in REQUIREMENT_SETS.values() if not each.index and fits_any(each, base)]
    if requirements.name in others:  # not the version is wrong
        others = []
    if INTEL_MAC in refused.values():
        return NoPython(
            "RoadSeg cannot compute on this Mac: it has an Intel processor. The last PyTorch for these is 2.2, and "
            "RoadSeg needs 2.9 to map and to learn, with the engine openvino, too. Nothing has been downloaded.",
            "Run RoadSeg on a Mac with Apple silicon, or on Windows or Linux, and open the results here.",
        )
    if ROSETTA in refused.values():
        newest = "{}.{}".format(*requirements.pythons[1])
        return NoPython(
            f"This Mac has Apple silicon, but no Python {versions(requirements)} for it was found. Nothing has been "
            f"downloaded. Tried:{_listed(refused)}\n",
            f"Install QGIS for Apple silicon (arm64), as from conda-forge. Or keep this QGIS, and install Homebrew's "
            f"Python for Apple silicon (brew install python@{newest}): RoadSeg finds it in /opt/homebrew.",
        )
    remedy = f" Or choose {' or '.join(others)} under Packages." if others else ""
    if base is not None:
        return NoPython(
            f"{base} cannot be used: {refused[base]}. The packages of {requirements.name} need Python "
            f"{versions(requirements)}.",
            f"Choose another one under Base Python, or leave it empty.{remedy}",
        )
    return NoPython(
        f"No Python {versions(requirements)} was found for building the runtime. The packages of {requirements.name} "
        f"need it. Tried:{_listed(refused)}\n",
        f"Install one, or choose it under Base Python.{remedy}",
    )


def _listed(refused: dict[Path, str]) -> str:
    return "".join(f"\n{python}: {reason}" for python, reason in refused.items())


def versions(requirements: RequirementSet) -> str:
    """Return the range of Pythons that the packages exist for, as text."""
    return " to ".join(f"{major}.{minor}" for major, minor in requirements.pythons)


def _refusal(python: Path, requirements: RequirementSet) -> str:
    if sys.platform == "darwin" and python == APPLES:
        return "it is Apple's own, which is too old, or opens a dialog if Apple's developer tools are not installed"
    try:
        *version, bits, machine = version_of(python)
    except RuntimeEnvironmentError as error:
        return reason_of(error)
    if sys.platform == "darwin" and machine != "arm64":
        return ROSETTA if _said(SYSCTL, "-n", "hw.optional.arm64").strip() == "1" else INTEL_MAC
    oldest, newest = requirements.pythons
    if not oldest <= tuple(version) <= newest:
        return f"it is Python {'.'.join(map(str, version))}, not {versions(requirements)}"
    return "" if bits == 64 else f"it is a program of {bits} bits, for which there are no packages"


def _of_qgis(minors: range) -> list[Path]:
    return [Path(sys.base_prefix, "python.exe" if os.name == "nt" else "bin/python3")]


def _on_path(minors: range) -> list[Path]:
    names = ["python3", *(f"python3.{minor}" for minor in minors), "python"]
    return [Path(found) for found in map(shutil.which, names) if found]


def _of_launcher(minors: range) -> list[Path]:
    return listed(_said("py", "-0p"))


def _on_mac(minors: range) -> list[Path]:
    if sys.platform != "darwin":
        return []
    return [Path(folder.format(minor=minor), f"python3.{minor}") for minor in minors for folder in MAC_FOLDERS]


def _of_uv(minors: range) -> list[Path]:
    folder = _said("uv", "python", "dir").strip()
    name = "python.exe" if os.name == "nt" else "bin/python3"
    return [each for minor in minors for each in Path(folder).glob(f"cpython-3.{minor}.*/{name}") if folder]


def _of_conda(minors: range) -> list[Path]:
    name = "python.exe" if os.name == "nt" else "bin/python3"
    conda = os.environ.get("CONDA_EXE")
    roots = [*([Path(conda).parent.parent] if conda else []), *(Path(each).expanduser() for each in _CONDAS)]
    return [root / name for root in roots]


def _said(program: str, *arguments: str) -> str:
    """Return what a program says, nothing where there is none or it fails."""
    path = shutil.which(program)
    try:
        return run_to_end(path, arguments) if path else ""
    except RuntimeEnvironmentError:
        return ""
