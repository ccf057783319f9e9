"""The spine of the core works without its annexes: all of them are left out of a copy."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np

from tests.core.support.rasters import write_raster
from training_core.jobs import FineTune, Segment, Vectorize

ROOT = Path(__file__).parents[3]
ANNEXES = ("distributed", "whole_images", "profiling", "fleet", "scenes", "live")
# The pipelines of the annexes' own jobs, which go with them.
PIPELINES = ("profile.py", "compareprofiles.py", "makescene.py", "live.py")

# One process does all, since the libraries take seconds to load.
WORK = """
import importlib, sys
from pathlib import Path

from training_core.events import Reporter
from training_core.jobs import from_json

for path in sorted(set(Path("training_core").rglob("*.py")) - {Path("training_core/__main__.py")}):
    importlib.import_module(".".join(path.with_suffix("").parts).removesuffix(".__init__"))
for text in sys.argv[1:]:
    job = from_json(text)
    importlib.import_module(f"training_core.pipelines.{job.name}").run(job, Reporter())
"""


def test_the_core_loads_trains_and_maps_without_any_annex(town, tmp_path):
    tree, model = tmp_path / "tree", str(tmp_path / "model.safetensors")
    left_out = shutil.ignore_patterns("__pycache__", *ANNEXES, *PIPELINES)
    shutil.copytree(ROOT / "training_core", tree / "training_core", ignore=left_out)
    shutil.copy(ROOT / "metadata.txt", tree)
    truth = write_raster(tmp_path / "truth.tif", town.truth.astype(np.uint8)[None])
    train = FineTune(
        **town.labeled, base_model="", encoder="resnet18", model=model, steps=2, chip_px=64, batch_size=1,
        engine="native", precision="fp32", threads=1,
    )  # fmt: skip
    segment = Segment(raster=town.raster, model=model, mask=str(tmp_path / "mask.tif"), threads=1)
    jobs = [job.to_json() for job in (train, segment, Vectorize(raster=truth, roads=str(tmp_path / "roads.gpkg")))]
    done = subprocess.run(
        [sys.executable, "-c", WORK, *jobs],
        capture_output=True, text=True, check=False, cwd=tree, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert {path.suffix for path in tmp_path.iterdir()} >= {".safetensors", ".tif", ".gpkg"}
