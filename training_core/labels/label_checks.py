"""What may be wrong with drawn roads, told before anything is learned from them.

Knows what people do wrong in drawing, and how to say it; knows nothing of networks.
"""

from __future__ import annotations

import math
from pathlib import Path

import geopandas
import numpy as np
import shapely
from shapely.geometry.base import BaseGeometry

from ..events import Reporter
from ..geodata.rasterize import ground_shapes
from .label_offset import measure_offset
from .label_raster import is_sure
from .labeled_images import Drawing, LabeledImage, count_labels

USUAL_ROAD_SHARE = (0.005, 0.5)
LARGEST_SHARE_OUTSIDE = 0.05
ENOUGH_ROADS = 3
# Measuring an offset takes up to some seconds an image.
MOST_MEASURED_IMAGES = 8
MOST_NUMBERS_TOLD = 10
_WINDS = ("east", "north-east", "north", "north-west", "west", "south-west", "south", "south-east")


def check_labels(images: list[LabeledImage], drawing: Drawing, reporter: Reporter) -> None:
    """Tell how much there is to learn from, and warn of what is probably not as the person meant it.

    Warned of are shares of road out of the ordinary, roads outside of the area of interest, polygons of it without a
    road, very few roads, and roads that lie off those in the image. What makes learning impossible has been refused
    before, in `examples`.

    Parameters
    ----------
    images : list of LabeledImage
        At least one.
    drawing : Drawing
        What they were labeled with.
    reporter : Reporter
    """
    counts = [count_labels(image.training) for image in images]
    for image, (labeled, road) in zip(images, counts):
        _tell_balance(image, labeled, road, reporter)
    grid = images[0].grid
    roads = ground_shapes(drawing.roads, grid)
    if drawing.aoi is not None:
        areas = ground_shapes(drawing.aoi, grid)
        _warn_of_roads_outside(roads, areas, drawing, reporter)
        _warn_of_empty_polygons(roads, areas, images, drawing, reporter)
    _warn_of_few_roads(roads, images, drawing, reporter)
    most_road = np.argsort([-road for _, road in counts], kind="stable")[:MOST_MEASURED_IMAGES]
    for number in sorted(most_road):
        reporter.check_cancelled()
        _warn_of_offset(images[number], drawing, reporter)


def _tell_balance(image: LabeledImage, labeled: int, road: int, reporter: Reporter) -> None:
    name, share = Path(image.name).name, road / max(labeled, 1)
    reporter.log(
        f"{name}: {image.grid.width} x {image.grid.height} px at {image.grid.resolution_m:.2f} m, "
        f"{labeled:,} px to learn from, {share:.1%} of them road"
    )
    low, high = USUAL_ROAD_SHARE
    if share < low:
        reporter.warning(
            f"Only {share:.2%} of the labeled ground of {name} is road. If it shows more roads, draw them too, since "
            "what is not drawn counts as background; else a smaller area of interest around the roads learns faster."
        )
    elif share > high:
        reporter.warning(
            f"{share:.0%} of the labeled ground of {name} is road, which leaves little to tell it from. Check the road "
            "width, and let the area of interest hold ground beside the roads."
        )


def _warn_of_roads_outside(roads: np.ndarray, areas: np.ndarray, drawing: Drawing, reporter: Reporter) -> None:
    inside_m, length_m = (
        _lengths_m(shapes, drawing.options.width_m)
        for shapes in (shapely.intersection(roads, shapely.union_all(areas)), roads)
    )
    outside_m = length_m.sum() - inside_m.sum()
    if outside_m > LARGEST_SHARE_OUTSIDE * length_m.sum():
        reporter.warning(
            f"{outside_m:,.0f} m of the {length_m.sum():,.0f} m of road in {drawing.roads_name} lie outside of "
            f"{drawing.aoi_name}, {(inside_m == 0).sum()} of {len(roads)} roads wholly; nothing is learned from them. "
            "Where every road is drawn, extend the area of interest."
        )


def _lengths_m(shapes: np.ndarray, width_m: float) -> np.ndarray:
    """Return the lengths of lines, and of areas what makes them up at a width."""
    return np.where(shapely.get_dimensions(shapes) == 2, shapely.area(shapes) / width_m, shapely.length(shapes))


def _warn_of_empty_polygons(
    roads: np.ndarray, areas: np.ndarray, images: list[LabeledImage], drawing: Drawing, reporter: Reporter
) -> None:
    tree = shapely.STRtree(roads)
    is_seen = shapely.intersects(areas, _seen_ground(images))
    empty = [number for number, area in enumerate(areas, 1) if not len(tree.query(area, predicate="intersects"))]
    empty = [number for number in empty if is_seen[number - 1]]
    if empty:
        numbers = ", ".join(map(str, empty[:MOST_NUMBERS_TOLD])) + (" ..." if len(empty) > MOST_NUMBERS_TOLD else "")
        reporter.warning(
            f"{len(empty)} of {len(areas)} polygons of {drawing.aoi_name} hold no drawn road (number {numbers}): "
            "all that is in them is taken for background. Draw the roads that are there, or remove the polygons."
        )


def _warn_of_few_roads(roads: np.ndarray, images: list[LabeledImage], drawing: Drawing, reporter: Reporter) -> None:
    ground = _seen_ground(images)
    if drawing.aoi is not None:
        ground = ground.intersection(shapely.union_all(ground_shapes(drawing.aoi, images[0].grid)))
    used = roads[is_sure(drawing.roads, drawing.options) & shapely.intersects(roads, ground)]
    count = int(shapely.get_num_geometries(used).sum())
    if count < ENOUGH_ROADS:
        reporter.warning(
            f"Only {count} of the roads in {drawing.roads_name} can be learned from. At least {ENOUGH_ROADS}, better "
            "ten of all kinds and in different places, teach far more."
        )


def _seen_ground(images: list[LabeledImage]) -> BaseGeometry:
    """Return the labeled parts of all images, in the ground meters of the first."""
    grid = images[0].grid
    outlines = [geopandas.GeoDataFrame(geometry=[image.grid.outline], crs=image.grid.crs) for image in images]
    return shapely.union_all([shape for outline in outlines for shape in ground_shapes(outline, grid)])


def _warn_of_offset(image: LabeledImage, drawing: Drawing, reporter: Reporter) -> None:
    offset_m = measure_offset(image)
    if offset_m is None:
        return
    east_m, north_m = offset_m
    wind = round(math.atan2(north_m, east_m) / (math.pi / 4)) % len(_WINDS)
    distance_m = math.hypot(east_m, north_m)
    reporter.warning(
        f"The roads in {drawing.roads_name} seem to lie about {distance_m:.0f} m to the {_WINDS[wind]} of the roads "
        f"in {Path(image.name).name}. Check the coordinate systems of both, or move the layer about {distance_m:.0f} m "
        f"to the {_WINDS[wind - 4]}: what is learned from shifted roads is wrong."
    )
