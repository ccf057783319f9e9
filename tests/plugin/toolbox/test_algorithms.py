"""The algorithms through Processing, with a worker that only plays its part: what goes to it, and what comes back."""

import os
import shutil

import pytest
from qgis.core import (
    Qgis,
    QgsDateTimeRange,
    QgsFeature,
    QgsProcessingFeatureSourceDefinition,
    QgsProcessingOutputLayerDefinition,
    QgsProject,
    QgsRasterLayer,
    QgsVectorLayer,
    edit,
)
from qgis.PyQt.QtCore import QDate, QDateTime, Qt, QTime

from ..support.acting import Ear, failure, memory_layer, run
from ..support.parts import ANSWER, FINETUNE, NETWORK, REGION, SEGMENT, WRITE

pytestmark = pytest.mark.usefixtures("provider", "qgis_new_project")


def test_vectorize(play_runtime, image, tmp_path):
    play_runtime(NETWORK)
    roads, nodes = tmp_path / "Straßen 1.gpkg", tmp_path / "nodes.geojson"
    result = run("vectorize", {"INPUT": str(image), "OUTPUT": str(roads), "NODES": str(nodes)})
    assert result == {"OUTPUT": str(roads), "NODES": str(nodes), "COUNT": 2, "LENGTH_M": 20}
    layer = QgsVectorLayer(str(roads), "roads", "ogr")
    types = {field.name(): field.typeName() for field in layer.fields()}
    assert types == {
        "fid": "Integer64", "length_m": "Real", "width_m": "Real", "confidence": "Real", "component": "Integer64",
    }  # fmt: skip
    assert layer.featureCount() == 2
    assert layer.crs().authid() == "EPSG:32645"
    assert next(layer.getFeatures())["length_m"] == 10
    assert roads.with_suffix(".qml").is_file()
    assert QgsVectorLayer(str(nodes), "nodes", "ogr").featureCount() == 1


def test_makechallenge_hands_on_accepted_features_with_all_fields(received, tmp_path):
    options_in_job = received(f"""
import shutil
shutil.copy(job()["options"]["layer"], {str(tmp_path / "handed on.gpkg")!r})
send("result", result={{"tasks": 1, "kept": 1, "too_short": 0}})
""")
    fields = "&field=change:string&field=road_probability:double&field=accepted:bool"
    changes = memory_layer("LineString", "Changes", "LineString (350001 3059999, 350011 3059999)", fields)
    with edit(changes):
        changes.changeAttributeValues(1, {0: "new", 1: 0.75, 2: True})
        changes.addFeature(QgsFeature(changes.fields()))
    accepted = QgsProcessingFeatureSourceDefinition(changes.id(), filterExpression='"accepted"')
    challenge = str(tmp_path / "Aufgaben ß.geojson")
    result = run("makechallenge", {"INPUT": accepted, "EARLIER": "earlier.geojson", "OUTPUT": challenge})
    assert result == {"OUTPUT": challenge, "TASKS": 1, "KEPT": 1, "TOO_SHORT": 0}
    assert options_in_job()["earlier"] == os.path.abspath("earlier.geojson")
    (feature,) = QgsVectorLayer(str(tmp_path / "handed on.gpkg"), "", "ogr").getFeatures()
    assert (feature["change"], feature["road_probability"]) == ("new", 0.75)


def test_segment(play_runtime, image, tmp_path, model):
    play_runtime(SEGMENT)
    mask = tmp_path / "Maske ß.tif"
    result = run("segment", {"INPUT": str(image), "MODEL": model, "MASK": str(mask)})
    assert result == {
        "MASK": str(mask), "MEGAPIXELS_PER_S": 2.5, "OVERHEAD": 1.5, "HALO_PX": 64,
        "ENGINE": "ipex", "PRECISION": "bf16",
    }  # fmt: skip
    style = mask.with_suffix(".qml")
    assert "road" in style.read_text()
    style.write_text("the person's own")
    result = run("segment", {"INPUT": str(image), "MODEL": model, "MASK": str(mask), "PROBABILITY": "TEMPORARY_OUTPUT"})
    assert style.read_text() == "the person's own"
    assert result["PROBABILITY"].endswith(".tif")


