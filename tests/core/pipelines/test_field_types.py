"""Each job that copies attributes leaves their types and values as they are, also where one is NULL."""

from __future__ import annotations

import importlib
import json

import geopandas
import pandas
import pyogrio
import pytest
from shapely import LineString, Point
from shapely.geometry import mapping

from tests.core.support.disasters import X, Y
from tests.core.support.rasters import UTM
from training_core.events import Reporter
from training_core.jobs import JOBS, from_options
from training_core.pipelines import comparenetworks

# Values by field, and the type that GDAL gives them.
FIELDS = {
    "lanes": ([2, None, 3], "int32"),
    "parcel": ([2**53 + 1, None, 2**62 + 1], "int64"),
    "paved": ([True, None, False], "bool"),
    "since": (["2020-01-02", None, "1899-12-31"], "datetime64[D]"),
    "seen": (["2020-01-02T03:04:05", None, "2020-01-02T00:00:00"], "datetime64[ms]"),
    "crew": (["Ä", None, "b"], "object"),
}
LINES = [LineString([(X, Y + 100 * row), (X + 90, Y + 100 * row)]) for row in range(3)]


def written(path, shapes, *names):
    """Write features to GeoJSON, where types are those of the values, with some of the fields."""
    places = geopandas.GeoSeries(shapes, crs=UTM).to_crs(4326)
    rows = [{name: FIELDS[name][0][row] for name in names} for row in range(len(shapes))]
    features = [{"type": "Feature", "properties": row, "geometry": mapping(at)} for row, at in zip(rows, places)]
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features}), encoding="utf-8")
    return str(path)


def values_of(path, layer, name):
    """Return the values of a field that are not NULL, read alone, so that none changes its type."""
    known = pyogrio.read_dataframe(path, layer=layer, columns=[name], where=f'"{name}" IS NOT NULL')
    return set(known[name])


@pytest.mark.parametrize(
    ("job", "inputs", "result", "layer", "rows"),
    [
        ("cleannetwork", {"lines": LINES}, "roads", "roads", 3),
        ("exportnetwork", {"lines": LINES}, "geopackage", "edges", 3),
        ("comparenetworks", {"before": LINES, "plain after": LINES[:1]}, "changes", "changes", 3),
        # The last road is intact, so that only the others are in the layer as roads after.
        ("comparenetworks", {"plain before": LINES[2:], "after": LINES}, "changes", "changes", 2),
        (
            "comparenetworks",
            {"plain before": LINES, "plain after": LINES, "places": [Point(line.coords[0]) for line in LINES]},
            "reached", "reached", 3,
        ),
    ],
)  # fmt: skip
def test_a_null_changes_no_type_and_no_value(tmp_path, job, inputs, result, layer, rows):
    paths = {
        name.split()[-1]: written(tmp_path / f"{name}.geojson", shapes, *([] if "plain" in name else FIELDS))
        for name, shapes in inputs.items()
    }
    output = str(tmp_path / "result.gpkg")
    pipeline = importlib.import_module(f"training_core.pipelines.{job}")
    pipeline.run(from_options(JOBS[job], {**paths, result: output}), Reporter())
    about = pyogrio.read_info(output, layer=layer)
    types = dict(zip(about["fields"], map(str, about["dtypes"])))
    assert {name: types[name] for name in FIELDS} == {name: declared for name, (_, declared) in FIELDS.items()}
    for name, (values, declared) in FIELDS.items():
        known = {value for value in values[:rows] if value is not None}
        assert values_of(output, layer, name) == (set(map(pandas.Timestamp, known)) if "time" in declared else known)


def test_whole_numbers_stay_exact_where_the_other_network_has_decimals(tmp_path):
    paths = {name: str(tmp_path / f"{name}.gpkg") for name in ("before", "after", "changes")}
    geopandas.GeoDataFrame({"parcel": [2**53 + 1]}, geometry=LINES[:1], crs=UTM).to_file(paths["before"])
    geopandas.GeoDataFrame({"parcel": [0.5]}, geometry=LINES[1:2], crs=UTM).to_file(paths["after"])
    comparenetworks.run(from_options(JOBS["comparenetworks"], paths), Reporter())
    changes = pyogrio.read_dataframe(paths["changes"])
    assert dict(zip(changes["change"], changes["parcel"])) == {"lost": str(2**53 + 1), "new": "0.5"}
