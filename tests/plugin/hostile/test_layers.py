"""Layers that are removed, edited or filtered while an algorithm runs, and projects without a CRS."""

import pytest
from osgeo import gdal
from qgis.core import (
    QgsApplication,
    QgsFeature,
    QgsFeatureRequest,
    QgsGeometry,
    QgsProcessingContext,
    QgsProcessingException,
    QgsProcessingFeatureSourceDefinition,
    QgsProject,
    QgsRasterLayer,
    QgsVectorFileWriter,
    QgsVectorLayer,
    edit,
)
from roadseg.qgis_roadseg.layers.snapshot import read, take_source

from ..support.acting import Ear, memory_layer, run_in_task
from ..support.parts import SEGMENT
from ..support.tiles import ALL, paint_tiles, tile_layer

pytestmark = pytest.mark.usefixtures("provider", "qgis_new_project")

OVERRIDE = QgsProcessingFeatureSourceDefinition.Flag.FlagOverrideDefaultGeometryCheck
NO_CHECK = QgsFeatureRequest.InvalidGeometryCheck.GeometryNoCheck
SKIP = QgsFeatureRequest.InvalidGeometryCheck.GeometrySkipInvalid
STOP = QgsFeatureRequest.InvalidGeometryCheck.GeometryAbortOnInvalid
ROAD = "LineString (350001 3059999, 350011 3059999)"


@pytest.fixture
def received(tmp_path, play_runtime):
    """Return a function that tells the names in the layer of lines that the worker was given."""
    seen = tmp_path / "seen.gpkg"
    play_runtime(f"""
import shutil
shutil.copy(job()["options"]["lines"], {str(seen)!r})
shutil.copy(job()["options"]["lines"], job()["options"]["roads"])
send("result", result={{"count": 1}})
""")
    return lambda: sorted(str(feature["name"]) for feature in QgsVectorLayer(str(seen), "seen", "ogr").getFeatures())


def lines(kind, tmp_path):
    layer = memory_layer("LineString", "Straßen", ROAD, "&field=name:string")
    with edit(layer):
        layer.changeAttributeValue(1, 0, "first")
    if kind == "memory":
        return layer
    path = tmp_path / "drawn.gpkg"
    options = QgsVectorFileWriter.SaveVectorOptions()
    QgsVectorFileWriter.writeAsVectorFormatV3(layer, str(path), QgsProject.instance().transformContext(), options)
    QgsProject.instance().removeMapLayer(layer)
    layer = QgsVectorLayer(str(path), "Straßen", "ogr")
    QgsProject.instance().addMapLayer(layer)
    return layer


def run_with(layer, meanwhile, value=None):
    """Run *Clean road network*, with something that happens between its preparation and its work."""
    values = {"INPUT": value or layer.id(), "OUTPUT": "memory:"}
    return run_prepared("cleannetwork", values, lambda: meanwhile(layer))


def run_prepared(name, values, meanwhile):
    context, ear = QgsProcessingContext(), Ear()
    context.setProject(QgsProject.instance())
    algorithm = QgsApplication.processingRegistry().createAlgorithmById(f"roadseg:{name}")
    assert algorithm.checkParameterValues(values, context) == (True, "")
    assert algorithm.prepare(values, context, ear)
    meanwhile()
    return algorithm.runPrepared(values, context, ear)


def remove(layer):
    QgsProject.instance().removeMapLayer(layer)


def edit_unsaved(layer):
    layer.startEditing()
    added = QgsFeature(layer.fields())
    added.setGeometry(QgsGeometry.fromWkt(ROAD))
    added["name"] = "late"
    layer.addFeature(added)


def edit_saved(layer):
    edit_unsaved(layer)
    assert layer.commitChanges()


def filter_all(layer):
    assert layer.setSubsetString("name = 'nothing'")


@pytest.mark.parametrize("kind", ["memory", "file"])
@pytest.mark.parametrize("meanwhile", [remove, edit_unsaved, filter_all])
def test_a_run_takes_a_layer_as_it_was_when_it_began(kind, meanwhile, received, tmp_path):
    run_with(lines(kind, tmp_path), meanwhile)
    assert received() == ["first"]


@pytest.mark.parametrize(("kind", "names"), [("memory", ["first"]), ("file", ["first", "late"])])
def test_only_what_is_saved_to_a_file_before_it_is_read_comes_along(kind, names, received, tmp_path):
    run_with(lines(kind, tmp_path), edit_saved)
    assert received() == names


