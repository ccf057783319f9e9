import os

import pytest

from training_core.system import file_systems
from training_core.system.file_systems import replace, same_name
from training_core.system.outputs import replaced


def test_an_output_waits_until_another_program_closes_the_new_file(tmp_path, monkeypatch):
    refusals, move = iter(range(3)), os.replace

    def held_open(*paths):
        if next(refusals, None) is not None:
            raise PermissionError(13, "Access is denied")
        move(*paths)

    monkeypatch.setattr(os, "replace", held_open)
    with replaced(tmp_path / "roads.txt") as temporary:
        temporary.write_text("roads")
    assert [path.name for path in tmp_path.iterdir()] == ["roads.txt"]


def test_a_file_that_stays_open_is_an_error(tmp_path, monkeypatch):
    def refuse(*paths):
        raise PermissionError(13, "Access is denied")

    monkeypatch.setattr(file_systems, "PATIENCE_S", 0.1)
    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(PermissionError):
        replace(tmp_path / "new", tmp_path / "final")


def test_names_that_macos_or_windows_takes_for_one_are_the_same():
    assert same_name("Cafe\u0301_ROADS") == same_name("caf\u00e9_roads") != same_name("cafe_roads")
