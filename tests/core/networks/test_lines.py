"""Lines of several layers projected to one plane in meters."""

from __future__ import annotations

import sqlite3

import geopandas
import numpy as np
import pandas
import pytest
import shapely
from pyproj import Geod

from training_core.errors import LayerError
from training_core.events import Reporter
from training_core.networks.lines import (
    AGAINST,
    ALONG,
    BOTH,
    CLOSED,
    LineFields,
    clipped,
    directions_of,
    lines_in,
    make_lines,
    read_line_layer,
    shared_plane,
)

NOTHING = LineFields()
ELLIPSOID = Geod(ellps="WGS84")


def layer_at(longitude, latitude, crs="EPSG:4326", **columns):
    """A layer with a line of about a kilometer to the east and one to the north."""
    shapes = [
        shapely.LineString([(longitude, latitude), (longitude + 0.01, latitude)]),
        shapely.LineString([(longitude, latitude), (longitude, latitude + 0.01)]),
    ]
    return geopandas.GeoDataFrame(columns, geometry=shapes, crs="EPSG:4326").to_crs(crs)


def geodesic_m(layer):
    return [ELLIPSOID.geometry_length(shape) for shape in layer.to_crs("EPSG:4326").geometry]


@pytest.mark.parametrize("crs", ["EPSG:4326", "EPSG:3857", "EPSG:32645"])
def test_lengths_are_meters_on_the_ground_whatever_the_coordinate_system(crs):
    layer = layer_at(85.5, 27.6, crs)
    lines = lines_in(shared_plane(layer), layer, NOTHING)
    assert lines.length_m == pytest.approx(geodesic_m(layer), rel=1e-6)


def test_the_distortion_at_the_largest_radius_is_as_documented():
    west, east = layer_at(10.0, 0.0), layer_at(13.5, 0.0)
    lines = lines_in(shared_plane(west, east), east, NOTHING)
    assert lines.length_m[0] == pytest.approx(geodesic_m(east)[0], rel=1e-7)
    assert 1e-4 < lines.length_m[1] / geodesic_m(east)[1] - 1 < 1.7e-4


def test_lines_on_both_sides_of_the_180th_meridian_are_near_each_other():
    one, other = layer_at(179.98, -17.0), layer_at(-180.0, -17.0)
    plane = shared_plane(one, other)
    ends = [shapely.get_coordinates(lines_in(plane, layer, NOTHING).shapes[0]) for layer in (one, other)]
    assert np.hypot(*(ends[1][0] - ends[0][0])) < 2200


def test_networks_too_far_apart_are_refused():
    with pytest.raises(LayerError, match=r"west\.gpkg and east\.gpkg reach .* too far to measure"):
        shared_plane(layer_at(10, 50), layer_at(20, 50), of="west.gpkg and east.gpkg")


@pytest.mark.parametrize(
    ("values", "bridges"),
    [
        (["1", "2"], [True, False]),  # SpaceNet: 1 bridge, 2 none, 3 not known
        ([1, 3], [True, False]),
        ([1.0, None], [True, False]),
        ([True, False], [True, False]),
        (["T", "F"], [True, False]),
        (["viaduct", "no"], [True, False]),
        (["Yes", ""], [True, False]),
    ],
)
def test_values_of_a_bridge_field(values, bridges):
    layer = layer_at(10, 50, bridge=values)
    assert lines_in(shared_plane(layer), layer, LineFields(bridge="bridge")).bridge.tolist() == bridges


@pytest.mark.parametrize(("unit", "speed_mps"), [("km/h", 10), ("mph", 36 * 0.44704), ("m/s", 36)])
def test_speeds_have_their_unit_and_unknown_ones_the_median(unit, speed_mps):
    layer = layer_at(10, 50, speed=["36", "fast"])
    lines = lines_in(shared_plane(layer), layer, LineFields(speed="speed", speed_unit=unit))
    assert lines.speed_mps == pytest.approx([speed_mps, np.nan], nan_ok=True)
    assert lines.with_median_speed().speed_mps == pytest.approx([speed_mps, speed_mps])


