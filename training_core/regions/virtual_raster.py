"""Virtual rasters: several rasters on one grid read as one image, the upper ones where they have data.

One can be sent to a worker as JSON types; nothing of it is written to a disk. Scope: GDAL's VRT in memory, nodata
values, alpha bands and masks. Independent of models and of how scenes are found.
"""

from __future__ import annotations

import html
import math
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from affine import Affine
from rasterio import windows
from rasterio._err import CPLE_BaseError
from rasterio.crs import CRS
from rasterio.errors import RasterioError
from rasterio.io import MemoryFile

from ..errors import ImageryError
from ..geodata.grid import Grid, Window, common_window
from ..geodata.plain_rasters import virtual_band, virtual_dataset
from ..geodata.rasters import RESAMPLING_REACH_PX, Image, first_cause, open_image, open_raster
from .catalog import FULL, MASK, NODATA


@dataclass(frozen=True)
class VirtualBand:
    """A band: dtype in numpy, color (may be empty), and description."""

    dtype: str
    color: str
    description: str


@dataclass(frozen=True)
class VirtualSource:
    """One of the rasters; see `catalog.Scene`. It lies at `column` and `row` of the common grid.

    `numbers` are its bands in the common order, from 1. `nodata` has a value for each where the masking is NODATA.
    `plain` is read in place of the path unless empty.
    """

    path: str
    name: str
    version: str
    column: int
    row: int
    width: int
    height: int
    numbers: tuple[int, ...]
    masking: str
    nodata: tuple[str, ...] = ()
    plain: str = ""

    def overlap(self, window: Window) -> Window:
        """Return the part of a window of the common grid that this raster covers, in its own pixels."""
        column, row, width, height = common_window(window, (self.column, self.row, self.width, self.height))
        return column - self.column, row - self.row, width, height


@dataclass(frozen=True)
class VirtualRaster:
    """Rasters on one grid as one image, the lowest first.

    The model takes the bands with the numbers in `indexes`, from 1. Masking is FULL if the area of interest has data
    everywhere, NODATA if all sources share nodata values, or MASK. Without the raster `top`, unless empty, it shows
    nothing. If `is_strict`, nodata values count only where all bands have them, as in a raster by itself. The XML gets
    several times longer.
    """

    grid: Grid
    bands: tuple[VirtualBand, ...]
    indexes: tuple[int, ...]
    masking: str
    sources: tuple[VirtualSource, ...]
    top: str = ""
    is_strict: bool = True

    @property
    def title(self) -> str:
        """Its name in messages."""
        path = next((source.path for source in self.sources if source.name == self.top), self.sources[0].path)
        return path if self.top or len(self.sources) == 1 else f"the mosaic with {path}"

    @property
    def is_one_raster(self) -> bool:
        """Whether it is a single raster of the grid's size."""
        first = self.sources[0]
        return len(self.sources) == 1 and (first.width, first.height) == (self.grid.width, self.grid.height)

    def without(self, names: set[str]) -> "VirtualRaster":
        """Return it without some of its rasters."""
        rest = tuple(source for source in self.sources if source.name not in names)
        return replace(self, sources=rest, masking=MASK if self.masking == FULL else self.masking)

    def xml(self) -> str:
        """Return it as a VRT of GDAL."""
        transform = ", ".join(repr(float(value)) for value in self.grid.transform.to_gdal())
        parts = [f"<SRS>{html.escape(self.grid.crs.to_wkt())}</SRS><GeoTransform>{transform}</GeoTransform>"]
        for number, band in enumerate(self.bands):
            facts = f"<Description>{html.escape(band.description)}</Description>" if band.description else ""
            facts += f"<ColorInterp>{band.color.capitalize()}</ColorInterp>" if band.color else ""
            if self.masking == NODATA:
                facts += f"<NoDataValue>{self.sources[0].nodata[number]}</NoDataValue>"
            sources = "".join(_band_source(source, number, self) for source in self.sources)
            parts.append(virtual_band(number + 1, band.dtype, facts + sources))
        masks = []
        for source in self.sources if self.masking == MASK else ():
            path, numbers = _as_read(source, self)
            masks.append(_source("ComplexSource", source, path, f"mask,{numbers[0]}", "<NODATA>0</NODATA>"))
        return virtual_dataset(self.grid.width, self.grid.height, "".join(parts), "".join(masks))

    def to_document(self) -> dict[str, Any]:
        """Return it as JSON types; see `virtual_raster_from`."""
        parts = {"bands": [asdict(band) for band in self.bands], "sources": [asdict(source) for source in self.sources]}
        return {**vars(self), "grid": grid_document(self.grid), **parts}


