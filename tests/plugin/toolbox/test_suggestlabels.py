"""Suggest where to label through Processing, with a worker that only plays its part."""

import json

import pytest
from qgis.core import QgsFeature, QgsGeometry, QgsProject, QgsVectorLayer

from ..support.acting import run

pytestmark = pytest.mark.usefixtures("provider", "qgis_new_project")

SUGGEST = """
sys.path.append("/usr/lib/python3/dist-packages")
import shutil
from osgeo import ogr, osr
options = job()["options"]
shutil.copy(sys.argv[-1], {saved!r})
system = osr.SpatialReference()
system.ImportFromEPSG(32645)
dataset = ogr.GetDriverByName("GPKG").CreateDataSource(options["suggestions"])
layer = dataset.CreateLayer("suggestions", system, ogr.wkbPolygon)
for name, kind in (("rank", ogr.OFTInteger64), ("uncertainty", ogr.OFTReal), ("road_share", ogr.OFTReal)):
    layer.CreateField(ogr.FieldDefn(name, kind))
feature = ogr.Feature(layer.GetLayerDefn())
wkt = "POLYGON ((350000 3059990, 350010 3059990, 350010 3060000, 350000 3059990))"
feature.SetGeometry(ogr.CreateGeometryFromWkt(wkt))
feature.SetField("rank", 1)
layer.CreateFeature(feature)
send("result", result={{"suggested": 1, "mean_uncertainty": 0.25}})
"""


@pytest.fixture
def job(play_runtime, tmp_path):
    path = tmp_path / "job.json"
    play_runtime(SUGGEST.format(saved=str(path)))
    return lambda: json.loads(path.read_text(encoding="utf-8"))["options"]


def test_patches_come_ranked_hollow_and_labeled(job, image, tmp_path):
    area = QgsVectorLayer("Polygon?crs=epsg:32645", "Gebiet", "memory")
    feature = QgsFeature()
    feature.setGeometry(
        QgsGeometry.fromWkt("Polygon ((350000 3059990, 350001 3059990, 350001 3060000, 350000 3059990))")
    )
    area.dataProvider().addFeature(feature)
    QgsProject.instance().addMapLayer(area)
    patches = tmp_path / "Vorschläge.gpkg"
    values = {"INPUT": str(image), "LABELED": area, "COUNT": 3, "PATCH_M": 80, "SPREAD": 0.7, "OUTPUT": str(patches)}
    assert run("suggestlabels", values) == {"OUTPUT": str(patches), "SUGGESTED": 1, "MEAN_UNCERTAINTY": 0.25}
    options = job()
    assert options["raster"] == str(image) and options["labeled"].endswith("labeled.gpkg")
    assert (options["count"], options["patch_m"], options["spread"]) == (3, 80, 0.7)
    layer = QgsVectorLayer(str(patches), "patches", "ogr")
    assert layer.fields().names() == ["fid", "rank", "uncertainty", "road_share"]
    assert patches.with_suffix(".qml").is_file()
    assert {each.layerType() for each in layer.renderer().symbol().symbolLayers()} == {"SimpleLine"}  # and no fill
    assert layer.labelsEnabled() and layer.labeling().settings().fieldName == "rank"
