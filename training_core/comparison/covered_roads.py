"""Roads that an image cannot show: where water covers a line, or clouds hide it.

Scope: places in meters, images of ground, and layers or masks that a person gives. Independent of how a state is found.
Places are those of the roads in the image, beside which lines of maps may lie. What a person gives wins. An index of
water counts only where the model sees no road. A bridge is not under water: a line tagged so. Water that an image
before shows as well is not new.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pyproj
import shapely

from ..errors import LayerError
from ..events import Reporter
from ..geodata.grid import grid_of, is_on_grid, pixels_on
from ..geodata.rasters import open_image, open_mask
from ..geodata.road_raster import band_raster, pixels_at
from ..geodata.sources import is_raster
from ..geodata.vectors import read_polygons
from ..geodata.water_index import water_at
from ..networks.lines import area_in
from .road_state import Seen

# From this on, a raster that a person gives as a probability means yes.
_YES = 0.5


def water_along(
    image: str, near_infrared: int, points: np.ndarray, plane: pyproj.CRS, check: Callable[[], None]
) -> np.ndarray:
    """Return where an index tells water in an image at points, (n,) bool: nowhere without near infrared, which is 0.

    Points are (n, 2) float64 in a plane. Raises ImageryError if the image lacks this band, or a green one.
    """
    if not near_infrared:
        return np.zeros(len(points), dtype=bool)
    with open_image(image) as dataset:
        return water_at(dataset, near_infrared, lambda opened: pixels_on(opened.grid, plane)(points), check)


def without_covered(
    looks: Sequence[Seen], before: Seen | None, is_bridge: np.ndarray, water: Sequence[np.ndarray] = (),
    clouds: Sequence[np.ndarray] = (),
) -> list[Seen]:  # fmt: skip
    """Return looks at places without evidence where these are covered, from the newest image to the oldest.

    What is under water in them, and in the one before, is so by an index. Masks are (n,) bool: where bridges are, and
    water and clouds that a person gives of the first of the images.
    """
    nowhere = np.zeros(len(is_bridge), dtype=bool)
    is_old = nowhere if before is None else before.under_water
    waters = [look.under_water & ~is_old & (look.along < 0) for look in looks]
    hidden = [nowhere for _ in looks]
    waters[: len(water)], hidden[: len(clouds)] = water, clouds
    found = []
    for look, is_wet, is_hidden in zip(looks, waters, hidden):
        under_water = is_wet & ~is_bridge
        along = np.where(under_water | is_hidden, np.nan, look.along)
        found.append(replace(look, along=along, under_water=under_water))
    return found


def given_cover(
    path: str, what: str, points: np.ndarray, plane: pyproj.CRS, reporter: Reporter
) -> Callable[[np.ndarray], np.ndarray]:
    """Return the function that tells where polygons or a mask that a person gives cover points of a plane: (n,) bool.

    Points are (n, 2) float64. `what` names the cover in messages. A raster is a mask or a probability. Raises
    LayerError or ImageryError if it cannot be used, or a raster shows none of the points near which it is wanted.
    """
    if not is_raster(path):
        return partial(shapely.contains_xy, area_in(plane, read_polygons(path, what, reporter)))
    with open_mask(path) as dataset:
        grid = grid_of(dataset)
        if not is_on_grid(grid, pixels_on(grid, plane)(points)).any():
            raise LayerError(
                f"No part of the known roads lies on the mask of {what} {path}.",
                "Choose a mask of the same place, and check its coordinate system.",
            )
        band_raster(dataset, _YES, reporter)  # which refuses what is no mask
    return partial(_masked, path, plane, reporter.silent())


def _masked(path: str, plane: pyproj.CRS, reporter: Reporter, points: np.ndarray) -> np.ndarray:
    """Return where a mask covers points of a plane, (n, 2) float64: (n,) bool."""
    with open_mask(path) as dataset:
        raster, pixels = band_raster(dataset, _YES, reporter), pixels_on(grid_of(dataset), plane)(points)
        is_on = is_on_grid(grid_of(dataset), pixels)
        found = np.zeros(len(points), dtype=bool)
        found[is_on] = pixels_at(
            pixels[is_on] - 0.5, raster.height, raster.width, lambda *strip: raster.road(*raster.read(*strip))
        )
    return found
