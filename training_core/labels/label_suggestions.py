"""Where to draw next: patches of a scene about which the model is uncertain, far from each other and from labels.

Scope: a probability raster, read by strips, and patches as windows of blocks. Independent of labels and models.

Labels help most where the model is uncertain (Lewis and Gale, "A sequential algorithm for training text classifiers",
SIGIR 1994). The measure is the entropy of a pixel's probability, as in Settles, "Active learning literature survey",
University of Wisconsin-Madison 2009; with two classes, the other measures there rank pixels in the same order.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Optional

import geopandas
import numpy as np
import pyproj
import shapely
from numpy.lib.stride_tricks import sliding_window_view
from scipy.spatial import cKDTree
from scipy.special import entr

from ..errors import JobError, ResourceError
from ..events import Reporter
from ..geodata.grid import Grid
from ..geodata.road_raster import RoadRaster
from ..jobs import SuggestLabels

# Patches may begin at every quarter of their side.
BLOCKS_A_SIDE = 4
# Minimum fraction of a patch that must have data.
MIN_KNOWN_FRACTION = 0.75
# Keeps the tables of blocks small.
MAX_BLOCKS = 4_000_000


@dataclass(frozen=True)
class Blocks:
    """Sums over the blocks of a scene.

    Edges of the blocks, `columns` (m + 1,) and `rows` (n + 1,), int64, are in pixels. `known_px` have data; `entropy`
    sums their entropies in bits, and `road` their probabilities: (n, m), float64. `labeled`, (n, m), bool, are blocks
    with a labeled pixel.
    """

    columns: np.ndarray
    rows: np.ndarray
    known_px: np.ndarray
    entropy: np.ndarray
    road: np.ndarray
    labeled: np.ndarray


@dataclass(frozen=True)
class Patches:
    """Candidate patches of a scene: with data, and without labels.

    Their `cells`, (n, 2), int64, are column and row of the first block; two patches overlap if both differ by less than
    `BLOCKS_A_SIDE`. Windows, (n, 4), int64, are column, row, width and height in pixels. The uncertainty is the mean
    entropy of pixels with data, from 0 to 1 bit, and `road_share` their mean probability: (n,), float64.
    """

    cells: np.ndarray
    windows: np.ndarray
    uncertainty: np.ndarray
    road_share: np.ndarray

    @property
    def score(self) -> np.ndarray:
        """Score of labeling each patch, (n,), float64, from 0 to 1: the uncertainty, halved where one class is certain.

        A patch with both road and background shows the model where one ends and the other begins.
        """
        return self.uncertainty * (1 + entropy(self.road_share)) / 2


def entropy(probability: np.ndarray) -> np.ndarray:
    """Return the binary entropy of a probability, (...), any number type, in bits from 0 to 1: (...), same dtype."""
    certain = np.clip(probability, 0, 1)
    return (entr(certain) + entr(1 - certain)) / math.log(2)


def measure_blocks(
    raster: RoadRaster,
    pixel_m: tuple[float, float],
    patch_m: float,
    labeled: Optional[Callable[[int, int], np.ndarray]],
    reporter: Reporter,
) -> Blocks:
    """Sum entropy and probability of road over blocks, `BLOCKS_A_SIDE` of which make up the side of a patch.

    Blocks of one size cover the image. So a patch has nearly the wanted size on the ground: within an eighth where the
    image is hardly larger than a patch, within a hundredth where it is a dozen patches wide. `labeled` takes a first
    row and a number of rows, and returns which pixels are labeled, (rows, width), bool. Raises JobError if a block
    would be smaller than a pixel. Raises ResourceError if there are too many patches.
    """
    columns, rows = (
        _edges(size, patch_m / BLOCKS_A_SIDE / step_m, patch_m)
        for size, step_m in zip((raster.width, raster.height), pixel_m)
    )
    shape = len(rows) - 1, len(columns) - 1
    if shape[0] * shape[1] > MAX_BLOCKS:
        raise ResourceError(
            f"The scene has too many patches of {patch_m:g} m to compare.", "Choose a larger patch size (patch_m)."
        )
    sums = {name: np.zeros(shape) for name in ("known_px", "entropy", "road", "labeled")}
    block_of_row = np.repeat(np.arange(shape[0]), np.diff(rows))
    for first_row, count in raster.strips():
        reporter.check_cancelled()
        probability, known = raster.read(first_row, count)
        probability = np.where(known, probability, np.float32(0))
        strips = {"known_px": known, "entropy": entropy(probability), "road": probability}
        if labeled is not None:
            strips["labeled"] = labeled(first_row, count)
        for name, values in strips.items():
            # First within each row between the edges of columns, then over the rows of each block of the strip.
            by_column = np.add.reduceat(values, columns[:-1], axis=1, dtype=np.float64)
            np.add.at(sums[name], block_of_row[first_row : first_row + count], by_column)
        reporter.progress((first_row + count) / raster.height, "Measuring the model's uncertainty")
    return Blocks(columns, rows, **{**sums, "labeled": sums["labeled"] > 0})


def _edges(size_px: int, step_px: float, patch_m: float) -> np.ndarray:
    """Return the edges of blocks of about a length that cover one side of an image: (n + 1,), int64, in pixels."""
    if step_px < 1:
        raise JobError(
            f"Patches of {patch_m:g} m (patch_m) are smaller than {BLOCKS_A_SIDE} pixels.", "Choose a larger size."
        )
    count = min(size_px, max(BLOCKS_A_SIDE, round(size_px / step_px)))
    return np.rint(np.linspace(0, size_px, count + 1)).astype(np.int64)


def patches_of(blocks: Blocks) -> Patches:
    """Return the candidate patches made of blocks; an image that is smaller than a patch is a single one."""
    # The candidates are windows of blocks with enough data and without labels.
    down, across = (min(BLOCKS_A_SIDE, size) for size in blocks.known_px.shape)

    # A patch may begin at any block: sums over all windows of down x across blocks.
    def total(values: np.ndarray) -> np.ndarray:
        return sliding_window_view(values, (down, across)).sum(axis=(2, 3), dtype=np.float64)

    lefts, tops = blocks.columns[:-across], blocks.rows[:-down]
    widths, heights = blocks.columns[across:] - lefts, blocks.rows[down:] - tops
    known_px = total(blocks.known_px)
    usable = (known_px >= MIN_KNOWN_FRACTION * np.outer(heights, widths)) & (total(blocks.labeled) == 0)
    row, column = np.nonzero(usable)
    return Patches(
        cells=np.column_stack([column, row]),
        windows=np.column_stack([lefts[column], tops[row], widths[column], heights[row]]),
        uncertainty=total(blocks.entropy)[usable] / known_px[usable],
        road_share=total(blocks.road)[usable] / known_px[usable],
    )


def suggest(
    patches: Patches, blocks: Blocks, grid: Grid, job: SuggestLabels, reporter: Reporter
) -> geopandas.GeoDataFrame:
    """Return the patches to label, best first, as many and as spread as the job asks for.

    They are polygons with `rank` from 1, `uncertainty` in bits and `road_share`, the expected fraction of road. A patch
    with a score of 0 is not chosen.

    Each choice maximizes score · (1 - spread + spread · min(1, distance / spacing)), with the distance to the nearest
    patch or label. The spread is from 0, where the score alone decides, to 1. Among patches of equal score the
    farthest is next, up to the spacing. But for that bound, it is the greedy k-center of Gonzalez, "Clustering to
    minimize the maximum intercluster distance", Theoretical Computer Science 38 (1985). Sener and Savarese, "Active
    learning for convolutional neural networks: a core-set approach", ICLR 2018, choose by it what to label.
    """
    at_m = _on_ground(patches.windows[:, :2] + patches.windows[:, 2:] / 2, grid)
    spacing_m = math.sqrt(blocks.known_px.sum() * grid.resolution_m**2 / job.count)
    score, distance_m = patches.score, _distance_from_labels(at_m, blocks, grid)
    chosen: list[int] = []
    while len(chosen) < job.count and len(score):
        reporter.check_cancelled()
        gain = score * (1 - job.spread + job.spread * np.minimum(1, distance_m / spacing_m))
        best = int(np.argmax(gain))
        if not gain[best] > 0:
            break
        chosen.append(best)
        # Patches that overlap the chosen one drop out; all others lose by how near it is.
        score[(np.abs(patches.cells - patches.cells[best]) < BLOCKS_A_SIDE).all(axis=1)] = 0
        distance_m = np.minimum(distance_m, np.hypot(*(at_m - at_m[best]).T))
    columns = {
        "rank": np.arange(1, len(chosen) + 1),
        "uncertainty": patches.uncertainty[chosen],
        "road_share": patches.road_share[chosen],
    }
    shapes = [grid.window(*window).outline for window in patches.windows[chosen].tolist()]
    return geopandas.GeoDataFrame(columns, geometry=shapes, crs=pyproj.CRS.from_user_input(grid.crs))


def _distance_from_labels(at_m: np.ndarray, blocks: Blocks, grid: Grid) -> np.ndarray:
    """Return the distance to the nearest labeled block, (n,), float64, in meters; infinite without one."""
    # Centers of the labeled blocks, in pixels and then on the ground.
    row, column = np.nonzero(blocks.labeled)
    if not len(row):
        return np.full(len(at_m), np.inf)
    columns, rows = ((edges[1:] + edges[:-1]) / 2 for edges in (blocks.columns, blocks.rows))
    return cKDTree(_on_ground(np.column_stack([columns[column], rows[row]]), grid)).query(at_m)[0]


def _on_ground(points: np.ndarray, grid: Grid) -> np.ndarray:
    """Return pixels' (column, row), (n, 2), in ground meters; see `Grid.metric_transform`."""
    return shapely.get_coordinates(grid.from_pixels_to_metric(shapely.points(points)))
