"""What tests of rendered images share: web tiles, temporary files of their own, and a worker that keeps its inputs."""

import tempfile

import pytest
from qgis.core import QgsProject

from ..support.tiles import paint_tiles, tile_layer


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """Return a folder of temporary files of this test's own."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    from roadseg.qgis_roadseg.rendering import block_loader

    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setattr(block_loader, "WAITS_S", ())
    return folder


@pytest.fixture
def tiles(tmp_path):
    layer = tile_layer(paint_tiles(tmp_path / "tiles"))
    QgsProject.instance().addMapLayer(layer)
    return layer


@pytest.fixture
def seen(tmp_path, play_runtime):
    """Return a folder in which a worker keeps its job and copies of what it was given, before it writes its files."""
    folder = tmp_path / "seen"
    folder.mkdir()
    play_runtime(f"""
import shutil
folder, options = {str(folder)!r}, job()["options"]
shutil.copy(sys.argv[-1], folder + "/job.json")
given = {{str(number): path for number, path in enumerate(options.get("rasters", ()))}}
given.update((name, options[name]) for name in ("raster", "aoi") if os.path.exists(options.get(name, "")))
for name, path in given.items():
    shutil.copy(path, f"{{folder}}/{{name}}{{os.path.splitext(path)[1]}}")
for name in ("mask", "model", "report"):
    if os.path.isabs(options.get(name) or "") and not os.path.exists(options[name]):  # the starter is a name
        shutil.copy(options.get("raster") or os.devnull, options[name])
send("progress", fraction=0.5, message="Tile 1 of 2")
send("result", result={{}})
""")
    return folder
