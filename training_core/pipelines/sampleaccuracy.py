"""The job sampleaccuracy: a random sample of places of a network and an area, for a person to judge.

Scope: layers, the probability raster, and the output. Independent of how places are drawn.
"""

from __future__ import annotations

from typing import Any

import geopandas
import numpy as np
import pyproj
import shapely

from ..comparison.accuracy_sample import WEAK, Cells, cells_in, draw_sample, off_network
from ..errors import ImageryError, LayerError
from ..events import Reporter
from ..geodata.fields import numbers_in
from ..geodata.grid import grid_of, is_on_grid, pixels_on
from ..geodata.rasters import open_raster
from ..geodata.road_raster import band_raster
from ..geodata.sources import with_sources
from ..geodata.vector_output import check_vector_output, write_layers
from ..geodata.vectors import read_area, require_features, with_names
from ..jobs import SampleAccuracy
from ..jobs.accuracy import LENGTH
from ..jobs.accuracy_estimates import CROSSING, SAMPLED
from ..jobs.review import CHANGE
from ..networks.lines import (
    LineFields,
    area_in,
    clipped,
    lines_in,
    read_line_layer,
    shared_plane,
    without_copies,
)
from ..system.outputs import Outputs

_PURPOSE, _PROBABILITY = "network lines", "road_probability"
# No transect fits into a smaller area.
_MIN_AREA_M2 = 1000.0


def run(job: SampleAccuracy, reporter: Reporter) -> dict[str, Any]:
    """Run the job and return its result; see `jobs.SampleAccuracy`."""
    check_vector_output(job.sample)
    with Outputs(with_sources([job.lines, job.raster, job.aoi])) as outputs:
        staged = outputs.stage(job.sample)
        reporter.progress(0, "Reading")
        layer = with_names(
            read_line_layer(job.lines, _PURPOSE, LineFields(), reporter), (_PROBABILITY,), job.lines, _PURPOSE
        )
        require_features(layer, job.lines, "road network")
        plane = shared_plane(layer, of=job.lines)
        lines = without_copies(lines_in(plane, layer, LineFields()))
        area = (
            area_in(plane, read_area(job.aoi))
            if job.aoi
            else shapely.convex_hull(shapely.union_all(shapely.convex_hull(lines.shapes)))
        )
        lines = clipped(lines, area)
        if not len(lines) or area.area < _MIN_AREA_M2:
            raise LayerError(
                f"The {_PURPOSE} ({job.lines}) have no part in the area of interest ({job.aoi})."
                if job.aoi
                else f"The {_PURPOSE} ({job.lines}) span almost no area.",
                "Give an area of interest that the network covers (aoi).",
            )
        reporter.progress(0.3, "Dividing the area")
        cells = cells_in(area)
        is_weak = np.zeros(len(cells.centers), dtype=bool)
        if job.raster:
            is_weak = _reach_weak(job.raster, cells, plane, reporter) & off_network(cells, lines)
        reporter.step(0.8, "Drawing places")
        probability = _probability_of(layer)[lines.feature]
        lengths_m = (job.stretch_m, job.transect_m)
        generator = np.random.default_rng(job.seed)
        sample = draw_sample(lines, probability, area, cells, is_weak, job.count, lengths_m, generator)
        table = sample.set_crs(plane).to_crs(layer.crs)
        write_layers(staged, {"sample": table}, {"sample": "LineString"})
    numbers = {
        "stretches": int((sample[CHANGE] == SAMPLED).sum()),
        "transects": int((sample[CHANGE] == CROSSING).sum()),
        "transect_length_m": float(sample[LENGTH][sample[CHANGE] == CROSSING].max()),
        "network_m": float(lines.length_m.sum()),
        "area_m2": area.area,
    }
    reporter.log(
        f"{numbers['stretches']:,} stretches of {numbers['network_m'] / 1000:.2f} km of road, and "
        f"{numbers['transects']:,} transects of {numbers['transect_length_m']:.0f} m across {area.area / 1e6:.3g} km²"
        f"{'' if job.aoi else ', which is the convex hull of the network'}."
    )
    return {"sample": job.sample, **numbers}


def _probability_of(layer: geopandas.GeoDataFrame) -> np.ndarray:
    """Return the road probability of each feature, (n,) float64; NaN where there is none from 0 to 1."""
    if _PROBABILITY not in layer.columns:
        return np.full(len(layer), np.nan)
    values = numbers_in(layer[_PROBABILITY])
    return np.where((values >= 0) & (values <= 1), values, np.nan)


def _reach_weak(path: str, cells: Cells, plane: pyproj.CRS, reporter: Reporter) -> np.ndarray:
    """Return in which cells a probability raster reaches WEAK: (n,) bool.

    Raises ImageryError if it is a mask, or has no data in any cell.
    """
    with open_raster(path) as dataset:
        grid, raster = grid_of(dataset), band_raster(dataset, WEAK, reporter)
        if raster.threshold is None:
            raise ImageryError(
                f"{path} is a mask, not a probability.", "Give the probability of Segment roads, or none."
            )
        # Blocks of half the side of a cell, so that few cells lie between them.
        block_px = max(1, int(cells.side_m / 2 / grid.resolution_m))
        shape = -(-raster.height // block_px), -(-raster.width // block_px)
        columns, is_weak = np.arange(0, raster.width, block_px), np.zeros(shape, dtype=bool)
        for first_row, count in raster.strips():
            reporter.check_cancelled()
            road = np.logical_or.reduceat(raster.road(*raster.read(first_row, count)), columns, axis=1)
            np.logical_or.at(is_weak, (first_row + np.arange(count)) // block_px, road)
    pixels = pixels_on(grid, plane)(cells.centers)
    inside = is_on_grid(grid, pixels)
    if not inside.any():
        raise ImageryError(
            f"{path} does not cover the area of the network.", "Give the probability of this area, or none."
        )
    found = np.zeros(len(inside), dtype=bool)
    column, row = (pixels[inside] / block_px).astype(int).T
    found[inside] = is_weak[row, column]
    return found
