"""The table of pairs: the right outcome where an output of a job is the input of another.

`RUNS` makes all outputs on one small ground, `HOLDS` has the content of each of their files, and `RIGHT` the outcome at
each input: a number, or a refusal. `pairs()` combines files and inputs by the declarations of the jobs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Union

from tests.core.pipelines import pair_numbers as numbers
from training_core import jobs
from training_core.jobs import JOBS

# Outputs that no job reads, and how the names of the others end.
UNREAD = (jobs.HTML_OUTPUT, jobs.GRAPHML_OUTPUT)
# A layer to look at.
NOT_MADE = {("roadstatus", "arrows")}
ENDINGS = {
    jobs.RASTER_OUTPUT: ".tif", jobs.VECTOR_OUTPUT: ".gpkg", jobs.GEOPACKAGE_OUTPUT: ".gpkg",
    jobs.OSM_OUTPUT: ".osm.pbf", jobs.MODEL_OUTPUT: ".safetensors", jobs.ONNX_OUTPUT: ".onnx",
    jobs.JSON_OUTPUT: ".json", jobs.CHALLENGE_OUTPUT: ".geojson", jobs.OSC_OUTPUT: ".osc", jobs.HTML_OUTPUT: ".html",
    jobs.GRAPHML_OUTPUT: ".graphml", jobs.FOLDER_OUTPUT: "", jobs.FOLDER: "",
}  # fmt: skip

# Contents of files and folders, by the kinds of inputs that take them.
IMAGE, MASK, PROBABILITY, CLASSES = "an image", "a mask", "a probability", "classes"
LINES, CHANGES, POINTS, BREAKS, PATCHES, SCENES = "lines", "changes", "points", "breaks", "patches", "scenes"
# Samples and places to review are read once a person has judged them.
SAMPLE = "a sample"
# Layers of OpenStreetMap: roads are lines like any others.
RAILS, GROUND = "railways", "ground without roads"
NO_LINES, NO_BREAKS, OSM, OSC = "no lines", "no breaks", "an OpenStreetMap file", "a change file"
MODEL, ONNX, QUANTIZED = "a model", "an ONNX model", "a quantized model"
CHIPS, MASKS, REGION, SESSION = "chips", "masks", "a region", "a session"
PROFILE, JSON, CHALLENGE, ITEMS = "a profile", "other numbers", "a challenge", "STAC items"
_RASTERS = (IMAGE, MASK, PROBABILITY, CLASSES)
READS = {
    jobs.RASTER: _RASTERS,
    jobs.RASTERS: (*_RASTERS, CHIPS, MASKS, REGION),
    jobs.VECTOR: (LINES, CHANGES, POINTS, BREAKS, PATCHES, SCENES, NO_LINES, NO_BREAKS, OSM, RAILS, GROUND),
    jobs.AREAS: (*_RASTERS, LINES, CHANGES, POINTS, BREAKS, PATCHES, SCENES, NO_LINES, NO_BREAKS, OSM, RAILS, GROUND),
    jobs.MODEL: (MODEL, ONNX, QUANTIZED),
    jobs.MODELS: (MODEL, ONNX, QUANTIZED),
    jobs.FOLDER: (CHIPS, MASKS, REGION, SESSION),
    jobs.PROFILE: (PROFILE, JSON),
    jobs.CHALLENGE: (CHALLENGE,),
    jobs.OSM_EXTRACT: (OSM, OSC),
}
# A text that stands for scenes in several forms has no kind.
SOURCE = "mapregion.source"

# The runs that make the outputs: the job is the first word; `@` stands for the ground. An output is called
# `<run>.<field>` with the ending of its kind, unless it has another name here, or an empty one: then it is not made.
_NATIVE = {"engine": "native", "precision": "fp32", "threads": 1}
_DRAWN = {"rasters": ["@makescene.raster.tif"], "roads": "@makescene.roads.gpkg"}
_MODEL = {"model": "@finetune.model.safetensors", **_NATIVE}
RUNS: dict[str, dict[str, Any]] = {
    "makescene": {"size_px": 512, "layout": "grid", "seed": 5},
    "finetune": {**_DRAWN, **_NATIVE, "class_field": "road_class", "steps": 2, "batch_size": 2, "chip_px": 64,
                 "batch_norm": "frozen", "learning_rate": 1e-6, "interpolation": "no"},
    "segment": {**_MODEL, "raster": "@makescene.raster.tif", "folder": ""},
    "segment several": {**_MODEL, "rasters": ["@makescene.raster.tif"], "mask": "", "probability": "", "classes": ""},
    "vectorize": {"raster": "@segment.probability.tif", "classes": "@segment.classes.tif"},
    "trace": {"raster": "@segment.probability.tif"},
    "vectorize nothing": {"raster": "@segment.probability.tif", "min_area_m2": 1e6},
    "extractroads": {**_MODEL, "raster": "@makescene.raster.tif"},
    "mapregion": {**_MODEL, "rasters": ["@makescene.raster.tif"]},
    "cleannetwork": {"lines": "@vectorize.roads.gpkg"},
    "evaluate": {**_MODEL, **_DRAWN},
    "suggestlabels": {"raster": "@segment.probability.tif", "patch_m": 40.0, "count": 3},
    "scorenetwork": {"truth": "@makescene.roads.gpkg", "proposal": "@vectorize.roads.gpkg"},
    "sampleaccuracy": {"lines": "@vectorize.roads.gpkg", "raster": "@segment.probability.tif", "count": 40},
    "checkaccuracy": {"sample": "@judged.gpkg"},
    "roadstatus": {**_MODEL, "lines": "@makescene.roads.gpkg", "raster": "@makescene.raster.tif",
                   "sites": "@vectorize.nodes.gpkg", "arrows": ""},
    "applyreview": {"lines": "@vectorize.roads.gpkg", "review": "@reviewed.gpkg"},
    "exportnetwork": {"lines": "@vectorize.roads.gpkg"},
    "exportnetwork for editors": {"lines": "@vectorize.roads.gpkg", "osm": "@for editors.osm", "graphml": "",
                                  "geopackage": ""},
    "comparenetworks": {"before": "@makescene.roads.gpkg", "after": "@vectorize.roads.gpkg",
                        "places": "@vectorize.nodes.gpkg"},
    "comparenetworks of an extract": {"before": "@extract.osm.pbf", "after": "@makescene.roads.gpkg",
                                      "reached": ""},
    "getosmdata": {"extract": "@extract.osm.pbf"},
    "makechallenge": {"layer": "@comparenetworks.changes.gpkg"},
    "exportchanges": {"changes": "@comparenetworks of an extract.changes.gpkg",
                      "extract": "@extract.osm.pbf"},
    "exportmodel": {"model": "@finetune.model.safetensors"},
    "quantize": {"model": "@finetune.model.safetensors", "rasters": ["@makescene.raster.tif"], "chips": 12,
                 "chip_px": 128, "threads": 1},
    "mergemodels": {"models": ["@finetune.model.safetensors"] * 2, "threads": 1},
    "exportchips": {**_DRAWN, "chip_px": 128},
    "exportchips coco": {**_DRAWN, "chip_px": 128, "format": "coco"},
    "exportchips esri": {**_DRAWN, "chip_px": 128, "format": "esri"},
    "profile": {**_MODEL, "raster": "@makescene.raster.tif", "what": "inference", "seconds": 1.0, "tile_px": 64},
    "compareprofiles": {"before": "@profile.profile.json", "after": "@profile.profile.json"},
    "live": {"raster": "@makescene.raster.tif", "roads": "@makescene.roads.gpkg", "precision": "fp32", "threads": 1,
             "base_model": "@finetune.model.safetensors"},
}  # fmt: skip

# A model to which all is road survives any quantization, in seconds; its IoU is the fraction of road.
_SURE = {"model": "@sure.safetensors"}
# Inputs that are not tried with the run called as their job: the other run, and further options. `=` stands for the
# file that the input is given, unless that is empty.
RUN_OF = {"segment.rasters": "segment several", "segment.folder": "segment several"}
WITH: dict[str, dict[str, Any]] = {
    **{f"finetune.{field}": {"class_field": ""} for field in ("rasters", "roads", "aoi", "no_road", "base_model")},
    # From random weights, with live batch norm, since two steps do not better a starter, which would be kept.
    "finetune.masks": {"class_field": "", "roads": "", "base_model": "", "batch_norm": "live"},
    **{f"{job}.masks": {"roads": ""} for job in ("evaluate", "exportchips")},
    "quantize.masks": {**_SURE, "roads": ""},
    **{f"quantize.{field}": {**_SURE} for field in ("rasters", "roads")},
    **{f"quantize.{field}": {**_SURE, "roads": "@makescene.roads.gpkg"} for field in ("aoi", "no_road")},
    **{f"live.{field}": {"roads": ""} for field in ("aoi", "no_road")},
    "vectorize.raster": {"classes": "", "links": ""},
    "mapregion.source": {"rasters": []},
    "roadstatus.rasters": {"dates": "2024-09-29"},
    "scorenetwork.truth": {"proposal": "="},
    "scorenetwork.proposal": {"truth": "="},
    "comparenetworks.before": {"after": "=", "places": "", "reached": ""},
    "comparenetworks.after": {"before": "=", "places": "", "reached": ""},
    "makechallenge.extract": {"layer": "@comparenetworks of an extract.changes.gpkg"},
}

_REGION = "mapregion.folder/masks/makescene.raster"
HOLDS = {
    "makescene.raster.tif": IMAGE, "makescene.roads.gpkg": LINES, "finetune.model.safetensors": MODEL,
    "segment.mask.tif": MASK, "segment.probability.tif": PROBABILITY, "segment.classes.tif": CLASSES,
    "segment several.folder": MASKS, "segment several.folder/makescene.raster_roads.tif": MASK,
    "vectorize.roads.gpkg": LINES, "vectorize.nodes.gpkg": POINTS, "vectorize.links.gpkg": LINES,
    "vectorize.breaks.gpkg": BREAKS, "vectorize nothing.roads.gpkg": NO_LINES,
    "vectorize nothing.breaks.gpkg": NO_BREAKS, "extractroads.roads.gpkg": LINES, "extractroads.links.gpkg": LINES,
    "extractroads.breaks.gpkg": BREAKS, "extractroads.mask.tif": MASK, "extractroads.classes.tif": CLASSES,
    "extractroads.probability.tif": PROBABILITY,
    "mapregion.folder": REGION, "mapregion.folder/index.gpkg": SCENES, "mapregion.roads.gpkg": LINES,
    f"{_REGION}_mask.tif": MASK, f"{_REGION}_probability.tif": PROBABILITY, f"{_REGION}_classes.tif": CLASSES,
    "cleannetwork.roads.gpkg": LINES, "cleannetwork.nodes.gpkg": POINTS, "evaluate.scores.json": JSON,
    "suggestlabels.suggestions.gpkg": PATCHES, "scorenetwork.errors.gpkg": LINES, "scorenetwork.scores.json": JSON,
    "exportnetwork.geopackage.gpkg": POINTS, "exportnetwork.geopackage.gpkg|layername=edges": LINES,
    "exportnetwork.osm.osm.pbf": OSM, "for editors.osm": OSM, "comparenetworks.changes.gpkg": CHANGES,
    "comparenetworks of an extract.changes.gpkg": CHANGES, "comparenetworks.reached.gpkg": POINTS,
    "comparenetworks.numbers.json": JSON, "exportchanges.osc.osc": OSC,
    "makechallenge.challenge.geojson": CHALLENGE, "exportmodel.onnx.onnx": ONNX, "exportmodel.stac_item.json": JSON,
    "quantize.onnx.onnx": QUANTIZED, "mergemodels.model.safetensors": MODEL, "exportchips.folder": CHIPS,
    "exportchips.folder/items.json": ITEMS, "exportchips coco.folder": CHIPS, "exportchips esri.folder": CHIPS,
    "sampleaccuracy.sample.gpkg": SAMPLE, "checkaccuracy.numbers.json": JSON,
    "getosmdata.roads.gpkg": LINES, "getosmdata.bridges.gpkg": LINES, "getosmdata.rails.gpkg": RAILS,
    **dict.fromkeys((f"getosmdata.{field}.gpkg" for field in ("water", "runways", "no_road")), GROUND),
    "applyreview.roads.gpkg": LINES, "roadstatus.status.gpkg": LINES, "roadstatus.reached.gpkg": POINTS,
    "applyreview.drawn.gpkg": LINES, "applyreview.no_road.gpkg": PATCHES, "applyreview.aoi.gpkg": PATCHES,
    "profile.profile.json": PROFILE, "profile.trace.json": JSON, "compareprofiles.differences.json": JSON,
    "live.folder": SESSION,
}  # fmt: skip


class Refused(NamedTuple):
    """An error with a code, and a message that a pattern is found in."""

    code: str
    words: str


same, labeled = numbers.same, numbers.labeled
Right = Union[Refused, numbers.Number]
Row = dict[str, Right]


def _all(contents: tuple[str, ...], right: Right) -> Row:
    return dict.fromkeys(contents, right)


_NO_IMAGE = Refused("imagery", "not an image")
_NO_RASTERS = Refused("imagery", "holds no raster")  # those of a region are in its subfolders
_NO_MASK = Refused("imagery", "color picture|values of unknown meaning")
_PROBABILITY_AS_LABELS = Refused("labels", "is a probability")
_ROADS, _AREAS, _NONE = (LINES, CHANGES, OSM), (PATCHES, SCENES), (NO_LINES, NO_BREAKS)
_OTHERS = (RAILS, GROUND)
_NOT_DRAWN, _NOT_LINES, _NOT_POLYGONS, _NOT_POINTS = (
    Refused("layer", f"must be {allowed}") for allowed in ("lines or polygons", "lines,", "polygons", "points")
)
_EMPTY = Refused("layer", "vectorize nothing")
_OSM_ROADS, _NO_WATER = ("getosmdata.roads.gpkg", "getosmdata.bridges.gpkg"), Refused("layer", "are water, railways")
_NO_HIGHWAY = Refused("layer", "without any road")


def _image(right: Right, of_chips: Right) -> Row:
    refused = {**_all((MASK, PROBABILITY, CLASSES, MASKS), _NO_IMAGE), REGION: _NO_RASTERS}
    return {IMAGE: right, CHIPS: of_chips, **refused}


def _one_image(right: Right) -> Row:
    return {IMAGE: right, **_all((MASK, PROBABILITY, CLASSES), _NO_IMAGE)}


def _masks(right: Right, of_chips: Right) -> Row:
    refused = {IMAGE: _NO_MASK, PROBABILITY: _PROBABILITY_AS_LABELS}
    return {**_all((MASK, MASKS, REGION, CLASSES), right), CHIPS: of_chips, **refused}


def _drawn(right: Right) -> Row:
    return {**_all((*_ROADS, *_AREAS), right), **_all((POINTS, BREAKS), _NOT_DRAWN), **_all(_NONE, _EMPTY),
            GROUND: right, RAILS: _NO_HIGHWAY}  # fmt: skip


def _unreviewed() -> Row:
    refused = Refused("layer", "field 'change'|field 'review'|No place|known 'change'")
    return _lines(refused, _EMPTY)


def _areas(right: Right) -> Row:
    refused = _all((*_ROADS, POINTS, BREAKS, RAILS), _NOT_POLYGONS)
    return {**_all((*_AREAS, GROUND), right), **refused, **_all(_NONE, _EMPTY)}


def _areas_or_mask(right: Right) -> Row:
    return {**_areas(right), IMAGE: _NO_MASK, **_all((MASK, PROBABILITY, CLASSES), right)}


def _places(right: Right, of_scene: Right, of_roads: Right) -> Row:
    """Places without a road, which are not in an extract of roads."""
    return {**_drawn(right), **_all(_OTHERS, right), SCENES: of_scene, OSM: of_roads, **_all(_OSM_ROADS, _NO_WATER)}


def _closed(key: str) -> Row:
    return _places(numbers.at_most(key), Refused("layer", "cover all of the images"), same(key))


def _lines(right: Right, of_none: Right) -> Row:
    refused = {**_all((POINTS, BREAKS, *_AREAS), _NOT_LINES), NO_BREAKS: _EMPTY, **_all(_OTHERS, _NO_HIGHWAY)}
    return {**_all(_ROADS, right), NO_LINES: of_none, **refused}


def _points(right: Right) -> Row:
    return {**_all((POINTS, BREAKS), right), **_all((*_ROADS, *_AREAS, *_OTHERS), _NOT_POINTS), **_all(_NONE, _EMPTY)}


def _model(right: Right, of_onnx: Right, of_quantized: Right) -> Row:
    return {MODEL: right, ONNX: of_onnx, QUANTIZED: of_quantized}


_NO_WEIGHTS = Refused("model", "ONNX model")
# Files that RoadSeg exports have ids of their own.
_OWN_IDS = "without a version|not in OpenStreetMap|has no road"
RIGHT: dict[str, Row] = {
    "finetune.rasters": _image(labeled, labeled),
    "finetune.roads": _drawn(labeled),
    "finetune.aoi": _areas(labeled),
    "finetune.no_road": _places(labeled, labeled, labeled),
    "finetune.masks": _masks(numbers.masked, numbers.masked),
    "finetune.base_model": _model(labeled, _NO_WEIGHTS, _NO_WEIGHTS),
    "segment.raster": _one_image(same("road_share")),
    # At the edges of chips the model does not see what continues beyond.
    "segment.rasters": _image(same("road_share"), same("road_share", within=0.35)),
    "segment.model": _model(same("road_share"), same("road_share", within=0.01), same("road_share", within=0.2)),
    "segment.aoi": _areas(numbers.known),
    "segment.no_road": _closed("road_share"),
    "segment.folder": _all((CHIPS, MASKS, REGION, SESSION), numbers.beside("road_share")),
    "vectorize.raster": {
        PROBABILITY: same("length_m", within=0.05),
        **_all((MASK, CLASSES), same("length_m", within=0.1)),  # which say less of weak roads
        IMAGE: Refused("imagery", "picture|bands"),
    },
    "trace.raster": {
        PROBABILITY: numbers.exactly("traced", 0),
        **_all((IMAGE, MASK, CLASSES), Refused("imagery", "not a road probability")),
    },
    "vectorize.no_road": _closed("length_m"),
    "vectorize.threshold_areas": _areas(Refused("layer", "no field 'threshold'")),
    "vectorize.classes": {
        CLASSES: same("length_m"),
        **_all((IMAGE, MASK, PROBABILITY), Refused("imagery", "no names and speeds")),
    },
    "extractroads.raster": _one_image(same("length_m")),
    "extractroads.model": _model(same("length_m"), same("length_m", within=0.01), same("length_m", within=0.2)),
    "extractroads.aoi": _areas(numbers.roads_within),
    "extractroads.no_road": _closed("length_m"),
    "mapregion.rasters": _image(same("length_m"), same("length_m", within=0.05)),
    "mapregion.model": _model(same("length_m"), same("length_m", within=0.01), same("length_m", within=0.2)),
    "mapregion.aoi": _areas(numbers.roads_within),
    "mapregion.no_road": _closed("length_m"),
    "mapregion.folder": {
        **_all((CHIPS, MASKS, SESSION), numbers.beside("length_m")),
        REGION: numbers.exactly("kept", 1),
    },
    SOURCE: {
        ITEMS: same("length_m", within=0.05),
        SCENES: Refused("imagery", "no field location"),
        JSON: Refused("imagery", "STAC|without an image"),
    },
    "cleannetwork.lines": _lines(numbers.on_given, numbers.exactly("count", 0)),
    "cleannetwork.bridges": _lines(same("length_m", within=0.05), same("length_m")),
    "evaluate.rasters": _image(labeled, labeled),
    "evaluate.roads": _drawn(labeled),
    "evaluate.aoi": _areas(labeled),
    "evaluate.no_road": _places(labeled, labeled, labeled),
    "evaluate.masks": _masks(numbers.exactly("pixel.iou", 1.0), labeled),
    "evaluate.model": _model(same("pixel.iou"), same("pixel.iou", within=0.01), same("pixel.iou", within=0.05)),
    "suggestlabels.raster": {
        PROBABILITY: same("mean_uncertainty"),
        **_all((IMAGE, MASK, CLASSES), Refused("imagery", "is a mask|picture")),
    },
    "suggestlabels.labeled": {
        **_areas(numbers.elsewhere),
        **_all((SCENES,), Refused("imagery", "is not labeled yet")),
    },
    "scorenetwork.truth": _lines(numbers.itself, _EMPTY),
    "scorenetwork.proposal": _lines(numbers.itself, numbers.exactly("apls.score", 0.0)),
    "scorenetwork.aoi": _areas(numbers.clipped("truth.length_m")),
    "sampleaccuracy.lines": _lines(numbers.exactly("stretches", 20), Refused("layer", "no features")),
    "sampleaccuracy.raster": {
        PROBABILITY: numbers.exactly("transects", 20),
        **_all((IMAGE, MASK, CLASSES), Refused("imagery", "is a mask|picture|bands|unknown meaning")),
    },
    "sampleaccuracy.aoi": _areas(numbers.exactly("transects", 20)),
    "checkaccuracy.sample": {
        **_all((NO_LINES, NO_BREAKS), _EMPTY),
        **_all((LINES, CHANGES, OSM), Refused("layer", "have no field|is '")),
        **_all((POINTS, BREAKS, PATCHES, SCENES, GROUND), Refused("layer", "must be lines")),
        RAILS: Refused("layer", "have no field"),
    },
    "roadstatus.lines": _lines(numbers.length, Refused("layer", "no features")),
    "roadstatus.raster": _one_image(same("seen_m")),
    "roadstatus.rasters": _image(same("seen_m"), same("seen_m")),
    "roadstatus.before": _one_image(same("outside_m")),
    "roadstatus.hazards": _areas(numbers.at_least("in_a_hazard_m")),
    "roadstatus.water": _areas_or_mask(numbers.at_least("under_water_m")),
    "roadstatus.clouds": _areas_or_mask(numbers.at_least("hidden_m")),
    "roadstatus.aoi": _areas(numbers.at_least("outside_m")),
    "roadstatus.sites": _points(numbers.counted("paths.sites")),
    "roadstatus.districts": _areas(same("seen_m")),
    "roadstatus.model": _model(same("seen_m"), same("seen_m", within=0.05), same("outside_m")),
    "getosmdata.extract": {OSM: numbers.osm_roads, OSC: Refused("layer", "format")},
    "getosmdata.aoi": _areas(numbers.some_roads),
    "applyreview.lines": _lines(numbers.at_least("not_found"), Refused("layer", "no features")),
    "applyreview.review": _unreviewed(),
    "applyreview.other_review": _unreviewed(),
    "applyreview.extracted_anew": _lines(numbers.same("reviewed_m"), numbers.exactly("machine_m", 0)),
    "exportnetwork.lines": {
        **_lines(numbers.length, numbers.exactly("edges", 0)),
        **dict.fromkeys(("vectorize.links.gpkg", "extractroads.links.gpkg"), numbers.alternatives),
    },
    "comparenetworks.before": _lines(numbers.exactly("intact.share", 1.0), numbers.exactly("before.lines", 0)),
    "comparenetworks.after": _lines(numbers.exactly("intact.share", 1.0), numbers.exactly("lost.share", 1.0)),
    "comparenetworks.aoi": _areas(numbers.clipped("before.length_m")),
    "comparenetworks.places": _points(numbers.counted("routes.places")),
    # Breaks may lie on a part of the network from which little can be reached.
    "comparenetworks.origins": {**_points(numbers.at_least("routes.reachable")), BREAKS: same("routes.places")},
    "comparenetworks.damage": _areas(numbers.at_least("routes.reachable")),
    "makechallenge.layer": {
        CHANGES: numbers.tasks,
        "roadstatus.status.gpkg": numbers.tasks,
        BREAKS: numbers.counted("tasks"),
        NO_BREAKS: numbers.exactly("tasks", 0),
        NO_LINES: numbers.exactly("tasks", 0),
        **_all((LINES, POINTS, PATCHES, SCENES, OSM, *_OTHERS), Refused("layer", "field 'change'|must be points")),
    },
    "makechallenge.earlier": {CHALLENGE: numbers.equal("kept", "tasks")},
    "makechallenge.extract": {OSM: Refused("layer", _OWN_IDS), OSC: Refused("layer", "format")},
    "exportchanges.changes": {
        CHANGES: Refused("layer", "extract"),
        "comparenetworks of an extract.changes.gpkg": same("roads"),
        **_all((NO_LINES, NO_BREAKS), _EMPTY),
        **_all(
            (LINES, POINTS, BREAKS, PATCHES, SCENES, OSM, *_OTHERS), Refused("layer", "field 'change'|must be lines")
        ),
    },
    "exportchanges.extract": {OSM: Refused("layer", _OWN_IDS), OSC: Refused("layer", "format")},
    "exportmodel.model": _model(same("megabytes", within=0.01), _NO_WEIGHTS, _NO_WEIGHTS),
    "quantize.model": _model(numbers.alike, numbers.alike, Refused("model", "already quantized")),
    "quantize.rasters": _image(numbers.alike, numbers.alike),
    # The few chips that validate show too little of areas as large as half the scene.
    "quantize.roads": {**_drawn(numbers.sure), GROUND: numbers.alike},
    "quantize.aoi": {**_areas(numbers.sure), "applyreview.no_road.gpkg": numbers.alike},
    "quantize.no_road": _places(numbers.sure, numbers.sure, numbers.sure),
    "quantize.masks": _masks(numbers.sure, numbers.sure),
    "mergemodels.models": _model(numbers.weights, _NO_WEIGHTS, _NO_WEIGHTS),
    "mergemodels.rasters": _image(numbers.exactly("chips", 4), numbers.exactly("chips", 16)),
    "exportchips.rasters": _image(labeled, labeled),
    "exportchips.roads": _drawn(labeled),
    "exportchips.aoi": _areas(labeled),
    "exportchips.no_road": _places(labeled, labeled, labeled),
    "exportchips.masks": _masks(numbers.masked, labeled),
    "profile.raster": _one_image(numbers.flop),
    "profile.model": _model(numbers.flop, *2 * [numbers.exactly("unaccounted_share", 0.0)]),
    "compareprofiles.before": {PROFILE: numbers.exactly("ratio", 1.0), JSON: Refused("job", "not a profile")},
    "compareprofiles.after": {PROFILE: numbers.exactly("ratio", 1.0), JSON: Refused("job", "not a profile")},
    "live.raster": _one_image(same("roads")),
    "live.base_model": _model(same("roads"), _NO_WEIGHTS, _NO_WEIGHTS),
    "live.roads": _drawn(numbers.drawn),
    "live.aoi": _areas(numbers.drawn),
    "live.no_road": _areas(numbers.drawn),
    "live.folder": _all((CHIPS, MASKS, REGION, SESSION), numbers.beside("roads")),
}


@dataclass(frozen=True)
class Pair:
    """A file of the ground, an input that takes it, and the right outcome."""

    file: str
    content: str
    job: str
    field: str
    right: Right

    @property
    def input(self) -> str:
        return f"{self.job}.{self.field}"

    def __str__(self) -> str:
        return f"{self.file} -> {self.input}"


def kind_of(job: str, field: str) -> str:
    """Return the kind of a job's option."""
    return next(each.option.kind for each in JOBS[job].option_fields() if each.name == field)


def inputs() -> dict[str, tuple[str, ...]]:
    """Return all inputs of all jobs, `<job>.<field>`, with the contents that they take."""
    kinds = {f"{name}.{field.name}": field.option.kind for name, job in JOBS.items() for field in job.option_fields()}
    return {**{name: READS[kind] for name, kind in kinds.items() if kind in READS}, SOURCE: (ITEMS, SCENES, JSON)}


def pairs() -> Iterator[Pair]:
    """Yield all pairs of a file of the ground and an input that takes it."""
    for name, contents in inputs().items():
        row = RIGHT.get(name, {})
        for file, content in HOLDS.items():
            right = row.get(file) or row.get(content)
            if content in contents and right:
                yield Pair(file, content, *name.split("."), right)


def outputs(run: str) -> dict[str, str]:
    """Return the names of the outputs of a run in the ground, by their fields."""
    options, job = RUNS[run], JOBS[run.split()[0]]
    names = {
        field.name: f"{run}.{field.name}{ENDINGS[field.option.kind]}"
        for field in job.option_fields()
        if field.option.kind in ENDINGS
    }
    return {
        field: options.get(field, name).removeprefix("@") for field, name in names.items() if options.get(field, name)
    }
