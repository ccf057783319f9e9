"""Values that an algorithm's parameters take, made from their declarations alone: files of each kind, and outputs."""

from osgeo import gdal, ogr, osr
from qgis.core import (
    QgsProcessing,
    QgsProcessingParameterDefinition,
    QgsProcessingParameterExtent,
    QgsProcessingParameterFeatureSource,
    QgsProcessingParameterField,
    QgsProcessingParameterFile,
    QgsProcessingParameterMapLayer,
    QgsProcessingParameterMultipleLayers,
    QgsProcessingParameterRasterLayer,
)

KINDS = QgsProcessing.SourceType
SHAPES = {
    "points": (KINDS.TypeVectorPoint, "Point (350005 3059995)"),
    "lines": (KINDS.TypeVectorLine, "LineString (350001 3059999, 350011 3059990)"),
    "polygons": (KINDS.TypeVectorPolygon, "Polygon ((350001 3059999, 350011 3059999, 350011 3059990, 350001 3059999))"),
}
_OPTIONAL = QgsProcessingParameterDefinition.Flag.FlagOptional
# Inputs that exclude others.
_INSTEAD = {"MASKS": ("ROADS", "NO_ROAD")}
_LAYERS = (
    QgsProcessingParameterMapLayer,
    QgsProcessingParameterRasterLayer,
    QgsProcessingParameterFeatureSource,
)


def make_container(path):
    """Write a GeoPackage with an image, a layer of each shape with a field, and return its path as text."""
    system = osr.SpatialReference()
    system.ImportFromEPSG(32645)
    image = gdal.GetDriverByName("GPKG").Create(
        str(path), 40, 30, 3, gdal.GDT_Byte, options=["RASTER_TABLE=image", "TILE_FORMAT=PNG"]
    )
    image.SetGeoTransform((350000, 0.5, 0, 3060000, 0, -0.5))
    image.SetProjection(system.ExportToWkt())
    del image  # which closes it
    layers = ogr.Open(str(path), update=1)
    for name, (_, shape) in SHAPES.items():
        layer = layers.CreateLayer(name, system, ogr.CreateGeometryFromWkt(shape).GetGeometryType())
        layer.CreateField(ogr.FieldDefn("width_m", ogr.OFTReal))
        feature = ogr.Feature(layer.GetLayerDefn())
        feature.SetGeometry(ogr.CreateGeometryFromWkt(shape))
        feature.SetField("width_m", 4.0)
        layer.CreateFeature(feature)
    return str(path)


def inputs_of(algorithm):
    """Return the parameters of an algorithm that take layers or files."""
    return [each for each in algorithm.parameterDefinitions() if not each.isDestination() and _is_input(each)]


def _is_input(parameter):
    if isinstance(parameter, QgsProcessingParameterFile):
        return parameter.behavior() == QgsProcessingParameterFile.Behavior.File
    return isinstance(parameter, (*_LAYERS, QgsProcessingParameterMultipleLayers))


def is_raster(parameter):
    """Whether a parameter takes images: one, or several."""
    if isinstance(parameter, QgsProcessingParameterMultipleLayers):
        return parameter.layerType() == KINDS.TypeRaster
    if isinstance(parameter, QgsProcessingParameterMapLayer):
        return KINDS.TypeRaster in parameter.dataTypes()
    return isinstance(parameter, QgsProcessingParameterRasterLayer)


def good_value(parameter, container, file):
    """Return a value that an input takes: the image or a layer of a container, or a file of any content."""
    if is_raster(parameter):
        value = f"GPKG:{container}:image"
    elif isinstance(parameter, QgsProcessingParameterFeatureSource):
        value = f"{container}|layername={_fitting(parameter)}"
    else:
        value = file
    return [value, value] if isinstance(parameter, QgsProcessingParameterMultipleLayers) else value


def _fitting(source):
    return next(name for name, (kind, _) in SHAPES.items() if kind in source.dataTypes())


def suffix(output):
    """Return the ending of an output's file: none for a folder."""
    return f".{output.defaultFileExtension()}" if hasattr(output, "defaultFileExtension") else ""


def good_values(algorithm, container, file, folder, chosen=""):
    """Return values for all inputs of an algorithm that go with a chosen one, and for all outputs, in a folder."""
    left_out = _INSTEAD.get(chosen, _INSTEAD)
    values = {
        each.name(): good_value(each, container, file) for each in inputs_of(algorithm) if each.name() not in left_out
    }
    for parameter in algorithm.parameterDefinitions():
        name = parameter.name()
        if parameter.isDestination():
            values[name] = str(folder / f"{name}{suffix(parameter)}")
        elif parameter.flags() & _OPTIONAL or name in values:
            continue
        elif isinstance(parameter, QgsProcessingParameterFile):
            values[name] = str(folder)
        elif isinstance(parameter, QgsProcessingParameterField):
            values[name] = "width_m"
        elif isinstance(parameter, QgsProcessingParameterExtent):
            values[name] = "350000,350020,3059985,3060000 [EPSG:32645]"
    return values