def test_a_speed_field_without_numbers_is_refused_by_its_name(tmp_path):
    path = str(tmp_path / "roads.gpkg")
    layer_at(10, 50, speed=["36,5", "fast"], kind=["track", "path"]).to_file(path)
    told = []
    layer = read_line_layer(path, "true roads", LineFields(speed="speed"), Reporter(told.append))
    assert "1 of 2 values in the field 'speed' of the true roads" in told[0].message
    lines = lines_in(shared_plane(layer), layer, LineFields(speed="speed"))
    assert lines.speed_mps == pytest.approx([36.5 / 3.6, np.nan], nan_ok=True)
    with pytest.raises(LayerError, match="'kind' of the true roads .* has no numbers"):
        read_line_layer(path, "true roads", LineFields(speed="kind"), Reporter())


def test_a_layer_without_the_field_of_points_or_that_lies_nowhere_is_refused_by_name(tmp_path):
    path = str(tmp_path / "roads.gpkg")
    layer_at(10, 50, name=["a", "b"]).to_file(path)
    with pytest.raises(LayerError, match=r"true roads .*roads\.gpkg\) have no field 'bridge'.*name"):
        read_line_layer(path, "true roads", LineFields(bridge="bridge"), Reporter())
    geopandas.GeoDataFrame(geometry=[shapely.Point(0, 0)], crs="EPSG:4326").to_file(path)
    with pytest.raises(LayerError, match="must be lines"):
        read_line_layer(path, "true roads", NOTHING, Reporter())
    path = str(tmp_path / "lost.gpkg")
    geopandas.GeoDataFrame(geometry=[shapely.LineString([(0, 95), (1, 96)])], crs="EPSG:3857").to_file(path)
    read_line_layer(path, "true roads", NOTHING, Reporter())  # near the origin
    shapes = [shapely.LineString([(1e30, 0), (1e30, 9)])]
    geopandas.GeoDataFrame(geometry=shapes, crs="EPSG:32633").to_file(path)
    with pytest.raises(LayerError, match=r"true roads .*lost\.gpkg\) reach outside"):
        read_line_layer(path, "true roads", NOTHING, Reporter())
    shapes = [shapely.LineString([(390000, 5.8e6), (390000, 4e8)])]  # PROJ finds a place on the Earth for it
    geopandas.GeoDataFrame(geometry=shapes, crs="EPSG:32633").to_file(path)
    with pytest.raises(LayerError, match=r"lost\.gpkg\) has a straight piece of 394,200 km"):
        read_line_layer(path, "true roads", NOTHING, Reporter())


def test_lines_are_clipped_to_an_area_with_their_attributes():
    lines = make_lines([shapely.LineString([(0, 0), (100, 0)])], [True], [7.0])
    parts = clipped(lines, shapely.union_all([shapely.box(-5, -5, 10, 5), shapely.box(60, -5, 80, 5)]))
    assert sorted(parts.length_m) == [10, 20]
    assert (parts.bridge.tolist(), parts.speed_mps.tolist(), parts.feature.tolist()) == ([True] * 2, [7] * 2, [0] * 2)


@pytest.mark.parametrize(
    ("values", "directions"),
    [
        (["yes", "no", "-1", "true", None, " YES "], [ALONG, BOTH, AGAINST, ALONG, BOTH, ALONG]),  # OpenStreetMap
        (["F", "T", "B"], [ALONG, AGAINST, BOTH]),  # Geofabrik, HERE
        (["FT", "TF", "N", ""], [ALONG, AGAINST, CLOSED, BOTH]),  # TomTom, Esri
        (["Y", "N", None], [ALONG, BOTH, BOTH]),
        (["N", "N"], [BOTH, BOTH]),
        ([1, 2, 0], [ALONG, BOTH, BOTH]),  # SpaceNet
        (pandas.array([True, False, None], "boolean"), [ALONG, BOTH, BOTH]),
        ([], []),
    ],
)
def test_one_way_fields_of_usual_networks_are_understood(values, directions):
    reporter = Reporter()
    assert directions_of(pandas.Series(values), "the field", reporter).tolist() == directions
    assert not reporter.warnings


