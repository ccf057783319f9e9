"""APLS of predictions on image tiles: probability and label rasters are vectorized, and their networks compared.

Scope: from a raster to a road network and its score. Independent of layers and of the place of a tile on the map.
"""

from __future__ import annotations

from typing import Optional

import numpy as np
from affine import Affine
from rasterio.crs import CRS

from ..events import Reporter
from ..extraction.road_extraction import extract_network
from ..geodata.grid import Grid
from ..geodata.pixel_codes import CERTAIN, IGNORE, ROAD
from ..geodata.road_raster import RoadRaster, array_raster
from ..jobs import NetworkOptions, Vectorize
from ..networks.lines import make_lines
from ..networks.road_graph import RoadGraph, contracted, make_road_graph
from .apls import score_apls

# Tiles lie around the point where this plane touches the ellipsoid, so that a unit is a meter there.
_PLANE = CRS.from_string("+proj=aeqd +lat_0=0 +lon_0=0 +datum=WGS84 +units=m")
_JOIN_M = 0.5


def mask_network(raster: RoadRaster, resolution_m: float, reporter: Reporter) -> RoadGraph:
    """Return the road network of a tile, vectorized with default options, in meters, without nodes of degree 2."""
    transform = Affine.scale(resolution_m, -resolution_m)
    grid = Grid(_PLANE, transform, raster.width, raster.height)
    defaults = {field.name: getattr(Vectorize, field.name) for field in NetworkOptions.option_fields()}
    network = extract_network(raster, grid, NetworkOptions(**defaults), reporter.silent())
    return contracted(make_road_graph(make_lines(network.roads.geometry.to_numpy()), _JOIN_M))


def mean_apls(
    predictions: list[np.ndarray], truths: list[np.ndarray], threshold: float, resolution_m: float, reporter: Reporter
) -> Optional[float]:
    """Return the mean APLS of predictions over the tiles whose labels contain a road network, or None without any.

    Predictions are probability bytes, of road from `threshold`, 0 to 1, on. Truths are BACKGROUND, ROAD or IGNORE,
    which counts as no data in both. Each is (height, width) uint8.
    """
    scores = []
    for probability, truth in zip(predictions, truths):
        known = truth != IGNORE
        true_roads = mask_network(array_raster(truth == ROAD, known), resolution_m, reporter)
        if not len(true_roads.graph.edges):
            continue
        raster = array_raster(probability / np.float32(CERTAIN), known, threshold)
        roads = mask_network(raster, resolution_m, reporter)
        scores.append(score_apls(true_roads, roads, reporter.silent()).score)
    return float(np.mean(scores)) if scores else None
