"""Pictures of images before and after on one grid: of all known roads, of lost ones, and of places to check.

Scope: pixels and colors. Independent of reports, and of how states are found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyproj
import shapely
from affine import Affine
from rasterio.crs import CRS
from rasterio.enums import Resampling

from ..geodata.grid import Grid, grid_of
from ..geodata.plain_rasters import alpha_band, valid_pixels
from ..geodata.rasters import band_names, open_image, warped
from .evaluation import stretch_limits, to_picture
from .status_results import Summary

# Sides of a picture of all roads, and of a place: pixels, and meters on the ground at least and around a stretch.
_WIDTH_PX, _HEIGHT_PX, _PLACE_PX = 1000, 1200, 480
_PLACE_M, _AROUND_M = 160.0, 50.0
# Number of places of each list that have a picture; and the brightness where there is no data.
_PLACES, _GRAY = 4, 225


@dataclass(frozen=True)
class Frame:
    """A rectangle in a plane of meters, and its size in pixels."""

    bounds: tuple[float, float, float, float]
    width: int
    height: int

    def grid(self, plane: pyproj.CRS) -> Grid:
        """Return the pixels in a plane."""
        west, south, east, north = self.bounds
        scaled = Affine.scale((east - west) / self.width, (south - north) / self.height)
        return Grid(CRS.from_wkt(plane.to_wkt()), Affine.translation(west, north) @ scaled, self.width, self.height)


@dataclass(frozen=True)
class Swipe:
    """A place before and after: pictures of one frame, (height, width, 3) uint8."""

    caption: str
    frame: Frame
    before: np.ndarray
    after: np.ndarray


def find_swipes(summary: Summary, before: Sequence[str], after: Sequence[str], plane: pyproj.CRS) -> list[Swipe]:
    """Return pictures of all roads, and of the first checks and lost links.

    Of several images, the first one that shows a place counts. Without an image before, both pictures are of the one
    after. Raises ImageryError if an image cannot be read.
    """
    rows = {row["row"]: row for row in (*summary.checks[:_PLACES], *summary.lost[:_PLACES])}
    frames = [_frame_of_all(shapely.total_bounds(summary.shapes))]
    frames += [_frame_of_place(shapely.total_bounds(summary.shapes[[number]])) for number in rows]
    captions = ["All known roads", *map(_caption, rows.values())]
    shown = _pictures(after, frames, plane)
    return list(map(Swipe, captions, frames, _pictures(before, frames, plane) if before else shown, shown))


def _caption(row: dict[str, Any]) -> str:
    check = f"Check {row['check']}: " if row["check"] else ""
    return f"{check}{row['name']}, {row['state']}, {row['length_m']:.0f} m"


def _frame_of_all(bounds: np.ndarray) -> Frame:
    """Return the frame of all roads, within (4,) float64 bounds."""
    west, south, east, north = bounds + np.array([-1, -1, 1, 1]) * _AROUND_M
    scale = min(_WIDTH_PX / (east - west), _HEIGHT_PX / (north - south))
    return Frame((west, south, east, north), round((east - west) * scale), round((north - south) * scale))


def _frame_of_place(bounds: np.ndarray) -> Frame:
    """Return the square frame of a stretch within (4,) float64 bounds."""
    low, high = bounds[:2], bounds[2:]
    half_m = max(_PLACE_M / 2, (high - low).max() / 2 + _AROUND_M)
    x, y = (low + high) / 2
    return Frame((x - half_m, y - half_m, x + half_m, y + half_m), _PLACE_PX, _PLACE_PX)


def _pictures(images: Sequence[str], frames: Sequence[Frame], plane: pyproj.CRS) -> list[np.ndarray]:
    """Return a picture of each frame, (height, width, 3) uint8: of the first image that shows a place, gray of none.

    Contrast is that of the first frame.
    """
    shown = [np.full((frame.height, frame.width, 3), _GRAY, dtype=np.uint8) for frame in frames]
    is_empty = [np.ones(picture.shape[:2], dtype=bool) for picture in shown]
    for image in images:
        with open_image(image) as dataset:
            limits, names, own = None, band_names(dataset), grid_of(dataset)
            for frame, picture, empty in zip(frames, shown, is_empty):
                grid = frame.grid(plane)
                way = Resampling.average if grid.resolution_m > own.resolution_m else Resampling.bilinear
                with warped(dataset, own, grid, way, add_alpha=not alpha_band(dataset)) as source:
                    values = source.read(list(names))
                    known = valid_pixels(source, None, values)
                limits = limits or stretch_limits(values, known)
                new = empty & known
                picture[new] = to_picture(values, known, list(names.values()), limits)[new]
                empty &= ~known
    return shown
