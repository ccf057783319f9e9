"""Several images in one job."""

import os
from pathlib import Path

import numpy as np
import pytest
import rasterio
from shapely.geometry import box

from tests.core.support.rasters import files, write_layer, write_raster
from tests.core.support.towns import image_of, on_map
from training_core.errors import OutputError
from training_core.events import Log, Progress, Reporter
from training_core.geodata.vectors import read_area
from training_core.jobs import Segment
from training_core.pipelines import segment
from training_core.pipelines.segment import run


def test_several_images_go_into_a_folder_under_their_names(tmp_path, planted):
    rasters = []
    for number, place in enumerate(("east", "west")):
        (tmp_path / place).mkdir()
        rasters.append(write_raster(tmp_path / place / "town.tif", image_of(np.zeros((40, 50 + number), bool))))
    rasters.append(write_raster(tmp_path / "village.tif", image_of(np.zeros((40, 60), bool))))
    job = Segment(rasters=tuple(rasters), model=planted, folder=str(tmp_path / "masks"), engine="native", threads=1)
    events = []
    result = run(job, Reporter(events.append))
    assert files(tmp_path / "masks") == ["town_roads.tif", "town_roads_2.tif", "village_roads.tif"]
    widths = {Path(mask).name: rasterio.open(mask).width for mask in result["masks"]}
    assert widths == {"town_roads.tif": 50, "town_roads_2.tif": 51, "village_roads.tif": 60}
    fractions = [event.fraction for event in events if isinstance(event, Progress)]
    assert fractions == sorted(fractions) and fractions[-1] == 1


def test_going_on_leaves_out_what_is_done(tmp_path, planted):
    """As after a run that was killed: a mask is there whole or not at all."""
    rasters = tuple(
        write_raster(tmp_path / f"{name}.tif", image_of(np.zeros((40, 50), bool)), photometric="rgb")
        for name in ("done", "older than its image", "missing")
    )
    options = {"rasters": rasters, "model": planted, "folder": str(tmp_path / "masks"), "engine": "native"}
    first = run(Segment(**options), Reporter())
    done, old, missing = map(Path, first["masks"])
    missing.unlink()
    os.utime(old, (0, 0))
    written = done.stat().st_mtime_ns
    events = []
    second = run(Segment(**options, resume=True), Reporter(events.append))
    assert second["masks"] == first["masks"] and second["skipped"] == 1 and first["skipped"] == 0
    assert done.stat().st_mtime_ns == written and missing.exists() and old.stat().st_mtime > 1
    assert any("1 of 3 images have their mask already" in event.message for event in events if isinstance(event, Log))
    assert run(Segment(**options, resume=True), Reporter())["skipped"] == 3


def test_many_small_images_give_what_each_gives_alone(tmp_path, planted):
    """Though they are computed together, those of one size."""
    sizes = [(40, 50), (40, 50), (33, 60), (90, 50), (40, 50)]
    rasters = tuple(
        write_raster(tmp_path / f"{number}.tif", image_of(np.zeros(size, bool), seed=number), photometric="rgb")
        for number, size in enumerate(sizes)
    )
    options = {"folder": str(tmp_path / "all"), "engine": "native", "precision": "fp32", "threads": 1}
    result = run(Segment(rasters=rasters, model=planted, **options), Reporter())
    for raster, mask in zip(rasters, result["masks"]):
        path = tmp_path / "alone" / Path(mask).name
        run(Segment(raster=raster, model=planted, mask=str(path), engine="native", precision="fp32"), Reporter())
        with rasterio.open(mask) as together, rasterio.open(path) as alone:
            assert (together.read(1) != alone.read(1)).mean() < 0.01


def test_the_area_of_interest_is_read_once_and_limits_each_image(tmp_path, planted, monkeypatch):
    reads = []
    monkeypatch.setattr(segment, "read_area", lambda path: reads.append(path) or read_area(path))
    values = image_of(np.zeros((40, 50), bool))
    rasters = tuple(write_raster(tmp_path / f"{name}.tif", values, photometric="rgb") for name in ("a", "b", "c"))
    aoi = write_layer(tmp_path / "aoi.gpkg", on_map(box(10, 10, 30, 30)))
    job = Segment(rasters=rasters, model=planted, folder=str(tmp_path / "masks"), aoi=aoi, engine="native", threads=1)
    result = run(job, Reporter())
    assert reads == [aoi]
    for mask in result["masks"]:
        with rasterio.open(mask) as dataset:
            assert (dataset.read(1) != 255).sum() == 400


def test_several_images_do_not_write_over_one_another(tmp_path, planted):
    values = image_of(np.zeros((40, 50), bool))
    first, second = (write_raster(tmp_path / name, values) for name in ("town.tif", "town_roads.tif"))
    job = Segment(rasters=(first, second), model=planted, folder=str(tmp_path), engine="native", threads=1)
    with pytest.raises(OutputError, match=r"town_roads\.tif is an input"):
        run(job, Reporter())
    with rasterio.open(second) as dataset:
        np.testing.assert_array_equal(dataset.read(), values)
