"""Uncertain places: where in view the next drawn roads would teach the model most.

Scope: a probability and what is labeled. Independent of how it was predicted. The measure and the choice are those of
`suggestlabels`.
"""

from __future__ import annotations

import numpy as np

from ..errors import JobError
from ..events import Reporter
from ..geodata.grid import Grid
from ..geodata.road_raster import byte_raster
from ..jobs import SuggestLabels
from ..labels.patch_selection import suggest
from ..labels.uncertainty import measure_blocks, patches_of

PLACES, PATCH_M = 2, 60.0
_HALF = 0.5  # no threshold matters here
_OPTIONS = SuggestLabels(count=PLACES)


def uncertain_places(probability: np.ndarray, labeled: np.ndarray, grid: Grid) -> list[list[float]]:
    """Return the centers of the most uncertain patches without labels, the first one most.

    Parameters
    ----------
    probability : ndarray (height, width), uint8
        See `to_byte`.
    labeled : ndarray (height, width), bool
    grid : Grid
        Of both.

    Returns
    -------
    list of list of float
        At most PLACES of (x, y), in the grid's CRS.
    """
    raster, silent = byte_raster(probability, _HALF), Reporter()
    try:
        blocks = measure_blocks(
            raster, grid.pixel_m, PATCH_M, lambda first, count: labeled[first : first + count], silent
        )
    except JobError:  # pixels are larger than that
        return []
    chosen = suggest(patches_of(blocks), blocks, grid, _OPTIONS, silent)
    return [[place.x, place.y] for place in chosen.geometry.centroid]
