"""The models of the toolbox: made of the algorithms as they are, run step by step, and shown in a dialog."""

import shutil

import pytest
from qgis.core import (
    QgsProcessingContext,
    QgsProcessingModelAlgorithm,
    QgsProject,
    QgsReferencedRectangle,
    QgsVectorLayer,
)
from roadseg.qgis_roadseg import translation
from roadseg.qgis_roadseg.toolbox.workflow_algorithm import FOLDER, WorkflowAlgorithm

from scripts import processing_models

from ..support.acting import failure, memory_layer, run, write_model
from ..support.declared import good_values, make_container
from ..support.parts import APPLY, CHALLENGE, CHANGES, FINETUNE, NETWORK, SEGMENT
from ..support.tiles import ALL, paint_tiles, square_extent, tile_layer

pytestmark = pytest.mark.usefixtures("provider", "qgis_new_project")

ROAD = "LineString (350001 3059999, 350011 3059999)"
STEPS = {"segment": SEGMENT, "vectorize": NETWORK, "extractroads": NETWORK, "finetune": FINETUNE}


def play_of(parts):
    """Return the lines of a worker that plays the part of each job."""
    return f"exec({parts!r}[job()['job']])"


@pytest.mark.parametrize("name", processing_models.MODELS)
def test_the_files_are_those_that_the_algorithms_make(name):
    translation.set_locale("en_US")
    there = QgsProcessingModelAlgorithm()
    assert there.fromFile(str(FOLDER / f"{name}.model3"))
    assert there.toVariant() == processing_models.make_model(name).toVariant(), "run `make docs`"


@pytest.mark.parametrize("name", processing_models.MODELS)
def test_every_step_takes_what_the_model_gives_it(provider, name, play_runtime):
    play_runtime("")
    model = provider.algorithm(name)
    assert model.canExecute()[0]
    for step in model.childAlgorithms().values():
        known = {parameter.name() for parameter in step.algorithm().parameterDefinitions()}
        assert set(step.parameterSources()) <= known
    assert model.validate() == (True, [])


def test_maproads_hands_the_probability_on_and_styles_what_it_makes(received, image, tmp_path, model):
    options_in_job = received(play_of(STEPS))
    roads, probability = tmp_path / "roads.gpkg", tmp_path / "probability.tif"
    values = {"INPUT": str(image), "MODEL": model, "THRESHOLD": 0.3}
    result = run("maproads", {**values, "OUTPUT": str(roads), "PROBABILITY": str(probability)})
    assert (result["OUTPUT"], result["PROBABILITY"]) == (str(roads), str(probability))
    assert (options_in_job()["raster"], options_in_job()["threshold"]) == (str(probability), 0.3)
    assert "PROBABILITY" not in run("maproads", {**values, "OUTPUT": "TEMPORARY_OUTPUT"})  # nobody asked for it
    assert QgsVectorLayer(str(roads), "roads", "ogr").featureCount() == 2
    assert roads.with_suffix(".qml").is_file() and probability.with_suffix(".qml").is_file()


def test_finetuneandmap_maps_with_the_model_that_it_has_learned(received, image, tmp_path):
    options_in_job = received(play_of(STEPS))
    roads = memory_layer("LineString", "Drawn", ROAD, "&field=width_m:double")
    learned = tmp_path / "town.safetensors"
    values = {"INPUT": str(image), "ROADS": roads, "WIDTH_FIELD": "width_m", "MINUTES": 1}
    outputs = {"MODEL": str(learned), "REPORT": str(tmp_path / "town.html"), "OUTPUT": "TEMPORARY_OUTPUT"}
    result = run("finetuneandmap", {**values, **outputs})
    assert (result["MODEL"], result["REPORT"]) == (outputs["MODEL"], outputs["REPORT"])
    assert result["OUTPUT"].featureCount() == 2
    assert (options_in_job()["raster"], options_in_job()["model"]) == (str(image), str(learned))


