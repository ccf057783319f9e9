"""Drawn roads as labels: layers of roads and areas, rasterized to 1 road, 0 background, 255 ignore on any grid.

Scope: vector layers and their ground widths. Independent of images and of the model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import ClassVar, Optional

import geopandas
import numpy as np
import shapely
from scipy.ndimage import binary_dilation, binary_erosion

from ..errors import LayerError
from ..events import Reporter
from ..geodata.fields import check_numbers, check_yes_no, widths_m_in
from ..geodata.grid import Grid, Window, common_window
from ..geodata.non_roads import areas_on, read_no_road
from ..geodata.osm_layers import is_extract, is_osm_file, roads_of
from ..geodata.pixel_codes import BACKGROUND, IGNORE, ROAD
from ..geodata.road_classes import RoadClass, find_classes
from ..geodata.shapes import around, burn_shapes, near, pixel_window, shapes_on, translated, widened
from ..geodata.sources import source_name
from ..geodata.vectors import read_area, read_layer, require_features, require_fields, require_geometry
from ..jobs import LabelOptions
from ..jobs.fields import METERS, NO, word_in
from ..system import large_arrays

# No road is wider: larger numbers have another unit, or stand for an unknown width.
MAX_ROAD_WIDTH_M = 1000.0
# No road is moved by more. Roads are read so much farther around an image than they reach.
MAX_MOVE_M = 100.0


@dataclass(frozen=True)
class Labels:
    """Labels, (height, width), uint8, BACKGROUND, ROAD or IGNORE, on the part of a grid from a column and row on.

    `classes`, uint8, are the numbers of the roads' classes, from 1; 0 without a road, or if its class is not known.
    """

    column: int
    row: int
    values: np.ndarray
    classes: Optional[np.ndarray] = None

    def within(self, window: Window) -> np.ndarray:
        """Return the labels of a window (column, row, width, height) of the grid: (height, width), uint8."""
        height, width = self.values.shape
        column, row, common_width, common_height = common_window(window, (self.column, self.row, width, height))
        values = np.full((window[3], window[2]), IGNORE, dtype=np.uint8)
        there, here = (
            np.s_[row - top : row - top + common_height, column - left : column - left + common_width]
            for left, top in ((window[0], window[1]), (self.column, self.row))
        )
        if common_width and common_height:
            values[there] = self.values[here]
        return values


@dataclass(frozen=True)
class Ground:
    """Drawn shapes as polygons in the ground meters of a grid, in arrays (n,), object.

    `sure`, (n,), bool, are the roads that are certain. Pixels without road are background if they are `known`.
    `no_road` is background except on drawn roads.
    """

    roads: np.ndarray
    sure: np.ndarray
    known: np.ndarray
    no_road: np.ndarray

    def burn(self, grid: Grid, window: Window) -> np.ndarray:
        """Rasterize a window (column, row, width, height) to BACKGROUND, ROAD or IGNORE: (height, width), uint8."""
        # Later lines win: known ground is background, sure roads on it are road, and all unsure roads are ignored.
        is_known, no_road = burn_shapes(self.known, grid, window), burn_shapes(self.no_road, grid, window)
        values = np.where(is_known | no_road, BACKGROUND, IGNORE).astype(np.uint8)
        is_road = burn_shapes(self.roads[self.sure], grid, window)
        values[is_road] = np.where(is_known[is_road], ROAD, IGNORE)
        values[burn_shapes(self.roads[~self.sure], grid, window)] = IGNORE
        return values


@dataclass(frozen=True)
class Drawing:
    """Drawn roads, the area of interest, within which all roads are drawn, and the names of both files for messages.

    The classes are empty without a class or speed field. The number of a road's class, (roads,), uint8, is from 1, or 0
    if not known. The only roads in `no_road` are the drawn ones. `move_of` leads from the path of an image to how far
    the roads are moved for it, in meters east and north, at most MAX_MOVE_M together.
    """

    roads: geopandas.GeoDataFrame
    aoi: Optional[geopandas.GeoDataFrame]
    options: LabelOptions
    roads_name: str = "the drawn roads"
    aoi_name: str = "the area of interest"
    classes: tuple[RoadClass, ...] = ()
    class_numbers: Optional[np.ndarray] = None
    no_road: Optional[geopandas.GeoDataFrame] = None
    move_of: Optional[Callable[[str], tuple[float, float]]] = None
    pixel_m: ClassVar[float] = 0.0

    def moved(self, roads: geopandas.GeoDataFrame, grid: Grid, image: str) -> geopandas.GeoDataFrame:
        """Return some of the roads as they are moved for an image on a grid."""
        return translated(roads, grid, *self.move_of(image)) if self.move_of else roads

    def burn(self, grid: Grid, image: str = "") -> Optional[Labels]:
        """Rasterize the labels of an image on a grid, the same for every image unless moved; None if there are none.

        Lines are buffered on the ground by half their width. Pixels outside the area of interest are ignored. Without
        one, those farther from a road than `background_m` are. So are roads marked unsure. In the places without a
        road, everything that no drawn road covers is background. Where several classes meet, the last one wins.
        """
        chosen = near(self.roads, grid, self._reach_m)
        roads = self.moved(self.roads.iloc[chosen], grid, image)
        shapes, road = widened(roads, grid, _widths_m(roads, self.options), self.options.background_m)
        sure = is_sure(roads, self.options)[road]
        if self.aoi is None:
            known = around(shapes, self.options.background_m)
        else:
            known = shapes_on(self.aoi.iloc[near(self.aoi, grid)], grid)
        without_road = np.zeros(0, dtype=object) if self.no_road is None else areas_on(self.no_road, grid)
        ground = Ground(shapes, sure, known, without_road)
        column, row, width, height = pixel_window(np.concatenate([known, ground.no_road]), grid)
        if not width or not height:
            return None
        values, classes = large_arrays.allocate((height, width), np.uint8), None
        numbers = np.zeros(len(road)) if self.class_numbers is None else self.class_numbers[chosen][road] * sure
        if numbers.any():
            classes = large_arrays.allocate((height, width), np.uint8)
            classes[:] = 0
        for rows in large_arrays.strips(height, width):
            strip = (column, row + rows.start, width, rows.stop - rows.start)
            values[rows] = ground.burn(grid, strip)
            if classes is not None:
                for number in np.unique(numbers[numbers > 0]):
                    classes[rows][burn_shapes(shapes[numbers == number], grid, strip)] = number
        return Labels(column, row, values, classes)

    def may_label(self, grid: Grid, image: str = "") -> bool:
        """Whether anything drawn is near a grid, so that it takes burning to know whether something is labeled."""
        layers = (self.roads, self.aoi, self.no_road)
        return any(layer is not None and len(near(layer, grid, self._reach_m)) for layer in layers)

    @property
    def _reach_m(self) -> float:
        # A road reaches as far as its width, and the background around it.
        widest_m = MAX_ROAD_WIDTH_M / 2 if self.options.width_field else self.options.width_m
        return widest_m + self.options.background_m + (MAX_MOVE_M if self.move_of else 0.0)


def read_drawing(
    roads: str,
    aoi: str,
    options: LabelOptions,
    reporter: Reporter,
    class_field: str = "",
    speed_field: str = "",
    images: Iterable[Grid] = (),
) -> Drawing:
    """Read drawn roads, and the area of interest unless its name is empty.

    Roads of a large layer that cannot reach into any grid of `images` are left out. For the fields of the roads'
    classes, see `road_classes.find_classes`; neither means a model without classes. Raises LayerError if a layer cannot
    be used, or a field is missing.
    """
    margin_m = MAX_ROAD_WIDTH_M / 2 + options.background_m + MAX_MOVE_M
    grids = list(images)
    drawn = read_layer(roads, "drawn roads", reporter, grids, margin_m, are_heights_told=False)
    require_features(drawn, roads, "drawn roads")
    named = (options.width_field, options.sure_field, class_field, speed_field)
    if is_osm_file(roads) or (is_extract(drawn) and (shapely.get_dimensions(drawn.geometry) == 1).any()):
        drawn, options = roads_of(drawn, roads, options, named, reporter)
    require_geometry(drawn, ("lines", "polygons"), roads, "drawn roads")
    require_fields(drawn, named, roads, "drawn roads")
    check_numbers(drawn, options.width_field, roads, "drawn roads", reporter, METERS)
    check_numbers(drawn, speed_field, roads, "drawn roads", reporter)
    check_yes_no(drawn, options.sure_field, "drawn roads", reporter)
    widest_m = _widths_m(drawn, options).max()
    if options.width_field and widest_m > MAX_ROAD_WIDTH_M:
        raise LayerError(
            f"The field {options.width_field!r} of the drawn roads ({roads}) gives a road a width of {widest_m:g} m; "
            f"at most {MAX_ROAD_WIDTH_M:g} m can be used.",
            "Correct its values, which are widths in meters, or choose another width field.",
        )
    classes = find_classes(drawn, class_field, speed_field, roads) if class_field or speed_field else ()
    drawing = Drawing(drawn, read_area(aoi) if aoi else None, options, source_name(roads), source_name(aoi), *classes)
    no_road = read_no_road(options.no_road, reporter, grids) if options.no_road else None
    return replace(drawing, no_road=no_road)


def is_sure(roads: geopandas.GeoDataFrame, options: LabelOptions) -> np.ndarray:
    """Return which roads are not marked unsure in the sure field, all without one: (roads,), bool."""
    if not options.sure_field:
        return np.ones(len(roads), dtype=bool)
    return ~roads[options.sure_field].map(lambda value: word_in(value) in NO).to_numpy(dtype=bool)


def _widths_m(roads: geopandas.GeoDataFrame, options: LabelOptions) -> np.ndarray:
    """Return the width of each road: its own or, without a valid one, the common one."""
    own_m = widths_m_in(roads, options.width_field)
    return np.where(np.isnan(own_m), options.width_m, own_m)


def near_edges(road: np.ndarray, known: np.ndarray, radius_px: int) -> np.ndarray:
    """Return which labeled pixels are near an edge of a road, of road and known ones, all (height, width), bool.

    Roads so narrow that nothing else of them would remain keep their pixels.
    """
    if not radius_px:
        return np.zeros(road.shape, dtype=bool)
    # The parts of roads that are a radius away from any edge. The border of the labels is not an edge.
    core = road & binary_erosion(road | ~known, _disk(radius_px), border_value=1)
    # Reaches any pixel of a road from its core, so pixels out of its reach belong to roads too narrow for a core.
    wide = binary_dilation(core, _disk(2 * radius_px))
    outside = known & ~road & binary_dilation(road, _disk(radius_px))
    return outside | (road & ~core & wide)


def _disk(radius_px: int) -> np.ndarray:
    rows, columns = np.ogrid[-radius_px : radius_px + 1, -radius_px : radius_px + 1]
    return rows**2 + columns**2 <= radius_px**2
