"""The plugin's code holds to what Qt 5 and Qt 6 both accept; no QGIS with Qt 6 is needed to see it."""

import importlib
import subprocess
import sys

import pytest
from qgis.core import QgsProcessing, QgsProcessingAlgorithm, QgsRasterDataProvider, QgsVectorFileWriter, QgsWkbTypes
from qgis.PyQt.QtCore import QMetaType, Qt, QVariant
from qgis.PyQt.QtWidgets import QDialog

from .scopes import unscoped

# What flake8-qgis knows of removed classes, methods and arguments, and of imports past qgis.PyQt.
REMOVED = "QGS103,QGS104,QGS107,QGS4"
PLUGIN = ("algorithms", "qgis_roadseg")
NAMES = {
    each.__name__: each
    for each in (
        QDialog, QMetaType, QVariant, Qt, QgsProcessing, QgsProcessingAlgorithm, QgsRasterDataProvider,
        QgsVectorFileWriter, QgsWkbTypes,
    )
}  # fmt: skip


def removed(folder, *parts):
    """Return what flake8-qgis says of the code in parts of a folder."""
    command = [sys.executable, "-m", "flake8", "--isolated", "--disable-noqa", f"--select={REMOVED}", *parts]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert not done.stderr, done.stderr
    return done.stdout.splitlines()


def test_enums_are_named_with_their_scope(loaded, installed):
    files = [path for part in PLUGIN for path in (installed / part).rglob("*.py") if path.stem != "__init__"]
    assert len(files) > 30
    found = []
    for path in files:
        module = importlib.import_module(".".join(path.relative_to(installed.parent).with_suffix("").parts))
        found += [f"{path}:{line}" for line in unscoped(path.read_text(encoding="utf-8"), vars(module))]
    assert found == []


@pytest.mark.parametrize(
    "name",
    [
        "Qt.AlignLeft",
        "QVariant.Int",
        "QMetaType.QString",
        "QDialog.Accepted",
        "QgsProcessing.TypeRaster",
        "QgsWkbTypes.LineString",
        "QgsVectorFileWriter.NoError",
        "QgsRasterDataProvider.ProviderHintCanPerformProviderResampling",
    ],
)
def test_an_enum_without_its_scope_is_found(name):
    assert unscoped(f"def function():\n    return {name} | 1", NAMES) == [f"2: {name}"]


def test_an_enum_of_a_base_class_is_found():
    class Own(QgsProcessingAlgorithm):
        pass

    source = "class Own(QgsProcessingAlgorithm):\n    def flags(self):\n        return self.FlagNoThreading"
    assert unscoped(source, {**NAMES, "Own": Own}) == ["3: self.FlagNoThreading"]


@pytest.mark.parametrize(
    "name",
    [
        "Qt.AlignmentFlag.AlignLeft",
        "QMetaType.Type.QString",
        "QgsProcessing.SourceType.TypeRaster",
        "QgsVectorFileWriter.WriterError.NoError",
        "QgsProcessing.TEMPORARY_OUTPUT",
        "other.AlignLeft",
    ],
)
def test_what_is_scoped_or_no_enum_is_let_through(name):
    assert unscoped(f"value = {name}", NAMES) == []


def test_nothing_is_used_that_qt_6_has_removed(installed):
    assert removed(installed, *PLUGIN) == []


def test_what_qt_6_has_removed_is_found(tmp_path):
    (tmp_path / "code.py").write_text(
        "from PyQt5.QtCore import QObject\n"
        "from qgis.PyQt.QtCore import QRegExp, QVariant\n"
        "dialog.exec_()  # noqa\n"
        "kind = QVariant.Int\n"
    )
    found = "\n".join(removed(tmp_path, "code.py"))
    for rule, line in (("QGS103", 1), ("QGS406", 2), ("QGS107", 3), ("QGS402", 4)):
        assert f"code.py:{line}:" in found and rule in found
