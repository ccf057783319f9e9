"""The outputs of all jobs as the inputs of all jobs: see `pairs.py`."""

import contextlib
import io
import json
import shutil
from pathlib import Path

import geopandas
import numpy as np
import osmium
import pytest
from osmium.osm.mutable import Node, Way

from tests.core.pipelines import pairs
from tests.core.pipelines.pair_numbers import Done
from tests.core.support.towns import plant_model
from tests.shared_fixtures import make_once
from training_core import jobs
from training_core.cli import _PARTS
from training_core.errors import RoadSegError
from training_core.events import Log, Reporter
from training_core.geodata.sources import expand
from training_core.jobs import JOBS, from_options
from training_core.worker import execute

# Kinds of options that are neither an input nor an output.
VALUES = {"", jobs.BANDS, jobs.FIELD, jobs.NUMBERS}


def perform(job, options):
    """Run a job in this process; return its result and what it logged."""
    told = []
    with contextlib.redirect_stdout(io.StringIO()):  # progress bars of libraries
        result = execute(from_options(JOBS[job], options), Reporter(told.append))
    return result, [event.message for event in told if isinstance(event, Log)]


def placed(value, ground):
    """Return an option with the ground in place of `@`."""
    if isinstance(value, list):
        return [placed(each, ground) for each in value]
    return f"{ground}/{value[1:]}" if isinstance(value, str) and value.startswith("@") else value


def options_of(run, ground, out):
    """Return the options of a run with inputs from the ground and outputs in a folder."""
    inputs = {field: placed(value, ground) for field, value in pairs.RUNS[run].items()}
    return {**inputs, **{field: str(out / name) for field, name in pairs.outputs(run).items()}}


def make_ground(folder):
    plant_model(folder / "sure.safetensors", threshold=0.0, resolution_m=0.5)
    for run in pairs.RUNS:
        result, _ = perform(run.split()[0], options_of(run, folder, folder))
        (folder / f"{run}.result").write_text(json.dumps(result))
        if run == "sampleaccuracy":
            sample = geopandas.read_file(folder / "sampleaccuracy.sample.gpkg")
            sample.assign(review="1").to_file(folder / "judged.gpkg")
        if run == "vectorize":
            roads = geopandas.read_file(folder / "vectorize.roads.gpkg", layer="roads")
            answers = ["accepted", "rejected"] * len(roads)
            roads.assign(change="road", review=answers[: len(roads)]).to_file(folder / "reviewed.gpkg")
        if run == "exportnetwork":
            write_extract(folder / "exportnetwork.osm.osm.pbf", folder / "extract.osm.pbf")
    return folder


def write_extract(exported, extract):
    """Write a file with the versions that OpenStreetMap's own extracts have, with bridges, and ground without roads."""
    at = [(node.lon, node.lat) for node in osmium.FileProcessor(str(exported), osmium.osm.NODE)]
    (west, south), (east, north) = np.min(at, axis=0), np.max(at, axis=0)
    places = [(x, y) for x in (west, (west + east) / 2, east) for y in (south, (south + north) / 2)]
    refs = [len(at) + 1 + number for number in range(len(places))]
    lake, apron = ([refs[each] for each in ring] for ring in ((0, 1, 3, 2, 0), (2, 3, 5, 4, 2)))
    others = [({"natural": "water"}, lake), ({"aeroway": "apron"}, apron), ({"railway": "rail"}, lake[1:3])]
    with osmium.SimpleWriter(str(extract)) as file:
        for node in osmium.FileProcessor(str(exported), osmium.osm.NODE):
            file.add(node.replace(version=1))
        for ref, place in zip(refs, places):
            file.add_node(Node(id=ref, version=1, location=place))
        for way in osmium.FileProcessor(str(exported), osmium.osm.WAY):
            bridge = {"bridge": "yes"} if way.id % 2 else {}
            file.add(way.replace(version=1, tags={**dict(way.tags), **bridge}))
        for number, (tags, ring) in enumerate(others):
            file.add_way(Way(id=10_000 + number, version=1, nodes=ring, tags=tags))


@pytest.fixture(scope="session")
def ground(tmp_path_factory):
    """A folder with the outputs of all jobs; do not write there."""
    return make_once(tmp_path_factory, "pairs", make_ground)


@pytest.fixture
def folder(tmp_path):
    """An empty folder, whose files do not outlive the test, since models are large."""
    yield tmp_path
    shutil.rmtree(tmp_path)


def test_each_output_of_each_job_has_a_row_for_each_input_that_takes_it():
    kinds = {(name, field.name): field.option.kind for name, job in JOBS.items() for field in job.option_fields()}
    assert {*kinds.values()} == {*pairs.READS, *jobs.OUTPUT_KINDS, *VALUES}
    made = [(run.split()[0], field, name) for run in pairs.RUNS for field, name in pairs.outputs(run).items()]
    assert {(job, field) for job, field, _ in made} == {
        output for output, kind in kinds.items() if kind in pairs.ENDINGS
    } - pairs.NOT_MADE
    held = {(job, field) for job, field, name in made if any(file.startswith(name) for file in pairs.HOLDS)}
    assert held == {(job, field) for job, field, _ in made if kinds[job, field] not in pairs.UNREAD}
    rows = {name: {*row} - {*pairs.HOLDS} for name, row in pairs.RIGHT.items()}
    assert rows == {name: {*contents} for name, contents in pairs.inputs().items()}


def with_given(pair, options, ground, folder):
    """Return options with what the ground holds at an input; a folder, which a job writes to, is copied first."""
    given, kind = f"{ground}/{pair.file}", pairs.kind_of(pair.job, pair.field)
    further = {key: placed(value, ground) for key, value in pairs.WITH.get(pair.input, {}).items()}
    if pair.content == pairs.NO_LINES:
        further = {key: value for key, value in further.items() if value != "="}
    options = {**options, **{key: given if value == "=" else value for key, value in further.items()}}
    if pair.content in (pairs.ONNX, pairs.QUANTIZED) and pair.job != "finetune" and "engine" in options:
        options["engine"] = "openvino"  # the others do not run it
    if kind == jobs.RASTERS:
        chosen = list(expand([given], _PARTS[pair.field]))
        if pair.content == pairs.CHIPS:
            options["rasters"] = list(expand([given], _PARTS["rasters"]))
    elif kind == jobs.MODELS:
        chosen = [given, *options[pair.field][:1]]
    else:
        chosen = shutil.copytree(given, folder / "copy") if kind == jobs.FOLDER else given
    return {**options, pair.field: str(chosen) if isinstance(chosen, Path) else chosen}


@pytest.mark.slow
@pytest.mark.parametrize("pair", list(pairs.pairs()), ids=str)
def test_what_a_job_makes_of_an_output_is_right(pair, ground, folder):
    out = folder / "out"
    out.mkdir()
    run = pairs.RUN_OF.get(pair.input, pair.job)
    options = options_of(run, ground, out)
    if isinstance(pair.right, pairs.Refused):
        with pytest.raises(RoadSegError, match=pair.right.words) as caught:
            perform(pair.job, with_given(pair, options, ground, folder))
        assert caught.value.code == pair.right.code and caught.value.remedy
        assert not any(out.iterdir())
    else:
        options = with_given(pair, options, ground, folder)
        result, told = perform(pair.job, options)
        usual = json.loads((ground / f"{run}.result").read_text())
        found, right = pair.right(
            Done(pair.job, pair.field, f"{ground}/{pair.file}", options, result, usual, told, ground)
        )
        assert found == right
