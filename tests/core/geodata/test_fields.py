"""Fields: numbers as people write them, and types that stay what they were, also where values are NULL."""

import json
import sqlite3
from contextlib import closing
from datetime import datetime

import geopandas
import numpy as np
import pandas
import pyogrio
import pytest
from shapely.geometry import LineString, mapping

from tests.core.support.rasters import layer, write_layer
from training_core.errors import LayerError
from training_core.events import Reporter
from training_core.geodata.fields import check_numbers, check_yes_no, numbers_in
from training_core.geodata.vector_output import write_layers
from training_core.geodata.vectors import carried_fields, read_layer
from training_core.jobs.fields import METERS


@pytest.mark.parametrize(
    ("written", "number"),
    [
        ("12,5", 12.5), ("12.5", 12.5), ("  6 ", 6), ("12.5 m", 12.5), ("12,5m", 12.5), ("20 ft", 6.096), ("-3", -3),
        (",5", 0.5), ("6.", 6), ("1e3", 1000), ("1,234", 1.234), (7, 7), (None, np.nan), ("", np.nan),
        ("1.234,5", np.nan), ("1 234", np.nan), ("6 km", np.nan), ("6-8", np.nan), ("wide", np.nan), ("nan", np.nan),
    ],
)  # fmt: skip
def test_a_number_is_read_with_either_separator_and_a_unit_of_length(written, number):
    assert numbers_in(pandas.Series([written, "x"], dtype=object), METERS)[0] == pytest.approx(number, nan_ok=True)


@pytest.mark.parametrize("values", [[3, 6], [3.0, 6.0], [True, False], pandas.array([3, None], dtype="Int64")])
def test_numbers_stay_what_they_are(values):
    expected = [np.nan if pandas.isna(value) else float(value) for value in values]
    assert np.array_equal(numbers_in(pandas.Series(values)), expected, equal_nan=True)


def roads_with(**fields):
    count = len(next(iter(fields.values())))
    return geopandas.GeoDataFrame(fields, geometry=[LineString([(0, 0), (1, 1)])] * count, crs="EPSG:32645")


def checked(*values):
    told, roads = [], roads_with(width=values)
    check_numbers(roads, "width", "roads.gpkg", "drawn roads", Reporter(told.append), METERS)
    return [event.message for event in told]


def test_values_that_are_no_numbers_are_told_with_an_example():
    (told,) = checked("12,5", "", None, "wide", "narrow", " 3 ")
    assert "2 of 4 values in the field 'width' of the drawn roads" in told and "'wide'" in told
    assert checked("12,5", "", None) == checked("", None) == checked(1.5, None) == []


def test_a_field_without_any_number_is_refused_by_its_name():
    with pytest.raises(LayerError, match=r"The field 'width' of the drawn roads \(roads.gpkg\) has no numbers.*'wide'"):
        checked("wide", None, "")


def test_values_that_say_neither_yes_nor_no_are_told_with_an_example():
    reporter = Reporter()
    check_yes_no(roads_with(sure=["Yes", "f", "", None, True, 0.0, np.nan]), "sure", "drawn roads", reporter)
    assert reporter.warnings == []
    check_yes_no(roads_with(sure=["no", "nein", "ja"]), "sure", "drawn roads", reporter)
    assert ["2 of 3 values in the field 'sure' of the drawn roads" in each for each in reporter.warnings] == [True]


BIG = 2**53 + 1
GIVEN = {
    "count": [3, None, -3],
    "bridge": [True, None, False],
    "osm_id": [BIG, None, BIG + 2],
    "empty": [None, None, None],
    "width": [1.5, None, 2.0],
    "name": ["Ä", None, ""],
    "seen": ["2020-01-02T03:04:05", None, "2021-01-02T00:00:00"],
    "since": ["2020-01-02", None, "1899-12-31"],
    "geometry": ["drawn", None, "guessed"],
    "tags": [{"a": [1, None], "b": "ü"}, None, {}],
    "lists": [["b", "a"], None, []],
    "local": ["2020-01-02T03:04:05+01:00", None, "2020-06-01T03:04:05-05:30"],
}
READ = {
    **GIVEN,
    **{name: [each and pandas.Timestamp(each) for each in GIVEN[name]] for name in ("seen", "since")},
    "tags": ['{"a": [1, null], "b": "ü"}', None, "{}"],
    "lists": ['["b", "a"]', None, "[]"],
    "local": [each and datetime.fromisoformat(each) for each in GIVEN["local"]],
}


