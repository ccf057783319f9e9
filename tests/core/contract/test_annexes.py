"""The spine of the core works without any annex: the folder of each is taken away in turn, and those of all at once."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np

from tests.core.support.rasters import write_raster
from training_core.jobs import FineTune, Segment, Vectorize

ROOT = Path(__file__).parents[3]
# Each annex with the pipelines of its own jobs, which go with it.
ANNEXES = {
    "distributed": [],
    "whole_images": [],
    "profiling": ["profile", "compareprofiles"],
    "fleet": [],
    "scenes": ["makescene"],
    "live": ["live"],
}

# One process does all, since the libraries take seconds to load. It prints what fails.
WORK = """
import importlib, json, sys, traceback
from pathlib import Path

tree, annexes, jobs = Path(sys.argv[1]), json.loads(sys.argv[2]), json.loads(sys.argv[3])
sys.path.insert(0, str(tree))
core = tree / "training_core"


def load_all(gone):
    for name in [name for name in sys.modules if name.split(".")[0] == "training_core"]:
        del sys.modules[name]
    own = {core / "pipelines" / f"{name}.py" for annex in gone for name in annexes[annex]}
    for path in sorted(set(core.rglob("*.py")) - own - {core / "__main__.py"}):
        importlib.import_module(".".join(path.relative_to(tree).with_suffix("").parts).removesuffix(".__init__"))


def run(text):
    from training_core.events import Reporter
    from training_core.jobs import from_json

    job = from_json(text)
    importlib.import_module(f"training_core.pipelines.{job.name}").run(job, Reporter())


def work_without(gone, texts):
    for annex in gone:
        (core / annex).rename(tree / annex)
    try:
        load_all(gone)
        for text in texts:
            run(text)
    except Exception:
        print("Without", *gone, traceback.format_exc())
    for annex in gone:
        (tree / annex).rename(core / annex)


for annex in annexes:
    work_without([annex], [])
work_without(list(annexes), jobs)
"""


def test_the_core_loads_without_any_annex_and_without_all_it_trains_and_maps(town, tmp_path):
    tree, model = tmp_path / "tree", str(tmp_path / "model.safetensors")
    shutil.copytree(ROOT / "training_core", tree / "training_core", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "metadata.txt", tree)
    truth = write_raster(tmp_path / "truth.tif", town.truth.astype(np.uint8)[None])
    train = FineTune(
        **town.labeled, base_model="", encoder="resnet18", model=model, steps=2, chip_px=64, batch_size=1,
        engine="native", precision="fp32", threads=1,
    )  # fmt: skip
    segment = Segment(raster=town.raster, model=model, mask=str(tmp_path / "mask.tif"), threads=1)
    jobs = [job.to_json() for job in (train, segment, Vectorize(raster=truth, roads=str(tmp_path / "roads.gpkg")))]
    found = subprocess.run(
        [sys.executable, "-c", WORK, str(tree), json.dumps(ANNEXES), json.dumps(jobs)],
        capture_output=True, text=True, check=True, cwd=tmp_path, env={**os.environ, "PYTHONDONTWRITEBYTECODE": ""},
    )  # fmt: skip
    assert not found.stdout, found.stdout
    assert {path.suffix for path in tmp_path.iterdir()} >= {".safetensors", ".tif", ".gpkg"}
