"""Job definitions: validation of required fields, types, ranges and choices; JSON serialization."""

import dataclasses
import json
import math
import os
import pickle
from functools import partial
from importlib import import_module

import pytest

from training_core.errors import JobError
from training_core.jobs import (
    JOBS,
    ExportNetwork,
    ExtractRoads,
    FineTune,
    Job,
    MakeScene,
    Profile,
    Segment,
    Vectorize,
    describe_range,
    from_json,
    from_options,
)
from training_core.jobs.file_systems import impossible_name

EVERY_JOB = pytest.mark.parametrize("job", JOBS.values(), ids=JOBS)

# The required options of each job.
FILLED = {
    "finetune": {
        "rasters": ["image.tif"],
        "roads": "roads.gpkg",
        "base_model": "base.safetensors",  # which stages that keep its weights need
        "processes": "auto",
        "accumulation": 6,  # as many batches as a pipeline may have stages
        "model": "model.safetensors",
    },
    "segment": {"raster": "image.tif", "model": "model.safetensors", "mask": "mask.tif"},
    "vectorize": {"raster": "mask.tif", "roads": "roads.gpkg"},
    "extractroads": {"raster": "image.tif", "model": "model.safetensors", "roads": "roads.gpkg"},
    "mapregion": {
        "rasters": ["image.tif"],  # or a source
        "model": "model.safetensors",
        "folder": "region",
        "roads": "roads.gpkg",
    },
    "evaluate": {"rasters": ["image.tif"], "roads": "roads.gpkg", "model": "model.safetensors"},
    "suggestlabels": {"raster": "probability.tif", "suggestions": "suggestions.gpkg"},
    "cleannetwork": {"lines": "lines.gpkg", "roads": "roads.gpkg"},
    "scorenetwork": {
        "truth": "truth.gpkg",
        "proposal": "roads.gpkg",
        "truth_speed_field": "speed",  # of which both layers have one, or none
        "proposal_speed_field": "speed",
    },
    "sampleaccuracy": {"lines": "lines.gpkg", "sample": "sample.gpkg"},
    "checkaccuracy": {"sample": "sample.gpkg"},
    "exportnetwork": {"lines": "lines.gpkg", "graphml": "graph.graphml"},
    "comparenetworks": {
        "before": "before.gpkg",
        "after": "after.gpkg",
        "places": "places.gpkg",  # which origins and damage need
        "before_speed_field": "speed",  # of which both layers have one, or none
        "after_speed_field": "speed",
    },
    "getosmdata": {"extract": "town.osm", "roads": "osm.gpkg"},
    "roadstatus": {
        "lines": "roads.gpkg",
        "raster": "image.tif",
        "model": "model.safetensors",
        "sites": "sites.gpkg",  # which their layer needs
        "status": "state.gpkg",
    },
    "applyreview": {"lines": "roads.gpkg", "review": "places.gpkg", "roads": "reviewed.gpkg"},
    "makechallenge": {"layer": "changes.gpkg", "challenge": "challenge.geojson"},
    "exportchanges": {"changes": "changes.gpkg", "extract": "town.osm", "osc": "town.osc"},
    "exportchips": {
        "rasters": ["image.tif"],
        "roads": "roads.gpkg",
        "folder": "chips",
        "chip_px": 4096,  # more than any overlap
    },
    "exportmodel": {"model": "model.safetensors", "onnx": "model.onnx"},
    "mergemodels": {
        "models": ["a.safetensors", "b.safetensors"],
        "weights": [1.0, 1.0],  # one a model, or none
        "model": "model.safetensors",
    },
    "quantize": {
        "model": "model.safetensors",
        "rasters": ["image.tif"],
        "roads": "roads.gpkg",  # which an area of interest, and places without a road, need
        "onnx": "model.onnx",
    },
    "makescene": {"raster": "image.tif", "roads": "roads.gpkg"},
    "profile": {"what": "inference"},  # which every engine does
    "compareprofiles": {"before": "before.json", "after": "after.json"},
    "live": {"raster": "image.tif", "folder": "session"},
    "trace": {"raster": "probability.tif"},
}


def numbers(job):
    return [field for field in job.option_fields() if field.item_type in (int, float)]


def with_value(job, field, value):
    values = [value] * len(FILLED[job.name].get(field.name, [value])) if field.is_list else value
    return from_options(job, {**FILLED[job.name], field.name: values})


def refusal(make, *arguments):
    """Return why options are refused, or nothing where they are not."""
    try:
        make(*arguments)
    except JobError as error:
        return str(error)
    return ""


@EVERY_JOB
def test_the_required_options_suffice(job):
    job_ = from_options(job, FILLED[job.name])
    assert from_json(job_.to_json()) == job_ == from_options(job, dataclasses.asdict(job_))
    for field in job.option_fields():
        if field.name not in FILLED[job.name]:
            assert getattr(job_, field.name) == field.default