def virtual_raster_from(document: dict[str, Any]) -> VirtualRaster:
    """Return what a document of `VirtualRaster.to_document` describes."""
    sources = tuple(
        VirtualSource(**{**source, "numbers": tuple(source["numbers"]), "nodata": tuple(source["nodata"])})
        for source in document["sources"]
    )
    parts = {"bands": tuple(VirtualBand(**band) for band in document["bands"]), "indexes": tuple(document["indexes"])}
    return VirtualRaster(**{**document, **parts, "grid": grid_from_document(document["grid"]), "sources": sources})


def grid_document(grid: Grid) -> dict[str, Any]:
    """Return a grid as JSON types."""
    return {"crs": grid.crs.to_wkt(), "transform": list(grid.transform)[:6], "size": [grid.width, grid.height]}


def grid_from_document(document: dict[str, Any]) -> Grid:
    """Return the grid that a document of `grid_document` describes."""
    return Grid(CRS.from_wkt(document["crs"]), Affine(*document["transform"]), *document["size"])


def _band_source(source: VirtualSource, number: int, whole: VirtualRaster) -> str:
    """Return the XML of a raster in a band, whose `number` counts from 0."""
    path, numbers = _as_read(source, whole)
    if source.masking == FULL:
        return _source("SimpleSource", source, path, str(numbers[number]))
    has_values = source.masking == NODATA and path == source.path
    masking = f"<NODATA>{source.nodata[number]}</NODATA>" if has_values else "<UseMaskBand>true</UseMaskBand>"
    return _source("ComplexSource", source, path, str(numbers[number]), masking)


def _as_read(source: VirtualSource, whole: VirtualRaster) -> tuple[str, tuple[int, ...]]:
    """Return the path and band numbers of a raster, or those of a nested one where only all nodata values count."""
    is_nested = source.masking == NODATA and whole.is_strict and len(source.numbers) > 1
    if is_nested and not any(math.isnan(float(value)) for value in source.nodata):
        return _nested(source, whole), tuple(range(1, len(source.numbers) + 1))
    return source.plain or source.path, source.numbers


def _nested(source: VirtualSource, whole: VirtualRaster) -> str:
    """Return a virtual raster in which a pixel has no data where all bands of a raster have the nodata value."""
    values = " ".join(source.nodata)
    parts = [f'<Metadata><MDI key="NODATA_VALUES">{values}</MDI></Metadata>']
    alone = replace(source, column=0, row=0)
    for number, band in enumerate(whole.bands):
        inner = _source("SimpleSource", alone, source.path, str(source.numbers[number]))
        parts.append(virtual_band(number + 1, band.dtype, inner))
    return virtual_dataset(source.width, source.height, "".join(parts))


def _source(kind: str, source: VirtualSource, path: str, band: str, more: str = "") -> str:
    size = f'xSize="{source.width}" ySize="{source.height}"'
    return (
        f'<{kind}><SourceFilename relativeToVRT="0">{html.escape(path)}</SourceFilename>'
        f'<SourceBand>{band}</SourceBand><SrcRect xOff="0" yOff="0" {size}/>'
        f'<DstRect xOff="{source.column}" yOff="{source.row}" {size}/>{more}</{kind}>'
    )


