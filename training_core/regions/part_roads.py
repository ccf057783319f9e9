"""The roads of a part of a region: extracted with a margin, cut to its core, and kept in a file.

Scope: graphs in pixels of the region's grid, with the measures of their lines. Independent of where probability comes
from, and of how parts are joined.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from typing import Optional
from zipfile import BadZipFile

import numpy as np

from ..errors import OutputError
from ..events import Reporter
from ..extraction.road_extraction import LineMeasures, measure_lines, trace_roads
from ..geodata.class_raster import ClassRaster
from ..geodata.road_raster import RoadRaster
from ..jobs import NetworkOptions
from ..networks.cutting import WITHIN, cut_to_box
from ..networks.graph import Graph, scaled
from .part_grid import Part

# Cores are cut beside the borders of their pixels, and not in the middle of pixels either: no road that lies even on
# the grid runs along a cut.
_ASIDE_PX = 0.137


@dataclass(frozen=True, eq=False)
class PartRoads:
    """The roads within the core of a part.

    Parameters
    ----------
    graph : Graph
        In columns and rows of the region's grid, centers of pixels at whole numbers.
    side : ndarray (n,), int8
        The side of the core on which a node was cut; see `cutting`.
    measures : LineMeasures
        Of the graph's lines; the vertices at cuts count for nothing.
    pixel_m : ndarray (2,), float64
        Ground size of a pixel in meters along columns and along rows.
    """

    graph: Graph
    side: np.ndarray
    measures: LineMeasures
    pixel_m: np.ndarray


def extract_part(
    raster: RoadRaster,
    window: Part,
    core: Part,
    pixel_m: tuple[float, float],
    options: NetworkOptions,
    reporter: Reporter,
    classes: Optional[ClassRaster] = None,
    linked: Optional[np.ndarray] = None,
) -> PartRoads:
    """Extract the roads of a part.

    Parameters
    ----------
    raster : RoadRaster
        Of the window.
    window, core : Part
        The core with its margin, and the core.
    pixel_m : tuple of float
        Ground size of a pixel in meters along columns and along rows.
    options : NetworkOptions
    reporter : Reporter
    classes : ClassRaster, optional
        Of the window.
    linked : ndarray (n, 2), int64, optional
        Columns and rows in the region of likely pixels of the window that are connected to sure ones.

    Returns
    -------
    PartRoads
    """
    begin, sides_m = np.array([window.column, window.row]), np.array(pixel_m)
    within = None if linked is None else linked - begin
    graph, clearance = trace_roads(raster, pixel_m, options, reporter, within)
    region = _moved(scaled(graph, 1 / sides_m), begin)
    cut, side = cut_to_box(region, _box(core))
    measures = measure_lines(scaled(_moved(cut, -begin), sides_m), raster, clearance, classes)
    is_cut = np.zeros(len(cut.points), dtype=bool)
    is_cut[cut.offsets[:-1]] = side[cut.edges[:, 0]] != WITHIN
    is_cut[cut.offsets[1:] - 1] |= side[cut.edges[:, 1]] != WITHIN
    width_m, probability = (np.where(is_cut, np.nan, each) for each in (measures.width_m, measures.probability))
    return PartRoads(cut, side, LineMeasures(width_m, probability, measures.votes), sides_m)


def _box(core: Part) -> tuple[float, float, float, float]:
    """Return a core's least and greatest column and row."""
    left, top = core.column - 0.5 + _ASIDE_PX, core.row - 0.5 + _ASIDE_PX
    return left, top, left + core.width, top + core.height


def _moved(graph: Graph, by: np.ndarray) -> Graph:
    return Graph(graph.nodes + by, graph.edges, graph.points + by, graph.offsets, graph.origin)


def to_bytes(roads: PartRoads) -> bytes:
    """Return roads as the content of a file: an archive of arrays, without any pickled object."""
    graph, measures = roads.graph, roads.measures
    arrays = {
        **{"nodes": graph.nodes, "edges": graph.edges, "points": graph.points, "offsets": graph.offsets},
        **{"side": roads.side, "width_m": measures.width_m, "probability": measures.probability},
        "pixel_m": roads.pixel_m,
    }
    if measures.votes is not None:
        arrays["votes"] = measures.votes
    stream = io.BytesIO()
    np.savez_compressed(stream, **arrays)
    return stream.getvalue()


def read_part(path: Path) -> PartRoads:
    """Return the roads that a file holds.

    Raises
    ------
    OutputError
        The file is missing, or damaged.
    """
    try:
        with np.load(path, allow_pickle=False) as held:
            graph = Graph(*(held[name] for name in ("nodes", "edges", "points", "offsets")))
            votes = held["votes"] if "votes" in held.files else None
            measures = LineMeasures(held["width_m"], held["probability"], votes)
            return PartRoads(graph, held["side"], measures, held["pixel_m"])
    except (OSError, ValueError, KeyError, EOFError, BadZipFile) as error:
        raise OutputError(f"{path} cannot be read: {error}.", "Delete it, and run the job again.") from error
