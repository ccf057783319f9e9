"""The job suggestlabels: active learning; ranks the patches of a segmented scene in which labels would help most.

Scope: from a road probability to a layer of patches, by way of uncertainty and diversity-aware selection. Independent
of the model and of training.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Optional

import geopandas
import numpy as np

from ..errors import ImageryError
from ..events import Reporter
from ..geodata.grid import Grid, grid_of
from ..geodata.rasters import open_mask
from ..geodata.road_raster import band_raster, values_of
from ..geodata.shapes import burn_shapes, near, shapes_on
from ..geodata.sources import with_sources
from ..geodata.vector_output import check_vector_output, write_layers
from ..geodata.vectors import read_polygons
from ..jobs import SuggestLabels
from ..labels.label_suggestions import measure_blocks, patches_of, suggest
from ..system.outputs import Outputs

_HALF = 0.5  # no threshold matters here, but reading a probability asks for one


def run(job: SuggestLabels, reporter: Reporter) -> dict[str, Any]:
    """Do the job; see `jobs.SuggestLabels`.

    Raises ImageryError if the raster is a mask, or no unlabeled patch has data.
    """
    check_vector_output(job.suggestions)
    with Outputs([*with_sources([job.raster]), job.labeled]) as outputs:
        path = outputs.stage(job.suggestions)
        labeled = read_polygons(job.labeled, "labeled areas") if job.labeled else None
        with open_mask(job.raster) as dataset:
            if values_of(dataset, job.raster, reporter) is not None:
                raise ImageryError(
                    f"{job.raster} is a mask, which holds no uncertainty.",
                    "Choose the road probability, an optional output of Segment roads.",
                )
            grid, raster = grid_of(dataset), band_raster(dataset, _HALF, reporter)
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
                f"Only {len(suggested)} of {job.count} patches are suggested: elsewhere the model is certain, or there "
                "are labels."
            )
        reporter.progress(0.95, "Writing")
        write_layers(path, {"suggestions": suggested}, {"suggestions": "Polygon"})
    mean = float(blocks.entropy.sum() / blocks.known_px.sum())
    reporter.log(f"{len(suggested)} patches to label; the mean entropy of the scene is {mean:.3f} bits per pixel.")
    return {"suggestions": job.suggestions, "suggested": len(suggested), "mean_uncertainty": mean}


def _burner(labeled: Optional[geopandas.GeoDataFrame], grid: Grid) -> Optional[Callable[[int, int], np.ndarray]]:
    """Return a function that rasterizes the labeled polygons by strips: (rows, width), bool."""
    if labeled is None:
        return None
    shapes = shapes_on(labeled.iloc[near(labeled, grid)], grid)
    return lambda first_row, count: burn_shapes(shapes, grid, (0, first_row, grid.width, count))
