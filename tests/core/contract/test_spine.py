"""The spine of the core learns and maps with the packages of a new runtime alone, and without its annexes."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

from training_core.errors import PACKAGE_SETS
from training_core.jobs import ExportModel, ExtractRoads, FineTune, Segment, Vectorize

ROOT = Path(__file__).parents[3]
ANNEXES = ("distributed", "whole_images", "profiling", "fleet", "scenes", "live")
# The pipelines of the annexes' own jobs, which go with them.
PIPELINES = ("profile.py", "compareprofiles.py", "makescene.py", "live.py")
ADDED = {
    re.split(r"\W", line)[0]
    for name in set(PACKAGE_SETS.values())
    for line in (ROOT / "resources" / "runtime" / f"{name}.txt").read_text().splitlines()
    if re.match(r"\w", line)
}
# One process does all, since the libraries take seconds to load. It prints how each job ends.
WORK = """
import json, sys, threading

sys.modules.update(dict.fromkeys(json.loads(sys.argv[1])))  # Python then refuses to import them
from training_core import worker
from training_core.jobs import from_json

for text in sys.argv[2:]:
    ends = []
    worker.run(from_json(text), ends.append, threading.Event())
    print(ends[-1].kind, getattr(ends[-1], "code", ""), getattr(ends[-1], "message", ""))
"""


def test_the_spine_learns_and_maps_with_a_new_runtime_and_asks_for_what_that_does_not_have(town, tmp_path):
    tree, folder = tmp_path / "tree", tmp_path / "out"
    left_out = shutil.ignore_patterns("__pycache__", *ANNEXES, *PIPELINES)
    shutil.copytree(ROOT / "training_core", tree / "training_core", ignore=left_out)
    for each in ("metadata.txt", "resources"):
        (tree / each).symlink_to(ROOT / each)
    folder.mkdir()
    model, probability, roads = (str(folder / name) for name in ("m.safetensors", "p.tif", "r.gpkg"))
    small = {"chip_px": 64, "batch_size": 1, "steps": 2, "threads": 1}
    jobs = [
        FineTune(**town.labeled, model=model, report=str(folder / "report.html"), **small),
        Segment(raster=town.raster, model=model, probability=probability, threads=1),
        Vectorize(raster=probability, roads=roads),
        ExtractRoads(raster=town.raster, roads=roads, threads=1),
        ExportModel(model=model, onnx=str(folder / "model.onnx")),
    ]
    command = [sys.executable, "-c", WORK, json.dumps(sorted(ADDED)), *(each.to_json() for each in jobs)]
    told = subprocess.run(command, cwd=tree, capture_output=True, text=True, timeout=120, check=False)
    assert told.stdout.splitlines()[:4] == ["result  "] * 4, told
    assert told.stdout.splitlines()[4].startswith("error packages:onnx This job needs the package onnx")
    assert {each.name for each in folder.iterdir()} == {"m.safetensors", "p.tif", "r.gpkg", "report.html"}
