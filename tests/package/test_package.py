import os
import shutil
import subprocess
import zipfile

import pytest

from scripts import package

FILES = ("LICENSE", "__init__.py", "algorithms/segment.py", "README.md", "tests/test_segment.py", ".gitignore")


@pytest.fixture
def checkout(tmp_path):
    """A small checkout under version control."""
    root = tmp_path / "checkout"
    for name in FILES:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"{name}\n")
    (root / "metadata.txt").write_text("[general]\nversion=1.2.3\n")
    subprocess.run(["git", "init", "--quiet"], cwd=root, check=True)
    subprocess.run(["git", "add", "."], cwd=root, check=True)
    return root


def names_in(path):
    with zipfile.ZipFile(path) as zipped:
        return zipped.namelist()


def test_the_zip_is_called_by_its_version_and_holds_what_runs(checkout, tmp_path):
    path = package.build(tmp_path / "out", checkout)
    assert path == tmp_path / "out" / "roadseg.1.2.3.zip"
    wanted = ["LICENSE", "__init__.py", "algorithms/segment.py", "metadata.txt"]
    assert names_in(path) == [f"roadseg/{name}" for name in wanted]


def test_scratch_stays_out(checkout, tmp_path):
    (checkout / "algorithms" / "scratch.py").touch()
    (checkout / "scratch").mkdir()
    (checkout / "scratch" / "notes.txt").touch()
    assert "scratch" not in " ".join(names_in(package.build(tmp_path, checkout)))


def test_an_unpacked_archive_gives_the_same_zip_as_a_checkout(checkout, tmp_path):
    expected = package.build(tmp_path / "first", checkout).read_bytes()
    shutil.rmtree(checkout / ".git")
    for name in ("build/roadseg.1.2.3.zip", "algorithms/__pycache__/segment.pyc"):
        (checkout / name).parent.mkdir()
        (checkout / name).touch()
    assert package.build(tmp_path / "second", checkout).read_bytes() == expected


def test_the_same_files_give_the_same_bytes(checkout, tmp_path):
    first = package.build(tmp_path / "first", checkout).read_bytes()
    for name in FILES:
        os.utime(checkout / name, (1_000_000_000, 1_000_000_000))
        (checkout / name).chmod(0o700)
    assert package.build(tmp_path / "second", checkout).read_bytes() == first
    (checkout / "LICENSE").write_text("another\n")
    assert package.build(tmp_path / "second", checkout).read_bytes() != first


def test_of_a_new_folder_it_must_be_said_whether_it_is_shipped(checkout, tmp_path):
    (checkout / "novelty").mkdir()
    (checkout / "novelty" / "file.txt").touch()
    subprocess.run(["git", "add", "."], cwd=checkout, check=True)
    with pytest.raises(ValueError, match="whether the zip holds novelty"):
        package.build(tmp_path, checkout)


def test_of_this_checkout_all_that_runs_is_in_the_zip(zipped):
    shipped = {name.split("/")[1] for name in names_in(zipped)}
    assert shipped == set(package.SHIPPED)
    for name in ("training_core/jobs/option.py", "resources/runtime/common.txt", "resources/styles/roads.qml"):
        assert f"roadseg/{name}" in names_in(zipped)
