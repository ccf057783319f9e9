"""The roads of a region, extracted part by part: the tasks, the roads of a part, and links across borders.

The roads of a part are extracted with a margin, cut to its core, and kept in a file. Hysteresis across the borders of
parts shows which likely road is connected with sure road in another part. With this, parts decide as the undivided
region would, however far away the sure road is. The memory grows with the patches of likely road at borders. Scope:
graphs in pixels of the region's grid. Independent of who does the tasks, and of the origin of probability.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Optional

import geopandas
import numpy as np
import shapely
from scipy.spatial import KDTree

from ..events import Reporter
from ..extraction.compact_masks import Frame, Runs, components, joined, runs_of
from ..extraction.line_measures import LineMeasures, measure_lines
from ..extraction.road_extraction import trace_roads
from ..geodata.grid import Grid
from ..geodata.non_roads import REACH_M, area_on, keep_out
from ..geodata.road_classes import ClassRaster, RoadClass, class_array, from_document, to_document
from ..geodata.road_raster import RoadRaster, byte_raster
from ..jobs import NetworkOptions
from ..networks.graph import Graph, connected, scaled
from ..networks.graph_edits import WITHIN, cut_to_box
from ..system.machine import roadseg_version
from .region_grid import CELL_PX, Part, PlacedScene, divide, margin_px, outline_on, read_best
from .seams import PartRoads, join_parts, joined_roads, outline
from .store import Store, content_key, read_arrays, write_arrays
from .tasks import Document, Task, TaskResult
from .virtual_raster import grid_document, grid_from_document

# Kinds of results in the store.
BORDERS, EXTRACT = "borders", "extract"
# The default side of a part in pixels: some seconds of work, in 0.6 GB for a city.
PART_PX = 8192
# Cores are cut neither at the borders of pixels nor in their middle, so that no road on the grid runs along a cut.
_ASIDE_PX = 0.137
_NOWHERE = (-np.inf, -np.inf, np.inf, np.inf)
# The centers of pixels that touch at a side or a corner are nearer than this to each other.
_TOUCHING_PX = 1.5

# Does tasks with a message of progress, and returns the results of those that failed.
Do = Callable[[Sequence[Task], str, Reporter], list[TaskResult]]


@dataclass(frozen=True)
class MappedScene:
    """A scene with result rasters: its name, content key, their grid, and their paths (classes may be empty)."""

    name: str
    key: str
    grid: Grid
    probability: str
    classes: str


def network_options(job: NetworkOptions) -> NetworkOptions:
    """Return the options of extraction alone, which are part of the keys of its results."""
    return NetworkOptions(**{option.name: getattr(job, option.name) for option in fields(NetworkOptions)})


class RegionRoads:
    """The extraction of the roads of mapped scenes on a grid, in parts whose side is about `part_px`."""

    def __init__(
        self,
        folder: str,
        scenes: Sequence[MappedScene],
        grid: Grid,
        options: NetworkOptions,
        threshold: float,
        part_px: int = PART_PX,
        classes: Sequence[RoadClass] = (),
        no_road: Optional[geopandas.GeoDataFrame] = None,
    ) -> None:
        self._no_road = no_road
        self._folder, self._scenes, self._grid, self._options = folder, scenes, grid, options
        self._threshold, self._classes = threshold, classes
        self._version = roadseg_version()  # part of the keys, since another version may extract otherwise
        outlines = [outline_on(grid, scene.grid) for scene in scenes]
        self._placed = [
            PlacedScene(scene.name, scene.probability, scene.classes, outline.bounds)
            for scene, outline in zip(scenes, outlines)
        ]
        self._tree = shapely.STRtree([shapely.box(*scene.bounds) for scene in self._placed])
        self._parts = list(divide(grid, part_px, outlines))

    def extract(self, do: Do, reporter: Reporter) -> tuple[Iterator[geopandas.GeoDataFrame], int]:
        """Extract all parts, and join those that succeed; see `joined_roads`.

        The number is that of ends of lines at seams without a counterpart.
        """
        linked = self._linked(do, reporter.part(0, 0.2))
        tasks = [self._extraction(part, linked) for part in self._parts]
        paths = self._done(tasks, do, "Extracting roads", reporter.part(0.2, 0.8))
        outlines = [outline(read_part(path)) for path in paths]
        joining = join_parts(outlines)
        parts = (read_part(path) for path in paths)
        tables = joined_roads(parts, outlines, joining, self._grid, self._options, self._classes)
        return tables, joining.mismatches

    def _done(self, tasks: list[Task], do: Do, message: str, reporter: Reporter) -> list[Path]:
        """Do the tasks without results; return the files of all results, without those of tasks that failed."""
        store = Store(self._folder)
        paths = {task.key: store.path(_KINDS[task.function], task.key, ".npz") for task in tasks}
        for failure in do([task for task in tasks if not paths[task.key].is_file()], message, reporter):
            del paths[failure.task.key]
        return list(paths.values())

    def _linked(self, do: Do, reporter: Reporter) -> np.ndarray:
        """Return the pixels at borders that are connected with sure road; see `linked_pixels`."""
        if self._options.hysteresis == 1 or len(self._parts) == 1:
            return linked_pixels([])
        hysteresis = {"hysteresis": self._options.hysteresis}
        tasks = [self._task(find_borders, part, part, hysteresis) for part in self._parts]
        paths = self._done(tasks, do, "Looking at borders", reporter)
        names = [field.name for field in fields(BorderPatches)]
        return linked_pixels([BorderPatches(**read_arrays(path, names)) for path in paths])

    def _extraction(self, part: Part, linked: np.ndarray) -> Task:
        window = part.grown(margin_px(self._options, _grid_of(part, self._grid).pixel_m), self._grid)
        content = {
            "window": asdict(window),
            "options": asdict(self._options),
            "classes": to_document(self._classes),
            "linked": _within(linked, window).tolist(),
        }
        return self._task(extract_roads, part, window, content)

    def _task(
        self, function: Callable[[Document], Document], core: Part, window: Part, content: Mapping[str, object]
    ) -> Task:
        content = {**content, "core": asdict(core), "grid": grid_document(self._grid), "threshold": self._threshold}
        read = window if self._no_road is None else _around(window, self._grid)
        closed = area_on(self._no_road, _grid_of(read, self._grid))
        content["no_road"] = "" if closed.is_empty else shapely.to_wkb(closed, hex=True)
        numbers = sorted(self._tree.query(shapely.box(*read.bounds)).tolist())
        shown = [(self._scenes[number], self._placed[number]) for number in numbers]
        seen = [[scene.name, scene.key, placed.bounds] for scene, placed in shown]
        key = content_key(_KINDS[function], content, seen, self._version)
        scenes = [asdict(placed) for _, placed in shown]
        document = {**content, "scenes": scenes, "folder": self._folder, "key": key}
        return Task(function, document, key, core.width * core.height / 1e6)


def _within(pixels: np.ndarray, window: Part) -> np.ndarray:
    """Return those of `linked_pixels` that lie in a window, in their order, since they are part of a task's key."""
    left, top, right, bottom = window.bounds
    near = pixels[slice(*np.searchsorted(pixels[:, 1], [top, bottom]))]
    return near[(near[:, 0] >= left) & (near[:, 0] < right)]


