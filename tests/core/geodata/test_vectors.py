"""Vector layers: read and checked, and their fields carried over to outputs."""

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from shapely.geometry import LineString, MultiLineString, Point, Polygon

from tests.core.support.rasters import UTM, layer, write_layer
from training_core.errors import LayerError, OutputError
from training_core.events import Reporter
from training_core.geodata.vector_output import check_vector_output, write_layers
from training_core.geodata.vectors import carried_fields, read_area, read_layer, require_geometry

ROAD = LineString([(390000, 5820000), (390100, 5820050)])
SQUARE = Polygon([(0, 0), (1, 0), (1, 1)])


def empty(*names):
    return layer(crs=UTM, **{name: np.zeros(0) for name in names})


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such names")
@pytest.mark.parametrize("name", ["a;b.gpkg", "a!b.gpkg", "a\nb.gpkg", "a?b#c.gpkg", "a|b:c&d%20.gpkg", "a;b.shp"])
def test_a_file_of_any_name_is_read_and_no_other(tmp_path, monkeypatch, name):
    for other in ("a", "b.gpkg", "ab.gpkg", "b.shp"):
        (tmp_path / other).write_text("another file")
    write_layer(tmp_path / f"plain{Path(name).suffix}", ROAD)
    for part in tmp_path.glob("plain.*"):
        part.rename(tmp_path / f"{Path(name).stem}{part.suffix}")
    monkeypatch.chdir(tmp_path)
    for path in (name, str(tmp_path / name)):
        assert read_layer(path, "drawn roads").geometry[0].equals(ROAD)


def test_a_layer_in_a_file_is_found_by_its_name_its_number_and_a_filter_and_else_the_first(tmp_path, recwarn):
    path = tmp_path / "town.gpkg"
    write_layers(path, {"houses": layer(SQUARE), "roads": layer(ROAD, ROAD, lanes=[1, 2])})
    assert read_layer(f"{path}|layername=houses", "area").geom_type.tolist() == ["Polygon"]
    assert len(read_layer(f"{path}|layername=roads", "drawn roads")) == 2
    assert len(read_layer(f"{path}|layerid=1", "drawn roads")) == 2
    filtered = read_layer(
        f"{path}|layername=roads|geometrytype=LineString|subset=lanes = 1 OR lanes||'' = '3'", "roads"
    )
    assert filtered["lanes"].tolist() == [1]
    write_layers(path, {"houses": layer(SQUARE), "roads": layer(ROAD)})
    assert read_layer(str(path), "area").geom_type.tolist() == ["Polygon"]
    assert not recwarn.list


@pytest.mark.parametrize(("heights", "count"), [((100, 120), 1), ((0, 0), 0), ((np.nan, np.nan), 0)])
def test_features_without_geometry_and_heights_are_left_out_with_a_word(tmp_path, heights, count):
    high = LineString([(0, 0, heights[0]), (1, 1, heights[1])])
    path = write_layer(tmp_path / "roads.gpkg", high, high, None, LineString())
    reporter = Reporter()
    roads = read_layer(path, "drawn roads", reporter)
    assert len(roads) == 2
    assert not roads.has_z.any() and roads.geometry[0].equals(LineString([(0, 0), (1, 1)]))
    lost, *flat = reporter.warnings
    assert lost == f"2 of 4 features of the drawn roads ({path}) have no geometry. They are left out."
    assert len(flat) == count and all(f"({path}) have heights (Z)" in each for each in flat)


