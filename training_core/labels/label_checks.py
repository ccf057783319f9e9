"""Label checks before training: class balance, roads outside the area of interest, empty polygons, label offset.

Scope: common mistakes in drawing, and their warnings. Independent of the model.
"""

from __future__ import annotations

import math
from collections import defaultdict

import geopandas
import numpy as np
import shapely
from rasterio.crs import CRS
from shapely.geometry.base import BaseGeometry

from ..events import Reporter
from ..geodata.shapes import ground_shapes, in_short_pieces, parts_in
from ..geodata.sources import source_name
from .drawing import Drawing, is_sure
from .label_offset import direction, measure_offset
from .labeled_images import LabeledImage, count_labels

USUAL_ROAD_FRACTION = (0.005, 0.5)
MAX_FRACTION_OUTSIDE = 0.05
ENOUGH_ROADS = 3
# Measuring an offset takes up to some seconds an image.
MAX_MEASURED_IMAGES = 8
MAX_NUMBERS_SHOWN = 10


def check_labels(images: list[LabeledImage], drawing: Drawing, reporter: Reporter, is_sample: bool = False) -> None:
    """Log how much is labeled, and warn of probable mistakes in the labels.

    Those are unusual fractions of road, very few roads, roads outside the area of interest or offset from those in the
    image, and polygons of it without a road. Checks that need all drawn roads are left out for a sample of many images,
    so that it takes the same time for any number of roads. `labeled_images` has refused what makes training impossible.
    """
    counts = [count_labels(image.training) for image in images]
    if is_sample:
        labeled, road = map(sum, zip(*counts))
        _report_fraction(f"a sample of {len({image.name for image in images})} images", "", labeled, road, reporter)
    else:
        for image, (labeled, road) in zip(images, counts):
            size = f"{image.grid.width} x {image.grid.height} px at {image.grid.resolution_m:.2f} m, "
            _report_fraction(source_name(image.name), size, labeled, road, reporter)
        _check_roads(images, drawing, reporter)
    measured = np.argsort([-road for _, road in counts], kind="stable")[:MAX_MEASURED_IMAGES]
    for number in sorted(measured):
        reporter.check_cancelled()
        _warn_of_offset(images[number], drawing, reporter)


def _check_roads(images: list[LabeledImage], drawing: Drawing, reporter: Reporter) -> None:
    """Warn of roads outside the area of interest, of polygons of it without a road, and of very few roads."""
    grid = images[0].grid
    moved = drawing.moved(drawing.roads, grid, images[0].name)  # nearby images have about the same offset
    roads, on_images = ground_shapes(moved, grid), _outlines(images)
    if drawing.aoi is not None:
        areas = ground_shapes(drawing.aoi, grid)
        _warn_of_roads_outside(roads, areas, drawing, reporter)
        is_empty = _touch(areas, on_images) & ~_touch(areas, roads)
        numbers = list(map(str, np.flatnonzero(is_empty) + 1))
        if numbers:
            shown = ", ".join(numbers[:MAX_NUMBERS_SHOWN]) + (" ..." if len(numbers) > MAX_NUMBERS_SHOWN else "")
            reporter.warning(
                f"{len(numbers)} of {len(areas)} polygons of {drawing.aoi_name} contain no drawn road (number "
                f"{shown}): everything in them counts as background. Draw the roads that are there, or remove the "
                "polygons."
            )
        on_images = parts_in(on_images, areas)
    used = roads[is_sure(drawing.roads, drawing.options) & _touch(roads, on_images)]
    count = int(shapely.get_num_geometries(used).sum())
    if count < ENOUGH_ROADS:
        reporter.warning(
            f"Only {count} of the roads in {drawing.roads_name} can be used for training. Draw at least "
            f"{ENOUGH_ROADS}, preferably ten of all kinds in different places."
        )


def _report_fraction(name: str, size: str, labeled: int, road: int, reporter: Reporter) -> None:
    fraction = road / max(labeled, 1)
    reporter.log(f"{name}: {size}{labeled:,} labeled px, {fraction:.1%} of them road")
    low, high = USUAL_ROAD_FRACTION
    if fraction < low:
        reporter.warning(
            f"Only {fraction:.2%} of the labeled pixels of {name} are road. If the image shows more roads, draw them, "
            "since everything else counts as background. If not, a smaller area of interest around the roads trains "
            "faster."
        )
    elif fraction > high:
        reporter.warning(
            f"{fraction:.0%} of the labeled pixels of {name} are road, which leaves little background. Check the road "
            "width, and extend the area of interest to land next to the roads."
        )


def _warn_of_roads_outside(roads: np.ndarray, areas: np.ndarray, drawing: Drawing, reporter: Reporter) -> None:
    pieces, road = in_short_pieces(roads)
    length_m = _lengths_m(roads, drawing.options.width_m)
    inside_m = np.bincount(road, _lengths_m(parts_in(pieces, areas), drawing.options.width_m), minlength=len(roads))
    outside_m = length_m.sum() - inside_m.sum()
    if outside_m > MAX_FRACTION_OUTSIDE * length_m.sum():
        reporter.warning(
            f"{outside_m:,.0f} m of the {length_m.sum():,.0f} m of road read from {drawing.roads_name} lie outside "
            f"{drawing.aoi_name}, {(inside_m == 0).sum()} of {len(roads)} roads entirely. They are not used for "
            "training. Extend the area of interest to all ground on which every road is drawn."
        )


def _lengths_m(shapes: np.ndarray, width_m: float) -> np.ndarray:
    """Return the lengths of lines, and of polygons their area divided by a width: (n,), float64."""
    return np.where(shapely.get_dimensions(shapes) == 2, shapely.area(shapes) / width_m, shapely.length(shapes))


def _touch(shapes: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return which shapes touch any of the others: (n,) bool."""
    touching = np.zeros(len(shapes), dtype=bool)
    touching[shapely.STRtree(shapes).query(others, predicate="intersects")[1]] = True
    return touching


def _outlines(images: list[LabeledImage]) -> np.ndarray:
    """Return the labeled parts of all images, (n,) object, in the ground meters of the first."""
    of_crs: dict[CRS, list[BaseGeometry]] = defaultdict(list)
    for image in images:
        of_crs[image.grid.crs].append(image.grid.outline)
    layers = [geopandas.GeoDataFrame(geometry=outlines, crs=crs) for crs, outlines in of_crs.items()]
    return np.concatenate([ground_shapes(layer, images[0].grid) for layer in layers])


def _warn_of_offset(image: LabeledImage, drawing: Drawing, reporter: Reporter) -> None:
    offset_m = measure_offset(image)
    if offset_m is None:
        return
    distance_m, there, back = math.hypot(*offset_m), direction(*offset_m), direction(-offset_m[0], -offset_m[1])
    reporter.warning(
        f"The roads in {drawing.roads_name} seem to be offset by about {distance_m:.0f} m to the {there} from the "
        f"roads in {source_name(image.name)}. Check the coordinate systems of both, or move the layer about "
        f"{distance_m:.0f} m to the {back}. A model trained on offset roads is wrong."
    )
