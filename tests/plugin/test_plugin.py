"""The plugin as QGIS loads it, in a process of its own: with a window and without."""

import json
import os
import subprocess
import sys

from .conftest import ROOT

BEGIN = f"""
import json, sys
sys.dont_write_bytecode = True
sys.path[:0] = [{str(ROOT)!r}, PLUGINS]
from qgis.core import QgsApplication
application = QgsApplication([], True)
application.initQgis()
"""
END = "\nprint(json.dumps(told))\nsys.stdout.flush()\nimport os; os._exit(0)\n"


def told_by(code, plugins):
    (plugins / "roadseg").symlink_to(ROOT, target_is_directory=True)
    begin = BEGIN.replace("PLUGINS", repr(str(plugins)))
    command = [sys.executable, "-c", begin + code + END]
    done = subprocess.run(command, env={**os.environ, "QT_QPA_PLATFORM": "offscreen"}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_without_a_window_nothing_of_one_is_imported(tmp_path):
    told = told_by(
        """
before = set(sys.modules)
import roadseg
plugin = roadseg.classFactory(None)
plugin.initProcessing()
found = len(QgsApplication.processingRegistry().providerById("roadseg").algorithms())
told = [found, sorted(set(sys.modules) - before)]
plugin.unload()
told.append(QgsApplication.processingRegistry().providerById("roadseg") is None)
""",
        tmp_path,
    )
    count, imported, is_gone = told
    assert count and is_gone
    assert "roadseg.qgis_roadseg.toolbox.provider" in imported
    assert [name for name in imported if "desktop" in name or name.startswith("processing")] == []


def test_loaded_and_unloaded_twice_it_leaves_nothing(tmp_path):
    told = told_by(
        """
import roadseg
from tests.plugin.support.window import Window, entries, left_behind
window, told = Window(), []
for _ in range(2):
    plugin = roadseg.classFactory(window)
    plugin.initGui()
    provider = QgsApplication.processingRegistry().providerById("roadseg")
    told.append([len(entries(window)), len(left_behind(window)) > len(entries(window)), provider is not None])
    del provider
    plugin.unload()
    told.append([left_behind(window), QgsApplication.processingRegistry().providerById("roadseg") is None])
""",
        tmp_path,
    )
    assert told == [[17, True, True], [[], True]] * 2
