"""Rasters as arrays on a grid: any number of bands, any real dtype, with nodata; band matching and normalization.

Scope: raster files, resampling, what can be wrong with a file, such as a mask in place of an image. Independent of
models and of the use of pixels.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import numpy as np
import rasterio
from rasterio.enums import ColorInterp, MaskFlags, Resampling
from rasterio.errors import NotGeoreferencedWarning, RasterioError
from rasterio.io import DatasetReader
from rasterio.vrt import WarpedVRT
from rasterio.windows import Window

from ..errors import ImageryError
from .grid import Grid, grid_at, grid_of
from .pixel_codes import CLASSES_BAND, MASK_BAND, NO_DATA, PROBABILITY_BAND
from .sources import require_openable

# Few rows stay in the processor's cache from one operation to the next.
_ROWS_AT_ONCE = 64
# Values farther from a model's mean, in deviations, are not measurements, and overflow within the model.
MAX_NORMALIZED = 1e15
# Limits of means and deviations in FP32. A deviation below this fraction of the mean is rounding.
MAX_VALUE, MIN_STD, _ROUNDING = 1e30, 1e-30, 1e-7
_NAMED_BANDS = (ColorInterp.red, ColorInterp.green, ColorInterp.blue)
_RESULTS = {MASK_BAND: "a road mask", PROBABILITY_BAND: "a road probability", CLASSES_BAND: "a raster of road classes"}


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
    except RasterioError as error:
        raise ImageryError(
            f"{path} cannot be read: {first_cause(error)}",
            "Check that the file is there, is a raster, and was copied whole.",
        ) from error


def read_grid(path: str) -> Grid:
    """Return the own grid of a raster.

    Raises ImageryError; see `open_raster` and `grid_of`.
    """
    with open_raster(path) as dataset:
        return grid_of(dataset)


def first_cause(error: BaseException) -> str:
    """Return the message of the error that an error, and those before it, were raised from, with a full stop."""
    while error.__cause__ is not None:
        error = error.__cause__
    return str(error).strip().rstrip(".") + "."


def band_names(dataset: DatasetReader) -> dict[int, str]:
    """Return the name of each band of an image, by its number from 1, without alpha bands.

    Raises ImageryError if the raster is a result of RoadSeg and not an image.
    """
    result = _RESULTS.get(dataset.descriptions[0] or "")
    if result and dataset.count == 1 and dataset.nodata == NO_DATA:
        raise ImageryError(
            f"{dataset.name} is {result} that RoadSeg has written, not an image.",
            "Choose the image that it was made from.",
        )
    names = {}
    for index, color, description in zip(dataset.indexes, dataset.colorinterp, dataset.descriptions):
        if color != ColorInterp.alpha:
            names[index] = color.name if color in _NAMED_BANDS else description or _numbered(index)
    return names


def unnamed(dataset: DatasetReader) -> bool:
    """Whether no band of a dataset has a color or description.

    Raises ImageryError; see `band_names`.
    """
    return all(name == _numbered(index) for index, name in band_names(dataset).items())


def _numbered(index: int) -> str:
    return f"band {index}"


def choose_bands(dataset: DatasetReader, wanted: tuple[int, ...]) -> dict[int, str]:
    """Return the bands to train on, with their names by number: those wanted, or all but alpha.

    Raises ImageryError if a wanted band is missing, there are only alpha bands, or it is no image; see `band_names`.
    """
    names = band_names(dataset)
    missing = [index for index in wanted if index not in names]
    if missing or not names:
        raise ImageryError(
            f"{dataset.name} has no image band {', '.join(map(str, missing)) or 'at all'}.",
            f"It has {', '.join(map(str, names)) or 'only alpha'}.",
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

    `resolution_m` 0 means the raster's own. `pixel_m` is the pixel size of rasters without georeference.
    """

    def __init__(
        self, dataset: DatasetReader, indexes: tuple[int, ...], resolution_m: float = 0.0, pixel_m: float = 0.0
    ) -> None:
        self.name = dataset.name
        self.indexes = list(indexes)
        self.dtype = np.dtype(dataset.dtypes[indexes[0] - 1])
        full = grid_of(dataset, pixel_m)
        self.grid = grid_at(full, resolution_m)
        self._closing = ExitStack()
        self._source = dataset if self.grid is full else self._closing.enter_context(_warped(dataset, self.grid, full))

    def __enter__(self) -> "Image":
        return self

    def __exit__(self, *error: object) -> None:
        self._closing.close()

    def read(self, column: int, row: int, width: int, height: int) -> tuple[np.ndarray, np.ndarray]:
        """Read a window in pixels of the grid, and where there are data; NaN and infinity are not.

        Returns (bands, height, width) of any dtype, that of the raster, and (height, width) bool.
        """
        window = Window(column, row, width, height)
        values = self._source.read(self.indexes, window=window)
        if all(MaskFlags.all_valid in flags for flags in self._source.mask_flag_enums):
            known = np.ones((height, width), dtype=bool)
        else:
            known = self._source.dataset_mask(window=window) > 0
        if np.issubdtype(values.dtype, np.floating):
            known &= np.isfinite(values).all(axis=0)
        return values, known


# Pixels of an image's own grid, beyond those that lie in a window of another grid, that the window's values depend on.
# A bilinear kernel reaches 1 px, and that of `average` ends where its pixel does, at any scale. GDAL's approximate
# transformation adds a fraction: at pixels of 0.3 to 12 times the size, 1.4 px were measured. The rest is a margin.
RESAMPLING_REACH_PX = 4


def _warped(dataset: DatasetReader, grid: Grid, full: Grid) -> WarpedVRT:
    has_mask_file = dataset.nodata is None and any(
        MaskFlags.per_dataset in flags and MaskFlags.alpha not in flags for flags in dataset.mask_flag_enums
    )
    return WarpedVRT(
        dataset,
        src_crs=full.crs,
        src_transform=full.transform,
        crs=grid.crs,
        transform=grid.transform,
        width=grid.width,
        height=grid.height,
        resampling=Resampling.average if grid.width < full.width else Resampling.bilinear,
        add_alpha=has_mask_file,
    )


def normalize(values: np.ndarray, known: np.ndarray, bands: tuple[Band, ...]) -> np.ndarray:
    """Normalize values by band (z-score): (bands, height, width) float32; pixels without data become 0, the mean.

    Values are (bands, height, width) of any dtype. The (height, width) bool `known` is where there are data.
    """
    normalized = np.empty(values.shape, dtype=np.float32)
    normalize_into(normalized, values, known, bands)
    return normalized


def normalize_into(target: np.ndarray, values: np.ndarray, known: np.ndarray, bands: tuple[Band, ...]) -> None:
    """Normalize values by band into an existing array, (bands, height, width) float32, without further copies.

    The other arrays are as for `normalize`.
    """
    with np.errstate(over="ignore", invalid="ignore"):  # see `require_normal`
        for plane, read, band in zip(target, values, bands):
            for first in range(0, len(read), _ROWS_AT_ONCE):
                part = plane[first : first + _ROWS_AT_ONCE]
                # One pass over a few rows: integers become float32 and lose the mean; then they are scaled in place.
                np.subtract(read[first : first + _ROWS_AT_ONCE], np.float32(band.mean), out=part, dtype=np.float32)
                part *= np.float32(1 / band.std)
    if not known.all():
        target[:, ~known] = 0.0


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


_UNDECLARED = "If very large values stand for missing data, declare that value as the raster's nodata value."
