"""No algorithm writes over an input, or two outputs in one place: tables made from the declarations."""

import os
import shutil
from itertools import combinations
from pathlib import Path

import pytest
from osgeo import ogr
from qgis.core import (
    QgsProcessingContext,
    QgsProcessingParameterFeatureSink,
    QgsProject,
    QgsProperty,
    QgsProviderRegistry,
    QgsVectorLayer,
)
from roadseg.qgis_roadseg.toolbox.output_checks import check_outputs
from roadseg.training_core.errors import OutputError

from ..support.declared import good_value, good_values, inputs_of, make_container, suffix

pytestmark = pytest.mark.usefixtures("provider", "qgis_new_project")
OVERWRITTEN, SAME = "is an input of this job and would be overwritten", "are the same file"
# Create label layers never replaces a file, whosever it is.
REFUSED = (OVERWRITTEN, "exists already")


@pytest.fixture
def container(tmp_path):
    return make_container(tmp_path / "Stadt ä.gpkg")


@pytest.fixture
def context(qgis_new_project):
    made = QgsProcessingContext()
    made.setProject(QgsProject.instance())
    return made


def refusal(algorithm, values, context):
    fine, told = algorithm.create().checkParameterValues(values, context)
    return "" if fine else told


@pytest.fixture
def told_of(provider, context):
    """Return a function that gives what is told of the outputs of an algorithm; nothing where all is well."""

    def check(values, algorithm="cleannetwork"):
        try:
            check_outputs(provider.algorithm(algorithm), values, context)
        except OutputError as error:
            return str(error)
        return ""

    return check


def test_no_algorithm_writes_over_an_input(provider, play_runtime, container, model, context, tmp_path):
    play_runtime("")
    failures, count = [], 0
    for algorithm in provider.algorithms():
        for source in inputs_of(algorithm):
            own = shutil.copy(container, str(tmp_path / "own ö.gpkg"))
            other = shutil.copy(model, str(tmp_path / "own.safetensors"))
            value = good_value(source, own, other)
            for output in algorithm.destinationParameterDefinitions():
                count += 1
                destination = tmp_path / f"{count}{suffix(output)}"
                destination.symlink_to(own if "own ö" in str(value) else other)
                values = good_values(algorithm, container, model, tmp_path, source.name())
                told = refusal(algorithm, {**values, source.name(): value, output.name(): str(destination)}, context)
                if not any(words in told for words in REFUSED):
                    failures.append(f"{algorithm.name()} {source.name()} {output.name()}: {told}")
    assert failures == []
    assert count >= 190


def test_no_two_outputs_of_an_algorithm_are_one_file(provider, play_runtime, container, model, context, tmp_path):
    play_runtime("")
    failures, count = [], 0
    for algorithm in provider.algorithms():
        for first, second in combinations(algorithm.destinationParameterDefinitions(), 2):
            count += 1
            one, other = (tmp_path / f"{count}{suffix(each)}" for each in (first, second))
            if one != other:  # of other endings, but links may make them one
                (tmp_path / f"{count}").touch()
                for link in (one, other):
                    link.symlink_to(tmp_path / f"{count}")
            values = good_values(algorithm, container, model, tmp_path)
            told = refusal(algorithm, {**values, first.name(): str(one), second.name(): str(other)}, context)
            if SAME not in told:
                failures.append(f"{algorithm.name()} {first.name()} {second.name()}: {told}")
    assert failures == []
    assert count >= 60


def as_path(path):
    return str(path)


def relative(path):
    return os.path.relpath(path)


def as_link(path):
    link = path.with_name("link.gpkg")
    link.symlink_to(path)
    return str(link)


def as_hard_link(path):
    link = path.with_name("hard.gpkg")
    os.link(path, link)
    return str(link)


def as_table(name):
    return lambda path: f"ogr:dbname='{path}' table=\"{name}\" (geom)"


