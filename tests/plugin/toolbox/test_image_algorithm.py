"""Any raster layer as the image, and the extent, through Processing; the worker only plays its part."""

import os

import numpy as np
import pytest
from osgeo import gdal, ogr
from qgis.core import (
    QgsApplication,
    QgsCoordinateReferenceSystem,
    QgsCoordinateTransform,
    QgsGeometry,
    QgsProcessingContext,
    QgsProcessingModelAlgorithm,
    QgsProcessingModelChildAlgorithm,
    QgsProcessingModelChildParameterSource,
    QgsProject,
    QgsRasterLayer,
    QgsRectangle,
    QgsReferencedRectangle,
)
from roadseg.training_core.jobs import recipe

from ..support.acting import Ear, failure, run, run_in_task, write_model
from ..support.meshes import SQUARE, mesh_layer, write_mesh
from ..support.rendered import assert_same_bounds, bounds_of, shapes
from ..support.tiles import ALL, COLUMN, ROW, paint_tiles, tile_extent, tile_layer, tile_source

pytestmark = pytest.mark.usefixtures("provider", "qgis_new_project", "temporary")

MERCATOR = QgsCoordinateReferenceSystem("EPSG:3857")
UTM = QgsCoordinateReferenceSystem("EPSG:32645")


@pytest.fixture
def model(tmp_path):
    return write_model(tmp_path / "model.safetensors", 0.5)


@pytest.fixture
def values(model, tmp_path):
    return {"MODEL": model, "MASK": str(tmp_path / "mask.tif")}


def area_in(folder):
    """Return the area that the worker was given, and its CRS."""
    source = ogr.Open(str(folder / "aoi.gpkg"))
    layer = source.GetLayer(0)
    (feature,) = layer
    return QgsGeometry.fromWkt(feature.geometry().ExportToWkt()), layer.GetSpatialRef().GetAuthorityCode(None)


def areas(*extents):
    return shapes("Polygon", "Gebiet", *map(QgsGeometry.fromRect, extents))


def in_mercator(extent):
    return QgsReferencedRectangle(extent, MERCATOR)


def test_a_web_map_is_rendered_within_the_extent(tiles, seen, values, temporary):
    told, ear = [], Ear()
    ear.progressChanged.connect(told.append)
    result = run("segment", {**values, "INPUT": tiles, "EXTENT": in_mercator(ALL.buffered(-30))}, ear)
    assert os.path.isfile(result["MASK"])
    image = gdal.Open(str(seen / "raster.tif"))
    assert_same_bounds(bounds_of(seen / "raster.tif"), ALL.buffered(-30), within=0.5)
    assert image.RasterCount == 4 and (image.ReadAsArray()[3] == 255).all()
    shape, crs = area_in(seen)
    assert crs == "3857"
    assert_same_bounds(shape.boundingBox(), ALL.buffered(-30), within=1e-3)
    assert told == sorted(told) and 50 in told and 75 in told
    assert list(temporary.iterdir()) == []


def test_extent_and_area_of_interest_count_together(tiles, seen, values):
    first, second = tile_extent(COLUMN, ROW).buffered(-10), tile_extent(COLUMN + 2, ROW).buffered(-10)
    left_half = tile_extent(COLUMN, ROW, 1, 3)
    run("segment", {
        **values, "INPUT": tiles, "AOI": areas(first, second), "EXTENT": in_mercator(left_half),
    })  # fmt: skip
    assert_same_bounds(area_in(seen)[0].boundingBox(), first, within=1e-3)


def test_extent_and_area_of_interest_apart_are_refused(tiles, seen, values):
    area = areas(tile_extent(COLUMN, ROW))
    extent = in_mercator(tile_extent(COLUMN + 2, ROW).buffered(-10))
    assert "do not overlap" in failure("segment", {**values, "INPUT": tiles, "AOI": area, "EXTENT": extent})


def test_an_extent_in_another_crs_is_taken_to_that_of_the_image(image, seen, values):
    to_degrees = QgsCoordinateTransform(UTM, QgsCoordinateReferenceSystem("EPSG:4326"), QgsProject.instance())
    center = to_degrees.transform(350010, 3059992)
    west, south = center.x() - 5e-5, center.y() - 4e-5
    run(
        "segment", {**values, "INPUT": str(image), "EXTENT": f"{west},{west + 1e-4},{south},{south + 8e-5} [EPSG:4326]"}
    )
    shape, crs = area_in(seen)
    assert crs == "32645"
    assert shape.area() == pytest.approx(98.7e3 * 1e-4 * 110.8e3 * 8e-5, rel=0.01)
    assert shape.centroid().asPoint().distance(350010, 3059992) < 0.01


