import numpy as np
import pytest
import rasterio
from rasterio.crs import CRS

from tests.core.support.disks import no_more_than
from tests.core.support.rasters import NORTH_UP, UTM, write_raster
from training_core.errors import OutputError
from training_core.geodata.geotiff import BandFile, check_geotiff
from training_core.geodata.grid import Grid
from training_core.geodata.pixel_codes import NO_DATA
from training_core.geodata.tiling import Tile
from training_core.system.outputs import Outputs

SIDE_PX, TILE_PX = 1300, 400
GRID = Grid(CRS.from_string(UTM), NORTH_UP, SIDE_PX, SIDE_PX)
NOISE = np.random.default_rng(1).integers(0, NO_DATA, (SIDE_PX, SIDE_PX), dtype=np.uint8)
MASK = (NOISE > 250).astype(np.uint8)


def write(path, values, count=None):
    """Write values in tiles, the first ones or all; return the file's size."""
    file = BandFile(path, GRID, "nearest")
    corners = [(row, column) for row in range(0, SIDE_PX, TILE_PX) for column in range(0, SIDE_PX, TILE_PX)]
    try:
        for row, column in corners[:count]:
            part = values[row : row + TILE_PX, column : column + TILE_PX]
            file.write(part, Tile(column, row, part.shape[1], part.shape[0], 0, 0, 0, 0))
        file.finish()
    finally:
        file.close()
    return path.stat().st_size


@pytest.mark.parametrize("count", [0, 5, None])
def test_tiles_arrive_and_the_rest_is_nodata(tmp_path, count):
    write(tmp_path / "a.tif", NOISE, count)
    with rasterio.open(tmp_path / "a.tif") as dataset:
        found = dataset.read(1)
    expected = np.full_like(NOISE, NO_DATA)
    for number in range(16 if count is None else count):
        row, column = (TILE_PX * place for place in divmod(number, 4))
        expected[row : row + TILE_PX, column : column + TILE_PX] = NOISE[row : row + TILE_PX, column : column + TILE_PX]
    assert (found == expected).all()


@pytest.mark.parametrize("values", [NOISE, MASK], ids=["noise", "mask"])
def test_a_raster_that_a_full_disk_cuts_off_is_no_result(tmp_path, values):
    size = write(tmp_path / "whole.tif", values)
    for room in (size - 1, size // 2, 1, 2_000_000, 2_359_296):
        with pytest.raises(OutputError, match=r"a\.tif cannot be written completely") as refused, Outputs() as outputs:
            staged = outputs.stage(str(tmp_path / "a.tif"))
            with no_more_than(room):
                write(staged, values)
        assert "Make room" in refused.value.remedy
        assert [path.name for path in tmp_path.iterdir()] == ["whole.tif"]


def test_a_missing_block_or_overview_and_another_sum_are_found(tmp_path):
    values = np.zeros((2048, 2048), np.uint8)
    values[:512, :512] = 1
    layout = {"tiled": True, "blockxsize": 512, "blockysize": 512}
    for name, sparse in (("whole", False), ("sparse", True)):
        write_raster(tmp_path / f"{name}.tif", values, sparse_ok=sparse, **layout)
    check_geotiff(tmp_path / "whole.tif", 512 * 512)
    with pytest.raises(OutputError):
        check_geotiff(tmp_path / "whole.tif", 512 * 512 - 1)
    with pytest.raises(OutputError):
        check_geotiff(tmp_path / "sparse.tif", 512 * 512)
    with rasterio.open(tmp_path / "whole.tif", "r+") as dataset, rasterio.Env(SPARSE_OK_OVERVIEW=True):
        dataset.build_overviews([2])
    with pytest.raises(OutputError):
        check_geotiff(tmp_path / "whole.tif", 512 * 512)
