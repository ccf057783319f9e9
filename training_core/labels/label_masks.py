"""Label masks: rasters whose values say which pixels are road, matched to the images that they label.

Scope: files of masks, which image each is of, and their pixels on an image's grid; for their values see
`geodata.road_raster`. Independent of the image's values and of the model.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Optional

import geopandas
import numpy as np
import shapely
from rasterio.enums import Resampling
from rasterio.io import DatasetReader
from rasterio.vrt import WarpedVRT
from rasterio.windows import Window
from shapely.geometry.base import BaseGeometry

from ..errors import LabelError
from ..events import Reporter
from ..geodata.antimeridian import cut_at_antimeridian
from ..geodata.grid import Grid, grid_of, is_georeferenced, shared_offset
from ..geodata.pixel_codes import IGNORE
from ..geodata.plain_rasters import alpha_band, shown_pixels
from ..geodata.rasters import open_mask, open_raster, warped
from ..geodata.road_raster import MaskValues, declared_no_data, mask_values_of, read_values
from ..geodata.shapes import burn_shapes, outline_in_degrees, shapes_on, turns_on
from ..geodata.sources import source_name
from ..geodata.vectors import read_area
from ..jobs import MaskOptions, MaskValueOptions
from ..jobs.file_systems import same_name
from ..system import large_arrays
from .coco import CocoImage, is_coco, read_coco
from .drawing import Labels

# Number of masks, spread evenly over all, whose values tell what they mean; more where these are all 0.
_SAMPLED = 16
# Parts of a file name that tell a mask from its image. Segment roads calls the masks of several images
# `<image>_roads.tif`, and numbers those of images of one name.
_ROLE = re.compile(r"(?<![a-z])(masks?|roads?|labels?|gt|truth|annotations?|sat|images?|img|rgb)(?![a-z])")
_NUMBER = re.compile(r"(?<=_roads)_\d+$")
# A mask that has this fraction of its ground in common with an image is its own, and not that of an overlapping tile.
_SAME_GROUND = 0.9
_MAX_SHOWN = 8
# Code of pixels for which two masks give different labels, until all masks are read.
_DISPUTED = 2


@dataclass(frozen=True)
class LabelMasks:
    """The masks of each image, what their values mean, and the area of interest, outside of which they do not count.

    `pixel_m` is the pixel size of images without georeference. Masks in COCO files have names such as
    `annotations.json/tile_1.tif`, by which `drawn` has them. `warn_of_dispute` is called with an image whose masks give
    a pixel different labels.
    """

    of_image: dict[str, list[str]]
    values: MaskValues
    warn_of_dispute: Callable[[str], None]
    aoi: Optional[geopandas.GeoDataFrame] = None
    pixel_m: float = 0.0
    drawn: dict[str, CocoImage] = field(default_factory=dict)

    def burn(self, grid: Grid, image: str) -> Optional[Labels]:
        """Return the labels of an image on a grid, IGNORE where no mask is; None if nothing on it is labeled.

        Pixels for which two masks give different labels are ignored. Raises LabelError if a mask has another size than
        its image. Raises ImageryError if a mask has other values than those known, or bands that differ.
        """
        labels = large_arrays.allocate((grid.height, grid.width), np.uint8)
        labels[:] = IGNORE
        area = None if self.aoi is None else shapes_on(self.aoi, grid)
        named = self.values.road if self.values.is_named else ()
        for path in self.of_image.get(image, ()):
            with _open(path, self.drawn, named) as dataset, _on_grid(dataset, path, image, grid, self.pixel_m) as masks:
                meant = replace(self.values, no_data=self.values.no_data | declared_no_data(dataset))
                for mask, rows in product(masks, large_arrays.strips(grid.height, grid.width)):
                    window = Window(0, rows.start, grid.width, rows.stop - rows.start)
                    is_covered = shown_pixels(mask, window)
                    if area is not None:
                        is_covered &= burn_shapes(area, grid, (0, rows.start, grid.width, rows.stop - rows.start))
                    _add(labels[rows], meant.codes(read_values(mask, window, path), is_covered, path))
        for rows in large_arrays.strips(grid.height, grid.width):
            is_disputed = labels[rows] == _DISPUTED
            if is_disputed.any():
                self.warn_of_dispute(image)
                labels[rows][is_disputed] = IGNORE
        return _labeled_part(labels)

    def may_label(self, grid: Grid, image: str) -> bool:
        """Whether an image has a mask."""
        return image in self.of_image


def _add(labels: np.ndarray, found: np.ndarray) -> None:
    """Add the labels of another mask to those of some, both (rows, width), uint8, with _DISPUTED where they differ."""
    is_new = labels == IGNORE
    is_other = (found != IGNORE) & ~is_new & (found != labels)
    labels[is_new] = found[is_new]
    labels[is_other] = _DISPUTED


def _labeled_part(labels: np.ndarray) -> Optional[Labels]:
    """Return the smallest rectangle with all that is labeled, or None where nothing is."""
    # Rows and columns with any label, strip by strip since labels may be larger than memory.
    parts = large_arrays.strips(*labels.shape)
    rows = np.concatenate([(labels[part] != IGNORE).any(axis=1) for part in parts]).nonzero()[0]
    columns = np.any([(labels[part] != IGNORE).any(axis=0) for part in parts], axis=0).nonzero()[0]
    if not rows.size:
        return None
    (top, bottom), (left, right) = rows[[0, -1]].tolist(), columns[[0, -1]].tolist()
    return Labels(left, top, labels[top : bottom + 1, left : right + 1])


def read_masks(options: MaskOptions, aoi: str, images: Sequence[str], reporter: Reporter) -> LabelMasks:
    """Match masks to the images that they label, by name or else by place, and find out what their values mean.

    Raises LabelError if no mask belongs to an image, two do by their names, or the meaning of the values is not known.
    Raises ImageryError if a mask cannot be read.
    """
    drawn = {name: image for path in options.masks if is_coco(path) for name, image in read_coco(path).items()}
    masks = [*(path for path in options.masks if not is_coco(path)), *drawn]
    of_image = _by_name(masks, images, drawn) or _by_place([path for path in masks if path not in drawn], images)
    if not of_image:
        raise LabelError(
            f"None of the {len(masks)} label masks belongs to one of the {len(images)} images "
            f"({source_name(masks[0])} and {source_name(images[0])}, for example): neither their names nor their "
            "places agree.",
            "Give mask and image the same name, as in images/tile_1.tif and masks/tile_1.png, or georeference both.",
        )
    used = [path for paths in of_image.values() for path in paths]
    _warn_of_unmatched([path for path in images if path not in of_image], "Images without a label mask", reporter)
    _warn_of_unmatched(sorted({*masks} - {*used}), "Label masks without an image", reporter)
    values = _shared_meaning(used, options, drawn, reporter)
    reporter.log(f"{len(used)} label masks of {len(of_image)} images; {values}.")
    _warn_of_shift(of_image, drawn, reporter)

    @functools.cache  # an image may be read in many parts
    def warn_of_dispute(image: str) -> None:
        names = ", ".join(source_name(path) for path in of_image[image][:_MAX_SHOWN])
        reporter.warning(
            f"The label masks on {image} ({names}) give some pixels different labels: these pixels are ignored. "
            "If one of the masks is the image's own, give it the image's name."
        )

    area = read_area(aoi) if aoi else None
    return LabelMasks(of_image, values, warn_of_dispute, area, options.pixel_m, drawn)


@contextmanager
def _open(path: str, drawn: Mapping[str, CocoImage], road_values: Collection[float]) -> Iterator[DatasetReader]:
    with drawn[path].open() if path in drawn else open_mask(path, road_values) as dataset:
        yield dataset


def _shared_meaning(
    paths: Sequence[str], options: MaskValueOptions, drawn: Mapping[str, CocoImage], reporter: Reporter
) -> MaskValues:
    """Return what the values of masks mean: as named, or as those that occur in a sample of them tell."""
    meaning = MaskValues()
    for number, path in enumerate(_spread(paths)):
        if number >= _SAMPLED and (options.road_values or meaning.seen - meaning.no_data - {0}):
            break
        with _open(path, drawn, options.road_values) as dataset:
            found = mask_values_of(dataset, path, options, reporter, meaning)
        if found is None:
            raise LabelError(
                f"The label mask {path} is a probability: it has a scale, or values that are not whole numbers.",
                "Give the mask that Segment roads writes, or make a mask of the probability with the Raster "
                "calculator.",
            )
        meaning = found
    return meaning


def _warn_of_unmatched(paths: Sequence[str], what: str, reporter: Reporter) -> None:
    if paths:
        names = ", ".join(source_name(path) for path in paths[:_MAX_SHOWN])
        more = " and others" if len(paths) > _MAX_SHOWN else ""
        reporter.warning(f"{what} are left out ({len(paths)}): {names}{more}.")


def _warn_of_shift(of_image: dict[str, list[str]], drawn: Mapping[str, CocoImage], reporter: Reporter) -> None:
    """Warn of a single mask of its image's size and resolution that lies a few pixels beside it: one is wrong."""
    single = {image: paths[0] for image, paths in of_image.items() if len(paths) == 1 and paths[0] not in drawn}
    for image in _spread(sorted(single))[:_SAMPLED]:
        with open_raster(single[image]) as dataset, open_raster(image) as of:
            is_alike = is_georeferenced(dataset) and is_georeferenced(of) and dataset.shape == of.shape
            grids = (grid_of(of), turns_on(grid_of(dataset), grid_of(of))[0]) if is_alike else ()
            offset = shared_offset(*grids) if grids and grids[0].crs == grids[1].crs else None
        if offset and offset != (0, 0):
            reporter.warning(
                f"The label mask {single[image]} has the size of its image {image}, but is shifted by {offset[0]} "
                f"columns and {offset[1]} rows. If both show the same ground, correct the georeference of one of them."
            )
            return


