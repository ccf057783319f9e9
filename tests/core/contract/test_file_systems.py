"""What Windows and macOS do otherwise: files held open, and names that are one or none."""

import pytest

from tests.held_files import hold_files
from training_core.jobs import file_systems
from training_core.jobs.file_systems import impossible_name, remove, replace, same_name
from training_core.system.outputs import replaced


def test_an_output_waits_until_another_program_closes_the_new_file(tmp_path, monkeypatch):
    hold_files(monkeypatch, refusals=3)
    with replaced(tmp_path / "roads.txt") as temporary:
        temporary.write_text("roads")
    assert [path.name for path in tmp_path.iterdir()] == ["roads.txt"]


def test_a_file_goes_as_soon_as_no_program_holds_it(tmp_path, monkeypatch):
    (tmp_path / "roads.txt").touch()
    hold_files(monkeypatch, refusals=3)
    remove(tmp_path / "roads.txt")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("act", [lambda path: replace(path, path.with_name("final")), remove])
def test_a_file_that_stays_open_is_an_error(act, tmp_path, monkeypatch):
    (tmp_path / "new").touch()
    monkeypatch.setattr(file_systems, "PATIENCE_S", 0.1)
    hold_files(monkeypatch, refusals=1000)
    with pytest.raises(PermissionError):
        act(tmp_path / "new")


def test_names_that_macos_or_windows_takes_for_one_are_the_same():
    assert same_name("Cafe\u0301_ROADS") == same_name("caf\u00e9_roads") != same_name("cafe_roads")


@pytest.mark.parametrize(
    ("path", "part"),
    [
        (r"C:\maps\NUL.tif", "NUL.tif"),
        ("C:/maps/com1 .gpkg", "com1 .gpkg"),
        (r"C:\maps\roads:2.gpkg", "roads:2.gpkg"),
        (r"\\server\maps\what?.tif", "what?.tif"),
        (r"maps \roads.gpkg", "maps "),
        (r"C:\maps\..\console\com10.tif", ""),
        (r"\\?\C:\maps\roads.gpkg", ""),
        ("C:roads.gpkg", ""),
        (r".\Straßen auf 2 Blättern.v1.gpkg", ""),
    ],
)
def test_names_that_windows_does_not_have(path, part):
    assert impossible_name(path, "win32") == part
    assert impossible_name(path, "linux") == impossible_name(path, "darwin") == ""
