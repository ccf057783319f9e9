"""The job comparenetworks: changes of a road network, and the accessibility of places on it.

Scope: the order of steps, and the record for the report. Reading networks is in `network_pair`, classifying changes
in `changes`, accessibility in `accessibility`, numbers and sentences in `change_results`.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pyproj
import shapely

from ..comparison.accessibility import Points, RouteRules, find_routes, read_points, to_table
from ..comparison.change_results import (
    parts_of,
    summary_sentences,
    to_document,
    to_layer,
    warn_of_loss,
)
from ..comparison.changes import classify_changes
from ..comparison.network_pair import AFTER, BEFORE, read_pair
from ..comparison.passable_roads import ComparedRoads, ways_on
from ..errors import LayerError
from ..events import Reporter
from ..geodata.vector_output import check_vector_output
from ..geodata.vectors import read_polygons
from ..jobs import CompareNetworks
from ..networks.lines import area_in
from ..networks.network_tables import write_tables
from ..reports.change_report import ChangesRecord, write_changes_report
from ..system.outputs import Outputs, write_json
from ..system.work import Stages


def run(job: CompareNetworks, reporter: Reporter) -> dict[str, Any]:
    """Run the job and return its result; see `jobs.CompareNetworks`."""
    for path in filter(None, (job.changes, job.reached)):
        check_vector_output(path, 2 if job.changes == job.reached else 1)
    stages = Stages(reporter)
    with Outputs([job.before, job.after, job.aoi, job.places, job.origins, job.damage]) as outputs:
        paths, staged = outputs.stage_fields(job, "changes", "reached", "report", "numbers")
        with stages.timed("reading", 0, 0.2):
            pair = read_pair(job, reporter)
            points = _points(job, pair.plane, reporter) if job.places else None
            damage = area_in(pair.plane, read_polygons(job.damage, "confirmed damage")) if job.damage else None
            shapely.prepare(damage)
        with stages.timed("comparing lines", 0.2, 0.5):
            segments = dict(zip((BEFORE, AFTER), classify_changes(pair.roads[BEFORE], pair.roads[AFTER], job)))
            warn_of_loss(segments[BEFORE], reporter)
        routes = None
        if points is not None:
            with stages.timed("comparing routes", 0.5, 0.9) as part:
                roads = ComparedRoads(segments[BEFORE], segments[AFTER], pair.outside)
                rules = RouteRules(job.place_m, job.longer_percent, job.tolerance_m, bool(job.before_speed_field))
                routes = find_routes(ways_on(roads, damage, job, part), points, rules, part.part(0.6, 1))
        document = to_document(job, pair, segments, routes)
        sentences = summary_sentences(document)
        for sentence in sentences:
            reporter.log(sentence)
        with stages.timed("writing", 0.9, 1):
            tables = {"changes": to_layer(pair, segments, job, reporter)}
            if points is not None and routes is not None:
                tables["reached"] = to_table(routes, points.layer, reporter)
            write_tables(tables, staged, {"changes": "LineString", "reached": "Point"})
            if "numbers" in staged:
                write_json(staged["numbers"], document)
            if "report" in staged:
                record = ChangesRecord(
                    options=asdict(job),
                    document=document,
                    sentences=sentences,
                    parts=parts_of(segments),
                    points=points,
                    routes=routes,
                    timings_s=stages.timings_s,
                    warnings=stages.reporter.warnings,
                )
                write_changes_report(record, staged["report"])
    return {**paths, **document}


def _points(job: CompareNetworks, plane: pyproj.CRS, reporter: Reporter) -> Points:
    """Read places and origins; raise LayerError if there is only one place and no origin."""
    layers = {"places": (job.places, job.places_name_field)}
    if job.origins:
        layers["origins"] = (job.origins, job.origins_name_field)
    points = read_points(layers, plane, reporter)
    if len(points.points) < 2:
        raise LayerError(
            f"All places ({job.places}) are one point, and there are no origins, so there is no route to compare.",
            "Give origins, or more places.",
        )
    return points
