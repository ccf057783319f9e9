"""Road rasters: a mask or a probability, in memory or in a file, read by strips of rows, and what a mask's values mean.

Scope: reading, numbers and nodata of a file, and the conventions of other programs, which the guide has as a table.
Independent of lines and maps, and of what a mask is for. Nothing as large as the image is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from typing import Optional

import numpy as np
from rasterio.enums import ColorInterp, Resampling
from rasterio.io import DatasetReader
from rasterio.windows import Window

from ..errors import ImageryError, ResourceError
from ..events import Reporter
from ..jobs import MaskValueOptions
from ..system import large_arrays
from ..system.memory import available_bytes
from .pixel_codes import BACKGROUND, CERTAIN, NO_DATA, ROAD, reaches
from .plain_rasters import shown_pixels, valid_pixels
from .road_classes import CLASSES_TAG, MAX_CLASSES

_STRIP_PX = 1 << 22
# Strips begin at multiples of this, because masks of a bit per pixel are written by 8 rows.
STRIP_MULTIPLE = 8
# Names no values, so that they mean what they mean by convention.
_BY_CONVENTION = MaskValueOptions()
# Values of masks besides 0, which is background: values that mean road, and values that mean no data.
_CONVENTIONS: tuple[tuple[set[float], set[float]], ...] = (({255}, {127, 128}), ({1}, {255}), ({65535}, set()))
# No mask has more different values.
_MAX_VALUES = 256
_MAX_SHOWN = 8


@dataclass(frozen=True)
class MaskValues:
    """The values of masks that are road or no data; 0 is background, and so is the rest if road was named.

    `seen` are those that occur in the masks, and `declared` those that are declared as nodata.
    """

    road: frozenset[float] = frozenset()
    no_data: frozenset[float] = frozenset()
    is_named: bool = False
    seen: frozenset[float] = frozenset()
    declared: frozenset[float] = frozenset()

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


def mask_values_of(
    dataset: DatasetReader, name: str, options: MaskValueOptions, reporter: Reporter, others: MaskValues = MaskValues()
) -> Optional[MaskValues]:
    """Return what the values of a mask and of others that were read before mean; None if it is a probability.

    They mean what the options name or, in a raster of road classes, that each class is road, or else what they mean in
    the first convention that has them all. Raises ImageryError if they are in no convention, or the raster has bands
    that differ. Raises ResourceError if it is too large, see `values_of`.
    """
    road, ignored = options.road_values, options.ignored_values
    if not road and CLASSES_TAG in dataset.tags():
        road, ignored = tuple(range(1, MAX_CLASSES + 1)), (NO_DATA, *ignored)
    found = frozenset[float]() if road else values_of(dataset, name, reporter)
    if found is None:
        return None
    seen, declared = others.seen | found, others.declared | declared_no_data(dataset)
    missing = (declared | frozenset(ignored)) - frozenset(road)
    if road:
        return MaskValues(frozenset(road), missing, True, seen, declared)
    usual = _conventions_of(seen - missing)
    if not usual:
        raise unknown_values(name, sorted(found))
    # Masks that hold only background fit every convention. RoadSeg's own has road as 1.
    of_road, of_missing = ({1.0}, set[float]()) if len(usual) == len(_CONVENTIONS) else usual[0]
    return MaskValues(frozenset(of_road) - missing, missing | of_missing, False, seen, declared)


def _conventions_of(values: frozenset[float]) -> list[tuple[set[float], set[float]]]:
    return [(road, missing) for road, missing in _CONVENTIONS if values <= {0, *road, *missing}]


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
            f"{name} has {dataset.height * dataset.width / 1e6:,.0f} megapixels, which need {needed_bytes / 1e9:,.1f} "
            f"GB of memory, but only {free_bytes / 1e9:,.1f} GB are available.",
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
        values = np.unique(bands[0][np.isfinite(bands[0]) & shown_pixels(dataset, window)])
        if (values != np.rint(values)).any():
            return None
        _gray(bands, name)
        found |= frozenset(values[: _MAX_VALUES + 1].astype(float).tolist())
        # Any strip of a floating-point raster may have fractions.
        if len(found) > _MAX_VALUES or (not is_floating and len(_conventions_of(found - missing)) < 2):
            break
    return found


def read_values(dataset: DatasetReader, window: Window, name: str) -> np.ndarray:
    """Return the values of a window of a mask, (height, width), any number type.

    Raises ImageryError if it has bands that differ.
    """
    return _gray(dataset.read(_image_bands(dataset), window=window, masked=False), name)


def _image_bands(dataset: DatasetReader) -> list[int]:
    return [index for index, color in zip(dataset.indexes, dataset.colorinterp) if color != ColorInterp.alpha] or [1]


def _gray(bands: np.ndarray, name: str) -> np.ndarray:
    """Return the values of bands that are alike, (bands, height, width), any number type: (height, width).

    Raises ImageryError if they differ.
    """
    if not all(np.array_equal(band, bands[0], equal_nan=True) for band in bands[1:]):
        raise ImageryError(
            f"The mask {name} has {len(bands)} bands that differ, so it is a color picture.",
            "Give a mask of one band, with one value for each class.",
        )
    return bands[0]


def unknown_values(name: str, values: Collection[float]) -> ImageryError:
    """Return the error that the meaning of some values of a mask is not known."""
    return ImageryError(
        f"The mask {name} has values of unknown meaning: {_listed(list(values))}.",
        "State which values are road (road_values) and which are ignored (ignored_values). JPEG blurs the values of a "
        "mask: save it as PNG or GeoTIFF.",
    )


def _listed(values: list[float]) -> str:
    """Return values as a text, the first few of many."""
    more = " and others" if len(values) > _MAX_SHOWN else ""
    return ", ".join(f"{value:.10g}" for value in values[:_MAX_SHOWN]) + more


@dataclass(frozen=True)
class RoadRaster:
    """A mask or probability of road, read by `strip_rows`, a multiple of 8; 0 for about four million pixels at a time.

    `read` leads from a first row and a number of rows to road, bool, or its probability from 0 to 1, float32, and to
    which pixels have data, bool: (rows, width) each.
    """

    height: int
    width: int
    read: Callable[[int, int], tuple[np.ndarray, np.ndarray]]
    threshold: Optional[float] = None  # probability from which a pixel is road; None for a mask
    strip_rows: int = 0
    mask_values: Optional[MaskValues] = None  # of a mask in a file

    def strips(self) -> Iterator[tuple[int, int]]:
        """Yield the first row and number of rows of each strip; first rows are multiples of 8."""
        return strips_of(self.height, self.width, self.strip_rows)

    def road(self, values: np.ndarray, known: np.ndarray, fraction: float = 1.0) -> np.ndarray:
        """Return which pixels are road, from what `read` returns, bool or float32, and bool: (rows, width) bool.

        `fraction` (0 to 1) is that of the threshold for the lower one of hysteresis. It means nothing for a mask.
        """
        return known & (values if self.threshold is None else reaches(values, self.threshold * fraction))

    def extremes(self) -> tuple[float, float]:
        """Return the lowest and the highest probability, or NaN without data."""
        lowest = highest = np.float32(np.nan)
        for strip in self.strips():
            values, known = self.read(*strip)
            if known.any():
                lowest, highest = np.fmin(lowest, values[known].min()), np.fmax(highest, values[known].max())
        return float(lowest), float(highest)

    def probability_at(self, points: np.ndarray) -> np.ndarray:
        """Return the probability at the pixels nearest to points, (n, 2) columns and rows: (n,) float64.

        NaN where there are no data, and everywhere in a mask.
        """
        if self.threshold is None:
            return np.full(len(points), np.nan)

        def read(first_row: int, count: int) -> np.ndarray:
            values, known = self.read(first_row, count)
            return np.where(known, values, np.float32(np.nan))

        return pixels_at(points, self.height, self.width, read, self.strip_rows).astype(np.float64)


def strips_of(height: int, width: int, strip_rows: int = 0) -> Iterator[tuple[int, int]]:
    """Yield the first row and number of rows of the strips of an image; for `strip_rows` see `RoadRaster`."""
    rows = strip_rows or max(1, _STRIP_PX // width // STRIP_MULTIPLE) * STRIP_MULTIPLE
    for first_row in range(0, height, rows):
        yield first_row, min(rows, height - first_row)


def pixels_at(
    points: np.ndarray, height: int, width: int, read: Callable[[int, int], np.ndarray], strip_rows: int = 0
) -> np.ndarray:
    """Return the values of the pixels nearest to points, also beyond the border: (n,), same dtype as `read` returns.

    Points are column and row, (n, 2) float64; pixel centers are whole numbers. `read` leads from a first row and a
    number of rows to values, (rows, width). Only strips with points are read.
    """
    columns, rows = np.clip(np.rint(points).astype(np.int64), 0, (width - 1, height - 1)).T
    # The points of a strip are a run in the order of their rows, and each strip is read once.
    order = np.argsort(rows, kind="stable")
    parts = []
    for first_row, count in strips_of(height, width, strip_rows):
        first, last = np.searchsorted(rows, [first_row, first_row + count], sorter=order)
        if first < last:
            chosen = order[first:last]
            parts.append(read(first_row, count)[rows[chosen] - first_row, columns[chosen]])
    values = np.concatenate(parts) if parts else np.zeros(0)
    return values[np.argsort(order)]


def array_raster(
    road: np.ndarray, known: np.ndarray, threshold: Optional[float] = None, strip_rows: int = 0
) -> RoadRaster:
    """Wrap a (height, width) bool mask or float32 probability in memory as a road raster.

    The (height, width) bool `known` is where there are data.
    """

    def read(first_row: int, count: int) -> tuple[np.ndarray, np.ndarray]:
        rows = slice(first_row, first_row + count)
        return road[rows], known[rows]

    return RoadRaster(road.shape[0], road.shape[1], read, threshold, strip_rows)


def byte_raster(probability: np.ndarray, threshold: float) -> RoadRaster:
    """Wrap probability bytes in memory, (height, width) uint8, as a road raster; road is from `threshold`, 0 to 1."""

    def read(first_row: int, count: int) -> tuple[np.ndarray, np.ndarray]:
        values = probability[first_row : first_row + count]
        return values / np.float32(CERTAIN), values != NO_DATA

    return RoadRaster(probability.shape[0], probability.shape[1], read, threshold)


def band_raster(
    dataset: DatasetReader, threshold: float, reporter: Reporter, options: MaskValueOptions = _BY_CONVENTION
) -> RoadRaster:
    """Open a raster as a road raster: a mask, or its first band as a probability; see `values_of`.

    The road of a probability begins at `threshold`. In a mask that has only road and no data, these are background.
    Raises ImageryError if there are no data, or numbers that are not probabilities or mean nothing in a mask, also when
    it is read. Raises ResourceError if it is too large, see `values_of`.
    """
    values = mask_values_of(dataset, dataset.name, options, reporter)
    if values is not None:
        return _with_background(_mask_raster(dataset, values), dataset.name)

    def read(first_row: int, count: int) -> tuple[np.ndarray, np.ndarray]:
        return read_probability(dataset, Window(0, first_row, dataset.width, count))

    raster = RoadRaster(dataset.height, dataset.width, read, threshold)
    if not any(raster.read(*strip)[1].any() for strip in raster.strips()):
        raise _empty(dataset.name)
    return raster


def _mask_raster(dataset: DatasetReader, values: MaskValues) -> RoadRaster:
    def read(first_row: int, count: int) -> tuple[np.ndarray, np.ndarray]:
        window = Window(0, first_row, dataset.width, count)
        codes = values.codes(read_values(dataset, window, dataset.name), shown_pixels(dataset, window), dataset.name)
        return codes == ROAD, codes != NO_DATA

    return RoadRaster(dataset.height, dataset.width, read, mask_values=values)


def read_probability(dataset: DatasetReader, window: Window, reduced_by: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Read a window of the first band as (height, width) float32 from 0 to 1, 0 without data, and its data, bool.

    A value of a reduced window is the mean of so many rows and columns. Raises ImageryError if there are other numbers.
    """
    shape = (1, round(window.height) // reduced_by, round(window.width) // reduced_by)
    values = dataset.read([1], window=window, out_shape=shape, resampling=Resampling.average)
    known = valid_pixels(dataset, window, values)
    scale, offset = np.float32(dataset.scales[0]), np.float32(dataset.offsets[0])
    if np.isclose(scale, 1 / CERTAIN):  # as Segment roads writes it, also where its nodata entry is lost
        known &= values[0] != NO_DATA
    probability = values[0].astype(np.float32) * scale + offset
    probability[~known] = 0.0
    low, high = (probability.min(), probability.max()) if probability.size else (0.0, 0.0)
    if not (low >= -1e-3 and high <= 1 + 1e-3):
        raise ImageryError(
            f"{dataset.name} holds numbers from {low:g} to {high:g}, which are not probabilities.",
            "Give a probability from 0 to 1, or a mask of whole numbers.",
        )
    return probability, known


def _with_background(mask: RoadRaster, name: str) -> RoadRaster:
    """Return a mask, with nodata as background if all of its data are road."""
    has_road = False
    for strip in mask.strips():
        road, known = mask.read(*strip)
        if (known & ~road).any():
            return mask
        has_road |= bool(known.any())
    if not has_road:
        raise _empty(name)

    def read(first_row: int, count: int) -> tuple[np.ndarray, np.ndarray]:
        road, known = mask.read(first_row, count)
        return road & known, np.ones_like(known)

    return replace(mask, read=read)


def _empty(name: str) -> ImageryError:
    return ImageryError(f"{name} has no data anywhere.", "Choose another raster.")