@pytest.mark.parametrize(
    ("source", "destination", "told"),
    [
        ("{}|layername=lines", as_path, OVERWRITTEN),
        ("{}|layername=lines", relative, OVERWRITTEN),
        ("{}|layername=lines", as_link, OVERWRITTEN),
        ("{}|layername=lines", as_hard_link, OVERWRITTEN),
        ("{}|layername=lines", as_table("lines"), OVERWRITTEN),
        ("{}|layername=lines", as_table("LINES"), OVERWRITTEN),
        ("{}|layername=lines|subset=width_m > 1", as_table("lines"), OVERWRITTEN),
        ("{}", as_table("points"), OVERWRITTEN),  # its first layer
        ("{}", as_table("polygons"), ""),
        ("{}|layername=polygons|subset=SELECT * FROM lines", as_table("lines"), OVERWRITTEN),
        ("{}", as_table("new"), ""),
        ("{}|layername=lines", as_table("polygons"), ""),
        ("{}|layername=lines", as_table("new"), ""),
    ],
)
def test_a_layer_is_known_by_any_of_its_names(told_of, container, source, destination, told):
    found = told_of({"INPUT": source.format(container), "OUTPUT": destination(Path(container))})
    assert told in found and bool(told) == bool(found)


def layer_of_project(container):
    layer = QgsVectorLayer(f"{container}|layername=lines", "Wege", "ogr")
    QgsProject.instance().addMapLayer(layer)
    return layer.id()


def virtual_layer_of_the_project(container):
    layer_of_project(container)
    layer = QgsVectorLayer("?query=select * from Wege", "v", "virtual")
    QgsProject.instance().addMapLayer(layer)
    return layer.id()


def nested_virtual_layers(container):
    inner, outer = (Path(container).with_name(f"{name}.vrt") for name in ("inner", "outer"))
    for file, source, layer in ((inner, container, "lines"), (outer, inner, "lines")):
        file.write_text(
            f"<OGRVRTDataSource><OGRVRTLayer name='{layer}'><SrcDataSource>{source}</SrcDataSource></OGRVRTLayer>"
            "</OGRVRTDataSource>"
        )
    return str(outer)


def virtual_layer_as_text(container):
    return Path(nested_virtual_layers(container)).read_text()


def virtual_layer(container):
    layer = QgsVectorLayer(
        f"?layer=ogr:{container}%7Clayername=lines:wege:UTF8&query=select * from wege", "v", "virtual"
    )
    assert layer.isValid()
    QgsProject.instance().addMapLayer(layer)
    return layer.id()


@pytest.mark.parametrize(
    "make",
    [layer_of_project, virtual_layer, virtual_layer_of_the_project, nested_virtual_layers, virtual_layer_as_text],
)
def test_a_layer_of_the_project_counts_by_what_it_is_made_of(told_of, container, make):
    assert OVERWRITTEN in told_of({"INPUT": make(container), "OUTPUT": container})


def in_a_mosaic(container):
    mosaic = Path(container).with_suffix(".vrt")
    mosaic.write_text(
        f"<VRTDataset><SourceFilename relativeToVRT='1'>GPKG:{Path(container).name}:image</SourceFilename>"
    )
    return str(mosaic)


def in_a_folder(container):
    return os.path.dirname(container)


def an_image(container):
    return f"GPKG:{container}:image"


@pytest.mark.parametrize("make", [in_a_mosaic, in_a_folder, an_image])
def test_an_image_that_shares_a_file_with_layers_is_not_lost_to_a_layer(told_of, container, make):
    values = {"INPUT": [make(container)], "OUTPUT": container}
    assert OVERWRITTEN in told_of(values, "mapregion")
    assert told_of({**values, "OUTPUT": as_table("new")(container)}, "mapregion") == ""


def test_the_files_of_a_shapefile_are_its_own_and_a_folder_of_shapefiles_is_its_files(told_of, container, tmp_path):
    (tmp_path / "places.dbf").write_bytes(b"")
    values = {"INPUT": f"{container}|layername=lines", "OUTPUT": str(tmp_path / "places.shp")}
    assert told_of(values) == ""  # nothing of theirs is an input
    assert OVERWRITTEN in told_of({**values, "BRIDGES": str(tmp_path / "places.dbf")})
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a.shp").touch()
    assert OVERWRITTEN in told_of({"INPUT": str(tmp_path / "folder"), "OUTPUT": str(tmp_path / "folder" / "a.shp")})


def test_an_output_may_be_an_expression_and_gets_the_ending_that_processing_appends(told_of, tmp_path):
    roads = tmp_path / "roads.json.geojson"
    roads.touch()
    assert OVERWRITTEN in told_of({"INPUT": str(roads), "OUTPUT": str(tmp_path / "roads.json")})
    values = {"INPUT": str(roads), "SCORES": QgsProperty.fromExpression(f"'{roads}'")}
    assert OVERWRITTEN in told_of(values, "scorenetwork")