def test_finetuneandmap_takes_a_web_map_with_an_extent(play_runtime, tmp_path):
    known = write_model(tmp_path / "known.safetensors", 0.5)
    learn = FINETUNE.replace('open(options[name], "w").close()', f"__import__('shutil').copy({known!r}, options[name])")
    extract = 'assert open(job()["options"]["raster"], "rb").read(2) == b"II"\n' + NETWORK
    play_runtime(play_of({"finetune": learn, "extractroads": extract}))
    layer = tile_layer(paint_tiles(tmp_path / "tiles"))
    QgsProject.instance().addMapLayer(layer)
    roads = memory_layer("Polygon", "Drawn", square_extent().asWktPolygon(), crs="epsg:3857")
    learned = tmp_path / "town.safetensors"
    values = {"INPUT": layer, "ROADS": roads, "BASE_MODEL": known, "MODEL": str(learned)}
    values |= {"REPORT": str(tmp_path / "town.html"), "OUTPUT": "TEMPORARY_OUTPUT"}
    told = failure("finetuneandmap", values)
    assert "comes from wms, and no extent is given. Give one (EXTENT)." in told and not learned.exists()
    result = run("finetuneandmap", {**values, "EXTENT": QgsReferencedRectangle(ALL, layer.crs())})
    assert result["OUTPUT"].featureCount() == 2


def test_learnfromreview_learns_what_was_judged_and_hands_on_what_it_then_extracts(play_runtime, image, tmp_path):
    log, given = tmp_path / "jobs.txt", tmp_path / "drawn.txt"
    note = f'with open({str(log)!r}, "a") as file:\n    print(job()["job"], file=file)\n'
    note += f'open({str(given)!r}, "a").write(str(job()["options"].get("roads")) + "\\n")\n'
    play_runtime(note + play_of({**STEPS, "applyreview": APPLY}))
    roads = memory_layer("LineString", "Roads", ROAD, "&field=status:string")
    places = memory_layer("LineString", "Places", ROAD, "&field=change:string&field=review:string")
    learned = str(tmp_path / "town.safetensors")
    values = {"INPUT": str(image), "ROADS": roads, "REVIEW": places, "MODEL": learned}
    result = run("learnfromreview", {**values, "OUTPUT": "TEMPORARY_OUTPUT"})
    assert log.read_text().split() == ["applyreview", "finetune", "extractroads", "applyreview"]
    assert (result["MODEL"], "REPORT" in result) == (learned, False)
    assert [feature["status"] for feature in result["OUTPUT"].getFeatures()] == ["reviewed"]


def test_updateosm_compares_within_the_extent(received, image, tmp_path, model):
    options_in_job = received(play_of({"extractroads": NETWORK, "comparenetworks": CHANGES}))
    before = memory_layer("LineString", "OSM", ROAD, "&field=highway:string")
    values = {"INPUT": str(image), "MODEL": model, "BEFORE": before, "EXTENT": str(image), "TOLERANCE_M": 4}
    outputs = {name: "TEMPORARY_OUTPUT" for name in ("OUTPUT", "ROADS")}
    result = run("updateosm", {**values, **outputs, "REPORT": str(tmp_path / "report.html")})
    assert [feature["change"] for feature in result["OUTPUT"].getFeatures()] == ["lost"]
    assert result["ROADS"].featureCount() == 2
    options = options_in_job()
    assert options["aoi"] and options["tolerance_m"] == 4
    assert "EXTENT" in failure("updateosm", {**values, **outputs, "EXTENT": None})


def test_changedroads_compares_the_roads_of_both_images(received, image, tmp_path, model):
    later = shutil.copy(image, tmp_path / "later.tif")
    # One road in the image after, two in that before; they are looked at in any order.
    found = NETWORK.replace("* 2", "* (1 if 'later' in options['raster'] else 2)")
    options_in_job = received(play_of({"extractroads": found, "comparenetworks": CHANGES}))
    values = {"IMAGE_BEFORE": str(image), "INPUT": str(later), "MODEL": model, "EXTENT": str(image)}
    places = memory_layer("Point", "Places", "Point (350001 3059999)")
    outputs = {name: str(tmp_path / f"{name.lower()}.gpkg") for name in ("OUTPUT", "ROADS_BEFORE", "ROADS_AFTER")}
    result = run("changedroads", {**values, **outputs, "PLACES": places})
    assert [feature["change"] for feature in QgsVectorLayer(result["OUTPUT"]).getFeatures()] == ["lost"]
    assert [QgsVectorLayer(result[name]).featureCount() for name in ("ROADS_BEFORE", "ROADS_AFTER")] == [2, 1]
    options = options_in_job()
    assert options["before"] and options["after"] and options["aoi"] and options["places"]


@pytest.fixture
def jobs_run(play_runtime, tmp_path):
    """Have a worker play the parts of all steps; return a function that gives the names of the jobs that were run."""
    log = tmp_path / "jobs.txt"
    parts = {**STEPS, "comparenetworks": CHANGES, "makechallenge": CHALLENGE}
    play_runtime(f"""
with open({str(log)!r}, "a") as file:
    print(job()["job"], file=file)
{play_of(parts)}
""")
    return lambda: log.read_text().split()


