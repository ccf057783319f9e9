"""One-band byte rasters, written block by block, that end as cloud optimized GeoTIFFs.

Scope: blocks of bytes on a grid. Independent of what the bytes mean, except nodata.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import rasterio
import rasterio.shutil
from rasterio._err import CPLE_BaseError
from rasterio.errors import RasterioError
from rasterio.io import DatasetWriter
from rasterio.windows import Window

from ..errors import OutputError
from .grid import Grid
from .pixel_codes import NO_DATA
from .tiling import Tile

BLOCK_PX = 512


class BandFile:
    """A one-band byte raster on a grid, with NO_DATA where nothing is written: at the end a cloud optimized GeoTIFF.

    Tiles come in any order and size, so they go to a draft beside it first, which is then copied into that layout. Any
    failure to write becomes an OutputError that names the file.

    Parameters
    ----------
    path : Path
    grid : Grid
    resampling : str
        How overviews are computed: nearest, average ...
    """

    def __init__(self, path: Path, grid: Grid, resampling: str) -> None:
        self._path, self._resampling = path, resampling
        self._draft = path.with_name(f"{path.name}.draft")
        place = {"crs": grid.crs, "transform": grid.transform, "width": grid.width, "height": grid.height}
        storage = {"tiled": True, "blockxsize": BLOCK_PX, "blockysize": BLOCK_PX, "sparse_ok": True}
        packing = {"bigtiff": "if_safer"}  # the draft is read only once, so it is not compressed
        with self._named_errors():
            self.dataset: DatasetWriter = rasterio.open(
                self._draft, "w", driver="GTiff", count=1, dtype="uint8", nodata=NO_DATA, **place, **storage, **packing
            )

    def write(self, values: np.ndarray, tile: Tile) -> None:
        """Write the pixels of a tile's core, (height, width), uint8."""
        with self._named_errors():
            self.dataset.write(values, 1, window=Window(tile.column, tile.row, tile.width, tile.height))

    def finish(self) -> None:
        """Lay the file out with overviews, so that a map shows it fast at any scale."""
        layout = {"compress": "deflate", "blocksize": BLOCK_PX, "bigtiff": "if_safer", "num_threads": "all_cpus"}
        with self._named_errors():
            self.dataset.close()
            rasterio.shutil.copy(self._draft, self._path, driver="COG", overview_resampling=self._resampling, **layout)
            self._draft.unlink()
            self._read_back()

    def close(self) -> None:
        """Close the file as it is, for a run that ends early."""
        with suppress(RasterioError, CPLE_BaseError):
            self.dataset.close()

    def _read_back(self) -> None:
        """Read all of the file, since GDAL reports no error if the disk is full when it closes a file."""
        with rasterio.open(self._path) as dataset:
            levels = range(-1, len(dataset.overviews(1)))
        for overview in levels:
            level = {} if overview < 0 else {"overview_level": overview}
            with rasterio.open(self._path, **level) as dataset:
                for _, window in dataset.block_windows(1):
                    dataset.read(1, window=window)

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        try:
            yield
        except (RasterioError, CPLE_BaseError) as error:
            raise OutputError(
                f"{self._path} cannot be written whole.", "Make room on the disk, or choose another folder."
            ) from error
