"""What the package's tests share: the zip, and a fresh QGIS profile that it is installed in.

They need a process of their own, since the plugin's tests load the checkout under the same name.
"""

import os
import sys
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
sys.dont_write_bytecode = True

import pytest  # noqa: E402

ROOT = Path(__file__).parents[2]

from scripts import package  # noqa: E402


@pytest.fixture(scope="session")
def zipped(tmp_path_factory):
    return package.build(tmp_path_factory.mktemp("zip"))


@pytest.fixture(scope="session")
def profiles(tmp_path_factory):
    """Return the folder of QGIS' profiles: one that is empty."""
    return tmp_path_factory.mktemp("Profile 1")


@pytest.fixture(scope="session")
def installed(zipped, profiles, qgis_app):
    """Return the plugin's folder, into which QGIS' own installer has unpacked the zip."""
    sys.path.append(os.path.join(qgis_app.pkgDataPath(), "python"))
    from pyplugin_installer.unzip import unzip

    plugins = profiles / "profiles" / "default" / "python" / "plugins"
    unzip(str(zipped), str(plugins))
    return plugins / package.FOLDER


@pytest.fixture(scope="session")
def loaded(installed, qgis_processing):
    """Return the provider of the installed plugin, which QGIS has found, imported and started."""
    import qgis.utils
    from qgis.core import QgsApplication

    qgis.utils.plugin_paths = [str(installed.parent)]
    sys.path.insert(0, str(installed.parent))
    qgis.utils.updateAvailablePlugins()
    assert qgis.utils.loadPlugin(package.FOLDER)
    assert qgis.utils.startProcessingPlugin(package.FOLDER)
    yield QgsApplication.processingRegistry().providerById("roadseg")
    assert qgis.utils.unloadPlugin(package.FOLDER)
