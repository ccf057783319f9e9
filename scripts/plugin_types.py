"""Type check of the plugin against the stubs of QGIS and Qt, less what these stubs get wrong.

Scope: `qgis_roadseg` and `algorithms`, as the package `roadseg` that QGIS makes of the checkout. Run by `make lint`.
"""

from __future__ import annotations

import re
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
    )
]


def main() -> int:
    """Print what is wrong; return 1 if anything is."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    link = FOLDER / "roadseg"
    if not link.is_symlink():
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
