"""GeoTIFFs written whole: one-band byte rasters that end as cloud optimized ones, and the check of any by reading it.

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
    resampling : str
        How overviews are computed: nearest, average ...

    Raises
    ------
    OutputError
        The file cannot be made.
    """

    def __init__(self, path: Path, grid: Grid, resampling: str) -> None:
        self._path, self._resampling = path, resampling
        self._sum = NO_DATA * grid.width * grid.height
        self._draft = path.with_name(f"{path.name}.draft")
        place = {"crs": grid.crs, "transform": grid.transform, "width": grid.width, "height": grid.height}
        storage = {"tiled": True, "blockxsize": BLOCK_PX, "blockysize": BLOCK_PX, "sparse_ok": True}
        packing = {"bigtiff": "if_safer"}  # the draft is read only once, so it is not compressed
        with named_errors(self._path):
            self.dataset: DatasetWriter = rasterio.open(
                self._draft, "w", driver="GTiff", count=1, dtype="uint8", nodata=NO_DATA, **place, **storage, **packing
            )

    def write(self, values: np.ndarray, tile: Tile) -> None:
        """Write the pixels of a tile's core, (height, width), uint8; no pixel is written twice.

        Raises
        ------
        OutputError
            There is no room.
        """
        self._sum += int(values.sum(dtype=np.int64)) - NO_DATA * values.size
        with named_errors(self._path):
            self.dataset.write(values, 1, window=Window(tile.column, tile.row, tile.width, tile.height))

    def finish(self) -> None:
        """Lay the file out with overviews, so that a map shows it fast at any scale, and read it back.

        Raises
        ------
        OutputError
            There is no room, or something that was written is not there.
        """
        layout = {"compress": "deflate", "blocksize": BLOCK_PX, "bigtiff": "if_safer", "num_threads": "all_cpus"}
        with named_errors(self._path):
            self.dataset.close()
            rasterio.shutil.copy(self._draft, self._path, driver="COG", overview_resampling=self._resampling, **layout)
            self._draft.unlink()
        check_geotiff(self._path, self._sum)

    def close(self) -> None:
        """Close the file as it is, for a run that ends early."""
        with suppress(RasterioError, CPLE_BaseError):
            self.dataset.close()


def check_geotiff(path: Path, pixel_sum: int, overviews: Sequence[int] = ()) -> None:
    """Read all of a tiled GeoTIFF, since GDAL reports no error if the disk is full when it closes a file.

    Parameters
    ----------
    pixel_sum : int
        The sum of all that was written to its bands.
    overviews : sequence of int
        Reductions that it must have.

    Raises
    ------
    OutputError
        Blocks or overviews are missing or damaged.
    """
    found = 0
    with named_errors(path):
        with rasterio.open(path) as dataset:
            levels = range(len(dataset.overviews(1)))
            if len(levels) < len(overviews):
                raise _incomplete(path)
            for (row, column), window in dataset.block_windows(1):
                _require_block(dataset, row, column, path)
                found += int(dataset.read(window=window).sum(dtype=np.int64))
        for level in levels:
            with rasterio.open(path, overview_level=level) as dataset:
                for (row, column), window in dataset.block_windows(1):
                    _require_block(dataset, row, column, path)
                    dataset.read(window=window)
    if found != pixel_sum:
        raise _incomplete(path)


def _require_block(dataset: DatasetReader, row: int, column: int, path: Path) -> None:
    """Raise OutputError if a block is missing: it would be read as nothing but zeros or nodata."""
    if dataset.get_tag_item(f"BLOCK_OFFSET_{column}_{row}", "TIFF", bidx=1) is None:
        raise _incomplete(path)


def _incomplete(path: Path) -> OutputError:
    return OutputError(f"{path} cannot be written whole.", "Make room on the disk, or choose another folder.")


@contextmanager
def named_errors(path: Path) -> Iterator[None]:
    """Within this, GDAL's failure to write becomes an error that names the file.

    Raises
    ------
    OutputError
        GDAL failed.
    """
    try:
        yield
    except (RasterioError, CPLE_BaseError) as error:
        raise _incomplete(path) from error
