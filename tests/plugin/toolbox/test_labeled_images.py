"""Web maps among the images that are learned from or evaluated on, rendered around the labels; the worker is played."""

import math

import pytest
from osgeo import gdal
from qgis.core import (
    QgsGeometry,
    QgsRectangle,
)

from ..support.acting import failure, run, write_model
from ..support.rendered import assert_same_bounds, bounds_of, options_of, shapes
from ..support.tiles import COLUMN, LATITUDE, ROW, tile_extent

pytestmark = pytest.mark.usefixtures("provider", "qgis_new_project", "temporary")

MIDDLE = tile_extent(COLUMN + 1, ROW + 1)
AREA = MIDDLE.buffered(-30)
# Web Mercator's units on a meter, in the middle of the tiles; pixels of 0.5 m, and what is rendered around labels.
UNITS_PER_M = 1 / math.cos(math.radians(LATITUDE))
RESOLUTION_M, MARGIN_M, BACKGROUND_M = 0.5, 128 * 0.5, 30


@pytest.fixture
def values(tmp_path):
    base = write_model(tmp_path / "base.safetensors", RESOLUTION_M)
    return {"BASE_MODEL": base, "MODEL": str(tmp_path / "new.safetensors")}


def areas(*extents):
    return shapes("Polygon", "Gebiet", *map(QgsGeometry.fromRect, extents))


def across(extent):
    """Return a road due east through the middle of an extent."""
    y = extent.center().y()
    return QgsGeometry.fromWkt(f"LineString ({extent.xMinimum()} {y}, {extent.xMaximum()} {y})")


def test_a_web_map_is_rendered_around_the_area_of_interest(tiles, seen, values, temporary):
    roads = shapes("LineString", "Straßen", across(MIDDLE.buffered(2000)))  # beyond the area, which counts
    run("finetune", {**values, "INPUT": [tiles], "ROADS": roads, "AOI": areas(AREA)})
    assert_same_bounds(bounds_of(seen / "0.tif"), AREA.buffered(MARGIN_M * UNITS_PER_M))
    image = gdal.Open(str(seen / "0.tif"))
    assert image.GetGeoTransform()[1] == pytest.approx(RESOLUTION_M * UNITS_PER_M, rel=0.01)
    assert image.RasterCount == 4 and (image.ReadAsArray()[3] == 255).all()
    assert list(temporary.iterdir()) == []


def test_without_an_area_it_is_rendered_around_the_roads_and_their_background(tiles, seen, values):
    (west, south), (east, north) = (13.4158, 52.5117), (13.4160, 52.5119)
    road = QgsGeometry.fromWkt(f"LineString ({west} {south}, {east} {north})")
    run("finetune", {**values, "INPUT": [tiles], "ROADS": shapes("LineString", "Straßen", road, crs="EPSG:4326")})
    bounds = QgsRectangle(*mercator(west, south), *mercator(east, north))
    assert_same_bounds(bounds_of(seen / "0.tif"), bounds.buffered((MARGIN_M + BACKGROUND_M) * UNITS_PER_M))


def mercator(longitude, latitude):
    """Return a place in EPSG:3857, by its formula."""
    return tuple(6378137 * each for each in (math.radians(longitude), math.asinh(math.tan(math.radians(latitude)))))


def test_places_that_are_apart_become_images_of_their_own_and_near_ones_one(tiles, seen, values):
    west, east = tile_extent(COLUMN, ROW).buffered(-60), tile_extent(COLUMN + 2, ROW).buffered(-60)
    near_east = tile_extent(COLUMN + 2, ROW + 1).buffered(-60)
    roads = shapes("LineString", "Straßen", across(MIDDLE))
    run("finetune", {**values, "INPUT": [tiles], "ROADS": roads, "AOI": areas(east, near_east, west)})
    margin = MARGIN_M * UNITS_PER_M
    expected = QgsRectangle(east)
    expected.combineExtentWith(near_east)
    found = sorted((bounds_of(seen / f"{number}.tif") for number in range(2)), key=QgsRectangle.xMinimum)
    assert [path.rpartition("/")[2] for path in options_of(seen)["rasters"]] == ["Kacheln 1.tif", "Kacheln 2.tif"]
    assert_same_bounds(found[0], west.buffered(margin))
    assert_same_bounds(found[1], expected.buffered(margin))


def test_places_without_road_are_rendered_too(tiles, seen, values):
    other = tile_extent(COLUMN + 2, ROW + 1).buffered(-60)
    roads, labeled = shapes("LineString", "Straßen", across(AREA)), {"AOI": areas(AREA), "NO_ROAD": areas(other)}
    run("finetune", {**values, "INPUT": [tiles], "ROADS": roads, **labeled})
    expected = QgsRectangle(AREA)
    expected.combineExtentWith(other)
    assert_same_bounds(bounds_of(seen / "0.tif"), expected.buffered(MARGIN_M * UNITS_PER_M))


def test_files_are_taken_as_they_are_beside_a_web_map(tiles, image, seen, values):
    roads = shapes("LineString", "Straßen", across(AREA))
    run("finetune", {**values, "INPUT": [tiles, str(image)], "ROADS": roads, "AOI": areas(AREA)})
    assert options_of(seen)["rasters"][0] == str(image) and len(options_of(seen)["rasters"]) == 2
    run("finetune", {**values, "INPUT": [str(image)], "ROADS": roads})  # whose roads lie elsewhere
    assert options_of(seen)["rasters"] == [str(image)]


def test_the_resolution_can_be_given_and_else_is_that_of_the_base_model(tiles, seen, values):
    labels = {"ROADS": shapes("LineString", "Straßen", across(AREA)), "AOI": areas(AREA)}
    for own, resolution_m in (({"RESOLUTION_M": 1.0}, 1.0), ({}, 0.5), ({"BASE_MODEL": "", "RESOLUTION_M": 0.8}, 0.8)):
        run("finetune", {**values, **labels, "INPUT": [tiles], **own})
        side = gdal.Open(str(seen / "0.tif")).GetGeoTransform()[1]
        assert side == pytest.approx(resolution_m * UNITS_PER_M, rel=0.01)
    for base in ("imagenet", ""):
        told = failure("finetune", {**values, **labels, "INPUT": [tiles], "BASE_MODEL": base})
        assert "The ground resolution at which to render the layer Kacheln is unknown" in told
        assert "give the ground resolution (RESOLUTION_M)" in told


def test_a_web_map_without_labels_that_bound_it_is_refused(tiles, image, seen, values):
    told = failure("finetune", {**values, "INPUT": [tiles], "MASKS": [str(image)]})
    assert "The layer Kacheln comes from wms, and neither an area of interest nor drawn roads say where" in told
    empty = shapes("LineString", "Leer")
    told = failure("finetune", {**values, "INPUT": [tiles], "ROADS": empty})
    assert "The labels lie outside the layer Kacheln" in told
    pole = shapes("LineString", "Pol", QgsGeometry.fromWkt("LineString (0 90, 1 90)"), crs="EPSG:4326")
    told = failure("finetune", {**values, "INPUT": [tiles], "ROADS": pole})
    assert "The labels lie outside the layer Kacheln" in told
    assert not (seen / "job.json").exists()


def test_an_error_of_the_worker_names_the_layer(tiles, values, play_runtime):
    play_runtime('send("error", code="imagery", message=job()["options"]["rasters"][0] + " is dark.", remedy="Wait.")')
    roads = shapes("LineString", "Straßen", across(AREA))
    told = failure("finetune", {**values, "INPUT": [tiles], "ROADS": roads, "AOI": areas(AREA)})
    assert "Kacheln is dark. Wait." in told