def find_borders(document: Document) -> Document:
    """Find the patches at the borders of a part.

    The document has `folder`, `key`, `grid`, `core`, `scenes`, `no_road`, `threshold` and `hysteresis`.
    """
    core, grid = Part(**document["core"]), grid_from_document(document["grid"])
    probability, _ = _read(document, grid, core)
    raster = byte_raster(probability, document["threshold"])
    patches = border_patches(raster, core, document["hysteresis"])
    Store(document["folder"]).write(BORDERS, document["key"], ".npz", lambda path: write_arrays(path, vars(patches)))
    return {"patches": len(patches.is_sure)}


def extract_roads(document: Document) -> Document:
    """Extract the roads of a part.

    The document has `folder`, `key`, `grid`, `window`, `core`, `scenes`, `no_road`, `threshold`, `options`,
    `classes`, and in `linked` columns and rows of likely pixels that are connected with sure road.
    """
    grid = grid_from_document(document["grid"])
    window, core = Part(**document["window"]), Part(**document["core"])
    probability, numbers = _read(document, grid, window)
    classes = None if numbers is None else class_array(numbers, from_document(document["classes"]))
    raster = byte_raster(probability, document["threshold"])
    linked = np.array(document["linked"], dtype=np.int64).reshape(-1, 2)
    options = NetworkOptions(**document["options"])
    roads = extract_part(raster, window, core, _grid_of(core, grid).pixel_m, options, Reporter(), classes, linked)
    Store(document["folder"]).write(EXTRACT, document["key"], ".npz", lambda path: write_part(path, roads))
    return {"lines": len(roads.graph.edges)}


_KINDS: dict[Callable[[Document], Document], str] = {find_borders: BORDERS, extract_roads: EXTRACT}


def _around(part: Part, grid: Grid) -> Part:
    """Return a part with all around it that decides on its bridges."""
    return part.grown(CELL_PX * math.ceil(REACH_M / min(_grid_of(part, grid).pixel_m) / CELL_PX), grid)


def _grid_of(part: Part, grid: Grid) -> Grid:
    return grid.window(part.column, part.row, part.width, part.height)


def _read(document: Document, grid: Grid, part: Part) -> tuple[np.ndarray, Optional[np.ndarray]]:
    """Return the probability of a part, without road where there is none but bridges, and its classes."""
    if not document["no_road"]:
        return read_best(grid, part, _scenes(document))
    read = _around(part, grid)
    probability, classes = read_best(grid, read, _scenes(document))
    keep_out(probability, _grid_of(read, grid), shapely.from_wkb(document["no_road"]), document["threshold"])
    top, left = part.row - read.row, part.column - read.column
    inner = np.s_[top : top + part.height, left : left + part.width]
    return np.ascontiguousarray(probability[inner]), None if classes is None else classes[inner]


def _scenes(document: Document) -> list[PlacedScene]:
    return [PlacedScene(**{**scene, "bounds": tuple(scene["bounds"])}) for scene in document["scenes"]]


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
    write_arrays(path, {**arrays, "votes": roads.measures.votes})


def read_part(path: Path) -> PartRoads:
    """Return the roads in a file; see `store.read_arrays`."""
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


def linked_pixels(cores: Sequence[BorderPatches]) -> np.ndarray:
    """Return the border pixels of all cores that are connected with sure road anywhere in the region.

    They are columns and rows in the region, sorted by row and then by column: (n, 2) int64.
    """
    first = np.cumsum([0, *(len(core.is_sure) for core in cores)])
    pixels = np.concatenate([np.zeros((0, 2), np.int64), *(core.pixels for core in cores)])
    patch = np.concatenate([np.zeros(0, np.int64), *(core.patch + begin for core, begin in zip(cores, first))])
    is_sure = np.concatenate([np.zeros(0, bool), *(core.is_sure for core in cores)])
    # All patches that are connected have sure road if one of them has.
    neighbors = KDTree(pixels).query_pairs(_TOUCHING_PX, output_type="ndarray")
    together = connected(int(first[-1]), patch[neighbors])
    has_sure = np.bincount(together, is_sure) > 0
    linked = pixels[has_sure[together[patch]]]
    return linked[np.lexsort(linked.T)]
