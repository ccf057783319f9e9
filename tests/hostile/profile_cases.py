"""Profiles that no job wrote, for the one that compares them; rasters, models and options for the one that measures.

The latter takes at least five seconds where it is not refused, and so gets few cases.
"""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np
import torch

from tests.hostile.cases import DONE, EITHER, REFUSED, Case, Place
from tests.hostile.good_inputs import profile_document
from tests.hostile.model_cases import FILES, TEXTS, VALUES
from tests.hostile.raster_cases import MOON, NO_RASTERS, as_file, filled, virtual, written

SEED = 20261122
JOB, FIELDS = "compareprofiles", ("before", "after")
# So many values for each member of a document, other ones for each.
VALUES_A_MEMBER = 3
Keys = tuple[str | int, ...]
NUMBER, TEXT, LIST, OBJECT = (int, float), str, list, dict
OPTIONAL = (int, float, type(None))
_ROWS = ("phases", "kinds", "layers", "primitives")
_RUN = {
    **dict.fromkeys(("what", "engine", "precision"), TEXT),
    **dict.fromkeys(("threads", "batch_size", "size_px", "step_s", "spread_s", "steps"), NUMBER),
    **dict.fromkeys(_ROWS, LIST),
}
_ROW = {"name": TEXT, "calls": NUMBER, "time_s": NUMBER, "share": NUMBER}
_LIMITS = {
    "convolution": OBJECT, "matrix": OBJECT, "bandwidth": OBJECT, "cache_per_s": NUMBER, "cache_bytes": NUMBER,
    "parallel_region_s": NUMBER,
}  # fmt: skip
# What must be there, and what may be left out, with the JSON types that it may have.
REQUIRED: dict[Keys, Any] = {
    ("format",): TEXT,
    ("hardware",): TEXT,
    ("limits",): OBJECT,
    **{("limits", name): kind for name, kind in _LIMITS.items()},
    **{("limits", "convolution", "fp32", 0, name): NUMBER for name in ("threads", "per_s")},
    **{(name,): kind for name, kind in _RUN.items()},
    **{(rows, 0, name): kind for rows in _ROWS for name, kind in _ROW.items()},
    **{("further_runs", 0, name): _RUN[name] for name in ("engine", "step_s", "primitives")},
    **{("advice", 0, name): TEXT for name in ("rule", "run", "evidence", "remedy")},
    ("advice", 0, "gain"): NUMBER,
    ("advice", 0, "trial", "after_s"): NUMBER,
}
OTHERS: dict[Keys, Any] = {
    ("versions",): OBJECT,
    ("versions", "torch"): TEXT,
    ("options",): OBJECT,
    ("warnings",): LIST,
    ("warnings", 0): TEXT,
    ("limits", "machine"): OBJECT,
    ("limits", "convolution", "fp32"): LIST,
    ("limits", "convolution", "fp32", 0): OBJECT,
    **{(rows, 0): OBJECT for rows in _ROWS},
    ("phases", 0, "spread_s"): NUMBER,
    ("layers", 0, "flop"): OPTIONAL,
    ("layers", 0, "bytes"): OPTIONAL,
    ("layers", 0, "roof_share"): OPTIONAL,
    ("layers", 0, "bound"): TEXT,
    ("layers", 0, "backward_s"): NUMBER,
    **{("primitives", 0, name): TEXT for name in ("kind", "phase", "shape", "layout", "dtype", "implementation")},
    ("unaccounted_share",): NUMBER,
    ("overhead_share",): NUMBER,
    ("counters",): OBJECT,
    ("counters", "stolen_share"): OPTIONAL,
    ("advice",): LIST,
    ("advice", 0, "options"): OBJECT,
    ("further_runs",): LIST,
    ("further_runs", 0): OBJECT,
}
# Values of the right type that no profile can have.
ABSURD: dict[str, tuple[Keys, Any]] = {
    "another format": (("format",), "roadseg-profile-2"),
    "no step": (("step_s",), 0),
    "a step of -1 s": (("step_s",), -1.0),
    "a step of 1e300 s": (("step_s",), 1e300),
    "a step of 1e-300 s": (("further_runs", 0, "step_s"), 1e-300),
    "no threads": (("threads",), 0),
    "half a thread": (("threads",), 0.5),
    "chips of -1 px": (("size_px",), -1),
    "no FLOP a second": (("limits", "convolution", "fp32", 0, "per_s"), 0),
    "a name of a megabyte": (("layers", 0, "name"), "x" * 1_000_000),
    "a name with a null character": (("primitives", 0, "name"), "aten\0"),
    "a name with half a surrogate": (("hardware",), "\ud800"),
}  # fmt: skip


def _spoilt(field: str, make: Callable[[Path], object]) -> Callable[[Place], dict[str, Any]]:
    """Return a case's function: it writes a profile, and returns the option that names it."""

    def spoil(place: Place) -> dict[str, Any]:
        path = place.bad / "spoilt.json"
        make(path)
        return {field: str(path)}

    return spoil


