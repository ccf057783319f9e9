"""Suggest where to label through Processing, with a worker that only plays its part."""

import pytest
from qgis.core import QgsVectorLayer

from ..support.acting import memory_layer, run
from ..support.parts import WRITE

pytestmark = pytest.mark.usefixtures("provider", "qgis_new_project")

SQUARE = "Polygon ((350000 3059990, 350010 3059990, 350010 3060000, 350000 3059990))"
SUGGEST = f"""{WRITE}
fields = {{"rank": ogr.OFTInteger64, "uncertainty": ogr.OFTReal, "road_share": ogr.OFTReal}}
write(job()["options"]["suggestions"], "suggestions", ogr.wkbPolygon, fields, [({SQUARE!r}, {{"rank": 1}})])
send("result", result={{"suggested": 1, "mean_uncertainty": 0.25}})
"""


def test_patches_come_ranked_hollow_and_labeled(received, image, tmp_path):
    job, area = received(SUGGEST), memory_layer("Polygon", "Gebiet", SQUARE)
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
