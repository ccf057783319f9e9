"""Plain rasters: one statement of where a raster has data, and colors in place of a palette.

GDAL has many ways to say that a pixel has no data, and its warper and its virtual rasters know some of them for some
types of numbers alone. What they do not know, a virtual raster in memory says by a mask. Scope: nodata values, alpha,
masks and color tables of a dataset. Independent of what its pixels mean.
"""

from __future__ import annotations

import html
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from operator import attrgetter
from typing import Any

import numpy as np
import rasterio
from rasterio._path import _parse_path, _vsi_path
from rasterio.enums import ColorInterp, MaskFlags
from rasterio.errors import NotGeoreferencedWarning
from rasterio.io import DatasetReader
from rasterio.windows import Window

from ..errors import ImageryError
from ..system import large_arrays

# The types of pixels in GDAL's virtual rasters.
_NAMES = ("Int8", "UInt16", "Int16", "UInt32", "Int32", "UInt64", "Int64", "Float32", "Float64")
DTYPES = {"uint8": "Byte", **{name.lower(): name for name in _NAMES}}
# Formats whose color tables have alpha; in those of others, GDAL makes the entry of the nodata value transparent.
_WITH_ALPHA = ("PNG", "GIF")
_BLACK = (0, 0, 0)
# GDAL rounds the values of a mask to 0 to 255, an alpha of 0.3 to 0.
_FLOATING_ALPHA = "<LUT>0:0,1e-30:255</LUT>"

# The red, green, blue and alpha of indexes, from 0 to 255.
ColorTable = Mapping[int, tuple[int, ...]]


class PlainRaster(DatasetReader):
    """A virtual raster with the name and the place of the dataset that it shows, and with some colors unless empty."""

    def __init__(self, xml: str, dataset: DatasetReader, colors: Sequence[ColorInterp] = ()) -> None:
        self.xml, self.source = xml, dataset
        with rasterio.Env(), warnings.catch_warnings():
            warnings.simplefilter("ignore", NotGeoreferencedWarning)
            super().__init__(xml)
        self.colors = tuple(colors) or super().colorinterp

    colorinterp = property(attrgetter("colors"))
    name = property(attrgetter("source.name"))
    files = property(attrgetter("source.files"))
    crs = property(attrgetter("source.crs"))
    transform = property(attrgetter("source.transform"))
    gcps = property(attrgetter("source.gcps"))
    rpcs = property(attrgetter("source.rpcs"))

    def tags(self, *band: Any, **namespace: Any) -> dict[str, str]:
        """Return the tags of the dataset."""
        return dict(self.source.tags(*band, **namespace))


def valid_pixels(source: DatasetReader, window: Window, values: np.ndarray) -> np.ndarray:
    """Return where values of an image in a window, (bands, height, width), are measurements: (height, width), bool.

    The image is one of `plain_image`, also warped or reduced. NaN and infinity are no measurements.
    """
    flags, alpha, shape = source.mask_flag_enums, alpha_band(source), values.shape[1:]
    if alpha and MaskFlags.per_dataset not in flags[0]:  # GDAL treats it as alpha only for a few types of numbers
        valid = source.read(alpha, window=window, out_shape=shape) > 0
    elif all(MaskFlags.all_valid in band for band in flags):
        valid = np.ones(shape, dtype=bool)
    else:
        valid = source.dataset_mask(window=window, out_shape=shape) > 0
    if np.issubdtype(values.dtype, np.floating):
        valid &= np.isfinite(values).all(axis=0)
    return valid


def shown_pixels(source: DatasetReader, window: Window) -> np.ndarray:
    """Return where neither alpha nor a mask of a raster hides its pixels, whatever the nodata: (height, width), bool.

    So masks of roads are read, in which the background is often declared as nodata, to see through it.
    """
    alpha = alpha_band(source)
    if alpha:
        return source.read(alpha, window=window) > 0
    if {MaskFlags.all_valid, MaskFlags.nodata} & set(source.mask_flag_enums[0]):
        return np.ones((int(window.height), int(window.width)), dtype=bool)
    return source.read_masks(1, window=window) > 0


