import itertools
import os
import sqlite3
from contextlib import closing

import geopandas
import numpy as np
import pytest
import shapely

from tests.core.support.disks import no_more_than
from tests.core.support.rasters import layer
from training_core.errors import OutputError
from training_core.geodata.vector_output import Written, check_written, extent_of, write_in_parts, write_layers
from training_core.system.outputs import Outputs

DRIVERS = {".gpkg": "GPKG", ".geojson": "GeoJSON", ".fgb": "FlatGeobuf"}
SUFFIXES = pytest.mark.parametrize("suffix", DRIVERS)


def roads(count=400, move_m=0.0):
    points = np.random.default_rng(1).uniform((390000 + move_m, 5820000), (391000 + move_m, 5821000), (count, 6, 2))
    return layer(*shapely.linestrings(points), name=["a road"] * count)


def write(path, lines):
    write_layers(path, {"roads": lines}, {"roads": "LineString"})
    return path


@SUFFIXES
def test_a_file_that_a_full_disk_cuts_off_is_no_result(tmp_path, suffix):
    size = write(tmp_path / f"whole{suffix}", roads()).stat().st_size
    for room in (size - 1, size - 100, size - 5000, size // 2, 4096):
        with pytest.raises(OutputError) as refused, Outputs() as outputs:
            staged = outputs.stage(str(tmp_path / f"net{suffix}"))
            with no_more_than(room):
                write(staged, roads())
        assert f"net{suffix} cannot be written" in refused.value.message and "Make room" in refused.value.remedy
        assert [path.name for path in tmp_path.iterdir()] == [f"whole{suffix}"]


def test_the_last_page_of_the_second_of_two_layers_is_missed(tmp_path):
    layers = {"roads": roads(), "more": roads(50)}
    write_layers(tmp_path / "whole.gpkg", layers)
    size = (tmp_path / "whole.gpkg").stat().st_size
    with pytest.raises(OutputError, match="whole"), no_more_than(size - 1):
        write_layers(tmp_path / "net.gpkg", layers)


def check(path, lines):
    """Check that a file holds roads, in the CRS of its format."""
    lines = lines.to_crs("EPSG:4326") if path.suffix == ".geojson" else lines
    check_written(path, DRIVERS[path.suffix], {"roads": Written(len(lines), extent_of(lines))})


@SUFFIXES
def test_a_file_passes_with_its_own_features_alone_and_whole(tmp_path, suffix):
    for count in (0, 1, 400):
        path = write(tmp_path / f"net{suffix}", roads(count))
        check(path, roads(count))
    for others in (roads(399), roads(401), roads(400, move_m=50.0)):
        with pytest.raises(OutputError, match="cannot be written whole"):
            check(path, others)
    path = write(tmp_path / f"net{suffix}", roads())
    for size in (4096, 50, 1, 0):
        os.truncate(path, size)
        with pytest.raises(OutputError, match="cannot be written whole"):
            check(path, roads())


def test_a_road_across_the_antimeridian_passes_in_geojson(tmp_path):
    line = shapely.LineString([(179.9, -17), (180.1, -17.1)])
    write(tmp_path / "net.geojson", layer(line, shapely.LineString([(0, 0), (1, 1)]), crs="EPSG:4326"))


@pytest.mark.parametrize(
    "loss",
    [
        "DROP TRIGGER trigger_delete_feature_count_roads",
        "DROP TRIGGER rtree_roads_geom_delete",
        "DROP TABLE rtree_roads_geom",
        "UPDATE gpkg_ogr_contents SET feature_count = 399",
        "DELETE FROM gpkg_ogr_contents",
        "DROP TABLE gpkg_ogr_contents",
    ],
)
def test_a_geopackage_that_was_closed_in_part_is_not_whole(tmp_path, loss):
    path = write(tmp_path / "net.gpkg", roads())
    with closing(sqlite3.connect(path)) as database:
        database.execute(loss)
        database.commit()
    with pytest.raises(OutputError, match="cannot be written whole"):
        check(path, roads())


def test_a_damaged_page_of_a_geopackage_is_found(tmp_path):
    path = write(tmp_path / "net.gpkg", roads())
    whole = path.read_bytes()
    for page in range(len(whole) // 4096):
        path.write_bytes(whole[: page * 4096] + bytes(4096) + whole[(page + 1) * 4096 :])
        with pytest.raises(OutputError, match="cannot be written whole"):
            check(path, roads())


FOLDERS = ("plain", "final!v2", "a;b", "two\nlines")
NAMES = ("final!v2", "a;b", "two\nlines", "a?b#c", "é😀", "a|b:c&d%20")


@SUFFIXES
def test_a_vector_file_of_any_name_lies_where_it_was_asked_for(tmp_path, monkeypatch, suffix):
    monkeypatch.chdir(tmp_path)
    for folder, name in zip(itertools.cycle(FOLDERS), (*NAMES, *NAMES[1:])):
        with Outputs() as outputs:
            write(outputs.stage(str(tmp_path / folder / f"{name}{suffix}")), roads(3))
        (found,) = (path for path in tmp_path.rglob("*") if path.is_file())
        assert found == tmp_path / folder / f"{name}{suffix}"
        check(found.rename(tmp_path / f"plain{suffix}"), roads(3))
        (tmp_path / f"plain{suffix}").unlink()


def test_a_path_that_gdal_takes_for_an_address_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OutputError, match=r"GDAL takes it for an address"):
        write(tmp_path / "final!v2.gpkg", roads(3))
    assert list(tmp_path.iterdir()) == []


@SUFFIXES
def test_a_layer_written_in_parts_is_that_written_at_once(tmp_path, suffix):
    lines = roads(7)
    write_in_parts(tmp_path / f"parts{suffix}", "roads", [lines[:0], lines[:3], lines[3:3], lines[3:]], "LineString")
    write_layers(tmp_path / f"whole{suffix}", {"roads": lines}, {"roads": "LineString"})
    one, other = (geopandas.read_file(tmp_path / f"{name}{suffix}") for name in ("parts", "whole"))
    assert one.crs == other.crs and list(one["name"]) == list(other["name"])
    rounded_deg = 2e-6 if suffix == ".geojson" else 0
    near = [[line.equals_exact(each, rounded_deg) for each in other.geometry] for line in one.geometry]
    assert np.sum(near, axis=0).tolist() == np.sum(near, axis=1).tolist() == [1] * 7
