"""Predictions without road in places that have none; see `geodata.non_roads`.

A bridge needs both of its sides, which may lie in several tiles: an image is held, a byte per pixel each of probability
and classes. Scope: tiles of one image. Independent of files and models.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np
from shapely.geometry.base import BaseGeometry

from ..geodata.grid import Grid
from ..geodata.non_roads import RoadLeftOut, keep_out
from ..geodata.pixel_codes import NO_DATA
from ..geodata.tiling import Tile
from ..system import large_arrays
from .inference import Prediction


def without_places(
    tiles: Iterable[tuple[Tile, Prediction]],
    grid: Grid,
    area: BaseGeometry,
    threshold: float,
    note: Callable[[RoadLeftOut], object],
) -> Iterator[tuple[Tile, Prediction]]:
    """Yield the tiles of an image on a grid with a probability of 0 in an area, in its ground meters, but for bridges.

    They are passed on as they come if the area is empty. Else `note` is called with the road left out.
    """
    if area.is_empty:
        yield from tiles
        return
    probability, held = large_arrays.allocate((grid.height, grid.width), np.uint8), []
    probability[:] = NO_DATA
    for tile, prediction in tiles:
        probability[tile.destination] = prediction.probability
        held.append((tile, prediction.classes))
    closed = keep_out(probability, grid, area, threshold)
    note(closed.left_out)
    for tile, classes in held:
        yield tile, Prediction(probability[tile.destination], classes)
