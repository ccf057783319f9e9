"""No data values of raster layers in QGIS: those of the file, unless they are unticked, and additional ones.

Scope: raster providers. Independent of how a file states such values.
"""

from __future__ import annotations

import math
from typing import Optional

from qgis.core import Qgis, QgsMapLayer, QgsRaster, QgsRasterDataProvider, QgsRasterLayer, QgsRasterRange

from ...training_core.errors import ImageryError


def ranges_of(provider: QgsRasterDataProvider, band: int = 1) -> list[QgsRasterRange]:
    """Return the no data ranges of a band in QGIS, the file's own value first.

    NaN, which is no data anyway, and values that the band cannot hold are left out.
    """
    is_used = provider.sourceHasNoDataValue(band) and provider.useSourceNoDataValue(band)
    declared = [provider.sourceNoDataValue(band)] if is_used else []
    ranges = [QgsRasterRange(value, value) for value in declared]
    ranges += [each for each in provider.userNoDataValues(band) if each not in ranges]
    return [each for each in ranges if _can_occur(each, provider.dataType(band))]


def _can_occur(values: QgsRasterRange, data_type: Qgis.DataType) -> bool:
    low, high = values.min(), values.max()
    if math.isnan(low) and math.isnan(high):
        return False
    return low != high or QgsRaster.representableValue(low, data_type) == low


def value_in(values: QgsRasterRange) -> float:
    """Return a value of a range, of which one end may be open."""
    return values.max() if math.isnan(values.min()) else values.min()


def own_ranges(layer: QgsRasterLayer) -> Optional[list[QgsRasterRange]]:
    """Return the no data ranges of a layer in QGIS, the same for all bands; None where they are those of its file."""
    provider = layer.dataProvider()
    return ranges_of(provider) if any(_is_changed(provider, band) for band in _bands(provider)) else None


def _is_changed(provider: QgsRasterDataProvider, band: int) -> bool:
    is_unticked = provider.sourceHasNoDataValue(band) and not provider.useSourceNoDataValue(band)
    return is_unticked or bool(provider.userNoDataValues(band))


def _bands(provider: QgsRasterDataProvider) -> range:
    return range(1, provider.bandCount() + 1)


def check_no_data(layer: QgsMapLayer) -> None:
    """Check that the worker can read a layer with the no data values that it has in QGIS.

    Raises ImageryError if the layer has values of its own in QGIS, and an alpha band, a scale, or bands with other
    values.
    """
    if not isinstance(layer, QgsRasterLayer) or own_ranges(layer) is None:
        return
    provider, alpha = layer.dataProvider(), Qgis.RasterColorInterpretation.AlphaBand
    bands = _bands(provider)
    ranges = [ranges_of(provider, band) for band in bands]
    if not any(ranges):
        return
    if any(provider.colorInterpretation(band) == alpha for band in bands):
        besides, remedy = "an alpha band or a mask", "-b 1 -b 2 -b 3 leaves out the alpha band"
    elif any((provider.bandScale(band), provider.bandOffset(band)) != (1, 0) for band in bands):
        besides, remedy = "a scale", "-unscale applies the scale"
    elif any(each != ranges[0] for each in ranges):
        besides, remedy = "other values in other bands", "-a_nodata declares one value for all bands"
    else:
        return
    raise ImageryError(
        f"The layer {layer.name()} has additional no data values in QGIS and {besides}. RoadSeg cannot combine these.",
        "Clear these values (Layer Properties, Transparency), or convert the file (Raster > Conversion > Translate, "
        f"where {remedy}).",
    )
