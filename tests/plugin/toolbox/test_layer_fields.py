"""Fields of layers on their way through Processing: which the worker gets, and by which names."""

import json

import pytest
from qgis.core import QgsVectorLayer, edit

from ..support.acting import failure, memory_layer, run
from ..support.parts import FINETUNE, NETWORK

pytestmark = pytest.mark.usefixtures("provider", "qgis_new_project")


def test_cleannetwork_hands_on_all_fields_that_a_file_can_hold(received, tmp_path):
    keep = "shutil.copy(job()['options']['lines'], " + repr(str(tmp_path / "lines.gpkg")) + ")"
    options_in_job = received(f"import shutil; {keep}\n{NETWORK}")
    kinds = ("fid:integer", "name:string", "oneway:bool", "lanes:integer", "built:date", "refs:string[]")
    fields = "".join(f"&field={kind}" for kind in kinds)
    layer = memory_layer("LineString", "Straßen", "LineString (350001 3059999, 350011 3059999)", fields)
    with edit(layer):
        layer.changeAttributeValues(1, {0: 7, 1: "Ä", 2: True, 3: 2})
    result = run("cleannetwork", {"INPUT": layer, "BRIDGE_FIELD": "name", "OUTPUT": "TEMPORARY_OUTPUT", "GAP_M": 3})
    assert (result["COUNT"], result["LENGTH_M"]) == (2, 20)
    assert result["OUTPUT"].featureCount() == 2
    options = options_in_job()
    assert (options["gap_m"], options["snap_m"], options["lines_bridge_field"]) == (3, 5, "name")
    handed = QgsVectorLayer(str(tmp_path / "lines.gpkg"), "", "ogr")
    assert [field.name() for field in handed.fields()] == ["fid", "name", "oneway", "lanes", "built"]
    assert next(handed.getFeatures()).attributes()[1:4] == ["Ä", True, 2]


def test_a_chosen_field_is_given_to_the_worker_by_the_name_that_it_is_stored_under(received, image, tmp_path):
    options_in_job = received(FINETUNE)
    roads = memory_layer("LineString", "Wege", "LineString (350001 3059999, 350011 3059999)", "&field=geom:double")
    values = {"INPUT": [str(image)], "ROADS": roads, "WIDTH_FIELD": "geom", "MODEL": str(tmp_path / "m.safetensors")}
    run("finetune", values)
    assert options_in_job()["width_field"] == "geom_2"
    assert "no field nope" in failure("finetune", {**values, "WIDTH_FIELD": "nope"})


def test_fields_that_the_result_has_under_another_name_are_told(play_runtime, tmp_path, ear):
    play_runtime(NETWORK)
    roads = memory_layer("LineString", "OSM", "LineString (350001 3059999, 350011 3059999)", "&field=geom:string")
    run("cleannetwork", {"INPUT": roads, "OUTPUT": str(tmp_path / "roads.gpkg")}, ear)
    assert [line for line in ear.told if "renamed" in line] == [
        "Fields of OSM are renamed in the results: geom: geom_2"
    ]


def test_a_width_field_that_is_not_chosen_is_told_and_one_that_is_is_not(play_runtime, image, tmp_path, ear):
    play_runtime(FINETUNE)
    roads = memory_layer("LineString", "Wege", "LineString (350001 3059999, 350011 3059999)", "&field=Width:double")
    values = {"INPUT": [str(image)], "ROADS": roads, "MODEL": str(tmp_path / "m.safetensors")}
    run("finetune", values, ear)
    assert "Wege has a field Width. If you want to use it, choose it as Road width field." in ear.told
    ear.told.clear()
    run("finetune", {**values, "WIDTH_FIELD": "Width"}, ear)
    assert "has a field" not in ear.text


TAGS = {"bridge": "yes", "highway": "residential"}


@pytest.mark.parametrize(
    ("tags", "handed"),
    [({"tags": TAGS}, {"osm_id": "7", "tags": json.dumps(TAGS)}), (TAGS, {"osm_id": "7", **TAGS})],
)
def test_an_extract_of_openstreetmap_is_handed_on_with_its_tags(tags, handed, received, image, tmp_path):
    received(f"import shutil; shutil.copy(job()['options']['roads'], {str(tmp_path / 'handed.gpkg')!r})\n{FINETUNE}")
    line = {"type": "LineString", "coordinates": [[85.5, 27.6], [85.6, 27.6]]}
    way = {"type": "Feature", "properties": {"osm_id": "7", **tags}, "geometry": line}
    path = tmp_path / "osm.geojson"
    path.write_text(json.dumps({"type": "FeatureCollection", "features": [way]}))
    run("finetune", {"INPUT": [str(image)], "ROADS": str(path), "MODEL": str(tmp_path / "m.safetensors")})
    (feature,) = QgsVectorLayer(str(tmp_path / "handed.gpkg"), "", "ogr").getFeatures()
    assert {name: value for name, value in feature.attributeMap().items() if name != "fid"} == handed
