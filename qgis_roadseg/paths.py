"""Paths of the plugin's own files, and of the folder for its data.

Scope: paths. Independent of what the files hold.
"""

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
