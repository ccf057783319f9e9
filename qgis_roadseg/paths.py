"""Where the plugin's own files lie, and where it makes others. Knows folders only."""

from pathlib import Path

from qgis.PyQt.QtCore import QStandardPaths

ROOT = Path(__file__).resolve().parent.parent
RESOURCES = ROOT / "resources"
ICON = RESOURCES / "icon.svg"
GROUP_ICONS = RESOURCES / "icons"  # one for each group of the toolbox, named for its id


def data_folder() -> Path:
    """Return the folder of what RoadSeg makes for itself: in the person's data folder, outside QGIS and its plugins."""
    return Path(QStandardPaths.writableLocation(QStandardPaths.StandardLocation.GenericDataLocation), "roadseg")
