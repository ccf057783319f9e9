"""Images that say, each in another way, that a hole in them has no data.

A way takes a folder, an image of 10 to 99, (3, height, width) uint8, and its hole, (height, width) bool. It returns the
path of a file, and what the bands of this file show around the hole.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import rasterio
import rasterio.shutil
from rasterio.enums import ColorInterp

from tests.core.support.rasters import write_raster

COLORS = {"r": ColorInterp.red, "g": ColorInterp.green, "b": ColorInterp.blue, "a": ColorInterp.alpha}
# A value and index of no image.
STRANGE = 200


def write(path, values, layout, mask=None, is_internal=True, **profile):
    """Write an image whose layout has a letter for each band; those that are no color's name none."""
    write_raster(path, values, photometric="minisblack", **profile)
    with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=is_internal), rasterio.open(path, "r+") as dataset:
        dataset.colorinterp = [COLORS.get(each, ColorInterp.undefined) for each in layout]
        if mask is not None:
            dataset.write_mask(mask)
    return str(path)


def edited(path, before, *texts):
    """Return a virtual raster of a file, with texts for its bands, each before some text of the XML."""
    virtual = Path(path).with_suffix(".vrt")
    rasterio.shutil.copy(path, virtual, driver="VRT")
    head, *bands = virtual.read_text().split(before, len(texts))
    virtual.write_text(head + "".join(f"{text}{before}{band}" for text, band in zip(texts, bands, strict=True)))
    return str(virtual)


def write_palette(path, indexes, table, **profile):
    """Write indexes, (height, width) or (bands, height, width) uint8; the first band has a color table of RGBA."""
    entries = "".join('<Entry c1="{}" c2="{}" c3="{}" c4="{}"/>'.format(*color) for color in table)
    colors = f"<ColorInterp>Palette</ColorInterp><ColorTable>{entries}</ColorTable>"
    plain = write(
        Path(path).with_suffix(".indexes.tif"),
        np.atleast_3d(indexes.T).T,
        "x" * (indexes.ndim == 2 or len(indexes)),
        **profile,
    )
    virtual = edited(plain, "<SimpleSource>", colors)
    rasterio.shutil.copy(virtual, path, driver={".tif": "GTiff", ".png": "PNG", ".vrt": "VRT"}[Path(path).suffix])
    return str(path)


def alpha(layout, dtype, folder, image, hole, masked=False, **profile):
    bands = np.concatenate([image, image])[: len(layout) - 1].astype(dtype)
    shown = np.where(hole & (not masked), 0, 0.3 if dtype == "float32" else 1).astype(dtype)
    written = np.insert(bands, layout.index("a"), shown, axis=0)
    return write(folder / "image.tif", written, layout, ~hole if masked else None, **profile), bands


def mask(dtype, folder, image, hole, **profile):
    return write(folder / "image.tif", image.astype(dtype), "rgb", ~hole, **profile), image.astype(dtype)


def values(dtype, values, folder, image, hole, nodata=None):
    """Write with some values of the three bands in the hole, declared by one for all or, if they differ, each."""
    written = image.astype(dtype)
    written[:, hole] = np.array(values, dtype)[:, None]
    path = write(folder / "image.tif", written, "rgb", nodata=nodata)
    if len({*map(str, values)}) > 1:
        path = edited(path, "<ColorInterp>", *(f"<NoDataValue>{value}</NoDataValue>" for value in values))
    return path, image.astype(dtype)


def palette(scales, folder, image, hole, alpha=255, masked=False, **profile):
    """Write indexes of a palette of multiples of the index, and STRANGE in the hole, unless it is masked."""
    table = [(*(index * scale % 256 for scale in scales), alpha if index == STRANGE else 255) for index in range(256)]
    indexes = np.where(hole & (not masked), STRANGE, image[0]).astype("uint8")
    path = write_palette(folder / "image.vrt", indexes, table, mask=~hole if masked else None, **profile)
    return path, np.stack([image[0] * np.uint8(scale) for scale in scales[: 3 if len({*scales}) > 1 else 1]])


WAYS = {
    **{f"alpha, {dtype}": partial(alpha, "rgba", dtype) for dtype in ("uint8", "uint16", "int16", "uint32", "float32")},
    **{f"alpha fifth, {dtype}": partial(alpha, "rgbxa", dtype) for dtype in ("uint8", "uint16", "int32", "float64")},
    **{f"gray and alpha, {dtype}": partial(alpha, "xa", dtype) for dtype in ("uint8", "int16", "float32")},
    **{f"mask, {dtype}": partial(mask, dtype) for dtype in ("uint8", "uint16", "int16", "uint32", "float32")},
    "alpha first": partial(alpha, "argb", "uint8"),
    "alpha and nodata": partial(alpha, "rgba", "uint8", nodata=20),
    "alpha and mask": partial(alpha, "rgba", "uint8", masked=True),
    "mask in a file": partial(mask, "int16", is_internal=False),
    "mask and nodata": partial(mask, "uint8", nodata=20),
    "nodata": partial(values, "int16", (-1, -1, -1), nodata=-1),
    "nodata of each band": partial(values, "uint8", (1, 2, 3)),
    "nodata of each band, NaN": partial(values, "float32", (-1, np.nan, -1)),
    "NaN": partial(values, "float32", (np.nan, np.nan, np.nan), nodata=np.nan),
    "NaN, undeclared": partial(values, "float32", (np.nan, np.nan, np.nan)),
    "palette with alpha": partial(palette, (1, 2, 3), alpha=0),
    "palette with nodata": partial(palette, (1, 2, 3), nodata=STRANGE),
    "palette with a mask": partial(palette, (1, 2, 3), masked=True),
    "gray palette with alpha": partial(palette, (2, 2, 2), alpha=0),
}
