"""What a fine-tune gets of the layers that a person has drawn, whatever kind of layer and however much of it."""

import json

import pytest
from qgis.core import (
    QgsApplication,
    QgsFeature,
    QgsGeometry,
    QgsProcessingContext,
    QgsProcessingFeatureSourceDefinition,
    QgsProject,
    QgsVectorFileWriter,
    QgsVectorLayer,
)

from ..support.acting import Ear, run, run_in_task

pytestmark = pytest.mark.usefixtures("provider", "qgis_new_project")

FIELDS = "&field=kind:string&field=width:double&field=name:string"
ROADS = (("track", 3.0, 10), ("street", 8.0, 20), (None, None, 30))


@pytest.fixture
def seen(play_runtime, tmp_path):
    """Return a function that runs a fine-tune and tells what the worker got: its options, the roads and the areas."""
    folder = tmp_path / "seen"
    folder.mkdir()
    play_runtime(f"""
import shutil
shutil.copy(sys.argv[-1], {str(folder / "job.json")!r})
for name in ("roads", "aoi"):
    if job()["options"][name]:
        shutil.copy(job()["options"][name], {str(folder)!r})
open(job()["options"]["model"], "w").close()
send("result", result={{}})
""")

    def tell():
        found = [QgsVectorLayer(str(folder / f"{name}.gpkg"), name, "ogr") for name in ("roads", "aoi")]
        return json.loads((folder / "job.json").read_text(encoding="utf-8"))["options"], *found

    return tell


@pytest.fixture
def drawn():
    """A layer in memory with three roads."""
    layer = QgsVectorLayer(f"LineString?crs=epsg:32645{FIELDS}", "Straßen", "memory")
    for kind, width, y in ROADS:
        feature = QgsFeature(layer.fields())
        feature.setGeometry(QgsGeometry.fromWkt(f"LineString (350001 {3059990 + y}, 350011 {3059990 + y})"))
        feature.setAttributes([kind, width, "Weg"])
        layer.dataProvider().addFeature(feature)
    layer.updateExtents()
    QgsProject.instance().addMapLayer(layer)
    return layer


def values(image, tmp_path, roads, **more):
    model = str(tmp_path / "model.safetensors")
    return {"INPUT": [str(image)], "ROADS": roads, "CLASS_FIELD": "kind", "MODEL": model, **more}


def kinds(layer):
    assert layer.isValid()
    return {feature["kind"] or "" for feature in layer.getFeatures()}


def on_disk(layer, tmp_path, filter_text=""):
    path = str(tmp_path / "Straßen.gpkg")
    options = QgsVectorFileWriter.SaveVectorOptions()
    QgsVectorFileWriter.writeAsVectorFormatV3(layer, path, QgsProject.instance().transformContext(), options)
    return f"{path}|layername=Straßen" + (f"|subset={filter_text}" if filter_text else "")


def in_memory(layer, tmp_path):
    return layer


def in_memory_and_filtered(layer, tmp_path):
    assert layer.setSubsetString("kind = 'track'")
    return layer


def in_a_file_and_filtered(layer, tmp_path):
    return on_disk(layer, tmp_path, "kind = 'track'")


def selected(layer, tmp_path):
    layer.selectByExpression("kind = 'track'")
    return QgsProcessingFeatureSourceDefinition(layer.id(), selectedFeaturesOnly=True)


def selected_in_a_file(layer, tmp_path):
    copy = QgsVectorLayer(on_disk(layer, tmp_path), "Kopie", "ogr")
    QgsProject.instance().addMapLayer(copy)
    return selected(copy, tmp_path)


def chosen_by_an_expression(layer, tmp_path):
    return QgsProcessingFeatureSourceDefinition(layer.id(), filterExpression="kind = 'track'")


def virtual(layer, tmp_path):
    query = QgsVectorLayer("?query=SELECT * FROM \"Straßen\" WHERE kind = 'track'", "Abfrage", "virtual")
    assert query.isValid()
    QgsProject.instance().addMapLayer(query)
    return query


def not_saved_yet(layer, tmp_path):
    layer.startEditing()
    layer.deleteFeatures([feature.id() for feature in layer.getFeatures() if feature["kind"] != "track"])
    return layer


