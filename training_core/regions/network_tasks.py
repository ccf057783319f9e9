"""Tasks that extract the roads of a region from the probability of its scenes, and the network that results.

Scope: the parts of a region, their borders and their roads. Independent of who does the tasks, and of files' formats.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields

import geopandas
import numpy as np
import shapely

from ..events import Reporter
from ..geodata.grid import Grid
from ..geodata.road_classes import RoadClass, from_document, to_document
from ..geodata.road_raster import byte_raster, class_array
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

# Does tasks, and returns the outcomes of those that failed.
Do = Callable[[Sequence[Task]], list[TaskResult]]
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


class RegionRoads:
    """The extraction of a region's roads, in parts whose side is about `part_px`."""

    def __init__(
        self,
        folder: str,
        scenes: Sequence[MappedScene],
        grid: Grid,
        options: NetworkOptions,
        threshold: float,
        part_px: int = PART_PX,
        classes: Sequence[RoadClass] = (),
    ) -> None:
        self._folder, self._store, self._classes = folder, Store(folder), tuple(classes)
        self._options = NetworkOptions(
            **{option.name: getattr(options, option.name) for option in fields(NetworkOptions)}
        )
        self._threshold = threshold
        self._version = roadseg_version()  # part of the keys, since another version may extract otherwise
        self._grid = grid
        shapes = [outline_on(self._grid, scene.grid) for scene in scenes]
        self._keys = {scene.name: scene.key for scene in scenes}
        self._scenes = [
            PlacedScene(scene.name, scene.probability, scene.classes, shape.bounds)
            for scene, shape in zip(scenes, shapes)
        ]
        self._tree = shapely.STRtree([shapely.box(*scene.bounds) for scene in self._scenes])
        self._parts = list(divide(self._grid, part_px, shapes))

    def extract(self, do: Do, do_borders: Do) -> tuple[Iterator[geopandas.GeoDataFrame], int]:
        """Extract all parts, and join those that succeed; see `joined_roads`.

        `do` does the tasks of extraction, `do_borders` those of hysteresis across borders. The number is that of ends
        of lines at seams without a counterpart.
        """
        linked = self._linked(do_borders)
        tasks = [self._extraction(part, linked) for part in self._parts]
        lost = self._do_missing(tasks, do)
        paths = [self._store.path(EXTRACT, task.key, ".npz") for task in tasks if task.key not in lost]
        outlines = [outline(read_part(path)) for path in paths]
        joining = join_parts(outlines)
        parts = (read_part(path) for path in paths)
        tables = joined_roads(parts, outlines, joining, self._grid, self._options, self._classes)
        return tables, joining.mismatches

    def _do_missing(self, tasks: list[Task], do: Do) -> set[str]:
        """Do the tasks without results; return the keys of those that fail."""
        missing = [task for task in tasks if not self._store.has(_KINDS[task.function], task.key, ".npz")]
        return {result.task.key for result in do(missing)}

    def _linked(self, do: Do) -> Links:
        """Return the pixels at borders that are connected with sure road, by window; see `hysteresis_links`."""
        if self._options.hysteresis == 1 or len(self._parts) == 1:
            return _links([], [])
        hysteresis = {"hysteresis": self._options.hysteresis}
        tasks = [self._task(find_borders, part, part, hysteresis) for part in self._parts]
        lost = self._do_missing(tasks, do)

        def read(number: int) -> BorderPatches:
            if tasks[number].key in lost:
                return BorderPatches(np.zeros((0, 2), np.int64), np.zeros(0, np.int64), np.zeros(0, bool))
            return read_patches(self._store.path(BORDERS, tasks[number].key, ".npz"))

        return _links(self._parts, list(linked_pixels(self._parts, read)))

    def _extraction(self, part: Part, linked: Links) -> Task:
        window = part.grown(margin_px(self._options, _part_pixel_m(self._grid, part)), self._grid)
        content = {
            "window": asdict(window),
            "options": asdict(self._options),
            "classes": to_document(self._classes),
            "linked": linked(window).tolist(),
        }
        return self._task(extract_roads, part, window, content)

    def _task(
        self, function: Callable[[Document], Document], core: Part, window: Part, content: Mapping[str, object]
    ) -> Task:
        content = {**content, "core": asdict(core), "grid": grid_document(self._grid), "threshold": self._threshold}
        scenes = [self._scenes[number] for number in sorted(self._tree.query(shapely.box(*window.bounds)).tolist())]
        seen = [[scene.name, self._keys[scene.name], scene.bounds] for scene in scenes]
        key = content_key(_KINDS[function], content, seen, self._version)
        document = {**content, "scenes": [asdict(scene) for scene in scenes], "folder": self._folder, "key": key}
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
