"""The zip in a fresh profile, unpacked by QGIS' own installer: found, loaded, and run from where it lies."""

import json
import subprocess
import sys

import pytest
from osgeo import gdal, ogr, osr

from scripts import headless, package
from scripts.algorithm_examples import EXAMPLES

from .conftest import ROOT

gdal.UseExceptions()
ogr.UseExceptions()


def test_the_plugin_manager_takes_it_for_a_plugin_that_fits_this_qgis(installed):
    from pyplugin_installer.installer_data import plugins

    entry = plugins.getInstalledPlugin("roadseg", str(installed), readOnly=False)
    assert entry["error"] == "", entry["error_details"]
    assert (entry["name"], entry["version_installed"]) == ("RoadSeg", package.version(ROOT))
    assert "External dependencies" in entry["about"]


def test_it_is_loaded_with_all_its_algorithms(loaded, installed):
    assert {algorithm.name() for algorithm in loaded.algorithms()} == set(EXAMPLES)
    assert not loaded.icon().isNull()
    ours = [module.__file__ for name, module in sys.modules.items() if name.split(".")[0] == "roadseg"]
    assert ours and all(file.startswith(str(installed)) for file in ours)


def write_road(path):
    """Write a mask of 200 x 60 px of half a meter, with a road that is 8 m wide from edge to edge."""
    dataset = gdal.GetDriverByName("GTiff").Create(str(path), 200, 60, 1, gdal.GDT_Byte)
    reference = osr.SpatialReference()
    reference.ImportFromEPSG(32633)
    dataset.SetProjection(reference.ExportToWkt())
    dataset.SetGeoTransform((390000, 0.5, 0, 5820000, 0, -0.5))
    dataset.GetRasterBand(1).WriteRaster(0, 22, 200, 16, b"\1" * 200 * 16)
    dataset.FlushCache()


def test_a_job_runs_in_a_fresh_profile_on_the_core_that_was_installed(installed, loaded, profiles, tmp_path):
    from roadseg.qgis_roadseg.runtime import runtime

    # The runtime's Python tells where it is started, which is where it finds the core.
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\npwd > "{tmp_path}/started in"\nexec "{runtime.find()}" "$@"\n')
    python.chmod(0o755)
    settings = profiles / "profiles" / "default" / "QGIS"
    settings.mkdir()
    for name in ("QGIS3.ini", "QGIS4.ini"):  # what a tick in the plugin manager writes
        (settings / name).write_text("[PythonPlugins]\nroadseg=true\n")
    write_road(tmp_path / "mask.tif")
    values = {"INPUT": str(tmp_path / "mask.tif"), "OUTPUT": str(tmp_path / "roads.gpkg")}
    done = subprocess.run(
        ["qgis_process", "--json", "run", "roadseg:vectorize", "-"],
        env=headless.environment(QGIS_CUSTOM_CONFIG_PATH=str(profiles), ROADSEG_PYTHON=str(python)),
        input=json.dumps({"inputs": values}),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    source = ogr.Open(values["OUTPUT"])
    (road,) = list(source.GetLayer(0))
    assert road["length_m"] == pytest.approx(100, abs=0.5)
    assert road["width_m"] == pytest.approx(8, abs=0.5)
    assert (tmp_path / "started in").read_text().strip() == str(installed)
    assert not list(installed.rglob("__pycache__"))
