"""Lines in GeoParquet, as geopandas and others read it."""

import json
import shutil

import geopandas
import numpy as np
import pandas
import pytest
import shapely

from tests.core.support.rasters import layer
from training_core.errors import LayerError
from training_core.geodata.vector_output import write_in_parts, write_layers
from training_core.geodata.vectors import read_layer

parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow (the requirement set fleet) is not there")


def roads(count):
    points = np.random.default_rng(1).uniform((390000, 5820000), (391000, 5821000), (count, 6, 2))
    lines = layer(*shapely.linestrings(points), length_m=list(map(float, range(count))), width=[None] * count)
    return lines.assign(highway=[f"road {number}" for number in range(count)])


def test_parts_are_one_layer_with_its_crs(tmp_path):
    lines, path = roads(7), tmp_path / "roads.parquet"
    lines["width"] = [None] * 3 + ["3.5"] * 4  # of which the first part knows none
    write_in_parts(path, "roads", [lines[:0], lines[:3], lines[3:]], "LineString")
    found = geopandas.read_parquet(path)
    assert found.crs == lines.crs and found.geometry.geom_equals_exact(lines.geometry, 0).all()
    assert found["length_m"].tolist() == lines["length_m"].tolist() and found["width"].tolist()[3:] == ["3.5"] * 4
    document = json.loads(parquet.read_metadata(path).metadata[b"geo"])
    assert document["columns"]["geometry"]["geometry_types"] == ["LineString"]
    assert parquet.read_metadata(path).num_row_groups == 2


def test_it_is_read_like_any_layer_but_for_a_filter(tmp_path):
    lines, path = roads(3), str(tmp_path / "a;b.PARQUET")
    write_layers(tmp_path / "roads.parquet", {"roads": lines}, {"roads": "LineString"})
    (tmp_path / "roads.parquet").rename(path)
    found = read_layer(path, "drawn roads")
    assert found.crs == lines.crs and found.geometry.geom_equals_exact(lines.geometry, 0).all()
    assert found["highway"].tolist() == lines["highway"].tolist()
    with pytest.raises(LayerError, match=r"drawn roads .* cannot be read: a filter"):
        read_layer(f"{path}|subset=length_m > 1", "drawn roads")
    shutil.copy(path, tmp_path / "copy.geoparquet")
    assert len(read_layer(str(tmp_path / "copy.geoparquet"), "drawn roads")) == 3
    (tmp_path / "no.parquet").write_bytes(b"PAR1")
    with pytest.raises(LayerError, match=r"no\.parquet\) cannot be read"):
        read_layer(str(tmp_path / "no.parquet"), "drawn roads")


def test_a_null_changes_no_type_and_no_value(tmp_path):
    numbers, answers = pandas.array([2**53 + 1, None, 3], "Int64"), pandas.array([True, None, False], "boolean")
    since = pandas.to_datetime(["2020-01-02", None, "1899-12-31"]).astype("datetime64[s]")
    fields = {"parcel": numbers, "paved": answers, "since": since}
    write_layers(tmp_path / "roads.parquet", {"roads": roads(3).assign(**fields)}, {"roads": "LineString"})
    schema = parquet.read_schema(tmp_path / "roads.parquet")
    assert [str(schema.field(name).type) for name in fields] == ["int64", "bool", "date32[day]"]
    found = read_layer(str(tmp_path / "roads.parquet"), "drawn roads")
    pandas.testing.assert_frame_equal(pandas.DataFrame(found[list(fields)]), pandas.DataFrame(fields))