ERRORS = """
options = job()["options"]
for name, fields in (("truth", ["bridge", "mph"]), ("proposal", ["v"])):
    source = ogr.Open(options[name])
    found = [field.GetName() for field in source.GetLayer(0).schema]
    if found != fields:
        raise SystemExit(f"{name} has {found}")
write(options["errors"], "errors", ogr.wkbLineString, {"kind": ogr.OFTString, "length_m": ogr.OFTReal},
      [("LINESTRING (350001 3059999, 350011 3059999)", {"kind": "missed", "length_m": 10.0})])
send("result", result={"apls": {"score": 0.5}, "apls_time": None, "topo": {"f1": 0.25}})
"""


def test_scorenetwork_hands_each_layers_own_fields_on(received, tmp_path):
    options_in_job = received(WRITE + ERRORS)
    road = "LineString (350000 3059990, 350010 3059990)"
    truth = memory_layer("LineString", "Wahrheit", road, "&field=bridge:string&field=mph:string&field=name:string")
    found = memory_layer("LineStringZ", "Gefunden", "LineStringZ (350000 3059990 5, 350010 3059990 6)", "&field=v:int")
    errors = tmp_path / "Fehler.gpkg"
    values = {
        "INPUT": found, "TRUTH": truth, "TRUTH_BRIDGE_FIELD": "bridge", "TRUTH_SPEED_FIELD": "mph",
        "PROPOSAL_SPEED_FIELD": "v", "SPEED_UNIT": "mph", "SNAP_M": 6, "OUTPUT": str(errors),
    }  # fmt: skip
    result = run("scorenetwork", values)
    assert (result["APLS_SCORE"], result["APLS_TIME_SCORE"], result["TOPO_F1"]) == (0.5, None, 0.25)
    options = options_in_job()
    assert (options["truth_bridge_field"], options["proposal_bridge_field"]) == ("bridge", "")
    assert (options["truth_speed_field"], options["proposal_speed_field"]) == ("mph", "v")
    assert (options["speed_unit"], options["snap_m"]) == ("mph", 6)
    layer = QgsVectorLayer(str(errors), "errors", "ogr")
    _, styled = layer.loadNamedStyle(str(errors.with_suffix(".qml")))
    assert styled
    assert {category.value() for category in layer.renderer().categories()} == {"matched", "missed", "false"}
    assert "speed field" in failure("scorenetwork", {**values, "PROPOSAL_SPEED_FIELD": None})


def test_roadstatus_takes_polygons_or_a_raster_mask(received, image, model, tmp_path):
    options_in_job = received(f"""
import shutil
shutil.copy(job()["options"]["water"], {str(tmp_path / "handed on.gpkg")!r})
send("result", result={{"under_water_m": 1.0}})
""")
    triangle = "Polygon ((350000 3059990, 350010 3059990, 350010 3060000, 350000 3059990))"
    flood = memory_layer("Polygon", "Flut", triangle)
    values = {
        "INPUT": memory_layer("LineString", "Roads", "LineString (350000 3059990, 350010 3059990)"),
        "RASTER": str(image), "MODEL": str(model), "WATER": flood, "CLOUDS": str(image), "OUTPUT": "TEMPORARY_OUTPUT",
    }  # fmt: skip
    failure("roadstatus", values)  # this worker writes no roads
    assert options_in_job()["clouds"] == str(image)
    assert QgsVectorLayer(str(tmp_path / "handed on.gpkg"), "", "ogr").featureCount() == 1
    assert "nowhere.tif" in failure("roadstatus", {**values, "WATER": "nowhere.tif"})


