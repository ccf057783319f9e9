"""The job roadstatus: the state of known roads after an event, stretch by stretch.

Scope: layers, images and the model. Independent of how a state is found; see `comparison.road_state`.
"""

from __future__ import annotations

from contextlib import closing
from functools import partial
from typing import Any

import geopandas
import numpy as np
import pyproj
import shapely

from ..comparison.changes import shapes_of
from ..comparison.covered_roads import given_along, ground_cover_along, without_covered
from ..comparison.road_state import (
    Seen,
    Stretches,
    View,
    groups_of,
    look,
    places_on,
    stretches_of,
)
from ..errors import LayerError
from ..events import Reporter
from ..geodata.antimeridian import middle_of, settled
from ..geodata.fields import check_numbers, widths_m_in
from ..geodata.image_dates import DatedImage, newest_first
from ..geodata.pixel_codes import NO_DATA
from ..geodata.sources import expand, source_name, with_sources
from ..geodata.vector_output import check_vector_output, write_layers
from ..geodata.vectors import carried_fields, read_area, read_polygons, require_features, require_fields
from ..jobs import RoadStatus
from ..jobs.fields import word_in
from ..jobs.status import IN_HAZARD, STATE, STATES
from ..models.loading import load_model
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
from ..networks.road_graph import RoadGraph, as_drawn
from ..segmentation.measured import seconds_per_px
from ..segmentation.segmenter import prepare_segmenter, segmented
from ..segmentation.work_plan import check_size, no_data, plan_image, plan_work
from ..system.large_arrays import allocate
from ..system.outputs import Outputs

_PURPOSE = "known roads"
# A model that sees less of the known roads is of little use.
_FEW_SEEN = 0.5
_NUMBERS = ("lost_probability", "evidence", "beside", "expected", "evidence_before")


def run(job: RoadStatus, reporter: Reporter) -> dict[str, Any]:
    """Run the job and return its result; see `jobs.RoadStatus`."""
    check_vector_output(job.status)
    images = [job.raster, *job.rasters, *filter(None, [job.before])]
    layers = [job.lines, job.hazards, job.aoi, *with_sources(filter(None, [job.water, job.clouds]))]
    with Outputs([*with_sources(images), *layers, job.model]) as outputs:
        staged = outputs.stage(job.status)
        reporter.progress(0, "Reading")
        fields, roles = (job.class_field, job.width_field), LineFields(bridge=job.lines_bridge_field)
        layer = read_line_layer(job.lines, _PURPOSE, roles, reporter, filter(None, fields))
        require_features(layer, job.lines, _PURPOSE)
        require_fields(layer, fields, job.lines, _PURPOSE)
        check_numbers(layer, job.width_field, job.lines, _PURPOSE, reporter)
        plane = shared_plane(layer, of=job.lines)
        area = area_in(plane, read_area(job.aoi)) if job.aoi else None
        hazards = shapely.Polygon()
        if job.hazards:
            hazards = area_in(plane, read_polygons(job.hazards, "hazards", reporter))
        roads = as_drawn(without_copies(lines_in(plane, layer, roles)))
        after = newest_first(expand([job.raster, *job.rasters]), job.dates)
        images = [*(image for image, _ in after), *filter(None, [job.before])]
        grounds, given = _grounds(images, roads, plane, job, reporter)
        looks = without_covered(_looks(images, roads, plane, job, reporter), grounds, roads, bool(job.before), *given)
        before = looks.pop() if job.before else None
        reporter.progress(0.95, "Finding states")
        groups = _groups(layer, roads.lines, job)
        stretches = stretches_of(roads, places_on(roads), looks, before, groups, area, hazards, job.min_stretch_m)
        table = _table(layer, roads, stretches, after, plane, reporter)
        write_layers(staged, {"status": table}, {"status": "LineString"})
    _warn(table, job, reporter)
    lengths_m = table.groupby(STATE)["length_m"].sum()
    numbers = {"length_m": float(lengths_m.sum())}
    numbers |= {f"{state.replace(' ', '_')}_m": float(lengths_m.get(state, 0.0)) for state in STATES}
    reporter.log("; ".join(f"{state} {lengths_m[state]:,.0f} m" for state in STATES if state in lengths_m) + ".")
    return {"status": job.status, **numbers}


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
            "will be found. Choose a larger reach (reach_m) if the lines are displaced, or a model that was fine-tuned "
            "on this image."
        )


