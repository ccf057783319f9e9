"""File names that no job expects, of inputs and of outputs, in every format; and outputs that cannot be written."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import geopandas

from tests.hostile.cases import DONE, EITHER, ENDING_JOBS, REFUSED, Case, Place
from tests.hostile.references import inputs_of, outputs_of

# By what is hostile about them. An ending follows; LONG is filled up to what a file system takes.
LONG = "255 bytes"
NAMES = {
    "spaces": "my final roads",
    "quotes": "the \"old\" 'town'",
    "exclamation mark": "final!v2",
    "semicolon": "a;b",
    "colon": "a:b",
    "pipe": "a|b",
    "question mark": "a?b",
    "hash": "a#b",
    "percent": "a%20b%s",
    "ampersand": "a&b=c",
    "newline": "two\nlines",
    "composed": "stra\u00dfe \u00e9",
    "decomposed": "strasse e\u0301",
    "emoji": "\U0001f6e3\ufe0f",
    "leading dash": "-rf",
    "leading dot": ".hidden",
    "trailing space": "roads ",
    "brackets": "[1]{a}*",
    "backslash": "a\\b",
    "not UTF-8": os.fsdecode(b"caf\xe9"),
    LONG: "a",
}
# Names that a job may also refuse, with the name in its message.
_MAY_BE_REFUSED = ("not UTF-8", "newline", "exclamation mark", "semicolon")
# By format: a job and its output. The suffix chooses between formats of a kind.
_OUTPUTS = {
    ".gpkg": ("vectorize", "roads"),
    ".geojson": ("vectorize", "roads"),
    ".fgb": ("vectorize", "roads"),
    ".tif": ("segment", "mask"),
    ".json": ("scorenetwork", "scores"),
    ".html": ("scorenetwork", "report"),
    ".graphml": ("exportnetwork", "graphml"),
    ".osm": ("exportnetwork", "osm"),
    ".onnx": ("exportmodel", "onnx"),
    ".safetensors": ("finetune", "model"),
    "": ("exportchips", "folder"),
}
# By format: a job, its input, and the good file.
_INPUTS: dict[str, tuple[str, str, str]] = {
    ".gpkg": ("cleannetwork", "lines", "roads"),
    ".geojson": ("cleannetwork", "lines", "roads"),
    ".fgb": ("cleannetwork", "lines", "roads"),
    ".tif": ("vectorize", "raster", "mask"),
    ".safetensors": ("segment", "model", "model"),
    ".onnx": ("segment", "model", "onnx"),
    ".json": ("compareprofiles", "before", "profile"),
}


def _named(folder: Path, what: str, suffix: str) -> Path:
    stem = "a" * (255 - len(suffix)) if what == LONG else NAMES[what]
    return folder / f"{stem}{suffix}"


def _output(what: str, suffix: str, field: str) -> Callable[[Place], dict[str, Any]]:
    return lambda place: {field: str(_named(place.out, what, suffix))}


def _input(what: str, suffix: str, field: str, good: str) -> Callable[[Place], dict[str, Any]]:
    def spoil(place: Place) -> dict[str, Any]:
        source, path = Path(getattr(place.goods, good)), _named(place.bad, what, suffix)
        if source.suffix == suffix:
            shutil.copyfile(source, path)
        else:
            plain = place.bad / f"plain{suffix}"
            geopandas.read_file(source).to_file(plain)
            plain.rename(path)
        return {field: str(path), **({"engine": "openvino"} if suffix == ".onnx" else {})}

    return spoil


def _expected(what: str) -> str:
    return EITHER if what in _MAY_BE_REFUSED else DONE


def _below_a_file(job: str, output: str) -> Callable[[Place], dict[str, Any]]:
    def spoil(place: Place) -> dict[str, Any]:
        (place.bad / "file").write_text("no folder")
        return {output: str(place.bad / "file" / Path(place.options(job)[output]).name)}

    return spoil


def _over_input(job: str, field: str, output: str, kind: str) -> Callable[[Place], dict[str, Any]]:
    """Return what lets a job write an output over one of its inputs, by its name or by another."""

    def spoil(place: Place) -> dict[str, Any]:
        value = place.options(job)[field]
        good = Path(value[0] if isinstance(value, list) else value)
        source = place.bad / f"source{Path(place.options(job)[output]).suffix}"
        shutil.copyfile(good, source)
        other = place.bad / "by another name"
        if kind != "itself":
            (other.symlink_to if kind == "a link" else other.hardlink_to)(source)
        given = [str(source), *value[1:]] if isinstance(value, list) else str(source)
        return {field: given, output: str(source if kind == "itself" else other)}

    return spoil


CASES = [
    *(
        Case(f"{job} writes {output} below a file", job, _below_a_file(job, output), REFUSED)
        for job in ENDING_JOBS
        for output in outputs_of(job)
    ),
    *(
        Case(f"{job} writes {output} over {field}, {kind}", job, _over_input(job, field, output, kind), REFUSED)
        for job in ENDING_JOBS
        for output in outputs_of(job)[:1]
        for field in inputs_of(job)
        for kind in ("itself", "a link", "a hard link")
    ),
    *(
        Case(f"{job} writes {suffix}, {what}", job, _output(what, suffix, field), _expected(what))
        for suffix, (job, field) in _OUTPUTS.items()
        for what in NAMES
    ),
    *(
        Case(f"{job} reads {suffix}, {what}", job, _input(what, suffix, field, good), _expected(what))
        for suffix, (job, field, good) in _INPUTS.items()
        for what in NAMES
    ),
]
