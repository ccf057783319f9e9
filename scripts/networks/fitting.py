"""Logistic regression of what is known of lines, fitted on rasters with true roads, and told.

Scope: rasters of `benchmarks/connecting.py`, and numbers. Independent of what the lines are.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

import geopandas
import numpy as np
import shapely
from connecting import Case, read_cases
from scipy.optimize import minimize

from training_core.geodata.grid import Grid

TOLERANCE_M = 4.0
REGULARIZATION = 0.002
LinesOf = Callable[[Case, Path], tuple[dict[str, np.ndarray], np.ndarray]]


def main(text: str, lines_of: LinesOf) -> None:
    """Fit on the lines of some folders, and print.

    Parameters
    ----------
    text : str
        The script's.
    lines_of : callable
        From a case and its folder to the features of lines, (k,) each, and which of them are roads, (k,).
    """
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--test", type=Path, nargs="+", default=[])
    parser.add_argument("--leave-out", nargs="+", default=["perfect"], help="groups of rasters")
    arguments = parser.parse_args()
    names, features, is_road, weight = gathered(arguments.folders, arguments.leave_out, lines_of)
    coefficients = fitted(features, is_road, weight)
    print("COEFFICIENTS = {")
    for name, value in zip(names, coefficients):
        print(f'    "{name}": {value:.3f},')
    print("}")
    tell("fitted on", features, is_road, coefficients)
    for folder in arguments.test:
        _, features, is_road, _ = gathered([folder], arguments.leave_out, lines_of)
        tell(f"in {folder.name}", features, is_road, coefficients)


def gathered(
    folders: list[Path], left_out: list[str], lines_of: LinesOf
) -> tuple[list[str], np.ndarray, np.ndarray, np.ndarray]:
    """Return the names of features, the features (k, n), which lines are roads (k,), and their weights (k,)."""
    names: list[str] = []
    features, is_road, weight = [], [], []
    for folder in folders:
        for case in read_cases(folder):
            known, found = lines_of(case, folder) if case.group not in left_out else ({}, np.zeros(0, dtype=bool))
            if len(found):
                names = list(known)
                features.append(np.column_stack(list(known.values())))
                is_road.append(found)
                weight.append(np.full(len(found), 1 / len(found)))
    return names, np.concatenate(features), np.concatenate(is_road), np.concatenate(weight) / len(weight)


def near_true_roads(path: Path, grid: Grid) -> shapely.Geometry:
    """Return what is near true roads, in the plane of a raster's roads."""
    roads = geopandas.read_file(path).to_crs(grid.crs).geometry
    return shapely.buffer(shapely.union_all(in_plane(roads, grid)), TOLERANCE_M)


def in_plane(layer: geopandas.GeoSeries, grid: Grid) -> np.ndarray:
    """Return geometries, single and in two dimensions, in the plane of a raster's roads: (n,), object.

    That is in meters from the center of the first pixel.
    """
    shapes = shapely.force_2d(layer.explode(index_parts=False).to_numpy())
    to_pixels = ~grid.transform
    return shapely.transform(shapes, lambda points: (np.column_stack(to_pixels @ tuple(points.T)) - 0.5) * grid.pixel_m)


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
    """Print how well roads are told from others, and how many lines of each probability are roads."""
    probability = 1 / (1 + np.exp(-(features @ coefficients)))
    order = probability.argsort().argsort() + 1
    roads, others = is_road.sum(), (~is_road).sum()
    area = (order[is_road].sum() - roads * (roads + 1) / 2) / max(1, roads * others)
    print(f"{where}: {len(is_road)} lines, {roads} roads, area under the ROC curve {area:.3f}")
    for low in np.arange(0, 1, 0.1):
        chosen = (probability >= low) & (probability < low + 0.1)
        if chosen.any():
            print(f"  probability from {low:.1f}: {chosen.sum()} lines, {is_road[chosen].mean():.2f} are roads")
