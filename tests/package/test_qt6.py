"""The plugin's code holds to what Qt 5 and Qt 6 both accept; no QGIS with Qt 6 is needed to see it."""

import subprocess
import sys

# What flake8-qgis knows of removed classes, methods and arguments, and of imports past qgis.PyQt.
REMOVED = "QGS103,QGS104,QGS107,QGS4"
PLUGIN = ("algorithms", "qgis_roadseg")


def removed(folder, *parts):
    """Return what flake8-qgis says of the code in parts of a folder."""
    command = [sys.executable, "-m", "flake8", "--isolated", "--disable-noqa", f"--select={REMOVED}", *parts]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert not done.stderr, done.stderr
    return done.stdout.splitlines()


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