def alpha_band(dataset: DatasetReader) -> int:
    """Return the number of the first alpha band, or 0."""
    return next((index for index, color in zip(dataset.indexes, dataset.colorinterp) if color == ColorInterp.alpha), 0)


def has_own_mask(dataset: DatasetReader) -> bool:
    """Whether a mask, and no alpha band, says for all bands which pixels are valid."""
    return MaskFlags.per_dataset in (flags := dataset.mask_flag_enums[0]) and MaskFlags.alpha not in flags


def has_unmarked_floats(dataset: DatasetReader) -> bool:
    """Whether NaN is the only way in which an image can say that a pixel has no data."""
    is_marked = not all(MaskFlags.all_valid in flags for flags in dataset.mask_flag_enums)
    return not is_marked and all(np.issubdtype(np.dtype(dtype), np.floating) for dtype in dataset.dtypes)


@contextmanager
def plain_image(dataset: DatasetReader) -> Iterator[DatasetReader]:
    """Yield an image as it is, or as a virtual raster of the same name that states plainly what it holds.

    A pixel has no data where alpha or a mask hides it or, without these, where all bands have their nodata value. The
    plain image says so by one nodata value of all bands, an alpha band that GDAL knows as one, or a mask. Its bands
    keep their numbers, except that a palette becomes red, green and blue, or gray if it has only grays. Raises
    ImageryError if the mask has another size, or the color table is none or lacks colors of pixels.
    """
    _require_fitting_mask(dataset)
    alpha, colors = alpha_band(dataset), dataset.colorinterp
    if ColorInterp.palette in colors:
        table, others = _color_table(dataset), dataset.count - bool(alpha) - 1
        if others or len(table) < 2:
            number = f"{len(table)} {'color' if len(table) == 1 else 'colors'}"
            fault = f"a color table and {others} bands beside it" if others else f"a color table of {number}"
            raise _no_picture(dataset, fault)
        xml, colors = _expanded(dataset, table, _entries_shown(dataset, table), alpha), ()
    elif _is_plain(dataset, alpha):
        yield dataset
        return
    else:
        bands = [_band(dataset, index) for index in dataset.indexes]
        xml = _virtual(dataset, bands, _mask_sources(dataset, alpha))
    with PlainRaster(xml, dataset, colors) as plain:
        yield plain


@contextmanager
def plain_mask(dataset: DatasetReader, road_values: Collection[float] = ()) -> Iterator[DatasetReader]:
    """Yield a raster of a mask as it is, or as a virtual raster of its values, and of what alpha hides.

    A palette of grays, such as black and white, means these grays, so that two masks that look the same are the same;
    values that were named may mean its indexes. Other palettes only color the indexes. Raises ImageryError if the mask
    of the raster has another size, pixels have no color, or indexes and colors of road and background contradict.
    """
    _require_fitting_mask(dataset)
    xml = _mask_xml(dataset, road_values)
    if not xml:
        yield dataset
        return
    with PlainRaster(xml, dataset) as plain:
        yield plain


def _mask_xml(dataset: DatasetReader, road_values: Collection[float]) -> str:
    """Return the virtual raster of `plain_mask`, or nothing where the dataset says all that itself."""
    alpha = alpha_band(dataset)
    bands = [index for index in dataset.indexes if index != alpha]
    shown: dict[int, bool] = {}
    if [dataset.colorinterp[index - 1] for index in bands] == [ColorInterp.palette]:
        table = _color_table(dataset)
        shown = _entries_shown(dataset, table)
        if dataset.nodata == 0 and dataset.driver not in _WITH_ALPHA:
            shown[0] = True  # declared for the background, to see through it
        grays = _grays(table, shown)
        if grays and grays.issuperset(road_values):
            return _expanded(dataset, table, shown, alpha)
        if not road_values and shown.get(0) and table.get(1, ())[:3] == _BLACK != table[0][:3]:
            raise ImageryError(
                f"The mask {dataset.name} has a palette of colors in which 1, usually road, is black, and 0, usually "
                "background, is not. It is not clear which of them is road.",
                "State which values are road (road_values), or save the mask with one band of 0 and 255.",
            )
        shown |= {index: True for index in shown if index == dataset.nodata != 0}  # the value itself says it
    is_known = MaskFlags.alpha in dataset.mask_flag_enums[0] if alpha else all(shown.values())
    if is_known:
        return ""
    mask = _mask_sources(dataset, alpha) if alpha else _mask_of_entries(dataset, bands[0], shown)
    return _virtual(dataset, [_band(dataset, index, has_nodata=True) for index in bands], mask)


