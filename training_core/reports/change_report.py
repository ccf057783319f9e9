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

from ..comparison.accessibility import (
    CUT_OFF,
    INTERRUPTED,
    LONGER,
    NEVER,
    NEW_WAY,
    NO_ROAD,
    REACHABLE,
    STATUSES,
)
from ..jobs import CompareNetworks
from .colors import BLUE, GRAY, GREEN, INK, ORANGE, PURPLE, VERMILION, WHITE, YELLOW
from .maps import MapLines, dots, line_map
from .page import ReportRecord, write_page

# The meaning of each change, its color, and its width on the map.
CHANGES = {
    "intact": ("unchanged", GRAY, 1.4),
    "displaced": ("offset from before", PURPLE, 2.6),
    "new": ("not there before", BLUE, 2.6),
    "lost": ("not found after", VERMILION, 3.0),
}
STATUS_COLORS = {
    CUT_OFF: VERMILION,
    INTERRUPTED: ORANGE,
    LONGER: YELLOW,
    NEVER: GRAY,
    NO_ROAD: WHITE,
    NEW_WAY: BLUE,
    REACHABLE: GREEN,
}
# Longer tables are cut; the layer has all rows.
_MAX_ROWS = 200


@dataclass(frozen=True, kw_only=True)
class ChangesRecord(ReportRecord):
    """The content of the report of changes, in addition to that of all reports.

    The document has the numbers, see `change_results.to_document`, and sentences have them in words with all their
    parameters. Routes are as from `accessibility.find_routes`. Parts are `LineString`s by change, (n,) object; places
    and origins are (k, 2) float64; all in meters.
    """

    before: str
    after: str
    document: Mapping[str, Any]
    sentences: Sequence[str]
    parts: Mapping[str, np.ndarray]
    names: Sequence[str] = ()
    points: Optional[np.ndarray] = None
    origins: Optional[np.ndarray] = None
    routes: Optional[pandas.DataFrame] = None


def write_changes_report(record: ChangesRecord, path: Path) -> None:
    """Write the report of changes as one self-contained HTML file without scripts."""
    lines = {change: MapLines(record.parts[change], color, width) for change, (_, color, width) in CHANGES.items()}
    rows = _rows(record)
    write_page(
        "comparenetworks.html.j2",
        path,
        CompareNetworks,
        record,
        charts={"map": line_map("Intact, displaced, lost and new roads", {**lines, **_place_dots(record)})},
        changes=[(change, *CHANGES[change][:2], record.document[change]) for change in CHANGES],
        statuses=[
            (status, STATUS_COLORS[status]) for status in STATUSES if any(row["status"] == status for row in rows)
        ],
        rows=rows[:_MAX_ROWS],
        left_out=max(0, len(rows) - _MAX_ROWS),
        has_origins=bool(record.options["origins"]),
        has_times=record.routes is not None and "delay_s" in record.routes,
    )


def _place_dots(record: ChangesRecord) -> dict[str, MapLines]:
    """Return the places as outlined dots, the worst on top, over the origins."""
    if record.routes is None or record.points is None:
        return {}
    layers = {} if record.origins is None else {"origins": MapLines(dots(record.origins), INK, 9)}
    layers["places"] = MapLines(dots(record.points), INK, 13)
    for status in reversed(STATUSES):
        layers[status] = MapLines(dots(record.points[record.routes["status"] == status]), STATUS_COLORS[status], 9)
    return layers


def _rows(record: ChangesRecord) -> list[dict[str, Any]]:
    """Return the rows of the table of places, the worst first, with None for what is unknown."""
    if record.routes is None:
        return []
    table = record.routes.assign(name=record.names[: len(record.routes)])
    table["color"] = table["status"].map(STATUS_COLORS)
    order = np.lexsort((-table["detour_m"].fillna(0), table["status"].map(STATUSES.index)))
    return table.astype(object).where(table.notna(), None).iloc[order].to_dict("records")
