"""Labels of a live session: the features drawn so far, rasterized again only where they change.

Scope: features, blocks of labels, and which of them are held out. Independent of the image's values and of the model.

Only blocks with labels are kept, and all blocks of one value are one array. So memory grows with the drawing, and not
with the image.

Unlike in a fine-tune, a road outside the area of interest also counts, with its surroundings, because somebody has just
drawn it. And roads that the map shows next to a drawn one are spared: they do not become background. People who correct
a model do not draw the roads that it finds, so it would lose the side streets of each drawn road. Areas of interest and
places without a road make them background all the same.

Held-out blocks are for validation only. A fine-tune chooses them once it has all labels. Here labels come one by one,
and a block must stay on its side for the whole session, so its position alone decides.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Optional

import numpy as np
import shapely

from ..geodata.antimeridian import in_one_piece, turn_of
from ..geodata.grid import Grid
from ..geodata.pixel_codes import BACKGROUND, IGNORE, ROAD
from ..geodata.shapes import around, burn_shapes, crs_of, in_short_pieces, pixel_window, valid
from ..jobs import LabelOptions
from ..labels.drawing import Ground
from .commands import AOI, NO_ROAD, ROADS, Change
from .image_windows import paste

# Side of a block, a multiple of the model's stride: small, so that some blocks of the first roads are held out.
BLOCK_PX = 64
# One block in this number is held out.
HELD_OUT_ONE_IN = 6
# Row and column of a block, counted from the corner of the image.
BlockIndex = tuple[int, int]
_NONE = np.zeros(0, dtype=object)
_UNIFORM = {value: np.full((BLOCK_PX, BLOCK_PX), value, dtype=np.uint8) for value in (BACKGROUND, ROAD, IGNORE)}
# Returns the pixels of a window (column, row, width, height) that the map shows as road: (height, width), bool.
ShownRoad = Callable[[int, int, int, int], np.ndarray]
for _values in _UNIFORM.values():
    _values.flags.writeable = False


@dataclass(frozen=True, eq=False)
class Feature:
    """A feature with its shapes, polygons in the ground meters of the grid, and the blocks that they touch.

    A line becomes the buffers of its pieces. Labels are `known` in polygons, (m,), object: the surroundings of a road,
    or an area.
    """

    change: Change
    shapes: np.ndarray
    known: np.ndarray
    blocks: frozenset[BlockIndex]

    @property
    def is_held_out(self) -> bool:
        """Whether all of its blocks are held out, so that it would never be learned."""
        return self.change.layer != AOI and bool(self.blocks) and all(map(is_chosen, self.blocks))


@dataclass(frozen=True)
class Changed:
    """Changed blocks that are learned from, and the pixels that lost their labels: (BLOCK_PX, BLOCK_PX), bool."""

    blocks: list[BlockIndex]
    erased: dict[BlockIndex, np.ndarray]


class DrawnLabels:
    """The features drawn so far, and their labels on a grid, in blocks of (BLOCK_PX, BLOCK_PX).

    `labels`, uint8, of blocks that have any, are BACKGROUND, ROAD or IGNORE. `spared`, bool, are pixels that the map
    showed as road when labels came. They do not become background next to a road.
    """

    def __init__(self, grid: Grid, options: LabelOptions) -> None:
        self._grid, self._options = grid, options
        self._turn, self._middle_x = turn_of(crs_of(grid)), grid.outline.centroid.x
        self._features: dict[tuple[str, str], Feature] = {}
        self._given: Counter[BlockIndex] = Counter()
        self.labels: dict[BlockIndex, np.ndarray] = {}
        self.road_px: dict[BlockIndex, int] = {}
        self.labeled_px: dict[BlockIndex, int] = {}
        self.spared: dict[BlockIndex, np.ndarray] = {}

    @property
    def roads(self) -> int:
        """Number of drawn roads."""
        return sum(layer == ROADS for layer, _ in self._features)

    @property
    def features(self) -> Iterator[Feature]:
        """The features, in the order in which they last changed."""
        return iter(self._features.values())

    def is_held_out(self, block: BlockIndex) -> bool:
        """Whether a block is held out by its position, and no feature lies in held-out blocks alone."""
        return is_chosen(block) and not self._given[block]

    def change(self, changes: Iterable[Change], shown: Optional[ShownRoad] = None) -> Changed:
        """Apply changed features, and rasterize the blocks that they touch; spare roads that the map has `shown`."""
        touched: list[np.ndarray] = []
        for change in changes:
            former = self._features.pop(change.key, None)
            feature = None if change.geometry is None else self._feature(change)
            # A feature in held-out blocks alone takes them over for learning until it is removed.
            for version, sign in ((former, -1), (feature, 1)):
                if version is not None:
                    touched.append(version.known)
                    if version.is_held_out:
                        self._given.update(dict.fromkeys(version.blocks, sign))
            if feature is not None:
                self._features[change.key] = feature
        return self._burn(self._blocks_of(np.concatenate([_NONE, *touched])), shown)

    def read(self, column: int, row: int, width: int, height: int, *, held_out: bool = False) -> np.ndarray:
        """Return the labels of a window, (height, width), uint8: those to learn from, or the held-out ones.

        Without a label of the kind, as beyond the grid, pixels are IGNORE.
        """
        values = np.full((height, width), IGNORE, dtype=np.uint8)
        for block in blocks_in(column, row, width, height):
            labels = self.labels.get(block)
            if labels is not None and self.is_held_out(block) == held_out:
                paste(values, labels, block[1] * BLOCK_PX - column, block[0] * BLOCK_PX - row)
        return values

    def read_all(self, column: int, row: int, width: int, height: int) -> np.ndarray:
        """Return all labels of a window, (height, width), uint8, held out or not."""
        window = (column, row, width, height)
        # IGNORE is the largest code, so the minimum is the label of either kind.
        return np.minimum(self.read(*window), self.read(*window, held_out=True))

    def _feature(self, change: Change) -> Feature:
        geometry = in_one_piece(np.array([change.geometry], dtype=object), self._turn, self._middle_x)
        shape = np.array([self._grid.to_metric(geometry[0])], dtype=object)
        shapes = valid(shape)
        if shapely.get_dimensions(shape)[0] == 1:
            pieces, _ = in_short_pieces(shape)
            shapes = shapely.buffer(pieces, (change.width_m or self._options.width_m) / 2)
        shapes = shapes[~shapely.is_empty(shapes)]
        known = around(shapes, self._options.background_m) if change.layer == ROADS else shapes
        return Feature(change, shapes, known, frozenset(self._blocks_of(shapes)))

    def _blocks_of(self, shapes: np.ndarray) -> list[BlockIndex]:
        """Return the blocks of the grid that shapes, (n,), object, touch, row by row."""
        touched: set[BlockIndex] = set()
        pixels = self._grid.from_metric_to_pixels(shapes) if len(shapes) else shapes
        for shape, outline in zip(shapes, pixels):
            column, row, width, height = pixel_window(np.array([shape]), self._grid)
            if not width or not height:
                continue
            # Keep only the blocks in the bounding box that the outline itself touches.
            blocks = np.array(list(blocks_in(column, row, width, height)))
            corners = blocks * BLOCK_PX
            boxes = shapely.box(corners[:, 1], corners[:, 0], corners[:, 1] + BLOCK_PX, corners[:, 0] + BLOCK_PX)
            shapely.prepare(outline)
            touched.update(map(tuple, blocks[shapely.intersects(outline, boxes)].tolist()))
        return sorted(touched)

    def _burn(self, blocks: list[BlockIndex], shown: Optional[ShownRoad]) -> Changed:
        """Rasterize blocks again, one row of blocks at a time."""
        features = [feature for feature in self._features.values() if len(feature.known)]
        tree = shapely.STRtree([shapely.box(*shapely.total_bounds(feature.known)) for feature in features])
        changed: list[BlockIndex] = []
        erased: dict[BlockIndex, np.ndarray] = {}
        for row in sorted({block[0] for block in blocks}):
            columns = [block[1] for block in blocks if block[0] == row]
            first, last = min(columns), max(columns)
            window = (first * BLOCK_PX, row * BLOCK_PX, (last - first + 1) * BLOCK_PX, BLOCK_PX)
            ground = self._grid.window(*window)
            place = self._grid.to_metric(ground.outline)
            # Rasterize the features near the span of changed blocks in this row.
            near = [features[number] for number in sorted(tree.query(place))]
            values = _ground(near).burn(self._grid, window)
            # Beyond the image, pixels are ignored.
            values[max(0, self._grid.height - window[1]) :] = IGNORE
            values[:, max(0, self._grid.width - window[0]) :] = IGNORE
            certain = burn_shapes(_joined(near, "shapes", AOI, NO_ROAD), self._grid, window)
            road = shown(*window) if shown else np.zeros(values.shape, dtype=bool)
            for column in columns:
                at = (column - first) * BLOCK_PX
                block, part = (row, column), np.s_[:, at : at + BLOCK_PX]
                drawn, old = values[part], self.labels.get(block, _UNIFORM[IGNORE])
                # The map shows a drawn road as well; once it is moved or erased, that must not spare its pixels.
                spared = self._spare(block, road[part] & (old != ROAD)) & ~certain[part] & (drawn == BACKGROUND)
                new = np.where(spared, IGNORE, drawn).astype(np.uint8)
                if (old != new).any():
                    self._store(block, new)
                    lost = (old != IGNORE) & (drawn == IGNORE)
                    if not self.is_held_out(block):
                        changed.append(block)
                        erased |= {block: lost} if lost.any() else {}
        return Changed(changed, erased)

    def _spare(self, block: BlockIndex, road: np.ndarray) -> np.ndarray:
        """Return the spared pixels of a block, (BLOCK_PX, BLOCK_PX), bool: shown as road now or in earlier changes."""
        spared = self.spared.get(block)
        if road.any():
            spared = self.spared[block] = road if spared is None else spared | road
        return road if spared is None else spared

    def _store(self, block: BlockIndex, values: np.ndarray) -> None:
        for kept in (self.labels, self.road_px, self.labeled_px):
            kept.pop(block, None)
        labeled = int(np.count_nonzero(values != IGNORE))
        if not labeled:
            return
        is_uniform = (values == values[0, 0]).all()
        self.labels[block] = _UNIFORM[int(values[0, 0])] if is_uniform else values.copy()
        self.road_px[block], self.labeled_px[block] = int(np.count_nonzero(values == ROAD)), labeled


def _ground(features: list[Feature]) -> Ground:
    """Return the shapes of features by their meaning."""
    sure = [np.full(len(item.shapes), item.change.sure) for item in features if item.change.layer == ROADS]
    return Ground(
        _joined(features, "shapes", ROADS),
        np.concatenate([np.zeros(0, dtype=bool), *sure]),
        np.concatenate([_joined(features, "known", layer) for layer in (ROADS, AOI)]),
        _joined(features, "shapes", NO_ROAD),
    )


def _joined(features: list[Feature], part: str, *layers: str) -> np.ndarray:
    return np.concatenate([_NONE, *(getattr(item, part) for item in features if item.change.layer in layers)])


def is_chosen(block: BlockIndex) -> bool:
    """Whether a block is held out by its position."""
    row, column = block
    return zlib.crc32(f"{row},{column}".encode()) % HELD_OUT_ONE_IN == 0


def order_of(blocks: Iterable[BlockIndex]) -> list[BlockIndex]:
    """Return blocks in a pseudorandom but fixed order; the order of two blocks does not depend on others."""
    return sorted(blocks, key=lambda block: (zlib.crc32(f"{block[1]}/{block[0]}".encode()), block))


def blocks_in(column: int, row: int, width: int, height: int) -> Iterator[BlockIndex]:
    """Yield the blocks that a window of pixels touches."""
    for down in range(row // BLOCK_PX, -(-(row + height) // BLOCK_PX)):
        for across in range(column // BLOCK_PX, -(-(column + width) // BLOCK_PX)):
            yield down, across