@pytest.mark.parametrize(
    ("table", "statement", "told"),
    [
        ("image", "", "is not a layer of features"),
        ("lines", 'CREATE VIEW seen AS SELECT * FROM "lines"', "seen in its file refer to it"),
        ("lines", "CREATE TABLE notes (road INTEGER REFERENCES lines (fid))", "notes in its file refer to it"),
    ],
)
def test_a_table_that_cannot_be_replaced_is_refused(told_of, container, tmp_path, table, statement, told):
    dataset = ogr.Open(container, update=1)
    if statement:
        dataset.ExecuteSQL(statement)
    del dataset  # which closes it
    assert told in told_of({"INPUT": str(tmp_path / "other.gpkg"), "OUTPUT": as_table(table)(container)})


@pytest.mark.parametrize(
    ("first", "second", "are_same"),
    [
        ("net.gpkg", "net.gpkg", True),
        ("net", "net.gpkg", True),  # Processing appends the ending
        ("net.json", "net.json.geojson", True),
        ("net.gpkg", "ogr:dbname='{}/net.gpkg' table=\"nodes\" (geom)", True),
        ("ogr:dbname='{}/net.gpkg' table=\"Nodes\" (geom)", "ogr:dbname='{}/net.gpkg' table=\"nodes\" (geom)", True),
        ("ogr:dbname='{}/net.gpkg' table=\"roads\" (geom)", "ogr:dbname='{}/net.gpkg' table=\"nodes\" (geom)", False),
        ("net.gpkg", "net.geojson", False),
    ],
)
def test_two_tables_may_share_a_geopackage(told_of, container, tmp_path, monkeypatch, first, second, are_same):
    monkeypatch.chdir(tmp_path)
    outputs = {"OUTPUT": first.format(tmp_path), "NODES": second.format(tmp_path)}
    assert (SAME in told_of({"INPUT": f"{container}|layername=lines", **outputs})) == are_same


@pytest.mark.parametrize(
    ("destination", "told"),
    [
        ("missing/roads.gpkg", "missing cannot be written to"),
        ("ogr:dbname='missing/x.gpkg' table=\"roads\" (geom)", "missing cannot be written to"),
        ("ogr:dbname='x.gpkg'", "does not name a table"),
        ("ogr:dbname='x.sqlite' table=\"roads\" (geom)", "is not a GeoPackage"),
        ("postgis:dbname='x' host=127.0.0.1 port=1 password='secret' table=\"a\".\"b\" (geom)", "cannot be reached"),
        ("nothing:such", "QGIS cannot write to nothing:such"),
        ("roads.gpx", "cannot hold the results"),
        ("roads.dxf", "cannot hold the results"),
        ("roads.csv", "would lose their geometry"),
        ("roads.xlsx", "would lose their geometry"),
        ("folder.gpkg", "is a folder"),
        ("protected.gpkg", "is read-only"),
        ("ogr:dbname='protected.gpkg' table=\"roads\" (geom)", "is read-only"),
    ],
)
def test_a_destination_that_cannot_hold_roads_is_refused_and_nothing_is_left(
    told_of, container, tmp_path, monkeypatch, destination, told
):
    if destination.startswith("postgis") and "postgres" not in QgsProviderRegistry.instance().providerList():
        pytest.skip("this QGIS was built without PostgreSQL")
    folder = tmp_path / "work"
    (folder / "folder.gpkg").mkdir(parents=True)
    (folder / "protected.gpkg").touch(0o444)
    monkeypatch.chdir(folder)
    found = told_of({"INPUT": f"{container}|layername=lines", "OUTPUT": destination})
    assert told in found and "secret" not in found
    assert sorted(os.listdir(folder)) == ["folder.gpkg", "protected.gpkg"]


@pytest.mark.parametrize("ending", ["gpkg", "shp", "geojson", "fgb", "gml", "kml", "tab", "sqlite"])
def test_formats_that_hold_lines_with_attributes_are_accepted(told_of, container, tmp_path, ending):
    destination = tmp_path / f"roads.{ending}"
    assert told_of({"INPUT": f"{container}|layername=lines", "OUTPUT": str(destination)}) == ""
    assert not destination.exists()


def test_every_sink_takes_its_own_kind_of_geometry(provider, context, tmp_path):
    for algorithm in provider.algorithms():
        for output in algorithm.destinationParameterDefinitions():
            if isinstance(output, QgsProcessingParameterFeatureSink):
                check_outputs(algorithm, {output.name(): str(tmp_path / "a.gpkg")}, context)
