"""Doubts about extracted roads: signs that a raster is none of roads, or that its threshold is wrong.

Scope: a few numbers of the raster and the network, and what is said of them. Independent of how roads are extracted.
"""

from __future__ import annotations

from ..geodata.road_raster import RoadRaster
from ..networks.graph import Graph

# The densest towns have a fifth of road, and some 30 km of roads a square kilometer; noise has 70 to 130.
_MOST_ROAD, _MOST_PER_KM = 0.3, 60.0
# Fewer kilometers of roads say nothing of their density.
_FEWEST_KM = 5.0


def nothing_found(raster: RoadRaster) -> str:
    """Return what is said where no roads were found.

    Parameters
    ----------
    raster : RoadRaster
        Read once more if it is a probability.

    Returns
    -------
    str
    """
    said = "No roads were found: the network is empty."
    if raster.threshold is None:
        return said
    highest = raster.highest()
    if not highest < raster.threshold:  # or without any data
        return said
    return f"{said} No probability reaches the threshold of {raster.threshold:.2f}: the highest is {highest:.2f}."


def doubts(graph: Graph, road_share: float, area_km2: float) -> list[str]:
    """Return what is doubtful, a sentence or two each.

    Parameters
    ----------
    graph : Graph
        The network, in meters.
    road_share : float
        Share of the known pixels that are road.
    area_km2 : float
        Of the known pixels.

    Returns
    -------
    list of str
    """
    found = []
    if road_share >= _MOST_ROAD:
        found.append(
            f"{road_share:.0%} of the raster is road, more than in any town. If it is a probability, raise the "
            "threshold; if it is a mask, look whether it is one of roads."
        )
    length_km = float(graph.lengths().sum()) / 1000
    if is_too_dense(length_km, area_km2):
        found.append(
            f"There are {length_km / area_km2:.0f} km of roads a square kilometer, more than in any town: the raster "
            "looks like noise. Look at it; a model that does not know this kind of image needs fine-tuning."
        )
    return found


def is_too_dense(length_km: float, area_km2: float) -> bool:
    """Return whether an area has more roads than any town."""
    return length_km >= _FEWEST_KM and length_km > _MOST_PER_KM * area_km2
