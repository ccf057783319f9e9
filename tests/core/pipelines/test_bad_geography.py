"""What jobs do with coordinates, pixels and fields that make no sense: refusals by name, and no endless work."""

import importlib

import pyogrio
import pytest
from shapely.geometry import LineString, box

from tests.core.support.rasters import layer, write_layer
from training_core.errors import LayerError
from training_core.events import Reporter
from training_core.jobs import JOBS, from_options

X, Y = 390000, 5820000
ROADS = [LineString([(X, Y - 50), (X + 200, Y - 50)]), LineString([(X + 90, Y), (X + 90, Y - 200)])]
AREA = box(X, Y - 192, X + 192, Y)


def run(job, **options):
    checked = from_options(JOBS[job], options)
    return importlib.import_module(f"training_core.pipelines.{job}").run(checked, Reporter())


@pytest.fixture
def good(tmp_path, town, planted):
    """Good options of jobs that read vector layers, by their names."""
    roads, gpkg = write_layer(tmp_path / "good.gpkg", *ROADS), str(tmp_path / "out.gpkg")
    spots = write_layer(tmp_path / "spots.gpkg", *(road.centroid for road in ROADS))
    compute = {"engine": "native", "precision": "fp32", "threads": 1, "model": planted}
    return {
        "evaluate": {
            "rasters": [town.raster], "roads": roads, "aoi": write_layer(tmp_path / "area.gpkg", AREA), **compute,
        },
        "cleannetwork": {"lines": roads, "roads": gpkg},
        "comparenetworks": {
            "before": roads, "after": roads, "changes": gpkg, "places": spots, "origins": spots,
            "reached": str(tmp_path / "reached.gpkg"),
        },
    }  # fmt: skip


def test_a_layer_in_meters_that_is_declared_in_degrees_is_refused_by_name(tmp_path, good):
    wrong = write_layer(tmp_path / "wrong.gpkg", *ROADS, crs="EPSG:4326")
    with pytest.raises(LayerError, match=r"wrong\.gpkg\) reach outside .* WGS 84: a vertex is at \(390\d+"):
        run("cleannetwork", **(good["cleannetwork"] | {"lines": wrong}))
    assert not (tmp_path / "out.gpkg").exists()


@pytest.mark.parametrize("width", [float("inf"), 1001.0])
def test_a_width_that_no_road_has_is_refused_with_its_field(tmp_path, good, width):
    options = good["evaluate"]
    roads = write_layer(tmp_path / "wide.gpkg", *ROADS, breite=[6.0, width])
    with pytest.raises(LayerError, match=r"'breite' of the drawn roads .*wide\.gpkg\) gives a road a width of"):
        run("evaluate", **(options | {"roads": roads, "width_field": "breite"}))


@pytest.mark.parametrize("width", [float("nan"), -5.0, None])
def test_a_road_without_a_width_above_zero_has_the_common_one(tmp_path, good, width):
    options = good["evaluate"]
    roads = write_layer(tmp_path / "some.gpkg", *ROADS, breite=[6.0, width])
    own = run("evaluate", **(options | {"roads": roads, "width_field": "breite"}))
    assert own["pixel"] == run("evaluate", **options)["pixel"]


@pytest.mark.parametrize(
    ("job", "field", "output"),
    [
        ("cleannetwork", "lines", "out.gpkg"),
        ("comparenetworks", "after", "out.gpkg"),
        ("comparenetworks", "places", "reached.gpkg"),
    ],
)
def test_fields_with_names_that_a_geopackage_lacks_are_carried_under_others(tmp_path, good, job, field, output):
    options = good[job]
    shapes = pyogrio.read_dataframe(options[field]).geometry
    other = LineString([(X, Y - 150), (X + 200, Y - 150)])  # new, where it is only in the network after
    shapes = [*shapes, other] if field == "after" else list(shapes)
    count = len(shapes)
    columns = {"geom": ["a"] * count, "Name": ["b"] * count, "name": ["c"] * count}
    layer(*shapes, **columns).to_file(tmp_path / "fields.geojson")
    run(job, **(options | {field: str(tmp_path / "fields.geojson")}))
    layers = [name for name in pyogrio.list_layers(tmp_path / output)[:, 0] if name != "nodes"]
    found = pyogrio.read_dataframe(tmp_path / output, layer=layers[0])
    for name, value in {"geom_2": "a", "Name": "b", "name_2": "c"}.items():
        assert set(found[name].dropna()) == {value}
