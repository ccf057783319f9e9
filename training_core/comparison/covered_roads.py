"""Roads that an image cannot show: where water covers a line, or clouds hide it.

Scope: lines in meters, images of ground, and layers or masks that a person gives. Independent of how a state is found.
What a person gives wins. An index of water counts only where the model sees no road. A bridge is not under water: a
line tagged so. Water that an image before shows as well is not new.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

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
from ..networks.road_graph import Places, RoadGraph
from .road_state import Seen

# From this on, a raster that a person gives as a probability means yes.
_YES = 0.5


def water_along(
    image: str, near_infrared: int, roads: RoadGraph, places: Places, plane: pyproj.CRS, check: Callable[[], None]
) -> np.ndarray:
    """Return where an index tells water in an image along lines, (n,) bool: nowhere without near infrared, which is 0.

    Raises ImageryError if the image lacks this band, or a green one.
    """
    if not near_infrared:
        return np.zeros(len(places), dtype=bool)
    points = roads.points_at(places)
    with open_image(image) as dataset:
        return water_at(dataset, near_infrared, lambda opened: pixels_on(opened.grid, plane)(points), check)


def without_covered(
    looks: Sequence[Seen], wet: Sequence[np.ndarray], wet_before: np.ndarray | None, is_bridge: np.ndarray,
    water: np.ndarray | None = None, clouds: np.ndarray | None = None,
) -> list[Seen]:  # fmt: skip
    """Return looks at places without evidence where these are covered, from the newest image to the oldest.

    All masks are (n,) bool: where an index tells water in each image, and in an image before, or None; where bridges
    are; and water and clouds that a person gives of the newest image, or None.
    """
    nowhere = np.zeros(len(is_bridge), dtype=bool)
    is_old = nowhere if wet_before is None else wet_before
    waters = [each & ~is_old & (look.along < 0) for look, each in zip(looks, wet)]
    hidden = [nowhere for _ in looks]
    if water is not None:
        waters[0] = water
    if clouds is not None:
        hidden[0] = clouds
    found = []
    for look, is_wet, is_hidden in zip(looks, waters, hidden):
        under_water = is_wet & ~is_bridge
        along = np.where(under_water | is_hidden, np.nan, look.along)
        found.append(replace(look, along=along, under_water=under_water))
    return found


def given_along(
    path: str, what: str, roads: RoadGraph, places: Places, plane: pyproj.CRS, reporter: Reporter
) -> np.ndarray:
    """Return where polygons or a mask that a person gives lie on lines, (n,) bool; `what` names it in messages.

    A raster is a mask or a probability. Raises LayerError or ImageryError if it cannot be used, or a raster shows no
    part of the lines.
    """
    points = roads.points_at(places)
    if not is_raster(path):
        return np.asarray(shapely.contains_xy(area_in(plane, read_polygons(path, what, reporter)), points))
    with open_mask(path) as dataset:
        raster, pixels = band_raster(dataset, _YES, reporter), pixels_on(grid_of(dataset), plane)(points)
        is_on = is_on_grid(grid_of(dataset), pixels)
        if not is_on.any():
            raise LayerError(
                f"No part of the known roads lies on the mask of {what} {path}.",
                "Choose a mask of the same place, and check its coordinate system.",
            )
        found = np.zeros(len(places), dtype=bool)
        found[is_on] = pixels_at(
            pixels[is_on] - 0.5, raster.height, raster.width, lambda *strip: raster.road(*raster.read(*strip))
        )
    return found
