"""The folder for RoadSeg's own data, the same as in QGIS (`qgis_roadseg/paths.py`).

Scope: the path. Independent of what lies there.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path


def data_folder() -> Path:
    """Return the folder for RoadSeg's own data in the user's data folder, by the rules of the operating system."""
    home = Path.home()
    if sys.platform == "win32":
        parent = Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    elif sys.platform == "darwin":
        parent = home / "Library" / "Application Support"
    else:
        parent = Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share")
    return parent / "roadseg"
