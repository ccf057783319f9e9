"""Sources that cannot be opened: pipes, sockets and devices, and names that GDAL cannot take."""

import os
import socket

import numpy as np
import pytest

from tests.core.support.rasters import write_layer, write_raster
from training_core.errors import ImageryError, LabelError
from training_core.geodata.rasters import open_raster
from training_core.geodata.sources import rasters_in, source_name, with_sources
from training_core.geodata.vectors import read_layer


def open_image(source):
    with open_raster(source):
        pass


def open_layer(source):
    read_layer(source, "drawn roads")


OPENED = pytest.mark.parametrize(("opened", "error_type"), [(open_image, ImageryError), (open_layer, LabelError)])


def refusal(opened, error_type, source):
    with pytest.raises(error_type) as refused:
        opened(source)
    assert refused.value.message.endswith(".") and refused.value.remedy.endswith(".")
    return refused.value.message


@OPENED
def test_a_pipe_is_refused_at_once_by_name(tmp_path, opened, error_type):
    os.mkfifo(tmp_path / "pipe.tif")
    assert "pipe.tif" in refusal(opened, error_type, str(tmp_path / "pipe.tif"))
    assert "pipe.tif" in refusal(opened, error_type, f"{tmp_path / 'pipe.tif'}|layername=roads")
    assert "pipe.tif" in refusal(opened, error_type, f"GTIFF_DIR:1:{tmp_path / 'pipe.tif'}")


@OPENED
def test_a_link_to_a_pipe_a_socket_and_a_device_are_refused(tmp_path, opened, error_type):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link.tif").symlink_to(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
        for source in (tmp_path / "link.tif", tmp_path / "socket", "/dev/zero", "/vsistdin/", "/vsigzip//vsistdin/"):
            assert "a pipe, a socket or a device" in refusal(opened, error_type, str(source))


@OPENED
def test_a_name_that_is_not_utf_8_is_refused(tmp_path, opened, error_type):
    name = os.fsdecode(b"stra\xdfe.tif")
    write_raster(tmp_path / "good.tif", np.zeros((4, 4), "uint8"))
    os.rename(tmp_path / "good.tif", tmp_path / name)
    message = refusal(opened, error_type, str(tmp_path / name))
    assert name in message and "not UTF-8" in message


@OPENED
def test_a_name_with_a_null_character_is_refused(opened, error_type):
    assert "null character" in refusal(opened, error_type, "a\0b.tif")


def test_a_raster_whose_name_is_not_utf_8_is_not_left_out_of_its_folder(tmp_path):
    write_raster(tmp_path / "good.tif", np.zeros((4, 4), "uint8"))
    name = os.fsdecode(b"stra\xdfe.tif")
    (tmp_path / name).write_bytes((tmp_path / "good.tif").read_bytes())
    assert rasters_in(str(tmp_path)) == [str(tmp_path / "good.tif"), str(tmp_path / name)]


def test_what_cannot_be_opened_is_made_of_itself_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.tif")
    bad = (str(tmp_path / "pipe.tif"), str(tmp_path / os.fsdecode(b"stra\xdfe.tif")), "a\0b.tif")
    assert set(with_sources(bad)) == set(bad)


def test_a_folder_is_a_source_like_a_file(tmp_path):
    from shapely.geometry import LineString

    write_layer(tmp_path / "roads.shp", LineString([(390000, 5820000), (390100, 5820050)]))
    assert len(read_layer(str(tmp_path), "drawn roads")) == 1


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
