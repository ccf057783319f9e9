"""Overpasses of generated motorways: junctions as traced, and after *Clean road network* with known bridges.

Run with the runtime's Python: `$(make -s runtime-python) -m benchmarks.overpasses --seeds 0 1 2`. The roads of scenes
of the layout highway are extracted from the mask of the true roads and from what the starter predicts. The true bridges
over roads are displaced by --offset-m, each another way, as a person would draw them. An overpass is right where no
junction is within 8 m of where two true roads cross on different levels; a true level crossing is torn where there was
a junction within 8 m before, and is none after. By *APLS* see `connecting.py`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import geopandas
import numpy as np
import shapely
from scipy.spatial import KDTree

from benchmarks.connecting_rasters import RESOLUTION_M, SIDE_PX, STARTER, make_scene, segment, write_perfect
from training_core.events import Reporter
from training_core.jobs import CleanNetwork, ScoreNetwork, Vectorize
from training_core.pipelines import cleannetwork, scorenetwork, vectorize
from training_core.scenes.scene import plan_scene
from training_core.scenes.streets import nodes_of

LAYOUT, NEAR_M = "highway", 8.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--offset-m", type=float, default=2.0)
    arguments = parser.parse_args()
    print("mask       seed   APLS as traced  with bridges   overpasses  right as traced  with bridges   level  torn")
    for seed in arguments.seeds:
        with TemporaryDirectory() as name:
            for row in scored(Path(name), seed, arguments.offset_m):
                print(row, flush=True)


def scored(folder: Path, seed: int, offset_m: float) -> Iterator[str]:
    """Yield a row of the table for the perfect mask of a scene, and one for what the starter predicts."""
    image, truth = make_scene(folder / "image.tif", folder / "truth.gpkg", seed, LAYOUT)
    bridges, over, level = true_crossings(seed, offset_m)
    bridges.to_file(folder / "bridges.gpkg")
    thresholds = {
        "perfect": write_perfect(LAYOUT, seed, lambda: (image, truth), folder / "perfect.tif"),
        "starter": segment(image, STARTER, folder / "starter.tif"),
    }
    for mask, threshold in thresholds.items():
        traced, cleaned = (str(folder / f"{mask}_{step}.gpkg") for step in ("traced", "cleaned"))
        asked = Vectorize(raster=str(folder / f"{mask}.tif"), roads=traced, threshold=threshold)
        vectorize.run(asked, Reporter())
        job = CleanNetwork(lines=traced, roads=cleaned, bridges=str(folder / "bridges.gpkg"))
        cleannetwork.run(job, Reporter())
        before, after = junctions(traced), junctions(cleaned)
        right = [np.sum(~near(over, found)) for found in (before, after)]
        was = near(level, before)
        torn = was & ~near(level, after)
        yield (
            f"{mask:10} {seed:4d} {apls(str(truth), traced):16.3f} {apls(str(truth), cleaned):13.3f} {len(over):12d} "
            f"{right[0]:16d} {right[1]:13d} {was.sum():7d} {torn.sum():5d}"
        )


def true_crossings(seed: int, offset_m: float) -> tuple[geopandas.GeoDataFrame, np.ndarray, np.ndarray]:
    """Return the bridges over roads of a scene, displaced, and where roads cross on different levels, and on the same.

    Both are (n, 2) float64 map coordinates.
    """
    plan = plan_scene(SIDE_PX, seed, RESOLUTION_M, LAYOUT)
    table = plan.scenery.streets.roads
    # From the scene's corner to the map.
    corner = np.array([plan.transform.c, plan.transform.f + SIDE_PX * plan.transform.e])
    shapes = shapely.transform(table.geometry.to_numpy(), lambda points: points + corner)
    upper, lower = shapes[table.overpass], shapes[~table.overpass]
    below, above = shapely.STRtree(upper).query(lower, predicate="crosses")
    crossings = shapely.get_coordinates(shapely.intersection(lower[below], upper[above]))
    angles = np.random.default_rng(seed).uniform(0, 2 * np.pi, len(upper))
    away_m = offset_m * np.column_stack([np.cos(angles), np.sin(angles)])
    drawn = [shapely.transform(upper[at], lambda points, by=away_m[at]: points + by) for at in np.unique(above)]
    places, _, degree = nodes_of(table[~table.overpass])
    inside = shapely.box(*(corner + 20), *(corner + SIDE_PX * RESOLUTION_M - 20))
    crossings, level = (
        found[shapely.within(shapely.points(found), inside)] for found in (crossings, places[degree >= 4] + corner)
    )
    return geopandas.GeoDataFrame(geometry=drawn, crs=plan.roads.crs), crossings, level


def junctions(path: str) -> np.ndarray:
    """Return the nodes of a network where three lines end or more: (n, 2) float64."""
    shapes = geopandas.read_file(path).geometry
    ends = np.concatenate([shapely.get_coordinates(shapely.get_point(shapes.to_numpy(), end)) for end in (0, -1)])
    places, counts = np.unique(np.round(ends, 2), axis=0, return_counts=True)
    return places[counts >= 3]


def near(places: np.ndarray, found: np.ndarray) -> np.ndarray:
    """Return which places have a junction nearby: (n,) bool."""
    return KDTree(found).query(places)[0] <= NEAR_M


def apls(truth: str, lines: str) -> float:
    """Return the APLS of a network, of which bridges are not noded, against the true one."""
    has_bridge = "bridge" in geopandas.read_file(lines, rows=1).columns
    fields = {"truth_bridge_field": "bridge", "proposal_bridge_field": "bridge" if has_bridge else ""}
    return scorenetwork.run(ScoreNetwork(truth=truth, proposal=lines, **fields), Reporter())["apls"]["score"]


if __name__ == "__main__":
    main()
