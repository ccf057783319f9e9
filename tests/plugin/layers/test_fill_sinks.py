"""Results in Processing's sinks: whole where they are wanted, or everything as it was before."""

import os
import resource
import sqlite3
from itertools import count

import pytest
from osgeo import ogr
from qgis.core import (
    QgsFeature,
    QgsGeometry,
    QgsProcessingContext,
    QgsProcessingOutputLayerDefinition,
    QgsProject,
    QgsProperty,
    QgsRemappingSinkDefinition,
    QgsVectorLayer,
)
from roadseg.qgis_roadseg.layers import drafts
from roadseg.qgis_roadseg.layers.results import fill_sinks
from roadseg.training_core.errors import Cancelled, OutputError

from ..support.acting import Ear

pytestmark = pytest.mark.usefixtures("qgis_new_project")
TABLE = "ogr:dbname='{}/town.gpkg' table=\"roads\" (geom)"
DESTINATIONS = ["{}/roads.gpkg", "{}/roads.shp", "{}/roads.geojson", "{}/roads.fgb", TABLE]


def lines(number, kind="LineString", start=0):
    """Return a layer in memory of lines or points with a number each."""
    layer = QgsVectorLayer(f"{kind}?crs=epsg:4326&field=number:integer&field=words:string(80)", "lines", "memory")
    features = []
    for each in range(start, start + number):
        feature = QgsFeature(layer.fields())
        x, y = each % 100 / 1000, each // 100 / 1000
        shape = f"LineString ({x} {y}, {x + 0.001} {y})" if kind == "LineString" else f"Point ({x} {y})"
        feature.setGeometry(QgsGeometry.fromWkt(shape))
        feature.setAttributes([each, "w" * 60])
        features.append(feature)
    layer.dataProvider().addFeatures(features)
    return layer


def fill(provider, layers, values, is_cancelled=lambda: False, context=None, ear=None):
    ear, context = ear or Ear(), context or QgsProcessingContext()
    context.setProject(QgsProject.instance())
    ear.isCanceled = is_cancelled
    return fill_sinks(provider.algorithm("cleannetwork"), layers, values, context, ear)


def content(folder):
    """Return the numbers in each layer of a folder, by file and layer; each file is found, hidden ones too."""
    found = {}
    for name in sorted(os.listdir(folder)):
        dataset = ogr.Open(str(folder / name)) if name.endswith((".gpkg", ".shp", ".geojson", ".fgb")) else None
        layers = [] if dataset is None else [dataset.GetLayer(each) for each in range(dataset.GetLayerCount())]
        found[name] = {
            layer.GetName(): sorted(feature.GetField("number") for feature in layer)
            for layer in layers
            if layer.GetName() != "layer_styles"
        }
    return found


@pytest.fixture
def folder(provider, tmp_path):
    """A folder with a layer of five lines at each destination, and a second table beside the one."""
    made = tmp_path / "Straßen"
    made.mkdir()
    for destination in (*DESTINATIONS, TABLE.replace("roads", "others")):
        fill(provider, {"OUTPUT": lines(5)}, {"OUTPUT": destination.format(made)})
    return made


@pytest.mark.parametrize("destination", DESTINATIONS)
def test_a_layer_is_replaced_by_the_whole_result_and_nothing_else_changes(provider, folder, destination):
    before = content(folder)
    destination = destination.format(folder)
    placed = fill(provider, {"OUTPUT": lines(7)}, {"OUTPUT": destination})["OUTPUT"]
    assert QgsVectorLayer(placed, "placed", "ogr").featureCount() == 7
    changed = {key: value for key, value in content(folder).items() if before[key] != value}
    ((_, tables),) = changed.items()
    assert tables["roads"] == list(range(7)) and tables.get("others", list(range(5))) == list(range(5))


def stop_after(steps):
    steps = count(-steps)
    return lambda: next(steps) >= 0


@pytest.mark.parametrize("destination", DESTINATIONS)
@pytest.mark.parametrize("stopped_in", ["OUTPUT", "NODES"])
def test_a_stop_while_results_are_written_leaves_all_as_it_was(provider, folder, destination, stopped_in):
    before = content(folder)
    results = {"OUTPUT": lines(7), "NODES": lines(7, "Point")}
    values = {"OUTPUT": destination.format(folder), "NODES": str(folder / "nodes.gpkg")}
    with pytest.raises(Cancelled):
        fill(provider, results, values, stop_after(3 if stopped_in == "OUTPUT" else 10))
    assert content(folder) == before


