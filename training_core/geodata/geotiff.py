"""GeoTIFFs that are complete: one-band byte rasters that end as cloud optimized ones, and a check that reads them back.

Scope: blocks of pixels on a grid. Independent of what they mean, except nodata.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import rasterio
import rasterio.shutil
from rasterio._err import CPLE_BaseError
from rasterio.errors import RasterioError
from rasterio.io import DatasetReader, DatasetWriter
from rasterio.windows import Window

from ..errors import OutputError
from ..jobs.file_systems import remove
from .grid import Grid
from .pixel_codes import NO_DATA
from .tiling import Tile

BLOCK_PX = 512


class BandFile:
    """A one-band byte raster on a grid, NO_DATA where nothing is written; at the end a cloud optimized GeoTIFF.

    Tiles come in any order and size, so they go to a draft first. `finish` copies it into that layout with overviews by
    `resampling`: nearest, average ... Raises OutputError if the file cannot be made.
    """

    def __init__(self, path: Path, grid: Grid, resampling: str) -> None:
        self._path, self._resampling = path, resampling
        self._sum = NO_DATA * grid.width * grid.height
        self._draft = path.with_name(f"{path.name}.draft")
        place = {"crs": grid.crs, "transform": grid.transform, "width": grid.width, "height": grid.height}
        blocks = {"tiled": True, "blockxsize": BLOCK_PX, "blockysize": BLOCK_PX}
        storage = {**blocks, "sparse_ok": True, "bigtiff": "if_safer"}  # not compressed, since it is read only once
        with named_errors(self._path):
            self.dataset: DatasetWriter = rasterio.open(
                self._draft, "w", driver="GTiff", count=1, dtype="uint8", nodata=NO_DATA, **place, **storage
            )

    def write(self, values: np.ndarray, tile: Tile) -> None:
        """Write the pixels of a tile's core, (height, width) uint8; no pixel is written twice.

        Raises OutputError if the disk is full.
        """
        self._sum += int(values.sum(dtype=np.int64)) - NO_DATA * values.size
        with named_errors(self._path):
            self.dataset.write(values, 1, window=Window(tile.column, tile.row, tile.width, tile.height))

    def finish(self) -> None:
        """Lay the file out with overviews, so that a map shows it fast at any scale, and read it back.

        Raises OutputError if the disk is full, or something that was written is missing.
        """
        layout = {"compress": "deflate", "blocksize": BLOCK_PX, "bigtiff": "if_safer", "num_threads": "all_cpus"}
        with named_errors(self._path):
            self.dataset.close()
            rasterio.shutil.copy(self._draft, self._path, driver="COG", overview_resampling=self._resampling, **layout)
            remove(self._draft)
        check_geotiff(self._path, self._sum)

    def close(self) -> None:
        """Close the file as it is, when a run ends early."""
        with suppress(RasterioError, CPLE_BaseError):
            self.dataset.close()


def check_geotiff(path: Path, pixel_sum: int, overviews: Sequence[int] = ()) -> None:
    """Read all of a tiled GeoTIFF because GDAL reports no error when a full disk keeps it from closing a file.

    Its pixels must add up to `pixel_sum`, and it must have overviews of some reductions. Raises OutputError if blocks
    or overviews are missing or damaged.
    """
    with named_errors(path):
        with rasterio.open(path) as dataset:
            levels = range(len(dataset.overviews(1)))
            if len(levels) < len(overviews):
                raise OutputError.incomplete(path)
            total = _sum_of_blocks(dataset, path)
        for level in levels:
            with rasterio.open(path, overview_level=level) as dataset:
                _sum_of_blocks(dataset, path)
    if total != pixel_sum:
        raise OutputError.incomplete(path)


def _sum_of_blocks(dataset: DatasetReader, path: Path) -> int:
    """Return the sum of all pixels; raise OutputError if a block is missing: it would be read as zeros or nodata."""
    total = 0
    for (row, column), window in dataset.block_windows(1):
        if dataset.get_tag_item(f"BLOCK_OFFSET_{column}_{row}", "TIFF", bidx=1) is None:
            raise OutputError.incomplete(path)
        total += int(dataset.read(window=window).sum(dtype=np.int64))
    return total


@contextmanager
def named_errors(path: Path) -> Iterator[None]:
    """Turn GDAL's failure to write into an error that names the file.

    Raises OutputError.
    """
    try:
        yield
    except (RasterioError, CPLE_BaseError) as error:
        raise OutputError.incomplete(path) from error
