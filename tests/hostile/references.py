"""What jobs make of good inputs when nothing disturbs them, and whether other outputs are the same."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import geopandas
import numpy as np
import onnx
import pyogrio
import rasterio
from safetensors.numpy import load_file

from tests.hostile.fork_server import ForkServer
from tests.hostile.good_inputs import Goods
from tests.hostile.outcome import check_result, claimed, job_document, run


@dataclass(frozen=True)
class Reference:
    """Outputs of an undisturbed run by their file names, the job's options, and how many seconds it took."""

    options: dict[str, Any]
    outputs: dict[str, Path]
    seconds: float

    @property
    def bytes(self) -> int:
        return sum(file.stat().st_size for path in self.outputs.values() for file in (path, *path.rglob("*")))


class References:
    """Undisturbed runs of jobs, each made once, in an empty folder."""

    def __init__(self, goods: Goods, server: ForkServer, folder: Path) -> None:
        self._goods, self._server, self._folder = goods, server, folder
        self._made: dict[str, Reference] = {}

    def of(self, job: str, suffix: str = ".gpkg", **changed: Any) -> Reference:
        """Return the reference of a job with some options changed, its vector outputs of a suffix."""
        key = json.dumps([job, suffix, changed])
        if key not in self._made:
            folder = self._folder / str(len(self._made))
            for name in ("out", "run"):
                (folder / name).mkdir(parents=True)
            options = with_suffix(self._goods.options(job, folder / "out"), suffix) | changed
            outcome = run(self._server, folder / "run", job_document(job, options), cpu_s=120, wall_s=480)
            assert outcome.is_done, outcome
            paths = [Path(path) for path in claimed(job, options)]
            self._made[key] = Reference(options, {path.name: path for path in paths}, outcome.ended.seconds)
        return self._made[key]


def with_suffix(options: dict[str, Any], suffix: str) -> dict[str, Any]:
    """Return options whose GeoPackages to be written, those in a folder `out`, are of another format."""
    return {
        name: str(Path(value).with_suffix(suffix))
        if isinstance(value, str) and value.endswith(".gpkg") and Path(value).parent.name == "out"
        else value
        for name, value in options.items()
    }


def assert_same(job: str, options: dict[str, Any], result: dict[str, Any], reference: Reference) -> None:
    """Check that a job's outputs read and are those of an undisturbed run."""
    check_result(job, options, result)
    for path in map(Path, claimed(job, options)):
        found, expected = (_content(each) for each in (path, reference.outputs[path.name]))
        assert found.keys() == expected.keys(), path
        for name, value in found.items():
            assert _is_same(value, expected[name]), (path, name)


def _is_same(found: Any, expected: Any) -> bool:
    if isinstance(found, np.ndarray) and found.dtype.kind == "f":  # a resumed training rounds a little otherwise
        return found.shape == expected.shape and np.allclose(found, expected, rtol=0, atol=1e-5)
    return np.array_equal(found, expected)


def _content(path: Path) -> dict[str, Any]:
    """Return the contents of an output by names, without times."""
    suffix = path.suffix.lower()
    if path.is_dir():
        inner = {str(file.relative_to(path)): file for file in path.rglob("*") if file.is_file()}
        return {f"{name} {key}": value for name, file in inner.items() for key, value in _content(file).items()}
    if suffix == ".tif":
        with rasterio.open(path) as dataset:
            return {"pixels": dataset.read(), "overviews": dataset.overviews(1), "tags": str(dataset.tags(1))}
    if suffix in (".gpkg", ".geojson", ".fgb"):
        layers = [] if suffix != ".gpkg" else pyogrio.list_layers(path)[:, 0].tolist()
        tables = {name: geopandas.read_file(path, layer=name) for name in layers or [None]}
        return {str(name): table.to_wkb().to_csv() for name, table in tables.items()}
    if suffix == ".safetensors":
        return load_file(path)
    if suffix == ".onnx":
        return {"graph": onnx.load(path).graph.SerializeToString(deterministic=True)}
    if suffix == ".json":
        document = json.loads(path.read_text())
        if document.get("format") == "roadseg-profile-1" or "traceEvents" in document:  # measured each time
            return {name: str(type(value)) for name, value in document.items()}
        return {name: str(value) for name, value in document.items() if name != "features" and "timings" not in name}
    return {"text": "" if suffix == ".html" else path.read_text(encoding="utf-8")}  # a report contains durations


def outputs_of(job: str) -> list[str]:
    options = Goods(*[""] * len(Goods.__dataclass_fields__)).options(job, Path("out"))
    return [name for name, value in options.items() if value in claimed(job, options)]


def inputs_of(job: str) -> list[str]:
    options = Goods(*["in"] * len(Goods.__dataclass_fields__)).options(job, Path("out"))
    return [name for name, value in options.items() if value in ("in", ["in"])]
