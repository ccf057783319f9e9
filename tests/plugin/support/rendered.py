"""Layers rendered as RoadSeg does it, and looked at."""

from osgeo import gdal
from qgis.core import QgsCoordinateTransformContext
from roadseg.qgis_roadseg.rendering import rendering

from .acting import Ear
from .tiles import ALL

TRANSFORMS = QgsCoordinateTransformContext()


def frame_of(layer, extent=ALL, resolution_m=0.5):
    return rendering.make_frame(layer.name(), layer.crs(), extent, resolution_m, TRANSFORMS)


def render(layer, path, ear=None, **frame):
    rendering.render(layer.dataProvider().clone(), frame_of(layer, **frame), path, ear or Ear())
    dataset = gdal.Open(str(path))
    return dataset, dataset.ReadAsArray()


def color_of(values, row, column):
    return tuple(int(value) for value in values[:3, row, column])
