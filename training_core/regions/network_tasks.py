"""Tasks that extract the roads of a region from the probability of its scenes, and the network that results.

Scope: the parts of a region, their borders and their roads. Independent of who does the tasks, and of files' formats.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cached_property

import geopandas
import numpy as np
import shapely
from shapely.geometry.base import BaseGeometry

from ..events import Reporter
from ..geodata.grid import Grid
from ..geodata.road_classes import RoadClass, class_array, from_document, to_document
from ..geodata.road_raster import byte_raster
from ..jobs import NetworkOptions
from ..system.machine import roadseg_version
from .part_roads import (
    BorderPatches,
    border_patches,
    extract_part,
    linked_pixels,
    read_part,
    read_patches,
    write_part,
    write_patches,
)
from .region_grid import Part, PlacedScene, divide, margin_px, outline_on, read_best
from .seams import join_parts, joined_roads, outline
from .store import Store, content_key
from .tasks import Document, Task, TaskResult
from .virtual_raster import grid_document, grid_from_document

# Kinds of results in the store.
BORDERS, EXTRACT = "borders", "extract"
# The default side of a part in pixels: some seconds of work, in 0.6 GB for a city.
PART_PX = 8192

# Does tasks with a message of progress, and returns the results of those that failed.
Do = Callable[[Sequence[Task], str, Reporter], list[TaskResult]]
# From a window to the columns and rows of its linked pixels: (n, 2), int64.
Links = Callable[[Part], np.ndarray]


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


@dataclass(frozen=True, eq=False)
class RegionRoads:
    """The extraction of the roads of mapped scenes on a grid, in parts whose side is about `part_px`."""

    folder: str
    scenes: Sequence[MappedScene]
    grid: Grid
    options: NetworkOptions
    threshold: float
    part_px: int = PART_PX
    classes: Sequence[RoadClass] = ()

    def extract(self, do: Do, reporter: Reporter) -> tuple[Iterator[geopandas.GeoDataFrame], int]:
        """Extract all parts, and join those that succeed; see `joined_roads`.

        The number is that of ends of lines at seams without a counterpart.
        """
        linked = self._linked(do, reporter.part(0, 0.2))
        tasks = [self._extraction(part, linked) for part in self._parts]
        lost = self._do_missing(tasks, do, "Extracting roads", reporter.part(0.2, 0.8))
        paths = [self._store.path(EXTRACT, task.key, ".npz") for task in tasks if task.key not in lost]
        outlines = [outline(read_part(path)) for path in paths]
        joining = join_parts(outlines)
        parts = (read_part(path) for path in paths)
        tables = joined_roads(parts, outlines, joining, self.grid, self.options, self.classes)
        return tables, joining.mismatches

    @cached_property
    def _store(self) -> Store:
        return Store(self.folder)

    @cached_property
    def _version(self) -> str:
        return roadseg_version()  # part of the keys, since another version may extract otherwise

    @cached_property
    def _outlines(self) -> list[BaseGeometry]:
        return [outline_on(self.grid, scene.grid) for scene in self.scenes]

    @cached_property
    def _placed(self) -> list[PlacedScene]:
        return [
            PlacedScene(scene.name, scene.probability, scene.classes, outline.bounds)
            for scene, outline in zip(self.scenes, self._outlines)
        ]

    @cached_property
    def _tree(self) -> shapely.STRtree:
        return shapely.STRtree([shapely.box(*scene.bounds) for scene in self._placed])

    @cached_property
    def _parts(self) -> list[Part]:
        return list(divide(self.grid, self.part_px, self._outlines))

    def _do_missing(self, tasks: list[Task], do: Do, message: str, reporter: Reporter) -> set[str]:
        """Do the tasks without results; return the keys of those that fail."""
        missing = [task for task in tasks if not self._store.has(_KINDS[task.function], task.key, ".npz")]
        return {result.task.key for result in do(missing, message, reporter)}

    def _linked(self, do: Do, reporter: Reporter) -> Links:
        """Return the pixels at borders that are connected with sure road, by window; see `linked_pixels`."""
        if self.options.hysteresis == 1 or len(self._parts) == 1:
            return _links([], [])
        hysteresis = {"hysteresis": self.options.hysteresis}
        tasks = [self._task(find_borders, part, part, hysteresis) for part in self._parts]
        lost = self._do_missing(tasks, do, "Looking at borders", reporter)

        def read(number: int) -> BorderPatches:
            if tasks[number].key in lost:
                return BorderPatches(np.zeros((0, 2), np.int64), np.zeros(0, np.int64), np.zeros(0, bool))
            return read_patches(self._store.path(BORDERS, tasks[number].key, ".npz"))

        return _links(self._parts, list(linked_pixels(self._parts, read)))

    def _extraction(self, part: Part, linked: Links) -> Task:
        window = part.grown(margin_px(self.options, _part_pixel_m(self.grid, part)), self.grid)
        content = {
            "window": asdict(window),
            "options": asdict(self.options),
            "classes": to_document(self.classes),
            "linked": linked(window).tolist(),
        }
        return self._task(extract_roads, part, window, content)

    def _task(
        self, function: Callable[[Document], Document], core: Part, window: Part, content: Mapping[str, object]
    ) -> Task:
        content = {**content, "core": asdict(core), "grid": grid_document(self.grid), "threshold": self.threshold}
        numbers = sorted(self._tree.query(shapely.box(*window.bounds)).tolist())
        seen = [[self.scenes[number].name, self.scenes[number].key, self._placed[number].bounds] for number in numbers]
        key = content_key(_KINDS[function], content, seen, self._version)
        scenes = [asdict(self._placed[number]) for number in numbers]
        document = {**content, "scenes": scenes, "folder": self.folder, "key": key}
        return Task(function, document, key, core.width * core.height / 1e6)


def _links(parts: Sequence[Part], pixels: Sequence[np.ndarray]) -> Links:
    """Return a function that returns the pixels of all parts that lie in a window."""
    tree = shapely.STRtree([shapely.box(*part.bounds) for part in parts])

    def within(window: Part) -> np.ndarray:
        left, top, right, bottom = window.bounds
        numbers = tree.query(shapely.box(left, top, right, bottom))
        near = np.concatenate([np.zeros((0, 2), np.int64), *(pixels[number] for number in numbers)])
        inside = near[((near >= [left, top]) & (near < [right, bottom])).all(axis=1)]
        return inside[np.lexsort(inside.T)]  # sorted, since they are part of a task's key

    return within


def find_borders(document: Document) -> Document:
    """Find the patches at the borders of a part.

    The document has `folder`, `key`, `grid`, `core`, `scenes`, `threshold` and `hysteresis`.
    """
    core, grid = Part(**document["core"]), grid_from_document(document["grid"])
    probability, _ = read_best(grid, core, _scenes(document))
    raster = byte_raster(probability, document["threshold"])
    patches = border_patches(raster, core, document["hysteresis"])
    Store(document["folder"]).write(BORDERS, document["key"], ".npz", lambda path: write_patches(path, patches))
    return {"patches": len(patches.is_sure)}


def extract_roads(document: Document) -> Document:
    """Extract the roads of a part.

    The document has `folder`, `key`, `grid`, `window`, `core`, `scenes`, `threshold`, `options`, `classes`, and in
    `linked` columns and rows of likely pixels that are connected with sure road.
    """
    grid = grid_from_document(document["grid"])
    window, core = Part(**document["window"]), Part(**document["core"])
    probability, numbers = read_best(grid, window, _scenes(document))
    classes = None if numbers is None else class_array(numbers, from_document(document["classes"]))
    raster = byte_raster(probability, document["threshold"])
    linked = np.array(document["linked"], dtype=np.int64).reshape(-1, 2)
    options = NetworkOptions(**document["options"])
    roads = extract_part(raster, window, core, _part_pixel_m(grid, core), options, Reporter(), classes, linked)
    Store(document["folder"]).write(EXTRACT, document["key"], ".npz", lambda path: write_part(path, roads))
    return {"lines": len(roads.graph.edges)}


_KINDS: dict[Callable[[Document], Document], str] = {find_borders: BORDERS, extract_roads: EXTRACT}


def _part_pixel_m(grid: Grid, core: Part) -> tuple[float, float]:
    """Return the ground size of a pixel in meters, along columns and along rows, in the middle of a part."""
    return grid.window(core.column, core.row, core.width, core.height).pixel_m


def _scenes(document: Document) -> list[PlacedScene]:
    return [PlacedScene(**{**scene, "bounds": tuple(scene["bounds"])}) for scene in document["scenes"]]
