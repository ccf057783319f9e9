"""Small rasters and vector layers with known answers."""

from __future__ import annotations

from pathlib import Path

import geopandas
import numpy as np
import rasterio
from affine import Affine
from shapely.geometry.base import BaseGeometry

UTM = "EPSG:32633"
# One-meter pixels near Berlin.
NORTH_UP = Affine(1, 0, 390000, 0, -1, 5820000)


def write_raster(
    path: Path, values: np.ndarray, crs: str | None = UTM, transform: Affine = NORTH_UP, **profile: object
) -> str:
    values = np.asarray(values)
    if values.ndim == 2:
        values = values[None]
    count, height, width = values.shape
    with rasterio.open(
        path, "w", driver="GTiff", crs=crs, transform=transform, width=width, height=height, count=count,
        dtype=values.dtype, **profile,
    ) as dataset:  # fmt: skip
        dataset.write(values)
    return str(path)


def layer(*geometries: BaseGeometry, crs: str = UTM, **columns: list) -> geopandas.GeoDataFrame:
    return geopandas.GeoDataFrame(columns, geometry=list(geometries), crs=crs)


def write_layer(path: Path, *geometries: BaseGeometry, crs: str = UTM, **columns: list) -> str:
    layer(*geometries, crs=crs, **columns).to_file(path)
    return str(path)


def files(folder: Path) -> list[str]:
    """Return the names of all files below a folder, sorted."""
    return sorted(path.name for path in folder.rglob("*") if path.is_file())
