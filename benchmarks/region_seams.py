"""One network from blocks: a city cut into 4 x 4 parts against the undivided one.

Run with the runtime's Python: `$(make -s runtime-python) benchmarks/region_seams.py`. For each kind of generated street
plan the probability that a model might give, with noise and with gaps under trees, is extracted once as a whole and
once in parts that are joined. Printed are the numbers of lines, components and junctions, how far junctions are off,
the difference in length, APLS between both networks, and the time of either way.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from training_core.system import processor

processor.prepare_process()

import geopandas
import numpy as np
import pandas as pd
from scipy.spatial import KDTree
from shapely.geometry import box

from tests.core.support.cities import RESOLUTION_M, city_probability, grid_of_size, raster_of, same_lines
from training_core.comparison.path_scores import score_apls
from training_core.events import Reporter
from training_core.extraction.road_extraction import extract_network
from training_core.geodata.grid import Grid
from training_core.jobs import NetworkOptions
from training_core.networks.lines import make_lines
from training_core.networks.road_graph import RoadGraph, contracted, make_road_graph
from training_core.regions.region_grid import divide, margin_px
from training_core.regions.region_roads import extract_part
from training_core.regions.seams import join_parts, joined_roads, outline

PLANS = ("mixed", "grid", "organic", "radial", "suburb")
OPTIONS = NetworkOptions()
_JOIN_M = 0.01


def main() -> None:
    """Print a line for each plan."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size-px", type=int, default=10_000)
    parser.add_argument("--parts", type=int, default=4, help="along each side")
    parser.add_argument("--seed", type=int, default=5)
    arguments = parser.parse_args()
    print(f"{processor.name()}; {arguments.size_px} x {arguments.size_px} px of {RESOLUTION_M} m")
    print("plan     lines (equal)  components  junctions (off, m)  length, km (off)  APLS      time, s", flush=True)
    for plan in PLANS:
        show(plan, arguments)


def show(plan: str, arguments: argparse.Namespace) -> None:
    """Extract a city both ways, and print what differs."""
    size_px = arguments.size_px
    probability, grid = city_probability(size_px, plan, arguments.seed), grid_of_size(size_px, size_px)
    began_s = time.perf_counter()
    whole = extract_network(raster_of(probability), grid, OPTIONS, Reporter()).roads
    whole_s, began_s = time.perf_counter() - began_s, time.perf_counter()
    parts, mismatches = in_parts(probability, grid, size_px // arguments.parts)
    parts_s = time.perf_counter() - began_s
    same, _ = same_lines(whole, parts)
    graphs = [graph_of(each) for each in (whole, parts)]
    junctions = [each.graph.nodes[each.graph.degree > 2] for each in graphs]
    off_m = KDTree(junctions[0]).query(junctions[1])[0].max()
    lengths_km = [each["length_m"].sum() / 1000 for each in (whole, parts)]
    apls = score_apls(*graphs, Reporter()).score
    components = f"{whole['component'].max()} {parts['component'].max()}"
    print(
        f"{plan:8} {len(whole):6} {len(parts):6} ({same})  {components}"
        f"  {len(junctions[0])} {len(junctions[1])} ({off_m:.3f})  {lengths_km[0]:.2f}"
        f" ({lengths_km[1] / lengths_km[0] - 1:+.4%})  {apls:.5f}  {whole_s:.1f} {parts_s:.1f}"
        f"  mismatches {mismatches}",
        flush=True,
    )


def in_parts(probability: np.ndarray, grid: Grid, side_px: int) -> tuple[geopandas.GeoDataFrame, int]:
    """Return the roads of a probability, (height, width), uint8, extracted in parts; and the mismatches at seams."""
    margin, roads = margin_px(OPTIONS, grid.pixel_m), []
    for part in divide(grid, side_px, [box(0, 0, grid.width, grid.height)]):
        window = part.grown(margin, grid)
        rows = slice(window.row, window.row + window.height)
        raster = raster_of(probability[rows, window.column : window.column + window.width])
        roads.append(extract_part(raster, window, part, grid.pixel_m, OPTIONS, Reporter()))
    outlines = [outline(each) for each in roads]
    joining = join_parts(outlines)
    tables = list(joined_roads(roads, outlines, joining, grid, OPTIONS))
    return pd.concat(tables, ignore_index=True), joining.mismatches


def graph_of(roads: geopandas.GeoDataFrame) -> RoadGraph:
    """Return a network as a graph in meters, without nodes of degree 2."""
    return contracted(make_road_graph(make_lines(roads.geometry.to_numpy()), _JOIN_M))


if __name__ == "__main__":
    main()