@pytest.mark.parametrize("west", [180.00002, -179.99998])
def test_an_extent_across_the_antimeridian_lies_where_the_image_does(image, seen, values, west):
    dataset = gdal.OpenEx(str(image), gdal.OF_UPDATE)
    dataset.SetProjection("EPSG:4326")
    dataset.SetGeoTransform((179.9999, 5e-6, 0, -17, 0, -5e-6))
    dataset = None
    extent = f"{west},{west + 5e-5},-17.0001,-17.00005 [EPSG:4326]"
    run("segment", {**values, "INPUT": str(image), "EXTENT": extent})
    bounds = area_in(seen)[0].boundingBox()
    assert (bounds.xMinimum(), bounds.xMaximum()) == pytest.approx((180.00002, 180.00007), abs=1e-9)


def test_a_file_of_another_provider_or_memory_is_rendered_too(image, seen, values):
    gdal.FileFromMemBuffer("/vsimem/bild.tif", image.read_bytes())
    layer = QgsRasterLayer("/vsimem/bild.tif", "Bild")
    run("segment", {**values, "INPUT": layer, "EXTENT": layer})
    rendered = gdal.Open(str(seen / "raster.tif"))
    assert np.array_equal(rendered.ReadAsArray(), gdal.Open(str(image)).ReadAsArray())
    gdal.Unlink("/vsimem/bild.tif")


def test_the_resolution_can_be_given(tiles, seen, values, tmp_path):
    onnx = tmp_path / "model.onnx"
    onnx.write_bytes(b"\x08\x07\x12\x07pytorch")
    wanted = {**values, "INPUT": tiles, "EXTENT": in_mercator(ALL), "MODEL": str(onnx)}
    told = failure("segment", wanted)
    assert "to render the layer Kacheln is unknown" in told
    assert "model.onnx (MODEL) does not state it" in told and "RESOLUTION_M" in told
    run("segment", {**wanted, "RESOLUTION_M": 1.0})
    assert gdal.Open(str(seen / "raster.tif")).RasterXSize == pytest.approx(280, abs=2)


def test_the_starter_tells_its_resolution_too(tiles, seen, values, tmp_path, monkeypatch):
    monkeypatch.setattr(recipe, "STARTER_FOLDER", tmp_path)
    wanted = {"INPUT": tiles, "EXTENT": in_mercator(ALL), "MASK": values["MASK"]}
    assert "comes without its starter model" in failure("segment", wanted)
    write_model(tmp_path / "roads.safetensors", 1.0)
    run("segment", wanted)
    assert gdal.Open(str(seen / "raster.tif")).RasterXSize == pytest.approx(280, abs=2)


def test_a_web_map_without_an_extent_is_refused(tiles, seen, values):
    told = failure("segment", {**values, "INPUT": tiles})
    assert "The layer Kacheln comes from wms, and neither an extent nor an area of interest is given." in told


FAR = QgsReferencedRectangle(QgsRectangle(400000, 3059985, 400005, 3060000), UTM)


@pytest.mark.parametrize(
    ("extent", "told"),
    [
        (QgsReferencedRectangle(QgsRectangle(0, 0, float("inf"), 1), MERCATOR), "infinite"),
        (QgsReferencedRectangle(QgsRectangle(5, 5, 5, 9), MERCATOR), "empty"),
        ("0,0,0,0 [EPSG:3857]", "empty"),
    ],
)
@pytest.mark.parametrize("kind", ["web map", "file"])
def test_an_extent_that_is_none_is_refused(tiles, image, seen, values, kind, extent, told):
    layer = tiles if kind == "web map" else str(image)
    assert f"The extent (EXTENT) is {told}" in failure("segment", {**values, "INPUT": layer, "EXTENT": extent})


def test_an_extent_or_area_beside_the_layer_is_refused(image, tiles, seen, values):
    told = failure("segment", {**values, "INPUT": QgsRasterLayer(str(image), "Bild"), "EXTENT": FAR})
    assert "The extent (EXTENT) lies outside the layer Bild" in told
    beyond = areas(QgsRectangle(3e7, 0, 3.1e7, 1e6))
    assert "lies outside the layer Kacheln" in failure("segment", {**values, "INPUT": tiles, "AOI": beyond})


def test_an_area_of_interest_without_polygons_is_refused(tiles, seen, values):
    assert "The layer Gebiet has no polygons" in failure("segment", {**values, "INPUT": tiles, "AOI": areas()})


def test_an_absurd_extent_is_refused_with_its_numbers(tiles, seen, values):
    extent = QgsReferencedRectangle(QgsRectangle(5, 45, 15, 55), QgsCoordinateReferenceSystem("EPSG:4326"))
    told = failure("segment", {**values, "INPUT": tiles, "EXTENT": extent})
    assert "gigapixels of the layer Kacheln (" in told and "px at 0.5 m on the ground" in told and "web tiles" in told


