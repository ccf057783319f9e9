"""The job vectorize: from a raster's file to the network's."""

import geopandas
import numpy as np
import pytest
import rasterio
from affine import Affine
from rasterio.features import rasterize
from shapely.geometry import box

from tests.core.support.rasters import UTM, write_raster
from training_core.errors import ImageryError, OutputError
from training_core.events import Reporter
from training_core.jobs import Vectorize
from training_core.pipelines.vectorize import run


def drawn(*shapes):
    """A mask of shapes given in columns and rows, their corners."""
    return rasterize(shapes, out_shape=(200, 300), transform=Affine.identity()).astype(np.uint8)


def road_raster(path, values=None, **profile):
    if values is None:
        values = drawn(box(0, 95, 300, 105), box(145, 0, 155, 200))
    return write_raster(path, values, **profile)


def test_the_job_writes_roads_and_nodes_and_returns_their_numbers(tmp_path):
    raster = road_raster(tmp_path / "mask.tif")
    job = Vectorize(raster=raster, roads=str(tmp_path / "roads.gpkg"), nodes=str(tmp_path / "nodes.geojson"))
    heard = []
    result = run(job, Reporter(heard.append))
    roads, nodes = geopandas.read_file(result["roads"]), geopandas.read_file(result["nodes"])
    assert result["count"] == len(roads) == 4
    assert result["length_m"] == pytest.approx(500, abs=5)
    assert result["components"] == 1
    assert roads.crs == UTM
    assert set(roads.geom_type) == {"LineString"}
    assert {"length_m", "width_m", "confidence", "component"} < set(roads.columns)
    assert sorted(nodes["degree"]) == [1, 1, 1, 1, 4]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mask.tif", "nodes.geojson", "roads.gpkg"]
    fractions = [event.fraction for event in heard if event.kind == "progress"]
    assert fractions == sorted(fractions)


def test_a_probability_in_bytes_is_scaled_and_cut_at_the_threshold(tmp_path):
    values = np.full((200, 300), 10, dtype=np.uint8)
    values[95:105], values[150:160], values[:, 250:] = 203, 102, 255
    raster = road_raster(tmp_path / "p.tif", values, nodata=255)
    with rasterio.open(raster, "r+") as dataset:
        dataset.scales = (1 / 254,)
    found = [
        geopandas.read_file(
            run(Vectorize(raster=raster, roads=str(tmp_path / "r.gpkg"), threshold=threshold), Reporter())["roads"]
        )
        for threshold in (0.3, 0.5, 0.9)
    ]
    assert [len(roads) for roads in found] == [2, 1, 0]
    assert found[1]["confidence"][0] == pytest.approx(203 / 254, abs=1e-3)
    assert found[1]["length_m"][0] == pytest.approx(250, abs=2)


def test_unusable_inputs_are_named_and_leave_no_output(tmp_path):
    good = road_raster(tmp_path / "good.tif")
    with pytest.warns(rasterio.errors.NotGeoreferencedWarning):
        rasters = [
            road_raster(tmp_path / "nowhere.tif", crs=None, transform=Affine.identity()),
            road_raster(tmp_path / "percent.tif", np.full((50, 50), 80, dtype=np.float32)),
        ]  # fmt: skip
        for raster in map(str, rasters):
            with pytest.raises(ImageryError) as caught:
                run(Vectorize(raster=raster, roads=str(tmp_path / "roads.gpkg")), Reporter())
            assert raster in caught.value.message
            assert caught.value.remedy
    with pytest.raises(OutputError, match=r"roads\.dxf"):
        run(Vectorize(raster=good, roads=str(tmp_path / "roads.dxf")), Reporter())
    assert not list(tmp_path.glob("*roads*"))
