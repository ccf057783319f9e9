"""Roads that an image cannot show: where water covers a line, or cloud, shadow or canopy hides it.

Scope: lines in meters, images of ground, and layers or masks that a person gives. Independent of how a state is found.
What a person gives wins. What the classifier says counts only where the model sees no road: a road that is seen in a
shadow is seen. A bridge is not under water: a line tagged so, or one over water that an image before shows as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pyproj
import shapely

from ..errors import LayerError
from ..events import Reporter
from ..geodata.grid import grid_of
from ..geodata.rasters import Image, open_image, open_mask
from ..geodata.road_raster import band_raster, pixels_at
from ..geodata.sources import is_raster
from ..geodata.vectors import read_polygons
from ..networks.lines import area_in
from ..networks.road_graph import Places, RoadGraph
from ..segmentation.ground_cover import CANOPY, CLOUD, SHADOW, WATER, cover_at
from .road_state import Seen, averaged, pixels_on, places_on

# A class covers a line from this mean probability on, averaged over a length of the line.
_COVERED, _WINDOW_M = 0.85, 16.0
# What this share of the roads that are seen does not reach is needed besides. So the classifier may err in an image.
_USUAL, _FEW = 0.98, 100
# From this on, a raster that a person gives as a probability means yes.
_YES = 0.5


def ground_cover_along(
    image: str, near_infrared: int, roads: RoadGraph, places: Places, plane: pyproj.CRS, check: Callable[[], None]
) -> np.ndarray:
    """Return the probability of each class of ground cover in an image along lines: (n, 5) float64, NaN without data.

    Raises ImageryError if the image lacks the near-infrared band of a number that is not 0.
    """
    points = roads.points_at(places)

    def pixels(opened: Image) -> np.ndarray:
        return pixels_on(opened.grid, plane)(points)

    with open_image(image) as dataset:
        probability = cover_at(dataset, near_infrared, pixels, check)
    return np.column_stack([averaged(of_class, places.edge, _WINDOW_M) for of_class in probability.T])


def without_covered(
    looks: Sequence[Seen], grounds: Sequence[np.ndarray], roads: RoadGraph, has_before: bool,
    water: np.ndarray | None = None, cloud: np.ndarray | None = None,
) -> list[Seen]:  # fmt: skip
    """Return looks without evidence where ground covers the roads, by the ground cover along them, (n, 5) float64 each.

    The last look may be that of an image before. Water and cloud, (n,) bool, are those that a person gives, or None.
    They are of the newest image, which is the first one.
    """
    places = places_on(roads)
    before, ground_before = (looks[-1], grounds[-1]) if has_before else (None, None)
    after = len(looks) - has_before
    given = [(water, cloud), *[(None, None)] * (after - 1)]
    is_bridge = roads.lines.bridge[places.edge]
    found = [
        _without(look, ground, before, ground_before, is_bridge, *of_look)
        for look, ground, of_look in zip(looks, grounds, given)
    ]
    return [*found, *looks[after:]]


def _without(
    after: Seen, ground: np.ndarray, before: Seen | None, ground_before: np.ndarray | None, is_bridge: np.ndarray,
    water: np.ndarray | None, cloud: np.ndarray | None,
) -> Seen:  # fmt: skip
    canopy, sky = ground[:, CANOPY], ground[:, CLOUD] * (cloud is None) + ground[:, SHADOW]
    if before is not None:
        # Trees do not grow over a road that was seen.
        canopy = np.where(before.along > 0, 0, canopy)
    under_water, hidden = (_covers(each, after.along) for each in (ground[:, WATER], canopy + sky))
    if ground_before is not None:
        under_water &= ~(ground_before[:, WATER] >= _COVERED)
    under_water = (under_water if water is None else water) & ~is_bridge
    hidden = hidden if cloud is None else hidden | cloud
    return replace(after, along=np.where(under_water | hidden, np.nan, after.along), under_water=under_water)


def _covers(probability: np.ndarray, along: np.ndarray) -> np.ndarray:
    """Return where ground of a probability, (n,) float64, covers roads by their evidence, (n,) float64: (n,) bool."""
    usual = probability[(along > 0) & np.isfinite(probability)]
    least = max(_COVERED, np.quantile(usual, _USUAL)) if len(usual) >= _FEW else _COVERED
    return (along < 0) & (probability >= least)


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
        is_on = ((pixels >= 0) & (pixels < (raster.width, raster.height))).all(axis=1)
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
