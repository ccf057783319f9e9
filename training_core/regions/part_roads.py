"""The roads of a part of a region: extracted with a margin, cut to its core, and kept in a file.

Hysteresis across the borders of parts shows which likely road is connected with sure road in another part. With this,
parts decide as the undivided region would, however far away the sure road is. The memory grows with the patches of
likely road at borders. Scope: graphs in pixels of the region's grid. Independent of the origin of probability.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import groupby
from pathlib import Path
from typing import Optional

import numpy as np

from ..events import Reporter
from ..extraction.compact_masks import Frame, Runs, components, joined, runs_of
from ..extraction.line_measures import LineMeasures, measure_lines
from ..extraction.road_extraction import trace_roads
from ..geodata.road_classes import ClassRaster
from ..geodata.road_raster import RoadRaster
from ..jobs import NetworkOptions
from ..networks.graph import Graph, connected, scaled
from ..networks.graph_edits import WITHIN, cut_to_box
from .region_grid import Part
from .store import read_arrays, write_arrays

# Cores are cut neither at the borders of pixels nor in their middle, so that no road on the grid runs along a cut.
_ASIDE_PX = 0.137
_NOWHERE = (-np.inf, -np.inf, np.inf, np.inf)


@dataclass(frozen=True, eq=False)
class PartRoads:
    """The roads within the core of a part."""

    graph: Graph  # in columns and rows of the region's grid, centers of pixels at whole numbers
    side: np.ndarray  # (n,) int8: the side of the core on which a node was cut; see `graph_edits`
    measures: LineMeasures  # of the graph's lines; the vertices at cuts count for nothing
    pixel_m: np.ndarray  # (2,) float64: ground size of a pixel along columns and along rows


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

    `pixel_m` is the size of a pixel along columns and along rows. `linked`, (n, 2) int64, has columns and rows in the
    region of likely pixels of the window that are connected to sure ones.
    """
    begin, sides_m = np.array([window.column, window.row]), np.array(pixel_m)
    within = None if linked is None else linked - begin
    traced = trace_roads(raster, pixel_m, options, reporter, within)
    # From meters in the window to pixels of the region, where the core is cut out.
    region = _moved(scaled(traced.graph, 1 / sides_m), begin)
    # Nothing lies beyond a side without a margin, and a road along it may leave the grid by a fraction of a pixel.
    bounds = np.array(core.bounds)
    is_outer = bounds == window.bounds
    box = np.where(is_outer, _NOWHERE, bounds - 0.5 + _ASIDE_PX)
    cut, side = cut_to_box(region, box)
    measures = measure_lines(scaled(_moved(cut, -begin), sides_m), traced.graph, traced.surroundings, pixel_m, classes)
    # The neighboring part has a vertex at the same cut, so neither counts.
    is_cut = np.zeros(len(cut.points), dtype=bool)
    is_cut[cut.offsets[:-1]] = side[cut.edges[:, 0]] != WITHIN
    is_cut[cut.offsets[1:] - 1] |= side[cut.edges[:, 1]] != WITHIN
    vertices = np.where(is_cut[:, None], np.nan, measures.vertices)
    return PartRoads(cut, side, LineMeasures(vertices, measures.votes), sides_m)


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

    Raises OutputError if the file is missing, or damaged.
    """
    held = read_arrays(path, (*_GRAPH, "measures", "side", "pixel_m"))
    measures = LineMeasures(held["measures"], held.get("votes"))
    return PartRoads(Graph(*(held[name] for name in _GRAPH)), held["side"], measures, held["pixel_m"])


@dataclass(frozen=True, eq=False)
class BorderPatches:
    """Patches of likely road that touch the border of a part's core."""

    pixels: np.ndarray  # (n, 2) int64: columns and rows in the region of their border pixels
    patch: np.ndarray  # (n,) int64: the patch of each pixel, from 0
    is_sure: np.ndarray  # (patches,) bool: whether each has sure road


