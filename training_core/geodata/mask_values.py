"""Mask values: which numbers of a raster are road, background or no data, in every job that reads a mask.

Scope: numbers and nodata of a file, and the conventions of other programs, which the guide has as a table. Independent
of what a mask is for.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Optional

import numpy as np
from rasterio.enums import ColorInterp, MaskFlags
from rasterio.io import DatasetReader
from rasterio.windows import Window

from ..errors import ImageryError, ResourceError
from ..events import Reporter
from ..jobs import MaskValueOptions
from ..system import large_arrays
from ..system.memory import available_bytes
from .pixel_codes import BACKGROUND, NO_DATA, ROAD
from .road_classes import CLASSES_TAG, MAX_CLASSES

# Values of masks besides 0, which is background: values that mean road, and values that mean no data.
_CONVENTIONS: tuple[tuple[set[float], set[float]], ...] = (({255}, {127, 128}), ({1}, {255}), ({65535}, set()))
# No mask has more different values.
_MAX_VALUES = 256
_MAX_SHOWN = 8


@dataclass(frozen=True)
class MaskValues:
    """The values of masks that are road or no data; 0 is background, and so is the rest if road was named."""

    road: frozenset[float]
    no_data: frozenset[float]
    is_named: bool = False

    def __str__(self) -> str:
        missing = f", no data {_listed(sorted(self.no_data))}" if self.no_data else ""
        return f"road is {_listed(sorted(self.road))}{missing}"

    def codes(self, values: np.ndarray, shown: np.ndarray, name: str) -> np.ndarray:
        """Return ROAD, BACKGROUND or NO_DATA, which is IGNORE of labels, for values of any number type: (...) uint8.

        NaN, infinity and what is not `shown`, (...) bool, are no data. `name` is the mask in messages. Raises
        ImageryError if the meaning of a value is not known.
        """
        codes = np.full(values.shape, BACKGROUND, dtype=np.uint8)
        for code, meant in ((NO_DATA, self.no_data), (ROAD, self.road)):
            for value in meant:  # few, so that `np.isin` would take many times as long
                codes[values == value] = code
        # Hidden pixels, NaN and infinity come last: they are no data whatever their value means.
        codes[~(shown & np.isfinite(values))] = NO_DATA
        if not self.is_named:
            is_unknown = (codes == BACKGROUND) & (values != 0)
            if is_unknown.any():
                raise unknown_values(name, np.unique(values[is_unknown]).tolist())
        return codes


def meaning_of(
    values: Collection[float], no_data: Collection[float], options: MaskValueOptions
) -> Optional[MaskValues]:
    """Return the meaning of values that occur in masks with some declared as no data: as named, or by convention.

    None if they are in none of the conventions.
    """
    road = frozenset(options.road_values)
    missing = (frozenset(no_data) | frozenset(options.ignored_values)) - road
    if road:
        return MaskValues(road, missing, is_named=True)
    usual = _conventions_of(frozenset(values) - missing)
    if not usual:
        return None
    # Masks that hold only background fit every convention. In RoadSeg's own, road is 1.
    of_road, of_missing = ({1.0}, set[float]()) if len(usual) == len(_CONVENTIONS) else usual[0]
    return MaskValues(frozenset(of_road) - missing, missing | of_missing)


def _conventions_of(values: frozenset[float]) -> list[tuple[set[float], set[float]]]:
    return [(road, missing) for road, missing in _CONVENTIONS if values <= {0, *road, *missing}]


def options_of(dataset: DatasetReader, options: MaskValueOptions) -> MaskValueOptions:
    """Return by which options to read a raster: as a person says, or that each class is road of one of classes."""
    if options.road_values or CLASSES_TAG not in dataset.tags():
        return options
    classes = tuple(range(1, MAX_CLASSES + 1))
    return MaskValueOptions(road_values=classes, ignored_values=(NO_DATA, *options.ignored_values))


def declared_no_data(dataset: DatasetReader) -> frozenset[float]:
    """Return the declared nodata value, unless it is 0, which is often declared to see through the background."""
    return frozenset(value for value in dataset.nodatavals if value and np.isfinite(value))


def values_of(dataset: DatasetReader, name: str, reporter: Reporter) -> Optional[frozenset[float]]:
    """Return the finite values of a mask where nothing hides them, or as many of them as tell what they mean.

    None if the raster is a probability: it has a scale, or numbers that are not whole. Raises ImageryError if it
    has bands that differ. Raises ResourceError if it is so large that not even a bit of each pixel fits into the
    memory: to read it whole would take days.
    """
    needed_bytes, free_bytes = dataset.height * dataset.width / 8, available_bytes()
    if needed_bytes > free_bytes:
        raise ResourceError(
            f"{name} has {dataset.height * dataset.width / 1e6:,.0f} megapixels, for which "
            f"{needed_bytes / 1e9:,.1f} GB of memory are needed; only {free_bytes / 1e9:,.1f} GB are available.",
            "Check its resolution, or give a part of it.",
        )
    if dataset.scales[0] != 1 or dataset.offsets[0] != 0:
        return None
    is_floating, missing = np.issubdtype(np.dtype(dataset.dtypes[0]), np.floating), declared_no_data(dataset)
    found: frozenset[float] = frozenset()
    for rows in large_arrays.strips(dataset.height, dataset.width):
        reporter.check_cancelled()
        window = Window(0, rows.start, dataset.width, rows.stop - rows.start)
        bands = dataset.read(_image_bands(dataset), window=window)
        values = np.unique(bands[0][np.isfinite(bands[0]) & is_shown(dataset, window)])
        if (values != np.rint(values)).any():
            return None
        _gray(bands, name)
        found |= frozenset(values[: _MAX_VALUES + 1].astype(float).tolist())
        # Any strip of a floating-point raster may have fractions.
        if len(found) > _MAX_VALUES or (not is_floating and len(_conventions_of(found - missing)) < 2):
            break
    return found


def mask_values_of(dataset: DatasetReader, options: MaskValueOptions, reporter: Reporter) -> Optional[MaskValues]:
    """Return what the values of a single mask mean; None if the raster is a probability, see `values_of`.

    Raises ImageryError if they are in none of the conventions, and nobody named those of road; or it has bands that
    differ. Raises ResourceError if it is too large.
    """
    options = options_of(dataset, options)
    found = frozenset[float]() if options.road_values else values_of(dataset, dataset.name, reporter)
    if found is None:
        return None
    values = meaning_of(found, declared_no_data(dataset), options)
    if values is None:
        raise unknown_values(dataset.name, sorted(found))
    return values


def read_values(dataset: DatasetReader, window: Window, name: str) -> np.ndarray:
    """Return the values of a window of a mask, (height, width), any number type.

    Raises ImageryError if it has bands that differ.
    """
    return _gray(dataset.read(_image_bands(dataset), window=window, masked=False), name)


def is_shown(dataset: DatasetReader, window: Window) -> np.ndarray:
    """Return where neither alpha nor a mask of the raster hides its pixels: (height, width), bool."""
    alpha = next((index for index, color in zip(dataset.indexes, dataset.colorinterp) if color == ColorInterp.alpha), 0)
    if alpha:  # GDAL treats this band as alpha only for a few types of numbers
        return dataset.read(alpha, window=window) > 0
    if {MaskFlags.all_valid, MaskFlags.nodata} & set(dataset.mask_flag_enums[0]):
        return np.ones((int(window.height), int(window.width)), dtype=bool)
    return dataset.read_masks(1, window=window) > 0


def _image_bands(dataset: DatasetReader) -> list[int]:
    return [index for index, color in zip(dataset.indexes, dataset.colorinterp) if color != ColorInterp.alpha] or [1]


def _gray(bands: np.ndarray, name: str) -> np.ndarray:
    """Return the values of bands that are alike, (bands, height, width), any number type: (height, width).

    Raises ImageryError if they differ.
    """
    if not all(np.array_equal(band, bands[0], equal_nan=True) for band in bands[1:]):
        raise ImageryError(
            f"The mask {name} has {len(bands)} bands that differ: it is a colored picture.",
            "Give a mask of one band, with one value for each class.",
        )
    return bands[0]


def unknown_values(name: str, values: Collection[float]) -> ImageryError:
    """Return the error that the meaning of some values of a mask is not known."""
    return ImageryError(
        f"The mask {name} has values whose meaning is not known: {_listed(list(values))}.",
        "Say which values are road (road_values), and which are ignored (ignored_values). JPEG blurs the values of a "
        "mask: save it as PNG or GeoTIFF.",
    )


def _listed(values: list[float]) -> str:
    """Return values as a text, the first few of many."""
    more = " and others" if len(values) > _MAX_SHOWN else ""
    return ", ".join(f"{value:.10g}" for value in values[:_MAX_SHOWN]) + more
