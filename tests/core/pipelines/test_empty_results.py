"""Layers without features, as jobs write them where they find nothing: other jobs go on with them."""

from __future__ import annotations

from pathlib import Path

import geopandas
import networkx
import numpy as np
import pytest
from shapely import box

from tests.core.support.disasters import GRID, X, Y, line, run, score, write_points
from tests.core.support.osm_changes import read_extract
from tests.core.support.rasters import layer, write_layer, write_raster
from training_core.errors import LayerError
from training_core.events import Reporter
from training_core.geodata.vector_output import write_layers
from training_core.jobs import CleanNetwork, ExportChanges, ExportNetwork, FineTune, Vectorize
from training_core.pipelines import cleannetwork, exportchanges, exportnetwork, finetune, vectorize

GRID_M = pytest.approx(8 * 210, rel=2e-3)
FIELDS = {"speed": [30.0], "bridge": ["no"]}


FORMATS = ("gpkg", "geojson", "fgb", "parquet", "vectorized")


@pytest.fixture(params=FORMATS)
def none(tmp_path, request):
    """The path of a layer of roads that is empty, in any format; of some of them without its fields."""
    if request.param == "vectorized":
        job = Vectorize(raster=write_raster(tmp_path / "mask.tif", np.zeros((1, 64, 64), np.uint8)),
                        roads=str(tmp_path / "none.gpkg"))  # fmt: skip
        vectorize.run(job, Reporter())
        return job.roads
    if request.param == "parquet":
        pytest.importorskip("pyarrow")
    path = tmp_path / f"none.{request.param}"
    write_layers(path, {"roads": layer(line(*GRID[0]), **FIELDS).iloc[:0]}, {"roads": "LineString"})
    return str(path)


def test_no_proposed_road_scores_0_and_no_true_one_cannot_be_scored(tmp_path, grid, none):
    reporter = Reporter()
    scores = score(tmp_path, grid, none, reporter, truth_speed_field="speed", proposal_speed_field="speed")
    assert scores["lines"]["completeness"] == scores["relaxed"]["recall"] == scores["topo"]["recall"] == 0
    assert scores["apls"]["score"] == scores["apls_time"]["score"] == 0 and len(reporter.warnings) == 1
    assert set(geopandas.read_file(tmp_path / "errors.gpkg")["kind"]) == {"missed"}
    with pytest.raises(LayerError, match="true roads .*none.* have no line"):
        score(tmp_path, none, grid)


@pytest.mark.parametrize(
    ("none", "area"), [*((each, False) for each in FORMATS), ("vectorized", True)], indirect=["none"]
)
def test_all_roads_are_lost_or_new_where_the_others_are_none(tmp_path, grid, none, area):
    options = {"aoi": write_layer(tmp_path / "area.gpkg", box(X - 50, Y - 50, X + 300, Y + 300))} if area else {}
    places = write_points(tmp_path, "places", near=(0, 0), far=(210, 210))
    reporter = Reporter()
    result = run(tmp_path, grid, none, reporter, places=places, before_bridge_field="", **options)
    assert (result["lost"]["length_m"], result["lost"]["share"], result["new"]["length_m"]) == (GRID_M, 1, 0)
    assert result["routes"]["cut_off"] == 2 and "none" in reporter.warnings[0] and "lost" in reporter.warnings[0]
    assert set(geopandas.read_file(result["changes"])["change"]) == {"lost"}
    reporter = Reporter()
    result = run(tmp_path, none, grid, reporter, after_speed_field="speed", before_speed_field="speed", **options)
    assert (result["new"]["length_m"], result["new"]["share"], result["lost"]["length_m"]) == (GRID_M, 1, 0)
    assert set(geopandas.read_file(result["changes"])["change"]) == {"new"}
    (warning,) = reporter.warnings
    assert "none" in warning and "new" in warning
    with pytest.raises(LayerError, match="None of the places .* there is none"):
        run(tmp_path, none, grid, places=places)
    result = run(tmp_path, none, none, **options)
    assert geopandas.read_file(result["changes"]).empty and result["before"]["length_m"] == 0


def test_a_network_of_nothing_is_cleaned_and_exported_with_a_warning(tmp_path, none):
    job = CleanNetwork(
        **{name: str(tmp_path / f"clean_{name}.gpkg") for name in ("roads", "nodes")}, lines=none, bridges=none
    )
    reporter = Reporter()
    assert cleannetwork.run(job, reporter)["count"] == 0 and "empty" in reporter.warnings[0]
    reporter = Reporter()
    paths = {"graphml": "roads.graphml", "geopackage": "graph.gpkg", "osm": "roads.osm.pbf"}
    paths = {name: str(tmp_path / file) for name, file in paths.items()}
    job = ExportNetwork(lines=none, lines_bridge_field="bridge", lines_oneway_field="oneway", keep="longest", **paths)
    assert exportnetwork.run(job, reporter)["edges"] == 0 and "empty" in reporter.warnings[0]
    assert len(networkx.read_graphml(paths["graphml"])) == 0 and read_extract(paths["osm"]) == ({}, {})
    assert geopandas.read_file(paths["geopackage"], layer="edges").empty
    job = ExportNetwork(lines=none, osm=str(tmp_path / "roads.osm"))
    exportnetwork.run(job, Reporter())
    assert read_extract(job.osm) == ({}, {})


def test_nothing_to_export_nor_to_learn_from_is_refused_with_the_true_reason(tmp_path, none):
    with pytest.raises(LayerError, match="no new road to export"):
        exportchanges.run(
            ExportChanges(changes=none, extract=str(tmp_path / "a.osm"), osc=str(tmp_path / "a.osc")), Reporter()
        )
    image = write_raster(tmp_path / "image.tif", np.ones((3, 64, 64), np.uint8))
    with pytest.raises(LayerError, match=r"no features in the drawn roads \(.*none.*\)") as caught:
        finetune.run(
            FineTune(rasters=(image,), roads=none, base_model="", model=str(tmp_path / "model.safetensors")), Reporter()
        )
    assert "If a job wrote it, the job found nothing" in caught.value.remedy
    assert not list(Path(tmp_path).glob("*.osc")) and not list(Path(tmp_path).glob("*.safetensors"))