def test_values_without_a_lasting_direction_are_two_way_and_told_by_their_number():
    reporter = Reporter()
    values = pandas.Series(["reversible", "F", "alternating", "reversible", "x" * 99])
    assert directions_of(values, "the field 'way'", reporter).tolist() == [BOTH, ALONG, BOTH, BOTH, BOTH]
    (told,) = reporter.warnings
    assert "4 of 5 values in the field 'way'" in told and "reversible (2), alternating (1), x" in told
    assert len(told) < 200


STREET, AVENUE = (shapely.LineString([(0, y), (0.001, y)]) for y in (0, 0.001))
POINT = shapely.LineString([(0, 0), (0, 0)])
RING = shapely.LineString([(0, 0), (0.001, 0), (0.001, 0.001), (0, 0)])
EIGHT = shapely.LineString([(0, 0), (0.001, 0.001), (0.001, 0), (0, 0.001), (0, 0)])


@pytest.mark.parametrize(
    ("shapes", "count", "told"),
    [
        ([STREET, AVENUE, STREET, AVENUE.reverse()], 4, "another one in either order (2), which count once"),
        ([STREET, POINT], 1, "lines of no length (1), which are left out"),
        ([shapely.MultiLineString([STREET, POINT]), STREET], 2, "no length (1), which are left out, and lines with"),
        ([STREET, None, shapely.LineString()], 1, "2 of 3 features of the lines"),
        ([RING, EIGHT], 2, ""),
        ([shapely.GeometryCollection([STREET, AVENUE]), RING], 3, ""),
    ],
)
def test_copies_and_lines_of_no_length_are_told_of_and_rings_and_collections_of_lines_stay(
    shapes, count, told, tmp_path
):
    path, reporter = str(tmp_path / "roads.gpkg"), Reporter()
    geopandas.GeoDataFrame(geometry=shapes, crs="EPSG:4326").to_file(path, geometry_type="Unknown")
    layer = read_line_layer(path, "lines", NOTHING, reporter)
    assert len(lines_in(shared_plane(layer), layer, NOTHING)) == count
    assert len(reporter.warnings) == bool(told) and all(told in each and path in each for each in reporter.warnings)


@pytest.mark.parametrize(
    ("shapes", "told"),
    [
        ([POINT, POINT], "no line of any length"),
        ([STREET, shapely.Point(0, 0)], r"must be lines, not Point \(1 of 2 features\)"),
        ([STREET, shapely.GeometryCollection([AVENUE, shapely.Point(0, 0)])], r"not GeometryCollection \(1 of 2"),
    ],
)
def test_a_layer_without_length_or_of_mixed_geometry_is_refused_with_its_number(shapes, told, tmp_path):
    path = str(tmp_path / "roads.gpkg")
    geopandas.GeoDataFrame(geometry=shapes, crs="EPSG:4326").to_file(path, geometry_type="Unknown")
    with pytest.raises(LayerError, match=rf"roads\.gpkg\) .*{told}"):
        read_line_layer(path, "lines", NOTHING, Reporter())


def test_measures_are_told_of(tmp_path, recwarn):
    path, told = str(tmp_path / "roads.gpkg"), []
    geopandas.GeoDataFrame(geometry=[STREET], crs="EPSG:4326").to_file(path)
    with sqlite3.connect(path) as database:
        database.execute("UPDATE gpkg_geometry_columns SET m = 1")
    database.close()
    read_line_layer(path, "lines", NOTHING, Reporter(told.append))
    assert [event.message for event in told] == [f"The lines ({path}) have measures (M). These are dropped."]
    assert not recwarn.list  # which would be printed as they are