@EVERY_JOB
def test_a_required_field_that_is_empty_or_missing_and_an_unknown_one_are_named(job):
    for field in (field for field in job.option_fields() if field.option.required):
        options = {**FILLED[job.name], field.name: () if field.name in ("rasters", "models") else ""}
        assert f"({field.name}) is missing" in refusal(from_options, job, options), field.name
        if not field.default:
            del options[field.name]
            assert f"({field.name}) is missing" in refusal(from_options, job, options), field.name
    assert "no field colour" in refusal(from_options, job, {**FILLED[job.name], "colour": "red"})


def ranges(job):
    """Every number of a job with its limits, and the infinity that lies beyond each."""
    for field in numbers(job):
        yield field, field.option.minimum, -math.inf
        yield field, field.option.maximum, math.inf


@EVERY_JOB
def test_a_number_out_of_its_range_is_refused_with_the_range(job):
    for field, limit, beyond in ranges(job):
        if limit is None:
            continue
        with_value(job, field, field.item_type(limit))
        if field.item_type is float:
            assert all(f"({field.name})" in refusal(with_value, job, field, each) for each in (math.nan, beyond))
        outside = limit + math.copysign(1, beyond) if field.item_type is int else math.nextafter(limit, beyond)
        with pytest.raises(JobError, match=rf"\({field.name}\) cannot be") as refused:
            with_value(job, field, field.item_type(outside))
        assert describe_range(field.option) in refused.value.remedy


@pytest.mark.parametrize("value", [None, True, {}, b"bytes", 10**400, 1.5, "word"], ids=lambda value: repr(value)[:8])
@EVERY_JOB
def test_a_value_of_the_wrong_type_is_refused(job, value):
    for field in job.option_fields():
        if type(value) is not field.item_type:
            assert f"({field.name})" in refusal(with_value, job, field, value), field.name


@pytest.mark.parametrize("value", ["image.tif", 3, None, {"image.tif": 1}])
@EVERY_JOB
def test_a_list_must_be_a_list(job, value):
    for field in job.option_fields():
        if field.is_list:
            options = {**FILLED[job.name], field.name: value}
            assert f"({field.name}) must be a list" in refusal(from_options, job, options), field.name


@pytest.mark.parametrize(
    ("job", "options", "message"),
    [
        (FineTune, {"rasters": ["image.tif", ""]}, r"\(rasters\) is missing"),
        (FineTune, {"sample": "image", "base_model": ""}, r"Whole images \(sample\).*need a base model"),
        (FineTune, {"processes": "2", "pipeline_stages": 2, "encoder_rate": 0.1}, r"\(encoder_rate 0.1\)"),
        (ExportNetwork, {"graphml": ""}, r"nothing to write.*\(graphml\).*\(geopackage\)"),
        (Profile, {"chip_px": 63}, r"\(chip_px\) cannot be 63\..*at least 64 px, or 0"),
        (Segment, {"raster": ""}, r"\(raster\).*\(rasters\)"),
        (Segment, {"rasters": ["b.tif"], "folder": "f"}, "not both"),
        (Segment, {"mask": ""}, r"nothing to write.*\(mask\).*\(probability\)"),
        (Segment, {"raster": "", "rasters": ["a.tif"]}, r"\(folder\)"),
        (Segment, {"raster": "", "rasters": ["a.tif"], "folder": "f", "probability": "p.tif"}, r"\(probability\)"),
    ],
)
def test_options_that_do_not_fit_each_other_are_refused(job, options, message):
    with pytest.raises(JobError, match=message):
        from_options(job, {**FILLED[job.name], **options})


@pytest.mark.parametrize(
    ("job", "field", "good", "bad"),
    [
        (
            Segment,
            "halo",
            ("auto", "exact", "0", "128", "4096"),
            ("", "wide", "-1", "1.5", "4097", "²", "9" * 5000, "0" * 5000),
        ),
        (FineTune, "processes", ("auto", "1", "4"), ("", "many", "0", "-1", "1.5", "1025", "²", "9" * 5000)),
    ],
)
def test_a_number_or_a_word_is_one_of_them(job, field, good, bad):
    options = {**FILLED[job.name], **({"accumulation": 4096} if job is FineTune else {})}
    for value in good:
        assert getattr(from_options(job, {**options, field: value}), field) == value
    for value in bad:
        assert f"({field})" in refusal(from_options, job, {**options, field: value}), value
    if job is FineTune:
        few = refusal(from_options, job, {**options, field: "4", "accumulation": 3})
        assert "4 processes" in few and "3 batches a step cannot" in few and "accumulation" in few


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({"sample": "image"}, {"batch_norm": "frozen"}),
        ({"pipeline_stages": 2}, {"processes": "2", "batch_size": 2, "accumulation": 2}),
        ({"pipeline_stages": 3, "processes": "5", "accumulation": 4}, {"processes": "3"}),
        ({"pipeline_stages": 3, "processes": "auto"}, {"batch_size": 1, "accumulation": 4}),
        ({"pipeline_stages": 2, "processes": "4", "batch_size": 1}, {"accumulation": 4}),
        ({"pipeline_stages": 2, "processes": "2", "accumulation": 2}, {}),
    ],
)
def test_what_whole_images_and_pipelines_need_besides_is_set_and_told(asked, expected):
    job = from_options(FineTune, {**FILLED["finetune"], "processes": "1", "accumulation": 1, **asked})
    completed, told = job.completed()
    assert completed == dataclasses.replace(job, **expected)
    assert len(told) == bool(expected) + ("processes" in expected and "accumulation" in expected)
    completed.validate()
    assert completed.completed() == (completed, [])