def test_a_service_that_is_not_there_leaves_nothing(seen, values, temporary):
    layer = tile_layer("http://127.0.0.1:1/{z}/{x}/{y}.png")
    told = failure("segment", {**values, "INPUT": layer, "EXTENT": in_mercator(ALL)})
    assert "The layer Kacheln could not be loaded completely: 127.0.0.1: Connection refused" in told
    assert not os.path.exists(values["MASK"]) and not (seen / "job.json").exists()
    assert list(temporary.iterdir()) == []


def test_from_a_source_alone_as_qgis_process_gives_it(tmp_path, seen, values):
    source = tile_source(paint_tiles(tmp_path / "Kacheln ä"))
    west, south, east, north = ALL.xMinimum(), ALL.yMinimum(), ALL.xMaximum(), ALL.yMaximum()
    run("segment", {**values, "INPUT": f"wms://{source}", "EXTENT": f"{west},{east},{south},{north} [EPSG:3857]"})
    assert (gdal.Open(str(seen / "raster.tif")).ReadAsArray()[3] == 255).all()


def test_in_a_task_of_its_own(tiles, seen, values, qgis_app):
    """As the toolbox runs it: prepared here, rendered and done in another thread."""
    context, ear = QgsProcessingContext(), Ear()
    context.setProject(QgsProject.instance())
    algorithm = QgsApplication.processingRegistry().createAlgorithmById("roadseg:segment")
    wanted = {**values, "INPUT": tiles.id(), "EXTENT": in_mercator(ALL)}
    ends = run_in_task(algorithm, wanted, context, ear, qgis_app)
    assert ends and ends[0][0], ear.text
    assert (gdal.Open(str(seen / "raster.tif")).ReadAsArray()[3] == 255).all()


@pytest.fixture
def mesh(tmp_path):
    layer = mesh_layer(tmp_path / "Gelände.2dm")
    QgsProject.instance().addMapLayer(layer)
    return layer


def test_a_mesh_is_painted_at_the_models_resolution(mesh, seen, values):
    run("segment", {**values, "INPUT": mesh, "EXTENT": QgsReferencedRectangle(SQUARE, mesh.crs())})
    image = gdal.Open(str(seen / "raster.tif"))
    found = image.ReadAsArray()
    assert image.GetGeoTransform()[1] == pytest.approx(0.5, rel=1e-3)
    assert found.shape == (4, 200, 200)
    assert (found[3] == 255).all() and found[0, 0, 0] == pytest.approx(100, abs=2)  # its gray is its height
    assert_same_bounds(area_in(seen)[0].boundingBox(), SQUARE, within=1e-6)


def test_what_a_mesh_lacks_is_said(mesh, seen, values, tmp_path):
    assert "The layer Gelände has no pixels of its own, and neither an extent" in failure(
        "segment", {**values, "INPUT": mesh}
    )
    extent = QgsReferencedRectangle(SQUARE, UTM)
    told = failure("segment", {**values, "INPUT": write_mesh(tmp_path / "nowhere.2dm"), "EXTENT": extent})
    assert "The layer nowhere has no coordinate reference system. Set the layer's CRS." in told
    assert not (seen / "job.json").exists()


def test_a_file_of_several_rasters_is_not_taken_for_a_mesh(image, seen, values, tmp_path):
    """QGIS would open these variables, of which each is a band, as a mesh of the first."""
    path = tmp_path / "bands.nc"
    gdal.Translate(str(path), str(image), format="netCDF")
    told = failure("segment", {**values, "INPUT": str(path), "EXTENT": str(image)})
    assert f'{path} holds several layers. Choose one of its rasters, such as NETCDF:"{path}":Band1' in told
    assert f"mdal://{path}" in told


def test_a_model_hands_the_raster_of_one_step_on_to_the_next(image, seen, values):
    source = QgsProcessingModelChildParameterSource
    model = QgsProcessingModelAlgorithm("Modell")
    first = QgsProcessingModelChildAlgorithm("native:cellstatistics")
    first.setChildId("first")
    for name, value in {"INPUT": [str(image)], "STATISTIC": 0, "REFERENCE_LAYER": str(image)}.items():
        first.addParameterSources(name, [source.fromStaticValue(value)])
    then = QgsProcessingModelChildAlgorithm("roadseg:segment")
    then.setChildId("then")
    then.addParameterSources("INPUT", [source.fromChildOutput("first", "OUTPUT")])
    for name, value in values.items():
        then.addParameterSources(name, [source.fromStaticValue(value)])
    assert model.addChildAlgorithm(first) and model.addChildAlgorithm(then)
    context, ear = QgsProcessingContext(), Ear()
    fine = model.run({}, context, ear)[1]
    assert fine, ear.text
    assert gdal.Open(str(seen / "raster.tif")).RasterXSize == 40
    assert model.validateChildAlgorithm("then")[0]