@pytest.mark.parametrize("destination", DESTINATIONS)
def test_a_full_disk_leaves_all_as_it_was(provider, folder, destination):
    before = content(folder)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (250_000, hard))
    try:
        with pytest.raises(OutputError):
            fill(provider, {"OUTPUT": lines(6000)}, {"OUTPUT": destination.format(folder)})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    after = content(folder)
    for table in [each for each in after["town.gpkg"] if each.startswith("roads_roadseg_")]:
        del after["town.gpkg"][table]  # where not even a table can be removed
    assert after == before
    fill(provider, {"OUTPUT": lines(7)}, {"OUTPUT": destination.format(folder)})
    assert set(content(folder)["town.gpkg"]) == {"roads", "others"}


@pytest.mark.parametrize("destination", DESTINATIONS)
def test_where_one_result_cannot_be_put_in_place_the_others_go_back(provider, folder, destination, monkeypatch):
    before = content(folder)
    nodes = folder / "nodes.geojson"

    def refuse(new, final, replace=drafts.replace):
        if final == nodes and new.parent.name == "new":
            raise PermissionError(13, "Permission denied")
        replace(new, final)

    monkeypatch.setattr(drafts, "replace", refuse)
    results = {"OUTPUT": lines(7), "NODES": lines(7, "Point")}
    with pytest.raises(OutputError, match=r"nodes\.geojson cannot be written"):
        fill(provider, results, {"OUTPUT": destination.format(folder), "NODES": str(nodes)})
    assert content(folder) == before


@pytest.mark.slow  # QGIS waits for 20 s
def test_a_geopackage_that_another_program_locks_stays_as_it_is(provider, folder):
    before = content(folder)
    other = sqlite3.connect(folder / "town.gpkg")
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(OutputError, match=r"Could not create layer ogr:dbname=.*table=.roads. "):
        fill(provider, {"OUTPUT": lines(7)}, {"OUTPUT": TABLE.format(folder)})
    other.rollback()
    other.close()
    assert content(folder) == before


@pytest.mark.parametrize("killed_after", ["writing the draft", "renaming the table"])
def test_what_a_killed_run_left_goes_and_the_table_that_it_was_to_replace_stays(provider, folder, killed_after):
    dataset = ogr.Open(str(folder / "town.gpkg"), update=1)
    dataset.CreateLayer("roads_roadseg_0123456789abcdef").CreateField(ogr.FieldDefn("number", ogr.OFTInteger))
    if killed_after == "renaming the table":
        dataset.ExecuteSQL("ALTER TABLE roads RENAME TO roads_roadseg_0123456789abcdef_former")
    del dataset  # which closes it
    with pytest.raises(Cancelled):
        fill(provider, {"OUTPUT": lines(7)}, {"OUTPUT": TABLE.format(folder)}, stop_after(3))
    assert content(folder)["town.gpkg"] == {"roads": list(range(5)), "others": list(range(5))}


def test_two_programs_that_write_one_table_do_not_mix_their_results(provider, folder):
    table = TABLE.format(folder)

    def write_too():
        if not entered:
            entered.append(True)
            fill(provider, {"OUTPUT": lines(3)}, {"OUTPUT": table})
        return False

    entered = []
    fill(provider, {"OUTPUT": lines(7)}, {"OUTPUT": table}, write_too)
    assert content(folder)["town.gpkg"] == {"roads": list(range(7)), "others": list(range(5))}


def test_a_failed_table_leaves_no_new_file(provider, tmp_path):
    with pytest.raises(Cancelled):
        fill(provider, {"OUTPUT": lines(7)}, {"OUTPUT": TABLE.format(tmp_path)}, stop_after(3))
    assert os.listdir(tmp_path) == []


def test_a_style_that_is_stored_for_a_table_stays_its_style(provider, folder):
    layer = QgsVectorLayer(f"{folder}/town.gpkg|layername=roads", "roads", "ogr")
    layer.saveStyleToDatabase("mine", "", True, "")
    del layer
    fill(provider, {"OUTPUT": lines(7)}, {"OUTPUT": TABLE.format(folder)})
    assert QgsVectorLayer(f"{folder}/town.gpkg|layername=roads", "roads", "ogr").listStylesInDatabase()[2] == ["mine"]


