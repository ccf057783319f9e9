"""The report of roadstatus: the state of known roads, and what it means, as one HTML page.

Scope: its content. Independent of how states are found; `page` has the parts of all reports.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Optional

import shapely

from ..comparison.accessibility import Points
from ..comparison.status_pictures import Frame, Swipe
from ..comparison.status_results import Results, Summary
from ..jobs import RoadStatus
from ..jobs.status import CLOSED, HIDDEN, IN_HAZARD, NOT_SEEN, OUTSIDE, PARTLY_SEEN, SEEN, STATES, UNDER_WATER
from .colors import BLUE, GRAY, INK, ORANGE, PALE, PURPLE, VERMILION, WHITE
from .maps import Drawn, MapLines, MapNumbers, dots, line_map, overlay
from .overlays import data_url
from .page import ReportRecord, write_page
from .place_tables import place_dots, place_table

# The color of each state, and its width on the map, those on top last.
STYLES = {
    OUTSIDE: (PALE, 1.4),
    SEEN: (GRAY, 1.4),
    HIDDEN: (INK, 2.0),
    PARTLY_SEEN: (ORANGE, 2.6),
    IN_HAZARD: (PURPLE, 2.6),
    UNDER_WATER: (BLUE, 3.0),
    NOT_SEEN: (VERMILION, 3.0),
}
# How much wider lines are on an image.
_WIDER = 1.5


@dataclass(frozen=True, kw_only=True)
class StatusRecord(ReportRecord):
    """The content of the report of states, in addition to that of all reports."""

    images: Sequence[str]
    summary: Summary
    results: Results
    sites: Optional[Points]
    swipes: Sequence[Swipe]


def write_status_report(record: StatusRecord, path: Path) -> None:
    """Write the report of states as one self-contained HTML file without scripts."""
    summary, reached = record.summary, record.results.reached
    lines = {state: MapLines(summary.shapes[summary.state == state], *STYLES[state]) for state in STYLES}
    places = summary.check_places
    checks: dict[str, Drawn] = {"places to check": MapLines(dots(places), INK, 7), "checks": MapNumbers(places)}
    lengths_m = summary.lengths_m
    write_page(
        "roadstatus.html.j2",
        path,
        RoadStatus,
        record,
        charts={"map": line_map("States of known roads", {**lines, **checks, **place_dots(reached, record.sites)})},
        states=[state for state in STATES if lengths_m[state]],
        lengths_m=lengths_m,
        closed_m=sum(lengths_m.get(state, 0.0) for state in CLOSED),
        colors={state: color for state, (color, _) in STYLES.items()},
        swipes=[
            {
                "caption": swipe.caption,
                "before": data_url(swipe.before, "jpeg"),
                "after": data_url(swipe.after, "jpeg"),
                "roads": overlay(
                    "Known roads by state", _on_image(lines, swipe.frame), swipe.frame.bounds, swipe.frame.width
                ),
            }
            for swipe in record.swipes
        ],
        **place_table(reached, record.sites),
    )


def _on_image(lines: Mapping[str, MapLines], frame: Frame) -> dict[str, MapLines]:
    """Return the lines that lie in a frame, as wide as an image needs; gray is hard to see there, so seen is white."""
    area = shapely.box(*frame.bounds)
    near = {
        name: replace(each, shapes=each.shapes[shapely.intersects(each.shapes, area)], width_px=_WIDER * each.width_px)
        for name, each in lines.items()
    }
    return {**near, SEEN: replace(near[SEEN], color=WHITE)}