CHANGES = """
options = job()["options"]
for name, fields in (("before", ["ref", "lanes"]), ("after", ["width_m"]), ("places", ["name", "beds"])):
    source = ogr.Open(options[name])
    found = [field.GetName() for field in source.GetLayer(0).schema]
    if found != fields:
        raise SystemExit(f"{name} has {found}")
write(options["changes"], "changes", ogr.wkbLineString, {"change": ogr.OFTString, "length_m": ogr.OFTReal},
      [("LINESTRING (350001 3059999, 350011 3059999)", {"change": "lost", "length_m": 10.0})])
write(options["reached"], "reached", ogr.wkbPoint, {"status": ogr.OFTString},
      [("POINT (350001 3059999)", {"status": "cut off"})])
send("result", result={"lost": {"length_m": 10.0, "share": 0.5}, "routes": {"cut_off": 1}})
"""


def test_comparenetworks_hands_whole_layers_on_and_styles_both_results(received, tmp_path):
    options_in_job = received(WRITE + CHANGES)
    road = "LineString (350000 3059990, 350010 3059990)"
    values = {
        "BEFORE": memory_layer("LineString", "Vorher", road, "&field=ref:string&field=lanes:int"),
        "INPUT": memory_layer("LineString", "Nachher", road, "&field=width_m:double"),
        "PLACES": memory_layer("Point", "Orte", "Point (350000 3059990)", "&field=name:string&field=beds:int"),
        "PLACES_NAME_FIELD": "name", "ROUTES_ON": "remaining", "ALIGN": False,
        "OUTPUT": str(tmp_path / "Änderungen.gpkg"), "REACHED": str(tmp_path / "places.gpkg"),
    }  # fmt: skip
    result = run("comparenetworks", values)
    assert (result["LOST_LENGTH_M"], result["LOST_SHARE"], result["ROUTES_CUT_OFF"]) == (10, 0.5, 1)
    assert result["INTACT_SHARE"] is None
    options = options_in_job()
    assert (options["places_name_field"], options["routes_on"], options["align"]) == ("name", "remaining", False)
    statuses = {"cut off", "interrupted", "longer", "never connected", "no road near", "newly reachable", "reachable"}
    for name, words in (("OUTPUT", {"lost", "displaced", "new", "intact"}), ("REACHED", statuses)):
        layer = QgsVectorLayer(values[name], name, "ogr")
        _, styled = layer.loadNamedStyle(str((tmp_path / values[name]).with_suffix(".qml")))
        assert styled and {category.value() for category in layer.renderer().categories()} == words
    assert "needs places" in failure("comparenetworks", {**values, "PLACES": None, "PLACES_NAME_FIELD": None})


STATUS = """
write(job()["options"]["status"], "status", ogr.wkbLineString, {"state": ogr.OFTString},
      [("LINESTRING (350001 3059999, 350011 3059999)", {"state": "seen"})])
send("result", result={"seen_m": 10.0})
"""


def test_roadstatus_takes_the_dates_of_temporal_layers_unless_dates_are_given(received, image, model, tmp_path):
    images = [QgsRasterLayer(str(image), name) for name in ("after", "older")]
    QgsProject.instance().addMapLayers(images)
    for layer, day in zip(images, (29, 27)):
        layer.temporalProperties().setMode(Qgis.RasterTemporalMode.FixedTemporalRange)
        begin = QDateTime(QDate(2024, 9, day), QTime(10, 30), Qt.TimeSpec.UTC)
        layer.temporalProperties().setFixedTemporalRange(QgsDateTimeRange(begin, begin.addSecs(60)))
        layer.temporalProperties().setIsActive(True)
    after, older = images
    values = {
        "INPUT": memory_layer("LineString", "known", "LineString (0 0, 90 0)"), "RASTER": after, "RASTERS": [older],
        "MODEL": model, "OUTPUT": str(tmp_path / "status.gpkg"),
    }  # fmt: skip
    options_in_job = received(WRITE + STATUS)
    run("roadstatus", values)
    assert options_in_job()["dates"] == "2024-09-29T10:30:00Z, 2024-09-27T10:30:00Z"
    run("roadstatus", {**values, "DATES": "2024-10-01"})
    assert options_in_job()["dates"] == "2024-10-01"
    older.temporalProperties().setIsActive(False)
    run("roadstatus", values)
    assert options_in_job()["dates"] == ""


