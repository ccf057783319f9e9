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
    path: Path,
    values: np.ndarray,
    crs: str | None = UTM,
    transform: Affine | None = NORTH_UP,
    driver: str = "GTiff",
    **profile: object,
) -> str:
    values = np.asarray(values)
    if values.ndim == 2:
        values = values[None]
    count, height, width = values.shape
    with rasterio.open(
        path, "w", driver=driver, crs=crs, transform=transform, width=width, height=height, count=count,
        dtype=values.dtype, **profile,
    ) as dataset:  # fmt: skip
        dataset.write(values)
    return str(path)


def write_mosaic(path: Path, parts: dict[Path, tuple[int, int]], side_px: int) -> str:
    """Write a virtual raster of red, green and blue, of files beside it with their columns and rows in it."""
    bands = []
    for number, color in enumerate(("Red", "Green", "Blue"), 1):
        sources = ""
        for file, (column, row) in parts.items():
            with rasterio.open(file) as dataset:
                size = f'xSize="{dataset.width}" ySize="{dataset.height}"'
            sources += (
                f'<SimpleSource><SourceFilename relativeToVRT="1">{file.name}</SourceFilename>'
                f'<SourceBand>{number}</SourceBand><SrcRect xOff="0" yOff="0" {size}/>'
                f'<DstRect xOff="{column}" yOff="{row}" {size}/></SimpleSource>'
            )
        head = f'dataType="Byte" band="{number}"><ColorInterp>{color}</ColorInterp>'
        bands.append(f"<VRTRasterBand {head}{sources}</VRTRasterBand>")
    place = ", ".join(map(str, NORTH_UP.to_gdal()))
    path.write_text(
        f'<VRTDataset rasterXSize="{side_px}" rasterYSize="{side_px}"><SRS>{UTM}</SRS>'
        f"<GeoTransform>{place}</GeoTransform>{''.join(bands)}</VRTDataset>",
        encoding="utf-8",
    )
    return str(path)


def layer(*geometries: BaseGeometry, crs: str = UTM, **columns: list) -> geopandas.GeoDataFrame:
    return geopandas.GeoDataFrame(columns, geometry=list(geometries), crs=crs)


def write_layer(path: Path, *geometries: BaseGeometry, crs: str = UTM, **columns: list) -> str:
    layer(*geometries, crs=crs, **columns).to_file(path)
    return str(path)


def files(folder: Path) -> list[str]:
    """Return the names of all files below a folder, sorted."""
    return sorted(path.name for path in folder.rglob("*") if path.is_file())
