"""The runtime, the Python environment that computes: its location, requirement sets, and a check of its packages.

Scope: paths, requirement sets, modules. Independent of how it is built.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

from ...training_core.errors import RuntimeEnvironmentError
from ..paths import RESOURCES, data_folder
from ..settings import load
from ..translation import tr
from .process import run_to_end

VARIABLE = "ROADSEG_PYTHON"
CPUINFO = Path("/proc/cpuinfo")
REMEDY = (
    "Run Set up runtime in the toolbox (group Runtime), or choose a Python with all packages in RoadSeg's settings "
    f"or in the variable {VARIABLE}."
)
WINDOWS_REMEDY = (
    "A Windows library that PyTorch needs is missing or too old. Install the newest Microsoft Visual C++ "
    "Redistributable for x64 (https://aka.ms/vs/17/release/vc_redist.x64.exe), restart Windows, and run Set up "
    "runtime again."
)
# Library not found, function not found in it, and its initialization failed; the rest of the text is in any language.
_LIBRARY_OF_WINDOWS = re.compile(r"\[WinError (126|127|1114)\]|DLL load failed")

_PRINT_VERSIONS = """
import importlib, json, platform, sys
sys.modules["openvino_telemetry"] = None  # OpenVINO's telemetry
versions = {"python": platform.python_version()}
for name in sys.argv[1:]:
    versions[name] = str(getattr(importlib.import_module(name), "__version__", ""))
print(json.dumps(versions))
"""


@dataclass(frozen=True)
class Amount:
    """How much a runtime is.

    Parameters
    ----------
    download_gb, disk_gb : float
        In the course of the installation, and after it.
    may_be_less : bool
        Whether the packages may turn out to be those for CPUs.
    """

    download_gb: float
    disk_gb: float
    may_be_less: bool = False

    def __add__(self, other: "Amount") -> "Amount":
        sums = self.download_gb + other.download_gb, self.disk_gb + other.disk_gb
        return Amount(round(sums[0], 2), round(sums[1], 2), self.may_be_less)


# Of native on Linux with Python 3.12, where it is most; see the table in the guide. On other systems PyTorch's default
# builds are for CPUs too.
CPU = Amount(0.4, 1.5)
CUDA = Amount(3.2, 8.0)


@dataclass(frozen=True)
class RequirementSet:
    """Packages of a runtime, or of some jobs that a runtime can be extended for.

    Parameters
    ----------
    name : str
        Its file is resources/runtime/<name>.txt.
    pythons : tuple
        The oldest and the newest Python for which all packages exist, as (major, minor).
    amount : Amount
        How much comes.
    index : str
        The only index that has the builds of PyTorch that it is for; without one, any builds for CPUs will do.
    """

    name: str
    pythons: tuple[tuple[int, int], tuple[int, int]] = ((3, 10), (3, 14))
    amount: Amount = CPU
    index: str = ""

    @property
    def file(self) -> Path:
        """The file that pip reads."""
        return RESOURCES / "runtime" / f"{self.name}.txt"

    @property
    def modules(self) -> tuple[str, ...]:
        """The modules by which its packages are imported: named as the packages are."""
        return tuple(re.match(r"[\w-]+", line)[0].replace("-", "_") for line in _lines(self.file))

    @property
    def pytorch(self) -> list[str]:
        """The requirements torch and torchvision, which must come from one index."""
        return [line for line in _lines(self.file) if line.startswith("torch")]

    @property
    def folder(self) -> Path:
        """The managed environment's folder, whose name holds a hash of the requirements."""
        requirements = self.file.read_bytes() + self.file.with_name("common.txt").read_bytes()
        return managed_folder() / f"{self.name}-{hashlib.sha256(requirements).hexdigest()[:12]}"


def _lines(file: Path) -> Iterator[str]:
    """Yield the requirements in a file, and in those that it includes."""
    for line in file.read_text(encoding="utf-8").splitlines():
        if line.startswith("-r "):
            yield from _lines(file.with_name(line[len("-r ") :]))
        elif re.match(r"\w", line):
            yield line


