"""Sanity checks of extracted roads: warnings if a raster seems to show no roads, or its threshold to be wrong.

Scope: a few numbers of the raster and the network. Independent of how roads are extracted.
"""

from __future__ import annotations

import numpy as np

from ..geodata.road_raster import RoadRaster
from ..networks.graph import Graph

# The densest towns have a fifth of road, and some 30 km of roads a square kilometer; noise has up to 130.
_MAX_ROAD, _MAX_PER_KM = 0.25, 60.0
# Checks of density and likelihood need at least this length of roads.
_MIN_KM = 5.0
# Difference between the highest and the lowest probability.
_MIN_CONTRAST = 0.2
# Fraction of the length of roads; sparse noise has less.
_MIN_LIKELY = 0.5


def nothing_found(raster: RoadRaster) -> str:
    """Return the warning that no roads were found; reads a probability once more for its maximum."""
    message = "No roads were found: the network is empty."
    if raster.threshold is None:
        return message
    _, highest = raster.extremes()
    if not highest < raster.threshold:  # or without any data
        return message
    return f"{message} No probability reaches the threshold of {raster.threshold:.2f}: the highest is {highest:.2f}."


def sanity_warnings(
    raster: RoadRaster, graph: Graph, probability: np.ndarray, road_fraction: float, area_km2: float
) -> list[str]:
    """Return a warning for each check that fails; reads a probability once more if too much of it is road.

    The (m,) float64 `probability` is each line's; NaN for a mask. Fraction and area are those of the known pixels.
    """
    warnings = []
    if road_fraction >= _MAX_ROAD:
        warnings.append(
            f"{road_fraction:.0%} of the raster is road, more than in any town. {_where_all_is_road(raster)}"
        )
    length_m = graph.lengths()
    length_km = float(length_m.sum()) / 1000
    if is_too_dense(length_km, area_km2):
        warnings.append(
            f"There are {length_km / area_km2:.0f} km of roads a square kilometer, more than in any town: the raster "
            "looks like noise. Look at it; a model that does not know this kind of image needs fine-tuning."
        )
    likely_fraction = float((length_m * probability).sum()) / max(1000 * length_km, 1.0)
    if length_km >= _MIN_KM and likely_fraction < _MIN_LIKELY and not warnings:
        warnings.append(
            f"Only {likely_fraction:.0%} of the lines are likely to be roads (the field road_probability): the model "
            "may not know this kind of image, or the threshold is too low. Look at the probability."
        )
    return warnings


def _where_all_is_road(raster: RoadRaster) -> str:
    """Return what to do where too much is road."""
    if raster.threshold is None:
        return "Look whether it is a mask of roads."
    lowest, highest = raster.extremes()
    if highest - lowest < _MIN_CONTRAST:
        return (
            f"Its probability has no contrast: it is between {lowest:.2f} and {highest:.2f} everywhere. Look whether "
            "the model knows this kind of image, and whether the raster is one of probability."
        )
    return "Raise the threshold, or look whether the raster is one of roads."


def is_too_dense(length_km: float, area_km2: float) -> bool:
    """Return whether an area has more roads than any town."""
    return length_km >= _MIN_KM and length_km > _MAX_PER_KM * area_km2
