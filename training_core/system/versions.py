"""Versions of RoadSeg and of the libraries it runs with.

Scope: metadata.txt and the installed packages.
"""

from __future__ import annotations

import configparser
from collections.abc import Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = (
    "torch", "intel-extension-for-pytorch", "openvino", "nncf", "segmentation-models-pytorch", "rasterio", "numpy",
)  # fmt: skip


def versions(packages: Sequence[str] = PACKAGES) -> dict[str, str]:
    """Return the version of RoadSeg, as `roadseg`, and of each of some packages that is installed."""
    installed = {"roadseg": roadseg_version()}
    for package in packages:
        with suppress(PackageNotFoundError):
            installed[package] = version(package)
    return installed


def roadseg_version() -> str:
    """Return RoadSeg's version, from the plugin's metadata.txt."""
    metadata = configparser.ConfigParser(interpolation=None)
    metadata.read(Path(__file__).parents[2] / "metadata.txt", encoding="utf-8")
    return metadata["general"]["version"]