ALL = {"track", "street", ""}


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (in_memory, ALL),
        (on_disk, ALL),
        (in_memory_and_filtered, {"track"}),
        (in_a_file_and_filtered, {"track"}),
        (selected, {"track"}),
        (selected_in_a_file, {"track"}),
        (chosen_by_an_expression, {"track"}),
        (virtual, {"track"}),
        (not_saved_yet, {"track"}),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)
def test_a_training_sees_what_the_person_sees(seen, drawn, image, tmp_path, make, expected):
    run("finetune", values(image, tmp_path, make(drawn, tmp_path)))
    options, roads, _ = seen()
    assert kinds(roads) == expected
    assert options["class_field"] == "kind"
    assert roads.fields().names() == ["fid", "kind"]  # and no other, which might be of a kind that no file takes


@pytest.mark.parametrize("make", [in_memory, selected, virtual, not_saved_yet], ids=lambda make: make.__name__)
def test_so_it_does_in_a_task_of_its_own(seen, drawn, image, tmp_path, qgis_app, make):
    context, ear = QgsProcessingContext(), Ear()
    context.setProject(QgsProject.instance())
    algorithm = QgsApplication.processingRegistry().createAlgorithmById("roadseg:finetune")
    given = values(image, tmp_path, make(drawn, tmp_path))
    if make is not selected:
        given["ROADS"] = given["ROADS"].id()
    ends = run_in_task(algorithm, given, context, ear, qgis_app)
    assert [fine for fine, _ in ends] == [True], ear.text
    assert kinds(seen()[1]) == (ALL if make is in_memory else {"track"})


def test_layers_in_other_systems_keep_theirs_for_the_worker_to_transform(seen, drawn, image, tmp_path):
    roads = QgsVectorLayer(f"MultiLineStringZM?crs=epsg:4326{FIELDS}", "Wege", "memory")
    feature = QgsFeature(roads.fields())
    feature.setGeometry(QgsGeometry.fromWkt("MultiLineStringZM ((85.5 27.6 5 0, 85.6 27.6 6 1))"))
    roads.dataProvider().addFeature(feature)
    area = QgsVectorLayer("Polygon?crs=epsg:3857", "Gebiet", "memory")
    for corner in range(12):
        polygon = QgsFeature()
        polygon.setGeometry(QgsGeometry.fromWkt(f"Polygon (({corner} 0, {corner} 1, {corner + 1} 1, {corner} 0))"))
        area.dataProvider().addFeature(polygon)
    QgsProject.instance().addMapLayers([roads, area])
    run("finetune", values(image, tmp_path, roads, AOI=area))
    _, handed, areas = seen()
    assert (handed.crs().authid(), areas.crs().authid()) == ("EPSG:4326", "EPSG:3857")
    assert (handed.featureCount(), areas.featureCount()) == (1, 12)


def test_a_width_for_all_or_a_field_of_widths(seen, drawn, image, tmp_path):
    run("finetune", values(image, tmp_path, drawn, CLASS_FIELD=None, WIDTH_M=4.5))
    options, roads, _ = seen()
    assert (options["width_m"], options["width_field"], options["class_field"]) == (4.5, "", "")
    assert roads.fields().names() == ["fid"]
    run("finetune", values(image, tmp_path, drawn, WIDTH_FIELD="width"))
    options, roads, _ = seen()
    assert options["width_field"] == "width"
    assert [feature["width"] or None for feature in roads.getFeatures()] == [3, 8, None]
    run("finetune", values(image, tmp_path, drawn, CLASS_FIELD="width", WIDTH_FIELD="width", SURE_FIELD="name"))
    assert seen()[1].fields().names() == ["fid", "width", "name"]  # one field may serve as two


def test_label_layers_go_to_a_training_as_they_are(seen, image, tmp_path):
    layers = run("createlabellayers", {"INPUT": str(image), "OUTPUT": str(tmp_path / "labels.gpkg")})
    fields = {"CLASS_FIELD": "road_class", "WIDTH_FIELD": "width_m", "SURE_FIELD": "sure"}
    run("finetune", values(image, tmp_path, layers["OUTPUT"], AOI=layers["AOI"], **fields))
    options, roads, areas = seen()
    assert set(roads.fields().names()) == {"fid", *fields.values()} and areas.isValid()
    assert {name.upper(): options[name.lower()] for name in fields} == fields