@pytest.mark.parametrize(
    "suffix",
    [".gpkg", ".fgb", ".geojson", ".geojsonl", ".shp", ".kml", ".kmz", ".gml", ".tab", ".mif", ".gdb", ".sqlite",
     ".csv", ".gpx", ".zip"],
)  # fmt: skip
def test_usual_formats_are_read(tmp_path, suffix):
    lines = [LineString([(15, 48), (15.02, 48)]), LineString([(15, 48.01), (15.01, 48.01)])]
    streets = layer(*lines, crs="EPSG:4326", name=["Straße", "Allee"])
    (tmp_path / "in").mkdir()
    path = tmp_path / "in" / f"roads{'.shp' if suffix == '.zip' else suffix}"
    options = {".csv": {"layer_options": {"GEOMETRY": "AS_WKT"}}, ".gpx": {"layer": "routes"}}.get(suffix, {})
    streets.to_file(path, **options, driver={".kmz": "LIBKML"}.get(suffix))
    path.with_suffix(".prj").write_text(streets.crs.to_wkt("WKT1_ESRI"))
    if suffix == ".zip":
        path = Path(shutil.make_archive(str(tmp_path / "roads"), "zip", tmp_path, "in"))
    found = read_layer(str(path), "drawn roads")
    name = next(name for name in found if name.lower() == "name")
    found = found.sort_values(name)
    assert found[name].tolist() == ["Allee", "Straße"] and found.crs.name == "WGS 84"
    assert [shape.length for shape in found.geometry] == pytest.approx([0.01, 0.02])


@pytest.mark.parametrize(
    ("name", "content", "message", "remedy"),
    [
        ("roads.shx", None, r"roads\.shp\) cannot be read: its \.shx file is missing", "beside"),
        ("roads.cpg", b"UTF-8", r"not in the encoding that its \.cpg file names", "UTF-8"),
        ("roads.feather", b"PAR1" + bytes(99) + b"PAR1", "it is a Parquet, Arrow or DuckDB file", "GeoPackage"),
        ("roads.zip", b"PK", "it is no archive of one layer", "Unpack"),
        ("roads.pdf", b"%PDF-1.4", "in no format that RoadSeg reads", "GeoPackage"),
    ],
)
def test_what_is_not_read_is_refused_with_the_remedy(tmp_path, name, content, message, remedy):
    layer(ROAD, name=["Straße"]).to_file(tmp_path / "roads.shp", encoding="ISO-8859-1")
    path = tmp_path / name
    path.unlink() if content is None else path.write_bytes(content)
    with pytest.raises(LayerError, match=message) as refused:
        read_layer(str(tmp_path / "roads.shp" if name in ("roads.shx", "roads.cpg") else path), "drawn roads")
    assert remedy in refused.value.remedy and "duckdb" not in refused.value.message


def test_other_layers_of_a_file_are_named(tmp_path):
    path, reporter = tmp_path / "town.gpkg", Reporter()
    write_layers(path, {"houses": layer(SQUARE), "roads": layer(ROAD)})
    with pytest.raises(LayerError, match="must be lines") as refused:
        require_geometry(read_layer(str(path), "lines", reporter), ("lines",), str(path), "lines")
    assert "houses, roads" in refused.value.remedy


def test_a_missing_file_a_wrong_layer_and_a_file_of_another_kind_are_refused(tmp_path):
    text = tmp_path / "notes.txt"
    text.write_text("no roads here")
    path = write_layer(tmp_path / "roads.gpkg", ROAD)
    broken = tmp_path / "broken.gpkg"
    broken.write_bytes((tmp_path / "roads.gpkg").read_bytes()[:2000])
    sources = (
        tmp_path / "none.gpkg", text, broken, f"{path}|layername=lanes", f"{path}|layerid=7", f"{path}|layerid=x",
        f"{path}|layerid=99999999999999999999", f"{path}|subset=nonsense >",
    )  # fmt: skip
    for source in sources:
        with pytest.raises(LayerError) as caught:
            read_layer(str(source), "drawn roads")
        assert str(source) in caught.value.message
        assert "drawn roads" in caught.value.message
        assert caught.value.remedy


def test_an_empty_layer_is_refused_where_features_are_needed_and_what_has_no_geometry_always(tmp_path):
    path = str(tmp_path / "area.gpkg")
    write_layers(path, {"area": empty()}, {"area": "Polygon"})
    assert read_layer(path, "drawn roads").empty
    with pytest.raises(LayerError, match=r"must be lines, not Polygon"):
        require_geometry(read_layer(path, "drawn roads"), ("lines",), path, "drawn roads")
    with pytest.raises(LayerError, match=r"no features in the area of interest \(.*area\.gpkg\)"):
        read_area(path)
    path = write_layer(tmp_path / "nulls.gpkg", None, LineString())
    with pytest.raises(LayerError, match="No feature of the drawn roads .* has a geometry"):
        read_layer(path, "drawn roads")
    (tmp_path / "table.csv").write_text("a,b\n1,2\n")
    with pytest.raises(LayerError, match="without geometry"):
        read_layer(str(tmp_path / "table.csv"), "drawn roads")


