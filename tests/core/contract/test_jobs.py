import dataclasses
import json
import math
import os
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from training_core.errors import JobError
from training_core.jobs import (
    JOBS,
    OUTPUT_KINDS,
    Evaluate,
    ExportNetwork,
    ExtractRoads,
    FineTune,
    MakeScene,
    Segment,
    Vectorize,
    describe_range,
    from_json,
    from_options,
)

FIELDS = [(job, field) for job in JOBS.values() for field in job.option_fields()]
NUMBERS = [(job, field) for job, field in FIELDS if field.item_type in (int, float)]

# The least that each job wants.
FILLED = {
    "finetune": {
        "rasters": ["image.tif"],
        "roads": "roads.gpkg",
        "base_model": "base.safetensors",  # which stages that keep its weights need
        "model": "model.safetensors",
    },
    "segment": {"raster": "image.tif", "model": "model.safetensors", "mask": "mask.tif"},
    "vectorize": {"raster": "mask.tif", "roads": "roads.gpkg"},
    "extractroads": {"raster": "image.tif", "model": "model.safetensors", "roads": "roads.gpkg"},
    "evaluate": {"rasters": ["image.tif"], "roads": "roads.gpkg", "model": "model.safetensors"},
    "suggestlabels": {"raster": "probability.tif", "suggestions": "suggestions.gpkg"},
    "cleannetwork": {"lines": "lines.gpkg", "roads": "roads.gpkg"},
    "scorenetwork": {
        "truth": "truth.gpkg",
        "proposal": "roads.gpkg",
        "truth_speed_field": "speed",  # of which both layers have one, or none
        "proposal_speed_field": "speed",
    },
    "exportnetwork": {"lines": "lines.gpkg", "graphml": "graph.graphml"},
    "comparenetworks": {
        "before": "before.gpkg",
        "after": "after.gpkg",
        "places": "places.gpkg",  # which origins and damage need
        "before_speed_field": "speed",  # of which both layers have one, or none
        "after_speed_field": "speed",
    },
    "exportmodel": {"model": "model.safetensors", "onnx": "model.onnx"},
    "quantize": {
        "model": "model.safetensors",
        "rasters": ["image.tif"],
        "roads": "roads.gpkg",  # which an area of interest needs
        "onnx": "model.onnx",
    },
    "makescene": {"raster": "image.tif", "roads": "roads.gpkg"},
}


def name(item):
    job, field = item
    return f"{job.name} {field.name}"


def with_value(job, field, value):
    return from_options(job, {**FILLED[job.name], field.name: [value] if field.is_list else value})


@pytest.mark.parametrize("job", JOBS.values(), ids=JOBS)
def test_every_field_says_what_it_is(job):
    assert job.title and job.__doc__
    for field in job.option_fields():
        assert field.option.label and field.option.help.endswith("."), field.name
        assert field.item_type in (str, int, float, bool), field.name
        assert field.option.kind not in OUTPUT_KINDS or field.default == ""


@pytest.mark.parametrize("job", JOBS.values(), ids=JOBS)
def test_the_least_that_a_job_wants_is_enough(job):
    job_ = from_options(job, FILLED[job.name])
    job_.validate()
    for field in job.option_fields():
        if field.name not in FILLED[job.name]:
            assert getattr(job_, field.name) == field.default


@pytest.mark.parametrize(
    ("job", "missing"),
    [(job, field.name) for job, field in FIELDS if field.option.required],
)
def test_a_required_field_that_is_empty_is_named(job, missing):
    with pytest.raises(JobError, match=rf"\({missing}\) is missing"):
        from_options(job, {**FILLED[job.name], missing: () if missing == "rasters" else ""})


@pytest.mark.parametrize(
    ("job", "missing"),
    [(job, field.name) for job, field in FIELDS if field.option.required and not field.default],
)
def test_a_missing_field_is_named(job, missing):
    options = {key: value for key, value in FILLED[job.name].items() if key != missing}
    with pytest.raises(JobError, match=rf"\({missing}\) is missing"):
        from_options(job, options)


