"""A scene to try RoadSeg on, through QGIS' own command line client."""

from osgeo import gdal, ogr


def test_a_scene_is_made_with_its_roads(ground):
    dataset, source = gdal.Open(str(ground.image)), ogr.Open(str(ground.roads))
    layer = source.GetLayer(0)
    assert (dataset.RasterXSize, dataset.RasterCount) == (512, 3)
    assert layer.GetFeatureCount() == ground.made["COUNT"] > 0
    assert layer.GetSpatialRef().IsSame(dataset.GetSpatialRef())
    west, east, south, north = layer.GetExtent()
    left, pixel_m, _, top, _, _ = dataset.GetGeoTransform()
    assert pixel_m == 0.5
    assert left <= west <= east <= left + 512 * pixel_m and top - 512 * pixel_m <= south <= north <= top
