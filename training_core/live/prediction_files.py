"""Prediction files: the view as georeferenced rasters, each whole and never changed, under a new number.

Scope: files, their names, and when old ones go. Independent of what is predicted.
"""

from __future__ import annotations

import re
from collections import deque
from contextlib import suppress
from pathlib import Path

import numpy as np
import rasterio

from ..geodata.geotiff import check_geotiff, named_errors
from ..geodata.grid import Grid
from ..geodata.pixel_codes import CERTAIN, NO_DATA
from ..labels.uncertainty import entropy
from ..system.outputs import replaced
from .commands import UNCERTAINTY

# A file stays until so many newer ones are there: a map may still be reading it.
NEWER = 3
_BLOCK_PX = 256
_NAME = re.compile(r"prediction-(\d{6,})\.tif")
# The uncertainty that is shown for each byte of probability.
_UNCERTAINTY = np.append(
    np.rint(entropy(np.arange(CERTAIN + 1) / CERTAIN) * CERTAIN), NO_DATA
).astype(np.uint8)  # fmt: skip


class PredictionFiles:
    """Writes the rasters of a session into its folder; those of an earlier one are removed."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._number = folder, 0
        self._written: deque[Path] = deque()
        for path in folder.glob("prediction-*.tif"):
            if _NAME.fullmatch(path.name):
                self._number = max(self._number, int(path.stem.partition("-")[2]))
                with suppress(OSError):
                    path.unlink()

    def write(self, probability: np.ndarray, grid: Grid, show: str) -> Path:
        """Write a raster, and remove those that nobody needs any more.

        Parameters
        ----------
        probability : ndarray (height, width), uint8
            See `to_byte`.
        show : str
            probability or uncertainty.

        Raises
        ------
        OSError, OutputError
            The disk is full, or the folder is gone.
        """
        values = _UNCERTAINTY[probability] if show == UNCERTAINTY else probability
        self._number += 1
        path = self._folder / f"prediction-{self._number:06d}.tif"
        with replaced(path) as temporary:
            _write(temporary, values, grid, show)
        self._written.append(path)
        while len(self._written) > NEWER + 1:
            with suppress(OSError):  # a program of Windows that still reads it keeps it
                self._written.popleft().unlink()
        return path


def _write(path: Path, values: np.ndarray, grid: Grid, show: str) -> None:
    height, width = values.shape
    place = {"crs": grid.crs, "transform": grid.transform, "width": width, "height": height}
    storage = {"tiled": True, "blockxsize": _BLOCK_PX, "blockysize": _BLOCK_PX}
    with named_errors(path):
        with rasterio.open(
            path, "w", driver="GTiff", count=1, dtype="uint8", nodata=NO_DATA, **place, **storage
        ) as dataset:
            dataset.scales = (1 / CERTAIN,)
            dataset.set_band_description(1, f"road {show}")
            dataset.write(values, 1)
    check_geotiff(path, int(values.sum(dtype=np.int64)))
