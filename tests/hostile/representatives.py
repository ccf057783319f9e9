"""The cases that `make test` tries: a fixed set, by name, of every job and every kind of hostile input.

An entry is a case's name, its last part (`ONNX: a subgraph`, with whichever job comes first in the table), or a job and
a field, of which the first value is tried. All other cases run with `--all-cases`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

REPRESENTATIVES = {
    "bounds": (
        "vectorize, a probability: noise around the threshold",
        "cleannetwork, lines that all cross",
        "mapregion, an area that crosses itself everywhere",
    ),
    "checkpoints": (
        "checkpoint: nan in state.optimizer.segmentation_head.0.bias.exp_avg", "checkpoint: format is null",
        "checkpoint: a folder",
    ),
    "extracts": (
        "extract: of entities in entities", "extract: bytes that are no PBF", "extract: a pipe", "extract: fuzzed 0",
        "extract: every way twice", "layers of an extract: cut to 50%", "layers of an extract: fuzzed 0",
    ),
    "good": ("vectorize, nothing is spoiled", "exportmodel, nothing is spoiled", "makescene, nothing is spoiled"),
    "jobs": (
        "finetune, rasters", "segment, raster", "vectorize, raster", "extractroads, model", "mapregion, folder",
        "cleannetwork, lines", "evaluate, roads", "suggestlabels, labeled", "scorenetwork, truth",
        "exportnetwork, lines", "comparenetworks, places", "makechallenge, layer", "exportchanges, extract",
        "exportchips, chip_px", "exportmodel, onnx",
        "quantize, rasters", "mergemodels, models", "makescene, size_px", "profile, what", "compareprofiles, before",
        "sampleaccuracy, lines", "checkaccuracy, sample", "applyreview, review", "trace, raster",
        "roadstatus, raster", "getosmdata, extract",
        "live, raster", "job file: UTF-16", "job file: version 2", "job file: job 'drive'",
        "job file: an unknown field '__class__'",
        "job file: NaN for a number", "job file: nested by 900", "job file: cut to 50%", "job file: fuzzed 0",
    ),
    "merging": (
        "merging: another base", "merging: base_sha256 is tiny", "merging: variances zero", "merging: an image of NaN",
    ),
    "models": (
        "model: format is null", "model: document: empty", "model: nan in encoder.conv1.weight", "model: cut to 0%",
        "model: a header of objects", "model: a pickle", "model: fuzzed header 0",
        "segment, model: numbers that overflow within", "ONNX: a pipe",
        "ONNX: nested messages", "ONNX: a weight of -inf", "ONNX: external data", "ONNX: an unknown layer",
        "ONNX: enlargement by 1000", "ONNX: fuzzed 0",
    ),
    "names": (
        "vectorize writes .gpkg, semicolon", "vectorize writes .fgb, newline", "segment writes .tif, quotes",
        "exportmodel writes .onnx, emoji", "exportchips writes , newline", "exportnetwork writes .graphml, 255 bytes",
        "cleannetwork reads .geojson, pipe", "compareprofiles reads .json, not UTF-8",
        "compareprofiles writes report over before, a link", "segment writes mask over raster, itself",
        "vectorize writes roads below a file", "finetune writes model below a file",
    ),
    "profiles": (
        "profile before: format is true", "profile after: fuzzed 1", "profile before: markup in hardware",
    ),
    "rasters": (
        "vectorize, complex64 values", "segment, NaN alone", "suggestlabels, a scale of nan", "vectorize, 1 x 1 px",
        "extractroads, a virtual raster of 2147483647 x 2147483647 px", "evaluate, a raster without a CRS",
        "segment, a raster on the Moon", "segment, a virtual raster of 1000000 x 1000000 px",
        "mapregion, a raster at infinity", "vectorize, a raster rotated",
        "suggestlabels, a raster with pixels of 1e-09 m", "segment, a pipe for a raster",
        "vectorize, XML entities without end for a raster", "vectorize, a virtual raster with code for a raster",
        "segment, without its second half", "evaluate, a pixel of -3.4e38", "segment, alpha alone",
        "vectorize, LZW, other bytes in the tiles, 0", "vectorize, deflated, cut off, 0",
    ),
    "vectors": (
        "scorenetwork truth, meters declared as degrees", "comparenetworks before, at coordinates of 1e300",
        "cleannetwork lines, in degrees", "cleannetwork lines, control characters", "evaluate aoi, the whole world",
        "extractroads aoi, a polygon that crosses itself", "finetune roads, an open ring for a layer",
        "cleannetwork lines, lines without length", "scorenetwork proposal, a not-a-number vertex",
        "comparenetworks places, a pipe for a layer", "mapregion aoi, points",
        "suggestlabels labeled, coordinates of text for a layer", "segment aoi, empty shapes",
        "comparenetworks damage, deep coordinates for a layer",
        "exportnetwork lines, a filter that is no SQL for a layer", "segment aoi, 50 km to the east",
        "applyreview review, at coordinates of 1e300", "sampleaccuracy lines, in degrees",
        "checkaccuracy sample, JSON of other things for a layer", "applyreview lines, a not-a-number vertex",
        "roadstatus lines, in degrees", "roadstatus hazards, a polygon that crosses itself",
        "getosmdata aoi, in degrees", "getosmdata aoi, at coordinates of 1e300",
        "a damaged gpkg, 3", "a damaged geojson, 1",
    ),
    "file size": ("vectorize, all but a byte of roads, .fgb",),
    "disk": ("cleannetwork, a tenth, .gpkg",),
    "open files": ("exportnetwork, 20 open files, .gpkg",),
    "temporary folder": ("comparenetworks, missing, .gpkg",),
}  # fmt: skip


def representatives(group: str, cases: Iterable[Any]) -> list[Any]:
    """Return those of a group's cases that stand for it."""
    cases, chosen = list(cases), []
    for entry in REPRESENTATIVES[group]:
        fitting = (
            case
            for case in cases
            if case.name == entry or case.name.endswith(f", {entry}") or case.name.startswith(f"{entry} is ")
        )
        case = next(fitting, None)
        assert case, f"{group} has no case {entry!r}: name another one in representatives.py"
        chosen.append(case)
    return chosen
