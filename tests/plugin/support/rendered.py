"""Layers rendered as RoadSeg does it, and looked at."""

import json

import pytest
from osgeo import gdal
from qgis.core import QgsCoordinateTransformContext, QgsFeature, QgsProject, QgsRectangle, QgsVectorLayer
from roadseg.qgis_roadseg.rendering import mesh_painting, rendering

from .acting import Ear
from .tiles import ALL

TRANSFORMS = QgsCoordinateTransformContext()


def frame_of(layer, extent=ALL, resolution_m=0.5):
    return rendering.make_frame(layer.name(), layer.crs(), extent, resolution_m, TRANSFORMS)


def render(layer, path, ear=None, **frame):
    rendering.render(mesh_painting.provider_of(layer), frame_of(layer, **frame), path, ear or Ear())
    dataset = gdal.Open(str(path))
    return dataset, dataset.ReadAsArray()


def color_of(values, row, column):
    return tuple(int(value) for value in values[:3, row, column])


def options_of(seen):
    """Return the options of the job that a worker has kept in a folder."""
    return json.loads((seen / "job.json").read_text(encoding="utf-8"))["options"]


def shapes(kind, name, *geometries, crs="EPSG:3857"):
    """Return a layer of geometries, which is in the project."""
    layer = QgsVectorLayer(f"{kind}?crs={crs}", name, "memory")
    for geometry in geometries:
        feature = QgsFeature()
        feature.setGeometry(geometry)
        layer.dataProvider().addFeature(feature)
    layer.updateExtents()
    QgsProject.instance().addMapLayer(layer)
    return layer


def bounds_of(path):
    """Return the bounds of an image."""
    image = gdal.Open(str(path))
    west, x, _, north, _, y = image.GetGeoTransform()
    return QgsRectangle(west, north + image.RasterYSize * y, west + image.RasterXSize * x, north)


def assert_same_bounds(found, expected, within=1.0):
    for side in ("xMinimum", "xMaximum", "yMinimum", "yMaximum"):
        assert getattr(found, side)() == pytest.approx(getattr(expected, side)(), abs=within)
