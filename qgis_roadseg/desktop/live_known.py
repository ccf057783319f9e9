"""What the worker of an earlier session knows of the labels, read from the session's folder.

Scope: the file of labels. Independent of layers. The file is untrusted input: what is not as it should be is left out.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Optional

from qgis.core import QgsGeometry

from ...training_core.jobs import parse
from ..layers.label_layers import NAMES
from .live_labels import Content, Label

_LARGEST_BYTES = 500_000_000


def read_known(path: Path, decimals: int) -> list[Label]:
    """Return the labels in a session's file; none where there is no such file, or it cannot be read.

    Parameters
    ----------
    path : Path
        The file, GeoJSON.
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
        features = parse(path.read_text(encoding="utf-8"))["features"]
        labels = [_label(feature, decimals) for feature in features]
    except (OSError, ValueError, KeyError, TypeError):
        return []
    return [label for label in labels if label is not None]


def _label(feature: Any, decimals: int) -> Optional[Label]:
    try:
        properties = feature["properties"]
        geometry = QgsGeometry.fromWkt(_wkt(feature["geometry"]))
        width_m, sure = properties.get("width_m"), properties.get("sure")
        name, key = properties["layer"], str(properties.get("id", feature.get("id")))
    except (KeyError, TypeError, AttributeError, ValueError):
        return None
    if geometry.isNull() or name not in NAMES:
        return None
    width_m = float(width_m) if isinstance(width_m, (int, float)) and not isinstance(width_m, bool) else None
    content = Content(geometry.asWkt(decimals), width_m, sure if isinstance(sure, bool) else None)
    return Label(name, key, content)


def _wkt(geometry: dict[str, Any]) -> str:
    """Return a geometry of GeoJSON as WKT."""
    return f"{geometry['type']} {_nested(geometry['coordinates'])}"


def _nested(coordinates: list[Any]) -> str:
    """Return lists of positions in WKT's parentheses."""
    if all(isinstance(each, (int, float)) for each in coordinates):
        return " ".join(repr(float(each)) for each in coordinates[:2])
    return f"({', '.join(_nested(each) for each in coordinates)})"
