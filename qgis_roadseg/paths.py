"""Paths of the plugin's own files and of the folder for its data; URLs of its documentation.

Scope: paths and addresses. Independent of content.
"""

import configparser
import functools
import os
from itertools import chain, count
from pathlib import Path

from qgis.PyQt.QtCore import QStandardPaths

ROOT = Path(__file__).resolve().parent.parent
RESOURCES = ROOT / "resources"
ICON = RESOURCES / "icon.svg"
LIVE_ICON = RESOURCES / "live.svg"
GROUP_ICONS = RESOURCES / "icons"  # one for each group of the toolbox, named for its id


def data_folder() -> Path:
    """Return the folder for RoadSeg's own data: in the user's data folder, outside of QGIS and its plugins."""
    return Path(QStandardPaths.writableLocation(QStandardPaths.StandardLocation.GenericDataLocation), "roadseg")


def free_path(wanted: Path) -> Path:
    """Return a path at which nothing is: town.gpkg, else town 2.gpkg, and so on."""
    names = (f"{wanted.stem} {number}{wanted.suffix}" for number in count(2))
    return next(path for path in chain([wanted], map(wanted.with_name, names)) if not os.path.lexists(path))


def page_url(algorithm: str) -> str:
    """Return the URL of an algorithm's page."""
    return f"{metadata('repository').rstrip('/')}/blob/main/docs/algorithms/{algorithm}.md"


@functools.cache
def metadata(key: str) -> str:
    """Return an entry of the plugin's metadata."""
    parser = configparser.ConfigParser(interpolation=None)
    parser.read(ROOT / "metadata.txt", encoding="utf-8")
    return parser["general"][key]
