"""Places and their routes in reports: rows of a table and dots on a map, both in the color of the status.

Scope: the accessibility of places, as `comparison.accessibility` finds it. Independent of the rest of a page.
"""

from __future__ import annotations

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
    Points,
)
from .colors import BLUE, GRAY, GREEN, INK, ORANGE, VERMILION, WHITE, YELLOW
from .maps import MapLines, dots

STATUS_COLORS = {
    CUT_OFF: VERMILION, INTERRUPTED: ORANGE, LONGER: YELLOW, NEVER: GRAY, NO_ROAD: WHITE, NEW_WAY: BLUE,
    REACHABLE: GREEN,
}  # fmt: skip
# Longer tables are cut; the layer has all rows.
_MAX_ROWS = 200


def place_dots(routes: Optional[pandas.DataFrame], points: Optional[Points]) -> dict[str, MapLines]:
    """Return places as outlined dots, the worst on top, over the origins."""
    if routes is None or points is None:
        return {}
    places, origins = np.split(dots(points.points), [points.count])
    layers = {"origins": MapLines(origins, INK, 9), "places": MapLines(places, INK, 13)}
    for status in reversed(STATUSES):
        layers[status] = MapLines(places[routes["status"] == status], STATUS_COLORS[status], 9)
    return layers


def place_table(routes: Optional[pandas.DataFrame], points: Optional[Points]) -> dict[str, Any]:
    """Return what a page shows of places: rows, the worst first, None for what is unknown; and the statuses on the map.

    `left_out` is the number of rows beyond those that a page has.
    """
    if routes is None or points is None:
        return {"rows": [], "left_out": 0, "statuses": []}
    table = routes.assign(name=points.names[: points.count], color=routes["status"].map(STATUS_COLORS))
    order = np.lexsort((-table["detour_m"].fillna(0), table["status"].map(STATUSES.index)))
    rows = table.astype(object).where(table.notna(), None).iloc[order].to_dict("records")
    return {
        "rows": rows[:_MAX_ROWS],
        "left_out": max(0, len(rows) - _MAX_ROWS),
        "statuses": [(status, STATUS_COLORS[status]) for status in STATUSES if (table["status"] == status).any()],
    }
