"""Rasters as arrays on a grid, which of their pixels are valid, and which bands a model takes, normalized how.

Scope: raster files, resampling, what can be wrong with a file, such as a mask in place of an image, and the input
specification of a model. Independent of the model itself and of the use of pixels.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any, Optional

import numpy as np
import rasterio
from rasterio._err import CPLE_BaseError
from rasterio.enums import ColorInterp, Resampling
from rasterio.errors import NotGeoreferencedWarning, RasterioError
from rasterio.io import DatasetReader
from rasterio.vrt import WarpedVRT
from rasterio.windows import Window

from ..errors import ImageryError
from .grid import Grid, grid_at, grid_of
from .pixel_codes import CLASSES_BAND, MASK_BAND, NO_DATA, PROBABILITY_BAND
from .plain_rasters import has_own_mask, has_unmarked_floats, plain_image, plain_mask, valid_pixels
from .sources import require_openable

# Few rows stay in the processor's cache from one operation to the next.
_ROWS_AT_ONCE = 64
# Values farther from a model's mean, in deviations, are not measurements, and overflow within the model.
MAX_NORMALIZED = 1e15
# Limits of means and deviations in FP32. A deviation below this fraction of the mean is rounding.
MAX_VALUE, MIN_STD, _ROUNDING = 1e30, 1e-30, 1e-7
_COLORS = ("red", "green", "blue")
_UNDECLARED = "If a very large value stands for missing data, declare it as the raster's nodata value."
_RESULTS = {MASK_BAND: "a road mask", PROBABILITY_BAND: "a road probability", CLASSES_BAND: "a raster of road classes"}

# Values are normalized by mean and deviation of the training images, or of the image itself.
MODEL, IMAGE = "model", "image"
SCALINGS = (MODEL, IMAGE)
# Statistics are measured on about a million pixels, in squares spread evenly over the image: a few large ones, or, if
# these have no data, many small ones.
_MEASURED_PX, _SQUARES_A_SIDE, _MIN_PX = 1_000_000, (8, 32, 128), 1000
# A piece with a smaller fraction of data is not representative.
MIN_KNOWN = 0.5


@dataclass(frozen=True)
class Band:
    """One band that a model was trained on; values are normalized as (value - mean) / std of the training images.

    `name` is red, green, blue, the band's own description, or `band 4`.
    """

    name: str
    mean: float = 0.0
    std: float = 1.0


@contextmanager
def open_raster(path: str) -> Iterator[DatasetReader]:
    """Open a raster for reading.

    Raises ImageryError if it cannot be opened or, within the context, read; or it has no bands, or complex numbers.
    """
    require_openable(path, path, ImageryError)
    try:
        with ExitStack() as stack:
            with warnings.catch_warnings():  # code that needs a georeference reports that itself
                warnings.simplefilter("ignore", NotGeoreferencedWarning)
                dataset = stack.enter_context(rasterio.open(path))
            if not dataset.count:
                inner = ", ".join(dataset.subdatasets[:5])
                remedy = f"It holds other rasters: give one of {inner}." if inner else "Give a raster with bands."
                raise ImageryError(f"{path} has no bands.", remedy)
            if any(dtype.startswith("complex") for dtype in dataset.dtypes):
                raise ImageryError(f"{path} holds complex numbers.", "Convert it to amplitude first.")
            yield dataset
    except (RasterioError, CPLE_BaseError) as error:  # rasterio lets GDAL's pass where it reads flags of masks
        raise ImageryError(
            f"{path} cannot be read: {first_cause(error)}",
            "Check that the file is there, is a raster, and was copied whole.",
        ) from error


@contextmanager
def open_image(path: str) -> Iterator[DatasetReader]:
    """Open an image for reading, with colors in place of a palette; see `plain_rasters.plain_image`.

    Raises ImageryError as that and `open_raster` do. A result of RoadSeg, which is no image, is opened as it is.
    """
    with open_raster(path) as dataset:
        with nullcontext(dataset) if result_name(dataset) else plain_image(dataset) as image:
            yield image


@contextmanager
def open_mask(path: str, road_values: Collection[float] = ()) -> Iterator[DatasetReader]:
    """Open a mask, or a probability, for reading; see `plain_rasters.plain_mask`.

    `road_values` are those that are named as road. Raises ImageryError as that and `open_raster` do.
    """
    with open_raster(path) as dataset, plain_mask(dataset, road_values) as mask:
        yield mask


def read_grid(path: str) -> Grid:
    """Return the own grid of a raster.

    Raises ImageryError; see `open_raster` and `grid_of`.
    """
    with open_raster(path) as dataset:
        return grid_of(dataset)


def first_cause(error: BaseException) -> str:
    """Return the message of the error that began a chain of them, with a full stop."""
    while error.__cause__ is not None:
        error = error.__cause__
    return str(error).strip().rstrip(".") + "."


def result_name(dataset: DatasetReader) -> str:
    """Return the kind of RoadSeg's result that a raster is, such as "a road mask", or nothing."""
    is_result = dataset.count == 1 and dataset.nodata == NO_DATA
    return _RESULTS.get(dataset.descriptions[0] or "", "") if is_result else ""