def _of_text(make: Callable[[str], str | bytes]) -> Callable[[Path], object]:
    """Return a function that writes a good profile's text, changed."""

    def write(path: Path) -> None:
        content = make(json.dumps(profile_document()))
        path.write_bytes(content if isinstance(content, bytes) else content.encode())

    return write


def _of_member(keys: Keys, change: Callable[[Any, str | int], object]) -> Callable[[Path], object]:
    """Return a function that writes a good profile of which a member is changed, given its holder and its key."""

    def write(path: Path) -> None:
        document: Any = profile_document()
        holder = document
        for key in keys[:-1]:
            holder = holder[key]
        change(holder, keys[-1])
        path.write_text(json.dumps(document))

    return write


def _of_value(keys: Keys, value: Any) -> Callable[[Path], object]:
    return _of_member(keys, lambda holder, key: holder.__setitem__(key, value))


def _inserted(text: str) -> Callable[[Path], object]:
    """Return a function that writes a good profile with a text as the first member of its options."""
    return _of_text(lambda good: good.replace('"options": {', '"options": {' + text + ", ", 1))


def _fuzzed(number: int) -> Callable[[str], str]:
    """Return a function that changes marks of JSON and digits."""

    def change(good: str) -> str:
        rng, content = random.Random(SEED + number), list(good)
        marks = [at for at, char in enumerate(content) if char in '{}[]:,".0123456789e']
        for at in rng.sample(marks, rng.choice((1, 2, 4))):
            content[at] = rng.choice('{}[]:," 9-0.eE+ntf\\')
        return "".join(content)

    return change


def _many(name: str, count: int, make: Callable[[dict[str, Any], int], dict[str, Any]]) -> Callable[[Path], object]:
    """Return a function that writes a good profile with very many items in a list, made of its first one."""

    def change(holder: Any, key: str | int) -> None:
        holder[key] = [make(holder[key][0], number) for number in range(count)]

    return _of_member((name,), change)


MARKUP = "</script><img src=x onerror=alert(1)>{{ 7 * 7 }}\\"
DOCUMENTS: dict[str, Callable[[Path], object]] = {
    **{what: _of_value(keys, value) for what, (keys, value) in ABSURD.items()},
    **{f"without {' '.join(map(str, keys))}": _of_member(keys, lambda holder, key: holder.pop(key))
       for keys in REQUIRED},
    **{f"text: {what}": _of_text(lambda good, text=text: text) for what, text in TEXTS.items()},
    **{f"{number[:8]} for a number": _inserted(f'"seconds": {number}')
       for number in ("NaN", "Infinity", "1e999", "9" * 400, "01", "0x10")},
    "nested by 900": _inserted('"extra": ' + "[" * 900 + "]" * 900),
    "a key twice": _inserted('"extra": 1, "extra": 2'),
    "a list of it": _of_text(lambda good: f"[{good}]"),
    "two documents": _of_text(lambda good: good * 2),
    "text after it": _of_text(lambda good: f"{good}x"),
    "UTF-16": _of_text(lambda good: good.encode("utf-16")),
    "a byte order mark": _of_text(lambda good: b"\xef\xbb\xbf" + good.encode()),
    "Latin 1": _of_text(lambda good: good.replace("small batch", "caf\xe9").encode("latin-1")),
    "a pickle": lambda path: torch.save(profile_document(), path),
    **{f"cut to {share:.0%}": _of_text(lambda good, share=share: good[: int(len(good) * share)])
       for share in (0, 0.001, 0.5, 0.999)},
    "60 MB of spaces after it": _of_text(lambda good: good + " " * 60_000_000),
    "a million advices of nothing": _of_value(("advice",), [{}] * 1_000_000),
}  # fmt: skip
# Valid profiles that a reader may stumble over.
STRANGE: dict[str, Callable[[Path], object]] = {
    "a member that is not known": _of_value(("colour",), "red"),
    "no counters and advice": _of_member(
        ("counters",), lambda holder, _: [holder.pop(name) for name in ("counters", "advice")]
    ),
    **{f"markup in {' '.join(map(str, keys))}": _of_value(keys, MARKUP)
       for keys in (("hardware",), ("what",), ("layers", 0, "name"), ("primitives", 0, "shape"))},
    "no rows": _of_member(("phases",), lambda holder, _: holder.update({rows: [] for rows in _ROWS})),
    "a gain of -5": _of_value(("advice", 0, "gain"), -5.0),
}  # fmt: skip
LARGE: dict[str, Callable[[Path], object]] = {
    "50,000 primitives": _many("primitives", 50_000, lambda row, number: {**row, "name": f"aten::op{number}"}),
    "20,000 layers of one name": _many("layers", 20_000, lambda row, number: row),
    "20,000 phases": _many("phases", 20_000, lambda row, number: {**row, "name": f"phase {number}"}),
    "a layer of 2,000 parts": _of_value(("layers", 0, "name"), ".".join(["part"] * 2_000)),
    "2,000 runs": _many("further_runs", 2_000, lambda run, number: {**run, "engine": f"engine {number}"}),
    "50,000 facts": _of_value(("limits", "machine"), {f"fact {number}": number for number in range(50_000)}),
}
# Files that are no models.
_NO_FILES = {
    what: partial(FILES[what], None)
    for what in ("a pipe", "a folder", "a device", "a link to itself", "nothing", "two GB of zeros", "no JSON")
}


