"""Type check of the plugin against the stubs of QGIS and Qt 6, less what these stubs get wrong.

Scope: `qgis_roadseg` and `algorithms`, as the package `roadseg` that QGIS makes of the checkout. Run by `make lint`.
Tests run with Qt 5; what only Qt 6 refuses is found here.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

from mypy import api

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "build" / "plugin-types"
# SIP hands out the class that an object has; the stubs state the base class that the C++ function returns.
_BASES = (
    "Qgs(MapLayer|DataProvider|FeatureRenderer|LayerTreeNode|AbstractProviderConnection|ProcessingFeedback|"
    "ProcessingProvider|ProcessingParameterDefinition|AbstractGeometry)|QWidget"
)
LACKING = [
    re.compile(pattern)
    for pattern in (
        rf'"({_BASES})( \| None)?" has no attribute',
        rf'(has incompatible type|got) "({_BASES})( \| None)?"; expected|\(got "({_BASES})", expected',
        # Names of enums as QGIS 3.40 has them, which later versions keep.
        r'"type\[(Processing\w+|InvalidGeometryCheck|AttributeFormSuppression|DistanceUnit)\]" has no attribute',
        r'Module "qgis.core" has no attribute "Qgs\w+Exception"',
        r'"QgsFields" has no attribute "__iter__"|expected "Iterable\[QgsField\]"',
        # The kind of connection, defaults by keyword, sets of flags from numbers, and the dialogs of Processing.
        r'Too many arguments for "connect" of "pyqtBoundSignal"',
        r'No overload variant of "(QgsProcessingParameterNumber|LayerFilters)"',
        r'of "str \| QgsProcessingAlgorithm" has no attribute "(show|runButton)"',
        # Any object that has a buffer, keys that are numbers, a widget's own layout, and the window.
        r'No overload variant of "bytes" matches argument type "QByteArray"',
        r'No overload variant of "get" of "dict" matches argument type "int"',
        r'"(QLayout|simplewrapper)" has no attribute',
    )
]
# What qgis.PyQt finds in another module than PyQt6 does.
MOVED = {
    "QtWidgets": "from PyQt6.QtGui import QAction as QAction, QActionGroup as QActionGroup, QShortcut as QShortcut\n"
}


def _lay_stubs() -> None:
    """Lay the stubs of QGIS, which are written for PyQt5, upon those of PyQt6, and `qgis.PyQt` with them."""
    qgis = FOLDER / "qgis"
    shutil.rmtree(qgis, ignore_errors=True)
    found = next(path for each in sys.path if (path := Path(each) / "qgis-stubs").is_dir())
    shutil.copytree(found, qgis, copy_function=_copy_for_qt6)
    (qgis / "PyQt").mkdir()
    (qgis / "PyQt" / "__init__.pyi").touch()
    for module in (found.parent / "PyQt6").glob("*.pyi"):
        names = f"from PyQt6.{module.stem} import *\n" + MOVED.get(module.stem, "")
        (qgis / "PyQt" / module.name).write_text(names)


def _copy_for_qt6(source: str, target: str) -> None:
    text = Path(source).read_text(encoding="utf-8")
    Path(target).write_text(text.replace("PyQt5", "PyQt6"), encoding="utf-8")


def main() -> int:
    """Print what is wrong; return 1 if anything is."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    _lay_stubs()
    link = FOLDER / "roadseg"
    link.unlink(missing_ok=True)
    link.symlink_to(ROOT, target_is_directory=True)
    config = ROOT / "tests" / "plugin" / "mypy.ini"
    packages = ["-p", "roadseg.qgis_roadseg", "-p", "roadseg.algorithms"]
    told, failed, _ = api.run(["--config-file", str(config), "--cache-dir", str(FOLDER / "cache"), *packages])
    lines = told.splitlines()
    errors = [line for line in lines if ": error: " in line and not any(each.search(line) for each in LACKING)]
    print(*errors, failed, sep="\n", end="")
    return int(bool(errors or failed or not lines))


if __name__ == "__main__":
    sys.exit(main())
