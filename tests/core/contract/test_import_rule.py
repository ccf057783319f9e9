"""The import rule, read from the imports of every file.

qgis_roadseg and algorithms import the standard library, qgis, and of the core only jobs, events and errors; those three
import the standard library alone; the core never imports qgis; algorithms never import each other. Only
qgis_roadseg.desktop imports what a window needs, and only the plugin imports that.

Within the core, a package imports those that `scripts.import_table.ALLOWED` names, and pipelines never import each
other. Within the plugin, packages depend on each other without a circle.
"""

import ast
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from scripts.import_table import ALLOWED, CONTRACT, DESIGN, with_table

ROOT = Path(__file__).parents[3]
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


def package_of(module):
    """Return a module's package, or the module itself where it lies in the core's or the plugin's own folder."""
    return module.split(".")[1]


def is_allowed_in_core(name, module):
    """Whether the core's packages may depend on each other like that."""
    own, other = package_of(module), package_of(name)
    if own == other:
        return own != "pipelines"
    return other in (*ALLOWED[own], *(CONTRACT if own not in CONTRACT else ()))


def is_shared(name):
    """Whether a module is one of the three, or within one of them that is a package."""
    return any(name == shared or name.startswith(f"{shared}.") for shared in SHARED)


def is_allowed(name, module, top):
    first = name.split(".")[0]
    if first in sys.stdlib_module_names:
        return True
    if is_shared(module):
        return is_shared(name) and is_allowed_in_core(name, module)
    if name.startswith(WINDOWS) and not module.startswith(DESKTOP):
        return False
    if name.startswith(DESKTOP) and not module.startswith((DESKTOP, "qgis_roadseg.plugin")):
        return False
    if top == "training_core":
        if first == "training_core":
            return is_allowed_in_core(name, module)
        return first not in ("qgis", "PyQt5", "PyQt6", "processing", *PLUGIN)
    if module == "algorithms.__init__":
        return first == "algorithms"  # which lists them
    if top == "algorithms":
        return first in ("qgis", "qgis_roadseg") or is_shared(name)
    if top == "qgis_roadseg":
        return first in ("qgis", "qgis_roadseg") or is_shared(name)
    return first in PLUGIN


def test_the_rule_holds():
    forbidden = {
        f"{name} imports {other}"
        for name, source in ((path.relative_to(ROOT), path.read_text(encoding="utf-8")) for path in FILES)
        for other in violations(source, name)
    }
    assert forbidden == set()


def test_every_package_of_the_core_is_in_the_table():
    core = ROOT / "training_core"
    assert {path.stem for path in core.iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()} == set(
        ALLOWED
    )


def test_the_rule_allows_nothing_that_nobody_imports():
    found = {("worker", "pipelines")}  # by the name of the job
    for path in ROOT.glob("training_core/**/*.py"):
        name = path.relative_to(ROOT)
        own = package_of(".".join(name.with_suffix("").parts))
        for other in imported(path.read_text(encoding="utf-8"), name):
            if other.startswith("training_core."):
                found.add((own, package_of(other)))
    assert {(own, other) for own, others in ALLOWED.items() for other in others} - found == set()


def test_the_table_in_the_design_is_that_of_the_rule():
    text = DESIGN.read_text(encoding="utf-8")
    assert text == with_table(text), "make docs writes it"


def test_the_table_has_no_circle():
    """Each package imports such as stand before it, so that one can read them in this order."""
    order = list(ALLOWED)
    assert all(order.index(other) < order.index(own) for own, others in ALLOWED.items() for other in others)


def test_the_plugins_packages_have_no_circle():
    found = {}
    for path in ROOT.glob("qgis_roadseg/**/*.py"):
        name = path.relative_to(ROOT)
        own = package_of(".".join(name.with_suffix("").parts))
        others = {
            package_of(f"{each}.")
            for each in imported(path.read_text(encoding="utf-8"), name)
            if each.startswith("qgis_roadseg.")
        }
        found.setdefault(own, set()).update(others - {own})
    TopologicalSorter(found).prepare()  # raises CycleError


@pytest.mark.parametrize(
    ("path", "source", "forbidden"),
    [
        ("qgis_roadseg/runtime/client.py", "def f():\n    from numpy import array", "numpy"),
        ("qgis_roadseg/runtime/client.py", "from ...training_core import jobs, models", "training_core.models"),
        ("qgis_roadseg/runtime/runtime.py", "def f():\n    from qgis.gui import QgsSpinBox", "qgis.gui"),
        ("algorithms/roads.py", "from .training import FineTune", "algorithms.training"),
        ("training_core/jobs/option.py", "import click", "click"),
        ("training_core/events.py", "from .jobs import Job", "training_core.jobs.Job"),
        ("training_core/geodata/grid.py", "import qgis.core", "qgis.core"),
        ("training_core/networks/gaps.py", "from ..extraction import tracing", "training_core.extraction.tracing"),
        ("training_core/pipelines/extractroads.py", "from .segment import run", "training_core.pipelines.segment"),
    ],
)
def test_a_violation_is_found(path, source, forbidden):
    assert violations(source, path) == {forbidden}
