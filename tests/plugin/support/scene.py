"""A scene as small as can be: an image, and two roads of which one lies in both halves."""

from osgeo import gdal, ogr, osr

SIDE_PX, PIXEL_M, WEST, NORTH = 800, 0.5, 500_000, 5_400_400
# In meters from the north-western corner, with their widths: 300 m across the middle, and 100 m in the eastern half.
ROADS = [([(50, -100), (350, -100)], 8.0), ([(250, -200), (350, -200)], 5.0)]


def write_scene(folder):
    """Write the scene's files; return their paths."""
    image, roads = str(folder / "given scene.tif"), str(folder / "given roads.gpkg")
    system = osr.SpatialReference()
    system.ImportFromEPSG(32633)
    dataset = gdal.GetDriverByName("GTiff").Create(image, SIDE_PX, SIDE_PX, 3, gdal.GDT_Byte)
    dataset.SetGeoTransform((WEST, PIXEL_M, 0, NORTH, 0, -PIXEL_M))
    dataset.SetProjection(system.ExportToWkt())
    dataset.FlushCache()
    source = ogr.GetDriverByName("GPKG").CreateDataSource(roads)
    layer = source.CreateLayer("roads", system, ogr.wkbLineString)
    layer.CreateField(ogr.FieldDefn("width_m", ogr.OFTReal))
    for points, width_m in ROADS:
        feature, line = ogr.Feature(layer.GetLayerDefn()), ogr.Geometry(ogr.wkbLineString)
        for east, north in points:
            line.AddPoint_2D(WEST + east, NORTH + north)
        feature.SetGeometry(line)
        feature["width_m"] = width_m
        layer.CreateFeature(feature)
    return image, roads