@pytest.mark.parametrize("item", NUMBERS, ids=name)
def test_a_number_out_of_its_range_is_refused_with_the_range(item):
    job, field = item
    for limit, beyond in ((field.option.minimum, -math.inf), (field.option.maximum, math.inf)):
        if limit is None:
            continue
        with_value(job, field, field.item_type(limit))
        outside = limit + math.copysign(1, beyond) if field.item_type is int else math.nextafter(limit, beyond)
        with pytest.raises(JobError, match=rf"\({field.name}\) is") as refusal:
            with_value(job, field, field.item_type(outside))
        assert describe_range(field.option) in refusal.value.remedy


@pytest.mark.parametrize("item", [item for item in NUMBERS if item[1].item_type is float], ids=name)
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_is_out_of_every_range(item, value):
    with pytest.raises(JobError, match=rf"\({item[1].name}\)"):
        with_value(*item, value)


@pytest.mark.parametrize("item", FIELDS, ids=name)
@pytest.mark.parametrize("value", [None, True, {}, b"bytes", 10**400, 1.5, "word"], ids=lambda value: repr(value)[:8])
def test_a_value_of_the_wrong_type_is_refused(item, value):
    job, field = item
    if type(value) is field.item_type:
        return
    with pytest.raises(JobError, match=rf"\({field.name}\)"):
        with_value(job, field, value)


@pytest.mark.parametrize("item", [item for item in FIELDS if item[1].is_list], ids=name)
@pytest.mark.parametrize("value", ["image.tif", 3, None, {"image.tif": 1}])
def test_a_list_must_be_a_list(item, value):
    job, field = item
    with pytest.raises(JobError, match=rf"\({field.name}\) must be a list"):
        from_options(job, {**FILLED[job.name], field.name: value})


def test_an_empty_path_in_a_list_is_missing():
    with pytest.raises(JobError, match=r"\(rasters\) is missing"):
        from_options(FineTune, {**FILLED["finetune"], "rasters": ["image.tif", ""]})


@pytest.mark.parametrize("item", [item for item in FIELDS if item[1].option.choices], ids=name)
def test_an_unknown_choice_is_refused_with_those_that_are(item):
    job, field = item
    with pytest.raises(JobError, match=rf"\({field.name}\) is 'abacus'") as refusal:
        with_value(job, field, "abacus")
    assert all(choice in refusal.value.remedy for choice in field.option.choices)


@pytest.mark.parametrize("job", JOBS.values(), ids=JOBS)
def test_an_unknown_field_is_named(job):
    with pytest.raises(JobError, match="no field colour"):
        from_options(job, {**FILLED[job.name], "colour": "red"})


def test_whole_numbers_serve_where_fractions_do():
    assert from_options(FineTune, {**FILLED["finetune"], "minutes": 3}).minutes == 3.0


@pytest.mark.parametrize("halo", ["auto", "exact", "0", "128", "4096"])
def test_a_halo_is_a_word_or_a_number(halo):
    assert from_options(Segment, {**FILLED["segment"], "halo": halo}).halo == halo


@pytest.mark.parametrize("halo", ["", "wide", "-1", "1.5", "4097", "²"])
def test_another_halo_is_refused(halo):
    with pytest.raises(JobError, match=r"\(halo\)"):
        from_options(Segment, {**FILLED["segment"], "halo": halo})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": "m", "mask": "mask.tif"}, r"\(raster\).*\(rasters\)"),
        ({"model": "m", "raster": "a.tif", "rasters": ["b.tif"], "folder": "f"}, "not both"),
        ({"model": "m", "raster": "a.tif"}, "nothing to write.*(mask).*(probability)"),
        ({"model": "m", "rasters": ["a.tif"]}, r"\(folder\)"),
        ({"model": "m", "rasters": ["a.tif"], "folder": "f", "probability": "p.tif"}, r"\(probability\)"),
    ],
)
def test_segment_wants_one_image_with_an_output_or_several_with_a_folder(options, message):
    with pytest.raises(JobError, match=message):
        from_options(Segment, options)


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


