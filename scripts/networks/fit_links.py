"""Fit the probability that a road runs along a link between dead ends and roads (`networks/link_model.py`).

Run with the runtime's Python: `$(make -s runtime-python) scripts/networks/fit_links.py FOLDER... --test FOLDER...`,
where the folders are those that `benchmarks/connecting.py --prepare` has written. It prints the coefficients, and how
often links of each probability are roads where they were not fitted. A link is one where 85 % of it lie within 4 m of a
true road. Each raster has the same weight.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

import geopandas
import numpy as np
import shapely
from connecting import Case, read_cases
from scipy.optimize import minimize

from training_core.events import Reporter
from training_core.extraction.road_extraction import trace_roads
from training_core.geodata.grid import Grid, grid_of
from training_core.geodata.rasters import open_raster
from training_core.geodata.road_raster import band_raster
from training_core.jobs import Vectorize

TOLERANCE_M, SHARE = 4.0, 0.85
REGULARIZATION = 0.002
# Short straight gaps, which are joined before, are links like others here: without them there are few.
UNJOINED = Vectorize(gap_m=0.0, snap_m=0.0)


def main() -> None:
    """Fit, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--test", type=Path, nargs="+", default=[])
    parser.add_argument("--leave-out", nargs="+", default=["perfect"], help="groups of rasters")
    arguments = parser.parse_args()
    names, features, is_road, weight = gathered(arguments.folders, arguments.leave_out)
    coefficients = fitted(features, is_road, weight)
    print("COEFFICIENTS = {")
    for name, value in zip(names, coefficients):
        print(f'    "{name}": {value:.3f},')
    print("}")
    tell("fitted on", features, is_road, coefficients)
    for folder in arguments.test:
        _, features, is_road, _ = gathered([folder], arguments.leave_out)
        tell(f"in {folder.name}", features, is_road, coefficients)


def gathered(folders: list[Path], left_out: list[str]) -> tuple[list[str], np.ndarray, np.ndarray, np.ndarray]:
    """Return the names of features, the features (k, n), which links are roads (k,), and their weights (k,)."""
    names: list[str] = []
    features, is_road, weight = [], [], []
    for folder in folders:
        for case in read_cases(folder):
            if case.group not in left_out:
                known, found = links_of(case, folder)
                if len(found):
                    names = list(known)
                    features.append(np.column_stack(list(known.values())))
                    is_road.append(found)
                    weight.append(np.full(len(found), 1 / len(found)))
    return names, np.concatenate(features), np.concatenate(is_road), np.concatenate(weight) / len(weight)


def links_of(case: Case, folder: Path) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Return the features of the links of a raster, and which of them are roads."""
    with open_raster(str(folder / case.raster)) as dataset:
        grid = grid_of(dataset)
        links = trace_roads(band_raster(dataset, case.threshold), grid.pixel_m, UNJOINED, Reporter()).links
    near = shapely.buffer(shapely.union_all(true_roads(folder / case.truth, grid)), TOLERANCE_M)
    lines = links.ways.shapes()
    return links.features, shapely.length(shapely.intersection(lines, near)) >= SHARE * shapely.length(lines)


def true_roads(path: Path, grid: Grid) -> np.ndarray:
    """Return the true roads in the plane of a raster's roads: meters from the center of the first pixel."""
    roads = geopandas.read_file(path).to_crs(grid.crs).explode(index_parts=False).geometry.to_numpy()
    to_pixels = ~grid.transform
    return shapely.transform(
        shapely.force_2d(roads), lambda points: (np.column_stack(to_pixels @ tuple(points.T)) - 0.5) * grid.pixel_m
    )


def fitted(features: np.ndarray, is_road: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return the coefficients of regularized logistic regression: (n,), float64; the first feature is constant."""
    scale = np.append(1.0, features[:, 1:].std(axis=0))
    scaled = features / scale

    def loss(coefficients: np.ndarray) -> float:
        score = scaled @ coefficients
        entropy = weight @ np.logaddexp(0, np.where(is_road, -score, score))
        return float(entropy + REGULARIZATION * (coefficients[1:] ** 2).sum())

    return minimize(loss, np.zeros(len(scale))).x / scale


def tell(where: str, features: np.ndarray, is_road: np.ndarray, coefficients: np.ndarray) -> None:
    """Print how well links are told apart, and how often those of each probability are roads."""
    probability = 1 / (1 + np.exp(-(features @ coefficients)))
    order = probability.argsort().argsort() + 1
    roads, others = is_road.sum(), (~is_road).sum()
    area = (order[is_road].sum() - roads * (roads + 1) / 2) / max(1, roads * others)
    print(f"{where}: {len(is_road)} links, {roads} roads, area under the ROC curve {area:.3f}")
    for low in np.arange(0, 1, 0.1):
        chosen = (probability >= low) & (probability < low + 0.1)
        if chosen.any():
            print(f"  probability from {low:.1f}: {chosen.sum()} links, {is_road[chosen].mean():.2f} are roads")


if __name__ == "__main__":
    main()
