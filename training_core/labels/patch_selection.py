"""A few places out of many: those of the most worth that do not crowd each other.

Knows points in a plane and numbers that say what each is worth; knows nothing of where either come from.
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
    """What there is to choose among.

    Parameters
    ----------
    at_m : ndarray (n, 2)
        Where the places are, in a plane.
    cells : ndarray (n, 2), int64
        Their columns and rows in a lattice, by which it is told which of them overlap.
    worth : ndarray (n,)
        One that is worth nothing is not chosen.
    distance_m : ndarray (n,)
        How far each is from the nearest place that was taken earlier; infinite where none was.
    """

    at_m: np.ndarray
    cells: np.ndarray
    worth: np.ndarray
    distance_m: np.ndarray


def choose_spread(
    places: Places, reach: int, count: int, spacing_m: float, spread: float, reporter: Reporter
) -> np.ndarray:
    """Return the numbers of the places that are chosen, (k,), int64, the first choice first.

    Each choice is the place of the highest worth · (1 - spread + spread · min(1, distance / spacing)), with its
    distance from the nearest place that was taken before it. So with a spread of 0 worth alone decides; with more of
    it, a place beside one that is taken counts for less. Among places of equal worth the farthest is next, up to the
    spacing: but for that bound, it is the greedy k-center of Gonzalez, "Clustering to minimize the maximum intercluster
    distance", Theoretical Computer Science 38 (1985), by which Sener and Savarese, "Active learning for convolutional
    neural networks: a core-set approach", ICLR 2018, choose what to label.

    Parameters
    ----------
    places : Places
    reach : int
        Of two places whose cells differ by less than this in column and in row, one alone is chosen.
    count : int
        How many to choose at most.
    spacing_m : float
        Distance from which on places are far enough apart.
    spread : float
        From 0 to 1.
    reporter : Reporter
    """
    worth, distance_m = places.worth.copy(), places.distance_m.copy()
    chosen: list[int] = []
    while len(chosen) < count and len(worth):
        reporter.check_cancelled()
        gain = worth * (1 - spread + spread * np.minimum(1, distance_m / spacing_m))
        best = int(np.argmax(gain))
        if not gain[best] > 0:
            break
        chosen.append(best)
        worth[(np.abs(places.cells - places.cells[best]) < reach).all(axis=1)] = 0
        distance_m = np.minimum(distance_m, np.hypot(*(places.at_m - places.at_m[best]).T))
    return np.array(chosen, dtype=np.int64)


def suggest(
    patches: Patches, blocks: Blocks, grid: Grid, job: SuggestLabels, reporter: Reporter
) -> geopandas.GeoDataFrame:
    """Return the patches to label, the first one first.

    Parameters
    ----------
    patches : Patches
    blocks : Blocks
        What they are made of, which tells where labels are already.
    grid : Grid
        Where the scene's pixels lie.
    job : SuggestLabels
        Its options; paths are not looked at.
    reporter : Reporter

    Returns
    -------
    GeoDataFrame
        Polygons with `rank` from 1, `uncertainty` in bits and `road_share`, the share of road that the model expects.
    """
    at_m = _on_ground(patches.windows[:, :2] + patches.windows[:, 2:] / 2, grid)
    places = Places(at_m, patches.cells, patches.worth, _distance_from_labels(at_m, blocks, grid))
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
    """Return how far places are from the nearest block that is labeled, (n,), in meters; infinite where none is."""
    row, column = np.nonzero(blocks.labeled)
    if not len(row):
        return np.full(len(at_m), np.inf)
    columns, rows = ((edges[1:] + edges[:-1]) / 2 for edges in (blocks.columns, blocks.rows))
    return cKDTree(_on_ground(np.column_stack([columns[column], rows[row]]), grid)).query(at_m)[0]


def _on_ground(points: np.ndarray, grid: Grid) -> np.ndarray:
    """Return pixels' (column, row), (n, 2), in ground meters; see `Grid.metric_transform`."""
    return np.column_stack(grid.metric_transform @ (points[:, 0], points[:, 1]))
