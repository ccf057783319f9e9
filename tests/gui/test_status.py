"""The state of roads after an event in QGIS itself, from one image to a PDF, beside a server that plays Overpass."""

import json

import numpy as np
import pytest
from osgeo import gdal, ogr, osr

from scripts import headless
from tests.osm_town import answer
from tests.plugin.support.overpass import Answer, overpass

from .conftest import act

STEPS = ["start", "image", "openstreetmap", "state", "sheet"]
# Half the side of the ground that an event covers, in pixels, and its color.
HALF_PX, MUD = 50, (112, 90, 64)


def scene(folder):
    """Return a generated scene of which a road is covered, and its roads as Overpass has them."""
    image, roads = str(folder / "scene.tif"), str(folder / "roads.gpkg")
    headless.run("roadseg:makescene", {"SIZE_PX": 768, "SEED": 3, "RASTER": image, "OUTPUT": roads})
    source = ogr.Open(roads)  # which must outlive its layer
    lines = [feature.geometry().Clone() for feature in source.GetLayer(0)]
    dataset = gdal.Open(image, gdal.GA_Update)
    west, pixel, _, north, _, _ = dataset.GetGeoTransform()
    middle = max(lines, key=ogr.Geometry.Length).Value(max(line.Length() for line in lines) / 2)
    column, row = (int(part) for part in ((middle.GetX() - west) / pixel, (north - middle.GetY()) / pixel))
    for band, value in enumerate(MUD, 1):
        ground = np.full((2 * HALF_PX, 2 * HALF_PX), value, dtype=np.uint8)
        dataset.GetRasterBand(band).WriteArray(ground, column - HALF_PX, row - HALF_PX)
    degrees = osr.SpatialReference()
    degrees.ImportFromEPSG(4326)
    degrees.SetAxisMappingStrategy(osr.OAMS_TRADITIONAL_GIS_ORDER)
    for line in lines:
        line.TransformTo(degrees)
    ways = {number: ({"highway": "residential"}, line.GetPoints()) for number, line in enumerate(lines, 101)}
    return image, answer(ways)


@pytest.fixture(scope="module")
def seen(tmp_path_factory, request):
    image, roads = scene(tmp_path_factory.mktemp("scene"))
    with overpass(Answer(roads.encode())) as (server, _):
        plan = {"story": "status_story", "image": image, "server": server}
        return act(tmp_path_factory.mktemp("Person 4"), plan, 400, request)


def test_the_story_came_to_its_end_without_an_error(seen):
    assert seen["error"] == ""
    assert seen["exceptions"] == []
    assert list(seen["steps"]) == STEPS
    assert seen["exit_status"] == 0


def test_what_was_downloaded_is_what_the_next_dialog_begins_with(seen):
    assert seen["layers"][0][1][0] == "Roads"
    assert seen["proposed"] == {**seen["ids"], "CLASS_FIELD": "highway", "BRIDGE_FIELD": "bridge"}


def test_the_covered_road_is_found_and_arrows_lie_above_the_roads(seen):
    results = seen["roadstatus"]["results"]
    assert results["NOT_SEEN_M"] + results["PARTLY_SEEN_M"] > 0 and results["SEEN_M"] > 400
    shown = json.dumps(seen["all_layers"])
    assert -1 < shown.find("Offset arrows") < shown.find("Roads with their state") < shown.find('"Roads"')


def test_the_sheet_lists_the_checks_and_names_whose_data_it_shows(seen):
    assert any(text.startswith("To check:\n1  ") for text in seen["sheet"])
    assert any("© OpenStreetMap contributors" in text for text in seen["sheet"])
