"""Where packages come from: the person's own index, else PyTorch's index of CPU builds; and how much comes.

Scope: indexes, configuration of pip and uv, megabytes. Independent of what is installed.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from qgis.core import QgsBlockingNetworkRequest, QgsProcessingFeedback
from qgis.PyQt.QtCore import QUrl
from qgis.PyQt.QtNetwork import QNetworkRequest

from ...training_core.errors import RuntimeEnvironmentError
from .process import run_to_end
from .runtime import CPU, CUDA, Amount, RequirementSet, is_linux_x86_64

CPU_INDEX = "https://download.pytorch.org/whl/cpu"
PROBE_MS = 5000
_INDEX_OPTIONS = {"index-url", "extra-index-url", "find-links", "no-index"}
_PIP_VARIABLES = ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_NO_INDEX", "PIP_CONFIG_FILE")
_UV_VARIABLES = (
    "UV_INDEX", "UV_INDEX_URL", "UV_DEFAULT_INDEX", "UV_EXTRA_INDEX_URL", "UV_FIND_LINKS", "UV_NO_INDEX",
    "UV_TORCH_BACKEND", "UV_CONFIG_FILE", "UV_OFFLINE",
)  # fmt: skip
_DOWNLOAD = re.compile(r"(?:Downloading|Using cached) (\S+) \(([\d.]+) ?([kMG])i?B\)")
_MEGABYTES = {"k": 1e-3, "M": 1.0, "G": 1e3}


@dataclass(frozen=True)
class Sources:
    """Package indexes or wheels to install from; empty fields leave it to the configuration of pip or uv.

    Parameters
    ----------
    index_url : str
        A package index instead of the configured one.
    extra_index_url : str
        An additional package index, such as one of CPU-only builds.
    wheels : str
        Path of a folder of wheels to use instead of any index.
    """

    index_url: str = ""
    extra_index_url: str = ""
    wheels: str = ""

    def arguments(self) -> list[str]:
        """Return the arguments that pip and uv share."""
        arguments = ["--no-index", "--find-links", self.wheels] if self.wheels else []
        if self.index_url:
            arguments += ["--index-url", self.index_url]
        if self.extra_index_url:
            arguments += ["--extra-index-url", self.extra_index_url]
        return arguments


def choose(
    requirements: RequirementSet, sources: Sources, python: Path, feedback: QgsProcessingFeedback
) -> tuple[str, Amount]:
    """Return the index to take PyTorch from, empty for the configured sources; and how much will come.

    Without an index of the requirements' own, that of CPU builds is tried where the default one has builds for CUDA. In
    either case the person must have named nothing. Raises RuntimeEnvironmentError if their own cannot be reached.
    """
    if sources.wheels:
        has_cuda = any(Path(sources.wheels).glob("nvidia_*"))
        return "", replace(CUDA if has_cuda else requirements.amount, download_gb=0)
    index = requirements.index or (CPU_INDEX if is_linux_x86_64() else "")
    if not index:
        return "", requirements.amount
    if sources.arguments() or pip_has_index(python) or _uv_has_index():
        return "", requirements.amount if requirements.index else replace(CUDA, may_be_less=True)
    if answers(index, feedback):
        return index, requirements.amount
    whose = requirements.name if requirements.index else "CPUs"
    lost = f"{index}, the index of PyTorch for {whose}, cannot be reached."
    if requirements.index:
        raise RuntimeEnvironmentError(lost, "Try again, choose other Packages, or give the address of a mirror.")
    feedback.pushWarning(f"{lost} {told_of_cuda()}")
    return "", CUDA


def told_of_cuda() -> str:
    """Return what it means to take PyTorch from the default index."""
    return (
        "PyTorch comes from the default index, with CUDA libraries that RoadSeg does not use. This downloads "
        f"{CUDA.download_gb} GB instead of {CPU.download_gb} GB."
    )


def pip_has_index(python: Path) -> bool:
    """Return whether pip is configured, by files or variables, to take packages from elsewhere than its default."""
    try:
        options = run_to_end(python, ["-I", "-B", "-m", "pip", "config", "list"]).splitlines()
    except RuntimeEnvironmentError:  # it has no pip
        return any(os.environ.get(name) for name in _PIP_VARIABLES)
    return any(line.partition("=")[0].rpartition(".")[2] in _INDEX_OPTIONS for line in options)


def _uv_has_index() -> bool:
    if os.name == "nt":
        folders = [os.environ.get("APPDATA", ""), os.environ.get("PROGRAMDATA", "")]
    else:
        folders = [os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config"), "/etc"]
    is_configured = any(Path(folder, "uv", "uv.toml").is_file() for folder in folders if folder)
    return is_configured or any(os.environ.get(name) for name in _UV_VARIABLES)


def answers(index: str, feedback: QgsProcessingFeedback) -> bool:
    """Return whether a package index knows of torch, asking for at most PROBE_MS by way of QGIS' proxy."""
    request = QNetworkRequest(QUrl(f"{index}/torch/"))
    request.setTransferTimeout(PROBE_MS)
    asked = QgsBlockingNetworkRequest()
    asked.head(request, True, feedback)
    return asked.reply().attribute(QNetworkRequest.Attribute.HttpStatusCodeAttribute) == 200


