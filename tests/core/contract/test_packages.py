"""Jobs of a new runtime do without the packages that only others need, and those ask for what they need."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from training_core.errors import PACKAGE_SETS, MissingPackagesError, missing_set
from training_core.events import Error, Reporter, explain
from training_core.jobs import (
    ExportModel,
    ExportNetwork,
    ExtractRoads,
    FineTune,
    MakeChallenge,
    MapRegion,
    Quantize,
    Segment,
    Vectorize,
)
from training_core.system.packages import require

ROOT = Path(__file__).parents[3]
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

for text in json.loads(sys.argv[2]):
    ends = []
    worker.run(from_json(text), ends.append, threading.Event())
    print(ends[-1].kind, getattr(ends[-1], "code", ""), getattr(ends[-1], "message", ""))
"""


def test_a_new_runtime_maps_and_learns_and_asks_for_what_it_does_not_have(town, tmp_path):
    model, probability, roads = (str(tmp_path / name) for name in ("m.safetensors", "p.tif", "r.gpkg"))
    small = {"chip_px": 64, "batch_size": 1, "steps": 2, "threads": 1}
    jobs = [
        FineTune(**town.labeled, model=model, report=str(tmp_path / "report.html"), **small),
        Segment(raster=town.raster, model=model, probability=probability, threads=1),
        Vectorize(raster=probability, roads=roads),
        ExtractRoads(raster=town.raster, roads=roads, threads=1),
        ExportModel(model=model, onnx=str(tmp_path / "model.onnx")),
    ]
    texts = json.dumps([each.to_json() for each in jobs])
    command = [sys.executable, "-c", WORK, json.dumps(sorted(ADDED)), texts]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert told.stdout.splitlines()[:4] == ["result  "] * 4, told
    assert told.stdout.splitlines()[4].startswith("error packages:onnx This job needs the package onnx")
    assert {each.name for each in tmp_path.iterdir()} == {"m.safetensors", "p.tif", "r.gpkg", "report.html"}


@pytest.mark.parametrize(
    ("job", "needed"),
    [
        (Segment(raster="a.tif"), []),
        (Segment(raster="a.tif", engine="openvino"), ["openvino"]),
        (Segment(raster="a.tif", model="m.ONNX"), ["openvino"]),
        (ExportModel(model="m", onnx="m.onnx"), ["onnx"]),
        (Quantize(model="m.onnx", rasters=("a.tif",), onnx="q.onnx"), ["nncf"]),
        (ExportNetwork(lines="a.gpkg", graphml="a.graphml"), []),
        (ExportNetwork(lines="a.gpkg", osm="a.osm"), ["osmium"]),
        (MakeChallenge(extract="a.osm.pbf"), ["osmium"]),
        (MapRegion(scheduler="tcp://a:1", roads="r.GeoParquet"), ["distributed", "pyarrow"]),
    ],
)
def test_a_job_names_what_only_it_needs(job, needed):
    assert job.packages() == needed


@pytest.mark.parametrize(("module", "name"), PACKAGE_SETS.items())
def test_a_missing_package_is_an_error_that_names_its_set(monkeypatch, module, name):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(
        MissingPackagesError, match=f"{module}, which is not installed. Run .* with {name} under"
    ) as why:
        require(["json", module])
    assert missing_set(why.value) == name
    for error in (why.value, ModuleNotFoundError(f"No module named {module!r}", name=module)):
        assert explain(error, Reporter()) == Error(f"packages:{name}", why.value.message, why.value.remedy)