def border_patches(raster: RoadRaster, core: Part, hysteresis: float) -> BorderPatches:
    """Return the patches of likely road at the border of a core, of which the raster has the probability.

    `hysteresis` is the lower threshold as a fraction of the upper one.
    """
    frame = Frame(core.height, core.width)
    likely, sure = (_runs(raster, fraction, frame) for fraction in (hysteresis, 1.0))
    patch = components(likely, frame, diagonal=True)
    # A patch is sure if one of its runs contains a run of sure road.
    is_sure = np.zeros(patch.max(initial=-1) + 1, dtype=bool)
    is_sure[patch[_run_at(likely, sure.starts)]] = True
    # Look up the run at each pixel of the border, if that pixel is likely road.
    is_border = np.zeros((core.height, core.width), dtype=bool)
    is_border[[0, -1]] = is_border[:, [0, -1]] = True
    rows, columns = np.nonzero(is_border)
    at = frame.row(0) + rows * frame.stride + columns
    run = _run_at(likely, at)
    is_likely = (run >= 0) & (at < likely.stops[run]) if len(likely) else np.zeros(len(at), dtype=bool)
    at_border, number = np.unique(patch[run[is_likely]], return_inverse=True)
    pixels = np.column_stack([columns + core.column, rows + core.row])[is_likely]
    return BorderPatches(pixels, number.ravel().astype(np.int64), is_sure[at_border])


def _runs(raster: RoadRaster, fraction: float, frame: Frame) -> Runs:
    """Return the runs of pixels above a fraction of the threshold, read by strips."""
    strips = (
        runs_of(raster.road(*raster.read(first_row, count), fraction), first_row, frame)
        for first_row, count in raster.strips()
    )
    return joined(*strips)


def _run_at(runs: Runs, places: np.ndarray) -> np.ndarray:
    """Return the last run that begins at or before each place: (n,) int64; -1 for none."""
    return np.searchsorted(runs.starts, places, side="right") - 1


def write_patches(path: Path, patches: BorderPatches) -> None:
    """Write patches to a file; see `store.write_arrays`."""
    write_arrays(path, {field.name: getattr(patches, field.name) for field in fields(patches)})


def read_patches(path: Path) -> BorderPatches:
    """Return the patches in a file.

    Raises OutputError if the file is missing, or damaged.
    """
    names = [field.name for field in fields(BorderPatches)]
    held = read_arrays(path, names)
    return BorderPatches(*(held[name] for name in names))


def linked_pixels(cores: Sequence[Part], read: Callable[[int], BorderPatches]) -> Iterator[np.ndarray]:
    """Yield, for each core, its border pixels that are connected with sure road anywhere in the region.

    They are columns and rows in the region, (n, 2) int64. Cores are given row by row, those of a row from left to
    right. `read` returns the border patches of a core by its number. It is called three times for each.
    """
    counts, is_sure = [], []
    for number in range(len(cores)):
        patches = read(number)
        counts.append(len(patches.is_sure))
        is_sure.append(patches.is_sure)
    first = np.cumsum([0, *counts])
    together = connected(int(first[-1]), np.concatenate([np.zeros((0, 2), np.int64), *_links(cores, read, first)]))
    # All patches that are connected have sure road if one of them has.
    has_sure = np.zeros(together.max(initial=-1) + 1, dtype=bool)
    has_sure[together[np.concatenate([np.zeros(0, bool), *is_sure])]] = True
    for number in range(len(cores)):
        patches = read(number)
        yield patches.pixels[has_sure[together[first[number] + patches.patch]]]


def _links(cores: Sequence[Part], read: Callable[[int], BorderPatches], first: np.ndarray) -> Iterator[np.ndarray]:
    """Yield pairs of patches that touch, (k, 2) int64, from each row of cores and the one above."""
    above = np.zeros((0, 2), np.int64), np.zeros(0, np.int64)
    for _, row in groupby(range(len(cores)), key=lambda number: cores[number].row):
        numbers = list(row)
        patches = [read(number) for number in numbers]
        pixels = np.concatenate([core.pixels for core in patches])
        patch = np.concatenate([core.patch + first[number] for number, core in zip(numbers, patches)])
        yield _touching(np.concatenate([above[0], pixels]), np.concatenate([above[1], patch]))
        above = pixels, patch


def _touching(pixels: np.ndarray, patch: np.ndarray) -> np.ndarray:
    """Return the pairs of patches of which two pixels are neighbors, in any of eight directions: (k, 2) int64."""
    # With one number for each pixel, its neighbor to the right and those below are at fixed distances.
    stride = pixels[:, 0].max(initial=0) + 2
    at = pixels[:, 1] * stride + pixels[:, 0]
    order = np.argsort(at)
    at, patch = at[order], patch[order]
    pairs = [np.zeros((0, 2), np.int64)]
    for step in (1, stride - 1, stride, stride + 1):
        place = np.searchsorted(at, at + step)
        is_there = place < len(at)
        is_there[is_there] = at[place[is_there]] == at[is_there] + step
        pairs.append(np.column_stack([patch[is_there], patch[place[is_there]]]))
    return np.unique(np.concatenate(pairs), axis=0)
