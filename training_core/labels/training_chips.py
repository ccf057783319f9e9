"""Training chips: squares of one size that cover the labeled part of an image, and their files.

Scope: pixels, windows and GeoTIFFs. Independent of the formats' indexes and of the model.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

import numpy as np
import rasterio
from rasterio.enums import ColorInterp
from rasterio.errors import NotGeoreferencedWarning

from ..errors import OutputError
from ..geodata.geotiff import named_errors
from ..geodata.grid import NOWHERE, Grid
from ..geodata.pixel_codes import IGNORE, MASK_BAND
from ..geodata.rasters import Image
from ..geodata.sources import source_name
from .label_raster import Labels

_RGB = (ColorInterp.red, ColorInterp.green, ColorInterp.blue)
_MAX_STEM = 60


@dataclass(frozen=True)
class Chip:
    """A part of an image and its labels; the name, unique among all chips, is that of its files without the ending.

    The values, (bands, side, side), are of the image's type; `known`, (side, side), bool, is False without data. Labels
    are (side, side), uint8.
    """

    name: str
    image: str
    grid: Grid
    values: np.ndarray
    known: np.ndarray
    labels: np.ndarray

    @property
    def is_placed(self) -> bool:
        """Whether it lies on the map."""
        return bool(self.grid.crs != NOWHERE)


@dataclass(frozen=True)
class Bands:
    """What is the same for all chips of an image: names and colors of the bands, and the value of missing data."""

    names: tuple[str, ...]
    colors: tuple[ColorInterp, ...]
    nodata: Optional[float]


def cut_chips(
    image: Image, labels: Labels, side_px: int, step_px: int, min_labeled: float, first: int
) -> Iterator[Chip]:
    """Yield the chips of an image that have labels, numbered from `first` on.

    `min_labeled`, from 0 to 1, is the smallest fraction of a chip's pixels that must be labeled. The last ones of a row
    or column are moved back to the image's edge. An image smaller than a chip has none.
    """
    height, width = labels.values.shape
    stem = re.sub(r"[^\w-]+", "_", Path(source_name(image.name)).stem)[:_MAX_STEM]
    for row in _starts(labels.row, height, image.grid.height, side_px, step_px):
        for column in _starts(labels.column, width, image.grid.width, side_px, step_px):
            window = (column, row, side_px, side_px)
            values, known = image.read(*window)
            chip_labels = labels.within(window)
            chip_labels[~known] = IGNORE
            share = float((chip_labels != IGNORE).mean())
            if share and share >= min_labeled:
                yield Chip(f"{stem}_{first:06d}", image.name, image.grid.window(*window), values, known, chip_labels)
                first += 1


def _starts(begin: int, length: int, size: int, side_px: int, step_px: int) -> list[int]:
    """Return where chips begin along a side of an image that touch its labeled part."""
    last = size - side_px
    starts = sorted({*range(0, last, step_px), last}) if last >= 0 else []
    return [start for start in starts if begin - side_px < start < begin + length]


def write_chip(chip: Chip, bands: Bands, image: Path, mask: Optional[Path]) -> None:
    """Write a chip's image and, if there is a path for them, its labels as GeoTIFFs.

    Raises
    ------
    OutputError
        The disk is full.
    """
    place = {"crs": chip.grid.crs, "transform": chip.grid.transform} if chip.is_placed else {}
    colors = {"photometric": "rgb" if bands.colors[:3] == _RGB else "minisblack", "alpha": "no"}
    _write(image, chip.values, chip.known, bands, {**place, **colors, "nodata": bands.nodata})
    if mask:
        everywhere = np.ones_like(chip.known)
        _write(mask, chip.labels[None], everywhere, None, {**place, "nodata": IGNORE})


def _write(path: Path, values: np.ndarray, known: np.ndarray, bands: Optional[Bands], profile: dict[str, Any]) -> None:
    count, height, width = values.shape
    size = {"count": count, "height": height, "width": width, "dtype": values.dtype}
    with named_errors(path), rasterio.Env(GDAL_TIFF_INTERNAL_MASK=True), warnings.catch_warnings():
        warnings.simplefilter("ignore", NotGeoreferencedWarning)  # as some images are
        with rasterio.open(path, "w", driver="GTiff", compress="deflate", **size, **profile) as dataset:
            if bands:
                dataset.colorinterp = bands.colors
                dataset.descriptions = bands.names
            else:
                dataset.set_band_description(1, MASK_BAND)
            dataset.write(values)
            if profile["nodata"] is None and not known.all():
                dataset.write_mask(known)
        with rasterio.open(path) as dataset:  # GDAL reports no error when a full disk keeps it from closing a file
            if not np.array_equal(dataset.read(), values, equal_nan=True):
                raise OutputError.incomplete(path)