def band_names(dataset: DatasetReader) -> dict[int, str]:
    """Return the name of each band of an image, by its number from 1, without alpha bands.

    Raises ImageryError if the raster is a result of RoadSeg and not an image.
    """
    result = result_name(dataset)
    if result:
        raise ImageryError(
            f"{dataset.name} is {result} that RoadSeg wrote, not an image.", "Choose the image from which it was made."
        )
    names = {}
    for index, color, description in zip(dataset.indexes, dataset.colorinterp, dataset.descriptions):
        if color != ColorInterp.alpha:
            names[index] = color.name if color.name in _COLORS else description or f"band {index}"
    return names


def choose_bands(dataset: DatasetReader, wanted: tuple[int, ...]) -> dict[int, str]:
    """Return the bands to train on, with their names by number: those wanted, or all but alpha.

    Raises ImageryError if a wanted band is missing, there are only alpha bands, or it is no image; see `band_names`.
    """
    names = band_names(dataset)
    missing = [index for index in wanted if index not in names]
    if missing or not names:
        alpha = [
            f"If band {index} is not alpha, gdal_edit can say so." for index in missing if index in dataset.indexes
        ]
        raise ImageryError(
            f"{dataset.name} has no image band {', '.join(map(str, missing)) or 'at all'}.",
            " ".join([f"It has {', '.join(map(str, names)) or 'only alpha'}.", *alpha]),
        )
    return {index: names[index] for index in wanted or names}


def match_bands(dataset: DatasetReader, bands: tuple[Band, ...]) -> tuple[int, ...]:
    """Return the numbers of a dataset's bands in a model's order, matched by name or else by count.

    Raises ImageryError if the dataset has other bands than the model was trained on, or is no image; see `band_names`.
    """
    names = band_names(dataset)
    by_name = {name: index for index, name in names.items()}
    if all(band.name in by_name for band in bands):
        return tuple(by_name[band.name] for band in bands)
    if len(names) == len(bands):
        return tuple(names)
    raise ImageryError(
        f"{dataset.name} has {len(names)} image bands ({', '.join(names.values())}), but the model was trained on "
        f"{len(bands)} ({', '.join(band.name for band in bands)}).",
        "Choose an image with the model's bands, or fine-tune the model on this kind of image.",
    )


class Image:
    """Bands of a raster, numbered from 1, resampled to a ground resolution. A context manager.

    `grid` is that of the resolution, and `own_grid` the raster's; `resolution_m` 0 means the raster's own. `pixel_m` is
    the pixel size of rasters without georeference.
    """

    def __init__(
        self, dataset: DatasetReader, indexes: tuple[int, ...], resolution_m: float = 0.0, pixel_m: float = 0.0
    ) -> None:
        self.name = dataset.name
        self.indexes = list(indexes)
        self.dtype = np.dtype(dataset.dtypes[indexes[0] - 1])
        self.own_grid = full = grid_of(dataset, pixel_m)
        self.grid = grid_at(full, resolution_m)
        self._closing = ExitStack()
        self._source, self._among_nan = dataset, None
        if self.grid is not full:
            way = Resampling.average if self.grid.width < full.width else Resampling.bilinear
            on_grid = partial(warped, dataset, full, self.grid, way, add_alpha=has_own_mask(dataset))
            self._source = self._closing.enter_context(on_grid())
            if has_unmarked_floats(dataset):
                self._among_nan = self._closing.enter_context(on_grid(src_nodata=np.nan, nodata=np.nan))

    def __enter__(self) -> "Image":
        return self

    def __exit__(self, *error: object) -> None:
        self._closing.close()

    def read(self, column: int, row: int, width: int, height: int) -> tuple[np.ndarray, np.ndarray]:
        """Read a window in pixels of the grid, and where there are data; see `valid_pixels`.

        Returns (bands, height, width) of any dtype, that of the raster, and (height, width) bool.
        """
        window = Window(column, row, width, height)
        values = self._source.read(self.indexes, window=window)
        known = valid_pixels(self._source, window, values)
        if self._among_nan and not known.all():
            # GDAL's mean of NaN is NaN, unless it is declared, which takes several times as long.
            values = self._among_nan.read(self.indexes, window=window)
            known = valid_pixels(self._among_nan, window, values)
        return values, known


