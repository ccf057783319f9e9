"""A random sample of places by which a person judges a network: stretches of it, and transects across the area.

Scope: strata, how many places each gets, and how these are drawn. Independent of files and of estimates, which are in
`jobs.accuracy_estimates`.

A transect is drawn through a uniformly distributed point of its stratum, which lies uniformly along it, and ends at the
border of the area. So its chance is proportional to its length inside, and crossings by unit length have the mean of
line intersect sampling also near the border.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import geopandas
import numpy as np
import pandas
import shapely
from shapely.geometry.base import BaseGeometry

from ..geodata.parallel_arrays import first_of_each
from ..jobs.accuracy import LENGTH, NUMBER, STRATUM, STRATUM_SIZE
from ..jobs.accuracy_estimates import CROSSING, SAMPLED
from ..jobs.review import CHANGE, REVIEW
from ..networks.lines import Lines
from ..networks.road_graph import as_drawn

# The least likely 30 % of the length hold 68 to 88 % of what is false. If a tenth of the length is false, these
# fractions are false by stratum, and 0.1 where no probability is known.
_LEAST_LIKELY = 0.3
_FALSE = {"less likely": 0.26, "likely": 0.03, "of unknown probability": 0.1}
# Lines at this probability hold about half of what is missed.
WEAK = 0.1
_MISSED = {"weak probability": 0.5, "elsewhere": 0.5}
# Each stratum gets this fraction of the places of its kind.
_MIN_SHARE = 0.15
# A cell of the grid by which areas are divided, and how many there may be.
_CELL_M, _MAX_CELLS = 10.0, 250_000
# This near to the network, weak probability belongs to its roads.
_OWN_M = 12.0
_SHORTEST_M, _LONGEST_M = 50.0, 300.0


@dataclass(frozen=True)
class Cells:
    """A regular grid of cells over an area: (n, 2) float64 centers in meters, and the side of a cell in meters."""

    centers: np.ndarray
    side_m: float


def cells_in(area: BaseGeometry) -> Cells:
    """Return the cells of a grid whose centers lie in an area in meters."""
    side_m = max(min(_CELL_M, math.sqrt(area.area) / 20), math.sqrt(area.envelope.area / _MAX_CELLS))
    west, south, east, north = area.bounds
    x, y = (np.arange(low + side_m / 2, high + side_m / 2, side_m) for low, high in ((west, east), (south, north)))
    centers = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    shapely.prepare(area)
    return Cells(centers[shapely.contains_xy(area, *centers.T)], side_m)


def off_network(cells: Cells, lines: Lines) -> np.ndarray:
    """Return which cells lie off a network: (n,) bool."""
    tree = shapely.STRtree(lines.shapes)
    near = tree.query(shapely.points(cells.centers), predicate="dwithin", distance=_OWN_M + cells.side_m / 2)[0]
    return ~np.isin(np.arange(len(cells.centers)), near)


def network_strata(lines: Lines, probability: np.ndarray) -> np.ndarray:
    """Return the stratum of each line by its road probability, (n,) float64, NaN where unknown: (n,) object."""
    is_known = np.isfinite(probability)
    order = np.argsort(probability[is_known])
    below_m = np.cumsum(lines.length_m[is_known][order])
    bound = -np.inf
    if len(order):
        bound = probability[is_known][order][min(np.searchsorted(below_m, _LEAST_LIKELY * below_m[-1]), len(order) - 1)]
    names = np.where(probability < bound, "less likely", "likely")
    return np.where(is_known, names, "of unknown probability").astype(object)


def draw_sample(
    lines: Lines, probability: np.ndarray, area: BaseGeometry, cells: Cells, is_weak: np.ndarray, count: int,
    lengths_m: tuple[float, float], generator: np.random.Generator,
) -> geopandas.GeoDataFrame:  # fmt: skip
    """Return a sample of `count` places of lines within an area and of the area, in the random order of judging.

    It has the fields of `jobs.accuracy`, with the size of a stratum in meters or square meters, and no CRS.

    Probability is (n,) float64, NaN where unknown, `is_weak` is (cells,) bool, and the lengths are those of a stretch
    and of a transect; 0 chooses that of a transect.
    """
    stretch_m, transect_m = lengths_m
    strata = network_strata(lines, probability)
    sizes_m = {name: float(lines.length_m[strata == name].sum()) for name in dict.fromkeys(strata)}
    spreads = {name: size_m * math.sqrt(_FALSE[name] * (1 - _FALSE[name])) for name, size_m in sizes_m.items()}
    parts = []
    for name, places in allocated(spreads, count - count // 2).items():
        shapes = _stretches(lines, np.flatnonzero(strata == name), places, stretch_m, generator)
        parts.append((shapes, SAMPLED, name, sizes_m[name]))
    if not transect_m:
        transect_m = float(np.clip(math.pi * area.area / (2 * lines.length_m.sum()), _SHORTEST_M, _LONGEST_M))
    regions = {name: chosen for name, chosen in zip(_MISSED, (is_weak, ~is_weak)) if chosen.any()}
    areas_m2 = {name: area.area * float(chosen.mean()) for name, chosen in regions.items()}
    # The variance of a count is its mean.
    spreads = {name: math.sqrt(_MISSED[name] * area_m2) for name, area_m2 in areas_m2.items()}
    for name, places in allocated(spreads, count // 2).items():
        centers = cells.centers[regions[name]]
        shapes = _transects(centers, cells.side_m, area, places, transect_m, generator)
        parts.append((shapes, CROSSING, name, areas_m2[name]))
    return _mixed(parts, generator)


def allocated(spreads: dict[str, float], count: int) -> dict[str, int]:
    """Return how many of `count` places each stratum gets: in proportion to its size times its standard deviation.

    See Neyman, "On the two different aspects of the representative method", J. Royal Statistical Society 97 (1934).
    """
    shares = np.array(list(spreads.values()))
    shares = np.maximum(shares / shares.sum(), _MIN_SHARE)
    shares /= shares.sum()
    ends = np.rint(np.cumsum(shares) * count).astype(int)
    return dict(zip(spreads, np.diff(ends, prepend=0).tolist()))


def _stretches(
    lines: Lines, chosen: np.ndarray, count: int, stretch_m: float, generator: np.random.Generator
) -> np.ndarray:
    """Return stretches around uniformly distributed points of chosen lines, (k,) int64: (count,) object."""
    ends_m = np.cumsum(lines.length_m[chosen])
    at_m = generator.random(count) * ends_m[-1]
    number = np.minimum(np.searchsorted(ends_m, at_m, side="right"), len(chosen) - 1)
    length_m = lines.length_m[chosen][number]
    along_m = np.clip(at_m - (ends_m[number] - length_m), 0, length_m)
    used, line = np.unique(chosen[number], return_inverse=True)
    roads = as_drawn(lines.parted(lines.shapes[used], used))
    begin_m, end_m = np.maximum(along_m - stretch_m / 2, 0), np.minimum(along_m + stretch_m / 2, length_m)
    return roads.lines_at(line, begin_m, np.minimum(end_m, roads.length_m[line]))


def _transects(
    centers: np.ndarray, side_m: float, area: BaseGeometry, count: int, length_m: float, generator: np.random.Generator
) -> np.ndarray:
    """Return transects through uniformly distributed points of cells, (k, 2) float64: (count,) object."""
    shapely.prepare(area)
    points = np.zeros((0, 2))
    while len(points) < count:
        drawn = centers[generator.integers(len(centers), size=count)]
        drawn = drawn + side_m * (generator.random((count, 2)) - 0.5)
        points = np.concatenate([points, drawn[shapely.contains_xy(area, *drawn.T)]])[:count]
    angle = generator.random(count) * math.pi
    step = length_m * np.column_stack([np.cos(angle), np.sin(angle)])
    begin = points - generator.random(count)[:, None] * step
    whole = shapely.linestrings(np.stack([begin, begin + step], axis=1))
    # Of several parts inside the area, the one through the point.
    parts, transect = shapely.get_parts(shapely.intersection(whole, area), return_index=True)
    return parts[first_of_each(transect, shapely.distance(parts, shapely.points(points)[transect]))]


def _mixed(parts: list[tuple[np.ndarray, str, str, float]], generator: np.random.Generator) -> geopandas.GeoDataFrame:
    """Return strata as one sample, each spread evenly over the order, so that any first part of it is a sample."""
    tables = []
    for shapes, kind, stratum, size in parts:
        place = (np.arange(len(shapes)) + generator.random()) / len(shapes)
        columns = {CHANGE: kind, REVIEW: None, STRATUM: stratum, STRATUM_SIZE: size, LENGTH: shapely.length(shapes)}
        tables.append(geopandas.GeoDataFrame(columns, geometry=shapes, index=place))
    sample = pandas.concat(tables).sort_index(kind="stable").reset_index(drop=True)
    return sample.assign(**{NUMBER: np.arange(1, len(sample) + 1)})
