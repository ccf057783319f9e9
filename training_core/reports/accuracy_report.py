"""The report of checkaccuracy: completeness and correctness of a network from a judged sample, as one HTML page.

Scope: its content. Independent of how accuracy is estimated; `page` has the parts of all reports.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import shapely

from ..jobs import CheckAccuracy
from ..jobs.accuracy_estimates import SAMPLED, Place
from .colors import BLUE, FALSE_ALARM_COLOR, GRAY, HIT_COLOR, MISS_COLOR
from .maps import MapLines, line_map
from .page import ReportRecord, write_page

# Places by their verdict: the color and width on the map.
VERDICTS = {
    "not judged": (GRAY, 1.0),
    "transect without a missed road": (BLUE, 1.2),
    "right stretch": (HIT_COLOR, 4.0),
    "wrong stretch": (FALSE_ALARM_COLOR, 5.0),
    "transect with missed roads": (MISS_COLOR, 2.5),
}


@dataclass(frozen=True, kw_only=True)
class AccuracyRecord(ReportRecord):
    """The content of the report of accuracy, in addition to that of all reports.

    The document has the numbers, see `accuracy_results.to_document`, and sentences have them in words. Shapes are those
    of the places, lines in meters, (n,) object.
    """

    document: Mapping[str, Any]
    sentences: Sequence[str]
    places: Sequence[Place]
    shapes: np.ndarray


def write_accuracy_report(record: AccuracyRecord, path: Path) -> None:
    """Write the report of accuracy as one self-contained HTML file without scripts."""
    verdicts = np.array([_verdict(place) for place in record.places], dtype=object)
    # Parts of multi-part lines with the verdict of their place.
    shapes, owner = shapely.get_parts(record.shapes, return_index=True)
    layers = {name: MapLines(shapes[verdicts[owner] == name], *style) for name, style in VERDICTS.items()}
    counts = [(name, color, int((verdicts == name).sum())) for name, (color, _) in VERDICTS.items()]
    charts = {"map": line_map("Judged places", layers)}
    write_page("checkaccuracy.html.j2", path, CheckAccuracy, record, charts=charts, verdicts=counts)


def _verdict(place: Place) -> str:
    if place.answer is None:
        return "not judged"
    if place.kind == SAMPLED:
        return "right stretch" if place.answer else "wrong stretch"
    return "transect with missed roads" if place.answer else "transect without a missed road"
