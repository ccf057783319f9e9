"""The report of comparenetworks: changes of a road network and accessibility of places, as one HTML page.

Scope: its content. Independent of how changes are found; `page` has the parts of all reports.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

import numpy as np

from ..comparison.accessibility import (
    CUT_OFF,
    INTERRUPTED,
    LONGER,
    NEVER,
    NEW_WAY,
    NO_ROAD,
    REACHABLE,
    STATUSES,
    PlaceRoutes,
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
    parameters. Parts are `LineString`s by change, (n,) object; places and origins are (k, 2) float64; all in meters.
    """

    before: str
    after: str
    document: Mapping[str, Any]
    sentences: Sequence[str]
    parts: Mapping[str, np.ndarray]
    names: Sequence[str] = ()
    points: Optional[np.ndarray] = None
    origins: Optional[np.ndarray] = None
    routes: Optional[PlaceRoutes] = None


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
        has_times=record.routes is not None and record.routes.time is not None,
    )


def _place_dots(record: ChangesRecord) -> dict[str, MapLines]:
    """Return the places as outlined dots, the worst on top, over the origins."""
    if record.routes is None or record.points is None:
        return {}
    layers = {} if record.origins is None else {"origins": MapLines(dots(record.origins), INK, 9)}
    layers["places"] = MapLines(dots(record.points), INK, 13)
    for status in reversed(STATUSES):
        layers[status] = MapLines(dots(record.points[record.routes.status == status]), STATUS_COLORS[status], 9)
    return layers


def _rows(record: ChangesRecord) -> list[dict[str, Any]]:
    """Return the rows of the table of places, the worst first."""
    routes = record.routes
    if routes is None:
        return []
    length, time = routes.length, routes.time
    with np.errstate(invalid="ignore", divide="ignore"):
        detour_m, ratio = length.after - length.before, length.after / length.before
    rank = np.array([STATUSES.index(status) for status in routes.status])
    order = np.lexsort((-np.nan_to_num(detour_m, nan=0, posinf=0, neginf=0), rank))
    return [
        {
            "name": record.names[place],
            "status": str(routes.status[place]),
            "color": STATUS_COLORS[str(routes.status[place])],
            "before_m": _or_none(length.before[place]),
            "after_m": _or_none(length.after[place]),
            "detour_m": _or_none(detour_m[place]),
            "ratio": _or_none(ratio[place]),
            "before_s": None if time is None else _or_none(time.before[place]),
            "after_s": None if time is None else _or_none(time.after[place]),
            "missing_m": _or_none(routes.missing_m[place]),
            "origin": routes.source[place],
        }
        for place in order
    ]


def _or_none(value: float) -> Optional[float]:
    return float(value) if np.isfinite(value) else None
