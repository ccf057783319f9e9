"""Drawn roads, or masks in place of them, by which images are labeled.

Scope: vector layers, and their labels on any grid. Independent of images.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Optional, Union

import geopandas
import numpy as np
import shapely

from ..errors import LayerError
from ..events import Reporter
from ..geodata.fields import check_numbers
from ..geodata.grid import Grid
from ..geodata.osm_layers import is_osm_file, looks_like_extract
from ..geodata.rasterize import near, translated
from ..geodata.rasters import read_grid
from ..geodata.road_classes import RoadClass, find_classes
from ..geodata.sources import source_name
from ..geodata.vectors import read_area, read_layer, read_polygons, require_features, require_fields, require_geometry
from ..jobs import LabelOptions, MaskOptions
from ..jobs.fields import METERS
from . import osm_roads
from .label_masks import LabelMasks, read_masks
from .label_raster import Labels, burn_labels, own_widths_m

# No road is wider: larger numbers have another unit, or stand for an unknown width.
MAX_ROAD_WIDTH_M = 1000.0
# No road is moved by more. Roads are read so much farther around an image than they reach.
MAX_MOVE_M = 100.0


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

    def burn(self, grid: Grid, image: str = "") -> Optional[Labels]:
        """Return the labels on a grid, the same for every image there unless moved; None where nothing is labeled."""
        row = near(self.roads, grid, self._reach_m)
        roads = self.roads.iloc[row]
        if self.move_of:
            roads = translated(roads, grid, *self.move_of(image))
        aoi, no_road = (layer if layer is None else layer.iloc[near(layer, grid)] for layer in (self.aoi, self.no_road))
        numbers = None if self.class_numbers is None else self.class_numbers[row]
        return burn_labels(grid, roads, aoi, self.options, numbers, no_road)

    def may_label(self, grid: Grid, image: str = "") -> bool:
        """Whether anything drawn is near a grid, so that it takes burning to know whether something is labeled."""
        layers = (self.roads, self.aoi, self.no_road)
        return any(layer is not None and len(near(layer, grid, self._reach_m)) for layer in layers)

    @property
    def _reach_m(self) -> float:
        # A road reaches as far as its width, and the background around it.
        widest_m = MAX_ROAD_WIDTH_M / 2 if self.options.width_field else self.options.width_m
        return widest_m + self.options.background_m + (MAX_MOVE_M if self.move_of else 0.0)


# The source of the labels of images.
Truth = Union[Drawing, LabelMasks]


def read_truth(
    job: MaskOptions, aoi: str, images: Sequence[str], reporter: Reporter, class_field: str = "", speed_field: str = ""
) -> Truth:
    """Read the drawn roads of a job, or the label masks that it has in place of them; see `read_drawing`.

    Raises LayerError or LabelError if a layer, or a mask, cannot be used.
    """
    if job.masks:
        return read_masks(job, aoi, images, reporter)
    return read_drawing(job.roads, aoi, job, reporter, class_field, speed_field, map(read_grid, images))


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
    classes, see `road_classes.find_classes`; neither means a model without classes. Extracts of OpenStreetMap are read
    by `osm_roads.roads_of`. Raises LayerError if a layer cannot be used, or a field is missing.
    """
    margin_m = MAX_ROAD_WIDTH_M / 2 + options.background_m + MAX_MOVE_M
    drawn = read_layer(roads, "drawn roads", images=images, margin_m=margin_m)
    require_features(drawn, roads, "drawn roads")
    named = (options.width_field, options.sure_field, class_field, speed_field)
    if is_osm_file(roads) or (looks_like_extract(drawn) and (shapely.get_dimensions(drawn.geometry) == 1).any()):
        drawn, options = osm_roads.roads_of(drawn, roads, options, named, reporter)
    require_geometry(drawn, ("lines", "polygons"), roads, "drawn roads")
    require_fields(drawn, named, roads, "drawn roads")
    check_numbers(drawn, options.width_field, roads, "drawn roads", reporter, METERS)
    check_numbers(drawn, speed_field, roads, "drawn roads", reporter)
    if options.width_field:
        _check_widths(drawn, options.width_field, roads)
    classes = find_classes(drawn, class_field, speed_field, roads) if class_field or speed_field else ()
    area = read_area(aoi) if aoi else None
    no_road = read_polygons(options.no_road, "places without a road") if options.no_road else None
    drawing = Drawing(drawn, area, options, source_name(roads), source_name(aoi), *classes)
    return replace(drawing, no_road=no_road)


def _check_widths(drawn: geopandas.GeoDataFrame, field: str, path: str) -> None:
    widest_m = np.nan_to_num(own_widths_m(drawn, field), posinf=np.inf).max()
    if widest_m > MAX_ROAD_WIDTH_M:
        raise LayerError(
            f"The field {field!r} of the drawn roads ({path}) gives a road a width of {widest_m:g} m; at most "
            f"{MAX_ROAD_WIDTH_M:g} m can be used.",
            "Correct its values, which are widths in meters, or choose another width field.",
        )
