"""What the worker of an earlier session knows of the labels, read from the session's folder.

Scope: the file of labels, which has the form of a command. Independent of layers. The file is untrusted input: what is
not as it should be is left out.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Optional

from qgis.core import QgsGeometry

from ...training_core.jobs import parse
from ..layers.label_layers import NAMES
from .live_labels import Content, Label

_LARGEST_BYTES = 200 << 20


def read_known(path: Path, decimals: int) -> list[Label]:
    """Return the labels in a session's file; none where there is no such file, or it cannot be read.

    Parameters
    ----------
    path : Path
        The file.
    decimals : int
        Decimals of the coordinates, as they are told to the worker.

    Returns
    -------
    list of Label
        The labels.
    """
    try:
        if path.stat().st_size > _LARGEST_BYTES:
            return []
        changes = parse(path.read_text(encoding="utf-8"))["changes"]
        labels = [_label(change, decimals) for change in changes]
    except (OSError, ValueError, KeyError, TypeError):
        return []
    return [label for label in labels if label is not None]


def _label(change: Any, decimals: int) -> Optional[Label]:
    """Return a label; None where it is none."""
    try:
        name, key, geometry = change["layer"], change["id"], QgsGeometry.fromWkt(change["geometry"])
        width_m, sure = change["width_m"], change["sure"]
    except (KeyError, TypeError):
        return None
    is_number = isinstance(width_m, (int, float)) and not isinstance(width_m, bool)
    if geometry.isNull() or name not in NAMES or not isinstance(key, str) or not (is_number or width_m is None):
        return None
    content = Content(geometry.asWkt(decimals), float(width_m) if is_number else None, sure is not False)
    return Label(name, key, content)