def _is_plain(dataset: DatasetReader, alpha: int) -> bool:
    """Whether GDAL and its warper know where an image, of no palette, has data."""
    flags, nodata = dataset.mask_flag_enums, {str(value) for value in dataset.nodatavals}
    if alpha:
        return MaskFlags.alpha in flags[0] and dataset.dtypes[alpha - 1] == "uint8"
    if has_own_mask(dataset):
        return nodata == {"None"}
    return bool(flags[0]) and all(each == flags[0] for each in flags) and len(nodata) == 1


def _mask_sources(dataset: DatasetReader, alpha: int) -> str:
    """Return the sources of a mask that has 0 where an image has no data; later ones are on top."""
    if alpha:
        is_floating = np.issubdtype(np.dtype(dataset.dtypes[alpha - 1]), np.floating)
        return _source(dataset, str(alpha), _FLOATING_ALPHA if is_floating else "") + _hiding(dataset)
    if has_own_mask(dataset):
        return _source(dataset, "mask,1")
    if any(MaskFlags.all_valid in flags for flags in dataset.mask_flag_enums):
        return ""
    return "".join(_source(dataset, f"mask,{index}", "<NODATA>0</NODATA>") for index in dataset.indexes)


def _hiding(dataset: DatasetReader) -> str:
    """Return the source of what a dataset's own mask hides, to be laid over another."""
    return _source(dataset, "mask,1", "<NODATA>255</NODATA>") if has_own_mask(dataset) else ""


def _mask_of_entries(dataset: DatasetReader, band: int, shown: Mapping[int, bool]) -> str:
    """Return the sources of a mask from which indexes of a palette are `shown`."""
    levels = ",".join(f"{index}:{255 * is_shown}" for index, is_shown in sorted(shown.items()))
    return _source(dataset, str(band), f"<LUT>{levels}</LUT>") + _hiding(dataset)


def _expanded(dataset: DatasetReader, table: ColorTable, shown: Mapping[int, bool], alpha: int) -> str:
    """Return a paletted raster as a virtual one of gray, or of red, green and blue.

    Raises ImageryError if pixels have no color.
    """
    band = 2 if alpha == 1 else 1
    _require_colors(dataset, band, shown)
    if alpha or not all(shown.values()):
        mask = _mask_sources(dataset, alpha) if alpha else _mask_of_entries(dataset, band, shown)
    else:
        mask = _source(dataset, "mask,1") if has_own_mask(dataset) else ""
    colors = ["Gray"] if _grays(table, shown) else ["Red", "Green", "Blue"]
    bands = []
    for number, color in enumerate(colors, 1):
        source = _source(dataset, str(band), f"<ColorTableComponent>{number}</ColorTableComponent>")
        bands.append(virtual_band(number, "uint8", f"<ColorInterp>{color}</ColorInterp>{source}"))
    return _virtual(dataset, bands, mask)


def _color_table(dataset: DatasetReader) -> ColorTable:
    band = dataset.colorinterp.index(ColorInterp.palette) + 1
    try:
        return dict(dataset.colormap(band))
    except ValueError:  # it has none
        return {}


def _entries_shown(dataset: DatasetReader, table: ColorTable) -> dict[int, bool]:
    """Return which indexes of a palette, and of its nodata value, are shown."""
    shown = {index: color[3] > 0 for index, color in table.items()}
    if dataset.nodata is not None and float(dataset.nodata).is_integer():
        shown[int(dataset.nodata)] = False
    return shown


def _grays(table: ColorTable, shown: Mapping[int, bool]) -> set[float]:
    """Return the grays of a palette, or nothing if it shows other colors."""
    colors = {color[:3] for index, color in table.items() if shown[index]}
    return {float(red) for red, *_ in colors} if all(len(set(color)) == 1 for color in colors) else set()