def test_relative_paths_are_meant_from_where_qgis_runs(play_runtime, image, tmp_path, model, monkeypatch):
    play_runtime(SEGMENT)
    monkeypatch.chdir(tmp_path)
    run("segment", {"INPUT": image.name, "MODEL": os.path.basename(model), "MASK": "mask.tif"})
    assert (tmp_path / "mask.tif").is_file()


def test_finetune(received, image, tmp_path):
    options_in_job = received(FINETUNE)
    roads = memory_layer("LineString", "Straßen", "LineString (350001 3059999, 350011 3059999)", "&field=width:double")
    values = {"INPUT": [str(image), QgsRasterLayer(str(image))], "ROADS": roads, "WIDTH_FIELD": "width", "BANDS": "1,3"}
    outputs = {"MODEL": str(tmp_path / "model.safetensors"), "REPORT": str(tmp_path / "report.html")}
    result = run("finetune", {**values, **outputs, "MINUTES": 1})
    assert result == {
        **outputs, "IMAGES_PER_S": 2, "STEPS": 30, "VALIDATION_IOU": 0.5, "VALIDATION_F1": 0.6,
        "VALIDATION_PRECISION": 0.7, "VALIDATION_RECALL": 0.8,
        "ENGINE": "native",
    }  # fmt: skip
    options = options_in_job()
    assert options["rasters"] == [str(image), str(image)]
    assert (options["width_field"], options["bands"], options["minutes"]) == ("width", [1, 3], 1)
    assert options["aoi"] == options["sure_field"] == "" and options["base_model"] == "starter"


def test_evaluate_hands_on_folders_and_annotations_of_masks(received, image, model, tmp_path):
    options_in_job = received(ANSWER)
    annotations = tmp_path / "annotations.json"
    annotations.write_text("{}")
    values = {"INPUT": [str(image)], "MODEL": model, "SCORES": "TEMPORARY_OUTPUT"}
    for masks in ([str(annotations), str(tmp_path), str(image)], [str(tmp_path)]):
        run("evaluate", {**values, "MASKS": masks})
        assert options_in_job()["masks"] == masks
    run("evaluate", {**values, "MASKS": str(tmp_path)})
    assert options_in_job()["masks"] == [str(tmp_path)]


def region_values(scenes, tmp_path, model):
    return {
        "INPUT": list(map(str, scenes)), "MODEL": model, "FOLDER": str(tmp_path / "Bezirk ß"),
        "OUTPUT": str(tmp_path / "roads.gpkg"),
    }  # fmt: skip


def test_mapregion_tells_its_files_and_warns_of_the_scenes_that_failed_the_first_five_by_name(
    play_runtime, image, tmp_path, model
):
    play_runtime(REGION)
    folder = tmp_path / "Bezirk ß"
    bad = [shutil.copyfile(image, tmp_path / f"bad {number}.tif") for number in range(1, 8)]
    ear = Ear()
    result = run("mapregion", region_values([image, *bad], tmp_path, model), ear)
    assert (result["SCENES"], result["DONE"], result["FAILED"]) == (8, 1, 7)
    assert (result["REPORT"], result["INDEX"]) == (str(folder / "report.html"), str(folder / "index.gpkg"))
    assert QgsVectorLayer(result["OUTPUT"], "roads", "ogr").featureCount() == 2
    (warning,) = [text for text in ear.told if "7 failed" in text]
    assert all(f"bad {number}.tif: It has no CRS. Assign one." in warning for number in range(1, 6))
    assert "bad 6.tif" not in warning and "other 2" in warning


