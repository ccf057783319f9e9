"""The roads of a part of a region: extracted with a margin, cut to its core, and kept in a file.

Scope: graphs in pixels of the region's grid, and the measures of their lines. Independent of the origin of probability,
and of how parts are joined.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Optional

import numpy as np

from ..events import Reporter
from ..extraction.road_extraction import LineMeasures, measure_lines, trace_roads
from ..geodata.road_raster import ClassRaster, RoadRaster
from ..jobs import NetworkOptions
from ..networks.graph import Graph, scaled
from ..networks.graph_edits import WITHIN, cut_to_box
from .region_grid import Part
from .store import read_arrays, write_arrays

# Cores are cut neither at the borders of pixels nor in their middle, so that no road on the grid runs along a cut.
_ASIDE_PX = 0.137


@dataclass(frozen=True, eq=False)
class PartRoads:
    """The roads within the core of a part.

    Parameters
    ----------
    graph : Graph
        In columns and rows of the region's grid, centers of pixels at whole numbers.
    side : ndarray (n,), int8
        The side of the core on which a node was cut; see `graph_edits`.
    measures : LineMeasures
        Of the graph's lines; the vertices at cuts count for nothing.
    pixel_m : ndarray (2,), float64
        Ground size of a pixel along columns and along rows.
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
    """Extract the roads of a part, of which raster and classes cover the window: the core with its margin.

    `pixel_m` is the size of a pixel along columns and along rows. `linked`, (n, 2), int64, has columns and rows in the
    region of likely pixels of the window that are connected to sure ones.
    """
    begin, sides_m = np.array([window.column, window.row]), np.array(pixel_m)
    within = None if linked is None else linked - begin
    traced = trace_roads(raster, pixel_m, options, reporter, within)
    # From meters in the window to pixels of the region, where the core is cut out.
    region = _moved(scaled(traced.graph, 1 / sides_m), begin)
    cut, side = cut_to_box(region, _cut_box(core))
    measures = measure_lines(scaled(_moved(cut, -begin), sides_m), traced, pixel_m, classes)
    # The neighboring part has a vertex at the same cut, so neither counts.
    is_cut = np.zeros(len(cut.points), dtype=bool)
    is_cut[cut.offsets[:-1]] = side[cut.edges[:, 0]] != WITHIN
    is_cut[cut.offsets[1:] - 1] |= side[cut.edges[:, 1]] != WITHIN
    vertices = np.where(is_cut[:, None], np.nan, measures.vertices)
    return PartRoads(cut, side, LineMeasures(vertices, measures.votes), sides_m)


def _cut_box(core: Part) -> tuple[float, float, float, float]:
    """Return the least and greatest columns and rows at which a core is cut."""
    left, top = core.column - 0.5 + _ASIDE_PX, core.row - 0.5 + _ASIDE_PX
    return left, top, left + core.width, top + core.height


def _moved(graph: Graph, by: np.ndarray) -> Graph:
    return Graph(graph.nodes + by, graph.edges, graph.points + by, graph.offsets, graph.origin)


_GRAPH = ("nodes", "edges", "points", "offsets")


def write_part(path: Path, roads: PartRoads) -> None:
    """Write roads to a file; see `store.write_arrays`."""
    arrays = {name: getattr(roads.graph, name) for name in _GRAPH}
    arrays |= {"measures": roads.measures.vertices, "side": roads.side, "pixel_m": roads.pixel_m}
    votes = roads.measures.votes
    write_arrays(path, arrays if votes is None else {**arrays, "votes": votes})


def read_part(path: Path) -> PartRoads:
    """Return the roads in a file.

    Raises
    ------
    OutputError
        The file is missing, or damaged.
    """
    held = read_arrays(path, (*_GRAPH, "measures", "side", "pixel_m"))
    measures = LineMeasures(held["measures"], held.get("votes"))
    return PartRoads(Graph(*(held[name] for name in _GRAPH)), held["side"], measures, held["pixel_m"])
