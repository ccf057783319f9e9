"""Sources: which rasters inputs mean, and what cannot be opened."""

import os
import socket
from pathlib import Path

import numpy as np
import pytest
import rasterio
from rasterio.crs import CRS
from rasterio.errors import NotGeoreferencedWarning
from rasterio.shutil import copy
from shapely import Point

from tests.core.support.rasters import NORTH_UP, write_layer, write_raster
from tests.core.support.systems import make_pipe
from training_core.errors import ImageryError, LayerError, OutputError
from training_core.geodata.grid import grid_of
from training_core.geodata.rasters import open_raster
from training_core.geodata.sources import expand, rasters_in, source_name, with_sources
from training_core.geodata.vectors import read_layer
from training_core.system.outputs import Outputs


def open_image(source):
    with open_raster(source):
        pass


def open_layer(source):
    read_layer(source, "drawn roads")


OPENED = pytest.mark.parametrize(("opened", "error_type"), [(open_image, ImageryError), (open_layer, LayerError)])


def refusal(opened, error_type, source):
    with pytest.raises(error_type) as refused:
        opened(source)
    assert refused.value.message.endswith(".") and refused.value.remedy.endswith(".")
    return refused.value.message


@OPENED
def test_pipes_links_to_them_sockets_and_devices_are_refused_at_once_by_name(tmp_path, opened, error_type):
    make_pipe(tmp_path / "pipe.tif")
    assert "pipe.tif" in refusal(opened, error_type, str(tmp_path / "pipe.tif"))
    assert "pipe.tif" in refusal(opened, error_type, f"{tmp_path / 'pipe.tif'}|layername=roads")
    assert "pipe.tif" in refusal(opened, error_type, f"GTIFF_DIR:1:{tmp_path / 'pipe.tif'}")
    make_pipe(tmp_path / "pipe")
    (tmp_path / "link.tif").symlink_to(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
        for source in (tmp_path / "link.tif", tmp_path / "socket", "/dev/zero", "/vsistdin/", "/vsigzip//vsistdin/"):
            assert "a pipe, a socket or a device" in refusal(opened, error_type, str(source))


@OPENED
def test_names_that_are_not_utf_8_or_hold_a_null_character_are_refused(tmp_path, opened, error_type):
    name = os.fsdecode(b"stra\xdfe.tif")
    write_raster(tmp_path / "good.tif", np.zeros((4, 4), "uint8"))
    os.rename(tmp_path / "good.tif", tmp_path / name)
    message = refusal(opened, error_type, str(tmp_path / name))
    assert name in message and "not UTF-8" in message
    assert "null character" in refusal(opened, error_type, "a\0b.tif")


def test_a_raster_whose_name_is_not_utf_8_is_not_left_out_of_its_folder(tmp_path):
    write_raster(tmp_path / "good.tif", np.zeros((4, 4), "uint8"))
    name = os.fsdecode(b"stra\xdfe.tif")
    (tmp_path / name).write_bytes((tmp_path / "good.tif").read_bytes())
    assert rasters_in(str(tmp_path)) == [str(tmp_path / "good.tif"), str(tmp_path / name)]


def test_what_cannot_be_opened_is_made_of_itself_and_not_waited_for(tmp_path):
    make_pipe(tmp_path / "pipe.tif")
    bad = (str(tmp_path / "pipe.tif"), str(tmp_path / os.fsdecode(b"stra\xdfe.tif")), "a\0b.tif")
    assert set(with_sources(bad)) == set(bad)


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("/data/roads.gpkg|layername=roads|subset=lanes > 1", "roads.gpkg"),
        ("/data/north|south.tif", "north|south.tif"),
        ("/vsicurl/https://me:secret@host.org/town.tif", "town.tif"),
        ("PG:dbname=roads password=secret", "PG:dbname=roads password=***"),
        ("", ""),
    ],
)
def test_a_source_is_shown_by_its_file_name_without_passwords(source, name):
    assert source_name(source) == name


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