def _looks(images: list[str], roads: RoadGraph, plane: pyproj.CRS, job: RoadStatus, reporter: Reporter) -> list[Seen]:
    """Return what each image shows along the roads; raise LayerError if one shows none of their ground."""
    looks, places = [], places_on(roads)
    for number, image in enumerate(images):
        share = 0.95 / len(images)
        view = _view(image, job, reporter.part(number * share, (number + 1) * share))
        looks.append(look(view, roads, places, plane, job.reach_m))
        if not looks[-1].is_inside.any():
            raise LayerError(
                f"No part of the {_PURPOSE} ({job.lines}) lies on the image {image}.",
                "Choose lines and images of the same place, and check their coordinate systems.",
            )
    return looks


def _view(image: str, job: RoadStatus, reporter: Reporter) -> View:
    """Return the probability of road in an image."""
    model, card = load_model(job.model)
    plan = plan_image(image, read_area(job.aoi) if job.aoi else None, card.input)
    check_size([plan])
    segmenter = prepare_segmenter(model, card, [plan], job, reporter)
    work = plan_work([plan], segmenter.tiles, partial(seconds_per_px, segmenter.predictor))
    reporter.log(str(work))
    probability = allocate((plan.grid.height, plan.grid.width), np.uint8)
    probability[:] = NO_DATA
    with closing(segmented(work, segmenter, reporter)) as tiles:
        for _, tile, found in tiles:
            probability[tile.destination] = found.probability
    if not (probability != NO_DATA).any():
        raise no_data(plan)
    return View(probability, plan.grid, segmenter.threshold)


def _grounds(
    images: list[str], roads: RoadGraph, plane: pyproj.CRS, job: RoadStatus, reporter: Reporter
) -> tuple[list[np.ndarray], tuple[np.ndarray | None, ...]]:
    """Return the ground cover along the roads in each image, and where the water and clouds lie that are given."""
    places, check = places_on(roads), reporter.check_cancelled
    given = tuple(
        given_along(path, what, roads, places, plane, reporter) if path else None
        for path, what in ((job.water, "water"), (job.clouds, "clouds"))
    )
    return [ground_cover_along(each, job.near_infrared, roads, places, plane, check) for each in images], given


def _groups(layer: geopandas.GeoDataFrame, lines: Lines, job: RoadStatus) -> tuple[np.ndarray, ...]:
    """Return the groups of alike lines; see `groups_of`."""
    classes, width_m = np.full(len(layer), "", dtype=object), np.full(len(layer), np.nan)
    if job.class_field:
        classes = layer[job.class_field].map(word_in).to_numpy(dtype=object)
    if job.width_field:
        width_m = widths_m_in(layer, job.width_field)
    return groups_of(classes[lines.feature], width_m[lines.feature])


def _table(
    layer: geopandas.GeoDataFrame, roads: RoadGraph, stretches: Stretches, after: list[DatedImage], plane: pyproj.CRS,
    reporter: Reporter,
) -> geopandas.GeoDataFrame:  # fmt: skip
    """Return the stretches with their state and the fields of their lines, in the layer's CRS."""
    # The last one stands for no image.
    names = np.array([*(source_name(image) for image, _ in after), None], dtype=object)
    dates = np.array([*(moment and moment.date().isoformat() for _, moment in after), None], dtype=object)
    feature = roads.lines.feature[stretches.intervals.edge]
    shapes = as_in_file(shapes_of(roads, stretches.intervals), drawn_places(layer, plane))
    made = {
        STATE: stretches.state,
        **{name: getattr(stretches, name) for name in _NUMBERS},
        "image": names[stretches.image],
        "image_date": dates[stretches.image],
        "contradicted_by": names[stretches.contradicted_by],
        "length_m": shapely.length(shapes),
        "line": layer.index.to_numpy()[feature] + 1,
    }
    rows, carried = layer.iloc[feature], carried_fields(layer, made, reporter)
    columns = {name: rows[field].array for name, field in carried.items()}
    table = geopandas.GeoDataFrame({**made, **columns}, geometry=shapes, crs=plane)
    return settled(table.to_crs(layer.crs), middle_of(layer))
