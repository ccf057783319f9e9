"""Fit the probability that a link (`networks/link_prediction.py`) or a line (`extraction/line_measures.py`) is a road.

With PYTHON as `make -s runtime-python` prints it:

    PYTHON benchmarks/connecting.py FITTED --prepare --groups good massachusetts dubai
    PYTHON benchmarks/connecting.py HELD_OUT --prepare --seed 200 --groups good
    PYTHON -m scripts.networks.fit links FITTED --held-out HELD_OUT

These are scenes and real ground as the starter sees them, but none that the benchmark scores as real scenes. Prepare
the folders again when the starter or its threshold changes. The script prints the coefficients of logistic regression,
and how many lines of each probability are roads where they were not fitted, beside the same by the present
coefficients. A link is a road if 85 % of it lies within 4 m of a true road, a line if half of it does. Each raster has
the same weight.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import geopandas
import numpy as np
import shapely
from scipy.optimize import minimize

from benchmarks.connecting_rasters import Case, read_cases
from training_core.events import Reporter
from training_core.extraction.line_measures import ROAD_COEFFICIENTS, road_features, seen_along
from training_core.extraction.road_extraction import trace_roads
from training_core.geodata.grid import Grid, grid_of
from training_core.geodata.rasters import open_raster
from training_core.geodata.road_raster import band_raster
from training_core.jobs import Vectorize
from training_core.networks.link_prediction import COEFFICIENTS as LINK_COEFFICIENTS

TOLERANCE_M, MIN_ON_LINK, MIN_ON_LINE = 4.0, 0.85, 0.5
# Short straight gaps, which are usually joined before, are links here: without them there are few.
UNJOINED, WITH_STUBS = Vectorize(gap_m=0.0, snap_m=0.0), Vectorize(stub_m=0.0)
REGULARIZATION = 0.002
FOLDS = 5
LinesOf = Callable[[Case, Path], tuple[dict[str, np.ndarray], np.ndarray]]


@dataclass(frozen=True)
class Known:
    """What is known of lines: features (k, n) and their names, whether they are roads (k,), and their rasters (k,)."""

    names: list[str]
    features: np.ndarray
    is_road: np.ndarray
    raster: np.ndarray

    @property
    def weight(self) -> np.ndarray:
        """The weight of each line, (k,), float64, of which each raster has the same sum."""
        count = np.bincount(self.raster)
        return 1 / count[self.raster] / (count > 0).sum()

    def select(self, chosen: np.ndarray) -> Known:
        """Return what is known of some lines, (k,), bool."""
        return Known(self.names, self.features[chosen], self.is_road[chosen], self.raster[chosen])


def main() -> None:
    """Fit on the lines of some folders, and print coefficients and how well they do."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lines", choices=("links", "roads"), help="links between dead ends, or extracted lines")
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--groups", nargs="+", default=["good", "massachusetts", "dubai"], help="of rasters to fit on")
    parser.add_argument("--test", nargs="+", default=[], help="groups of rasters to score on, and not to fit on")
    parser.add_argument("--held-out", type=Path, nargs="+", default=[], help="folders to score on, and not to fit on")
    arguments = parser.parse_args()
    lines_of, current = {"links": (links_of, LINK_COEFFICIENTS), "roads": (roads_of, ROAD_COEFFICIENTS)}[
        arguments.lines
    ]
    known = gathered(arguments.folders, arguments.groups, lines_of)
    coefficients = fitted(known)
    print(f"# fitted on rasters with thresholds {thresholds(arguments.folders, arguments.groups)}")
    print("COEFFICIENTS = {")
    for name, value in zip(known.names, coefficients):
        print(f'    "{name}": {value:.3f},')
    print("}")
    present = np.array([current.get(name, 0.0) for name in known.names])
    show("cross-validated", known, cross_validated(known))
    show("the same by the present coefficients", known, known.features @ present)
    others = [(arguments.folders, group) for group in arguments.test]
    others += [([folder], group) for folder in arguments.held_out for group in arguments.groups]
    for folders, group in others:
        tested = gathered(folders, [group], lines_of)
        if len(tested.is_road):
            where = f"{group} in {folders[0].name}"
            show(f"{where}, not fitted on", tested, tested.features @ coefficients)
            show(f"{where} by the present coefficients", tested, tested.features @ present)


def links_of(case: Case, folder: Path) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Return the features of the links of a raster, (k,) each, and which of them are roads, (k,) bool."""
    with open_raster(str(folder / case.raster)) as dataset:
        grid = grid_of(dataset)
        links = trace_roads(band_raster(dataset, case.threshold, Reporter()), grid.pixel_m, UNJOINED, Reporter()).links
    return links.features, _true_roads(links.paths.shapes(), folder / case.truth, grid, MIN_ON_LINK)


def roads_of(case: Case, folder: Path) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Return the features of the lines of a raster, (k,) each, and which of them are roads, (k,) bool."""
    with open_raster(str(folder / case.raster)) as dataset:
        grid = grid_of(dataset)
        traced = trace_roads(band_raster(dataset, case.threshold, Reporter()), grid.pixel_m, WITH_STUBS, Reporter())
        known = road_features(traced.graph, seen_along(traced.graph, traced.surroundings))
    return known, _true_roads(traced.graph.shapes(), folder / case.truth, grid, MIN_ON_LINE)