# Pixels of an image's own grid, beyond those that lie in a window of another grid, that the window's values depend on.
# A bilinear kernel reaches 1 px, and that of `average` ends where its pixel does, at any scale. GDAL's approximate
# transformation adds a fraction: at pixels of 0.3 to 12 times the size, 1.4 px were measured. The rest is a margin.
RESAMPLING_REACH_PX = 4


def warped(dataset: DatasetReader, place: Grid, grid: Grid, resampling: Resampling, **options: Any) -> WarpedVRT:
    """Return a raster, taken to lie at a place, as it is read on a grid; the options are those of `WarpedVRT`."""
    return WarpedVRT(
        dataset,
        src_crs=place.crs,
        src_transform=place.transform,
        crs=grid.crs,
        transform=grid.transform,
        width=grid.width,
        height=grid.height,
        resampling=resampling,
        **options,
    )


def normalize(
    values: np.ndarray, known: np.ndarray, bands: tuple[Band, ...], out: Optional[np.ndarray] = None
) -> np.ndarray:
    """Normalize values by band (z-score): (bands, height, width) float32; pixels without data become 0, the mean.

    Values are (bands, height, width) of any dtype. The (height, width) bool `known` is where there are data. The result
    is `out` if that is given.
    """
    target = np.empty(values.shape, dtype=np.float32) if out is None else out
    with np.errstate(over="ignore", invalid="ignore"):  # see `require_normal`
        for plane, read, band in zip(target, values, bands):
            for first in range(0, len(read), _ROWS_AT_ONCE):
                part = plane[first : first + _ROWS_AT_ONCE]
                # One pass over a few rows: integers become float32 and lose the mean; then they are scaled in place.
                np.subtract(read[first : first + _ROWS_AT_ONCE], np.float32(band.mean), out=part, dtype=np.float32)
                part *= np.float32(1 / band.std)
    if not known.all():
        target[:, ~known] = 0.0
    return target


def measure_bands(names: tuple[str, ...], samples: list[np.ndarray]) -> tuple[Band, ...]:
    """Measure mean and std of bands in samples, (bands, pixels) of any dtype; a constant band gets std 1."""
    pixels = np.concatenate(samples, axis=1).astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):  # see `require_computable`
        means, stds = pixels.mean(axis=1), pixels.std(axis=1)
    # A deviation that is rounding of the mean is that of a constant band.
    stds[stds <= _ROUNDING * np.abs(means)] = 1.0
    return tuple(Band(name, float(mean), float(std)) for name, mean, std in zip(names, means, stds))


def require_computable(bands: tuple[Band, ...], image: str) -> None:
    """Check the measured mean and deviation of an image's bands.

    Raises ImageryError if they are too large or too small to normalize by.
    """
    for band in bands:
        if not (abs(band.mean) <= MAX_VALUE and MIN_STD <= band.std <= MAX_VALUE):
            raise ImageryError(
                f"The values of {band.name} of {image} cannot be normalized: their mean is {band.mean:.3g}, their "
                f"deviation {band.std:.3g}.",
                f"{_UNDECLARED} Otherwise, scale the values.",
            )