def test_mapregion_takes_a_source_relative_to_where_qgis_is_and_an_address_as_it_is(
    received, tmp_path, model, monkeypatch
):
    options_in_job = received(REGION)
    monkeypatch.chdir(tmp_path)
    values = region_values([], tmp_path, model)
    sources = {
        "scenes/*.tif": str(tmp_path / "scenes" / "*.tif"),
        "https://example.org/items.json": "https://example.org/items.json",
        "/vsis3/bucket/scenes/*.tif": "/vsis3/bucket/scenes/*.tif",
    }
    for given, expected in sources.items():
        run("mapregion", {**values, "SOURCE": given})
        assert options_in_job()["source"] == expected
        (tmp_path / "Bezirk ß" / "index.gpkg").unlink()
    assert "No scenes are given" in failure("mapregion", values)
    assert "tcp://" in failure("mapregion", {**values, "SOURCE": "scenes", "SCHEDULER": "host:8786"})


def test_a_stopped_finetune_hands_on_the_best_model_where_it_is_to_be_kept(received, image, tmp_path):
    options_in_job = received("""
send("log", message="Step 30")
sys.stdin.read()
for name in ("model", "report"):
    open(job()["options"][name], "w").close()
send("result", result={"stopped": True, "steps": 30, "validation": {"f1": 0.6}})
""")
    roads = memory_layer("LineString", "Straßen", "LineString (350001 3059999, 350011 3059999)")
    values = {"INPUT": [str(image)], "ROADS": roads, "KEEP_BEST": True}
    outputs = {"MODEL": str(tmp_path / "model.safetensors"), "REPORT": str(tmp_path / "report.html")}
    ear = Ear(cancel_on="Step 30")
    result = run("finetune", {**values, **outputs}, ear)
    assert ear.isCanceled()
    assert {name: result[name] for name in outputs} == outputs
    assert (result["STEPS"], result["VALIDATION_F1"]) == (30, 0.6)
    assert f"The best model so far is in {outputs['MODEL']}, {outputs['REPORT']}" in ear.text
    options = options_in_job()
    assert (options["keep_best"], options["resume"]) == (True, False)


def test_what_the_row_of_a_batch_leaves_empty_is_not_made(play_runtime, image, model, tmp_path):
    def empty():  # as the panel of a batch says it
        return QgsProcessingOutputLayerDefinition("", QgsProject.instance())

    play_runtime(NETWORK)
    roads = str(tmp_path / "roads.gpkg")
    assert "NODES" not in run("vectorize", {"INPUT": str(image), "OUTPUT": roads, "NODES": empty()})
    play_runtime(SEGMENT, "another")
    mask = str(tmp_path / "mask.tif")
    assert "PROBABILITY" not in run(
        "segment", {"INPUT": str(image), "MODEL": model, "MASK": mask, "PROBABILITY": empty()}
    )


PROFILE = 'send("result", result={"step_s": 0.25, "engine": "native", "precision": "bf16"})'


def test_an_image_or_a_model_that_is_left_empty_is_none_and_a_missing_image_is_named(received, tmp_path):
    options = received(PROFILE)
    for image in (None, ""):
        run("profile", {"INPUT": image, "MODEL": ""})
        assert (options()["raster"], options()["model"]) == ("", "")
    assert "none.tif" in failure("profile", {"INPUT": str(tmp_path / "none.tif")})
    assert "The engine openvino does not train." in failure("profile", {"ENGINE": "openvino"})


def test_qgis_opens_no_profile_as_a_layer(received, tmp_path):
    """Since that may be a large GeoJSON file, or a pipe, of which the reading never ends."""
    options, pipe = received(ANSWER), str(tmp_path / "pipe.json")
    os.mkfifo(pipe)
    run("compareprofiles", {"BEFORE": pipe, "INPUT": pipe})
    assert options()["after"] == pipe