def test_a_raster_counts_once_and_what_belongs_to_another_is_left_out(tiles):
    assert names(tiles / "b.tif", tiles, tiles / "*.tif") == ["b.tif", "a.tif"]
    with rasterio.open(tiles / "a.tif") as dataset:
        copy(dataset, tiles / "c.png", driver="PNG")
    write_raster(tiles / "b.tif.ovr", np.ones((32, 32), np.uint8), crs=None)
    assert (tiles / "c.png.aux.xml").exists()
    assert names(tiles) == ["a.tif", "b.tif", "c.png"]
    with rasterio.open(tiles / "a.tif") as dataset:
        copy(dataset, tiles / "all.vrt", driver="VRT")
    assert names(tiles) == ["all.vrt", "b.tif", "c.png"]


def test_a_damaged_raster_and_one_without_georeference_are_not_left_out_in_silence(tiles, recwarn):
    (tiles / "c.tif").write_bytes(b"cut off")
    assert names(tiles) == ["a.tif", "b.tif", "c.tif"]
    with pytest.warns(NotGeoreferencedWarning):
        write_raster(tiles / "c.tif", np.ones((4, 4), np.uint8), crs=None, transform=None)
    recwarn.clear()
    assert names(tiles) == ["a.tif", "b.tif", "c.tif"]
    assert not recwarn.list


@pytest.mark.parametrize("crs", ["EPSG:32633", CRS.from_proj4("+proj=tmerc +lon_0=14 +x_0=390000").to_wkt()])
def test_a_raster_with_another_crs_in_its_name_is_read_with_it_and_still_an_input(tmp_path, crs):
    values = np.arange(16, dtype="uint8").reshape(1, 4, 4)
    path = write_raster(tmp_path / "town 1.tif", values, crs=None)
    before, named = (tmp_path / "town 1.tif").read_bytes(), f"vrt://{path}?a_srs={crs}"
    assert expand([named]) == (named,)
    with open_raster(named) as dataset:
        assert grid_of(dataset).crs == CRS.from_user_input(crs) and grid_of(dataset).transform == NORTH_UP
        assert np.array_equal(dataset.read(), values)
    assert source_name(named) == "town 1.tif"
    assert with_sources([named]) == (path,)
    with pytest.raises(OutputError, match="is an input of this job"), Outputs([named]) as outputs:
        outputs.stage(path)
    assert (tmp_path / "town 1.tif").read_bytes() == before


def test_of_many_files_that_are_no_rasters_few_are_tried(tiles, monkeypatch):
    for number in range(500):
        (tiles / f"{number}.txt").touch()
    tried, rasterio_open = [], rasterio.open
    monkeypatch.setattr(rasterio, "open", lambda path, *rest, **options: tried.append(path) or rasterio_open(path))
    assert names(tiles) == ["a.tif", "b.tif"] and len(tried) <= 110


def test_a_folder_without_a_raster_or_a_pattern_without_a_match_is_an_error(tmp_path):
    (tmp_path / "notes.txt").write_text("no raster")
    with pytest.raises(ImageryError, match=f"folder {tmp_path} holds no raster"):
        expand([str(tmp_path)])
    with pytest.raises(ImageryError, match=r"No file matches the pattern .*/\*\.tif"):
        expand([str(tmp_path / "*.tif")])


def test_a_folder_of_training_data_stands_for_the_part_that_is_asked_for(tmp_path):
    for kind in ("images", "labels"):
        (tmp_path / kind).mkdir()
        write_raster(tmp_path / kind / "a.tif", np.zeros((1, 8, 8), np.uint8))
    (tmp_path / "annotations.json").write_text("{}")
    assert expand([str(tmp_path)], ("chips", "images")) == (str(tmp_path / "images" / "a.tif"),)
    assert expand([str(tmp_path)], ("masks", "labels", "annotations.json")) == (str(tmp_path / "labels" / "a.tif"),)
    assert expand([str(tmp_path)], ("annotations.json",)) == (str(tmp_path / "annotations.json"),)
