"""Fit the probability that an extracted line is a road (`networks/road_model.py`).

Run with the runtime's Python: `$(make -s runtime-python) scripts/networks/fit_roads.py FITTED --held-out HELD_OUT`; the
folders are those of `fit_links.py`. It prints the coefficients, and how often lines of each probability are roads where
they were not fitted, beside what the coefficients so far say. A line is one where half of it lies within 4 m of a true
road. Each raster has the same weight.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import shapely

from benchmarks.connecting_rasters import Case
from scripts.networks import fitting
from training_core.events import Reporter
from training_core.extraction.line_evidence import seen_along
from training_core.extraction.road_extraction import trace_roads
from training_core.geodata.grid import grid_of
from training_core.geodata.rasters import open_raster
from training_core.geodata.road_raster import band_raster
from training_core.jobs import Vectorize
from training_core.networks.road_model import COEFFICIENTS, features

SHARE = 0.5
ALL = Vectorize(stub_m=0.0)


def lines_of(case: Case, folder: Path) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Return the features of the lines of a raster, and which of them are roads."""
    with open_raster(str(folder / case.raster)) as dataset:
        grid = grid_of(dataset)
        traced = trace_roads(band_raster(dataset, case.threshold), grid.pixel_m, ALL, Reporter())
        known = features(traced.graph, seen_along(traced.graph, traced.surroundings))
    lines, near = traced.graph.shapes(), fitting.near_true_roads(folder / case.truth, grid)
    return known, shapely.length(shapely.intersection(lines, near)) >= SHARE * shapely.length(lines)


if __name__ == "__main__":
    fitting.main(__doc__, lines_of, COEFFICIENTS)
