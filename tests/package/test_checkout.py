"""The checkout's folder may have any name: pytest takes it for no package."""

import shutil
import subprocess
import sys

import pytest

from .conftest import ROOT

PROBE = """
import sys
from pathlib import Path

def test_no_module_is_the_checkout():
    files = {name: getattr(module, "__file__", None) for name, module in sys.modules.items()}
    assert [name for name, file in files.items() if file == str(Path(__file__).parents[2] / "__init__.py")] == []
"""


@pytest.mark.parametrize("name", ["roadseg", "Road Seg.v2", "json", "tests"])
def test_the_checkouts_folder_may_have_any_name(name, tmp_path):
    checkout = tmp_path / name
    probe = checkout / "tests" / "package" / "test_probe.py"
    probe.parent.mkdir(parents=True)
    probe.write_text(PROBE)
    for file in ("__init__.py", "pyproject.toml"):
        shutil.copy(ROOT / file, checkout)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:pytest_qgis", "tests/package"]
    done = subprocess.run(command, cwd=checkout, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
