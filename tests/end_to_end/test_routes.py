"""Routes on what RoadSeg has found: by QGIS' own network analysis, and on the graph for other programs."""

import json

import numpy as np
import pytest
from osgeo import gdal, ogr

from scripts import headless

from .conftest import system_of

pytestmark = pytest.mark.usefixtures("qgis_processing", "qgis_new_project")

EPSG, WEST, NORTH = 32633, 500000.0, 5820000.0  # on the meridian, where a meter of the grid is 1.0004 on the ground
CLASSES = [{"name": "residential", "speed_kmh": 36.0}, {"name": "primary", "speed_kmh": 108.0}]
SLOW, FAST = 1, 2
# By the middles of the roads, 9 px wide: a ring from (50, 50) to (350, 150), its upper side slow, all else fast.
WEST_X, EAST_X, UPPER_Y, LOWER_Y = 50.5, 350.5, 50.5, 150.5


@pytest.fixture(scope="module")
def roads(tmp_path_factory):
    """The lines of a ring of roads of two classes, through vectorize."""
    folder = tmp_path_factory.mktemp("ring")
    numbers = np.zeros((200, 400), np.uint8)
    numbers[46:155, 46:355], numbers[55:146, 55:346] = FAST, 0
    numbers[46:55, 46:355] = SLOW
    # Streets lead away from the ring's corners, which without them would come out round.
    numbers[:46, 46:55] = numbers[:46, 346:355] = SLOW
    numbers[155:, 46:55] = numbers[155:, 346:355] = FAST
    mask, classes, found = (str(folder / name) for name in ("mask.tif", "classes.tif", "roads.gpkg"))
    write(mask, (numbers > 0).astype(np.uint8))
    write(classes, numbers, {"ROADSEG_CLASSES": json.dumps(CLASSES)})
    headless.run("roadseg:vectorize", {"INPUT": mask, "CLASSES": classes, "OUTPUT": found})
    return found


def write(path, values, tags=None):
    dataset = gdal.GetDriverByName("GTiff").Create(path, values.shape[1], values.shape[0], 1, gdal.GDT_Byte)
    dataset.SetProjection(system_of(EPSG).ExportToWkt())
    dataset.SetGeoTransform((WEST, 1, 0, NORTH, 0, -1))
    dataset.SetMetadata(tags or {})
    dataset.GetRasterBand(1).WriteArray(values)
    dataset.GetRasterBand(1).SetNoDataValue(255)


def attributes(path, layer=0):
    source = ogr.Open(path)
    return [feature.items() for feature in source.GetLayer(layer)]


def on_map(x, y):
    return f"{WEST + x},{NORTH - y} [EPSG:{EPSG}]"


def cost(roads, begin, end, **options):
    """What QGIS says of the shortest or fastest way between two places, in pixels, and how long the way is."""
    import processing

    places = {"START_POINT": on_map(*begin), "END_POINT": on_map(*end), "OUTPUT": "memory:"}
    result = processing.run("native:shortestpathpointtopoint", {"INPUT": roads, **places, **options})
    (way,) = result["OUTPUT"].getFeatures()
    return result["TRAVEL_COST"], way.geometry().length()


def test_the_lines_tell_class_and_speed(roads):
    rows = sorted((row["highway"], round(row["length_m"], -1)) for row in attributes(roads))
    streets = [("residential", 50.0)] * 2 + [("primary", 50.0)] * 2
    assert rows == sorted([("residential", 300.0), ("primary", 300.0), *[("primary", 100.0)] * 2, *streets])
    for row in attributes(roads):
        assert row["speed_kmh"] == {"residential": 36.0, "primary": 108.0}[row["road_class"]]
        assert row["travel_time_s"] == pytest.approx(row["length_m"] * 3.6 / row["speed_kmh"])


def test_qgis_finds_the_shortest_way_between_places_on_roads(roads):
    """From within the western side along the upper one to within the eastern."""
    length, drawn = cost(roads, (WEST_X, 95), (EAST_X, 95))
    assert length == pytest.approx(44.5 + 300 + 44.5, rel=0.01) and drawn == pytest.approx(length, rel=0.002)
    length, _ = cost(roads, (WEST_X, 135), (EAST_X, 135))
    assert length == pytest.approx(15.5 + 300 + 15.5, rel=0.02)
    length, _ = cost(roads, (100, UPPER_Y), (300, UPPER_Y))
    assert length == pytest.approx(200, rel=0.01)


def test_qgis_finds_the_fastest_way_by_the_speed_of_the_lines(roads):
    """Around by the fast side 55.5 + 300 + 55.5 m at 30 m/s, where the shortest way has 300 m at 10 m/s."""
    fastest = {"STRATEGY": 1, "SPEED_FIELD": "speed_kmh"}
    hours, drawn = cost(roads, (WEST_X, 95), (EAST_X, 95), **fastest)
    assert drawn == pytest.approx(55.5 + 300 + 55.5, rel=0.01)
    assert hours * 3600 == pytest.approx((55.5 + 300 + 55.5) / 30, rel=0.02)
    hours, _ = cost(roads, (100, UPPER_Y), (150, UPPER_Y), **fastest)
    assert hours * 3600 == pytest.approx(5, rel=0.02)


def test_the_network_becomes_a_graph_with_speeds(roads, tmp_path):
    graph, tables = str(tmp_path / "graph.graphml"), str(tmp_path / "graph.gpkg")
    values = {"INPUT": roads, "SPEED_FIELD": "speed_kmh", "GRAPHML": graph, "GEOPACKAGE": tables}
    told = headless.run("roadseg:exportnetwork", values)
    rows = attributes(roads)
    assert (told["NODES"], told["EDGES"], told["COMPONENTS"]) == (8, 2 * len(rows), 1)
    assert told["LENGTH_M"] == pytest.approx(sum(row["length_m"] for row in rows), abs=0.1)
    assert told["GRAPHML"] == graph and told["GEOPACKAGE"] == tables
    assert 'attr.name="travel_time"' in (tmp_path / "graph.graphml").read_text(encoding="utf-8")
    edges = attributes(tables, "edges")
    assert sorted(edge["travel_time"] for edge in edges)[::2] == pytest.approx(
        sorted(row["travel_time_s"] for row in rows), abs=0.01
    )
