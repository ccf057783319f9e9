"""The job suggestlabels: where in a segmented scene a label would teach the model most.

Knows how a probability becomes a few ranked patches on the map; how unsure a model is in each, and which of them lie
well apart, are modules of their own. Knows nothing of networks or of learning.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Optional

import geopandas
import numpy as np
import pyproj
import shapely
from scipy.spatial import cKDTree

from .errors import ImageryError
from .events import Reporter
from .geodata.grid import Grid, grid_of
from .geodata.rasterize import burn_area, ground_shapes
from .geodata.rasters import open_raster
from .geodata.road_raster import band_raster
from .geodata.vectors import check_vector_output, read_polygons, write_layers
from .jobs import SuggestLabels
from .spreading import Places, choose_spread
from .system.outputs import Outputs
from .uncertainty import BLOCKS_A_SIDE, Blocks, Patches, measure_blocks, patches_of

_HALF = 0.5  # no threshold enters what is suggested, but one makes of a raster a probability


def run(job: SuggestLabels, reporter: Reporter) -> dict[str, Any]:
    """Do the job; see `jobs.SuggestLabels`."""
    check_vector_output(job.suggestions)
    with Outputs(inputs=[job.raster, job.labeled]) as outputs:
        path = outputs.stage(job.suggestions)
        labeled = read_polygons(job.labeled, "labeled areas") if job.labeled else None
        with open_raster(job.raster) as dataset:
            grid, raster = grid_of(dataset), band_raster(dataset, _HALF)
            if raster.threshold is None:
                raise ImageryError(
                    f"{job.raster} is a mask, which does not tell how sure the model is.",
                    "Give the road probability, which Segment roads writes where it is asked for.",
                )
            blocks = measure_blocks(raster, grid.pixel_m, job.patch_m, _burner(labeled, grid), reporter.part(0, 0.9))
        patches = patches_of(blocks)
        if not len(patches.cells):
            rest = ", and is not labeled yet" if labeled is not None else ""
            raise ImageryError(
                f"No patch of {job.patch_m:g} m of {job.raster} has data{rest}.",
                "Choose a smaller patch size (patch_m).",
            )
        suggested = suggest(patches, blocks, grid, job, reporter.part(0.9, 0.95))
        if len(suggested) < job.count:
            reporter.warning(
                f"{len(suggested)} of {job.count} patches: the model is sure of the rest, or it is labeled."
            )
        reporter.progress(0.95, "Writing")
        write_layers(path, {"suggestions": suggested}, {"suggestions": "Polygon"})
    mean = float(blocks.entropy.sum() / blocks.known_px.sum())
    reporter.log(f"{len(suggested)} patches to label; the scene's mean uncertainty is {mean:.3f} of 1 bit.")
    return {"suggestions": job.suggestions, "suggested": len(suggested), "mean_uncertainty": mean}


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


def _burner(labeled: Optional[geopandas.GeoDataFrame], grid: Grid) -> Optional[Callable[[int, int], np.ndarray]]:
    """Return what tells of some rows which pixels lie in polygons."""
    if labeled is None:
        return None
    shape = shapely.union_all(ground_shapes(labeled, grid))
    return lambda first_row, count: burn_area(grid, shape, (0, first_row, grid.width, count))


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
