"""Examples: images with drawn roads, from files to arrays.

Knows rasters, vector layers and how their labels are checked and split; knows nothing of networks.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Optional

import geopandas
import numpy as np
from rasterio.io import DatasetReader

from .errors import ImageryError, LabelError
from .events import Reporter
from .grid import Grid
from .imagery import Band, Image, choose_bands, match_bands, measure_bands, open_raster
from .jobs import LabelOptions
from .labels import IGNORE, ROAD, Labels, burn_labels, check_label_fields
from .vectors import read_area, read_layer, require_geometry

# With fewer pixels than this there is nothing to learn, and nothing to score.
FEWEST_LABELED_PX = 1000
_BAND_SAMPLE_PX = 1_000_000


@dataclass(frozen=True)
class Drawing:
    """The roads that a person drew, and where all of them are drawn."""

    roads: geopandas.GeoDataFrame
    aoi: Optional[geopandas.GeoDataFrame]
    options: LabelOptions

    def burn(self, grid: Grid) -> Optional[Labels]:
        """Return the labels on a grid, or None where there are none."""
        return burn_labels(grid, self.roads, self.aoi, self.options)


@dataclass(frozen=True)
class LabeledImage:
    """The labeled part of an image, in memory.

    Parameters
    ----------
    name : str
        The image's file.
    grid : Grid
        Of that part.
    values : ndarray (bands, height, width)
        As read.
    known : ndarray (height, width), bool
        False where the image has no data.
    training, validation : ndarray (height, width), uint8
        Labels to learn from, and labels kept apart; no pixel is labeled in both.
    bands : tuple of Band
        How to scale this image's values.
    """

    name: str
    grid: Grid
    values: np.ndarray
    known: np.ndarray
    training: np.ndarray
    validation: np.ndarray
    bands: tuple[Band, ...]


def read_drawing(roads: str, aoi: str, options: LabelOptions) -> Drawing:
    """Return the drawn roads of a vector layer, and the area of interest where one is given.

    Raises
    ------
    LabelError
        A layer cannot be used, or has no such field.
    """
    drawn = read_layer(roads, "drawn roads")
    require_geometry(drawn, ("lines", "polygons"), roads, "drawn roads")
    check_label_fields(drawn, options)
    return Drawing(drawn, read_area(aoi) if aoi else None, options)


def read_labeled_images(
    paths: tuple[str, ...],
    drawing: Drawing,
    resolution_m: float,
    bands: tuple[int, ...],
    known_bands: tuple[Band, ...],
    reporter: Reporter,
) -> list[LabeledImage]:
    """Read the labeled parts of images; all labels are for training yet.

    Parameters
    ----------
    paths : tuple of str
    drawing : Drawing
    resolution_m : float
        Ground size of a pixel in meters; 0 takes the first image's own.
    bands : tuple of int
        Numbers of the bands to read; none means those of `known_bands`, or all but alpha.
    known_bands : tuple of Band
        The bands of a base model, to be found again in each image; may be empty.
    reporter : Reporter

    Raises
    ------
    ImageryError, LabelError
        An image or the drawing cannot be used, or no road is drawn on any image.
    """
    images: list[LabeledImage] = []
    for path in paths:
        reporter.check_cancelled()
        with open_raster(path) as dataset:
            indexes = _bands_to_read(dataset, bands, known_bands, reporter)
            if images and len(indexes) != len(images[0].bands):
                raise ImageryError(
                    f"{path} has {len(indexes)} bands, but {images[0].name} has {len(images[0].bands)}.",
                    "Name the bands to learn from (bands), or choose images with the same ones.",
                )
            with Image(dataset, tuple(indexes), resolution_m) as image:
                resolution_m = resolution_m or image.grid.resolution_m
                labeled = _read_labeled(image, drawing, tuple(indexes.values()))
        if labeled is None:
            reporter.warning(f"No drawn road or area of interest touches {path}; it is left out.")
        else:
            images.append(labeled)
    if not images:
        raise nothing_labeled(paths)
    _check_labels(images)
    return images


def nothing_labeled(paths: tuple[str, ...]) -> LabelError:
    """Return the error that none of these images has both data and labels anywhere."""
    return LabelError(
        f"Neither a drawn road nor the area of interest touches {' or '.join(paths)}, where there are data.",
        "Check the coordinate systems of the layers.",
    )


def _bands_to_read(
    dataset: DatasetReader, bands: tuple[int, ...], known_bands: tuple[Band, ...], reporter: Reporter
) -> dict[int, str]:
    """Return the bands to learn from, by number: those wanted, or a base model's where the image has them, or all."""
    if bands or not known_bands:
        return choose_bands(dataset, bands)
    try:
        return dict(zip(match_bands(dataset, known_bands), (band.name for band in known_bands)))
    except ImageryError as error:
        reporter.warning(f"{error.message} It now learns from all bands of the image.")
        return choose_bands(dataset, ())