EDITED = """<osm version='0.6' generator='JOSM'>
<node id='-1' action='modify' lat='52.5' lon='13.4' /><node id='-2' action='modify' lat='52.501' lon='13.4' />
<node id='7' version='2' lat='52.5' lon='13.41' /><node id='8' version='2' lat='52.501' lon='13.41' />
<way id='-5' action='modify'><nd ref='-1'/><nd ref='-2'/><nd ref='7'/>{tag}</way>
<way id='6' timestamp='2020-01-01T00:00:00Z' action='delete' uid='9'><nd ref='7'/><nd ref='8'/>{tag}</way>
<way id='9' action='modify' version='3'><nd ref='8'/><nd ref='7'/>{tag}</way>
<way id='10' visible='false' version='3'><nd ref='8'/><nd ref='7'/>{tag}</way>
</osm>"""


def test_a_file_of_an_editor_has_the_new_roads_and_not_the_deleted_ones(tmp_path):
    (tmp_path / "edited.osm").write_text(EDITED.format(tag="<tag k='highway' v='road'/>"))
    roads = read_layer(str(tmp_path / "edited.osm"), "roads before")
    assert dict(zip(roads["osm_id"], roads.geometry)) == {
        "-5": LineString([(13.4, 52.5), (13.4, 52.501), (13.41, 52.5)]),
        "9": LineString([(13.41, 52.501), (13.41, 52.5)]),
    }


@pytest.mark.filterwarnings("ignore:.*crs")
def test_a_layer_without_crs_is_refused(tmp_path):
    path = write_layer(tmp_path / "roads.shp", ROAD, crs=None)
    with pytest.raises(LayerError, match="no coordinate reference system"):
        read_layer(path, "drawn roads")


@pytest.mark.parametrize(
    ("crs", "points", "vertex"),
    [
        ("EPSG:4326", [(13, 52), (390000, 5820000)], "(390000, 5820000)"),  # meters declared as degrees
        ("EPSG:4326", [(13, 52), (13, 90.5)], "(13, 90.5)"),
        ("EPSG:4326", [(13, 52), (541, 52)], "(541, 52)"),
        ("EPSG:4258", [(390000, 5820000), (390100, 5820000)], "(390000, 5820000)"),
        (UTM, [(390000, 5820000), (3e7, 5820000)], "(30000000, 5820000)"),
        (UTM, [(1e300, 5820000), (390000, 5820000)], "(1e+300, 5820000)"),
    ],
)
def test_a_layer_whose_crs_is_wrong_is_refused(tmp_path, crs, points, vertex):
    path = write_layer(tmp_path / "roads.gpkg", LineString(points), crs=crs)
    with pytest.raises(LayerError) as refused:
        read_layer(path, "drawn roads")
    assert f"drawn roads ({path})" in refused.value.message
    assert refused.value.message.endswith(f"a vertex is at {vertex}.")
    assert "correct coordinate reference system" in refused.value.remedy


