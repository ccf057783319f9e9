"""Mosaics: scenes on one grid that touch or nearly touch, to be read as one image.

Scope: grids, extents, neighbors. Independent of pixel values; `virtual_raster` joins rasters.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import shapely
from affine import Affine

from ..geodata.grid import SAME_PX, Grid, Window, grid_at, shared_offset
from ..geodata.plain_rasters import DTYPES
from ..geodata.rasters import IMAGE, RESAMPLING_REACH_PX, Band, ModelInput, measure_scaling
from ..geodata.tiling import STRIDE_PX
from ..networks.graph import connected
from .catalog import FULL, MASK, NODATA, Scene
from .virtual_raster import VirtualBand, VirtualImage, VirtualRaster, VirtualSource

# Digits in which pixel sizes are compared; over a hundred thousand pixels the rest is less than `SAME_PX`.
_DIGITS = 8
# The pixels of a larger mosaic would differ in size on the ground from one end to the other; it is divided.
MAX_PX = 10**11


@dataclass(frozen=True, eq=False)
class Mosaic:
    """Scenes on one grid, the first on top.

    The grid extends from the first to the last pixel of any scene. Offsets are column and row of each scene's first
    pixel. Scenes within `reach_px` are neighbors.
    """

    grid: Grid
    scenes: tuple[Scene, ...]
    offsets: tuple[tuple[int, int], ...]
    reach_px: int = 0

    def window(self, scene: Scene) -> Window:
        """Return the place of a scene on the mosaic's own grid."""
        return (*self.offsets[self._numbers[scene.name]], scene.grid.width, scene.grid.height)

    def grid_at(self, resolution_m: float) -> Grid:
        """Return the grid on which it is mapped at a ground resolution; see `geodata.grid.grid_at`."""
        return grid_at(self.grid, resolution_m)

    def window_at(self, scene: Scene, resolution_m: float) -> Window:
        """Return the place of a scene on the grid of a ground resolution: the pixels whose centers it shows.

        So scenes that touch share no pixel there, and leave none out.
        """
        target = self.grid_at(resolution_m)
        column, row, width, height = self.window(scene)
        first, across = _span_of_centers(column, width, self.grid.width, target.width)
        top, down = _span_of_centers(row, height, self.grid.height, target.height)
        return first, top, across, down

    def scene_on_top(self, scene: Scene) -> VirtualRaster:
        """Return a scene and its neighbors as one raster, with the scene on top."""
        column, row, width, height = self.window(scene)
        reach, own = self.reach_px, self._numbers[scene.name]
        near = shapely.box(column - reach, row - reach, column + width + reach, row + height + reach)
        numbers = sorted(set(self._tree.query(near, predicate="intersects").tolist()) - {own}, reverse=True)
        extent = shapely.box(0, 0, self.grid.width, self.grid.height)
        return self._raster([*numbers, own], shapely.intersection(near, extent), scene.name)

    def whole(self) -> VirtualRaster:
        """Return the mosaic of all its scenes."""
        extent = shapely.box(0, 0, self.grid.width, self.grid.height)
        return replace(self._raster(list(range(len(self.scenes)))[::-1], extent), is_strict=False)

    def _raster(self, numbers: list[int], needed: shapely.Geometry, top: str = "") -> VirtualRaster:
        """Return some scenes as one raster, the lowest first, of which an area will be read."""
        first = self.scenes[0]
        bands = tuple(VirtualBand(band.dtype, band.color, band.description) for band in first.bands)
        sources = tuple(_source(self.scenes[number], self.offsets[number]) for number in numbers)
        kinds = {(source.masking, source.nodata) for source in sources}
        kind = kinds.pop()[0] if len(kinds) == 1 else MASK
        if kind == FULL and not shapely.covers(shapely.union_all(self._boxes[numbers]), needed):
            kind = MASK
        masking = kind if kind in (FULL, NODATA) else MASK
        return VirtualRaster(self.grid, bands, _places_of(first), masking, sources, top)

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {scene.name: number for number, scene in enumerate(self.scenes)}

    @cached_property
    def _boxes(self) -> np.ndarray:
        return _boxes(zip(self.scenes, self.offsets))

    @cached_property
    def _tree(self) -> shapely.STRtree:
        return shapely.STRtree(self._boxes)


