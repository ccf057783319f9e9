"""Road classes: their names and speeds (km/h), from the fields of drawn roads, and rasters of their numbers.

Scope: attribute tables, speed bins, default speeds, and rasters in memory or in a file. Independent of models.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated

import geopandas
import numpy as np
import pandas
from rasterio.io import DatasetReader
from rasterio.windows import Window

from ..errors import ImageryError, LayerError
from ..jobs.json_fields import MAX_TEXT, Range, parse, read
from .fields import numbers_in
from .grid import Grid, grid_of, shared_offset
from .pixel_codes import NO_DATA
from .plain_rasters import valid_pixels

# The tag of a class raster that holds the classes' names and speeds, as JSON.
CLASSES_TAG = "ROADSEG_CLASSES"
# A byte of label holds more, but the model cannot distinguish them.
MAX_CLASSES = 32
KMH_PER_MPH = 1.609344
# Bins of 10 mph, as in Etten, "City-scale road extraction from satellite imagery v2", WACV 2020.
BIN_KMH, BINS = 10 * KMH_PER_MPH, 7
# Default speeds of OpenStreetMap's classes: those of the same paper for few lanes.
USUAL_KMH = {
    name: mph * KMH_PER_MPH
    for name, mph in {"motorway": 55, "primary": 45, "secondary": 35, "tertiary": 30, "residential": 25}.items()
}
OTHER_KMH = 20 * KMH_PER_MPH
SLOWEST_KMH, FASTEST_KMH = 1.0, 10_000.0
_CLASSES_REMEDY = "Give the raster of classes that Segment roads wrote along with this mask or probability."


@dataclass(frozen=True)
class RoadClass:
    """A road class and the usual speed on its roads."""

    name: Annotated[str, Range(1, MAX_TEXT)]
    speed_kmh: Annotated[float, Range(SLOWEST_KMH, FASTEST_KMH)]


def find_classes(
    roads: geopandas.GeoDataFrame, class_field: str, speed_field: str, path: str = "the layer"
) -> tuple[tuple[RoadClass, ...], np.ndarray]:
    """Find the road classes in fields of drawn roads, and the class of each road from 1, (roads,) uint8; 0 is unknown.

    The values of `class_field` are the classes. If it is empty, the classes are those speed bins that occur. A class
    gets the median of its roads in `speed_field`, in km/h, or a default speed if that is empty. Raises LayerError if
    the fields have no values, or too many different ones.
    """
    unknown = np.full(len(roads), np.nan)
    speeds = numbers_in(roads[speed_field]) if speed_field else unknown
    if class_field:
        names = ["" if pandas.isna(value) else str(value).strip() for value in roads[class_field]]
        distinct = sorted(set(names) - {""})
    else:
        # Bins are numbered from 1; speeds that are not above 0 have the number 0.
        known = np.where(np.isfinite(speeds) & (speeds > 0), speeds, 0)
        bins = np.ceil(known / BIN_KMH).clip(max=BINS).astype(int).tolist()
        names = [_bin_name(number) for number in bins]
        distinct = [_bin_name(number) for number in sorted(set(bins) - {0})]
    field = f"The field {class_field or speed_field!r} of the drawn roads ({path})"
    if not distinct:
        raise LayerError(f"{field} has no usable values.", "Choose another field.")
    if len(distinct) > MAX_CLASSES:
        raise LayerError(
            f"{field} has {len(distinct)} different values; at most {MAX_CLASSES} classes can be trained.",
            "Choose a field of classes.",
        )
    numbers = np.array([distinct.index(name) + 1 if name else 0 for name in names], dtype=np.uint8)
    speeds_kmh = [_speed_kmh(name, speeds[numbers == number]) for number, name in enumerate(distinct, 1)]
    return tuple(map(RoadClass, distinct, speeds_kmh)), numbers


def _bin_name(number: int) -> str:
    if not number:
        return ""
    lowest, highest = f"{(number - 1) * BIN_KMH:.0f}", f"{number * BIN_KMH:.0f}"
    return f"over {lowest} km/h" if number == BINS else f"{lowest}-{highest} km/h"


def _speed_kmh(name: str, speeds: np.ndarray) -> float:
    """Return the median of those speeds that are known, or the default of the class."""
    known = speeds[np.isfinite(speeds) & (speeds > 0)]
    return round(float(np.clip(np.median(known) if known.size else usual_kmh(name), SLOWEST_KMH, FASTEST_KMH)), 1)


def usual_kmh(name: str) -> float:
    """Return the default speed of a class in km/h, by its name."""
    return USUAL_KMH.get(name.strip().lower(), OTHER_KMH)


def to_document(classes: Sequence[RoadClass]) -> list[dict[str, object]]:
    """Return classes as JSON types; see `from_document`."""
    return [asdict(road_class) for road_class in classes]


def from_document(document: object) -> tuple[RoadClass, ...]:
    """Return the classes that `to_document` described.

    Raises ValueError if the document holds something else.
    """
    return read(tuple[RoadClass, ...], document, "the classes")


@dataclass(frozen=True)
class ClassRaster:
    """A raster of road class numbers.

    `read` leads from a first row and a number of rows to class numbers from 1, (rows, width), an integer type. Any
    other number means that the class is unknown.
    """

    height: int
    width: int
    read: Callable[[int, int], np.ndarray]
    classes: tuple[RoadClass, ...]


def class_array(numbers: np.ndarray, classes: tuple[RoadClass, ...]) -> ClassRaster:
    """Wrap class numbers in memory, (height, width) uint8, as a raster."""
    height, width = numbers.shape
    return ClassRaster(height, width, lambda first_row, count: numbers[first_row : first_row + count], classes)


def class_band(dataset: DatasetReader, grid: Grid, of: str) -> ClassRaster:
    """Open a raster's first band as class numbers on the grid of a mask or probability, which `of` names in messages.

    Raises ImageryError if it is on another grid, lacks the names and speeds of classes, or, when it is read, holds
    numbers that are not classes.
    """
    name, classes, own = dataset.name, _tagged_classes(dataset), grid_of(dataset)
    is_alike = (own.crs, own.width, own.height) == (grid.crs, grid.width, grid.height)
    if not is_alike or shared_offset(grid, own) != (0, 0):
        raise ImageryError(f"{name} and {of} are not on the same grid.", _CLASSES_REMEDY)

    def read(first_row: int, count: int) -> np.ndarray:
        window = Window(0, first_row, dataset.width, count)
        values = dataset.read([1], window=window)
        numbers = np.where(valid_pixels(dataset, window, values) & (values[0] != NO_DATA), values[0], 0)
        if numbers.size and not (numbers.min() >= 0 and numbers.max() <= len(classes)):
            raise ImageryError(
                f"{name} holds numbers from {numbers.min()} to {numbers.max()}, but has {len(classes)} classes.",
                _CLASSES_REMEDY,
            )
        return numbers

    return ClassRaster(dataset.height, dataset.width, read, classes)


def _tagged_classes(dataset: DatasetReader) -> tuple[RoadClass, ...]:
    try:
        classes = from_document(parse(dataset.tags()[CLASSES_TAG]))
    except (KeyError, ValueError) as error:
        raise ImageryError(
            f"{dataset.name} has no names and speeds of road classes (in its tag {CLASSES_TAG}).", _CLASSES_REMEDY
        ) from error
    if not classes or not np.issubdtype(np.dtype(dataset.dtypes[0]), np.integer):
        raise ImageryError(f"{dataset.name} does not hold numbers of road classes.", _CLASSES_REMEDY)
    return classes
