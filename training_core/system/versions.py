"""Versions of RoadSeg and of the libraries it runs with.

Scope: metadata.txt and the installed packages.
"""

from __future__ import annotations

import configparser
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = (
    "torch", "intel-extension-for-pytorch", "openvino", "nncf", "segmentation-models-pytorch", "rasterio", "numpy",
)  # fmt: skip


def versions() -> dict[str, str]:
    """Return the version of RoadSeg and of each of PACKAGES that is installed."""
    found = {"roadseg": roadseg_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def roadseg_version() -> str:
    """Return RoadSeg's version, from the plugin's metadata.txt."""
    metadata = configparser.ConfigParser(interpolation=None)
    metadata.read(Path(__file__).parents[2] / "metadata.txt", encoding="utf-8")
    return metadata["general"]["version"]
