"""The job roadstatus: the state of known roads after an event, stretch by stretch.

Scope: layers, images and the model. Independent of how a state is found; see `comparison.road_state`.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import asdict, replace
from datetime import datetime
from functools import partial
from itertools import compress
from typing import Any, Optional

import geopandas
import numpy as np
import pyproj
import shapely
from shapely.geometry.base import BaseGeometry

from ..comparison.alignment import along, arrows_of, field_in_view, told
from ..comparison.changes import shapes_of
from ..comparison.covered_roads import given_cover, water_along, without_covered
from ..comparison.road_state import Seen, Stretches, View, aligned, groups_of, look, places_on, stretches_of
from ..comparison.status_pictures import find_swipes
from ..comparison.status_results import Asked, Results, Summary, find_results, read_asked, summarize
from ..errors import LayerError
from ..events import Reporter
from ..geodata.antimeridian import middle_of, settled
from ..geodata.fields import check_numbers, widths_m_in
from ..geodata.grid import grid_of, is_on_grid, pixels_on
from ..geodata.image_dates import DatedImage, newest_first
from ..geodata.pixel_codes import NO_DATA
from ..geodata.rasters import open_image
from ..geodata.sources import expand, source_name, with_sources
from ..geodata.vector_output import check_vector_output
from ..geodata.vectors import carried_fields, read_area, read_polygons, require_features, require_fields
from ..geodata.water_index import green_band
from ..jobs import RoadStatus
from ..jobs.fields import word_in
from ..jobs.status import IN_HAZARD, STATE, STATES
from ..models.loading import load_model
from ..networks.displacement import Field
from ..networks.lines import (
    LineFields,
    Lines,
    area_in,
    as_in_file,
    drawn_places,
    lines_in,
    read_line_layer,
    shared_plane,
    without_copies,
)
from ..networks.network_tables import write_tables
from ..networks.road_graph import RoadGraph, as_drawn
from ..reports.status_report import StatusRecord, write_status_report
from ..segmentation.measured import seconds_per_px
from ..segmentation.segmenter import prepare_segmenter, segmented
from ..segmentation.work_plan import check_size, plan_image, plan_work
from ..system.large_arrays import allocate
from ..system.outputs import Outputs

_PURPOSE = "known roads"
# A model that sees less of the known roads is of little use.
_FEW_SEEN = 0.5
# A message names so many images.
_NAMED = 5
_NUMBERS = ("lost_probability", "evidence", "beside", "expected", "evidence_before")


def run(job: RoadStatus, reporter: Reporter) -> dict[str, Any]:
    """Run the job and return its result; see `jobs.RoadStatus`."""
    written = list(filter(None, (job.status, job.reached, job.arrows)))
    for path in written:
        check_vector_output(path, written.count(path))
    rasters = filter(None, [job.raster, *job.rasters, job.before, job.water, job.clouds])
    read = [*with_sources(rasters), job.lines, job.hazards, job.aoi, job.sites, job.districts, job.model]
    with Outputs(read) as outputs:
        paths, staged = outputs.stage_fields(job, "status", "reached", "arrows", "report")
        reporter.progress(0, "Reading")
        layer, roads, plane = _known_roads(job, reporter)
        asked = read_asked(job, roads, plane, reporter)
        after = newest_first(expand([job.raster, *job.rasters]), job.dates)
        stretches, field, after = _stretches(job, layer, roads, after, plane, reporter)
        reporter.progress(0.96, "Finding what they mean")
        results = find_results(job, asked, roads, stretches, reporter)
        table = _table(layer, roads, stretches, {**_decided_by(stretches, after), **results.fields}, plane, reporter)
        _warn(table, job, reporter)
        tables = {"status": table, "arrows": _arrows(layer, roads, field, plane), "reached": results.reached}
        write_tables(tables, staged, {"status": "LineString", "arrows": "LineString", "reached": "Point"})
        if "report" in staged:
            summary = summarize(job, layer, table, shapes_of(roads, stretches.intervals), asked)
            record = _record(job, summary, results, asked, after, plane, reporter)
            write_status_report(record, staged["report"])
    lengths_m = table.groupby(STATE)["length_m"].sum()
    numbers = {"length_m": float(lengths_m.sum())}
    numbers |= {f"{state.replace(' ', '_')}_m": float(lengths_m.get(state, 0.0)) for state in STATES}
    reporter.log("; ".join(f"{state} {lengths_m[state]:,.0f} m" for state in STATES if state in lengths_m) + ".")
    return {**paths, **numbers, **results.numbers}


def _known_roads(job: RoadStatus, reporter: Reporter) -> tuple[geopandas.GeoDataFrame, RoadGraph, pyproj.CRS]:
    """Return the layer of known roads as read, its lines as drawn, and the plane in which these lie."""
    fields, of_lines = (job.class_field, job.width_field), LineFields(job.lines_bridge_field)
    layer = read_line_layer(job.lines, _PURPOSE, of_lines, reporter, filter(None, fields))
    require_features(layer, job.lines, _PURPOSE)
    require_fields(layer, fields, job.lines, _PURPOSE)
    check_numbers(layer, job.width_field, job.lines, _PURPOSE, reporter)
    plane = shared_plane(layer, of=job.lines)
    return layer, as_drawn(without_copies(lines_in(plane, layer, of_lines))), plane


def _stretches(
    job: RoadStatus, layer: geopandas.GeoDataFrame, roads: RoadGraph, after: list[DatedImage], plane: pyproj.CRS,
    reporter: Reporter,
) -> tuple[Stretches, Optional[Field], list[DatedImage]]:  # fmt: skip
    """Return the stretches of known roads, how these move onto the newest image, and the images that show them."""
    area = area_in(plane, read_area(job.aoi)) if job.aoi else None
    hazards = shapely.Polygon()
    if job.hazards:
        hazards = area_in(plane, read_polygons(job.hazards, "hazards", reporter))
    places = places_on(roads)
    points = roads.points_at(places)
    covers = {
        what: given_cover(path, what, points, plane, reporter)
        for path, what in ((job.water, "water"), (job.clouds, "clouds"))
        if path
    }
    _, newest = after[0]
    after, looks, fields = _looks(job, after, roads, area, plane, reporter)
    before = looks.pop() if job.before else None
    latest = [field for (_, moment), field in zip(after, fields) if _are_of_one_day(moment, newest)]
    given = {what: [cover(aligned(points, field)) for field in latest] for what, cover in covers.items()}
    for what in (what for what, masks in given.items() if not np.any(masks)):
        reporter.warning(f"No part of the {_PURPOSE} ({job.lines}) lies in the {what} ({getattr(job, what)}).")
    looks = without_covered(looks, before, roads.lines.bridge[places.edge], **given)
    reporter.progress(0.95, "Finding states")
    groups = _groups(layer, roads.lines, job)
    found = stretches_of(roads, places, looks, before, groups, area, hazards, job.min_stretch_m)
    return found, fields[0], after


def _are_of_one_day(moment: Optional[datetime], other: Optional[datetime]) -> bool:
    return moment is other or bool(moment and other and moment.date() == other.date())


def _record(
    job: RoadStatus, summary: Summary, results: Results, asked: Asked, after: list[DatedImage], plane: pyproj.CRS,
    reporter: Reporter,
) -> StatusRecord:  # fmt: skip
    """Return the content of the report."""
    images = [image for image, _ in after]
    return StatusRecord(
        options=asdict(job),
        images=[source_name(image) for image in images],
        summary=summary,
        results=results,
        sites=asked.sites,
        swipes=find_swipes(summary, list(filter(None, [job.before])), images, plane),
        warnings=reporter.warnings,
    )


def _warn(table: geopandas.GeoDataFrame, job: RoadStatus, reporter: Reporter) -> None:
    """Warn of hazards without a road, of images that contradict each other, and of a model that sees few roads."""
    if job.hazards and not (table[STATE] == IN_HAZARD).any():
        reporter.warning(f"No part of the {_PURPOSE} ({job.lines}) lies in the hazards ({job.hazards}).")
    contradicted_m = table["length_m"][table["contradicted_by"].notna()].sum()
    if contradicted_m > 0:
        reporter.warning(
            f"Images after the event contradict each other along {contradicted_m:,.0f} m (contradicted_by). The newest "
            "one counts: a road may have been lost or cleared since."
        )
    known_m, seen_m = (table["length_m"][chosen].sum() for chosen in (table["evidence"].notna(), table["evidence"] > 0))
    if seen_m < _FEW_SEEN * known_m:
        reporter.warning(
            f"The model sees only {seen_m / known_m:.0%} of the {_PURPOSE} that the image shows, so few lost roads "
            "will be found. Check that the lines lie within some 15 m of the roads, or choose a model that was "
            "fine-tuned on this image."
        )


def _looks(
    job: RoadStatus, after: list[DatedImage], roads: RoadGraph, area: Optional[BaseGeometry], plane: pyproj.CRS,
    reporter: Reporter,
) -> tuple[list[DatedImage], list[Seen], list[Optional[Field]]]:  # fmt: skip
    """Return the images after that show known roads, and what each of them, and last the one before, shows along these.

    And the fields that move the roads onto those in each. What is under water is so by the index.
    """
    places, polygons = places_on(roads), read_area(job.aoi) if job.aoi else None
    points = roads.points_at(places)
    inside = points if area is None else points[shapely.contains_xy(area, points)]
    before: list[DatedImage] = [(job.before, None)] if job.before else []
    after, before = (
        _showing(images, [_is_on(image, inside, plane, job) for image, _ in images], "", job, reporter)
        for images in (after, before)
    )
    looks, fields, images = [], [], [*after, *before]
    for number, (image, _) in enumerate(images):
        begin, end = (0.95 * each / len(images) for each in (number, number + 1))
        view = _view(image, polygons, job, reporter.part(begin, end))
        fields.append(field_in_view(view, roads, plane))
        seen, there = look(view, roads, places, plane, job.reach_m, fields[-1]), aligned(points, fields[-1])
        wet = water_along(image, job.near_infrared, there, plane, reporter.check_cancelled)
        looks.append(replace(seen, under_water=wet))
        if fields[-1]:
            reporter.log(f"{source_name(image)}: the {_PURPOSE} are offset by {told(along(fields[-1], roads))}.")
    shows = [bool(np.isfinite(each.along).any()) for each in looks]
    _showing(before, shows[len(after) :], " where it has data", job, reporter)
    after = _showing(after, shows[: len(after)], " where it has data", job, reporter)
    return after, list(compress(looks, shows)), list(compress(fields, shows))


def _view(image: str, area: Optional[geopandas.GeoDataFrame], job: RoadStatus, reporter: Reporter) -> View:
    """Return the probability of road in an image, or in an area of it, by the job's model."""
    model, card = load_model(job.model)
    plan = plan_image(image, area, card.input)
    check_size([plan])
    segmenter = prepare_segmenter(model, card, [plan], job, reporter)
    work = plan_work([plan], segmenter.tiles, partial(seconds_per_px, segmenter.predictor))
    reporter.log(str(work))
    probability = allocate((plan.grid.height, plan.grid.width), np.uint8)
    probability[:] = NO_DATA
    with closing(segmented(work, segmenter, reporter)) as tiles:
        for _, tile, found in tiles:
            probability[tile.destination] = found.probability
    return View(probability, plan.grid, segmenter.threshold)


