"""A scene to try RoadSeg on, through QGIS' own command line client."""

from osgeo import gdal, ogr

import headless


def test_a_scene_is_made_with_its_roads(tmp_path):
    image, roads = str(tmp_path / "Szene ß.tif"), str(tmp_path / "roads.gpkg")
    made = headless.run(
        "roadseg:makescene", {"SIZE_PX": 256, "SEED": 3, "LAYOUT": "mixed", "RASTER": image, "OUTPUT": roads}
    )
    dataset, source = gdal.Open(image), ogr.Open(roads)
    layer = source.GetLayer(0)
    assert (dataset.RasterXSize, dataset.RasterCount) == (256, 3)
    assert layer.GetFeatureCount() == made["COUNT"] > 0
    assert layer.GetSpatialRef().IsSame(dataset.GetSpatialRef())
    west, east, south, north = layer.GetExtent()
    left, pixel_m, _, top, _, _ = dataset.GetGeoTransform()
    assert pixel_m == 0.5
    assert left <= west <= east <= left + 256 * pixel_m and top - 256 * pixel_m <= south <= north <= top
