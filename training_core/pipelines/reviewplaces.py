"""The job reviewplaces: places of a network that are worth to be reviewed, from its lines and the probability of road.

Scope: inputs and outputs. Places are found and ranked in `review_places`.
"""

from __future__ import annotations

from typing import Any

import geopandas
import numpy as np
import pyproj
import shapely

from ..comparison.review_places import Places, doubtful_places, expected_error, missing_places, ranked
from ..errors import ImageryError, LayerError
from ..events import Reporter
from ..geodata.antimeridian import middle_of, settled
from ..geodata.fields import check_numbers, numbers_in, widths_m_in
from ..geodata.grid import grid_of
from ..geodata.parallel_arrays import concatenated, selected
from ..geodata.rasters import open_raster
from ..geodata.road_raster import band_raster
from ..geodata.shapes import crs_of
from ..geodata.sources import with_sources
from ..geodata.vector_output import check_vector_output
from ..geodata.vectors import require_features, require_fields
from ..jobs import ReviewPlaces
from ..jobs.fields import word_in
from ..jobs.review import DRAWN, MISSING, REVIEWED, STATUS
from ..networks.lines import LineFields, lines_in, read_line_layer, shared_plane
from ..networks.network_tables import write_tables
from ..system.outputs import Outputs

_PURPOSE = "road network"
_PROBABILITY = "road_probability"


def run(job: ReviewPlaces, reporter: Reporter) -> dict[str, Any]:
    """Run the job and return its result; see `jobs.ReviewPlaces`."""
    for path in filter(None, (job.places, job.hectares)):
        check_vector_output(path, 2 if job.places == job.hectares else 1)
    with Outputs(with_sources([job.lines, job.probability])) as outputs:
        paths, staged = outputs.stage_fields(job, "places", "hectares")
        reporter.progress(0, "Reading")
        layer = read_line_layer(job.lines, _PURPOSE, LineFields(), reporter)
        require_features(layer, job.lines, _PURPOSE)
        plane = shared_plane(layer, of=job.lines)
        doubtful = _doubtful(layer, plane, job, reporter)
        found = doubtful
        if job.probability:
            reporter.progress(0.1, "Looking for missing roads")
            missing = _missing(lines_in(plane, layer, LineFields()).shapes, plane, job, reporter.part(0.1, 0.9))
            found = concatenated(doubtful, missing)
        reporter.progress(0.9, "Writing")
        tables = {"places": ranked(found, layer.index.to_numpy() + 1, plane)}
        if "hectares" in staged:
            tables["hectares"] = expected_error(found, plane)
        tables = {name: settled(table.to_crs(layer.crs), middle_of(layer)) for name, table in tables.items()}
        write_tables(tables, staged, {"places": "LineString", "hectares": "Polygon"})
    is_missing = found.kind == MISSING
    numbers = {"doubtful": int((~is_missing).sum()), "missing": int(is_missing.sum())}
    expected = {"false_m": float(found.error_m[~is_missing].sum()), "missing_m": float(found.error_m[is_missing].sum())}
    reporter.log(
        f"Places: {numbers['doubtful']:,} doubtful, {numbers['missing']:,} missing. Expected error: "
        f"{expected['false_m']:,.0f} m of false roads; candidates for {expected['missing_m']:,.0f} m of missing ones."
    )
    return {**paths, **numbers, **expected}


def _doubtful(layer: geopandas.GeoDataFrame, plane: pyproj.CRS, job: ReviewPlaces, reporter: Reporter) -> Places:
    """Return the stretches of lines that nobody has judged, and whose probability is known."""
    require_fields(layer, (_PROBABILITY,), job.lines, _PURPOSE)
    check_numbers(layer, _PROBABILITY, job.lines, _PURPOSE, reporter)
    probability = numbers_in(layer[_PROBABILITY])
    is_known = (probability >= 0) & (probability <= 1)
    if not is_known.any():
        raise LayerError(
            f"No line of the {_PURPOSE} ({job.lines}) has a {_PROBABILITY} from 0 to 1.",
            "Choose roads that were extracted from a probability, not from a mask.",
        )
    if not is_known.all():
        reporter.warning(
            f"{(~is_known).sum():,} of {len(layer):,} lines have no {_PROBABILITY} from 0 to 1. They are left out."
        )
    is_judged = np.zeros(len(layer), dtype=bool)
    if STATUS in layer:
        is_judged = layer[STATUS].map(word_in).isin((REVIEWED, DRAWN)).to_numpy()
        reporter.log(f"{is_judged.sum():,} lines are reviewed or drawn, so they are not asked again.")
    lines = lines_in(plane, layer, LineFields())
    lines = selected(lines, (is_known & ~is_judged)[lines.feature])
    widths_m = widths_m_in(layer, "width_m")[lines.feature]
    places = doubtful_places(lines, probability[lines.feature], widths_m, job.max_length_m)
    return Places(places.shapes, places.kind, places.chance, lines.feature[places.line], places.width_m)


def _missing(network: np.ndarray, plane: pyproj.CRS, job: ReviewPlaces, reporter: Reporter) -> Places:
    with open_raster(job.probability) as dataset:
        grid = grid_of(dataset)
        outline = geopandas.GeoSeries([grid.outline], crs=crs_of(grid)).to_crs(plane).iloc[0]
        if not shapely.intersects(network, outline).any():
            raise LayerError(
                f"No line of the {_PURPOSE} ({job.lines}) lies on the road probability ({job.probability}).",
                "Choose the probability of the image from which the network was extracted.",
            )
        raster = band_raster(dataset, job.candidate_probability, reporter)
        if raster.threshold is None:
            raise ImageryError(
                f"{job.probability} is a mask, not a road probability.",
                "Choose the probability that Segment roads wrote, or none.",
            )
        return missing_places(network, raster, grid, plane, reporter)