def test_a_network_is_not_exported_to_nowhere():
    with pytest.raises(JobError, match=r"nothing to write.*\(graphml\).*\(geopackage\)"):
        from_options(ExportNetwork, {"lines": "lines.gpkg"})


def test_layers_may_share_a_file():
    assert from_options(Vectorize, {"raster": "mask.tif", "roads": "out.gpkg", "nodes": "out.gpkg"}).nodes == "out.gpkg"


def values_of(field):
    option = field.option
    if option.choices:
        values = st.sampled_from(option.choices)
    elif field.item_type is bool:
        values = st.booleans()
    elif field.item_type is int:
        values = st.integers(int(option.minimum), int(option.maximum))
    elif field.item_type is float:
        values = st.floats(option.minimum, option.maximum)
    elif field.name == "halo":
        values = st.sampled_from(["auto", "exact"]) | st.integers(0, 4096).map(str)
    else:
        values = st.text(min_size=1)
    return st.lists(values, min_size=1, max_size=3) if field.is_list else values


def any_options(job):
    """Options of a job, outputs left out that could fall together, and images given in one way only."""
    fields = [field for field in job.option_fields() if field.option.kind not in OUTPUT_KINDS]
    fields = [field for field in fields if job is not Segment or field.name not in ("rasters", "folder")]
    given_ = st.fixed_dictionaries({}, optional={field.name: values_of(field) for field in fields})
    return given_.map(lambda options: (job, {**FILLED[job.name], **options}))


def test_a_path_in_no_encoding_survives():
    path = os.fsdecode(b"stra\xdfe.tif")
    job = Vectorize(raster=path, roads="roads.gpkg")
    assert from_json(job.to_json().encode("utf-8").decode("utf-8")).raster == path


@given(st.sampled_from(list(JOBS.values())).flatmap(any_options))
def test_a_job_travels_as_json(job_and_options):
    job = from_options(*job_and_options)
    text = job.to_json()
    assert from_json(text.encode("utf-8").decode("utf-8")) == job
    assert json.loads(text)["job"] == job.name
    assert from_options(type(job), dataclasses.asdict(job)) == job


@pytest.mark.parametrize(
    "text",
    [
        "",
        "roads",
        "[]",
        "null",
        "3",
        '"job"',
        "{}",
        '{"job": "segment"}',
        '{"job": "segment", "version": 1}',
        '{"job": "segment", "version": 1, "options": "all"}',
        '{"job": "segment", "version": 1, "options": null}',
        '{"job": ["segment"], "version": 1, "options": {}}',
        '{"job": "drive", "version": 1, "options": {}}',
        "[" * 100_000,
        Vectorize(raster="mask.tif", roads="roads.gpkg").to_json()[:-5],
        pickle.dumps(Vectorize(raster="mask.tif", roads="roads.gpkg")).decode("latin-1"),
    ],
    ids=lambda text: text[:30],
)
def test_what_is_no_job_file_is_refused(text):
    with pytest.raises(JobError, match="not a RoadSeg job file") as refusal:
        from_json(text)
    assert refusal.value.remedy


@pytest.mark.parametrize("version", [0, 2, "1", None])
def test_a_job_file_of_another_version_says_so(version):
    document = {**json.loads(Vectorize(raster="mask.tif", roads="roads.gpkg").to_json()), "version": version}
    with pytest.raises(JobError, match=f"version {version}.*reads version 1"):
        from_json(json.dumps(document))


def test_a_job_file_with_a_bad_field_names_it():
    document = json.loads(from_options(Evaluate, FILLED["evaluate"]).to_json())
    document["options"]["tolerance_m"] = "near"
    with pytest.raises(JobError, match=r"Tolerance \(tolerance_m\)"):
        from_json(json.dumps(document))
