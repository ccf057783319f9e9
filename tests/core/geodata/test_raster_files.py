from pathlib import Path

import numpy as np
import pytest
import rasterio
from rasterio.errors import NotGeoreferencedWarning
from rasterio.shutil import copy
from shapely import Point

from tests.core.support.rasters import write_layer, write_raster
from training_core.errors import ImageryError
from training_core.geodata.sources import expand


@pytest.fixture
def tiles(tmp_path):
    """A folder of two rasters, and of files that are none."""
    folder = tmp_path / "tiles"
    folder.mkdir()
    for name in ("b.tif", "a.tif"):
        write_raster(folder / name, np.ones((64, 64), np.uint8))
    (folder / "notes.txt").write_text("no raster")
    (folder / ".hidden.tif").write_bytes((folder / "a.tif").read_bytes())
    return folder


def names(*inputs):
    return [Path(path).name for path in expand(map(str, inputs))]


def test_files_and_addresses_stay_as_they_are(tmp_path):
    given = ("missing.tif", "https://example.org/a.tif?key=1", "/vsizip/a*.zip/b.tif", "NETCDF:a.nc:band")
    assert expand(given) == given
    odd = write_raster(tmp_path / "b [2]*.tif", np.ones((4, 4), np.uint8))
    assert expand([odd]) == (odd,)


def test_a_folder_gives_its_rasters_sorted(tiles):
    write_layer(tiles / "roads.gpkg", Point(0, 0))
    (tiles / "below").mkdir()
    write_raster(tiles / "below" / "c.tif", np.ones((4, 4), np.uint8))
    assert expand([str(tiles)]) == (f"{tiles}/a.tif", f"{tiles}/b.tif")


def test_a_pattern_gives_the_files_that_it_matches_sorted(tiles):
    (tiles / "below").mkdir()
    write_raster(tiles / "below" / "c.tif", np.ones((4, 4), np.uint8))
    assert names(tiles / "*.tif") == ["a.tif", "b.tif"]
    assert names(tiles / "[bc].tif") == ["b.tif"]
    assert names(tiles / "**" / "?.tif") == ["a.tif", "b.tif", "c.tif"]


def test_a_raster_that_is_named_twice_counts_once(tiles):
    assert names(tiles / "b.tif", tiles, tiles / "*.tif") == ["b.tif", "a.tif"]


def test_what_belongs_to_another_raster_is_left_out(tiles):
    with rasterio.open(tiles / "a.tif") as dataset:
        copy(dataset, tiles / "c.png", driver="PNG")
    write_raster(tiles / "b.tif.ovr", np.ones((32, 32), np.uint8), crs=None)
    assert (tiles / "c.png.aux.xml").exists()
    assert names(tiles) == ["a.tif", "b.tif", "c.png"]
    with rasterio.open(tiles / "a.tif") as dataset:
        copy(dataset, tiles / "all.vrt", driver="VRT")
    assert names(tiles) == ["all.vrt", "b.tif", "c.png"]


def test_a_damaged_raster_is_not_left_out_in_silence(tiles):
    (tiles / "c.tif").write_bytes(b"cut off")
    assert names(tiles) == ["a.tif", "b.tif", "c.tif"]


def test_no_warning_goes_with_looking(tiles, recwarn):
    with pytest.warns(NotGeoreferencedWarning):
        write_raster(tiles / "c.tif", np.ones((4, 4), np.uint8), crs=None, transform=None)
    recwarn.clear()
    assert names(tiles) == ["a.tif", "b.tif", "c.tif"]
    assert not recwarn.list


def test_a_folder_without_a_raster_or_a_pattern_without_a_match_is_an_error(tmp_path):
    (tmp_path / "notes.txt").write_text("no raster")
    with pytest.raises(ImageryError, match=f"folder {tmp_path} holds no raster"):
        expand([str(tmp_path)])
    with pytest.raises(ImageryError, match=r"No file matches the pattern .*/\*\.tif"):
        expand([str(tmp_path / "*.tif")])
