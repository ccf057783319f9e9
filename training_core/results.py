"""Masks and probabilities as files: written tile by tile, and at the end laid out so that any program shows them fast.

Knows GeoTIFFs and their overviews; knows nothing of networks.
"""

from __future__ import annotations

import colorsys
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Optional

import numpy as np
import rasterio
import rasterio.shutil
from rasterio._err import CPLE_BaseError
from rasterio.errors import RasterioError
from rasterio.io import DatasetWriter
from rasterio.windows import Window

from .errors import OutputError
from .grid import Grid
from .inference import CERTAIN, NO_DATA, Prediction, to_mask
from .plans import Results
from .roadclasses import CLASSES_TAG, RoadClass, to_document
from .tiling import Tile

ROAD_COLOR = (255, 140, 0, 255)
BLOCK_PX = 512


class BandFile:
    """A one-band byte raster on a grid, with NO_DATA where nothing is written: at the end a cloud optimized GeoTIFF.

    Tiles come in any order and size, so they go to a file beside it first, which is copied into the layout then. What
    keeps it from being written becomes an OutputError that names it.

    Parameters
    ----------
    path : Path
    grid : Grid
    resampling : str
        How overviews are made.
    """

    def __init__(self, path: Path, grid: Grid, resampling: str) -> None:
        self._path, self._resampling = path, resampling
        self._draft = path.with_name(f"{path.name}.draft")
        place = {"crs": grid.crs, "transform": grid.transform, "width": grid.width, "height": grid.height}
        storage = {"tiled": True, "blockxsize": BLOCK_PX, "blockysize": BLOCK_PX, "sparse_ok": True}
        packing = {"bigtiff": "if_safer"}  # what is read once more is not worth compressing
        with self._told():
            self.dataset: DatasetWriter = rasterio.open(
                self._draft, "w", driver="GTiff", count=1, dtype="uint8", nodata=NO_DATA, **place, **storage, **packing
            )

    def write(self, values: np.ndarray, tile: Tile) -> None:
        """Write one tile's core."""
        with self._told():
            self.dataset.write(values, 1, window=Window(tile.column, tile.row, tile.width, tile.height))

    def finish(self) -> None:
        """Lay the file out with overviews, so that a map shows it fast at any scale."""
        layout = {"compress": "deflate", "blocksize": BLOCK_PX, "bigtiff": "if_safer", "num_threads": "all_cpus"}
        with self._told():
            self.dataset.close()
            rasterio.shutil.copy(self._draft, self._path, driver="COG", overview_resampling=self._resampling, **layout)
            self._draft.unlink()
            self._read_back()

    def close(self) -> None:
        """Close the file as it is, for a run that ends early."""
        with suppress(RasterioError, CPLE_BaseError):
            self.dataset.close()

    def _read_back(self) -> None:
        """Read all of the file, since GDAL does not tell where the disk was full as it closed it."""
        with rasterio.open(self._path) as dataset:
            levels = range(-1, len(dataset.overviews(1)))
        for overview in levels:
            level = {} if overview < 0 else {"overview_level": overview}
            with rasterio.open(self._path, **level) as dataset:
                for _, window in dataset.block_windows(1):
                    dataset.read(1, window=window)

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except (RasterioError, CPLE_BaseError) as error:
            raise OutputError(
                f"{self._path} cannot be written whole.", "Make room on the disk, or choose another folder."
            ) from error


class ResultWriter:
    """Writes what is wanted of an image as its tiles come. A context manager; leave it by no error to finish.

    Parameters
    ----------
    grid : Grid
    results : Results
        The files to write.
    threshold : float
        Probability from which a pixel is road.
    classes : sequence of RoadClass
        Those that the network tells.
    """

    def __init__(self, grid: Grid, results: Results, threshold: float, classes: Sequence[RoadClass] = ()) -> None:
        self._threshold = threshold
        self._mask, self._probability, self._classes = (
            BandFile(Path(path), grid, resampling) if path else None
            for path, resampling in (
                (results.mask, "nearest"),
                (results.probability, "average"),
                (results.classes, "nearest"),
            )
        )
        if self._mask:
            self._mask.dataset.write_colormap(1, {0: (0, 0, 0, 0), 1: ROAD_COLOR})
            self._mask.dataset.set_band_description(1, "road")
        if self._probability:
            self._probability.dataset.scales = (1 / CERTAIN,)
            self._probability.dataset.set_band_description(1, "road probability")
        if self._classes:
            self._classes.dataset.write_colormap(1, {0: (0, 0, 0, 0), **class_colors(len(classes))})
            self._classes.dataset.set_band_description(1, "road class")
            self._classes.dataset.update_tags(**{CLASSES_TAG: json.dumps(to_document(classes))})

    def __enter__(self) -> "ResultWriter":
        return self

    def __exit__(self, kind: Optional[type[BaseException]], *error: object) -> None:
        for file in filter(None, (self._mask, self._probability, self._classes)):
            if kind is None:
                file.finish()
            else:
                file.close()

    def write(self, tile: Tile, prediction: Prediction) -> None:
        """Write one tile's core."""
        mask = to_mask(prediction.probability, self._threshold)
        if self._mask:
            self._mask.write(mask, tile)
        if self._probability:
            self._probability.write(prediction.probability, tile)
        if self._classes:
            self._classes.write(np.where(mask == 1, prediction.classes, mask), tile)


def class_colors(count: int) -> dict[int, tuple[int, int, int, int]]:
    """Return a color for each number of a class, from 1: hues evenly around the circle."""
    hues = (colorsys.hsv_to_rgb(number / max(count, 1), 0.8, 0.95) for number in range(count))
    return {number: (*(round(255 * part) for part in hue), 255) for number, hue in enumerate(hues, 1)}
