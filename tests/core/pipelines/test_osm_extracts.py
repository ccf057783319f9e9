"""An extract of OpenStreetMap means its roads, in whatever form it comes and to every job that takes lines."""

from __future__ import annotations

import json
import re

import geopandas
import pyogrio
import pytest

from tests.core.support.disasters import run as compare
from tests.core.support.disasters import score
from tests.core.support.osm_changes import placed, write_extract
from tests.core.support.rasters import UTM, write_layer
from training_core.errors import LayerError
from training_core.events import Reporter
from training_core.jobs import CleanNetwork, ExportNetwork, LabelOptions
from training_core.labels.drawing import read_drawing
from training_core.networks.lines import LineFields, read_line_layer
from training_core.pipelines import cleannetwork, exportnetwork

# A street meets two others in the only junction. A motorway passes over one of them, and a tunnel under all.
TOWN = [
    ({"highway": "residential"}, [(0, 0), (100, 0), (200, 0)]),
    ({"highway": "residential"}, [(100, -100), (100, 0)]),
    ({"highway": "track"}, [(100, 0), (100, 100)]),
    ({"highway": "motorway", "oneway": "yes"}, [(0, 50), (90, 50)]),
    ({"highway": "motorway", "oneway": "yes", "bridge": "viaduct", "layer": "1"}, [(90, 50), (110, 50)]),
    ({"highway": "motorway", "oneway": "yes"}, [(110, 50), (200, 50)]),
    ({"highway": "service", "tunnel": "yes"}, [(150, -100), (150, 90)]),
    ({"highway": "footway", "bridge": "no"}, [(100, 100), (160, 160)]),
    ({"highway": "construction", "construction": "primary"}, [(180, -100), (180, 90)]),
    ({"highway": "tertiary", "construction": "yes"}, [(190, -100), (190, 90)]),
    ({"waterway": "river"}, [(0, -50), (200, -50)]),
    ({"railway": "rail", "bridge": "yes"}, [(20, -100), (20, 100)]),
    ({"power": "line"}, [(0, -90), (200, 90)]),
]
TAGS, SHAPES = [tags for tags, _ in TOWN], placed(*(points for _, points in TOWN))
ROADS, APART, LEFT_OUT, JUNCTIONS, LENGTH_M = 8, 2, 5, 1, 874.85


def xml(path):
    return write_extract(path, SHAPES, TAGS)


def flat(path, shapes=SHAPES, **fields):
    """Write ways with a column for each tag, after other fields."""
    keys = sorted({key for tags in TAGS for key in tags})
    columns = {**fields, **{key: [tags.get(key) for tags in TAGS] for key in keys}}
    return write_layer(path, *shapes, crs="EPSG:4326", **columns)


def nested(path, **fields):
    """Write ways with their tags as one object, after other fields."""
    texts = [{name: values[row] for name, values in fields.items()} for row in range(len(TOWN))]
    features = [
        {"type": "Feature", "properties": {**own, "tags": tags}, "geometry": shape.__geo_interface__}
        for own, tags, shape in zip(texts, TAGS, SHAPES)
    ]
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    return str(path)


def table_of_gdal(path):
    layer = pyogrio.read_dataframe(xml(path.with_suffix(".osm")), layer="lines")
    assert "other_tags" in layer and "bridge" not in layer
    layer.to_file(path)
    return str(path)


def geofabrik(path):
    """Write the layer of roads as Geofabrik has it, with the class in a column of its own, and T and F."""
    rows = [row for row, tags in enumerate(TAGS) if tags.get("highway", "construction") != "construction"]
    tags, marks = [TAGS[row] for row in rows], {True: "T", False: "F"}
    names = [{"track": "track_grade3"}.get(each["highway"], each["highway"]) for each in tags]
    columns = {
        "osm_id": [str(row) for row in rows], "code": 5100, "fclass": names,
        "oneway": ["F" if "oneway" in each else "B" for each in tags],
        "layer": [int(each.get("layer", 0)) for each in tags],
        "bridge": [marks[each.get("bridge") == "viaduct"] for each in tags],
        "tunnel": [marks["tunnel" in each] for each in tags],
    }  # fmt: skip
    return write_layer(path, *SHAPES[rows], crs="EPSG:4326", **columns)


NUMBERS, NAMES = list(range(1, len(TOWN) + 1)), [f"way/{row}" for row in range(len(TOWN))]
FORMS = {
    "town.osm": xml,
    "town.osm.pbf": xml,
    "gdal.gpkg": table_of_gdal,
    "geofabrik.shp": geofabrik,
    "quickosm.gpkg": lambda path: flat(path, full_id=NAMES, osm_id=NUMBERS, osm_type="way"),
    "overpass.geojson": lambda path: flat(
        path, [SHAPES[0], *SHAPES[1:-1], SHAPES.iloc[-1].buffer(1e-4)], **{"@id": NAMES}
    ),
    "ohsome.geojson": lambda path: flat(path, **{"@osmId": NAMES}),
    "osmtogeojson.geojson": lambda path: nested(path, type=["way"] * len(TOWN), id=NUMBERS),
    "hot.geojson": lambda path: nested(path, osm_id=NUMBERS),
}


