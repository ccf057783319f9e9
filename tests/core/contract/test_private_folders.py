"""Private folders: leftovers of killed processes are removed, folders in use and those of others are not."""

import multiprocessing
import os
import time

import pytest

from training_core.jobs import file_systems
from training_core.jobs.file_systems import LOCK, PrivateFolder, is_locked_now, remove_leftovers

_SPAWN = multiprocessing.get_context("spawn")


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def hold(parent, began):
    folder = PrivateFolder(parent, "run-", ".part")
    (folder.path / "half").write_text("x")
    began.set()
    time.sleep(60)


def test_a_folder_is_new_closed_to_others_and_removed_at_the_end(tmp_path):
    folders = [PrivateFolder(tmp_path, "run-", ".part") for _ in range(2)]
    assert names(tmp_path) == sorted(folder.path.name for folder in folders)
    assert os.name != "posix" or all(folder.path.stat().st_mode & 0o777 == 0o700 for folder in folders)
    (folders[0].path / "deep").mkdir()
    for folder in folders:
        folder.remove()
        folder.remove()  # as a cleanup in another thread may do again
    assert names(tmp_path) == []
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError):
        PrivateFolder(tmp_path / "file", "run-")


def test_only_folders_of_killed_processes_are_leftovers(tmp_path):
    began = _SPAWN.Event()
    process = _SPAWN.Process(target=hold, args=(tmp_path, began))
    process.start()
    assert began.wait(20)
    own = PrivateFolder(tmp_path, "run-", ".part")
    assert remove_leftovers(tmp_path, "run-", ".part") == 0 and len(names(tmp_path)) == 2
    process.kill()
    process.join()
    assert remove_leftovers(tmp_path, "run-", ".part") == 1
    assert names(tmp_path) == [own.path.name]
    own.remove()


def test_what_is_not_ours_stays(tmp_path):
    (tmp_path / "victim").mkdir()
    (tmp_path / "victim" / LOCK).touch()
    (tmp_path / "run-link.part").symlink_to("victim")
    (tmp_path / "run-file.part").write_text("a file")
    (tmp_path / "run-born.part").mkdir()  # its lock is about to be made
    (tmp_path / "run-other").mkdir()
    (tmp_path / "run-other" / LOCK).touch()
    before = names(tmp_path)
    assert remove_leftovers(tmp_path, "run-", ".part") == 0 and remove_leftovers(tmp_path / "none", "run-") == 0
    assert names(tmp_path) == before and names(tmp_path / "victim") == [LOCK]


def test_where_there_are_no_locks_only_old_folders_are_leftovers(tmp_path, monkeypatch):
    def refuse(handle):
        raise OSError("no locks here")

    monkeypatch.setattr(file_systems, "is_locked_now", refuse)
    new, old = (PrivateFolder(tmp_path, "run-") for _ in range(2))
    (old.path / "half").write_text("x")
    for path in (old.path / "half", old.path):
        os.utime(path, (time.time() - 3 * 86400,) * 2)
    assert remove_leftovers(tmp_path, "run-") == 1
    assert names(tmp_path) == [new.path.name]


def test_a_folder_that_is_taken_before_it_is_locked_is_made_again(tmp_path, monkeypatch):
    taken = []

    def late(handle):
        if taken:
            return is_locked_now(handle)
        taken.extend(names(tmp_path))
        return False

    monkeypatch.setattr(file_systems, "is_locked_now", late)
    folder = PrivateFolder(tmp_path, "run-")
    assert taken and names(tmp_path) == [folder.path.name] != taken
    folder.remove()
