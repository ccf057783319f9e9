"""What the worker of an earlier session knows of the labels, read from the session's folder.

Scope: the file of labels, whose lines have the form of commands. Independent of layers. The file is untrusted input:
what is not as it should be is left out.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, Optional

from qgis.core import QgsGeometry

from ...training_core.jobs import parse
from ..layers.label_layers import NAMES
from .live_labels import Content, Label

# As the worker reads it: the file, a line of it, and the id of a label.
_MAX_BYTES, _LONGEST_LINE_BYTES, _LONGEST_ID = 200 << 20, 16 << 20, 200


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
        if path.stat().st_size > _MAX_BYTES:
            return []
        with path.open("rb") as file:
            lines = iter(partial(file.readline, _LONGEST_LINE_BYTES), b"")
            labels = [_label(change, decimals) for line in lines for change in parse(line.decode())["changes"]]
    except (OSError, ValueError, KeyError, TypeError):
        return []
    return [label for label in labels if label is not None]


def _label(change: Any, decimals: int) -> Optional[Label]:
    """Return a label; None where it is none."""
    try:
        name, key, geometry = change["layer"], change["id"], QgsGeometry.fromWkt(change["geometry"])
        width_m, sure = change["width_m"], change["sure"]
    except (KeyError, TypeError):  # the latter of a geometry that is no text, too
        return None
    is_number = isinstance(width_m, (int, float)) and not isinstance(width_m, bool)
    if geometry.isNull() or name not in NAMES or not (is_number or width_m is None):
        return None
    if not isinstance(key, str) or not 0 < len(key) <= _LONGEST_ID:
        return None
    content = Content(geometry.asWkt(decimals), float(width_m) if is_number else None, sure is not False)
    return Label(name, key, content)