def _require_colors(dataset: DatasetReader, band: int, known: Collection[int]) -> None:
    """Raise ImageryError if a palette has no color of some pixels, which GDAL takes for black."""
    limits = np.iinfo(dataset.dtypes[band - 1]) if dataset.dtypes[band - 1].startswith(("int", "uint")) else None
    bits = int(dataset.tags(band, ns="IMAGE_STRUCTURE").get("NBITS", limits.bits if limits else 64))
    if limits and limits.min == 0 and len(known) >= 2**bits:
        return
    for rows in large_arrays.strips(dataset.height, dataset.width):
        window = Window(0, rows.start, dataset.width, rows.stop - rows.start)
        strange = set(np.unique(dataset.read(band, window=window)).tolist()) - set(known)
        if strange:
            raise _no_picture(dataset, f"no color for the index {min(strange):g} of some pixels")


def _no_picture(dataset: DatasetReader, fault: str) -> ImageryError:
    return ImageryError(
        f"{dataset.name} is no picture with a palette: it has {fault}.",
        "Give it a complete color table, or convert it to red, green and blue (Raster > Conversion > PCT to RGB).",
    )


def _require_fitting_mask(dataset: DatasetReader) -> None:
    """Raise ImageryError if the mask in a file beside a raster has another size; GDAL reads what lies in its corner."""
    if not has_own_mask(dataset):
        return
    for path in (each for each in dataset.files if each.endswith(".msk")):
        with rasterio.open(path) as mask, rasterio.open(path.removesuffix(".msk")) as masked:
            if mask.shape != masked.shape:
                sizes = [f"{width:,} x {height:,}" for height, width in (mask.shape, masked.shape)]
                raise ImageryError(
                    f"The mask {path} has {sizes[0]} pixels, but its raster has {sizes[1]}.",
                    "Make the mask again, or delete it.",
                )


def _band(dataset: DatasetReader, index: int, has_nodata: bool = False) -> str:
    """Return a band of a virtual raster with the values and facts of a dataset's band."""
    color, description, nodata = (
        of_bands[index - 1] for of_bands in (dataset.colorinterp, dataset.descriptions, dataset.nodatavals)
    )
    facts = f"<Description>{html.escape(description)}</Description>" if description else ""
    if color in (ColorInterp.gray, ColorInterp.red, ColorInterp.green, ColorInterp.blue):
        facts += f"<ColorInterp>{color.name.capitalize()}</ColorInterp>"
    if has_nodata and nodata is not None:
        facts += f"<NoDataValue>{nodata!r}</NoDataValue>"
    facts += f"<Offset>{dataset.offsets[index - 1]!r}</Offset><Scale>{dataset.scales[index - 1]!r}</Scale>"
    return virtual_band(index, dataset.dtypes[index - 1], facts + _source(dataset, str(index)))


def _source(dataset: DatasetReader, band: str, more: str = "") -> str:
    kind = "ComplexSource" if more else "SimpleSource"
    path = _vsi_path(_parse_path(dataset.name))  # GDAL knows nothing of file://, zip:// and https://
    name = f'<SourceFilename relativeToVRT="0">{html.escape(path)}</SourceFilename>'
    return f"<{kind}>{name}<SourceBand>{band}</SourceBand>{more}</{kind}>"


def _virtual(dataset: DatasetReader, bands: Sequence[str], mask: str) -> str:
    return virtual_dataset(dataset.width, dataset.height, "".join(bands), mask)


def virtual_dataset(width: int, height: int, inner: str, mask: str = "") -> str:
    """Return the XML of a virtual raster of GDAL, from that of its bands and of the sources of its mask."""
    mask_band = f"<MaskBand>{virtual_band(0, 'uint8', mask)}</MaskBand>" if mask else ""
    return f'<VRTDataset rasterXSize="{width}" rasterYSize="{height}">{inner}{mask_band}</VRTDataset>'


def virtual_band(number: int, dtype: str, inner: str) -> str:
    """Return the XML of a band of a virtual raster, numbered from 1, or of its mask, which has no number."""
    place = f' band="{number}"' if number else ""
    return f'<VRTRasterBand dataType="{DTYPES[dtype]}"{place}>{inner}</VRTRasterBand>'
