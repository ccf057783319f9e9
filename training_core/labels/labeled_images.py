"""Labeled images: rasters and their labels, read from files into arrays.

Scope: rasters, and what they are labeled by. Independent of the model.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Optional, Union

import numpy as np
from rasterio.io import DatasetReader

from ..errors import ImageryError, LabelError
from ..events import Reporter
from ..geodata.grid import Grid, grid_at, grid_of
from ..geodata.pixel_codes import IGNORE, ROAD
from ..geodata.rasters import (
    Band,
    Image,
    ModelInput,
    choose_bands,
    match_bands,
    measure_bands,
    normalize,
    open_image,
    read_grid,
    require_computable,
    require_normal,
)
from ..geodata.sources import source_name
from ..jobs import MaskOptions
from ..system import large_arrays
from .drawing import Drawing, Labels, read_drawing
from .label_masks import LabelMasks, read_masks

# Fewer labeled pixels than this are refused.
MIN_LABELED_PX = 1000
# An image is not upsampled by more than this, each way, for its base model: it would show no more than before.
MAX_ENLARGEMENT = 4.0
_BAND_SAMPLE_PX = 1_000_000
# Progress of a job when its images are read.
READ_FRACTION = 0.01
_MAX_NAMED = 8
# A sample of parts is large enough if so many of them have road.
ENOUGH_WITH_ROAD = 8
# The source of the labels of images.
Truth = Union[Drawing, LabelMasks]


def read_truth(
    job: MaskOptions, aoi: str, images: Sequence[str], reporter: Reporter, class_field: str = "", speed_field: str = ""
) -> Truth:
    """Read the drawn roads of a job, or the label masks that it has in place of them.

    Raises LayerError or LabelError if a layer, or a mask, cannot be used.
    """
    if job.masks:
        return read_masks(job, aoi, images, reporter)
    return read_drawing(job.roads, aoi, job, reporter, class_field, speed_field, map(read_grid, images))


@dataclass(frozen=True)
class LabeledImage:
    """The labeled part of an image file, read once; large arrays are memory-mapped files, see `large_arrays`.

    The values, (bands, height, width), any number type, are as read. `known`, (height, width), bool, is False where the
    image has no data. Labels to train on and held-out ones are (height, width), uint8; no pixel is labeled in both.
    `classes`, (height, width), uint8, are numbers of road classes, from 1; 0 if not known. Labels are split by blocks
    with a side of `block_px`, a multiple of the model's stride.
    """

    name: str
    grid: Grid
    values: np.ndarray
    known: np.ndarray
    training: np.ndarray
    validation: np.ndarray
    bands: tuple[Band, ...]
    classes: Optional[np.ndarray] = None
    block_px: int = 256


@dataclass(frozen=True)
class ImagePart:
    """A part of an image file, or all of it, of which the header alone has been read.

    `bands` are the names of those to read, by their number. `grid` is that of the part, which begins at `column` and
    `row` of the image at a ground resolution of `resolution_m`; 0 is the image's own.
    """

    path: str
    bands: dict[int, str]
    resolution_m: float
    grid: Grid
    column: int = 0
    row: int = 0

    @property
    def px(self) -> int:
        """The number of its pixels."""
        return self.grid.width * self.grid.height

    def split(self, side_px: int) -> list["ImagePart"]:
        """Return it in parts of at most `side_px` each way."""
        width, height = self.grid.width, self.grid.height
        return [
            replace(
                self,
                grid=self.grid.window(column, row, min(side_px, width - column), min(side_px, height - row)),
                column=self.column + column,
                row=self.row + row,
            )
            for row in range(0, height, side_px)
            for column in range(0, width, side_px)
        ]


def find_images(
    paths: Sequence[str],
    truth: Truth,
    resolution_m: float,
    bands: tuple[int, ...],
    base: Optional[ModelInput],
    reporter: Reporter,
) -> list[ImagePart]:
    """Return the images that may be labeled, at least one, from their headers.

    Those without labels are left out with a warning. The ground size of a pixel is `resolution_m`; 0 takes that of the
    base model, unless it enlarges the first image too much, or the first image's own. `bands` are numbers of bands to
    read; if empty, those of the base model, or all but alpha. Raises ImageryError or LabelError if an image cannot be
    used, or none may be labeled.
    """
    found: list[ImagePart] = []
    left_out: list[str] = []
    for number, path in enumerate(paths):
        reporter.step(0.0, f"Opening image {number + 1} of {len(paths)}")
        with open_image(path) as dataset:
            indexes, own = _bands_to_read(dataset, bands, base, reporter), grid_of(dataset, truth.pixel_m)
        if not number and base and not resolution_m:
            if own.resolution_m <= MAX_ENLARGEMENT * base.resolution_m:
                resolution_m = base.resolution_m
            else:
                reporter.warning(
                    f"The ground resolution of {path} is {own.resolution_m:.3g} m, but the base model's is "
                    f"{base.resolution_m:.3g} m. The model is trained at the image's own resolution."
                )
        part = ImagePart(path, indexes, resolution_m, grid_at(own, resolution_m))
        if found and len(indexes) != len(found[0].bands):
            raise ImageryError(
                f"{path} has {len(indexes)} bands, but {found[0].path} has {len(found[0].bands)}.",
                "Choose the bands to train on (bands), or images with the same ones.",
            )
        resolution_m = resolution_m or part.grid.resolution_m
        if truth.may_label(part.grid, path):
            found.append(part)
        else:
            left_out.append(path)
    if not found:
        raise nothing_labeled(paths)
    if left_out:
        reporter.warning(without_labels(*left_out))
    return found


def _bands_to_read(
    dataset: DatasetReader, bands: tuple[int, ...], base: Optional[ModelInput], reporter: Reporter
) -> dict[int, str]:
    """Return the bands to train on by number: those chosen, or the base model's if the image has them, or all."""
    chosen = choose_bands(dataset, bands)
    if bands or not base:
        return chosen
    try:
        return dict(zip(match_bands(dataset, base.bands), (band.name for band in base.bands)))
    except ImageryError as error:
        reporter.warning(f"{error.message} All bands of the image are used instead.")
        return chosen