def _read_labeled(image: Image, drawing: Drawing, names: tuple[str, ...]) -> Optional[LabeledImage]:
    labels = drawing.burn(image.grid)
    if labels is None:
        return None
    height, width = labels.values.shape
    values, known = image.read(labels.column, labels.row, width, height)
    labels.values[~known] = IGNORE
    if not (labels.values != IGNORE).any():
        return None
    grid = image.grid.window(labels.column, labels.row, width, height)
    step = max(1, known.sum() // _BAND_SAMPLE_PX)
    bands = measure_bands(names, [values[:, known][:, ::step]])
    return LabeledImage(image.name, grid, values, known, labels.values, np.full_like(labels.values, IGNORE), bands)


def _check_labels(images: list[LabeledImage]) -> None:
    names = " or ".join(image.name for image in images)
    if not sum((image.training == ROAD).sum() for image in images):
        raise LabelError(
            f"No drawn road lies on {names}, within the area of interest.", "Draw some roads inside of it."
        )
    labeled = sum((image.training != IGNORE).sum() for image in images)
    if labeled < FEWEST_LABELED_PX:
        raise LabelError(
            f"Only {labeled} pixels of {names} are labeled; at least {FEWEST_LABELED_PX} are needed.",
            "Draw more roads, or use a finer image.",
        )


def with_common_scaling(images: list[LabeledImage]) -> list[LabeledImage]:
    """Return the images with the same scaling for all: the mean of their own, so that one model holds one scaling."""
    bands = tuple(
        Band(
            same[0].name,
            float(np.mean([band.mean for band in same])),
            float(np.sqrt(np.mean([band.std**2 for band in same]) + np.var([band.mean for band in same]))),
        )
        for same in zip(*(image.bands for image in images))
    )
    return [replace(image, bands=bands) for image in images]


def split_for_validation(images: list[LabeledImage], share: float, block_px: int, seed: int) -> list[LabeledImage]:
    """Return the images with some blocks of their labels moved from training to validation; see `split_by_blocks`.

    Raises
    ------
    LabelError
        The drawn roads are too few to be split.
    """
    split = []
    chosen = split_by_blocks([image.training for image in images], share, block_px, seed)
    for image, validates in zip(images, chosen):
        training = np.where(validates, IGNORE, image.training).astype(np.uint8)
        validation = np.where(validates, image.training, IGNORE).astype(np.uint8)
        split.append(replace(image, training=training, validation=validation))
    for of in ("training", "validation"):
        if not any((getattr(image, of) == ROAD).any() for image in split):
            raise LabelError(
                f"There is too little drawn road to keep some apart for validation: none is left for {of}.",
                "Draw roads in more places.",
            )
    return split


def split_by_blocks(labels: list[np.ndarray], share: float, block_px: int, seed: int) -> list[np.ndarray]:
    """Return where labels are kept apart for validation: whole square blocks, so that neighbors do not tell.

    Blocks with road and blocks without are drawn separately, so that both sides see both. Blocks are halved until
    enough of them have road for the share to be drawn fairly, or they are 32 px small.

    Parameters
    ----------
    labels : list of ndarray (height, width), uint8
        One an image.
    share : float
        Wanted share of the blocks.
    block_px : int
        Side of a block, as long as there are enough of that size.
    seed : int
        The same seed draws the same blocks.

    Returns
    -------
    list of ndarray (height, width), bool
    """
    while True:
        numbers = [_number_blocks(label.shape, block_px) for label in labels]
        has_road = [_any_in_block(block, label == ROAD) for block, label in zip(numbers, labels)]
        if sum(road.sum() for road in has_road) >= 2 / share or block_px <= 32:
            break
        block_px //= 2
    has_label = np.concatenate([_any_in_block(block, label != IGNORE) for block, label in zip(numbers, labels)])
    roads = np.concatenate(has_road)
    random = np.random.default_rng(seed)
    chosen = _choose(roads, share, random) | _choose(has_label & ~roads, share, random)
    ends = np.cumsum([len(road) for road in has_road])
    return [part[block] for part, block in zip(np.split(chosen, ends[:-1]), numbers)]


def _number_blocks(shape: tuple[int, ...], block_px: int) -> np.ndarray:
    rows, columns = (np.arange(size) // block_px for size in shape)
    return rows[:, None] * (columns[-1] + 1) + columns[None, :]


def _any_in_block(block: np.ndarray, where: np.ndarray) -> np.ndarray:
    return np.bincount(block[where], minlength=int(block[-1, -1]) + 1) > 0


def _choose(candidates: np.ndarray, share: float, random: np.random.Generator) -> np.ndarray:
    chosen = np.zeros(len(candidates), dtype=bool)
    indexes = np.flatnonzero(candidates)
    count = max(1, round(share * len(indexes))) if len(indexes) > 1 else 0
    chosen[random.choice(indexes, count, replace=False)] = True
    return chosen
