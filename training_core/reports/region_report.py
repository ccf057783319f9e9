"""The report of mapregion: a map of the region, what was mapped, how fast, and what has failed, as one HTML page.

Scope: what it shows, and how. Independent of how scenes are mapped; what all reports share is in `page`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import shapely

from ..jobs import MapRegion
from ..regions.index_layer import DONE, FAILED, KEPT, OUTSIDE, RUNNING, WAITING, IndexedScene
from ..regions.pace import WorkerPace
from .charts import Series, histogram, line_chart
from .colors import GRAY, GREEN, INK, ORANGE, SKY, VERMILION
from .maps import MapAreas, MapLines, line_map
from .page import ReportRecord, write_page
from .quantities import number

# What each status means, and its color: that of the index in QGIS. On the map, later ones are on top, failures on the
# roads.
STATUSES = {
    OUTSIDE: ("outside of the area of interest", GRAY),
    WAITING: ("not mapped", GRAY),
    RUNNING: ("mapped in part", ORANGE),
    KEPT: ("there already", SKY),
    DONE: ("mapped in this run", GREEN),
    FAILED: ("failed", VERMILION),
}
_UNFILLED = (OUTSIDE, WAITING)
# The page has no longer tables and lists; the index of scenes has all rows.
_MAX_ROWS, _MAX_WORKERS, _MAX_WARNINGS, _MAX_NAMES = 200, 24, 50, 5
# Of more scenes the map shows what they cover together.
_MAX_OUTLINES = 3000
# From so many lines on, they are drawn thinner.
_DENSE = 5000


@dataclass(frozen=True, kw_only=True)
class RegionRecord(ReportRecord):
    """What the report of a region shows, besides what all reports do.

    Parameters
    ----------
    numbers : mapping of str to anything
        The job's result; see `pipelines.mapregion`.
    scenes : sequence of IndexedScene
        With their status; outlines in meters.
    scene_km : mapping of str to float
        Kilometers of road by name of the scene.
    roads : ndarray (n,), object
        `LineString`s in meters, on the same plane: all, or one of so many.
    roads_every : int
        Of how many lines one is among them.
    fleet : str
        Who did the work.
    pace : mapping of str to WorkerPace
        By worker.
    tasks_s : sequence of float
        How long each of the tasks took that are blocks of scenes.
    course : sequence of (float, float)
        Seconds since the beginning and megapixels done by then.
    area_km2 : float
        That the mapped scenes cover.
    """

    numbers: Mapping[str, Any]
    scenes: Sequence[IndexedScene]
    scene_km: Mapping[str, float]
    roads: np.ndarray
    roads_every: int
    fleet: str
    pace: Mapping[str, WorkerPace]
    tasks_s: Sequence[float]
    course: Sequence[tuple[float, float]]
    area_km2: float


def write_region_report(record: RegionRecord, path: Path) -> None:
    """Write the report of a region as one self-contained HTML file without scripts."""
    failures = record.numbers["failures"]
    workers, workers_left_out = _workers(record.pace)
    write_page(
        "mapregion.html.j2",
        path,
        MapRegion,
        replace(record, options=_short_options(record.options), warnings=_other_warnings(record)),
        charts={"map": _map(record), "course": _course_chart(record.course), "tasks": _task_chart(record.tasks_s)},
        kinds=[
            (*STATUSES[status], sum(scene.status == status for scene in record.scenes)) for status in reversed(STATUSES)
        ],
        placeless=sum(scene.outline is None for scene in record.scenes),
        duration=_duration(sum(record.timings_s.values())),
        number=number,
        workers=workers,
        rows=[(scene, *STATUSES[scene.status], record.scene_km.get(scene.name)) for scene in record.scenes[:_MAX_ROWS]],
        failures=failures[:_MAX_ROWS],
        left_out={
            "rows": max(0, len(record.scenes) - _MAX_ROWS),
            "failures": max(0, len(failures) - _MAX_ROWS),
            "workers": workers_left_out,
        },
    )


def _map(record: RegionRecord) -> str:
    """Return the map of the scenes by status and of the roads; empty where no place is known."""
    placed = [scene for scene in record.scenes if scene.outline is not None]
    drawn: dict[str, MapLines | MapAreas] = {}
    for status, (meaning, color) in STATUSES.items():
        chosen = [scene for scene in placed if scene.status == status]
        shapes = np.array([scene.outline for scene in chosen], dtype=object)
        titles = [f"{scene.name}: {meaning}" for scene in chosen]
        if len(placed) > _MAX_OUTLINES and chosen:
            shapes, titles = shapely.get_parts(shapely.union_all(shapes)), []
        if chosen:
            drawn[meaning] = MapAreas(shapes, color, titles, status not in _UNFILLED)
    if len(record.roads):
        drawn["roads"] = MapLines(record.roads, INK, 1.2 if len(record.roads) < _DENSE else 0.6)
    failed, _ = STATUSES[FAILED]
    if failed in drawn:
        drawn[failed] = drawn.pop(failed)
    return line_map("Scenes by status, and the road network", drawn) if drawn else ""


def _workers(pace: Mapping[str, WorkerPace]) -> tuple[list[tuple[str, WorkerPace, float]], int]:
    """Return (name, pace, share of the best), the best first, without the middle of many, and how many that is."""
    ranked = sorted(pace.items(), key=lambda item: -item[1].megapixels_per_s)
    fastest = max((each.megapixels_per_s for each in pace.values()), default=0.0) or 1.0
    rows = [(name, each, each.megapixels_per_s / fastest) for name, each in ranked]
    if len(rows) <= _MAX_WORKERS:
        return rows, 0
    return rows[: _MAX_WORKERS // 2] + rows[-_MAX_WORKERS // 2 :], len(rows) - _MAX_WORKERS


def _short_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options without all names of a long list of scenes."""
    scenes = options["rasters"]
    if len(scenes) <= _MAX_NAMES:
        return dict(options)
    return {**options, "rasters": (*scenes[:_MAX_NAMES], f"and {len(scenes) - _MAX_NAMES:,} more")}


def _other_warnings(record: RegionRecord) -> list[str]:
    """Return the warnings that are no failures, which have a table of their own."""
    told = tuple(failure["reason"] for failure in record.numbers["failures"])
    others = [warning for warning in record.warnings if not (told and warning.endswith(told))]
    if len(others) <= _MAX_WARNINGS:
        return others
    return [*others[:_MAX_WARNINGS], f"{len(others) - _MAX_WARNINGS:,} more are in the log."]


def _course_chart(course: Sequence[tuple[float, float]]) -> str:
    if len(course) < 3:
        return ""
    times_min = [seconds / 60 for seconds, _ in course]
    done = Series("mapped", times_min, [megapixels for _, megapixels in course], GREEN)
    return line_chart("Megapixels mapped by time", [done], "minutes since the start", "megapixels")


def _task_chart(tasks_s: Sequence[float]) -> str:
    if len(tasks_s) < 3:
        return ""
    return histogram("Time of a block", tasks_s, "seconds", "blocks", SKY)


def _duration(seconds: float) -> str:
    """Return a time as people say it."""
    if seconds < 100:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:,.1f} h"
