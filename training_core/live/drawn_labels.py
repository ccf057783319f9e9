"""Labels of a live session: the features drawn so far, rasterized again only where they change.

Scope: features, blocks of labels, and which of them are held out. Independent of the image's values and of the model.

Labels are kept by blocks, and only those that have any; a block of one value takes no memory of its own. So they take
as much as was drawn, and not as much as the image is large.

Unlike in a fine-tune, a road outside of the area of interest is learned from as well, with its surroundings: what
somebody has just drawn is meant to count. And what the map shows as road beside a drawn one is not taken for background
by that alone: who corrects a model does not draw what it finds, so it would lose the side streets of each road that is
drawn. In an area of interest, and where it is said that there is no road, it is background all the same.

Held-out blocks are validated on and never learned from. A fine-tune draws them once, with all labels there; here labels
come one after the other, and a block must be on the same side for the whole session and when it is resumed. So its
position alone decides.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Optional

import numpy as np
import shapely

from ..geodata.grid import Grid
from ..geodata.pixel_codes import BACKGROUND, IGNORE, ROAD
from ..geodata.rasterize import burn_shapes, pixel_window
from ..geodata.shapes import in_short_pieces, valid
from ..jobs import LabelOptions
from ..labels.label_raster import Ground
from .commands import AOI, NO_ROAD, ROADS, Change

# Side of a block in pixels, a multiple of the model's stride: small, so that the first few roads have some held out.
BLOCK_PX = 64
# One block in this number is held out.
HELD_OUT_ONE_IN = 6
# Row and column of a block, counted from the corner of the image.
Block = tuple[int, int]
_NONE = np.zeros(0, dtype=object)
_UNIFORM = {value: np.full((BLOCK_PX, BLOCK_PX), value, dtype=np.uint8) for value in (BACKGROUND, ROAD, IGNORE)}
# Returns which pixels of a window (column, row, width, height) are shown as road: (height, width), bool.
ShownRoad = Callable[[int, int, int, int], np.ndarray]
for _values in _UNIFORM.values():
    _values.flags.writeable = False


@dataclass(frozen=True, eq=False)
class Feature:
    """A feature with its shapes in the ground meters of the grid.

    Parameters
    ----------
    change : Change
        As it was drawn.
    shapes : ndarray (n,), object
        Polygons; a line comes as the buffers of its pieces.
    known : ndarray (m,), object
        Where it says what is there: around a road, and in an area.
    blocks : frozenset of Block
        That its shapes touch.
    """

    change: Change
    shapes: np.ndarray
    known: np.ndarray
    blocks: frozenset[Block]

    @property
    def is_held_out(self) -> bool:
        """Whether all of it would be held out, so that nobody would learn of it."""
        return self.change.layer != AOI and bool(self.blocks) and all(map(is_chosen, self.blocks))


@dataclass(frozen=True)
class Changed:
    """What a change of features has changed.

    Parameters
    ----------
    blocks : list of Block
        Whose labels have changed, and are learned from.
    erased : dict of Block to ndarray (BLOCK_PX, BLOCK_PX), bool
        Where labels were, and are no longer.
    """

    blocks: list[Block]
    erased: dict[Block, np.ndarray]


class DrawnLabels:
    """The features drawn so far, and their labels on a grid.

    Parameters
    ----------
    grid : Grid
        Of the image, at the resolution that is worked at.
    options : LabelOptions
        Width of roads, and the distance of background.

    Attributes
    ----------
    labels : dict of Block to ndarray (BLOCK_PX, BLOCK_PX), uint8
        BACKGROUND, ROAD or IGNORE; blocks without labels are left out.
    road_px, labeled_px : dict of Block to int
        Pixels of road, and all labeled ones, of each of these.
    spared : dict of Block to ndarray (BLOCK_PX, BLOCK_PX), bool
        What was shown as road when labels came; it is no background beside a road.
    """

    def __init__(self, grid: Grid, options: LabelOptions) -> None:
        self._grid, self._options = grid, options
        self._features: dict[tuple[str, str], Feature] = {}
        self._given: Counter[Block] = Counter()
        self.labels: dict[Block, np.ndarray] = {}
        self.road_px: dict[Block, int] = {}
        self.labeled_px: dict[Block, int] = {}
        self.spared: dict[Block, np.ndarray] = {}

    @property
    def roads(self) -> int:
        """Number of drawn roads."""
        return sum(layer == ROADS for layer, _ in self._features)

    @property
    def features(self) -> Iterator[Feature]:
        """The features, in the order in which they last changed."""
        return iter(self._features.values())

    def is_held_out(self, block: Block) -> bool:
        """Whether a block is validated on; those of a feature that would be held out as a whole are learned from."""
        return is_chosen(block) and not self._given[block]

    def change(self, changes: Iterable[Change], shown: Optional[ShownRoad] = None) -> Changed:
        """Take over changed features, and rasterize the labels again where they may differ.

        Parameters
        ----------
        shown : callable, optional
            What the map shows as road; without it, nothing.
        """
        touched: list[np.ndarray] = []
        for change in changes:
            former = self._features.pop(change.key, None)
            feature = None if change.geometry is None else self._feature(change)
            for each, sign in ((former, -1), (feature, 1)):
                if each is not None:
                    touched.append(each.known)
                    if each.is_held_out:
                        self._given.update(dict.fromkeys(each.blocks, sign))
            if feature is not None:
                self._features[change.key] = feature
        return self._burn(self._blocks_of(np.concatenate([_NONE, *touched])), shown)

    def read(self, column: int, row: int, width: int, height: int, *, held_out: bool = False) -> np.ndarray:
        """Return the labels of a window.

        Parameters
        ----------
        column, row, width, height : int
            The window in pixels of the grid; may reach beyond it.
        held_out : bool
            Whether to return the labels that are validated on, in place of those that are learned from.

        Returns
        -------
        ndarray (height, width), uint8
            BACKGROUND, ROAD or IGNORE.
        """
        values = np.full((height, width), IGNORE, dtype=np.uint8)
        for block in blocks_in(column, row, width, height):
            found = self.labels.get(block)
            if found is not None and self.is_held_out(block) == held_out:
                paste(values, found, block, column, row)
        return values

    def read_all(self, column: int, row: int, width: int, height: int) -> np.ndarray:
        """Return the labels of a window, whatever they are for.

        Parameters
        ----------
        column, row, width, height : int
            See `read`.

        Returns
        -------
        ndarray (height, width), uint8
            BACKGROUND, ROAD or IGNORE.
        """
        window = (column, row, width, height)
        return np.minimum(self.read(*window), self.read(*window, held_out=True))

    def _feature(self, change: Change) -> Feature:
        shape = np.array([self._grid.to_metric(change.geometry)], dtype=object)
        shapes = valid(shape)
        if shapely.get_dimensions(shape)[0] == 1:
            pieces, _ = in_short_pieces(shape)
            shapes = shapely.buffer(pieces, (change.width_m or self._options.width_m) / 2)
        shapes = shapes[~shapely.is_empty(shapes)]
        known = shapely.buffer(shapes, self._options.background_m, quad_segs=4) if change.layer == ROADS else shapes
        return Feature(change, shapes, known, frozenset(self._blocks_of(shapes)))

    def _blocks_of(self, shapes: np.ndarray) -> list[Block]:
        """Return the blocks of the grid that shapes, (n,), object, touch, row by row."""
        found: set[Block] = set()
        pixels = self._grid.from_metric_to_pixels(shapes) if len(shapes) else shapes
        for shape, outline in zip(shapes, pixels):
            column, row, width, height = pixel_window(np.array([shape]), self._grid)
            if not width or not height:
                continue
            blocks = np.array(list(blocks_in(column, row, width, height)))
            corners = blocks * BLOCK_PX
            boxes = shapely.box(corners[:, 1], corners[:, 0], corners[:, 1] + BLOCK_PX, corners[:, 0] + BLOCK_PX)
            shapely.prepare(outline)
            found.update(map(tuple, blocks[shapely.intersects(outline, boxes)].tolist()))
        return sorted(found)

    def _burn(self, blocks: list[Block], shown: Optional[ShownRoad]) -> Changed:
        """Rasterize blocks again, a row of them at a time."""
        features = [feature for feature in self._features.values() if len(feature.known)]
        tree = shapely.STRtree([shapely.box(*shapely.total_bounds(feature.known)) for feature in features])
        changed: list[Block] = []
        erased: dict[Block, np.ndarray] = {}
        for row in sorted({block[0] for block in blocks}):
            columns = [block[1] for block in blocks if block[0] == row]
            first, last = min(columns), max(columns)
            window = (first * BLOCK_PX, row * BLOCK_PX, (last - first + 1) * BLOCK_PX, BLOCK_PX)
            ground = self._grid.window(*window)
            place = self._grid.to_metric(ground.outline)
            near = [features[number] for number in sorted(tree.query(place))]
            values = _ground(near).burn(self._grid, window)
            self._mask_outside(values, window)
            certain = burn_shapes(_shapes_of(near, AOI, NO_ROAD), self._grid, window)
            road = shown(*window) if shown else np.zeros(values.shape, dtype=bool)
            for column in columns:
                at = (column - first) * BLOCK_PX
                block, part = (row, column), np.s_[:, at : at + BLOCK_PX]
                drawn, old = values[part], self.labels.get(block, _UNIFORM[IGNORE])
                # A drawn road is shown because it was drawn: that spares nothing once it is moved away, or erased.
                spared = self._spare(block, road[part] & (old != ROAD)) & ~certain[part] & (drawn == BACKGROUND)
                new = np.where(spared, IGNORE, drawn).astype(np.uint8)
                if (old != new).any():
                    self._store(block, new)
                    lost = (old != IGNORE) & (drawn == IGNORE)
                    if not self.is_held_out(block):
                        changed.append(block)
                        erased |= {block: lost} if lost.any() else {}
        return Changed(changed, erased)

    def _spare(self, block: Block, road: np.ndarray) -> np.ndarray:
        """Return what is spared in a block, (BLOCK_PX, BLOCK_PX), bool: what is shown as road now, or was before."""
        spared = self.spared.get(block)
        if road.any():
            spared = self.spared[block] = road if spared is None else spared | road
        return road if spared is None else spared

    def _mask_outside(self, values: np.ndarray, window: tuple[int, int, int, int]) -> None:
        """Ignore what lies beyond the image."""
        values[max(0, self._grid.height - window[1]) :] = IGNORE
        values[:, max(0, self._grid.width - window[0]) :] = IGNORE

    def _store(self, block: Block, values: np.ndarray) -> None:
        for kept in (self.labels, self.road_px, self.labeled_px):
            kept.pop(block, None)
        labeled = int(np.count_nonzero(values != IGNORE))
        if not labeled:
            return
        is_uniform = (values == values[0, 0]).all()
        self.labels[block] = _UNIFORM[int(values[0, 0])] if is_uniform else values.copy()
        self.road_px[block], self.labeled_px[block] = int(np.count_nonzero(values == ROAD)), labeled


def _ground(features: list[Feature]) -> Ground:
    """Return the shapes of features by what they mean."""

    def of(layer: str, part: str) -> np.ndarray:
        return np.concatenate([_NONE, *(getattr(each, part) for each in features if each.change.layer == layer)])

    sure = [np.full(len(each.shapes), each.change.sure) for each in features if each.change.layer == ROADS]
    known = np.concatenate([of(ROADS, "known"), of(AOI, "known")])
    return Ground(of(ROADS, "shapes"), np.concatenate([np.zeros(0, dtype=bool), *sure]), known, of(NO_ROAD, "shapes"))


def _shapes_of(features: list[Feature], *layers: str) -> np.ndarray:
    return np.concatenate([_NONE, *(each.shapes for each in features if each.change.layer in layers)])


def is_chosen(block: Block) -> bool:
    """Whether a block is held out by its position."""
    row, column = block
    return zlib.crc32(f"{row},{column}".encode()) % HELD_OUT_ONE_IN == 0


def order_of(blocks: Iterable[Block]) -> list[Block]:
    """Return blocks in an order that looks random and is the same for the same blocks, whichever others there are."""
    return sorted(blocks, key=lambda block: (zlib.crc32(f"{block[1]}/{block[0]}".encode()), block))


def blocks_in(column: int, row: int, width: int, height: int) -> Iterator[Block]:
    """Yield the blocks that a window of pixels touches."""
    for down in range(row // BLOCK_PX, -(-(row + height) // BLOCK_PX)):
        for across in range(column // BLOCK_PX, -(-(column + width) // BLOCK_PX)):
            yield down, across


def paste(values: np.ndarray, found: np.ndarray, block: Block, column: int, row: int) -> None:
    """Copy the part of a block that lies in a window.

    Parameters
    ----------
    values : ndarray (height, width), any dtype
        Of the window; is changed.
    found : ndarray (BLOCK_PX, BLOCK_PX), same dtype
        Of the block.
    column, row : int
        The window's first pixel.
    """
    height, width = values.shape
    top, left = block[0] * BLOCK_PX - row, block[1] * BLOCK_PX - column
    rows, columns = (slice(max(0, at), min(at + BLOCK_PX, size)) for at, size in ((top, height), (left, width)))
    values[rows, columns] = found[rows.start - top : rows.stop - top, columns.start - left : columns.stop - left]
