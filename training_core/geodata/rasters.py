"""Rasters as arrays on a grid: any number of bands, any real dtype, nodata known.

Knows rasterio and what can be wrong with a file; knows nothing of roads or networks.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import numpy as np
import rasterio
from rasterio.enums import ColorInterp, MaskFlags, Resampling
from rasterio.errors import RasterioError
from rasterio.io import DatasetReader
from rasterio.vrt import WarpedVRT
from rasterio.windows import Window

from ..errors import ImageryError
from .grid import Grid, grid_at, grid_of

# Few enough to stay in the cache from one operation to the next.
_ROWS_AT_ONCE = 64
_NAMED_BANDS = (ColorInterp.red, ColorInterp.green, ColorInterp.blue)


@dataclass(frozen=True)
class Band:
    """One band that a model learned from.

    Parameters
    ----------
    name : str
        red, green, blue, the band's own description, or `band 4`.
    mean, std : float
        Of the values the model was trained on: a value enters the network as (value - mean) / std.
    """

    name: str
    mean: float = 0.0
    std: float = 1.0


@contextmanager
def open_raster(path: str) -> Iterator[DatasetReader]:
    """Open a raster for reading; every failure to open or to read it becomes an ImageryError that names it."""
    try:
        with rasterio.open(path) as dataset:
            if not dataset.count:
                inner = ", ".join(dataset.subdatasets[:5])
                remedy = f"It holds other rasters: give one of {inner}." if inner else "Give a raster with bands."
                raise ImageryError(f"{path} has no bands.", remedy)
            if any(np.issubdtype(np.dtype(dtype), np.complexfloating) for dtype in dataset.dtypes):
                raise ImageryError(f"{path} holds complex numbers.", "Convert it to amplitude first.")
            yield dataset
    except RasterioError as error:
        raise ImageryError(
            f"{path} cannot be read: {_first_cause(error)}",
            "Check that the file is there, is a raster, and was copied whole.",
        ) from error


def _first_cause(error: BaseException) -> str:
    while error.__cause__ is not None:
        error = error.__cause__
    return str(error).strip().rstrip(".") + "."


def band_names(dataset: DatasetReader) -> dict[int, str]:
    """Return the name of each band that shows something, by its number from 1; alpha bands are left out."""
    names = {}
    for index, color, description in zip(dataset.indexes, dataset.colorinterp, dataset.descriptions):
        if color != ColorInterp.alpha:
            names[index] = color.name if color in _NAMED_BANDS else description or _numbered(index)
    return names


def unnamed(dataset: DatasetReader) -> bool:
    """Whether a dataset tells of none of its bands what it shows."""
    return all(name == _numbered(index) for index, name in band_names(dataset).items())


def _numbered(index: int) -> str:
    return f"band {index}"


def choose_bands(dataset: DatasetReader, wanted: tuple[int, ...]) -> dict[int, str]:
    """Return the bands to learn from, by number: those wanted, or all but alpha.

    Raises
    ------
    ImageryError
        A wanted band is not there, or there is none to learn from.
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
    """Return the numbers of the dataset's bands that a model wants, in the model's order: by name, or by count.

    Raises
    ------
    ImageryError
        The dataset has other bands than the model learned from.
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
    """Bands of a raster on the grid at a ground resolution. A context manager.

    Parameters
    ----------
    dataset : DatasetReader
        An open raster.
    indexes : tuple of int
        Numbers of the bands to read, from 1.
    resolution_m : float
        Ground size of a pixel in meters; 0 means the raster's own.
    """

    def __init__(self, dataset: DatasetReader, indexes: tuple[int, ...], resolution_m: float = 0.0) -> None:
        self.name = dataset.name
        self.indexes = list(indexes)
        own = grid_of(dataset)
        self.grid = grid_at(own, resolution_m)
        self._closing = ExitStack()
        self._source = dataset if self.grid is own else self._closing.enter_context(_warped(dataset, self.grid, own))

    def __enter__(self) -> "Image":
        return self

    def __exit__(self, *error: object) -> None:
        self._closing.close()

    def read(self, column: int, row: int, width: int, height: int) -> tuple[np.ndarray, np.ndarray]:
        """Read a window that lies within the grid.

        Returns
        -------
        values : ndarray (bands, height, width), the raster's dtype
        known : ndarray (height, width), bool
            False where the raster has no data.
        """
        window = Window(column, row, width, height)
        values = self._source.read(self.indexes, window=window)
        known = self._known(window)
        if np.issubdtype(values.dtype, np.floating):
            known &= np.isfinite(values).all(axis=0)
        return values, known

    def _known(self, window: Window) -> np.ndarray:
        if _has_all_data(self._source):
            return np.ones((window.height, window.width), dtype=bool)
        return self._source.dataset_mask(window=window) > 0


def _has_all_data(dataset: DatasetReader) -> bool:
    return all(MaskFlags.all_valid in flags for flags in dataset.mask_flag_enums)


def _warped(dataset: DatasetReader, grid: Grid, own: Grid) -> WarpedVRT:
    shrinks = grid.width < own.width
    has_mask_file = dataset.nodata is None and any(
        MaskFlags.per_dataset in flags and MaskFlags.alpha not in flags for flags in dataset.mask_flag_enums
    )
    return WarpedVRT(
        dataset,
        crs=grid.crs,
        transform=grid.transform,
        width=grid.width,
        height=grid.height,
        resampling=Resampling.average if shrinks else Resampling.bilinear,
        add_alpha=has_mask_file,
    )


def normalize(values: np.ndarray, known: np.ndarray, bands: tuple[Band, ...]) -> np.ndarray:
    """Return values as a network takes them: scaled per band, and 0, the mean, where there is no data.

    Parameters
    ----------
    values : ndarray (bands, height, width)
    known : ndarray (height, width), bool
    bands : tuple of Band
        One a band.

    Returns
    -------
    ndarray (bands, height, width), float32
    """
    normalized = np.empty(values.shape, dtype=np.float32)
    normalize_into(normalized, values, known, bands)
    return normalized


def normalize_into(target: np.ndarray, values: np.ndarray, known: np.ndarray, bands: tuple[Band, ...]) -> None:
    """Fill an array (bands, height, width), float32, as `normalize` returns one, without further copies."""
    for plane, read, band in zip(target, values, bands):
        for first in range(0, len(read), _ROWS_AT_ONCE):
            part = plane[first : first + _ROWS_AT_ONCE]
            np.subtract(read[first : first + _ROWS_AT_ONCE], np.float32(band.mean), out=part, dtype=np.float32)
            part *= np.float32(1 / band.std)
    if not known.all():
        target[:, ~known] = 0.0


def measure_bands(names: tuple[str, ...], samples: list[np.ndarray]) -> tuple[Band, ...]:
    """Return bands with mean and standard deviation of samples of shape (bands, pixels); a flat band gets std 1."""
    pixels = np.concatenate(samples, axis=1).astype(np.float64)
    means, stds = pixels.mean(axis=1), pixels.std(axis=1)
    return tuple(Band(name, float(mean), float(std) if std > 0 else 1.0) for name, mean, std in zip(names, means, stds))
