"""The job getosmdata: the layers of a town, cut to an area, and as every job takes them; files that are not whole."""

import geopandas
import numpy as np
import osmium
import pytest
import shapely
from shapely import box

from tests.core.support.osm_changes import write_extract
from tests.core.support.rasters import write_layer
from tests.osm_town import DEGREES, SOUTH, WEST, town
from training_core.errors import LayerError
from training_core.events import Reporter
from training_core.geodata.osm_data import LAYERS
from training_core.jobs import GetOsmData
from training_core.pipelines import getosmdata

PLANE = "EPSG:32645"
WHOLE = {
    "roads": {("101", 3), ("102", 4), ("103", 5), ("111", 13)}, "bridges": {("102", 4)},
    "water": {("104", 6), ("900", 9)}, "rails": {("105", 7)}, "runways": {("108", 10)},
    "no_road": {("104", 6), ("900", 9), ("105", 7), ("108", 10)},
}  # fmt: skip


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "town.osm"
    path.write_text(town(), encoding="utf-8")
    return path


def on_map(*corners):
    """Return a box between corners in meters from that of the town, in degrees."""
    west, south, east, north = corners
    return box(
        WEST + west * DEGREES[0], SOUTH + south * DEGREES[1], WEST + east * DEGREES[0], SOUTH + north * DEGREES[1]
    )


def in_degrees(*sides):
    return geopandas.GeoSeries([box(*sides)], crs=4326)


def layers(file, area=None):
    paths = {name: str(file.with_name(f"{name}.gpkg")) for name in LAYERS}
    aoi = area and write_layer(file.with_name("area.gpkg"), area, crs="EPSG:4326")
    result = getosmdata.run(GetOsmData(extract=str(file), aoi=aoi or "", **paths), Reporter())
    found = {name: geopandas.read_file(path) for name, path in paths.items()}
    assert result["counts"] == {name: len(layer) for name, layer in found.items()}
    return found


def objects(found):
    return {name: set(zip(layer["osm_id"], layer["osm_version"])) for name, layer in found.items()}


def on_plane(layer):
    return layer.to_crs(PLANE).set_index("osm_id").geometry


@pytest.mark.parametrize("ending", [".osm", ".osm.pbf"])
def test_a_file_becomes_layers_with_ids_versions_and_tags(file, ending):
    if ending == ".osm.pbf":
        path = file.with_name("town.osm.pbf")
        with osmium.SimpleWriter(str(path)) as writer:
            for each in osmium.FileProcessor(str(file)):
                writer.add(each)
        file = path
    found = layers(file)
    assert objects(found) == WHOLE
    roads = found["roads"].set_index("osm_id")
    street, bridge = roads.loc["101"], roads.loc["102"]
    assert (street["name"], street["highway"], street["speed_kmh"], street["osm_type"]) == (
        "Straße", "residential", 30.0, "way",
    )  # fmt: skip
    assert (bridge["oneway"], bridge["layer"], bridge["bridge"], bridge["maxspeed"]) == ("yes", "1", "yes", "25 mph")
    assert bridge["speed_kmh"] == pytest.approx(40.23, abs=0.01) and '"surface"=>"gravel"' in street["all_tags"]
    water = found["water"].set_index("osm_id").loc["900"]
    assert (water["osm_type"], water["name"]) == ("relation", "Taudaha")
    assert all(set(layer.geom_type) == {LAYERS[name]} for name, layer in found.items())


def test_lines_of_water_and_runways_are_as_wide_as_they_are_mapped(file):
    found = layers(file)
    areas_m2 = {"900": 200**2 - 100**2, "104": 20 * 800 + np.pi * 10**2}  # a lake around an island, a river
    assert on_plane(found["water"]).area.to_dict() == pytest.approx(areas_m2, rel=0.01)
    assert on_plane(found["runways"]).area.to_dict() == pytest.approx({"108": 40 * 800 + np.pi * 20**2}, rel=0.01)


def test_everything_is_cut_at_the_border_of_the_area(file):
    area = on_map(-50, -300, 425, 100)
    found = layers(file, area)
    assert objects(found) == {
        "roads": {("101", 3), ("102", 4), ("111", 13)}, "bridges": {("102", 4)},
        "water": set(), "rails": {("105", 7)}, "runways": set(), "no_road": {("105", 7)},
    }  # fmt: skip
    assert shapely.covers(area.buffer(1e-9), found["roads"].geometry.to_numpy()).all()
    lengths_m = {"101": 400, "102": 25, "111": 100}
    assert on_plane(found["roads"]).length.to_dict() == pytest.approx(lengths_m, rel=0.01)


def test_an_area_of_several_polygons_in_another_crs_leaves_the_pieces_in_each(file):
    places = geopandas.GeoSeries([on_map(0, -50, 100, 50), on_map(300, -50, 350, 50)], crs=4326).to_crs(PLANE)
    area = shapely.MultiPolygon(list(places))
    path = write_layer(file.with_name("places.gpkg"), area, crs=PLANE)
    roads = str(file.with_name("roads.gpkg"))
    getosmdata.run(GetOsmData(extract=str(file), aoi=path, roads=roads), Reporter())
    assert sorted(on_plane(geopandas.read_file(roads)).loc["101"].length) == pytest.approx([50, 100], rel=0.02)


def test_an_area_across_the_antimeridian_has_both_of_its_sides(tmp_path):
    sides = [shapely.LineString([(x, -16.6), (x + 0.004, -16.6)]) for x in (179.99, -179.994)]
    file = write_extract(tmp_path / "islands.osm", sides)
    area = in_degrees(179.992, -17, 180.01, -16).to_crs("EPSG:3832")
    path, roads = write_layer(tmp_path / "area.gpkg", area.iloc[0], crs="EPSG:3832"), str(tmp_path / "roads.gpkg")
    getosmdata.run(GetOsmData(extract=file, aoi=path, roads=roads), Reporter())
    found = shapely.length(geopandas.read_file(roads).geometry.to_numpy())  # in degrees
    assert found.tolist() == pytest.approx([0.002, 0.004], abs=1e-6)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda text: text[:-200], "ends too early"),
        (lambda text: text.replace("</osm>", "<remark>runtime error: timed out</remark></osm>"), "error: timed out"),
        (lambda text: "<!DOCTYPE html><html><body>The server is &quot;busy&quot;</body></html>", 'server is "busy"'),
        (lambda text: "", "empty"),
        (lambda text: "<osm version='0.6'></osm>", "no road, water, railway or runway."),
        (lambda text: text.replace('lat="27', 'lat="97'), "on Earth|outside|no road|read"),
    ],
)
def test_what_is_not_whole_is_refused_and_nothing_is_written(file, change, told):
    file.write_text(change(town()), encoding="utf-8")
    with pytest.raises(LayerError, match=told):
        layers(file)
    assert not list(file.parent.glob("*.gpkg"))


def test_a_place_elsewhere_another_format_and_a_missing_file_are_told(file):
    with pytest.raises(LayerError, match="in the area"):
        layers(file, on_map(90_000, 0, 91_000, 1000))
    for name in ("export.json", "export.osm"):
        answer = file.with_name(name)
        answer.write_text('{"version": 0.6, "elements": [{"type": "node", "note": "<osm></osm>"}]}')
        with pytest.raises(LayerError, match=r"\.osm or \.osm\.pbf.* \[out:xml\]"):
            layers(answer)
    file.unlink()
    with pytest.raises(LayerError, match="town.osm"):
        layers(file)