def read_labeled_images(
    parts: Sequence[ImagePart], truth: Truth, reporter: Reporter, sample_px: float = math.inf
) -> tuple[list[LabeledImage], int]:
    """Read images or parts of them; return those that are labeled, at least one, and how many were read.

    All labels are training labels, until they are split. Reading ends after `sample_px` labeled pixels, if
    `ENOUGH_WITH_ROAD` parts have road. If all are read, a warning names the images without labels. Raises ImageryError
    or LabelError if an image or the drawing cannot be used, or no road is drawn on any image.
    """
    images: list[LabeledImage] = []
    without: list[str] = []
    count = read_px = with_road = 0
    while count < len(parts) and (read_px < sample_px or with_road < ENOUGH_WITH_ROAD):
        done = min(1.0, max(read_px / sample_px, count / len(parts)))
        reporter.progress(READ_FRACTION * done, f"Reading images: {done:.0%}")
        image = read_labeled_image(parts[count], truth, reporter)
        if image is None:
            without.append(parts[count].path)
        else:
            images.append(image)
            read_px += image.known.size
            with_road += bool(count_labels(image.training)[1])
        count += 1
    if not images:
        raise nothing_labeled(list(dict.fromkeys(without)))
    if without and sample_px == math.inf:
        reporter.warning(without_labels(*without))
    _require_labels(images, truth)
    return images, count


def without_labels(*paths: str) -> str:
    """Return the warning that images are left out."""
    left_out = "it is left out" if len(paths) == 1 else f"these {len(paths)} images are left out"
    return f"No drawn road, label mask or area of interest touches {_some(paths)}; {left_out}."


def _some(paths: Sequence[str]) -> str:
    """Return paths as a text, the first few of many."""
    return " or ".join(paths[:_MAX_NAMED]) + (" or others" if len(paths) > _MAX_NAMED else "")


def nothing_labeled(paths: Sequence[str]) -> LabelError:
    """Return the error that none of the images has both data and labels anywhere."""
    return LabelError(
        f"Neither drawn roads or label masks nor the area of interest touch {_some(paths)} where there is data.",
        "Check the coordinate systems of the layers.",
    )


def read_labeled_image(part: ImagePart, truth: Truth, reporter: Reporter) -> Optional[LabeledImage]:
    """Read the labeled rectangle of a part of an image; None if nothing with data is labeled.

    Raises ImageryError or LabelError if the image or its labels cannot be used.
    """
    labels = truth.burn(part.grid, part.path)
    if labels is None:
        return None
    with open_image(part.path) as dataset:
        with Image(dataset, tuple(part.bands), part.resolution_m, truth.pixel_m) as image:
            return _read(image, part, labels, reporter)