def test_the_workflows_of_changes_make_a_challenge_of_them_where_one_is_wanted(jobs_run, image, tmp_path, model):
    before = memory_layer("LineString", "OSM", ROAD)
    values = {"INPUT": str(image), "MODEL": model, "EXTENT": str(image)}
    challenge = str(tmp_path / "challenge.geojson")
    cases = {
        "updateosm": ({"BEFORE": before}, ("OUTPUT", "ROADS")),
        "changedroads": ({"IMAGE_BEFORE": str(image)}, ("OUTPUT", "ROADS_BEFORE", "ROADS_AFTER")),
    }
    for name, (own, names) in cases.items():
        outputs = dict.fromkeys(names, "TEMPORARY_OUTPUT")
        for nothing in ({}, {"CHALLENGE": None}, {"CHALLENGE": ""}):
            result = run(name, {**values, **own, **outputs, **nothing})
            assert jobs_run()[-1] == "comparenetworks" and "CHALLENGE" not in result
        result = run(name, {**values, **own, **outputs, "CHALLENGE": challenge})
        assert jobs_run()[-2:] == ["comparenetworks", "makechallenge"]
        assert result["CHALLENGE"] == challenge and result["OUTPUT"].featureCount() == 1


@pytest.mark.parametrize("name", processing_models.MODELS)
def test_a_workflow_names_its_outputs_and_makes_at_least_one(provider, play_runtime, name, image, model, tmp_path):
    play_runtime("")
    algorithm = provider.algorithm(name)  # the one that qgis_process shows the help of
    outputs = [each.name() for each in algorithm.destinationParameterDefinitions()]
    assert outputs == [each.name() for each in algorithm.outputDefinitions()] and "OUTPUT" in outputs
    values = good_values(algorithm, make_container(tmp_path / "town.gpkg"), model, tmp_path)
    nothing = {key: value for key, value in values.items() if key not in outputs}
    told = algorithm.create().checkParameterValues(nothing, QgsProcessingContext())[1]
    assert "no value specified for parameter" in told or "Give at least one of " in told
    assert "OUTPUT" in told


def test_a_geopackage_of_image_and_labels_is_its_image(provider, play_runtime, model, tmp_path):
    play_runtime("")
    container, algorithm = make_container(tmp_path / "town.gpkg"), provider.algorithm("finetuneandmap")
    values = {**good_values(algorithm, container, model, tmp_path), "INPUT": container}
    assert "EXTENT" not in values
    assert algorithm.create().checkParameterValues(values, QgsProcessingContext()) == (True, "")


def test_a_step_that_fails_says_why_and_ends_the_model(play_runtime, image, tmp_path, model):
    error = 'send("error", code="imagery", message="Too cloudy.", remedy="Wait."); sys.exit(1)'
    play_runtime(play_of({"segment": error, "vectorize": NETWORK}))
    roads = tmp_path / "roads.gpkg"
    assert "Too cloudy. Wait." in failure("maproads", {"INPUT": str(image), "MODEL": model, "OUTPUT": str(roads)})
    assert not roads.exists()


@pytest.mark.parametrize("language", ["de", "es", "fr"])
def test_a_model_speaks_the_persons_language_and_keeps_its_ids(language):
    def told(spoken):
        translation.set_locale(spoken)
        one = WorkflowAlgorithm("maproads").create()
        known = [*one.parameterDefinitions(), *one.outputDefinitions()]
        labels = {each.name(): each.description() for each in known}
        return (one.name(), one.groupId(), set(labels)), (one.displayName(), one.group(), one.tags(), labels)

    ids, words = told(language)
    english_ids, english_words = told("en_US")
    assert ids == english_ids
    assert all(here != there for here, there in zip(words, english_words))
    assert words[-1]["OUTPUT"] != "Roads" == english_words[-1]["OUTPUT"]


def test_the_dialog_opens_with_all_that_a_person_can_give(provider, monkeypatch):
    from processing.gui.AlgorithmDialog import AlgorithmDialog

    monkeypatch.setattr("processing.gui.ParametersPanel.iface", None)
    for name in processing_models.MODELS:
        algorithm = provider.algorithm(name).create()
        dialog = AlgorithmDialog(algorithm)
        wrappers = dialog.mainWidget().wrappers
        assert {parameter.name() for parameter in algorithm.parameterDefinitions()} <= set(wrappers)
        dialog.close()
