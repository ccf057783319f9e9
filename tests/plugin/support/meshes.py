"""A mesh whose picture is known: a square of 100 m that gets brighter from its lower left to its upper right."""

from qgis.core import QgsColorRampShader, QgsCoordinateReferenceSystem, QgsMeshLayer, QgsRectangle
from qgis.PyQt.QtGui import QColor

SQUARE = QgsRectangle(390000, 5820000, 390100, 5820100)
_TEXT = """MESH2D
E4Q 1 1 2 3 4 1
ND 1 390000 5820000 0
ND 2 390100 5820000 100
ND 3 390100 5820100 200
ND 4 390000 5820100 100
"""


def write_mesh(path):
    path.write_text(_TEXT, encoding="ascii")
    return str(path)


def mesh_layer(path, crs="EPSG:25833"):
    """Return a layer that shows a mesh's height in meters as its gray value."""
    layer = QgsMeshLayer(write_mesh(path), "Gelände", "mdal")
    assert layer.isValid()
    layer.setCrs(QgsCoordinateReferenceSystem(crs))
    show_gray(layer, group=0)
    return layer


def show_gray(layer, group):
    """Style a mesh's group of data, of which the first is its height: values are gray values."""
    ramp = QgsColorRampShader(0, 255)
    ramp.setColorRampItemList(
        [QgsColorRampShader.ColorRampItem(value, QColor(value, value, value)) for value in (0, 255)]
    )
    settings = layer.rendererSettings()
    settings.setActiveScalarDatasetGroup(group)
    scalar = settings.scalarSettings(group)
    scalar.setColorRampShader(ramp)
    settings.setScalarSettings(group, scalar)
    layer.setRendererSettings(settings)