def find_mosaics(scenes: Sequence[Scene], reach_px: int, resolution_m: float = 0.0) -> list[Mosaic]:
    """Group the scenes that lie on one grid and touch, or nearly touch, each other.

    They have the same CRS, the same size of pixels, bands of the same kind, and differ by whole pixels. The model reads
    surroundings of `reach_px` around a block: scenes that are no farther apart belong together. Its pixels have a size
    of `resolution_m` on the ground; 0 means that of the scenes. Mosaics are in the order of their first scenes. A scene
    without neighbors is a mosaic by itself.
    """
    mosaics: list[tuple[int, Mosaic]] = []
    order = {scene.name: number for number, scene in enumerate(scenes)}
    for group in _lattices(scenes):
        own_reach = own_reach_px(group[0][0].grid, reach_px, resolution_m)
        for part in _adjoining(group, own_reach):
            for members in _small_enough(part):
                mosaic = _mosaic(members, own_reach)
                mosaics.append((order[mosaic.scenes[0].name], mosaic))
    return [mosaic for _, mosaic in sorted(mosaics, key=lambda pair: pair[0])]


def own_reach_px(grid: Grid, halo_px: int, resolution_m: float) -> int:
    """Return the largest number of pixels of a grid that are read beyond a block.

    These are the halo, the margin by which tiles begin at multiples of the stride, and that of resampling. The halo is
    in pixels of the model, whose ground size is `resolution_m` or, if 0, the grid's own.
    """
    if not halo_px:
        return 0
    target = grid_at(grid, resolution_m)
    if target is grid:
        return halo_px + STRIDE_PX
    scale = max(grid.width / target.width, grid.height / target.height)
    return math.ceil((halo_px + STRIDE_PX) * scale) + RESAMPLING_REACH_PX


def normalized_bands(mosaic: Mosaic, wanted: ModelInput) -> tuple[tuple[Band, ...], list[str]]:
    """Return the bands by which a mosaic is normalized, as one image, and the names of scenes that cannot be read.

    They are measured on the mosaic if the model normalizes by image. Raises ImageryError if no scene can be read, or
    the values are too large or too small to normalize by.
    """
    if wanted.scaling != IMAGE:
        return wanted.bands, []
    with VirtualImage(mosaic.whole(), wanted.resolution_m) as image:
        bands = measure_scaling(image, wanted.bands)  # type: ignore[arg-type]  # a VirtualImage is read as an Image is
        return bands, image.left_out


# A scene with the column and row of its first pixel, counted from any pixel of its grid.
_Placed = tuple[Scene, tuple[int, int]]


def _lattices(scenes: Sequence[Scene]) -> Iterator[list[_Placed]]:
    """Yield the scenes whose pixels lie on those of each other, in the given order."""
    alike: dict[object, list[Scene]] = defaultdict(list)
    for number, scene in enumerate(scenes):
        is_joinable = all(band.dtype in DTYPES for band in scene.bands)
        alike[_kind(scene) if is_joinable else number].append(scene)
    for group in alike.values():
        yield from _by_offset(group)


def _kind(scene: Scene) -> tuple[object, ...]:
    """Return the properties that scenes of one mosaic share, except the offset of their pixels."""
    transform = scene.grid.transform
    sizes = tuple(float(f"{value:.{_DIGITS - 1}e}") for value in (transform.a, transform.b, transform.d, transform.e))
    bands = tuple((band.dtype, band.color, band.description) for band in scene.bands)
    return scene.grid.crs.to_wkt(), sizes, bands, _places_of(scene)


def _places_of(scene: Scene) -> tuple[int, ...]:
    """Return the places, from 1, of the model's bands among those of a scene that are no alpha."""
    numbers = [band.number for band in scene.bands]
    return tuple(numbers.index(index) + 1 for index in scene.indexes)


