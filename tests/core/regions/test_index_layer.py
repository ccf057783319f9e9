"""The index of scenes, while it is written and read."""

import sqlite3
from contextlib import closing

import pyogrio
import pytest
from shapely.geometry import box

from support.disks import no_more_than
from support.rasters import UTM
from training_core.errors import OutputError
from training_core.regions import index_layer
from training_core.regions.index_layer import DONE, FAILED, LAYER, RUNNING, WAITING, IndexedScene, IndexLayer


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    """Write each change at once."""
    monkeypatch.setattr(index_layer, "_EVERY_S", 0.0)


def scenes(count=3):
    good = [
        IndexedScene(f"s{number}", f"/data/s{number}.tif", box(number, 0, number + 1, 1), blocks=2, megapixels=1.5)
        for number in range(count)
    ]
    return [*good, IndexedScene("bad 'one'", "/data/bad.tif", None, FAILED, 'no "CRS"')]


def table(path):
    return pyogrio.read_dataframe(path, layer=LAYER).set_index("name")


def test_it_shows_all_scenes_from_the_start(tmp_path):
    with IndexLayer(tmp_path / "index.gpkg", UTM, scenes()):
        found = table(tmp_path / "index.gpkg")
        assert found["status"].tolist() == [WAITING] * 3 + [FAILED] and found.crs == UTM
        assert found.loc["bad 'one'", "reason"] == 'no "CRS"' and found.loc["bad 'one'", "geometry"] is None
        assert found.loc["s1", "geometry"].equals(box(1, 0, 2, 1)) and found.loc["s1", "blocks"] == 2


def test_changes_are_seen_while_it_is_open(tmp_path):
    with IndexLayer(tmp_path / "index.gpkg", UTM, scenes()) as index:
        index.update("s1", status=RUNNING, blocks_done=1)
        assert table(tmp_path / "index.gpkg").loc["s1", ["status", "blocks_done"]].tolist() == [RUNNING, 1]
        index.update("s1", status=DONE, mp_per_s=0.5)
        index.update("nobody", status=DONE)
        found = table(tmp_path / "index.gpkg")
        assert found.loc["s1", ["status", "blocks_done", "mp_per_s"]].tolist() == [DONE, 1, 0.5]
        assert found["status"].tolist() == [WAITING, DONE, WAITING, FAILED] and found.loc["s1", "updated"]


def test_a_reader_that_holds_the_file_delays_changes_and_loses_none(tmp_path, monkeypatch):
    monkeypatch.setattr(index_layer, "_PATIENCE_S", 0.01)
    path = tmp_path / "index.gpkg"
    with IndexLayer(path, UTM, scenes()) as index:
        with closing(sqlite3.connect(path)) as reader:
            reader.execute("BEGIN EXCLUSIVE")
            index.update("s0", status=DONE)
            index.update("s1", status=DONE)
            reader.rollback()
        assert table(path)["status"].tolist()[:3] == [WAITING] * 3
        index.update("s2", status=DONE)
        assert table(path)["status"].tolist()[:3] == [DONE] * 3


def test_nothing_but_the_file_is_left(tmp_path):
    with IndexLayer(tmp_path / "index.gpkg", UTM, scenes()) as index:
        index.update("s0", status=DONE)
    assert [path.name for path in tmp_path.iterdir()] == ["index.gpkg"]


def test_many_scenes_take_moments(tmp_path, monkeypatch):
    monkeypatch.setattr(index_layer, "_EVERY_S", 1.0)
    with IndexLayer(tmp_path / "index.gpkg", UTM, scenes(20_000)) as index:
        for number in range(20_000):
            index.update(f"s{number}", status=DONE)
    assert (table(tmp_path / "index.gpkg")["status"] == DONE).sum() == 20_000


def test_a_full_disk_is_named_and_leaves_no_file(tmp_path):
    with pytest.raises(OutputError, match="index.gpkg"), no_more_than(20_000):
        IndexLayer(tmp_path / "index.gpkg", UTM, scenes(2000))
    assert not list(tmp_path.iterdir())
