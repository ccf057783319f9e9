"""Diversity-aware selection: greedily pick high-score patches that are far apart from each other and from labels.

Scope: points in a plane with scores, and the layer of suggestions. Independent of how the scores are computed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import geopandas
import numpy as np
import pyproj
from scipy.spatial import cKDTree

from ..events import Reporter
from ..geodata.grid import Grid
from ..jobs import SuggestLabels
from .uncertainty import BLOCKS_A_SIDE, Blocks, Patches


@dataclass(frozen=True)
class Places:
    """Candidates for selection: positions in a plane, `at_m`, (n, 2), float64.

    Their `cells`, (n, 2), int64, are columns and rows in a lattice, which decide which places overlap. A place with a
    score, (n,), float64, of 0 is not chosen. `distance_m`, (n,), float64, is that to the nearest place taken earlier;
    infinite without one.
    """

    at_m: np.ndarray
    cells: np.ndarray
    score: np.ndarray
    distance_m: np.ndarray


def choose_spread(
    places: Places, reach: int, count: int, spacing_m: float, spread: float, reporter: Reporter
) -> np.ndarray:
    """Choose places greedily by score, penalizing those close to places taken before; return indexes, (k,), int64.

    Each choice maximizes score · (1 - spread + spread · min(1, distance / spacing)), with the distance to the nearest
    place taken before. The spread is from 0, where the score alone decides, to 1. Among places of equal score the
    farthest is next, up to the spacing. But for that bound, it is the greedy k-center of Gonzalez, "Clustering to
    minimize the maximum intercluster distance", Theoretical Computer Science 38 (1985). Sener and Savarese, "Active
    learning for convolutional neural networks: a core-set approach", ICLR 2018, choose by it what to label. Places
    overlap, so that only one is chosen, if their cells differ by less than `reach` in column and in row.
    """
    score, distance_m = places.score.copy(), places.distance_m.copy()
    chosen: list[int] = []
    while len(chosen) < count and len(score):
        reporter.check_cancelled()
        gain = score * (1 - spread + spread * np.minimum(1, distance_m / spacing_m))
        best = int(np.argmax(gain))
        if not gain[best] > 0:
            break
        chosen.append(best)
        score[(np.abs(places.cells - places.cells[best]) < reach).all(axis=1)] = 0
        distance_m = np.minimum(distance_m, np.hypot(*(places.at_m - places.at_m[best]).T))
    return np.array(chosen, dtype=np.int64)


def suggest(
    patches: Patches, blocks: Blocks, grid: Grid, job: SuggestLabels, reporter: Reporter
) -> geopandas.GeoDataFrame:
    """Return the patches to label, best first, as many and as spread as the job asks for.

    They are polygons with `rank` from 1, `uncertainty` in bits and `road_share`, the expected fraction of road.
    """
    at_m = _on_ground(patches.windows[:, :2] + patches.windows[:, 2:] / 2, grid)
    places = Places(at_m, patches.cells, patches.score, _distance_from_labels(at_m, blocks, grid))
    area_m2 = blocks.known_px.sum() * grid.resolution_m**2
    spacing_m = math.sqrt(area_m2 / job.count)
    chosen = choose_spread(places, BLOCKS_A_SIDE, job.count, spacing_m, job.spread, reporter)
    columns = {
        "rank": np.arange(1, len(chosen) + 1),
        "uncertainty": patches.uncertainty[chosen],
        "road_share": patches.road_share[chosen],
    }
    shapes = [grid.window(*window).outline for window in patches.windows[chosen].tolist()]
    crs = pyproj.CRS.from_user_input(grid.crs)
    return geopandas.GeoDataFrame(columns, geometry=shapes, crs=crs)


def _distance_from_labels(at_m: np.ndarray, blocks: Blocks, grid: Grid) -> np.ndarray:
    """Return the distance to the nearest labeled block, (n,), float64, in meters; infinite without one."""
    row, column = np.nonzero(blocks.labeled)
    if not len(row):
        return np.full(len(at_m), np.inf)
    columns, rows = ((edges[1:] + edges[:-1]) / 2 for edges in (blocks.columns, blocks.rows))
    return cKDTree(_on_ground(np.column_stack([columns[column], rows[row]]), grid)).query(at_m)[0]


def _on_ground(points: np.ndarray, grid: Grid) -> np.ndarray:
    """Return pixels' (column, row), (n, 2), in ground meters; see `Grid.metric_transform`."""
    ground, (column, row) = grid.metric_transform, points.T
    x_m, y_m = column * ground.a + row * ground.b + ground.c, column * ground.d + row * ground.e + ground.f
    return np.column_stack([x_m, y_m])