def check_room(amount: Amount, folder: Path, feedback: QgsProcessingFeedback) -> None:
    """Tell how much will be downloaded and take of the disk.

    Raises RuntimeEnvironmentError if the disk of the folder, or that of temporary files, has less free space.
    """
    free_gb = shutil.disk_usage(folder).free / 1e9
    up_to = "up to" if amount.may_be_less else "about"
    feedback.pushInfo(
        f"Download: {up_to} {amount.download_gb} GB. On disk: {up_to} {amount.disk_gb} GB of the {free_gb:.1f} GB "
        f"that are free in {folder.parent}."
    )
    lacking = _lacking(CPU if amount.may_be_less else amount, folder)
    if lacking:
        raise RuntimeEnvironmentError(
            lacking,
            "Make room there, or set the variable TMPDIR (on Windows TEMP) to another folder for temporary files.",
        )
    if _lacking(amount, folder):
        feedback.pushWarning(f"{_lacking(amount, folder)} This is enough only if the packages come without CUDA.")


def _lacking(amount: Amount, folder: Path) -> str:
    """Return which disk is too small; empty where all fit. Downloads are temporary files until they are unpacked."""
    temporary = Path(tempfile.gettempdir())
    if temporary.stat().st_dev == folder.stat().st_dev:
        needs_gb = {folder.parent: amount.disk_gb + amount.download_gb}
    else:
        needs_gb = {folder.parent: amount.disk_gb, temporary: amount.download_gb}
    for place, needed_gb in needs_gb.items():
        free_gb = shutil.disk_usage(place).free / 1e9
        if free_gb < needed_gb:
            return f"The runtime needs {needed_gb:.1f} GB in {place}, but only {free_gb:.1f} GB are free."
    return ""


def tell_megabytes(amount: Amount, feedback: QgsProcessingFeedback) -> Callable[[str], None]:
    """Return a function that logs each line of pip or uv, and counts the megabytes of downloads that it names."""
    megabytes: dict[str, float] = {}  # by file: one that was cut off comes again

    def tell(line: str) -> None:
        feedback.pushConsoleInfo(line)
        found = _DOWNLOAD.search(line)
        if found:
            megabytes[found[1]] = float(found[2]) * _MEGABYTES[found[3]]
            done, total = sum(megabytes.values()), max(1.0, amount.download_gb * 1000)
            feedback.setProgress(10 + 75 * min(1.0, done / total))
            feedback.setProgressText(f"Downloading {found[1]}: {done:.0f} of about {total:.0f} MB")

    return tell
