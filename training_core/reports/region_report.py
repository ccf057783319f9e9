"""The report of mapregion: a map of the region, what was mapped, how fast, and what has failed, as one HTML page.

Scope: what it shows, and how. Independent of how scenes are mapped; what all reports share is in `page`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import shapely

from ..jobs import MapRegion
from ..regions.index_layer import DONE, FAILED, KEPT, WAITING, IndexedScene
from .charts import Series, line_chart
from .colors import BLUE, GRAY, GREEN, INK, PALE, VERMILION
from .maps import MapLines, line_map
from .page import ReportRecord, write_page

# What each status means, and its color.
STATUSES = {
    DONE: ("mapped in this run", GREEN),
    KEPT: ("there already", BLUE),
    FAILED: ("failed", VERMILION),
    WAITING: ("not mapped", GRAY),
}
# The page has no longer tables, and no more lines on its map; the index and the network have all of them.
_MOST_ROWS, _MOST_LINES = 200, 50_000


@dataclass(frozen=True, kw_only=True)
class RegionRecord(ReportRecord):
    """What the report of a region shows, besides what all reports do.

    Parameters
    ----------
    numbers : mapping of str to anything
        The job's result; see `pipelines.mapregion`.
    scenes : sequence of IndexedScene
        With their status; outlines in meters.
    roads : ndarray (n,), object
        `LineString`s in meters, on the same plane.
    fleet : str
        Who did the work.
    pace : mapping of str to float
        Megapixels a second while it was busy, by worker.
    course : sequence of (float, float)
        Seconds since the beginning and megapixels done by then.
    area_km2 : float
        That the mapped scenes cover.
    """

    numbers: Mapping[str, Any]
    scenes: Sequence[IndexedScene]
    roads: np.ndarray
    fleet: str
    pace: Mapping[str, float]
    course: Sequence[tuple[float, float]]
    area_km2: float


def write_region_report(record: RegionRecord, path: Path) -> None:
    """Write the report of a region as one self-contained HTML file without scripts."""
    drawn = {
        meaning: MapLines(_borders(record.scenes, status), color, 1.2) for status, (meaning, color) in STATUSES.items()
    }
    roads = longest(record.roads, _MOST_LINES)
    shown = {title: each for title, each in {**drawn, "roads": MapLines(roads, INK, 1.0)}.items() if len(each.lines)}
    fastest = max(record.pace.values(), default=0.0)
    write_page(
        "mapregion.html.j2",
        path,
        MapRegion,
        record,
        charts={
            "map": line_map("Scenes by status, and the road network", shown) if shown else "",
            "course": _course_chart(record.course),
        },
        kinds=[
            (meaning, color, sum(scene.status == status for scene in record.scenes))
            for status, (meaning, color) in STATUSES.items()
        ],
        roads_left_out=len(record.roads) - len(roads),
        workers=[
            (worker, pace, pace / fastest if fastest else 0.0)
            for worker, pace in list(record.pace.items())[:_MOST_ROWS]
        ],
        rows=[(scene, STATUSES.get(scene.status, ("", PALE))) for scene in record.scenes[:_MOST_ROWS]],
        failures=record.numbers["failures"][:_MOST_ROWS],
        left_out={
            "rows": max(0, len(record.scenes) - _MOST_ROWS),
            "failures": max(0, len(record.numbers["failures"]) - _MOST_ROWS),
        },
    )


def longest(lines: np.ndarray, count: int) -> np.ndarray:
    """Return the longest of some lines, (n,), object, in their order."""
    if len(lines) <= count:
        return lines
    return lines[np.sort(np.argsort(-shapely.length(lines), kind="stable")[:count])]


def _borders(scenes: Sequence[IndexedScene], status: str) -> np.ndarray:
    shapes = [scene.outline for scene in scenes if scene.status == status and scene.outline is not None]
    return shapely.get_exterior_ring(np.array(shapes, dtype=object)) if shapes else np.zeros(0, dtype=object)


def _course_chart(course: Sequence[tuple[float, float]]) -> str:
    if len(course) < 2:
        return ""
    times_min = [seconds / 60 for seconds, _ in course]
    done = Series("mapped", times_min, [megapixels for _, megapixels in course], BLUE)
    return line_chart("Megapixels mapped by time", [done], "minutes since the start", "megapixels")
