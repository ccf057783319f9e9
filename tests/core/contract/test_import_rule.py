"""The house's import rule, read from the imports of every file.

qgis_roadseg and algorithms import the standard library, qgis, and of the core only jobs, events and errors; those three
import the standard library alone; the core never imports qgis; algorithms never import each other. Only
qgis_roadseg.desktop imports what a window needs, and only the plugin imports that.
"""

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SHARED = tuple(f"training_core.{name}" for name in ("jobs", "events", "errors"))
PLUGIN = ("qgis_roadseg", "algorithms")
DESKTOP = "qgis_roadseg.desktop"
WINDOWS = ("qgis.gui", "qgis.utils", "qgis.PyQt.QtWidgets", "qgis.processing")
FILES = sorted(
    [ROOT / "__init__.py", *(path for top in (*PLUGIN, "training_core") for path in ROOT.glob(f"{top}/**/*.py"))]
)


def imported(source, path):
    """Return the modules that a file imports, the house's own by their path in it: training_core.jobs."""
    package = list(Path(path).parent.parts)
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) + 1 - node.level] if node.level else []
            base += node.module.split(".") if node.module else []
            found |= {".".join([*base, alias.name]) if is_package(base) else ".".join(base) for alias in node.names}
    return found


def is_package(parts):
    return (ROOT.joinpath(*parts) / "__init__.py").is_file()


def violations(source, path):
    """Return the imports of a file that the rule forbids; `path` counts from the root."""
    top = Path(path).parts[0]
    module = ".".join(Path(path).with_suffix("").parts)
    return {name for name in imported(source, path) if not is_allowed(name, module, top)}


def is_shared(name):
    """Whether a module is one of the three, or within one of them that is a package."""
    return any(name == shared or name.startswith(f"{shared}.") for shared in SHARED)


def is_allowed(name, module, top):
    first = name.split(".")[0]
    if first in sys.stdlib_module_names:
        return True
    if is_shared(module):
        return is_shared(name)
    if name.startswith(WINDOWS) and not module.startswith(DESKTOP):
        return False
    if name.startswith(DESKTOP) and not module.startswith((DESKTOP, "qgis_roadseg.plugin")):
        return False
    if top == "training_core":
        return first not in ("qgis", "PyQt5", "PyQt6", "processing", *PLUGIN)
    if top == "algorithms":
        return first in ("qgis", "qgis_roadseg") or is_shared(name)
    if top == "qgis_roadseg":
        return first in ("qgis", *PLUGIN) or is_shared(name)
    return first == "qgis_roadseg"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_rule_holds(path):
    assert violations(path.read_text(encoding="utf-8"), path.relative_to(ROOT)) == set()


def test_every_part_of_the_house_is_read():
    tops = {path.relative_to(ROOT).parts[0] for path in FILES}
    assert tops == {"__init__.py", "training_core", *PLUGIN}


@pytest.mark.parametrize(
    ("path", "source", "forbidden"),
    [
        ("qgis_roadseg/client.py", "import torch", "torch"),
        ("qgis_roadseg/client.py", "def f():\n    from numpy import array", "numpy"),
        ("qgis_roadseg/client.py", "from PyQt5.QtCore import QProcess", "PyQt5.QtCore"),
        (
            "qgis_roadseg/client.py",
            "from ..training_core.pipelines.segment import run",
            "training_core.pipelines.segment",
        ),
        ("qgis_roadseg/client.py", "from ..training_core import jobs, model", "training_core.models.unet"),
        ("qgis_roadseg/runtime.py", "def f():\n    from qgis.gui import QgsSpinBox", "qgis.gui"),
        ("qgis_roadseg/runtime.py", "from qgis.PyQt.QtWidgets import QAction", "qgis.PyQt.QtWidgets"),
        ("qgis_roadseg/runtime.py", "from .desktop.dialogs import tell", "qgis_roadseg.desktop.dialogs"),
        ("algorithms/segment.py", "from ..qgis_roadseg.desktop import menu", "qgis_roadseg.desktop.menu"),
        ("qgis_roadseg/desktop/menu.py", "from ...training_core import model", "training_core.models.unet"),
        ("algorithms/segment.py", "from .finetune import FineTune", "algorithms.finetune"),
        ("algorithms/segment.py", "from . import finetune", "algorithms.finetune"),
        ("algorithms/segment.py", "import rasterio.windows", "rasterio.windows"),
        ("training_core/jobs/option.py", "import click", "click"),
        ("training_core/jobs/option.py", "from ..imagery import Image", "training_core.geodata.rasters"),
        ("training_core/events.py", "from qgis.core import QgsPoint", "qgis.core"),
        ("training_core/segment.py", "import qgis.core", "qgis.core"),
        ("training_core/segment.py", "from ..qgis_roadseg import paths", "qgis_roadseg.paths"),
        ("training_core/scenes/draw.py", "from ...algorithms import segment", "algorithms.segment"),
    ],
)
def test_a_violation_is_found(path, source, forbidden):
    assert violations(source, path) == {forbidden}


@pytest.mark.parametrize(
    ("path", "source"),
    [
        (
            "qgis_roadseg/client.py",
            "from ..training_core import events, jobs\nfrom ..training_core.errors import JobError",
        ),
        (
            "qgis_roadseg/client.py",
            "from __future__ import annotations\nimport json\nfrom qgis.PyQt.QtCore import QProcess",
        ),
        ("algorithms/segment.py", "from ..qgis_roadseg.algorithm import X\nfrom ..training_core.jobs import Segment"),
        ("qgis_roadseg/plugin.py", "def f():\n    from .desktop.menu import Menu"),
        ("qgis_roadseg/desktop/menu.py", "from qgis.gui import QgisInterface\nfrom .dialogs import tell"),
        ("training_core/events.py", "from .errors import Cancelled"),
        ("training_core/jobs/option.py", "from ..errors import JobError\nfrom .shared import ComputeOptions"),
        ("training_core/segment.py", "import torch\nfrom . import imagery"),
    ],
)
def test_what_is_allowed_is_let_through(path, source):
    assert violations(source, path) == set()