def _is_on(image: str, points: np.ndarray, plane: pyproj.CRS, job: RoadStatus) -> bool:
    """Return whether points, (n, 2) float64 in a plane, lie on an image; raise ImageryError if its bands do not fit."""
    with open_image(image) as dataset:
        if job.near_infrared:
            green_band(dataset, job.near_infrared)
        grid = grid_of(dataset)
        return bool(is_on_grid(grid, pixels_on(grid, plane)(points)).any())


def _showing(
    images: list[DatedImage], shows: list[bool], where: str, job: RoadStatus, reporter: Reporter
) -> list[DatedImage]:
    """Return the images that show known roads, and warn of others; raise LayerError if there are only these."""
    others = [image for (image, _), is_shown in zip(images, shows) if not is_shown]
    inside, plural = " in the area of interest" if job.aoi else "", "s" * (len(others) > 1)
    names = ", ".join(others[:_NAMED]) + (f" and {len(others) - _NAMED} more" if len(others) > _NAMED else "")
    message = f"No part of the {_PURPOSE} ({job.lines}){inside} lies on the image{plural} {names}{where}."
    if others and len(others) == len(images):
        raise LayerError(message, "Choose lines and images of the same place, and check their coordinate systems.")
    if others:
        reporter.warning(f"{message} {'They are' if plural else 'It is'} left out.")
    return list(compress(images, shows))


