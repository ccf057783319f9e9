"""Label masks: rasters whose values say which pixels are road, matched to the images that they label.

Scope: files of masks, the meaning of their values, and their pixels on an image's grid. Independent of the image's
values and of the model.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Optional

import geopandas
import numpy as np
import shapely
from rasterio.enums import ColorInterp, Resampling
from rasterio.io import DatasetReader
from rasterio.vrt import WarpedVRT
from rasterio.warp import transform_geom
from rasterio.windows import Window

from ..errors import LabelError
from ..events import Reporter
from ..geodata.grid import GEOGRAPHIC, Grid, grid_of, is_georeferenced, shared_offset
from ..geodata.pixel_codes import BACKGROUND, IGNORE, ROAD
from ..geodata.rasterize import burn_shapes, shapes_on
from ..geodata.rasters import open_raster
from ..geodata.sources import source_name
from ..geodata.vectors import read_area
from ..jobs import MaskOptions
from ..jobs.file_systems import same_name
from ..system import large_arrays
from .coco import CocoImage, is_coco, read_coco
from .label_raster import Labels

# Values that masks have beside 0: which are road, and which are ignored.
_USUAL_VALUES: tuple[tuple[set[int], set[int]], ...] = (({255}, {127, 128}), ({1}, {255}))
# Number of masks, spread evenly over all, whose values tell what they mean; more where these are all 0.
_SAMPLED = 16
# Parts of a file name that tell a mask from its image.
_ROLE = re.compile(r"(?<![a-z])(masks?|labels?|gt|truth|annotations?|sat|images?|img|rgb)(?![a-z])")
_MAX_SHOWN = 8


@dataclass(frozen=True)
class MaskValues:
    """The values of masks that are road, ignored or background."""

    road: frozenset[int]
    ignored: frozenset[int]
    background: frozenset[int]

    def to_labels(self, values: np.ndarray, path: str) -> np.ndarray:
        """Return labels, uint8, of the same shape as a mask's values, (height, width), any number type.

        Raises
        ------
        LabelError
            The meaning of a value is not known.
        """
        present = np.unique(values)
        unknown = [value for value in present if value not in self.road | self.ignored | self.background]
        if unknown:
            raise _unknown_values(path, unknown)
        labels = np.full(values.shape, BACKGROUND, dtype=np.uint8)
        labels[np.isin(values, list(self.road))] = ROAD
        labels[np.isin(values, list(self.ignored))] = IGNORE
        return labels


@dataclass(frozen=True)
class LabelMasks:
    """The masks of each image, what their values mean, and the area of interest, outside of which they do not count.

    `pixel_m` is the pixel size of images without georeference. Masks in COCO files have names such as
    `annotations.json/tile_1.tif`, by which `drawn` has them.
    """

    of_image: dict[str, list[str]]
    values: MaskValues
    aoi: Optional[geopandas.GeoDataFrame] = None
    pixel_m: float = 0.0
    drawn: dict[str, CocoImage] = field(default_factory=dict)

    def burn(self, grid: Grid, image: str) -> Optional[Labels]:
        """Return the labels of an image on a grid, IGNORE where no mask is; None if nothing on it is labeled.

        Raises
        ------
        LabelError
            A mask has another size than its image, other values than those known, or bands that differ.
        """
        labels = large_arrays.allocate((grid.height, grid.width), np.uint8)
        labels[:] = IGNORE
        area = None if self.aoi is None else shapes_on(self.aoi, grid)
        for path in self.of_image.get(image, ()):
            with _open(path, self.drawn) as dataset, _on_grid(dataset, path, image, grid, self.pixel_m) as mask:
                for rows in large_arrays.strips(grid.height, grid.width):
                    window = Window(0, rows.start, grid.width, rows.stop - rows.start)
                    is_covered = mask.dataset_mask(window=window) > 0
                    if area is not None:
                        is_covered &= burn_shapes(area, grid, (0, rows.start, grid.width, rows.stop - rows.start))
                    values = _gray(mask.read(window=window, masked=False)[: _image_bands(mask)], path)
                    labels[rows][is_covered] = self.values.to_labels(values[is_covered], path)
        return _labeled_part(labels)

    def may_label(self, grid: Grid, image: str) -> bool:
        """Whether an image has a mask."""
        return image in self.of_image


def _labeled_part(labels: np.ndarray) -> Optional[Labels]:
    """Return the smallest rectangle with all that is labeled, or None where nothing is."""
    parts = large_arrays.strips(*labels.shape)
    rows = np.concatenate([(labels[part] != IGNORE).any(axis=1) for part in parts]).nonzero()[0]
    columns = np.any([(labels[part] != IGNORE).any(axis=0) for part in parts], axis=0).nonzero()[0]
    if not rows.size:
        return None
    return Labels(int(columns[0]), int(rows[0]), labels[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1])


def read_masks(options: MaskOptions, aoi: str, images: Sequence[str], reporter: Reporter) -> LabelMasks:
    """Match masks to the images that they label, by name or else by place, and find out what their values mean.

    Raises
    ------
    LabelError
        No mask belongs to an image, two do by their names, or the meaning of the values is not known.
    ImageryError
        A mask cannot be read.
    """
    drawn = {name: image for path in options.masks if is_coco(path) for name, image in read_coco(path).items()}
    masks = [*(path for path in options.masks if not is_coco(path)), *drawn]
    of_image = _by_name(masks, images) or _by_place([path for path in masks if path not in drawn], images)
    if not of_image:
        raise LabelError(
            f"None of the {len(masks)} label masks belongs to one of the {len(images)} images, such as "
            f"{source_name(masks[0])} to {source_name(images[0])}: neither their names nor their places agree.",
            "Give mask and image the same name, as in images/tile_1.tif and masks/tile_1.png, or georeference both.",
        )
    used = [path for paths in of_image.values() for path in paths]
    _warn_of_unmatched([path for path in images if path not in of_image], "Images without a label mask", reporter)
    _warn_of_unmatched(sorted({*masks} - {*used}), "Label masks of no image", reporter)
    values = mask_values(used, options, drawn)
    reporter.log(
        f"{len(used)} label masks of {len(of_image)} images; road is {_listed(sorted(values.road))}"
        + (f", ignored {_listed(sorted(values.ignored))}" if values.ignored else "")
        + "."
    )
    _warn_of_shift(of_image, drawn, reporter)
    return LabelMasks(of_image, values, read_area(aoi) if aoi else None, options.pixel_m, drawn)


@contextmanager
def _open(path: str, drawn: Mapping[str, CocoImage]) -> Iterator[DatasetReader]:
    with drawn[path].open() if path in drawn else open_raster(path) as dataset:
        yield dataset


def mask_values(paths: Sequence[str], options: MaskOptions, drawn: Mapping[str, CocoImage]) -> MaskValues:
    """Return what the values of masks mean: as given, or as those that occur in a sample of them tell.

    A declared nodata value is ignored, unless it is 0, which is often declared to see through the background.

    Raises
    ------
    LabelError
        They occur in none of the usual combinations, and `options.road_values` does not say which are road.
    """
    given, ignored = frozenset(options.road_values), frozenset(options.ignored_values)
    seen: frozenset[int] = frozenset()
    for number, path in enumerate(_spread(paths)):
        if number >= _SAMPLED and (given or seen - ignored - {0}):
            break
        with _open(path, drawn) as dataset:
            nodata = {int(value) for value in dataset.nodatavals if value and float(value).is_integer()}
            values = _values_of(dataset, path)
        seen, ignored = seen | values, ignored | nodata - given
        if not given and _usual(seen - ignored) is None:
            raise _unknown_values(path, sorted(values))
    if given:
        return MaskValues(given, ignored, frozenset(range(256)) | seen - given - ignored)
    of_road, of_ignored = _usual(seen - ignored) or (set(), set())
    return MaskValues(frozenset(of_road) - ignored, ignored | of_ignored, frozenset({0}) - ignored)


def _values_of(dataset: DatasetReader, path: str) -> set[int]:
    """Return the values of a mask.

    Raises
    ------
    LabelError
        They are far too many, or no whole numbers.
    """
    found: set[int] = set()
    for rows in large_arrays.strips(dataset.height, dataset.width):
        window = Window(0, rows.start, dataset.width, rows.stop - rows.start)
        values = np.unique(_gray(dataset.read(window=window)[: _image_bands(dataset)], path))
        if len(values) > 256 or (values != np.rint(values)).any():
            raise _unknown_values(path, values.tolist())
        found |= set(values.astype(int).tolist())
    return found


def _usual(values: frozenset[int]) -> Optional[tuple[set[int], set[int]]]:
    """Return which values are road and which are ignored beside some that occur; None if these are not usual."""
    if values <= {0}:
        return {1}, set()
    return next((each for each in _USUAL_VALUES if values <= {0}.union(*each)), None)


def _unknown_values(path: str, values: Sequence[float]) -> LabelError:
    return LabelError(
        f"The label mask {path} has values whose meaning is not known: {_listed(values)}.",
        "Say which values are road (road_values), and which are ignored (ignored_values). JPEG blurs the values of a "
        "mask: save it as PNG or GeoTIFF.",
    )


def _listed(values: Sequence[float]) -> str:
    more = " and others" if len(values) > _MAX_SHOWN else ""
    return ", ".join(f"{value:g}" for value in values[:_MAX_SHOWN]) + more


def _warn_of_unmatched(paths: Sequence[str], what: str, reporter: Reporter) -> None:
    if paths:
        names = ", ".join(source_name(path) for path in paths[:_MAX_SHOWN])
        more = " and others" if len(paths) > _MAX_SHOWN else ""
        reporter.warning(f"{what} are left out ({len(paths)}): {names}{more}.")


def _warn_of_shift(of_image: dict[str, list[str]], drawn: Mapping[str, CocoImage], reporter: Reporter) -> None:
    """Warn of a mask of its image's size and resolution that lies a few pixels beside it: one of the two is wrong."""
    for image in _spread(sorted(of_image))[:_SAMPLED]:
        for path in (each for each in of_image[image] if each not in drawn):
            with open_raster(path) as dataset, open_raster(image) as of:
                is_alike = is_georeferenced(dataset) and is_georeferenced(of) and dataset.shape == of.shape
                grids = (grid_of(of), grid_of(dataset)) if is_alike else ()
                offset = shared_offset(*grids) if grids and grids[0].crs == grids[1].crs else None
            if offset and offset != (0, 0):
                reporter.warning(
                    f"The label mask {path} has the size of its image {image}, but lies {offset[0]} columns and "
                    f"{offset[1]} rows beside it. If it should lie on it, correct the georeference of one of the two."
                )
                return