@pytest.fixture
def drawn(tmp_path):
    path = tmp_path / "drawn.geojson"
    shape = mapping(LineString([(15, 48), (15.1, 48)]))
    rows = [dict(zip(GIVEN, row)) for row in zip(*GIVEN.values())]
    features = [{"type": "Feature", "properties": row, "geometry": shape} for row in rows]
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features}), encoding="utf-8")
    return path


def values_of(layer):
    """Return the values by field, features in the order of the file that was read first, as formats have their own."""
    layer = layer.sort_values("width", key=lambda widths_m: widths_m.fillna(1.7))
    return {name: [None if pandas.isna(each) else each for each in layer[name]] for name in READ}


@pytest.mark.parametrize("suffix", [".gpkg", ".geojson", ".fgb"])
def test_a_null_changes_no_type_and_no_value(drawn, tmp_path, suffix):
    roads = read_layer(str(drawn), "roads")
    assert values_of(roads) == READ
    copy = tmp_path / f"copy{suffix}"
    write_layers(copy, {"roads": roads})
    assert values_of(read_layer(str(copy), "roads")) == READ
    about = pyogrio.read_info(copy)
    types = dict(zip(about["fields"], map(str, about["dtypes"])))
    day = "datetime64[ms]" if suffix == ".fgb" else "datetime64[D]"  # FlatGeobuf has times alone
    expected = {"count": "int32", "bridge": "bool", "osm_id": "int64", "seen": "datetime64[ms]", "since": day}
    assert {name: types[name] for name in expected} == expected


def test_large_numbers_of_a_filtered_layer_are_those_of_its_features(drawn, tmp_path):
    path = tmp_path / "roads.gpkg"
    write_layers(path, {"roads": read_layer(str(drawn), "roads")})
    found = read_layer(f"{path}|layername=roads|subset=bridge IS NULL OR NOT bridge", "roads")
    assert values_of(found)["osm_id"] == [None, BIG + 2]


@pytest.mark.parametrize(
    ("field", "value", "kept"),
    [
        ("count", "abc", [3, None, None]),
        ("count", 1.5, [3, None, None]),
        ("count", 5_000_000_000, [3, None, None]),
        ("osm_id", "abc", [BIG, None, None]),
        ("bridge", "yes", [True, None, None]),
        ("width", "wide", [1.5, None, None]),
        ("since", "soon", [pandas.Timestamp("2020-01-02"), None, None]),
    ],
)
def test_a_value_that_is_not_of_its_fields_type_counts_as_empty_with_a_word(drawn, tmp_path, field, value, kept):
    path = tmp_path / "roads.gpkg"
    write_layers(path, {"roads": read_layer(str(drawn), "roads")})
    with closing(sqlite3.connect(path)) as database, database:
        for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            database.execute(f'DROP TRIGGER "{name}"')
        database.execute(f'UPDATE roads SET "{field}" = ? WHERE fid = 3', (value,))
    reporter = Reporter()
    read = read_layer(f"{path}|layername=roads|subset=fid < 9", "roads", reporter)
    assert [None if pandas.isna(each) else each for each in read[field]] == kept
    (told,) = reporter.warnings
    assert "roads.gpkg" in told and field in told


@pytest.mark.parametrize("written", ["abc", "5000000000"])
def test_a_value_of_which_gdal_makes_another_number_is_refused(tmp_path, written):
    line = LineString([(390000, 5820000), (390100, 5820000)])
    path = write_layer(tmp_path / "roads.mif", line, lanes=np.int32([777]))
    table = tmp_path / "roads.mid"
    table.write_text(table.read_text().replace("777", written))
    with pytest.raises(LayerError, match=rf"roads\.mif\) have a value that .* '{written}' of field .*lanes"):
        read_layer(path, "roads")


def test_a_field_of_binary_data_is_left_out_with_a_word():
    reporter = Reporter()
    roads = layer(LineString([(0, 0), (1, 1)]), photo=[b"\xff"], name=["a"])
    assert carried_fields(roads, (), reporter) == {"name": "name"}
    assert "photo" in reporter.warnings[0]