@pytest.mark.parametrize(
    ("crs", "points"),
    [
        ("EPSG:4326", [(180.5, 52), (-190, 52)]),
        ("EPSG:4326", [(359, 90), (0, -90)]),
        ("EPSG:3857", [(20037508.5, 5), (20038000, 5)]),
        ("EPSG:9518", [(13, 52), (13.1, 52)]),
        (UTM, [(-300000, 5820000), (1500000, 5820000)]),
    ],
)
def test_places_across_the_antimeridian_at_poles_and_in_neighbor_zones_are_read(tmp_path, crs, points):
    path = write_layer(tmp_path / "roads.gpkg", LineString(points), crs=crs)
    assert read_layer(path, "drawn roads").geometry[0].equals(LineString(points))


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize(("value", "suffix"), [(np.nan, "gpkg"), (np.inf, "fgb"), (-np.inf, "gpkg")])
def test_a_coordinate_that_is_no_number_is_refused_with_its_feature(tmp_path, value, suffix):
    path = write_layer(tmp_path / f"roads.{suffix}", ROAD, LineString([(390000, 5820000), (value, 5820000)]))
    with pytest.raises(LayerError, match=r"Feature 2 of the drawn roads .* has a vertex at \(-?(nan|inf), 5820000\)"):
        read_layer(path, "drawn roads")


def features(*shapes):
    """Return GeoJSON of shapes, as text."""
    each = [{"type": "Feature", "properties": {"a": 1}, "geometry": shape} for shape in shapes]
    return json.dumps({"type": "FeatureCollection", "features": each})


@pytest.mark.filterwarnings("ignore:Non closed ring")
@pytest.mark.parametrize(
    "shape",
    [
        {"type": "LineString", "coordinates": [[10, 50]]},
        {"type": "Polygon", "coordinates": [[[10, 50], [11, 50], [11, 51]]]},
    ],
    ids=["line of one point", "open ring"],
)
def test_a_geometry_that_geos_cannot_hold_is_refused(tmp_path, shape):
    path = tmp_path / "roads.geojson"
    path.write_text(features(shape))
    with pytest.raises(LayerError, match=r"geometry of the drawn roads .*roads\.geojson\) cannot be used") as refused:
        read_layer(str(path), "drawn roads")
    assert "Fix geometries" in refused.value.remedy


def test_surfaces_are_refused(tmp_path):
    for kind in ("TIN", "POLYHEDRALSURFACE"):
        (tmp_path / "roads.csv").write_text(f'WKT\n"{kind} (((0 0,0 1,1 1,0 0)))"\n')
        with pytest.raises(LayerError, match=r"roads\.csv\) cannot be used"):
            read_layer(str(tmp_path / "roads.csv"), "drawn roads")


def test_only_the_geometry_that_is_allowed_passes():
    roads = layer(ROAD, MultiLineString([ROAD.coords, [(0, 0), (1, 1)]]))
    require_geometry(roads, ("lines",), "roads.gpkg", "drawn roads")
    require_geometry(layer(ROAD, SQUARE), ("lines", "polygons"), "roads.gpkg", "drawn roads")
    with pytest.raises(LayerError, match=r"roads\.gpkg\) must be lines, not Point, Polygon"):
        require_geometry(layer(ROAD, SQUARE, Point(0, 0)), ("lines",), "roads.gpkg", "drawn roads")


def test_an_unknown_suffix_two_layers_in_one_geojson_and_a_missing_folder_are_refused(tmp_path):
    with pytest.raises(OutputError, match=r"net\.kml"):
        check_vector_output(str(tmp_path / "net.kml"))
    with pytest.raises(OutputError, match="only one layer"):
        write_layers(tmp_path / "net.geojson", {"roads": layer(ROAD), "nodes": layer(Point(0, 0))})
    with pytest.raises(OutputError, match="cannot be written"):
        write_layers(tmp_path / "none" / "net.gpkg", {"roads": layer(ROAD)})


def named(*names):
    return layer(ROAD, **{name: ["x"] for name in names})


@pytest.mark.parametrize(
    ("own", "carried"),
    [
        (("lanes", "surface"), {"lanes": "lanes", "surface": "surface"}),
        (("geom",), {"geom_2": "geom"}),
        (("GEOM", "geom_2"), {"GEOM_3": "GEOM", "geom_2": "geom_2"}),
        (("Name", "name", "NAME"), {"Name": "Name", "name_2": "name", "NAME_3": "NAME"}),
        (("fid", "FID", "Length_m", "lanes"), {"lanes": "lanes"}),
    ],
)
def test_a_name_that_is_taken_gets_a_number(own, carried):
    assert carried_fields(named(*own), {"length_m"}, Reporter()) == carried