def _read(image: Image, part: ImagePart, labels: Labels, reporter: Reporter) -> Optional[LabeledImage]:
    training = labels.values
    height, width = training.shape
    values = np.empty(0)
    known = large_arrays.allocate((height, width), bool)
    step = max(1, training.size // _BAND_SAMPLE_PX)
    samples, extremes = [], []
    for rows in large_arrays.strips(height, width, multiple=256):
        reporter.check_cancelled()
        top = part.row + labels.row + rows.start
        strip, known[rows] = image.read(part.column + labels.column, top, width, rows.stop - rows.start)
        if not rows.start:
            values = large_arrays.allocate((len(strip), height, width), strip.dtype)
        values[:, rows] = strip
        # Pixels without data have no label; every step-th of the others is a sample of the bands.
        training[rows][~known[rows]] = IGNORE
        usable = strip[:, known[rows]]
        samples.append(usable[:, ::step])
        extremes += [usable.min(axis=1), usable.max(axis=1)] if usable.size else []
    validation = large_arrays.allocate((height, width), np.uint8)
    validation[:] = IGNORE
    if not any((training[rows] != IGNORE).any() for rows in large_arrays.strips(height, width)):
        return None
    grid = part.grid.window(labels.column, labels.row, width, height)
    bands = measure_bands(tuple(part.bands.values()), samples)
    require_computable(bands, image.name)
    # The extremes of each band stand for all pixels: if they can be normalized, so can the others.
    ends = np.stack(extremes, axis=1)[:, None]
    require_normal(normalize(ends, np.ones(ends.shape[1:], bool), bands), ends.dtype, bands, image.name)
    return LabeledImage(image.name, grid, values, known, training, validation, bands, labels.classes)


def count_labels(labels: np.ndarray) -> tuple[int, int]:
    """Return (labeled, road): numbers of pixels in labels (height, width), uint8."""
    parts = [labels[rows] for rows in large_arrays.strips(*labels.shape)]
    return sum(int((part != IGNORE).sum()) for part in parts), sum(int((part == ROAD).sum()) for part in parts)


def _require_labels(images: list[LabeledImage], truth: Truth) -> None:
    names = _some(list(dict.fromkeys(image.name for image in images)))
    labeled, road = map(sum, zip(*(count_labels(image.training) for image in images)))
    if not road and isinstance(truth, LabelMasks):
        raise LabelError(
            f"The label masks show no road on {names}.", "Check which of their values are road (road_values)."
        )
    if not road:
        within = "" if truth.aoi is None else ", within the area of interest"
        raise LabelError(
            f"No drawn road lies on {names}{within}.",
            "Draw some roads there, or check the coordinate systems of the layers. Roads marked unsure do not count.",
        )
    if labeled < MIN_LABELED_PX:
        raise LabelError(
            f"Only {labeled} pixels of {names} are labeled; at least {MIN_LABELED_PX} are needed.",
            "Draw more roads, or use a finer image.",
        )


def with_common_scaling(images: list[LabeledImage]) -> list[LabeledImage]:
    """Return the images with one normalization for all: the pooled mean and deviation of each band, images alike."""
    bands = tuple(
        Band(
            same[0].name,
            float(np.mean([band.mean for band in same])),
            float(np.sqrt(np.mean([band.std**2 for band in same]) + np.var([band.mean for band in same]))),
        )
        for same in zip(*(image.bands for image in images))
    )
    return [replace(image, bands=bands) for image in images]


def window_reader(image: LabeledImage) -> Callable[..., tuple[np.ndarray, np.ndarray]]:
    """Return a function that reads windows like `Image.read`: values (bands, height, width), any dtype; known, bool."""

    def read(column: int, row: int, width: int, height: int) -> tuple[np.ndarray, np.ndarray]:
        rows, columns = slice(row, row + height), slice(column, column + width)
        return image.values[:, rows, columns], image.known[rows, columns]

    return read


@dataclass(frozen=True)
class ImageSummary:
    """An image that was trained or scored on, in pixels of the ground resolution that was worked at.

    The labeled fraction of pixels is road or background, and `road_share` is a fraction of these. Without training, the
    labeled pixels for it and the held-out ones for validation are 0.
    """

    name: str
    width: int
    height: int
    resolution_m: float
    labeled_share: float
    road_share: float
    training_px: int = 0
    validation_px: int = 0
    training_road_share: float = 0.0
    validation_road_share: float = 0.0


def summary_of(image: LabeledImage) -> ImageSummary:
    """Return the summary of an image that is split into training and validation."""
    # A pixel is labeled in at most one of both, and IGNORE is the largest code.
    labels = np.minimum(image.training, image.validation)
    height, width = labels.shape
    return ImageSummary(
        name=source_name(image.name),
        width=width,
        height=height,
        resolution_m=image.grid.resolution_m,
        labeled_share=float((labels != IGNORE).mean()),
        road_share=road_share(labels),
        training_px=int((image.training != IGNORE).sum()),
        validation_px=int((image.validation != IGNORE).sum()),
        training_road_share=road_share(image.training),
        validation_road_share=road_share(image.validation),
    )


def road_share(labels: np.ndarray) -> float:
    """Return the fraction of labeled pixels that are road; labels are (height, width), uint8, 255 where ignored."""
    return float((labels == ROAD).sum() / max(1, (labels != IGNORE).sum()))