_PYTORCH = "https://download.pytorch.org/whl"
# Those with an index of their own are for GPUs, and only for those who choose them.
REQUIREMENT_SETS = {
    each.name: each
    for each in (
        RequirementSet("ipex", ((3, 10), (3, 13)), Amount(0.5, 1.6)),
        RequirementSet("native"),
        RequirementSet("cuda", amount=CUDA, index=f"{_PYTORCH}/cu130"),
        RequirementSet("xpu", amount=CUDA, index=f"{_PYTORCH}/xpu"),
    )
}
# In the same environment as one of these, when a job asks for it; all is for a machine without internet.
ADDED_SETS = {
    each.name: each
    for each in (
        RequirementSet("onnx", amount=Amount(0.01, 0.04)),
        RequirementSet("openvino", amount=Amount(0.1, 0.3)),
        RequirementSet("quantize", amount=Amount(0.1, 0.4)),
        RequirementSet("osm", amount=Amount(0.01, 0.02)),
        RequirementSet("fleet", amount=Amount(0.1, 0.3)),
        RequirementSet("all", amount=Amount(0.2, 0.7)),
    )
}


def preferred_sets() -> list[RequirementSet]:
    """Return the requirement sets that suit this machine, the best first; the Python is not looked at."""
    names = ("ipex", "native") if is_linux_x86_64() and _profits_from_extension() else ("native",)
    return [REQUIREMENT_SETS[name] for name in names]


def _profits_from_extension() -> bool:
    """Return whether the processor is one that Intel made its extension for: its own, with AVX-512 or AMX."""
    try:
        processor = CPUINFO.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return "GenuineIntel" in processor and any(feature in processor for feature in ("avx512f", "amx_tile"))


def is_linux_x86_64() -> bool:
    """Return whether this is Linux on a 64-bit processor of Intel's or AMD's kind."""
    return sys.platform == "linux" and platform.machine() == "x86_64"


def managed_folder() -> Path:
    """Return the folder of all managed environments."""
    return data_folder() / "runtime"


def interpreter(environment: Path) -> Path:
    """Return the path of a virtual environment's Python."""
    return environment / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def named() -> Optional[Path]:
    """Return the Python that the user has named: by the variable ROADSEG_PYTHON, else in the settings; else None."""
    value = os.environ.get(VARIABLE) or load().python
    return Path(value) if value else None


def managed_set() -> Optional[RequirementSet]:
    """Return the requirement set of the managed environment; of several, the one set up last; None without one."""
    built = [each for each in REQUIREMENT_SETS.values() if interpreter(each.folder).is_file()]
    return max(built, key=lambda each: each.folder.stat().st_mtime) if built else None


def find() -> Path:
    """Return the runtime's Python; raise RuntimeEnvironmentError, which says how to get one, if there is none."""
    python = named()
    if python is not None and not python.is_file():
        raise RuntimeEnvironmentError(f"The Python chosen for RoadSeg, {python}, does not exist.", REMEDY)
    requirements = None if python else managed_set()
    if python is None and requirements is None:
        raise RuntimeEnvironmentError("RoadSeg has no runtime yet.", REMEDY)
    return python or interpreter(requirements.folder)


@dataclass(frozen=True)
class Status:
    """State of the runtime.

    Parameters
    ----------
    is_ready : bool
        Whether there is one; its packages are not checked.
    text : str
        For the user, short and without a path.
    python : Path, optional
        Its Python, or the one that is named but missing.
    """

    is_ready: bool
    text: str
    python: Optional[Path] = None


def status() -> Status:
    """Return the state of the runtime, without importing its packages."""
    python = named()
    if python is not None:
        named_in = VARIABLE if os.environ.get(VARIABLE) else tr("settings")
        text = tr("ready ({packages})") if python.is_file() else tr("missing ({packages})")
        return Status(python.is_file(), text.format(packages=named_in), python)
    requirements = managed_set()
    if requirements is not None:
        text = tr("ready ({packages})").format(packages=requirements.name)
        return Status(True, text, interpreter(requirements.folder))
    is_outdated = any(managed_folder().glob("*-*"))
    return Status(False, tr("of another version of RoadSeg") if is_outdated else tr("missing"))


def check(python: Path, modules: Iterable[str], is_cancelled: Callable[[], bool] = lambda: False) -> dict[str, str]:
    """Import modules in a process of a Python, and return the versions by name, that of Python first.

    Raises RuntimeEnvironmentError if the Python does not start, or cannot import one of them.
    """
    arguments = ["-I", "-B", "-c", _PRINT_VERSIONS, *modules]
    try:
        last_line = run_to_end(python, arguments, is_cancelled=is_cancelled).splitlines()[-1]
        return json.loads(last_line)
    except (RuntimeEnvironmentError, IndexError, ValueError) as error:
        remedy = WINDOWS_REMEDY if _LIBRARY_OF_WINDOWS.search(str(error)) else REMEDY
        raise RuntimeEnvironmentError(f"{python} does not work as RoadSeg's runtime: {error}", remedy) from error
