"""Road classes: their names and speeds (km/h), from the fields of drawn roads.

Scope: attribute tables, speed bins, default speeds. Independent of pixels and models.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Annotated

import geopandas
import numpy as np
import pandas

from ..errors import LayerError
from ..jobs.json_fields import MAX_TEXT, Range, read
from .fields import numbers_in

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