def _spread(paths: Sequence[str]) -> list[str]:
    """Return paths in an order in which the first `_SAMPLED` are spread evenly over all."""
    step = -(-len(paths) // _SAMPLED)
    return [path for start in range(step) for path in paths[start::step]]


def _by_name(masks: Sequence[str], images: Sequence[str], drawn: Collection[str]) -> dict[str, list[str]]:
    """Return the mask of each image with the same name, but for words such as `mask` or `sat` in it.

    If several have it, as where Segment roads has numbered those of images in several folders, it is that of the same
    ground. Raises LabelError if several masks have the name of an image, and not just one of them its ground.
    """
    named: dict[str, list[str]] = {}
    for path in masks:
        for key in _keys(path):
            named.setdefault(key, []).append(path)
    found = {path: named[key] for path in images if (key := _keys(path)[0]) in named}
    for path, own in found.items():
        if len(own) > 1:
            found[path] = _by_place([mask for mask in own if mask not in drawn], [path], is_same=True).get(path, [])
            if len(found[path]) != 1:
                raise _twice("name", *own[:2])
    return found


def _keys(path: str) -> list[str]:
    """Return what a file's name says of the image: as it is and, of a mask that may be numbered, without the number."""
    stem = same_name(Path(source_name(path)).stem)
    bare = [re.sub(r"[\W_]+", "_", _ROLE.sub("", each)).strip("_") for each in (stem, _NUMBER.sub("", stem))]
    return list(dict.fromkeys(bare))


def _by_place(masks: Sequence[str], images: Sequence[str], is_same: bool = False) -> dict[str, list[str]]:
    """Return the masks of each image by place: those of the same ground or, unless these are wanted, all that overlap.

    Raises LabelError if two masks have the same place, so that it is not known which of them is right.
    """
    of_mask, of_image = (
        {path: outline for path in paths if (outline := _outline(path)) is not None} for paths in (masks, images)
    )
    first_there: dict[bytes, str] = {}
    for path, outline in of_mask.items():
        first = first_there.setdefault(outline.wkb, path)
        if first != path and not is_same:
            raise _twice("place", first, path)
    there, grounds = (np.array(list(each.values()), dtype=object) for each in (of_mask, of_image))
    pairs = shapely.STRtree(there).query(grounds, predicate="intersects")
    image, mask = pairs[:, np.lexsort(pairs[::-1])]
    common_deg2 = shapely.area(shapely.intersection(grounds[image], there[mask]))
    is_own = common_deg2 > _SAME_GROUND * shapely.area(shapely.union(grounds[image], there[mask]))
    names, paths = list(of_mask), list(of_image)
    found: list[dict[str, list[str]]] = []
    for chosen in (common_deg2 > 0, is_own):
        found.append({})
        for at in np.flatnonzero(chosen):
            found[-1].setdefault(paths[image[at]], []).append(names[mask[at]])
    return found[1] if is_same else found[0] | found[1]


def _twice(what: str, first: str, second: str) -> LabelError:
    return LabelError(
        f"Two label masks have the same {what}: {first} and {second}.", "Keep one of them for each image."
    )


def _outline(path: str) -> Optional[BaseGeometry]:
    """Return the border of a raster in degrees, or None if it has no place on the map."""
    with open_raster(path) as dataset:
        if not is_georeferenced(dataset):
            return None
        grid = grid_of(dataset)
    outline: BaseGeometry = cut_at_antimeridian(np.array([outline_in_degrees(grid)]))[0]
    return outline


@contextmanager
def _on_grid(dataset: DatasetReader, path: str, image: str, grid: Grid, pixel_m: float) -> Iterator[list[WarpedVRT]]:
    """Open a mask on a grid by nearest neighbor; one without georeference has the pixels of its image.

    Across the antimeridian it may be opened for each side. Raises LabelError if it has none, and another size than its
    image.
    """
    with open_raster(image) as of:
        own, pixels = grid_of(of, pixel_m), (dataset.width, dataset.height)
        places = [own]
        if is_georeferenced(dataset) and is_georeferenced(of):
            places = turns_on(grid_of(dataset), grid)
        elif pixels != (own.width, own.height):
            raise LabelError(
                f"The label mask {path} has {pixels[0]} x {pixels[1]} pixels, but its image {image} has {own.width} x "
                f"{own.height}.",
                "Give a mask with the size of its image, or georeference it.",
            )
        # Nodata is often declared for the background, to see through it.
        options = {"src_nodata": None, "add_alpha": not alpha_band(dataset)}
        with ExitStack() as stack:
            yield [stack.enter_context(warped(dataset, place, grid, Resampling.nearest, **options)) for place in places]