@pytest.mark.parametrize(
    ("values", "names"),
    [
        ({"filterExpression": "name = 'late'"}, ["late"]),
        ({"filterExpression": "true", "featureLimit": 1}, ["first"]),
        ({"selectedFeaturesOnly": True}, ["late"]),
    ],
)
def test_a_filter_a_limit_and_a_selection_count_for_a_layer_that_is_removed(values, names, received, tmp_path):
    layer = lines("file", tmp_path)
    edit_saved(layer)
    layer.selectByExpression("name = 'late'")
    run_with(layer, remove, QgsProcessingFeatureSourceDefinition(layer.id(), **values))
    assert received() == names


INVALID = "The feature 1 of the layer Gebiet has an invalid geometry. Repair it (Fix geometries in the toolbox), or"


def bow_tie():
    west, east = "350000 3059990, 350010 3060000", "350010 3059990, 350000 3060000"
    return memory_layer("Polygon", "Gebiet", f"Polygon (({west}, {east}, 350000 3059990))")


@pytest.mark.parametrize("has_extent", [False, True])
def test_an_invalid_geometry_stops_a_run_of_the_toolbox_and_not_qgis(
    has_extent, play_runtime, image, model, tmp_path, qgis_app
):
    """As the toolbox runs it: in another thread, and set to stop at invalid geometries."""
    play_runtime(SEGMENT)
    context, ear = QgsProcessingContext(), Ear()
    context.setProject(QgsProject.instance())
    context.setInvalidGeometryCheck(STOP)
    algorithm = QgsApplication.processingRegistry().createAlgorithmById("roadseg:segment")
    values = {"INPUT": str(image), "AOI": bow_tie(), "MODEL": model, "MASK": str(tmp_path / "mask.tif")}
    if has_extent:  # which is combined with the area in the main thread, before the run
        values["EXTENT"] = "350000,350010,3059990,3060000 [EPSG:32645]"
        assert algorithm.checkParameterValues(values, context)[1].startswith(INVALID)
    assert run_in_task(algorithm, values, context, ear, qgis_app) == [(False, {})]
    assert INVALID in ear.text


@pytest.mark.parametrize("check", ["SKIP", "NO_CHECK"])
def test_an_input_may_have_its_own_way_with_invalid_geometries(check, provider):
    layer = bow_tie()
    context, algorithm = QgsProcessingContext(), provider.algorithm("cleannetwork").create()
    context.setProject(QgsProject.instance())
    context.setInvalidGeometryCheck(STOP)
    options = {"flags": OVERRIDE, "geometryCheck": SKIP if check == "SKIP" else NO_CHECK}
    value = QgsProcessingFeatureSourceDefinition(layer.id(), **options)
    source = take_source(algorithm, "INPUT", {"INPUT": value}, context)
    remove(layer)
    assert len(list(read(source, QgsFeatureRequest()))) == (0 if check == "SKIP" else 1)


def test_an_error_names_a_layer_that_was_removed(play_runtime, tmp_path):
    play_runtime("""
send("error", code="labels", message=f"{job()['options']['lines']} is empty.", remedy="Draw some roads.")
""")
    with pytest.raises(QgsProcessingException, match="^Straßen is empty. Draw some roads.$"):
        run_with(lines("memory", tmp_path), remove)


@pytest.mark.parametrize("is_file", [True, False])
def test_an_image_and_its_area_may_be_removed(is_file, play_runtime, image, model, tmp_path):
    play_runtime(f"import shutil; shutil.copy(job()['options']['raster'], {str(tmp_path / 'seen.tif')!r})\n" + SEGMENT)
    source = QgsRasterLayer(str(image)) if is_file else tile_layer(paint_tiles(tmp_path / "tiles"))
    QgsProject.instance().addMapLayer(source)
    area = memory_layer("Polygon", "Gebiet", QgsGeometry.fromRect(source.extent() if is_file else ALL).asWkt())
    area.setCrs(source.crs())
    mask = str(tmp_path / "mask.tif")
    values = {"INPUT": source.id(), "AOI": area.id(), "MODEL": model, "MASK": mask, "RESOLUTION_M": 1.0}
    results = run_prepared("segment", values, QgsProject.instance().removeAllMapLayers)
    assert results["MASK"] == mask
    assert gdal.Open(str(tmp_path / "seen.tif")).RasterCount == (3 if is_file else 4)
