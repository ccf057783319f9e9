"""Extracts of OpenStreetMap as drawn roads."""

from pathlib import Path

import geopandas
import numpy as np
import pytest
import shapely
from affine import Affine
from rasterio.crs import CRS
from shapely.geometry import LineString, Point

from tests.core.labels.test_label_raster import UTM, X, Y
from tests.core.support.rasters import NORTH_UP
from training_core.errors import LayerError
from training_core.events import Reporter
from training_core.geodata.grid import Grid
from training_core.geodata.pixel_codes import IGNORE, ROAD
from training_core.jobs import LabelOptions
from training_core.labels.drawing import read_drawing

# Tags of ways, each 10 m below the one before.
WAYS = (
    {"highway": "residential"},
    {"highway": "primary_link", "lanes": "2"},
    {"highway": "service", "width": "12 ft"},
    {"highway": "tertiary", "tunnel": "yes"},
    {"highway": "construction", "construction": "primary"},
    {"highway": "footway", "surface": "gravel"},
    {"waterway": "river"},
    {"highway": "proposed"},
)


def lines():
    return [LineString([(X + 10, Y - 10 - 10 * row), (X + 190, Y - 10 - 10 * row)]) for row in range(len(WAYS))]


def osm_file(path, ways=WAYS, shapes=()):
    """Write an extract in the XML of OpenStreetMap."""
    nodes, texts = [], []
    places = geopandas.GeoSeries(list(shapes) or lines(), crs=UTM.to_wkt()).to_crs(4326)
    for number, (tags, line) in enumerate(zip(ways, places)):
        for end, (x, y) in enumerate(line.coords):
            nodes.append(f'<node id="{2 * number + end + 1}" lat="{y:.9f}" lon="{x:.9f}"/>')
        inner = "".join(f'<tag k="{key}" v="{value}"/>' for key, value in tags.items())
        texts.append(f'<way id="{number + 1}"><nd ref="{2 * number + 1}"/><nd ref="{2 * number + 2}"/>{inner}</way>')
    path.write_text(f'<osm version="0.6">{"".join(nodes)}{"".join(texts)}</osm>', encoding="utf-8")
    return str(path)


def geojson(path):
    """Write the same ways as overpass turbo exports them, with a point among them."""
    tags = [{**way, "@id": f"way/{number}"} for number, way in enumerate(WAYS)] + [{"@id": "node/1"}]
    layer = geopandas.GeoDataFrame(tags, geometry=[*lines(), Point(X, Y)], crs=UTM.to_wkt())
    layer.to_crs(4326).to_file(path, driver="GeoJSON")
    return str(path)


def nested(path):
    """Write the same ways with their tags as an object, as fAIr and HOT's raw data have them."""
    of_ways = {"osm_id": range(len(WAYS)), "tags": list(WAYS)}
    geopandas.GeoDataFrame(of_ways, geometry=lines(), crs=UTM.to_wkt()).to_crs(4326).to_file(path, driver="GeoJSON")
    assert '"tags": { "highway"' in Path(path).read_text()
    return str(path)


@pytest.mark.parametrize(
    ("write", "name"),
    [(osm_file, "town.osm"), (geojson, "town.geojson"), (nested, "osm_features_town.geojson")],
)
def test_ways_are_as_wide_as_their_tags_say_and_what_cannot_be_seen_is_ignored(tmp_path, write, name):
    drawing = read_drawing(
        write(tmp_path / name), "", LabelOptions(background_m=5), Reporter(), class_field="road_class"
    )
    assert drawing.roads["road_class"].tolist() == [
        "residential", "primary", "service", "tertiary", "construction", "footway",
    ]  # fmt: skip
    assert drawing.roads["width_m"].to_numpy() == pytest.approx([6, 6.5, 3.6576, 7, 3, 3])
    assert {road_class.name for road_class in drawing.classes} >= {"residential", "primary", "service"}
    values = drawing.burn(Grid(UTM, NORTH_UP, 200, 100))
    column = np.full(100, IGNORE)
    column[values.row : values.row + len(values.values)] = values.values[:, 100]
    for row, widths in ((10, (6,)), (20, (6, 7)), (30, (3, 4))):
        assert (column[row - 4 : row + 4] == ROAD).sum() in widths
    assert (column[38:42] == IGNORE).all() and (column[49:51] == IGNORE).all() and (column[59:61] == IGNORE).all()


def test_an_extract_without_roads_is_refused(tmp_path):
    with pytest.raises(LayerError, match="without any road"):
        read_drawing(osm_file(tmp_path / "river.osm", WAYS[6:]), "", LabelOptions(), Reporter())


