"""The report of mapregion as one HTML page: a map of the region, its scenes, the throughput, and the failures.

Scope: the content of the page. Independent of how scenes are mapped; `page` has the parts that all reports share.
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
from ..regions.progress import WorkerThroughput
from .charts import Series, histogram, line_chart
from .colors import GRAY, GREEN, INK, ORANGE, SKY, VERMILION
from .maps import MapAreas, MapLines, line_map
from .page import ReportRecord, write_page
from .quantities import number

# The meaning of each status, and its color as in the index in QGIS. On the map, later ones are above earlier ones, and
# failures above the roads.
STATUSES = {
    OUTSIDE: ("outside the area of interest", GRAY),
    WAITING: ("not mapped", GRAY),
    RUNNING: ("mapped in part", ORANGE),
    KEPT: ("mapped before", SKY),
    DONE: ("mapped in this run", GREEN),
    FAILED: ("failed", VERMILION),
}
_UNFILLED = (OUTSIDE, WAITING)
# Limits of tables and lists; the index of scenes has all rows.
_MAX_ROWS, _MAX_WORKERS, _MAX_WARNINGS, _MAX_NAMES = 200, 24, 50, 5
# The map shows only common outlines of more scenes than these.
_MAX_OUTLINES = 3000
# Lines are drawn thinner from this number on.
_DENSE = 5000


@dataclass(frozen=True, kw_only=True)
class RegionRecord(ReportRecord):
    """The content of a region's report, with the numbers of `pipelines.mapregion`.

    Outlines of scenes are in meters. `scene_km` has the length of road by name of the scene. Roads, (n,) object, are
    `LineString`s in meters, on the same plane: one of each `roads_every` lines. Points are seconds since the beginning
    and megapixels done by then.
    """

    numbers: Mapping[str, Any]
    scenes: Sequence[IndexedScene]
    scene_km: Mapping[str, float]
    roads: np.ndarray
    roads_every: int
    executor: str
    workers: Mapping[str, WorkerThroughput]
    block_s: Sequence[float]
    points: Sequence[tuple[float, float]]
    area_km2: float


def write_region_report(record: RegionRecord, path: Path) -> None:
    """Write the report of a region as one self-contained HTML file without scripts."""
    failures = record.numbers["failures"]
    workers, workers_left_out = _workers(record.workers)
    options, scenes = dict(record.options), record.options["rasters"]
    if len(scenes) > _MAX_NAMES:
        options["rasters"] = (*scenes[:_MAX_NAMES], f"and {len(scenes) - _MAX_NAMES:,} more")
    write_page(
        "mapregion.html.j2",
        path,
        MapRegion,
        replace(record, options=options, warnings=_other_warnings(record)),
        charts=_charts(record),
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
    """Return the map of the scenes by status and of the roads; empty if all places are unknown."""
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


def _workers(workers: Mapping[str, WorkerThroughput]) -> tuple[list[tuple[str, WorkerThroughput, float]], int]:
    """Return a row for each worker, with its throughput and this as a fraction of the best; and how many are left out.

    The best are first, and the middle of many is left out.
    """
    ranked = sorted(workers.items(), key=lambda item: (-item[1].megapixels_per_s, item[0]))
    fastest = max((worker.megapixels_per_s for worker in workers.values()), default=0.0) or 1.0
    rows = [(name, worker, worker.megapixels_per_s / fastest) for name, worker in ranked]
    if len(rows) <= _MAX_WORKERS:
        return rows, 0
    return rows[: _MAX_WORKERS // 2] + rows[-_MAX_WORKERS // 2 :], len(rows) - _MAX_WORKERS


def _other_warnings(record: RegionRecord) -> list[str]:
    """Return the warnings without failures, which have a table of their own."""
    reasons = tuple(failure["reason"] for failure in record.numbers["failures"])
    others = [warning for warning in record.warnings if not (reasons and warning.endswith(reasons))]
    if len(others) <= _MAX_WARNINGS:
        return others
    return [*others[:_MAX_WARNINGS], f"{len(others) - _MAX_WARNINGS:,} more are in the log."]


def _charts(record: RegionRecord) -> dict[str, str]:
    """Return the charts, of which those with too few numbers are empty."""
    charts = {"map": _map(record), "points": "", "blocks": ""}
    if len(record.points) >= 3:
        times_s, megapixels = zip(*record.points)
        mapped = Series("mapped", np.divide(times_s, 60), megapixels, GREEN)
        charts["points"] = line_chart("Megapixels mapped by time", [mapped], "minutes since the start", "megapixels")
    if len(record.block_s) >= 3:
        charts["blocks"] = histogram("Time of a block", record.block_s, "seconds", "blocks", SKY)
    return charts


def _duration(seconds: float) -> str:
    """Return a time in its usual unit."""
    if seconds < 100:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:,.1f} h"
