"""Lines and points with heights: what jobs write is flat, and they tell so, once for each layer."""

from __future__ import annotations

import importlib

import geopandas
import pytest
from shapely import LineString, Point

from tests.core.support.disasters import X, Y
from tests.core.support.rasters import write_layer
from training_core.events import Reporter
from training_core.jobs import JOBS, from_options


@pytest.mark.parametrize(
    ("job", "inputs", "output"),
    [
        ("cleannetwork", ("lines", "bridges"), {"roads": "a.gpkg"}),
        ("exportnetwork", ("lines",), {"geopackage": "a.gpkg"}),
        ("scorenetwork", ("truth", "proposal"), {"errors": "a.gpkg"}),
        ("comparenetworks", ("before", "after", "places", "origins"), {"changes": "a.gpkg", "reached": "a.gpkg"}),
        ("makechallenge", ("layer",), {"challenge": "a.geojson"}),
    ],
)
def test_heights_are_told_of_and_left_out(tmp_path, job, inputs, output):
    ends = (X, Y, 340), (X + 90, Y, 345)
    high = {name: list(map(Point, ends)) if name in ("places", "origins") else [LineString(ends)] for name in inputs}
    paths = {
        name: write_layer(tmp_path / f"{name}.gpkg", *shapes, change=["new"] * len(shapes))
        for name, shapes in high.items()
    }
    outputs = {name: str(tmp_path / file) for name, file in output.items()}
    reporter = Reporter()
    pipeline = importlib.import_module(f"training_core.pipelines.{job}")
    pipeline.run(from_options(JOBS[job], {**paths, **outputs}), reporter)
    told = [warning for warning in reporter.warnings if "heights (Z)" in warning]
    assert len(told) == len(inputs) and all(any(path in each for each in told) for path in paths.values())
    for path in set(outputs.values()):
        for layer in geopandas.list_layers(path)["name"]:
            assert not geopandas.read_file(path, layer=layer).has_z.any()