@pytest.mark.parametrize("name", ["town.osm", "town.osm.pbf"])
def test_a_damaged_extract_is_refused_by_name(tmp_path, name):
    whole = Path(osm_file(tmp_path / "whole.osm"))
    (tmp_path / name).write_bytes(whole.read_bytes()[:700])
    with pytest.raises(LayerError, match=name):
        read_drawing(str(tmp_path / name), "", LabelOptions(), Reporter())


def streets(count, extent_m):
    """Return lines of 100 m in random places and directions, and tags that make them as wide as roads get."""
    rng = np.random.default_rng(0)
    places = np.array([X, Y]) + rng.uniform(-extent_m, extent_m, (count, 2))
    turns = rng.uniform(0, 2 * np.pi, count)
    ends = places + 100 * np.column_stack([np.cos(turns), np.sin(turns)])
    return [LineString(both) for both in zip(places, ends)], [{"highway": "primary", "width": "100"}] * count


@pytest.mark.parametrize("name", ["country.osm", "country.gpkg"])
def test_of_a_large_layer_only_the_roads_near_the_images_are_read_and_the_labels_are_the_same(
    tmp_path, monkeypatch, name
):
    monkeypatch.setattr("training_core.geodata.vectors.MAX_WHOLE", 10)
    shapes, tags = streets(1000, 3000)
    path = str(tmp_path / name)
    if name.endswith("osm"):
        osm_file(tmp_path / name, tags, shapes)
    else:
        geopandas.GeoDataFrame({"width_m": 100.0}, geometry=shapes, crs=UTM.to_wkt(), index=range(1000)).to_file(path)
    options = LabelOptions(width_field="width_m", background_m=20)
    images = [Grid(UTM, NORTH_UP, 200, 100), Grid(UTM, NORTH_UP @ Affine.translation(2000, 0), 100, 100)]
    whole, near = (read_drawing(path, "", options, Reporter(), images=grids) for grids in ([], images))
    assert len(whole.roads) == 1000
    reaching, around = (
        shapely.distance(shapes, shapely.union_all([grid.outline for grid in images])) < reach_m
        for reach_m in (500 + 20, 1000)
    )
    assert reaching.sum() <= len(near.roads) <= around.sum() < 400
    for grid in images:
        assert np.array_equal(near.burn(grid).values, whole.burn(grid).values)


def test_an_extract_of_other_ground_is_refused_with_both_places(tmp_path):
    image = Grid(CRS.from_epsg(4326), Affine(1e-5, 0, 85.5, 0, -1e-5, 27.6), 100, 100)
    places = r"town\.osm.*longitude 13\.38, latitude 52\.52.*longitude 85\.50, latitude 27\.60"
    with pytest.raises(LayerError, match=places):
        read_drawing(osm_file(tmp_path / "town.osm"), "", LabelOptions(), Reporter(), images=[image])


def drawn_layer(path, identifier, highway=("residential", "footway", None), **fields):
    """Write lines 30 m apart: two of OpenStreetMap, a residential road and a footway, and a drawn one without tags."""
    shapes = [LineString([(X + 10, Y - 20 - 30 * row), (X + 190, Y - 20 - 30 * row)]) for row in range(3)]
    table = {identifier: ["100", "101", None], "highway": highway, **fields}
    geopandas.GeoDataFrame(table, geometry=shapes, crs=UTM.to_wkt()).to_file(path)
    return str(path)


OWN = {"width_m": [20.0, 4.0, 10.0], "my_width": [20.0, 4.0, 10.0], "sure": [True, True, False]}


@pytest.mark.parametrize(
    "options",
    [
        {"width_field": "width_m", "sure_field": "sure"},
        {"width_field": "my_width", "sure_field": "sure"},
        {"width_m": 12.0, "sure_field": "sure"},
    ],
)
def test_a_named_field_or_width_counts_before_the_tags(tmp_path, options):
    """The labels are those of a layer that nobody takes for an extract, since it has no identifiers."""
    grid, options = Grid(UTM, NORTH_UP, 200, 100), LabelOptions(**options)
    plain, mixed = (
        read_drawing(drawn_layer(tmp_path / f"{name}.gpkg", name, **OWN), "", options, Reporter()).burn(grid)
        for name in ("number", "osm_id")
    )
    np.testing.assert_array_equal(mixed.values, plain.values)


def test_where_nothing_is_named_tags_count_and_this_is_told(tmp_path):
    told = []
    drawing = read_drawing(drawn_layer(tmp_path / "a.gpkg", "osm_id", **OWN), "", LabelOptions(), Reporter(told.append))
    assert drawing.roads["width_m"].tolist()[:2] == [6, 3] and np.isnan(drawing.roads["width_m"][2])
    assert drawing.roads["sure"].tolist() == [True, False, True]
    assert drawing.burn(Grid(UTM, NORTH_UP, 200, 100)).within((100, 80, 1, 1)) == ROAD
    (log,) = told
    assert "2 roads by their tag highway, 1 drawn ones without an identifier; the tags say widths and" in log.message
