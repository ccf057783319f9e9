import os

import pytest

from training_core.system import file_systems
from training_core.system.file_systems import patiently, same_name
from training_core.system.outputs import replaced


def test_an_output_waits_until_another_program_closes_the_new_file(tmp_path, monkeypatch):
    refusals, replace = iter(range(3)), os.replace

    def held_open(*paths):
        if next(refusals, None) is not None:
            raise PermissionError(13, "Access is denied")
        replace(*paths)

    monkeypatch.setattr(os, "replace", held_open)
    with replaced(tmp_path / "roads.txt") as temporary:
        temporary.write_text("roads")
    assert [path.name for path in tmp_path.iterdir()] == ["roads.txt"]


def test_patience_ends(monkeypatch):
    monkeypatch.setattr(file_systems, "PATIENCE_S", 0.1)

    def refuse():
        raise PermissionError(13, "Access is denied")

    with pytest.raises(PermissionError):
        patiently(refuse)


def test_names_that_macos_or_windows_takes_for_one_are_the_same():
    assert same_name("Cafe\u0301_ROADS") == same_name("caf\u00e9_roads") != same_name("cafe_roads")
