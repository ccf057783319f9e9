import os

import pytest
from qgis.core import QgsProject
from roadseg.qgis_roadseg.layers import demo_project
from roadseg.training_core.errors import OutputError
from roadseg.training_core.jobs import recipe

from ..support.scene import NORTH, WEST, write_scene

pytestmark = pytest.mark.usefixtures("qgis_new_project")


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "Versuch ß"
    folder.mkdir()
    files = demo_project.files(folder)
    for made, kind in zip(write_scene(tmp_path), ("image", "true")):
        os.replace(made, files[kind])
    return folder


def test_the_roads_of_the_western_half_are_drawn_and_dialogs_begin_with_these_layers(folder):
    project = QgsProject.instance()
    assert not demo_project.is_made(folder) and demo_project.starting_values(project, "finetune") == {}
    assert project.read(str(demo_project.make(folder)))
    assert demo_project.is_made(folder)
    layers = {layer.name(): layer for layer in project.mapLayers().values()}
    assert set(layers) == {"Generated scene", "True roads", "Drawn roads", "Area of interest"}
    assert [name for name, layer in layers.items() if not layer.isValid()] == []
    assert {name: layer.crs().authid() for name, layer in layers.items()} == dict.fromkeys(layers, "EPSG:32633")
    assert project.crs().authid() == "EPSG:32633"
    (area,) = layers["Area of interest"].getFeatures()
    assert area.geometry().boundingBox().toString(0) == f"{WEST},{NORTH - 400} : {WEST + 200},{NORTH}"
    (drawn,) = layers["Drawn roads"].getFeatures()
    assert drawn.geometry().length() == pytest.approx(150) and drawn["width_m"] == 8
    assert layers["True roads"].featureCount() == 2
    root = project.layerTreeRoot()
    assert [node.name() for node in root.findLayers() if not node.isVisible()] == ["True roads"]
    assert root.findLayers()[-1].name() == "Generated scene"
    start, found = (demo_project.starting_values(project, name) for name in ("finetune", "extractroads"))
    assert [project.mapLayer(layer).name() for layer in (start["ROADS"], start["AOI"], *start["INPUT"])] == [
        "Drawn roads", "Area of interest", "Generated scene",
    ]  # fmt: skip
    assert found["MODEL"] == start["MODEL"] and found["INPUT"] == start["INPUT"][0]


@pytest.mark.parametrize("is_there", [True, False])
def test_learning_begins_with_the_starter_where_there_is_one(folder, tmp_path, monkeypatch, is_there):
    path = tmp_path / "roads.safetensors"
    monkeypatch.setattr(recipe, "STARTER_FOLDER", path.parent)
    if is_there:
        path.touch()
    project = QgsProject.instance()
    project.read(str(demo_project.make(folder)))
    start = demo_project.starting_values(project, "finetune")
    assert start.get("BASE_MODEL") == (None if is_there else "")  # nothing said: the starter, by default


@pytest.mark.parametrize("text", ["{", "[1]", "null"])
def test_a_project_that_says_nonsense_says_nothing(text):
    QgsProject.instance().writeEntry("RoadSeg", "finetune", text)
    assert demo_project.starting_values(QgsProject.instance(), "finetune") == {}


def test_a_folder_that_cannot_be_written_to_is_told(folder):
    demo_project.files(folder)["project"].mkdir()
    with pytest.raises(OutputError, match=r"demo\.qgz cannot be written"):
        demo_project.make(folder)