def require_normal(normalized: np.ndarray, dtype: np.dtype, bands: tuple[Band, ...], image: str) -> None:
    """Check that a model can compute with normalized values of an image, (bands, height, width) float32.

    Extreme values are refused and not taken as missing data. Resampling may have mixed them with their neighbors, and
    an image full of them would be segmented as nothing. Values that had an integer `dtype` too small for them are not
    checked. Raises ImageryError if a value is farther from the mean than MAX_NORMALIZED deviations.
    """
    if np.issubdtype(dtype, np.integer):
        ends = np.iinfo(dtype)
        if all(max(ends.max - band.mean, band.mean - ends.min) <= MAX_NORMALIZED * band.std for band in bands):
            return
    for plane, band in zip(normalized, bands):
        # Written so that NaN fails.
        if plane.size and not (plane.min() >= -MAX_NORMALIZED and plane.max() <= MAX_NORMALIZED):
            raise ImageryError(
                f"{image} has values in {band.name} that are too far from the mean ({band.mean:.3g}, deviation "
                f"{band.std:.3g}) for the model to compute with.",
                f"{_UNDECLARED} Otherwise, choose a model that was trained on such values.",
            )


@dataclass(frozen=True)
class ModelInput:
    """The input specification of a model: bands in order, ground size of the pixels, and one of SCALINGS.

    Mean and deviation of the bands are those of the training images, also if the scaling is `image`. `pixel_m` is the
    pixel size of images without georeference, which are refused if it is 0.
    """

    bands: tuple[Band, ...]
    resolution_m: float
    scaling: str = MODEL
    pixel_m: float = 0.0


def find_bands(dataset: DatasetReader, wanted: ModelInput) -> tuple[int, ...]:
    """Return the numbers of a dataset's bands that a model takes, in the model's order.

    A model of red, green and blue that normalizes by the image was also trained on gray images: a single band stands
    for all three. From an image with more bands and no names it takes the first three. Raises ImageryError if the
    dataset has other bands than the model was trained on, or is no image; see `band_names`.
    """
    is_for_any_color = wanted.scaling == IMAGE and all(band.name in _COLORS for band in wanted.bands)
    names = band_names(dataset)
    if is_for_any_color and len(names) == 1:
        return tuple(names) * len(wanted.bands)
    is_unnamed = all(name == f"band {index}" for index, name in names.items())
    if is_for_any_color and len(names) > len(wanted.bands) and is_unnamed:
        return tuple(names)[: len(wanted.bands)]
    return match_bands(dataset, wanted.bands)


@contextmanager
def open_for_model(path: str, wanted: ModelInput) -> Iterator[tuple[Image, tuple[Band, ...]]]:
    """Open a raster for a model: the image at the model's resolution, and the bands with which to normalize it."""
    with open_image(path) as dataset:
        with Image(dataset, find_bands(dataset, wanted), wanted.resolution_m, wanted.pixel_m) as image:
            yield image, measure_scaling(image, wanted.bands) if wanted.scaling == IMAGE else wanted.bands


def measure_scaling(image: Image, bands: tuple[Band, ...]) -> tuple[Band, ...]:
    """Return bands with the mean and standard deviation of an image, estimated from a sample of its pixels.

    The sample is at the model's resolution because pixels of overviews are means and vary less. Without data in the
    sample the bands are returned as they are. Raises ImageryError if the values are too large or too small to normalize
    by.
    """
    for count in _SQUARES_A_SIDE:
        side_px = round(_MEASURED_PX**0.5 / count)
        # Squares of about a million pixels together, count x count of them, in the middle of equal parts of the image.
        columns, rows = (_spans(size, count, side_px) for size in (image.grid.width, image.grid.height))
        pieces = (image.read(left, top, width, height) for top, height in rows for left, width in columns)
        samples = [values[:, known] for values, known in pieces]
        known_px = sum(sample.shape[1] for sample in samples)
        if known_px >= min(_MIN_PX, image.grid.width * image.grid.height):
            break
    if not known_px:
        return bands
    measured = measure_bands(tuple(band.name for band in bands), samples)
    require_computable(measured, image.name)
    return measured


def _spans(size_px: int, count: int, side_px: int) -> list[tuple[int, int]]:
    """Return starts and lengths of spans centered in equal parts of an image's side, or all of a short side."""
    if size_px <= count * side_px:
        return [(0, size_px)]
    return [(int((number + 0.5) * size_px / count - side_px / 2), side_px) for number in range(count)]