def _member_cases() -> list[Case]:
    cases, values = [], cycle(VALUES.items())
    for number, (keys, kinds) in enumerate({**REQUIRED, **OTHERS}.items()):
        next(values)  # so that neighbors do not get the same ones
        for what, value in islice(values, VALUES_A_MEMBER):
            may_be = isinstance(value, kinds) and not isinstance(value, bool)
            name = f"{' '.join(map(str, keys))} is {what}"
            cases.append(_case(number, name, _of_value(keys, value), EITHER if may_be else REFUSED))
    return cases


def _case(number: int, what: str, make: Callable[[Path], object], expect: str) -> Case:
    field = FIELDS[number % len(FIELDS)]
    names = ("spoilt.json",) if expect == REFUSED else ()
    return Case(f"profile {field}: {what}", JOB, _spoilt(field, make), expect, names)


def _cases(kinds: dict[str, Callable[[Path], object]], expect: str) -> list[Case]:
    return [_case(number, what, make, expect) for number, (what, make) in enumerate(kinds.items())]


def _over_input(job: str, field: str, output: str, kind: str) -> Case:
    """Return a case of a job that is to write its output over one of its inputs, by its name or by another."""

    def spoil(place: Place) -> dict[str, Any]:
        good = Path(place.options(job)[field])
        source = place.bad / f"source{good.suffix}"
        shutil.copyfile(good, source)
        other = place.bad / "by another name"
        if kind != "itself":
            (other.symlink_to if kind == "a link" else other.hardlink_to)(source)
        return {field: str(source), output: str(source if kind == "itself" else other)}

    return Case(f"{job} writes {output} over {field}, {kind}", job, spoil, REFUSED, ("source",) * (kind == "itself"))


def _profiled(what: str, spoil: Callable[[Place], dict[str, Any]], expect: str, *names: str) -> Case:
    return Case(f"profile, {what}", "profile", spoil, expect, names, limit_s=60)


def _with(**options: Any) -> Callable[[Place], dict[str, Any]]:
    return lambda place: options


def _model(write: Callable[[Place, Path], object]) -> Callable[[Place], dict[str, Any]]:
    def spoil(place: Place) -> dict[str, Any]:
        path = place.bad / "spoilt.safetensors"
        write(place, path)
        return {"model": str(path)}

    return spoil


# Rasters that a profile may accept, since it times the computation of any values.
_ODD_RASTERS: dict[str, Callable[..., dict[str, Any]]] = {
    "NaN alone": partial(filled, value=np.nan),
    "one pixel": partial(written, change=lambda values: values[:, :1, :1]),
    "complex values": partial(written, change=lambda values: values.astype("complex64")),
    "without a CRS": partial(written, crs=None),
    "on the Moon": partial(written, crs=MOON),
    "a virtual raster of a trillion pixels": partial(virtual, height=10**6, width=10**6),
    "nodata everywhere": partial(written, change=np.zeros_like, nodata=0),
    "one band of three": partial(written, change=lambda values: values[:1]),
}
_OF_PROFILE = [
    *(_profiled(f"{what} for a raster", partial(spoil, job="profile"), EITHER) for what, spoil in _ODD_RASTERS.items()),
    *(
        _profiled(f"{what} for a raster", partial(as_file, job="profile", write=write, name=name), REFUSED, "hostile")
        for what, (name, write) in NO_RASTERS.items()
    ),
    *(_profiled(f"{what} for a model", _model(write), REFUSED, "spoilt.safetensors") for what, write in FILES.items()),
    _profiled("random weights", _with(model=""), DONE),
    _profiled("training on a generated scene", _with(what="training", raster="", chip_px=64, batch_size=1), DONE),
    _profiled("a step that takes too long", _with(what="training", chip_px=4096, batch_size=4096), EITHER),
    _profiled("a tile of 8192 px", _with(tile_px=8192), EITHER),
    _profiled("64 threads", _with(threads=64), DONE),
    _profiled("all engines and precisions", _with(engine="all", precision="all"), EITHER),
    _profiled("an output where nothing is written", _with(profile="/proc/profile.json"), REFUSED, "/proc/profile.json"),
]

CASES = [
    *_member_cases(),
    *_cases(DOCUMENTS, REFUSED),
    *_cases(_NO_FILES, REFUSED),
    *_cases({f"fuzzed {number}": _of_text(_fuzzed(number)) for number in range(60)}, EITHER),
    *_cases(STRANGE, DONE),
    *_cases(LARGE, EITHER),
    *(
        _over_input(job, field, output, kind)
        for job, field, output in (
            (JOB, "before", "report"), (JOB, "after", "differences"), ("profile", "raster", "profile"),
            ("profile", "model", "trace"),
        )
        for kind in ("itself", "a link", "a hard link")
    ),
    *_OF_PROFILE,
]  # fmt: skip