def _true_roads(lines: np.ndarray, truth: Path, grid: Grid, min_fraction: float) -> np.ndarray:
    """Return which lines, (k,) object in the plane of a raster's roads, are true roads: (k,), bool; see `are_roads`."""
    roads = geopandas.read_file(truth).to_crs(grid.crs).geometry
    return are_roads(lines, _in_plane(roads, grid), min_fraction)


def are_roads(lines: np.ndarray, roads: np.ndarray, min_fraction: float) -> np.ndarray:
    """Return which lines lie near true roads over at least a fraction of their length: (k,), bool.

    Lines, (k,), and roads, (n,) object, are in meters in the same plane.
    """
    near = shapely.buffer(shapely.union_all(roads), TOLERANCE_M)
    return shapely.length(shapely.intersection(lines, near)) >= min_fraction * shapely.length(lines)


def thresholds(folders: list[Path], groups: list[str]) -> list[float]:
    """Return the thresholds at which rasters of some groups count as road, as they were prepared."""
    return sorted({case.threshold for folder in folders for case in read_cases(folder) if case.group in groups})


def gathered(folders: list[Path], groups: list[str], lines_of: LinesOf) -> Known:
    """Return what is known of the lines of some groups of rasters."""
    names: list[str] = []
    features, is_road, raster = [], [], []
    for folder in folders:
        for case in read_cases(folder):
            found, roads = lines_of(case, folder) if case.group in groups else ({}, np.zeros(0, dtype=bool))
            if len(roads):
                names = list(found)
                features.append(np.column_stack(list(found.values())))
                is_road.append(roads)
                raster.append(np.full(len(roads), len(raster)))
    if not raster:
        return Known(names, np.zeros((0, 0)), np.zeros(0, dtype=bool), np.zeros(0, dtype=np.int64))
    return Known(names, *map(np.concatenate, (features, is_road, raster)))


def cross_validated(known: Known) -> np.ndarray:
    """Return the score of each line, (k,), float64, as it is fitted on other rasters."""
    score = np.zeros(len(known.is_road))
    for fold in range(FOLDS):
        left_out = known.raster % FOLDS == fold
        score[left_out] = known.features[left_out] @ fitted(known.select(~left_out))
    return score


def _in_plane(layer: geopandas.GeoSeries, grid: Grid) -> np.ndarray:
    """Return geometries, single and in two dimensions, in the plane of a raster's roads: (n,), object.

    That is in meters from the center of the first pixel.
    """
    shapes = shapely.force_2d(layer.explode(index_parts=False).to_numpy())
    to_pixels = ~grid.transform
    return shapely.transform(shapes, lambda points: (np.column_stack(to_pixels @ tuple(points.T)) - 0.5) * grid.pixel_m)


def fitted(known: Known) -> np.ndarray:
    """Return the coefficients of regularized logistic regression: (n,), float64; the first feature is constant."""
    scale = np.append(1.0, known.features[:, 1:].std(axis=0) + 1e-9)
    scaled, weight = known.features / scale, known.weight

    def loss(coefficients: np.ndarray) -> float:
        return entropy(scaled @ coefficients, known.is_road, weight) + REGULARIZATION * (coefficients[1:] ** 2).sum()

    return minimize(loss, np.zeros(len(scale))).x / scale


def entropy(score: np.ndarray, is_road: np.ndarray, weight: np.ndarray) -> float:
    """Return the mean cross entropy of log odds, (k,)."""
    return float(weight @ np.logaddexp(0, np.where(is_road, -score, score)))


def show(where: str, known: Known, score: np.ndarray) -> None:
    """Print how well roads are told from others by log odds, (k,), and how many lines of each probability are roads."""
    probability, is_road = 1 / (1 + np.exp(-score)), known.is_road
    order = probability.argsort().argsort() + 1
    roads, others = is_road.sum(), (~is_road).sum()
    area = (order[is_road].sum() - roads * (roads + 1) / 2) / max(1, roads * others)
    found = f"area under the ROC curve {area:.3f}, cross entropy {entropy(score, is_road, known.weight):.3f}"
    said = f"mean probability {known.weight @ probability:.3f}, roads {known.weight @ is_road:.3f}"
    print(f"{where}: {len(is_road)} lines, {roads} roads, {found}, {said}")
    for low in np.arange(0, 1, 0.1):
        chosen = (probability >= low) & (probability < low + 0.1)
        if chosen.any():
            print(f"  probability from {low:.1f}: {chosen.sum()} lines, {is_road[chosen].mean():.2f} are roads")


if __name__ == "__main__":
    main()
