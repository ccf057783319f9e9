"""The outcome of a case, and the promises that hold for every job.

A job ends with a result or an error, in time and not by a signal. An error is expected, names the problem and a remedy,
and leaves no file behind. All files that a result claims exist and can be read. Inputs stay unchanged.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import geopandas
import networkx
import onnx
import osmium
import rasterio
from safetensors import safe_open

from tests.hostile.cases import DONE, REFUSED, Case, Place
from tests.hostile.fork_server import Ended, ForkServer, Order
from training_core import events
from training_core.jobs import FORMAT_VERSION, JOBS, OUTPUT_KINDS

_WAITS = 3


@dataclass(frozen=True)
class Outcome:
    """How a job ended, and its last event, a result or an error."""

    ended: Ended
    last: events.Event
    log: str

    @property
    def is_done(self) -> bool:
        return isinstance(self.last, events.Result)


def job_document(job: str, options: dict[str, Any]) -> str:
    return json.dumps({"job": job, "version": FORMAT_VERSION, "options": options})


def run(server: ForkServer, folder: Path, job: str | bytes, **limits: Any) -> Outcome:
    """Run a job file, given as its text, in an empty folder, under limits of `Order`."""
    job_file = folder / "job.json"
    job_file.write_bytes(job if isinstance(job, bytes) else job.encode())
    (folder / "run").mkdir()
    ended = server.run(Order(str(folder / "run"), str(job_file), **limits))
    lines = (folder / "run" / "events").read_text(encoding="utf-8").splitlines()
    log = (folder / "run" / "log").read_text(encoding="utf-8", errors="replace")
    decoded = list(map(events.decode, lines))
    assert None not in decoded, f"no event: {lines}\n{log}"
    ends = [event for event in decoded if isinstance(event, (events.Result, events.Error))]
    assert not ended.too_long, f"it did not end in {ended.seconds:.0f} s: {lines[-1:]}\n{log}"
    assert ended.status >= 0, f"it ended by signal {-ended.status}: {lines[-1:]}\n{log}"
    assert len(ends) == 1 and decoded[-1] is ends[0], f"status {ended.status}, {lines[-2:]}\n{log}"
    logged = "\n".join(event.message for event in decoded if isinstance(event, events.Log))
    return Outcome(ended, ends[0], f"{log}\n{logged}")


def try_case(case: Case, place: Place, server: ForkServer, folder: Path) -> Outcome:
    """Run a case and check all that is promised; `folder` is an empty one for the run."""
    goods = snapshot(Path(place.goods.folder))
    options = place.options(case.job) | case.spoil(place)
    before = snapshot(place.bad) | snapshot(place.out)
    document = case.job_file(place) if case.job_file else job_document(case.job, options)
    limits = {"cpu_s": case.limit_s, "wall_s": _WAITS * case.limit_s, "memory_bytes": case.memory_bytes}
    outcome = run(server, folder, document, **limits)
    assert snapshot(Path(place.goods.folder)) == goods, "an input was changed"
    assert os.listdir(folder / "run" / "cwd") == [], "a file lies in the working directory"
    if outcome.is_done:
        assert case.expect != REFUSED, f"not refused: {outcome.last}\n{outcome.log}"
        check_result(case.job, options, outcome.last.result)
        leftovers = set(os.listdir(place.out)) - {Path(path).name for path in claimed(case.job, options)} - {
            Path(path).name for path in before}  # fmt: skip
        assert not leftovers, f"left behind: {leftovers}"
    else:
        assert case.expect != DONE, f"refused: {outcome.last}\n{outcome.log}"
        check_error(outcome.last, case.names, outcome.log)
        assert snapshot(place.bad) | snapshot(place.out) == before, "the folders are not as they were"
    return outcome


def check_error(error: events.Error, names: tuple[str, ...], log: str) -> None:
    assert error.code != "unexpected", f"{error}\n{log}"
    assert error.message.endswith(".") and error.remedy.endswith("."), error
    assert ".part" not in error.message and "Traceback" not in error.message, error
    for name in names:
        assert name in error.message, (name, error)


def claimed(job: str, options: dict[str, Any]) -> list[str]:
    fields = [field.name for field in JOBS[job].option_fields() if field.option.kind in OUTPUT_KINDS]
    return [options[name] for name in fields if options.get(name)]


def check_result(job: str, options: dict[str, Any], result: dict[str, Any]) -> None:
    """Check that all that a result claims exists and reads."""
    for path in claimed(job, options):
        assert Path(path).exists(), f"{path} is not there: {result}"
        if Path(path).is_dir():
            assert any(Path(path).iterdir())
            continue
        suffix = Path(path).suffix.lower()
        with TemporaryDirectory() as folder:
            plain = Path(folder, f"plain{suffix}")  # since readers may stumble over a hostile name
            plain.symlink_to(path)
            _READERS[suffix](str(plain))


def snapshot(folder: Path) -> dict[str, tuple]:
    """Return what lies in a folder: by path, each file's size, time of change and kind."""
    found = {}
    for base, folders, files in os.walk(folder):
        for name in (*folders, *files):
            state = os.lstat(os.path.join(base, name))
            is_folder = name in folders
            found[os.path.join(base, name)] = (
                state.st_mode,
                *(() if is_folder else (state.st_size, state.st_mtime_ns)),
            )
    return found


def _read_raster(path: str) -> None:
    with rasterio.open(path) as dataset:
        dataset.read()


def _read_model(path: str) -> None:
    with safe_open(path, framework="np") as file:
        for name in file.keys():  # noqa: SIM118  # not a dict
            file.get_tensor(name)


def _read_page(path: str) -> None:
    assert Path(path).read_text(encoding="utf-8").rstrip().endswith("</html>")


_READERS = {
    ".tif": _read_raster,
    ".gpkg": geopandas.read_file,
    ".geojson": geopandas.read_file,
    ".fgb": geopandas.read_file,
    ".safetensors": _read_model,
    ".onnx": onnx.load,
    ".html": _read_page,
    ".json": lambda path: json.loads(Path(path).read_text(encoding="utf-8")),
    ".graphml": networkx.read_graphml,
    ".osm": lambda path: list(osmium.FileProcessor(osmium.io.File(path, "osm"))),
    ".osc": lambda path: list(osmium.FileProcessor(osmium.io.File(path, "osc"))),
}
