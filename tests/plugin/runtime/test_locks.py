import subprocess
import sys
import tempfile

import pytest
from roadseg.qgis_roadseg.runtime.locks import working_folder
from roadseg.training_core.errors import OutputError

from ..conftest import PLUGINS


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_a_folder_goes_with_its_run_even_one_that_fails_and_nobody_else_reads_it(root):
    with pytest.raises(ZeroDivisionError), working_folder() as folder:
        (folder / "roads.gpkg").write_text("drawn")
        assert folder.parent == root and folder.stat().st_mode & 0o777 == 0o700
        raise ZeroDivisionError
    assert list(root.iterdir()) == []


KILLED = f"""
import os, sys
sys.dont_write_bytecode = True
sys.path.insert(0, {PLUGINS!r})
from roadseg.qgis_roadseg.runtime.locks import working_folder
context = working_folder()
folder = context.__enter__()
(folder / "image.tif").write_text("large")
os.kill(os.getpid(), 9)
"""


def test_what_a_killed_process_has_left_goes_with_the_next_run(root, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(root))
    assert subprocess.run([sys.executable, "-c", KILLED]).returncode == -9
    assert len(list(root.iterdir())) == 2 and len(list(root.rglob("image.tif"))) == 1
    with working_folder() as folder:
        assert folder.exists() and list(root.rglob("image.tif")) == []
    assert list(root.iterdir()) == []


def test_a_folder_that_cannot_be_made_is_told(root, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(root / "missing"))
    with pytest.raises(OutputError, match=r"missing.* cannot be created .*Make room"), working_folder():
        pass