def _spread(paths: Sequence[str]) -> list[str]:
    """Return paths in an order in which the first `_SAMPLED` are spread evenly over all."""
    step = -(-len(paths) // _SAMPLED)
    return [path for start in range(step) for path in paths[start::step]]


def _by_name(masks: Sequence[str], images: Sequence[str]) -> dict[str, list[str]]:
    """Return the mask of each image with the same name, but for words such as `mask` or `sat` in it."""
    by_key: dict[str, str] = {}
    for path in masks:
        first = by_key.setdefault(_key(path), path)
        if first != path:
            raise LabelError(
                f"Two label masks have the same name: {first} and {path}.", "Keep one of them for each image."
            )
    return {path: [by_key[_key(path)]] for path in images if _key(path) in by_key}


def _key(path: str) -> str:
    return re.sub(r"[\W_]+", "_", _ROLE.sub("", same_name(Path(path).stem))).strip("_")


def _by_place(masks: Sequence[str], images: Sequence[str]) -> dict[str, list[str]]:
    """Return the masks that overlap each image on the map.

    Raises
    ------
    LabelError
        Two masks have the same place, so that it is not known which of them is right.
    """
    placed = {path: outline for path in masks if (outline := _outline(path)) is not None}
    first_there: dict[bytes, str] = {}
    for path, outline in placed.items():
        first = first_there.setdefault(outline.wkb, path)
        if first != path:
            raise LabelError(
                f"Two label masks have the same place: {first} and {path}.", "Keep one of them for each image."
            )
    there, tree = list(placed), shapely.STRtree(list(placed.values()))
    found = {}
    for path in images:
        outline = _outline(path)
        pairs = [] if outline is None else sorted(tree.query(outline, predicate="overlaps").tolist())
        pairs += [] if outline is None else sorted(tree.query(outline, predicate="contains").tolist())
        pairs += [] if outline is None else sorted(tree.query(outline, predicate="within").tolist())
        if pairs:
            found[path] = [there[number] for number in sorted(set(pairs))]
    return found


def _outline(path: str) -> Optional[shapely.Polygon]:
    """Return the border of a raster in degrees, or None if it has no place on the map."""
    with open_raster(path) as dataset:
        if not is_georeferenced(dataset):
            return None
        grid = grid_of(dataset)
    return shapely.geometry.shape(transform_geom(grid.crs, GEOGRAPHIC, shapely.geometry.mapping(grid.outline)))


@contextmanager
def _on_grid(dataset: DatasetReader, path: str, image: str, grid: Grid, pixel_m: float) -> Iterator[WarpedVRT]:
    """Open a mask on a grid by nearest neighbor; one without georeference has the pixels of its image.

    Raises
    ------
    LabelError
        It has none, and another size than its image.
    """
    with open_raster(image) as of:
        own, pixels = grid_of(of, pixel_m), (dataset.width, dataset.height)
        if is_georeferenced(dataset) and is_georeferenced(of):
            own = grid_of(dataset)
        elif pixels != (own.width, own.height):
            raise LabelError(
                f"The label mask {path} has {pixels[0]} x {pixels[1]} pixels, but its image {image} has {own.width} x "
                f"{own.height}.",
                "Give a mask with the pixels of its image, or georeference it.",
            )
        with WarpedVRT(
            dataset,
            src_crs=own.crs,
            src_transform=own.transform,
            src_nodata=None,  # often declared for the background, to see through it
            crs=grid.crs,
            transform=grid.transform,
            width=grid.width,
            height=grid.height,
            resampling=Resampling.nearest,
            add_alpha=True,
        ) as warped:
            yield warped


def _image_bands(dataset: DatasetReader) -> int:
    return sum(color != ColorInterp.alpha for color in dataset.colorinterp)


def _gray(bands: np.ndarray, path: str) -> np.ndarray:
    """Return the values, (height, width), of a mask of one band, or of several that are alike.

    Raises
    ------
    LabelError
        They differ.
    """
    if any((band != bands[0]).any() for band in bands[1:]):
        raise LabelError(
            f"The label mask {path} has {len(bands)} bands that differ: it is a colored picture.",
            "Give masks with one value for each class.",
        )
    return bands[0]
