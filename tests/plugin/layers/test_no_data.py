"""No data values of a layer in QGIS: options in the name of the raster, or a refusal."""

import math

import pytest
from osgeo import gdal
from qgis.core import QgsCoordinateReferenceSystem, QgsRasterLayer, QgsRasterRange
from roadseg.qgis_roadseg.layers import exchange
from roadseg.qgis_roadseg.rendering import mesh_painting
from roadseg.training_core.errors import ImageryError

pytestmark = pytest.mark.usefixtures("qgis_app")


@pytest.fixture
def make(tmp_path):
    """Return a function that makes a layer whose bands declare a value, and that has others of its own in QGIS."""

    def make(declared=None, additional=(), is_ticked=True, kind=gdal.GDT_Byte, count=3, options=()):
        path = str(tmp_path / "Bild ä.tif")
        dataset = gdal.GetDriverByName("GTiff").Create(path, 4, 4, count, kind, options=list(options))
        dataset.SetGeoTransform((350000, 0.5, 0, 3060000, 0, -0.5))
        for band in range(1, count + 1):
            if declared is not None:
                dataset.GetRasterBand(band).SetNoDataValue(declared)
        dataset = None
        layer = QgsRasterLayer(path, "Bild")
        provider = layer.dataProvider()
        for band in range(1, count + 1):
            provider.setUserNoDataValue(band, [QgsRasterRange(low, high) for low, high in additional])
            provider.setUseSourceNoDataValue(band, is_ticked)
        return layer

    return make


ZERO, NAN = (0, 0), math.nan


@pytest.mark.parametrize(
    ("setting", "option"),
    [
        ({}, ""),
        ({"declared": 7}, ""),
        ({"additional": [ZERO]}, "?a_nodata=0.0"),
        ({"additional": [(255, 255)]}, "?a_nodata=255.0"),
        ({"declared": 7, "is_ticked": False}, "?a_nodata=none"),
        ({"declared": 7, "is_ticked": False, "additional": [ZERO]}, "?a_nodata=0.0"),
        ({"declared": 0, "additional": [ZERO]}, "?a_nodata=0.0"),
        # Values that no pixel can have; GDAL would take the nearest one instead.
        ({"additional": [(-9999, -9999)]}, "?a_nodata=none"),
        ({"additional": [(0.5, 0.5), ZERO]}, "?a_nodata=0.0"),
        ({"additional": [(-9999.5, -9999.5)], "kind": gdal.GDT_Float32}, "?a_nodata=-9999.5"),
        ({"declared": NAN, "additional": [ZERO], "kind": gdal.GDT_Float32}, "?a_nodata=0.0"),
        ({"declared": 7, "is_ticked": False, "count": 4, "options": ["ALPHA=YES"]}, "?a_nodata=none"),
    ],
)
def test_one_value_or_none_is_part_of_the_name(make, setting, option):
    layer = make(**setting)
    path = layer.source()
    assert exchange.raster_path(layer) == (f"vrt://{path}{option}" if option else path)


def test_it_goes_with_a_crs_and_with_options_that_the_name_has(make):
    layer = make(additional=[ZERO])
    layer.setCrs(QgsCoordinateReferenceSystem("EPSG:32645"))
    assert exchange.raster_path(layer) == f"vrt://{layer.source()}?a_srs=EPSG:32645&a_nodata=0.0"
    first = QgsRasterLayer(f"vrt://{layer.source()}?bands=1", "Band")
    first.dataProvider().setUserNoDataValue(1, [QgsRasterRange(*ZERO)])
    assert exchange.raster_path(first) == f"vrt://{layer.source()}?bands=1&a_nodata=0.0"


@pytest.mark.parametrize(
    "setting",
    [{"declared": 7, "additional": [ZERO]}, {"additional": [ZERO, (9, 9)]}, {"additional": [(0, 5)]},
     {"additional": [(NAN, 5)]}],
)  # fmt: skip
def test_several_values_take_qgis(make, setting):
    layer = make(**setting)
    with pytest.raises(ImageryError, match="The layer Bild has several no data values in QGIS: only QGIS can read it"):
        exchange.raster_path(layer)


def in_one_band(layer):
    layer.dataProvider().setUserNoDataValue(2, [QgsRasterRange(9, 9)])


def scaled(layer):
    dataset = gdal.Open(layer.source(), gdal.GA_Update)
    dataset.GetRasterBand(1).SetScale(0.5)
    dataset = None
    layer.setDataSource(layer.source(), "Bild", "gdal")
    layer.dataProvider().setUserNoDataValue(1, [QgsRasterRange(*ZERO)])


@pytest.mark.parametrize(
    ("setting", "change", "told"),
    [
        ({"count": 4, "options": ["ALPHA=YES"]}, None, r"an alpha band or a mask.*-b 1 -b 2 -b 3"),
        ({}, in_one_band, r"other values in other bands.*-a_nodata"),
        ({"additional": []}, in_one_band, r"other values in other bands.*-a_nodata"),
        ({"count": 1}, scaled, r"a scale.*-unscale"),
    ],
)
def test_what_cannot_be_told_is_refused_with_the_remedy(make, setting, change, told):
    layer = make(**{"additional": [ZERO], **setting})
    if change is not None:
        change(layer)
    for hand_over in (exchange.raster_path, mesh_painting.provider_of):
        with pytest.raises(ImageryError, match=f"The layer Bild has additional no data values in QGIS and {told}"):
            hand_over(layer)
