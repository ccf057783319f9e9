import geopandas
import numpy as np
import pytest
import rasterio

from tests.core.support.rasters import files
from tests.core.support.towns import ROAD_M, ROADS, on_map
from training_core.events import Reporter
from training_core.jobs import ExtractRoads, Segment, Vectorize
from training_core.pipelines import extractroads, segment, vectorize

TRUE_LINES = geopandas.GeoSeries([on_map(road) for road in ROADS], crs="EPSG:32633").union_all()


def extract(folder, reporter=None, **options):
    defaults = {"engine": "native", "threads": 1, "roads": str(folder / "roads.gpkg")}
    job = ExtractRoads(**{**defaults, **options})
    return extractroads.run(job, reporter or Reporter()), geopandas.read_file(job.roads)


def test_the_roads_of_a_town_become_its_network(town, learned, tmp_path):
    result, roads = extract(tmp_path, raster=town.raster, model=learned.model)
    assert roads.crs == rasterio.open(town.raster).crs and set(roads.geom_type) == {"LineString"}
    found = roads.union_all()
    assert found.intersection(TRUE_LINES.buffer(3)).length / found.length > 0.9
    assert TRUE_LINES.intersection(found.buffer(3)).length / TRUE_LINES.length > 0.9
    assert found.length == pytest.approx(TRUE_LINES.length, rel=0.15)
    assert result["count"] == len(roads) and result["components"] == 1
    assert result["length_m"] == pytest.approx(roads["length_m"].sum())
    assert result["roads"] == str(tmp_path / "roads.gpkg") and result["engine"] == "native"
    long = roads[roads.length > 30]
    assert np.average(long["width_m"], weights=long.length) == pytest.approx(ROAD_M, abs=2)
    assert roads["confidence"].between(0.5, 1).mean() > 0.8
    assert files(tmp_path) == ["roads.gpkg"]


def test_both_at_once_give_what_one_after_the_other_gives(town, learned, tmp_path):
    common = {"model": learned.model, "engine": "native", "precision": "fp32", "threads": 1}
    written = {name: str(tmp_path / f"{name}.tif") for name in ("mask", "probability")}
    _, at_once = extract(tmp_path, raster=town.raster, **written, **common)
    paths = {name: str(tmp_path / f"{name}_alone.tif") for name in ("mask", "probability")}
    segment.run(Segment(raster=town.raster, **paths, **common), Reporter())
    for name, path in written.items():
        with rasterio.open(path) as raster, rasterio.open(paths[name]) as alone:
            assert raster.profile == alone.profile and raster.descriptions == alone.descriptions
            np.testing.assert_array_equal(raster.read(), alone.read())
    separate = str(tmp_path / "separate.gpkg")
    threshold = 0.5
    with rasterio.open(paths["probability"]) as probability:
        vectorize.run(Vectorize(raster=probability.name, roads=separate, threshold=threshold), Reporter())
    _, at_half = extract(tmp_path, raster=town.raster, threshold=threshold, **common)
    after = geopandas.read_file(separate)
    assert after.geometry.geom_equals_exact(at_half.geometry, 1e-6).all()
    np.testing.assert_allclose(after["confidence"], at_half["confidence"], atol=1e-6)
    assert len(at_once)