def test_a_shapefile_leaves_no_index_of_the_one_before(provider, folder):
    (folder / "roads.qix").touch()
    fill(provider, {"OUTPUT": lines(7)}, {"OUTPUT": str(folder / "roads.shp")})
    assert not (folder / "roads.qix").exists()


def appended(destination):
    """Return the value of a sink by which a script appends to a layer that is there."""
    mapping = QgsRemappingSinkDefinition()
    layer = QgsVectorLayer(destination.replace("ogr:dbname='", "").partition("'")[0], "there", "ogr")
    mapping.setDestinationFields(layer.fields())
    mapping.setDestinationWkbType(layer.wkbType())
    mapping.setDestinationCrs(layer.crs())
    mapping.setFieldMap({name: QgsProperty.fromField(name) for name in ("number", "words")})
    value = QgsProcessingOutputLayerDefinition(destination)
    value.setRemappingDefinition(mapping)
    return value


@pytest.mark.parametrize("destination", ["{}/roads.gpkg", "{}/roads.shp", TABLE])
def test_an_append_adds_all_or_nothing(provider, folder, destination):
    before = content(folder)
    value = appended(destination.format(folder))
    with pytest.raises(Cancelled):
        fill(provider, {"OUTPUT": lines(2, start=5)}, {"OUTPUT": value}, lambda: True)
    assert content(folder) == before
    fill(provider, {"OUTPUT": lines(2, start=5)}, {"OUTPUT": value})
    changed = {key: value["roads"] for key, value in content(folder).items() if before[key] != value}
    assert list(changed.values()) == [list(range(7))]


def test_layers_are_loaded_from_their_places(provider, folder):
    context = QgsProcessingContext()
    project = QgsProject.instance()
    places = {"OUTPUT": f"{folder}/roads.gpkg", "NODES": TABLE.replace("roads", "nodes").format(folder)}
    values = {name: QgsProcessingOutputLayerDefinition(place, project) for name, place in places.items()}
    placed = fill(provider, {"OUTPUT": lines(2), "NODES": lines(2, "Point")}, values, context=context)
    assert placed == {"OUTPUT": f"{folder}/roads.gpkg", "NODES": f"{folder}/town.gpkg|layername=nodes"}
    loaded = context.layersToLoadOnCompletion()
    assert {place: details.outputName for place, details in loaded.items()} == {v: k for k, v in placed.items()}
    assert {details.name for details in loaded.values()} == {"Roads", "Nodes"}


def with_fields(*names):
    """Return a layer of a line whose fields hold their own names."""
    fields = "".join(f"&field={name}:string(30)" for name in names)
    layer = QgsVectorLayer(f"LineString?crs=epsg:4326{fields}", "lines", "memory")
    feature = QgsFeature(layer.fields())
    feature.setGeometry(QgsGeometry.fromWkt("LineString (0 0, 1 1)"))
    feature.setAttributes(list(names))
    layer.dataProvider().addFeatures([feature])
    return layer


@pytest.mark.parametrize(
    ("destination", "renamed"),
    [
        ("{}/roads.shp", {"road_probability": "road_proba", "road_probable": "road_pro_2", "größe_m_m2": "größe_m_"}),
        ("{}/roads.sqlite", {"ogc_fid": "ogc_fid_2"}),
        ("ogr:dbname='{}/town.gpkg' table=\"roads\" (shape)", {"shape": "shape_2"}),
        ("{}/roads.geojson", {}),
        ("{}/roads.gml", {}),  # which puts a field gml_id first
    ],
)
def test_names_that_a_format_does_not_keep_are_told_once_and_no_value_is_lost(provider, tmp_path, destination, renamed):
    names = ["road_probability", "road_probable", "größe_m_m2", "ogc_fid", "shape"]
    ear = Ear()
    placed = fill(provider, {"OUTPUT": with_fields(*names)}, {"OUTPUT": destination.format(tmp_path)}, ear=ear)
    feature = next(QgsVectorLayer(placed["OUTPUT"], "roads", "ogr").getFeatures())
    assert {name: feature[renamed.get(name, name)] for name in names} == dict(zip(names, names))
    told = [line.partition(": ")[2] for line in ear.told if "renamed" in line]
    assert told == ([", ".join(map(": ".join, renamed.items()))] if renamed else [])
