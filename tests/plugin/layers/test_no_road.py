"""The layer of places without road, for labels that were made without it: added to their file or beside it."""

import pytest
from qgis.core import (
    Qgis,
    QgsCoordinateReferenceSystem,
    QgsFeature,
    QgsGeometry,
    QgsProject,
    QgsVectorFileWriter,
    QgsVectorLayer,
)
from roadseg.qgis_roadseg.layers.label_layers import write_no_road
from roadseg.training_core.errors import OutputError

pytestmark = pytest.mark.usefixtures("provider", "qgis_new_project")

UTM = QgsCoordinateReferenceSystem("EPSG:32645")


def written(path, driver="GPKG"):
    """Write a file with one road; return the path."""
    layer = QgsVectorLayer("LineString?crs=epsg:32645&field=width_m:double", "roads", "memory")
    feature = QgsFeature(layer.fields())
    feature.setGeometry(QgsGeometry.fromWkt("LineString (0 0, 1 1)"))
    layer.dataProvider().addFeature(feature)
    options = QgsVectorFileWriter.SaveVectorOptions()
    options.driverName, options.layerName = driver, "roads"
    QgsVectorFileWriter.writeAsVectorFormatV3(layer, str(path), QgsProject.instance().transformContext(), options)
    return str(path)


def added(path):
    uri = write_no_road(path, UTM, QgsProject.instance().transformContext())
    layer = QgsVectorLayer(uri, "no_road", "ogr")
    assert layer.isValid() and layer.wkbType() == Qgis.WkbType.Polygon and layer.crs() == UTM
    assert layer.renderer().symbol().symbolLayer(0).layerType() == "LinePatternFill"
    return uri


def test_a_geopackage_gets_it_as_a_layer_more_while_its_roads_are_being_edited(tmp_path):
    path = written(tmp_path / "Straßen.gpkg")
    roads = QgsVectorLayer(f"{path}|layername=roads", "roads", "ogr")
    roads.startEditing()
    roads.deleteFeature(next(roads.getFeatures()).id())
    assert added(path) == f"{path}|layername=no_road"
    roads.rollBack()
    assert roads.featureCount() == 1
    assert [each.name for each in tmp_path.iterdir() if each.suffix == ".gpkg"] == ["Straßen.gpkg"]


def test_a_file_of_another_kind_gets_it_beside_it(tmp_path):
    path = written(tmp_path / "roads.geojson", "GeoJSON")
    before = (tmp_path / "roads.geojson").read_bytes()
    assert added(path) == f"{tmp_path / 'roads no road.gpkg'}|layername=no_road"
    assert added(path) == f"{tmp_path / 'roads no road 2.gpkg'}|layername=no_road"
    assert (tmp_path / "roads.geojson").read_bytes() == before


def test_one_that_there_is_is_never_replaced(tmp_path):
    path = written(tmp_path / "labels.gpkg")
    first = QgsVectorLayer(added(path), "no_road", "ogr")
    polygon = QgsFeature()
    polygon.setGeometry(QgsGeometry.fromWkt("Polygon ((0 0, 1 0, 1 1, 0 0))"))
    assert first.dataProvider().addFeature(polygon)
    assert added(path) == f"{tmp_path / 'labels no road.gpkg'}|layername=no_road"
    assert QgsVectorLayer(f"{path}|layername=no_road", "", "ogr").featureCount() == 1


def test_a_folder_that_is_not_there_is_told(tmp_path):
    with pytest.raises(OutputError, match="cannot be written"):
        write_no_road(str(tmp_path / "missing" / "image.tif"), UTM, QgsProject.instance().transformContext())
