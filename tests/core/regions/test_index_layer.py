"""The index of a region's scenes, read as QGIS reads it, also while it is written."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from datetime import datetime, timedelta, timezone

import geopandas
import numpy as np
import pyogrio
import pytest
from rasterio.crs import CRS
from shapely.geometry import box

from tests.core.support.disks import no_more_than
from training_core.errors import OutputError
from training_core.events import Reporter, Warning
from training_core.regions import index_layer
from training_core.regions.index_layer import FAILED, IndexedScene, IndexLayer, put_style

UTM = CRS.from_epsg(32633)
FIELDS = [
    "name", "path", "status", "reason", "blocks", "blocks_done", "megapixels", "mp_per_s", "road_km", "mask",
    "probability", "updated",
]  # fmt: skip


def rows_of(count):
    places = [box(10 * number, 0, 10 * number + 8, 8) for number in range(count)]
    facts = {"blocks": 4, "megapixels": 2.5}
    return [IndexedScene(f"s{number}", f"/data/s{number}.tif", place, **facts) for number, place in enumerate(places)]


def read(path):
    return geopandas.read_file(path, layer="scenes").set_index("name")


def live(path):
    """Each scene's status while the index is written: by this process' own SQLite, which knows of its locks."""
    with closing(sqlite3.connect(path)) as database:
        return dict(database.execute("SELECT name, status FROM scenes"))


def files(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def path(tmp_path):
    return tmp_path / "index.gpkg"


def until(condition, limit_s=5.0):
    """Wait for a condition, and return whether it has come true."""
    end_s = time.monotonic() + limit_s
    while time.monotonic() < end_s:
        if condition():
            return True
        time.sleep(0.05)
    return False


def test_the_index_shows_all_scenes_as_soon_as_it_is_there(path):
    rows = [*rows_of(2), IndexedScene("torn", "/data/torn.tif", None, FAILED, "torn.tif ends too early.")]
    with closing(IndexLayer(path, UTM, rows, Reporter())):
        table = read(path)
        assert list(geopandas.read_file(path).columns) == [*FIELDS, "geometry"]
        assert table.crs == UTM
        assert table["status"].to_dict() == {"s0": "waiting", "s1": "waiting", "torn": "failed"}
        assert table.loc["s1"].geometry.equals(box(10, 0, 18, 8)) and table.loc["torn"].geometry is None
        assert table.loc["torn", "reason"] == "torn.tif ends too early."
        assert table["blocks"].tolist() == [4, 4, 0] and table["road_km"].isna().all()
        assert pyogrio.read_info(path, layer="scenes")["geometry_type"] == "Polygon"
        with closing(sqlite3.connect(path)) as database:
            assert database.execute("PRAGMA user_version").fetchone() == (10300,)  # what all versions of QGIS read


def test_changes_are_there_a_moment_later_and_at_the_end_nothing_but_the_file(path):
    before = datetime.now(timezone.utc) - timedelta(seconds=1)
    with closing(IndexLayer(path, UTM, rows_of(3), Reporter())) as index:
        index.update("s1", status="running", blocks_done=np.int64(1))
        assert until(lambda: live(path)["s1"] == "running")
        index.update("s1", status="done", blocks_done=4, mp_per_s=1.25, road_km=3.5)
        index.update("s2", status="failed", reason="No room.")
    row, other, last = (read(path).loc[name] for name in ("s1", "s0", "s2"))
    assert (row["status"], row["blocks_done"], row["mp_per_s"], row["road_km"]) == ("done", 4, 1.25, 3.5)
    assert row["path"] == "/data/s1.tif"
    assert before < row["updated"] <= datetime.now(timezone.utc) + timedelta(seconds=1)
    assert (other["status"], other["blocks_done"], last["reason"]) == ("waiting", 0, "No room.")
    assert files(path.parent) == ["index.gpkg"]


# Reads an index again and again until its input ends, and prints what it saw. In a process of its own, as QGIS is: GDAL
# and Python have each their own SQLite, and the locks of a file are those of a process.
READER = """
import sys, threading
import pyogrio
ended = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), ended.set())).start()
while not ended.is_set():
    done = pyogrio.raw.read(sys.argv[1], columns=["blocks_done"])[3][0]
    print(len(done), done.min(), done.max(), flush=True)
