import hashlib
import json
import multiprocessing
import time
from pathlib import Path

import pytest

from tests.core.support.disks import no_more_than
from training_core.errors import ImageryError, OutputError
from training_core.jobs import file_systems
from training_core.regions.store import Store, content_key

_SPAWN = multiprocessing.get_context("spawn")


def write_text(text):
    return lambda path: path.write_text(text)


def files_under(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_a_key_is_the_start_of_the_hash_of_its_parts_which_are_json():
    expected = hashlib.sha256(b'["predict",{"a":1,"b":[2.5,null]}]').hexdigest()[:24]
    assert content_key("predict", {"b": [2.5, None], "a": 1}) == expected
    assert content_key("predict", {"a": 1, "b": (2.5, None)}) == expected
    assert content_key("predict", {"a": 1, "b": [2.5, 0]}) != expected
    with pytest.raises(ValueError):
        content_key(float("nan"))


def test_what_fails_while_it_is_written_leaves_nothing(tmp_path):
    store = Store(tmp_path)

    def fail(path):
        path.write_text("half")
        Path(f"{path}.aux.xml").touch()
        raise ImageryError("scene.tif cannot be read.")

    with pytest.raises(ImageryError):
        store.write("predict", "k", ".tif", fail)
    assert files_under(tmp_path) == []
    store.write("predict", "k", ".tif", write_text("whole"))
    with pytest.raises(ImageryError):
        store.write("predict", "k", ".tif", fail)
    assert store.path("predict", "k", ".tif").read_text() == "whole"


def test_a_full_disk_or_a_folder_that_is_none_is_named_and_leaves_nothing(tmp_path):
    store = Store(tmp_path)
    with no_more_than(10_000), pytest.raises(OutputError, match=r"no room on the disk for .*work/predict/k\.bin"):
        store.write("predict", "k", ".bin", lambda path: path.write_bytes(b"x" * 20_000))
    assert files_under(tmp_path) == []
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "work").write_text("a file")
    with pytest.raises(OutputError, match=r"work/predict/k\.bin cannot be written"):
        Store(tmp_path / "other").write("predict", "k", ".bin", write_text("x"))


def _write_slowly(folder, piece, began):
    def write(path):
        with path.open("w") as file:
            for number in range(50):
                file.write(piece * 1000)
                file.flush()
                if number == 1:
                    began.set()
                time.sleep(0.002)

    Store(folder).write("predict", "same", ".txt", write)


def test_several_that_write_one_key_at_once_leave_one_whole_file(tmp_path):
    began = [_SPAWN.Event() for _ in "abc"]
    writers = [
        _SPAWN.Process(target=_write_slowly, args=(tmp_path, piece, event)) for piece, event in zip("abc", began)
    ]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        Store(tmp_path).remove_leftovers()  # none of a living process
        path = Store(tmp_path).path("predict", "same", ".txt")
        assert not path.exists() or len(path.read_text()) == 50_000
        time.sleep(0.005)
    assert [writer.exitcode for writer in writers] == [0, 0, 0]
    assert path.read_text() in {piece * 50_000 for piece in "abc"}
    assert files_under(tmp_path) == ["work/predict/same.txt"]


def test_a_job_killed_at_any_moment_leaves_whole_files_only(tmp_path, monkeypatch):
    """Each file is written as JSON of its own length; what is there after a kill can be read."""
    for delay_s in (0.005, 0.02, 0.04, 0.08):
        began = _SPAWN.Event()
        writer = _SPAWN.Process(target=_write_many, args=(tmp_path, began))
        writer.start()
        assert began.wait(20)
        time.sleep(delay_s)
        writer.kill()
        writer.join()
        for path in (tmp_path / "work").glob("predict/*.json"):
            assert len(json.loads(path.read_text())) == 2000
    # A folder whose process was killed as it was made or removed has no lock: only its age tells that it is left.
    monkeypatch.setattr(file_systems, "OLD_S", -1)
    Store(tmp_path).remove_leftovers()
    assert list((tmp_path / "work" / "partial").iterdir()) == []


def _write_many(folder, began):
    store = Store(folder)
    began.set()
    for number in range(10_000):
        store.write("predict", f"k{number}", ".json", write_text(json.dumps(["x" * 20] * 2000)))
