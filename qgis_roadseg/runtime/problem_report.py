"""The report of a problem: versions, machine, runtime, settings, and the log of the last run.

Scope: what can be found out in any state of the installation. Independent of where it is written.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from qgis.core import Qgis, QgsApplication
from qgis.PyQt.QtCore import QT_VERSION_STR, QSysInfo

from ...training_core.errors import Cancelled, RuntimeEnvironmentError
from .. import settings
from ..paths import ROOT, data_folder, metadata
from . import runtime
from .process import run_to_end
from .redaction import shareable
from .run_log import log_file

# Variables that change how RoadSeg computes.
_VARIABLES = ("ROADSEG_", "ONEDNN_", "DNNL_", "ATEN_", "OMP_", "KMP_", "MKL_", "GDAL_", "PROJ_", "CUDA_VISIBLE_DEVICES")
_INSTRUCTION_SET = re.compile(r"(sse4|avx|amx|fma|f16c|bf16|i8mm|asimd|sve)")

# Goes on after a package that cannot be imported; of one that ends the process, the name is the last line.
_PROBE = """
import importlib, sys
sys.modules["openvino_telemetry"] = None  # OpenVINO's telemetry
sys.path.insert(0, sys.argv[1])
print("Python", sys.version.replace(chr(10), " "), flush=True)
for name in sys.argv[2:]:
    try:
        print(name, flush=True, end=" ")
        print(getattr(importlib.import_module(name), "__version__", "without a version"), flush=True)
    except BaseException as error:
        print("cannot be imported:", repr(error), flush=True)
import psutil
from training_core.profiling import machine_facts
print("memory:", psutil.virtual_memory(), flush=True)
for name, value in machine_facts.facts().items():
    print(f"{name}: {value}", flush=True)
"""


def problem_report(with_paths: bool = False, is_cancelled: Callable[[], bool] = lambda: False) -> str:
    """Return the report as text, without passwords and, unless `with_paths`, without paths of the user's data.

    Raises Cancelled if the user stopped it.
    """
    python = runtime.status().python
    sections = {
        "Versions": _found(_versions),
        "Machine": _found(_machine),
        "Runtime": _found(lambda: _runtime(is_cancelled)),
        "Settings": _found(_settings),
        "Last run": _found(_last_run),
    }
    now = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime())
    head = (
        f"RoadSeg: report of a problem, {now}\nIt contains names of layers and fields. Read it before you share it.\n"
    )
    text = head + "".join(f"\n== {title} ==\n{body.rstrip()}\n" for title, body in sections.items())
    kept = [ROOT, data_folder(), Path(QgsApplication.prefixPath()), Path(sys.prefix)]
    if python is not None and (python.parent.parent / "pyvenv.cfg").is_file():
        kept.append(python.parent.parent)
    return shareable(text, [folder for folder in kept if len(folder.parts) > 1], with_paths)


def _found(section: Callable[[], str]) -> str:
    """Return the text of a section, or why there is none: what is broken must not keep the rest from being told."""
    try:
        return section()
    except Cancelled:
        raise
    except Exception:
        return traceback.format_exc()


def _lines(**values: object) -> str:
    return "\n".join(f"{name}: {value}" for name, value in values.items())


def _versions() -> str:
    return _lines(
        RoadSeg=metadata("version"),
        QGIS=f"{Qgis.version()} ({Qgis.devVersion()}), language {QgsApplication.locale()}",
        Qt=QT_VERSION_STR,
        Python=sys.version.replace("\n", " "),
        System=f"{QSysInfo.prettyProductName()}, {platform.platform()}",
    )


def _machine() -> str:
    try:
        processor = runtime.CPUINFO.read_text(encoding="utf-8", errors="replace")
    except OSError:
        processor = ""
    model = re.search(r"^model name\s*: (.*)", processor, re.MULTILINE)
    flags = re.search(r"^(?:flags|Features)\s*: (.*)", processor, re.MULTILINE)
    sets = sorted(filter(_INSTRUCTION_SET.match, flags[1].split())) if flags else ["see Runtime"]
    return _lines(
        Processor=f"{model[1] if model else platform.processor() or 'unknown'}, {platform.machine()}",
        Cores=os.cpu_count(),
        **{"Instruction sets": " ".join(sets), "Memory": _memory()},
        **{
            "Free for the runtime": _free(data_folder()),
            "Free for temporary files": _free(Path(tempfile.gettempdir())),
        },
    )


def _memory() -> str:
    try:
        return f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 1e9:.1f} GB"
    except (AttributeError, ValueError, OSError):  # Windows
        return "see Runtime"


def _free(folder: Path) -> str:
    try:
        existing = next(each for each in (folder, *folder.parents) if each.is_dir())
        return f"{shutil.disk_usage(existing).free / 1e9:.1f} GB"
    except (OSError, StopIteration) as error:
        return str(error)


def _runtime(is_cancelled: Callable[[], bool]) -> str:
    """Return what the runtime's Python says of its packages and of the machine, or why it says nothing."""
    status = runtime.status()
    lines = [f"State: {status.text}", f"Python: {status.python}"]
    managed = (None if runtime.named() else runtime.managed_set()) or runtime.REQUIREMENT_SETS["native"]
    modules = managed.modules + runtime.ADDED_SETS["all"].modules
    try:
        python = runtime.find()
        arguments = ["-s", "-B", "-W", "ignore", "-X", "utf8", "-c", _PROBE, str(ROOT), *modules]
        run_to_end(python, arguments, lines.append, is_cancelled)
    except RuntimeEnvironmentError as error:
        lines.append(str(error).partition(":\n")[0])  # the lines are there already
    return "\n".join(lines)


def _settings() -> str:
    problems: list[str] = []
    values = settings.load(problems.append)
    lines = [_lines(**asdict(values)), *problems, *values.problems()]
    lines += [f"{name}={value}" for name, value in sorted(os.environ.items()) if name.startswith(_VARIABLES)]
    return "\n".join(lines)


def _last_run() -> str:
    try:
        return log_file().read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return "Nothing has been run yet."