@pytest.mark.parametrize(
    ("job", "options"),
    [
        (Segment, {"mask": "out.tif", "probability": "out.tif"}),
        (Segment, {"mask": "out.tif", "probability": "./folder/../out.tif"}),
        (ExtractRoads, {"roads": "out.gpkg", "mask": "out.gpkg"}),
        (FineTune, {"model": "out", "report": "out"}),
        (MakeScene, {"raster": "out", "roads": "out"}),
    ],
)
def test_two_outputs_in_one_file_are_refused(job, options):
    with pytest.raises(JobError, match=" and .*".join(rf"\({field}\)" for field in options)):
        from_options(job, {**FILLED[job.name], **options})


def test_two_outputs_in_one_file_by_two_names_are_refused(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "there").write_text("")
    (tmp_path / "as well").hardlink_to(tmp_path / "there")
    for one, other in (("real/a", "link/a"), ("real/a", "link/../real/./a"), ("there", "as well")):
        with pytest.raises(JobError, match=r"\(raster\) and .*\(roads\) are the same file") as refused:
            from_options(MakeScene, {"raster": str(tmp_path / one), "roads": str(tmp_path / other)})
        assert refused.value.remedy
    assert from_options(MakeScene, {"raster": str(tmp_path / "real/a"), "roads": str(tmp_path / "real/b")})


def test_outputs_that_windows_would_send_to_a_device_are_refused_there(monkeypatch):
    outputs = {"raster": r"C:\maps\aux.tif", "roads": r"C:\maps\roads.gpkg"}
    assert from_options(MakeScene, outputs)
    monkeypatch.setattr(import_module(Job.__module__), "impossible_name", partial(impossible_name, system="win32"))
    with pytest.raises(
        JobError, match=r"\(raster\) is .*aux\.tif', but Windows allows no file named 'aux\.tif'"
    ) as why:
        from_options(MakeScene, outputs)
    assert "CON or NUL" in why.value.remedy


def test_a_path_that_is_not_utf_8_survives():
    path = os.fsdecode(b"stra\xdfe.tif")
    job = Vectorize(raster=path, roads="roads.gpkg")
    assert from_json(job.to_json().encode("utf-8").decode("utf-8")).raster == path


@pytest.mark.parametrize(
    "text",
    [
        *("", "[]", "{}", '{"job": "segment", "version": 1}', '{"job": "segment", "version": 1, "options": null}'),
        '{"job": ["segment"], "version": 1, "options": {}}',
        '{"job": "drive", "version": 1, "options": {}}',
        '{"job": "makescene", "version": 1, "options": [["raster", "a.tif"], ["roads", "b.gpkg"]]}',
        '{"job": "makescene", "version": 1, "options": {"raster": "a", "raster": "b", "roads": "c"}}',
        '{"job": "makescene", "version": 1, "options": {"raster": "a", "roads": "c", "extra": NaN}}',
        "[" * 100_000,
        Vectorize(raster="mask.tif", roads="roads.gpkg").to_json()[:-5],
        pickle.dumps(Vectorize(raster="mask.tif", roads="roads.gpkg")).decode("latin-1"),
    ],
    ids=lambda text: text[:30],
)
def test_what_is_no_job_file_is_refused(text):
    with pytest.raises(JobError, match="not a RoadSeg job file") as refused:
        from_json(text)
    assert refused.value.remedy


@pytest.mark.parametrize("version", [0, 2, "1", None, True, 1.0, [1], "9" * 10_000])
def test_a_job_file_of_another_version_is_refused(version):
    document = {**json.loads(Vectorize(raster="mask.tif", roads="roads.gpkg").to_json()), "version": version}
    with pytest.raises(JobError, match="The job file has version .*reads version 1") as refused:
        from_json(json.dumps(document))
    assert repr(version)[:30].rstrip("'") in str(refused.value) and len(str(refused.value)) < 500


ANY_JSON = [None, True, 0, -1, 1.5, 1e308, -(10**19), "", "x", "x" * 100_000, "\0", "a\0b", "\ud800", "a\udfff", [],
            [[]], ["x"], [None], [1.5], ["\0"], [["x"]], {}, {"x": 1}]  # fmt: skip


@EVERY_JOB
def test_any_json_value_in_any_field_makes_a_job_or_is_refused_in_a_short_sentence_that_names_the_field(job):
    for field in job.option_fields():
        for value in ANY_JSON:
            text = json.dumps({"job": job.name, "version": 1, "options": {**FILLED[job.name], field.name: value}})
            try:
                from_json(text)
            except JobError as error:
                assert field.name in str(error) and len(error.message) < 500, (field.name, value)
                assert error.message.endswith(".") and error.remedy.endswith("."), (field.name, value)
                assert shown_as_text(error.message), (field.name, value)


def shown_as_text(message):
    return message.encode("utf-8", "surrogateescape").isascii() or message.isprintable()