def _by_offset(group: list[Scene]) -> Iterator[list[_Placed]]:
    """Yield those of a group that differ by whole pixels; the first of each is at (0, 0)."""
    to_pixels = ~group[0].grid.transform
    lattices: list[list[_Placed]] = []
    corners = np.empty((len(group), 2))  # of the first scene of each lattice, in pixels of the group's first grid
    for scene in group:
        corner = to_pixels @ (scene.grid.transform.c, scene.grid.transform.f)
        away_px = (corners[: len(lattices)] - corner + 0.5) % 1 - 0.5
        for number in np.flatnonzero((np.abs(away_px) < 2 * SAME_PX).all(axis=1)):
            offset = shared_offset(lattices[number][0][0].grid, scene.grid)
            if offset is not None:
                lattices[number].append((scene, offset))
                break
        else:
            corners[len(lattices)] = corner
            lattices.append([(scene, (0, 0))])
    yield from lattices


def _adjoining(group: list[_Placed], reach_px: int) -> Iterator[list[_Placed]]:
    """Yield those of a group that are connected by distances within a reach."""
    boxes = _boxes(group)
    left, top, right, bottom = shapely.bounds(boxes).T
    # Scenes are linked if one's box, grown by the reach, meets the other's.
    wide = shapely.box(left - reach_px, top - reach_px, right + reach_px, bottom + reach_px)
    one, other = shapely.STRtree(boxes).query(wide, predicate="intersects")
    parts: dict[int, list[_Placed]] = defaultdict(list)
    for label, member in zip(connected(len(group), np.column_stack([one, other])).tolist(), group):
        parts[label].append(member)
    yield from parts.values()


def _small_enough(members: list[_Placed]) -> Iterator[list[_Placed]]:
    """Yield the members of a mosaic, divided across its longer side as long as it is too large."""
    left, top, right, bottom = shapely.total_bounds(_boxes(members))
    if len(members) == 1 or (right - left) * (bottom - top) <= MAX_PX:
        yield members
        return
    axis = 0 if right - left >= bottom - top else 1
    ranked = sorted(range(len(members)), key=lambda number: members[number][1][axis])
    half = len(members) // 2
    for part in (ranked[:half], ranked[half:]):
        yield from _small_enough([members[number] for number in sorted(part)])


def _mosaic(members: list[_Placed], reach_px: int) -> Mosaic:
    first, origin = members[0]
    left, top, right, bottom = (round(bound) for bound in shapely.total_bounds(_boxes(members)))
    # The corner of a scene, if one lies there, is that of the mosaic without rounding.
    corner, at = next(((scene, offset) for scene, offset in members if offset == (left, top)), (first, origin))
    transform = corner.grid.transform @ Affine.translation(left - at[0], top - at[1])
    grid = Grid(first.grid.crs, transform, right - left, bottom - top)
    offsets = tuple((offset[0] - left, offset[1] - top) for _, offset in members)
    return Mosaic(grid, tuple(scene for scene, _ in members), offsets, reach_px)


def _boxes(members: Iterable[_Placed]) -> np.ndarray:
    windows = [(*offset, scene.grid.width, scene.grid.height) for scene, offset in members]
    column, row, width, height = np.array(windows, dtype=float).T
    return shapely.box(column, row, column + width, row + height)


def _source(scene: Scene, offset: tuple[int, int]) -> VirtualSource:
    nodata = tuple(repr(band.nodata) for band in scene.bands) if scene.masking == NODATA else ()
    numbers = tuple(band.number for band in scene.bands)
    size = (scene.grid.width, scene.grid.height)
    return VirtualSource(
        scene.path, scene.name, scene.version, *offset, *size, numbers, scene.masking, nodata, scene.plain
    )


def _span_of_centers(start: int, size: int, of_px: int, to_px: int) -> tuple[int, int]:
    """Return start and length of the pixels whose centers lie in a span, when a side is resampled; one at least."""
    first, last = (math.floor(value * to_px / of_px + 0.5) for value in (start, start + size))
    first = min(first, to_px - 1)
    return first, max(1, last - first)
