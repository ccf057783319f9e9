"""The checkout's folder may have any name: pytest takes it for no package."""

import shutil
import subprocess
import sys

from .conftest import ROOT

PROBE = """
import sys
from pathlib import Path

def test_no_module_is_the_checkout():
    files = {name: getattr(module, "__file__", None) for name, module in sys.modules.items()}
    assert [name for name, file in files.items() if file == str(Path(__file__).parents[2] / "__init__.py")] == []
"""


NAMES = ["roadseg", "Road Seg.v2", "json", "tests"]


def start(checkout):
    """Start pytest in a checkout that has one test."""
    probe = checkout / "tests" / "package" / "test_probe.py"
    probe.parent.mkdir(parents=True)
    probe.write_text(PROBE)
    for file in ("__init__.py", "pyproject.toml"):
        shutil.copy(ROOT / file, checkout)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:pytest_qgis", "tests/package"]
    return subprocess.Popen(command, cwd=checkout, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def test_the_checkouts_folder_may_have_any_name(tmp_path):
    started = [start(tmp_path / name) for name in NAMES]
    told = [process.communicate()[0] for process in started]
    assert [process.returncode for process in started] == [0] * len(NAMES), "\n".join(told)