class VirtualImage:
    """A virtual raster to be read at a ground resolution, as `geodata.rasters.Image` is. A context manager.

    Rasters that turn out to be damaged are left out, as if they were not there, except the one on top. `resolution_m`
    of 0 means the rasters' own.
    """

    def __init__(self, raster: VirtualRaster, resolution_m: float = 0.0) -> None:
        self._raster, self._resolution_m = raster, resolution_m
        self.name = raster.title
        self.left_out: list[str] = []
        self._checked: set[str] = set()
        self._closing = ExitStack()
        self._image = self._open()
        self.grid = self._image.grid

    def __enter__(self) -> "VirtualImage":
        return self

    def __exit__(self, *error: object) -> None:
        self._closing.close()

    def read(self, column: int, row: int, width: int, height: int) -> tuple[np.ndarray, np.ndarray]:
        """Read values, (bands, height, width), dtype of the rasters, and whether they are known, (height, width) bool.

        Raises ImageryError if the raster on top, or all of them, cannot be read.
        """
        # The window of the rasters' own grid that resampling may read.
        first, across = _span_read(column, width, self.grid.width, self._raster.grid.width)
        top, down = _span_read(row, height, self.grid.height, self._raster.grid.height)
        window = first, top, across, down
        self._check_sources(window)
        while True:
            try:
                return self._image.read(column, row, width, height)
            except (RasterioError, CPLE_BaseError) as error:
                damaged = {source.name for source in self._raster.sources if not _is_readable(source, window)}
                self._leave_out(damaged, error)

    def _open(self) -> Image:
        raster = self._raster
        if raster.is_one_raster:
            source = raster.sources[0]
            dataset = self._closing.enter_context(open_image(source.path))
            indexes = tuple(source.numbers[index - 1] for index in raster.indexes)
        else:
            file = self._closing.enter_context(MemoryFile(raster.xml().encode(), ext=".vrt"))
            dataset, indexes = self._closing.enter_context(file.open()), raster.indexes
        return self._closing.enter_context(Image(dataset, indexes, self._resolution_m))

    def _check_sources(self, window: Window) -> None:
        """Leave out the rasters within a window of their own grid that cannot be opened, or have changed.

        A virtual raster reports one that cannot be opened only once, and then takes its pixels for zeros.
        """
        if self._raster.is_one_raster:
            return
        damaged: dict[str, ImageryError] = {}
        for source in self._raster.sources:
            if source.name not in self._checked and source.overlap(window)[2]:
                self._checked.add(source.name)
                try:
                    with open_raster(source.path) as dataset:
                        if dataset.shape != (source.height, source.width):
                            raise ImageryError(f"{source.path} has changed meanwhile.", "Start the job again.")
                except ImageryError as error:
                    damaged[source.name] = error
        if damaged:
            self._leave_out(set(damaged), damaged.get(self._raster.top) or next(iter(damaged.values())))

    def _leave_out(self, damaged: set[str], error: Exception) -> None:
        """Go on without some rasters, if others are left."""
        if not damaged or self._raster.top in damaged or len(damaged) == len(self._raster.sources):
            if isinstance(error, ImageryError):
                raise error
            raise ImageryError(
                f"{self.name} cannot be read: {first_cause(error)}", "Check that the file was copied whole."
            ) from error
        self.left_out += sorted(damaged)
        self._raster = self._raster.without(damaged)
        self._closing.close()
        self._image = self._open()


def _span_read(start: int, size: int, of_px: int, to_px: int) -> tuple[int, int]:
    """Return start and length of the pixels that a span depends on, when a side of `to_px` is resampled to `of_px`."""
    scale = to_px / of_px
    first = max(0, math.floor(start * scale) - RESAMPLING_REACH_PX)
    return first, min(to_px, math.ceil((start + size) * scale) + RESAMPLING_REACH_PX) - first


def _is_readable(source: VirtualSource, window: Window) -> bool:
    own = windows.Window(*source.overlap(window))
    if not own.width or not own.height:
        return True
    try:
        with open_image(source.path) as dataset:
            dataset.read(list(source.numbers), window=own)
            dataset.dataset_mask(window=own)
    except (ImageryError, CPLE_BaseError):
        return False
    return True