@pytest.mark.parametrize("name", FORMS)
def test_in_every_form_its_open_roads_alone_are_read_and_what_is_left_out_is_told(tmp_path, name):
    path, told = FORMS[name](tmp_path / name), []
    layer = read_line_layer(path, "lines", LineFields(), Reporter(told.append))
    kept = layer.geometry.to_crs(UTM).length.sum()
    # The second road is under works, which Geofabrik does not say.
    works = int(name.startswith("geofabrik"))
    assert len(layer) == ROADS + works and kept == pytest.approx(LENGTH_M + 190 * works, abs=0.1)
    read, *left_out = [event.message for event in told]
    assert f"({path}) are read as an extract of OpenStreetMap: {ROADS + works} roads" in read
    assert f"{APART} of them bridges or tunnels" in read
    if not works:
        assert f"{LEFT_OUT} of {len(TOWN)} features" in left_out[0] and "not built yet (2)" in left_out[0]


def counts(told):
    """Return the numbers of roads, bridges and left out features, each as all messages have it."""
    texts = " ".join(event.message for event in told if hasattr(event, "message"))
    words = r"(\d+) roads by their tag", r"(\d+) of them bridges", r"(\d+) of \d+ features"
    return [int(number) for (number,) in (set(re.findall(word, texts)) for word in words)]


def test_every_job_counts_the_same_roads_bridges_and_junctions(tmp_path):
    path, told = xml(tmp_path / "town.osm"), []
    reporter = Reporter(told.append)
    files = {name: str(tmp_path / f"{name}.gpkg") for name in ("roads", "nodes", "graph")}
    clean = cleannetwork.run(CleanNetwork(lines=path, roads=files["roads"], nodes=files["nodes"]), reporter)
    own = str(tmp_path / "own.osm")
    export = exportnetwork.run(ExportNetwork(lines=path, geopackage=files["graph"], osm=own), reporter)
    scores = score(tmp_path, path, path, reporter)["truth"]
    before = compare(tmp_path, path, path, reporter)["before"]
    assert counts(told) == [ROADS, APART, LEFT_OUT]
    for junctions in (
        (geopandas.read_file(files["nodes"])["degree"] > 2).sum(),
        (geopandas.read_file(files["graph"], layer="nodes")["street_count"] > 2).sum(),
    ):
        assert junctions == JUNCTIONS
    assert (scores["lines"], scores["bridges"], before["lines"]) == (ROADS, APART, ROADS)
    for numbers in (clean, export, scores, before):
        assert numbers["length_m"] == pytest.approx(LENGTH_M, rel=1e-3)
    # What the export writes has the tags, so that it is read again as the same roads.
    again = read_line_layer(own, "lines", LineFields(), Reporter())
    assert again["bridge"].notna().sum() == 1 and (again["oneway"] == "yes").sum() == 3


def test_labels_ignore_what_is_not_built_and_know_the_same_roads(tmp_path):
    told = []
    drawing = read_drawing(xml(tmp_path / "town.osm"), "", LabelOptions(), Reporter(told.append))
    assert drawing.roads["sure"].tolist() == [True] * 6 + [False] * 4
    assert f"{ROADS} roads by their tag highway, 2 under construction" in told[0].message


def test_known_bridges_of_an_extract_are_the_bridges_of_its_roads(tmp_path):
    bridges = cleannetwork.read_bridges(xml(tmp_path / "town.osm"), Reporter())
    assert bridges.geometry.to_crs(UTM).length.tolist() == pytest.approx([20], abs=0.01)
    none = write_extract(tmp_path / "none.osm", SHAPES[:2], TAGS[:2])
    reporter = Reporter()
    assert cleannetwork.read_bridges(none, reporter).empty
    assert "0 of 2 lines of the bridges" in reporter.warnings[0]


def test_tags_are_fields_that_can_be_named_and_what_has_no_road_is_refused(tmp_path):
    path = xml(tmp_path / "town.osm")
    layer = read_line_layer(path, "lines", LineFields(bridge="tunnel"), Reporter(), ["power"])
    assert layer["tunnel"].notna().sum() == 1 and "power" not in layer
    water = write_extract(tmp_path / "water.osm", SHAPES[8:], TAGS[8:])
    with pytest.raises(LayerError, match=r"water\.osm\) are an extract of OpenStreetMap without any road"):
        read_line_layer(water, "lines", LineFields(), Reporter())


@pytest.mark.parametrize(
    "fields",
    [
        {"highway": ["residential", "mine"], "bridge": ["yes", None]},
        {"osm_id": [None, ""], "highway": ["residential", None]},
        {"osm_id": ["1", "2"], "name": ["a", "b"]},
        {"osm_id": ["1", "2"], "tags": ["paved", "tags of mine"]},
        {"id": [1, 2], "type": ["main", "side"], "highway": ["residential", None]},
        {"osmid": [1, 2], "highway": ["residential", "mine"]},
    ],
)
def test_lines_of_ones_own_are_all_kept(tmp_path, fields):
    path = write_layer(tmp_path / "own.gpkg", *SHAPES[1:3], crs="EPSG:4326", **fields)
    reporter = Reporter()
    assert len(read_line_layer(path, "lines", LineFields(), reporter)) == 2 and not reporter.warnings
