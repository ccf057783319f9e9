"""The report of comparenetworks: changes of a road network and accessibility of places, as one HTML page.

Scope: its content. Independent of how changes are found; `page` has the parts of all reports.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

import numpy as np
import pandas

from ..comparison.accessibility import Points
from ..jobs import CompareNetworks
from .colors import BLUE, GRAY, PURPLE, VERMILION
from .maps import MapLines, line_map
from .page import ReportRecord, write_page
from .place_tables import place_dots, place_table

# The meaning of each change, its color, and its width on the map.
CHANGES = {
    "intact": ("unchanged", GRAY, 1.4),
    "displaced": ("offset from before", PURPLE, 2.6),
    "new": ("not there before", BLUE, 2.6),
    "lost": ("not found after", VERMILION, 3.0),
}


@dataclass(frozen=True, kw_only=True)
class ChangesRecord(ReportRecord):
    """The content of the report of changes, in addition to that of all reports.

    The document has the numbers, see `change_results.to_document`, and sentences have them in words with all their
    parameters. Routes are as from `accessibility.find_routes`, of these points. Parts are `LineString`s by change, (n,)
    object, in meters.
    """

    document: Mapping[str, Any]
    sentences: Sequence[str]
    parts: Mapping[str, np.ndarray]
    points: Optional[Points] = None
    routes: Optional[pandas.DataFrame] = None


def write_changes_report(record: ChangesRecord, path: Path) -> None:
    """Write the report of changes as one self-contained HTML file without scripts."""
    lines = {change: MapLines(record.parts[change], color, width) for change, (_, color, width) in CHANGES.items()}
    places = place_dots(record.routes, record.points)
    write_page(
        "comparenetworks.html.j2",
        path,
        CompareNetworks,
        record,
        charts={"map": line_map("Intact, displaced, lost and new roads", {**lines, **places})},
        changes=[(change, *CHANGES[change][:2], record.document[change]) for change in CHANGES],
        **place_table(record.routes, record.points),
        has_origins=bool(record.options["origins"]),
        has_times=record.routes is not None and "delay_s" in record.routes,
    )