def _arrows(
    layer: geopandas.GeoDataFrame, roads: RoadGraph, field: Optional[Field], plane: pyproj.CRS
) -> geopandas.GeoDataFrame:
    """Return arrows from the roads to where they are in the image, in the layer's CRS."""
    shapes = arrows_of(field, roads) if field else np.zeros(0, dtype=object)
    table = geopandas.GeoDataFrame({"offset_m": shapely.length(shapes)}, geometry=shapes, crs=plane)
    return settled(table.to_crs(layer.crs), middle_of(layer))


def _groups(layer: geopandas.GeoDataFrame, lines: Lines, job: RoadStatus) -> tuple[np.ndarray, ...]:
    """Return the groups of alike lines; see `groups_of`."""
    classes, width_m = np.full(len(layer), "", dtype=object), np.full(len(layer), np.nan)
    if job.class_field:
        classes = layer[job.class_field].map(word_in).to_numpy(dtype=object)
    if job.width_field:
        width_m = widths_m_in(layer, job.width_field)
    return groups_of(classes[lines.feature], width_m[lines.feature])


def _decided_by(stretches: Stretches, after: list[DatedImage]) -> dict[str, np.ndarray]:
    """Return the fields that tell which image decided, and which contradicts it: (n,) object each."""
    # The last one stands for no image.
    names = np.array([*(source_name(image) for image, _ in after), None], dtype=object)
    dates = np.array([*(moment and moment.date().isoformat() for _, moment in after), None], dtype=object)
    return {
        "image": names[stretches.image],
        "image_date": dates[stretches.image],
        "contradicted_by": names[stretches.contradicted_by],
    }


def _table(
    layer: geopandas.GeoDataFrame, roads: RoadGraph, stretches: Stretches, fields: Mapping[str, Any],
    plane: pyproj.CRS, reporter: Reporter,
) -> geopandas.GeoDataFrame:  # fmt: skip
    """Return the stretches with their state and the fields of their lines, in the layer's CRS."""
    feature = roads.lines.feature[stretches.intervals.edge]
    shapes = as_in_file(shapes_of(roads, stretches.intervals), drawn_places(layer, plane))
    made = {
        STATE: stretches.state,
        **{name: getattr(stretches, name) for name in _NUMBERS},
        **fields,
        "length_m": shapely.length(shapes),
        "line": layer.index.to_numpy()[feature] + 1,
    }
    rows, carried = layer.iloc[feature], carried_fields(layer, made, reporter)
    columns = {name: rows[field].array for name, field in carried.items()}
    table = geopandas.GeoDataFrame({**made, **columns}, geometry=shapes, crs=plane)
    return settled(table.to_crs(layer.crs), middle_of(layer))
