"""Fit the probability that a road runs along a link between dead ends and roads (`networks/link_prediction.py`).

With PYTHON as `make -s runtime-python` prints it:

    PYTHON benchmarks/connecting.py FITTED --prepare --groups good massachusetts dubai
    PYTHON benchmarks/connecting.py HELD_OUT --prepare --seed 200 --groups good
    PYTHON scripts/networks/fit_links.py FITTED --held-out HELD_OUT

That is on scenes and real ground as the starter sees them, but on none that the benchmark scores as real scenes.
Prepare folders anew when the starter or its threshold changes. It prints the coefficients, and how often links of each
probability are roads where they were not fitted, beside what the coefficients so far say. A link is one where 85 % of
it lie within 4 m of a true road. Each raster has the same weight.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import shapely

from benchmarks.connecting_rasters import Case
from scripts.networks import fitting
from training_core.events import Reporter
from training_core.extraction.road_extraction import trace_roads
from training_core.geodata.grid import grid_of
from training_core.geodata.rasters import open_raster
from training_core.geodata.road_raster import band_raster
from training_core.jobs import Vectorize
from training_core.networks.link_prediction import COEFFICIENTS

SHARE = 0.85
# Short straight gaps, which are joined before, are links like others here: without them there are few.
UNJOINED = Vectorize(gap_m=0.0, snap_m=0.0)


def links_of(case: Case, folder: Path) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Return the features of the links of a raster, and which of them are roads."""
    with open_raster(str(folder / case.raster)) as dataset:
        grid = grid_of(dataset)
        links = trace_roads(band_raster(dataset, case.threshold), grid.pixel_m, UNJOINED, Reporter()).connected.links
    lines, near = links.paths.shapes(), fitting.near_true_roads(folder / case.truth, grid)
    return links.features, shapely.length(shapely.intersection(lines, near)) >= SHARE * shapely.length(lines)


if __name__ == "__main__":
    fitting.main(__doc__, links_of, COEFFICIENTS)
