import json
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import rasterio
from affine import Affine
from rasterio.crs import CRS
from shapely.geometry import box

from tests.core.support.rasters import NORTH_UP, UTM, write_layer, write_raster
from tests.core.support.towns import SIDE_PX, image_of, on_map, true_roads
from training_core.errors import ImageryError, ResourceError
from training_core.geodata.grid import Grid
from training_core.geodata.rasters import Band, ModelInput
from training_core.geodata.vectors import read_area
from training_core.segmentation.work_plan import (
    ImagePlan,
    Results,
    TilePlan,
    check_size,
    plan_image,
    plan_work,
    read_plans,
)

ROOT = Path(__file__).parents[3]
RGB = tuple(Band(name) for name in ("red", "green", "blue"))
INPUT = ModelInput(RGB, 1.0)


def plan_of(width, height, **results):
    grid = Grid(CRS.from_string(UTM), NORTH_UP, width, height)
    return ImagePlan("image.tif", grid, None, INPUT, grid, Results(**results))


def never():
    raise AssertionError("the time was measured")


def test_the_work_is_described_with_its_time_only_where_there_is_much():
    assert str(plan_work([plan_of(1000, 600)], TilePlan(512, 64), never)) == "0.6 megapixels in 2 tiles."
    said = str(plan_work([plan_of(20000, 10000)], TilePlan(2048, 64), lambda: 1e-6))
    assert said == "200.0 megapixels in 50 tiles, about 3 min for the model alone."


def test_what_would_take_weeks_is_refused_with_numbers():
    with pytest.raises(ResourceError, match=r"4,000,000.0 megapixels, of at most") as refusal:
        check_size([plan_of(2_000_000, 2_000_000)])
    assert "area of interest" in refusal.value.remedy


def test_results_larger_than_the_disk_are_refused_with_numbers(tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=2 * 10**8))
    results = {"mask": str(tmp_path / "new" / "mask.tif"), "probability": str(tmp_path / "probability.tif")}
    check_size([plan_of(8000, 8000, **results)])
    with pytest.raises(ResourceError, match=rf"may take 0\.3 GB \(200\.0 megap.*{tmp_path} has 0\.2 GB left"):
        check_size([plan_of(10000, 10000, **results)])


def test_an_image_far_coarser_than_the_model_is_refused_with_numbers(tmp_path):
    satellite = write_raster(
        tmp_path / "ten.tif", np.ones((3, 500, 400), np.uint8), transform=NORTH_UP @ Affine.scale(10)
    )
    with pytest.raises(ImageryError, match=r"pixels of 10 m .* on pixels of 0\.3 m.*13,3\d\d x 16,6\d\d"):
        plan_image(satellite, None, ModelInput(RGB, 0.3))
    assert plan_image(satellite, None, ModelInput(RGB, 5.0)).grid.width == 800


def test_pieces_come_image_by_image(tmp_path):
    rasters = [write_raster(tmp_path / f"{number}.tif", image_of(true_roads(), seed=number)) for number in range(2)]
    images = [plan_image(raster, None, ModelInput(RGB, 1.0)) for raster in rasters]
    pieces = list(read_plans(images, ModelInput(RGB, 1.0), 96, 32))
    assert [piece.source for piece in pieces] == [images[0]] * 4 + [images[1]] * 4
    for plan, raster in zip(images, rasters):
        seen = np.zeros((SIDE_PX, SIDE_PX), int)
        for piece in (piece for piece in pieces if piece.source is plan):
            seen[piece.tile.destination] += np.rint(piece.image[0][piece.tile.core]).astype(int)
        with rasterio.open(raster) as dataset:
            np.testing.assert_array_equal(seen, dataset.read(1))


def test_nothing_is_read_where_nothing_is_wanted(tmp_path):
    """A frame of roads around a field: the tiles of the field lie within the bounds of the area, but not in it."""
    raster = write_raster(tmp_path / "town.tif", image_of(true_roads()))
    frame = box(0, 0, SIDE_PX, SIDE_PX).difference(box(32, 32, SIDE_PX - 32, SIDE_PX - 32))
    aoi = read_area(write_layer(tmp_path / "aoi.gpkg", on_map(frame)))
    pieces = list(read_plans([plan_image(raster, aoi, ModelInput(RGB, 1.0))], ModelInput(RGB, 1.0), 32, 0))
    assert len(pieces) == (SIDE_PX // 32) ** 2 and sum(not piece.is_empty for piece in pieces) == 4 * 5
    assert all(piece.image.size == 0 for piece in pieces if piece.is_empty)


STREAMING = """
import json, sys
sys.path[:0] = sys.argv[1:2]
from training_core.system.processor import prepare_process
prepare_process()
from training_core.events import Reporter
from training_core.jobs import Segment
from training_core.pipelines.segment import run
_, _, raster, model, mask = sys.argv
options = {"engine": "native", "threads": 1, "memory_gb": 1.0, "halo": "64"}
result = run(Segment(raster=raster, model=model, mask=mask, **options), Reporter())
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(json.dumps({**result, "peak_gb": int(peak.split()[1]) * 1024 / 1e9}))
"""

SPARSE_MOSAIC = """<VRTDataset rasterXSize="30000" rasterYSize="30000">
<SRS>EPSG:32633</SRS><GeoTransform>390000, 1, 0, 5820000, 0, -1</GeoTransform>{bands}</VRTDataset>"""
SOURCE = """<SimpleSource><SourceFilename>{path}</SourceFilename><SourceBand>{band}</SourceBand>
<SrcRect xOff="0" yOff="0" xSize="{size}" ySize="{size}"/>
<DstRect xOff="{x}" yOff="{y}" xSize="{size}" ySize="{size}"/></SimpleSource>"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of memory is read as on Linux")
def test_a_vast_raster_takes_no_more_memory_than_it_may(tmp_path, planted):
    """30,000 x 30,000 px, most of it without data, which is passed over."""
    town = write_raster(tmp_path / "town.tif", image_of(true_roads()), photometric="rgb")
    places = [(100, 200), (14900, 15000), (29700, 29800)]
    bands = "".join(
        f'<VRTRasterBand dataType="Byte" band="{band}"><NoDataValue>0</NoDataValue><ColorInterp>{color}</ColorInterp>'
        + "".join(SOURCE.format(path=town, band=band, size=SIDE_PX, x=x, y=y) for x, y in places)
        + "</VRTRasterBand>"
        for band, color in enumerate(("Red", "Green", "Blue"), 1)
    )
    raster, mask = tmp_path / "vast.vrt", tmp_path / "mask.tif"
    raster.write_text(SPARSE_MOSAIC.format(bands=bands))
    command = [sys.executable, "-c", STREAMING, str(ROOT), str(raster), planted, str(mask)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stderr
    result = json.loads(ran.stdout.splitlines()[-1])
    assert result["peak_gb"] < 3
    with rasterio.open(mask) as dataset:
        assert dataset.shape == (30000, 30000) and dataset.tags(ns="IMAGE_STRUCTURE")["LAYOUT"] == "COG"
        for x, y in places:
            window = rasterio.windows.Window(x - 10, y - 10, SIDE_PX + 20, SIDE_PX + 20)
            known = dataset.read(1, window=window) != 255
            assert known[10:-10, 10:-10].all() and known.sum() == SIDE_PX**2
