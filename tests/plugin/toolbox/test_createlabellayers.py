"""Create label layers through Processing: what is in the file, how it looks, and that nothing drawn is ever lost."""

import pytest
from qgis.core import (
    Qgis,
    QgsApplication,
    QgsFeature,
    QgsGeometry,
    QgsProcessingContext,
    QgsProcessingOutputLayerDefinition,
    QgsProject,
    QgsRasterLayer,
    QgsValueMapFieldFormatter,
    QgsVectorLayer,
    QgsVectorLayerUtils,
    edit,
)

from tests.held_files import hold_files

from ..support.acting import Ear, failure, run, run_in_task
from ..support.meshes import mesh_layer

pytestmark = pytest.mark.usefixtures("provider", "qgis_new_project", "no_runtime")


def opened(path, name):
    """Open a layer of the file as QGIS does for a person."""
    layer = QgsVectorLayer(f"{path}|layername={name}", name, "ogr")
    assert layer.isValid()
    return layer


def made(image, tmp_path, **values):
    path = tmp_path / "Straßen von Hand.gpkg"
    run("createlabellayers", {"INPUT": image, "OUTPUT": str(path), **values})
    return path


def widget(layer, name):
    setup = layer.editorWidgetSetup(layer.fields().indexOf(name))
    return setup.type(), setup.config()


def test_three_empty_layers_in_the_images_crs_and_nothing_else_beside_them(image, tmp_path):
    path = tmp_path / "alone" / "labels.gpkg"
    path.parent.mkdir()
    result = run("createlabellayers", {"INPUT": str(image), "OUTPUT": str(path)})
    names = {"OUTPUT": "roads", "AOI": "aoi", "NO_ROAD": "no_road"}
    assert result == {output: f"{path}|layername={name}" for output, name in names.items()}
    roads, aoi, no_road = (QgsVectorLayer(result[name], name, "ogr") for name in names)
    assert roads.wkbType() == Qgis.WkbType.LineString
    assert aoi.wkbType() == no_road.wkbType() == Qgis.WkbType.Polygon
    assert {layer.crs().authid() for layer in (roads, aoi, no_road)} == {"EPSG:32645"}
    assert roads.fields().names() == ["fid", "road_class", "width_m", "sure"]
    assert roads.featureCount() == aoi.featureCount() == no_road.featureCount() == 0
    assert list(path.parent.iterdir()) == [path]


def test_the_form_travels_with_the_file(image, tmp_path):
    layer = opened(made(str(image), tmp_path, CLASSES="paved, unpaved ,,paved", WIDTH_M=4.5), "roads")
    assert [layer.attributeDisplayName(i) for i in range(1, 4)] == ["Road class", "Width (m)", "Sure that it is a road"]
    none = QgsValueMapFieldFormatter.NULL_VALUE
    assert widget(layer, "road_class") == (
        "ValueMap",
        {"map": [{"(no class)": none}, {"paved": "paved"}, {"unpaved": "unpaved"}]},
    )
    kind, config = widget(layer, "width_m")
    assert (kind, config["Min"], config["Max"], config["AllowNull"]) == ("Range", 0.5, 100, True)
    assert widget(layer, "sure")[0] == "CheckBox" and widget(layer, "fid")[0] == "Hidden"
    drawn = QgsVectorLayerUtils.createFeature(layer, QgsGeometry.fromWkt("LineString (0 0, 1 1)"))
    assert [drawn[name] for name in ("width_m", "sure")] == [4.5, True]
    assert not drawn["road_class"]  # a class is what a person has said


def test_what_is_drawn_is_never_lost(image, tmp_path):
    path = made(str(image), tmp_path)
    for name, wkt in (("roads", "LineString (0 0, 1 1)"), ("aoi", "Polygon ((0 0, 1 0, 1 1, 0 0))")):
        layer = opened(path, name)
        with edit(layer):
            feature = QgsFeature(layer.fields())
            feature.setGeometry(QgsGeometry.fromWkt(wkt))
            assert layer.addFeature(feature)
        del layer
    told = failure("createlabellayers", {"INPUT": str(image), "OUTPUT": str(path)})
    assert f"{path} exists already" in told and "Choose another name" in told
    assert opened(path, "roads").featureCount() == opened(path, "aoi").featureCount() == 1


def test_the_file_appears_as_soon_as_no_program_looks_at_it(image, tmp_path, monkeypatch):
    hold_files(monkeypatch, refusals=3)
    path = tmp_path / "labels.gpkg"
    run("createlabellayers", {"INPUT": str(image), "OUTPUT": str(path)})
    assert opened(path, "roads").isValid() and list(tmp_path.glob("*labels*")) == [path]


@pytest.mark.parametrize("name", ["labels.shp", "labels"])
def test_only_a_geopackage_holds_forms_and_styles(image, tmp_path, name):
    told = failure("createlabellayers", {"INPUT": str(image), "OUTPUT": str(tmp_path / name)})
    assert "Use the extension .gpkg" in told and not (tmp_path / name).exists()


def test_a_temporary_file_is_warned_of(image):
    ear = Ear()
    result = run("createlabellayers", {"INPUT": str(image), "OUTPUT": "TEMPORARY_OUTPUT"}, ear)
    assert QgsVectorLayer(result["OUTPUT"], "", "ogr").isValid()
    assert "that QGIS deletes when it closes" in ear.text


def test_a_mesh_and_a_web_map_have_a_crs_too(tmp_path):
    web = QgsRasterLayer("type=xyz&url=file:///{z}/{x}/{y}.png", "Kacheln", "wms")
    for number, layer in enumerate((mesh_layer(tmp_path / "mesh.2dm"), web)):
        QgsProject.instance().addMapLayer(layer)
        path = tmp_path / f"{number}.gpkg"
        run("createlabellayers", {"INPUT": layer, "OUTPUT": str(path)})
        assert opened(path, "roads").crs() == layer.crs()


def test_an_extent_is_where_the_area_of_interest_begins_as_far_as_there_is_an_image(image, tmp_path):
    path = made(str(image), tmp_path, EXTENT="349990,350010,3059990,3060020 [EPSG:32645]")
    (feature,) = opened(path, "aoi").getFeatures()
    assert feature.geometry().isGeosEqual(
        QgsGeometry.fromWkt(
            "Polygon ((350000 3059990, 350010 3059990, 350010 3060000, 350000 3060000, 350000 3059990))"
        )
    )


def test_all_layers_come_onto_the_map_in_order_and_with_their_styles(image, tmp_path, qgis_app, no_iface):
    """As the toolbox does it: made in another thread, then loaded and styled here."""
    from processing.gui.Postprocessing import handleAlgorithmResults

    project, context, ear = QgsProject.instance(), QgsProcessingContext(), Ear()
    context.setProject(project)
    algorithm = QgsApplication.processingRegistry().createAlgorithmById("roadseg:createlabellayers")
    output = QgsProcessingOutputLayerDefinition(str(tmp_path / "labels.gpkg"), project)
    ends = run_in_task(algorithm, {"INPUT": str(image), "OUTPUT": output}, context, ear, qgis_app)
    assert [fine for fine, _ in ends] == [True], ear.text
    assert handleAlgorithmResults(algorithm, context, ear)
    loaded = [node.layer() for node in project.layerTreeRoot().findLayers()]
    assert [layer.name() for layer in loaded] == ["Drawn roads", "No road here", "Area of interest"]
    assert widget(loaded[0], "road_class")[0] == "ValueMap"
    assert loaded[2].renderer().symbol().symbolLayer(0).layerType() == "SimpleLine"
