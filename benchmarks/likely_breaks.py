"""How many of the first likely breaks are real, where gaps were planted.

Run with the runtime's Python: `$(make -s runtime-python) benchmarks/likely_breaks.py FOLDER`, the folder being one that
`benchmarks/connecting.py --prepare` has written. In each raster of probability, gaps are cut into true roads that are
seen: over 20 to 40 m, the probability is that of the background. Some are joined by the extraction all the same; of the
others, those that the layer of likely breaks names first are counted.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import geopandas
import numpy as np
import rasterio.features
import shapely
import shapely.ops

from benchmarks.connecting_rasters import Case, read_cases
from scripts.networks.fitting import in_plane
from training_core.events import Reporter
from training_core.extraction.road_extraction import extract_network
from training_core.geodata.grid import Grid, grid_of
from training_core.geodata.rasters import open_raster
from training_core.geodata.road_raster import array_raster
from training_core.jobs import Vectorize

GAPS, FIRST = 10, 10
LENGTH_M, APART_M, EDGE_M = (20.0, 40.0), 120.0, 45.0
NEAR_M = 15.0


def main() -> None:
    """Print the counts for each raster."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--group", default="good")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    print("raster                planted  joined  named  of the first ten planted  ... or true roads")
    for case in read_cases(arguments.folder):
        if case.group == arguments.group:
            show(case, arguments.folder, np.random.default_rng(arguments.seed))


def show(case: Case, folder: Path, rng: np.random.Generator) -> None:
    """Print how many planted gaps of a raster are found."""
    with open_raster(str(folder / case.raster)) as dataset:
        grid = grid_of(dataset)
        probability = dataset.read(1, masked=True)
    known = ~np.ma.getmaskarray(probability)
    values = probability.filled(0).astype(np.float32)
    values = values / 254 if values.max() > 1 else values
    roads = in_plane(geopandas.read_file(folder / case.truth).to_crs(grid.crs).geometry, grid)
    gaps = list(planted(values, case.threshold, roads, grid, rng))
    network = extract_network(array_raster(values, known, threshold=case.threshold), grid, Vectorize(), Reporter())
    breaks = in_plane(network.breaks.geometry, grid)
    middles = shapely.line_interpolate_point(np.array(gaps), 0.5, normalized=True)
    drawn = shapely.STRtree(in_plane(network.roads.geometry, grid))
    is_joined = np.isin(np.arange(len(gaps)), drawn.query(middles, predicate="dwithin", distance=6.0)[0])
    left = middles[~is_joined]
    near, which = shapely.STRtree(breaks).query(left, predicate="dwithin", distance=NEAR_M)
    first = len(np.unique(which[which < FIRST]))
    true = shapely.STRtree(roads).query(breaks[:FIRST], predicate="dwithin", distance=6.0)[0]
    print(f"{case.raster:22}{len(gaps):7}{is_joined.sum():8}{len(np.unique(near)):7}{first:12}{len(np.unique(true)):14}",
          flush=True)  # fmt: skip


def planted(
    values: np.ndarray, threshold: float, roads: np.ndarray, grid: Grid, rng: np.random.Generator
) -> Iterator[shapely.LineString]:
    """Cut gaps into a probability, (height, width), and yield them as lines in the plane of its roads."""
    lower = np.quantile(values[values < threshold], 0.5)
    size_m = np.array(values.shape[::-1]) * grid.pixel_m
    taken: list[shapely.Point] = []
    for _ in range(5000):
        road = roads[rng.choice(len(roads), p=shapely.length(roads) / shapely.length(roads).sum())]
        long_m = rng.uniform(*LENGTH_M)
        if shapely.length(road) < long_m + 2 * EDGE_M:
            continue
        at_m = rng.uniform(EDGE_M, shapely.length(road) - EDGE_M - long_m)
        gap = shapely.ops.substring(road, at_m, at_m + long_m)
        place = gap.interpolate(0.5, normalized=True)
        x, y = place.coords[0]
        inside = EDGE_M < x < size_m[0] - EDGE_M and EDGE_M < y < size_m[1] - EDGE_M
        around = shapely.ops.substring(road, at_m - EDGE_M, at_m + long_m + EDGE_M)
        if not inside or any(place.distance(other) < APART_M for other in taken):
            continue
        seen = shapely.get_coordinates(around.interpolate(np.linspace(0, 1, 30), normalized=True)) / grid.pixel_m
        column, row = np.rint(seen).astype(int).T
        within = (column >= 0) & (row >= 0) & (column < values.shape[1]) & (row < values.shape[0])
        if not within.all() or (values[row, column] < threshold).any():
            continue
        area = shapely.transform(gap.buffer(15, cap_style="flat"), lambda points: points / grid.pixel_m + 0.5)
        mask = rasterio.features.rasterize([area], out_shape=values.shape).astype(bool)
        values[mask & (values > lower)] = lower
        taken.append(place)
        yield gap
        if len(taken) == GAPS:
            break


if __name__ == "__main__":
    main()