"""


def test_it_can_be_read_at_any_time_while_it_is_written(path, monkeypatch):
    monkeypatch.setattr(index_layer, "PERIOD_S", 0.02)
    with closing(IndexLayer(path, UTM, rows_of(200), Reporter())) as index:
        reader = subprocess.Popen(
            [sys.executable, "-c", READER, str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        seen = [reader.stdout.readline()]
        for step in range(1, 61):
            for number in range(200):
                index.update(f"s{number}", blocks_done=step)
            time.sleep(0.02)
        printed, errors = reader.communicate("")
    assert reader.returncode == 0 and not errors
    counts = np.array([line.split() for line in [*seen, *printed.splitlines()]], dtype=int)
    assert len(counts) > 5 and (counts[:, 0] == 200).all() and counts[-1, 2] > counts[0, 2]
    assert (read(path)["blocks_done"] == 60).all() and files(path.parent) == ["index.gpkg"]


def test_who_looks_at_the_index_of_an_earlier_run_sees_the_new_one(path):
    with closing(IndexLayer(path, UTM, rows_of(5), Reporter())) as index:
        index.update("s0", status="done")
    with closing(sqlite3.connect(path)) as open_before:  # as QGIS keeps it open
        open_before.execute("SELECT count(*) FROM scenes").fetchall()
        with closing(IndexLayer(path, UTM, rows_of(7), Reporter())) as index:
            assert open_before.execute("SELECT count(*), max(status) FROM scenes").fetchall() == [(7, "waiting")]
            index.update("s6", status="done")
    assert read(path)["status"].tolist() == ["waiting"] * 6 + ["done"]
    assert pyogrio.read_info(path, layer="scenes")["features"] == 7
    assert pyogrio.read_info(path, layer="scenes")["total_bounds"] == (0, 0, 68, 8)


@pytest.mark.parametrize("there", ["another layer", "another crs", "no database", "write-ahead log"])
def test_whatever_else_is_there_is_replaced(path, there):
    if there == "another layer":
        geopandas.GeoDataFrame({"a": [1]}, geometry=[box(0, 0, 1, 1)], crs=3857).to_file(path, layer="scenes")
    elif there == "another crs":
        IndexLayer(path, CRS.from_epsg(3857), rows_of(2), Reporter()).close()
    elif there == "no database":
        path.write_text("none")
    else:
        IndexLayer(path, UTM, rows_of(1), Reporter()).close()
        with closing(sqlite3.connect(path)) as database:
            database.execute("PRAGMA journal_mode = WAL")
    IndexLayer(path, UTM, rows_of(3), Reporter()).close()
    assert len(read(path)) == 3 and read(path).crs == UTM
    assert files(path.parent) == ["index.gpkg"]


def test_a_reader_that_holds_the_file_delays_neither_the_work_nor_loses_a_change(path, monkeypatch):
    monkeypatch.setattr(index_layer, "_PATIENCE_S", 0.1)
    monkeypatch.setattr(index_layer, "PERIOD_S", 0.05)
    told = []
    with closing(IndexLayer(path, UTM, rows_of(2), Reporter(told.append))) as index:
        with closing(sqlite3.connect(path, isolation_level=None)) as reader:
            reader.execute("BEGIN EXCLUSIVE")
            began_s = time.perf_counter()
            index.update("s0", status="done")
            assert time.perf_counter() - began_s < 0.1
            assert until(lambda: told)
        index.update("s1", status="done")
    assert (read(path)["status"] == "done").all()
    assert len(told) == 1 and isinstance(told[0], Warning) and "index.gpkg" in told[0].message


def test_a_full_disk_or_a_folder_that_cannot_be_written_to_is_named(path, tmp_path):
    with pytest.raises(OutputError, match="index.gpkg"), no_more_than(20_000):
        IndexLayer(path, UTM, rows_of(2000), Reporter())
    assert files(path.parent) == []
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="index.gpkg") as caught:
        IndexLayer(tmp_path / "file" / "index.gpkg", UTM, rows_of(1), Reporter())
    assert caught.value.remedy


def test_an_index_that_was_removed_is_a_warning(path):
    told = []
    with closing(IndexLayer(path, UTM, rows_of(1), Reporter(told.append))) as index:
        path.unlink()
        index.update("s0", status="done")
    assert len(told) == 1 and "gone" in told[0].message and not path.exists()


def test_names_and_paths_of_any_kind_are_kept_but_no_passwords(path):
    rows = [
        IndexedScene("straße '; DROP", "PG:dbname=x password=hush", box(0, 0, 1, 1)),
        IndexedScene("odd\udcff", "/odd\udcff.tif", None),
    ]
    with closing(IndexLayer(path, UTM, rows, Reporter())) as index:
        index.update("straße '; DROP", status="done")
        index.update("odd\udcff", status="failed", reason="odd\udcff.tif is damaged.")
    table = geopandas.read_file(path)
    assert table["name"].tolist() == ["straße '; DROP", "odd?"] and table["status"].tolist() == ["done", "failed"]
    assert "hush" not in path.read_bytes().decode("latin-1")


def test_the_style_refreshes_the_layer_until_the_work_is_done(tmp_path):
    index = tmp_path / "index.gpkg"
    index.touch()
    put_style(index, True, Reporter())
    style = index.with_suffix(".qml")
    live = style.read_text("utf-8")
    assert 'autoRefreshMode="ReloadData"' in live
    put_style(index, False, Reporter())
    assert "autoRefresh" not in style.read_text("utf-8")
    # But for that, it is the same style.
    assert style.read_text("utf-8").splitlines()[2:] == live.splitlines()[2:]
    assert sorted(path.name for path in index.parent.iterdir()) == ["index.gpkg", "index.qml"]


def test_a_style_of_the_users_own_stays_and_one_that_cannot_be_written_is_a_warning(tmp_path):
    index = tmp_path / "index.gpkg"
    index.touch()
    index.with_suffix(".qml").write_text("my own", "utf-8")
    for is_live in (True, False):
        put_style(index, is_live, Reporter())
    assert index.with_suffix(".qml").read_text("utf-8") == "my own"
    index.with_suffix(".qml").unlink()
    index.with_suffix(".qml").mkdir()
    reporter = Reporter()
    put_style(index, True, reporter)
    assert len(reporter.warnings) == 1 and str(tmp_path) in reporter.warnings[0]
    assert len(list(index.parent.iterdir())) == 2
