"""The style of a region's index, beside its file, so that QGIS shows scenes by status whenever it is added to a map.

Scope: which style file lies there. Independent of the index itself. While the work goes on, it is a style with which
QGIS reads the layer again every few seconds.
"""

from __future__ import annotations

import os
import shutil
import uuid
from pathlib import Path

from ..events import Reporter

STYLES = Path(__file__).resolve().parents[2] / "resources" / "styles"
FINISHED, LIVE = STYLES / "region_index.qml", STYLES / "region_index_live.qml"


def put_style(index: Path, is_live: bool, reporter: Reporter) -> None:
    """Write the style of an index beside it, but never over a style of the user's own.

    Parameters
    ----------
    index : Path
        The GeoPackage.
    is_live : bool
        Whether its scenes are still being mapped.
    reporter : Reporter
        Gets a warning where the style cannot be written.
    """
    beside, draft = index.with_suffix(".qml"), index.with_name(f".{uuid.uuid4().hex}.qml")
    try:
        if beside.exists() and beside.read_bytes() not in (FINISHED.read_bytes(), LIVE.read_bytes()):
            return
        try:
            shutil.copyfile(LIVE if is_live else FINISHED, draft)
            os.replace(draft, beside)
        finally:
            draft.unlink(missing_ok=True)
    except OSError as error:
        reporter.warning(f"The style cannot be written beside {index} ({error.strerror}).")
