"""Profiles that no job wrote, for the one that compares them; options for the one that measures.

The latter takes at least five seconds where it is not refused, and so gets few cases.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from tests.hostile.cases import DONE, EITHER, REFUSED, Case, Place
from tests.hostile.good_inputs import profile_document
from tests.hostile.spoiling import (
    NO_FILES,
    TEXTS,
    VALUES,
    Keys,
    Write,
    changed,
    cut,
    fuzzed_json,
    is_of_type_of,
    members,
    name_of,
)

JOB, FIELDS = "compareprofiles", ("before", "after")
# So many values for each member of a document, other ones for each.
VALUES_A_MEMBER = 3
# Members whose contents nothing checks, and those that may be null.
FREE: tuple[Keys, ...] = (("options",), ("limits", "machine"), ("advice", 0, "options"))
NULLABLE = ("flop", "bytes", "roof_share", "page_faults", "system_share", "stolen_share", "trial")
# Members without which there is no profile, of each part of the document.
REQUIRED: tuple[Keys, ...] = (
    ("format",), ("hardware",), ("limits",), ("limits", "matrix"), ("limits", "convolution", "fp32", 0, "per_s"),
    ("what",), ("step_s",), ("phases",), ("layers", 0, "time_s"), ("further_runs", 0, "engine"),
    ("advice", 0, "remedy"), ("advice", 0, "trial", "after_s"),
)  # fmt: skip
_MARKS = '{}[]:,".0123456789e'
_ROWS = ("phases", "kinds", "layers", "primitives")
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


def _spoilt(field: str, make: Write) -> Callable[[Place], dict[str, Any]]:
    def spoil(place: Place) -> dict[str, Any]:
        path = place.bad / "spoilt.json"
        make(path)
        return {field: str(path)}

    return spoil


def _of_text(make: Callable[[str], str | bytes]) -> Write:
    def write(path: Path) -> None:
        content = make(json.dumps(profile_document()))
        path.write_bytes(content if isinstance(content, bytes) else content.encode())

    return write


def _of_member(keys: Keys, change: Callable[[Any, str | int], object]) -> Write:
    """Return a function that writes a good profile of which a member is changed, given its holder and its key."""
    return lambda path: path.write_text(json.dumps(changed(profile_document(), keys, change)))


def _of_value(keys: Keys, value: Any) -> Write:
    return _of_member(keys, lambda holder, key: holder.__setitem__(key, value))


def _many(name: str, count: int, make: Callable[[dict[str, Any], int], dict[str, Any]]) -> Write:
    def change(holder: Any, key: str | int) -> None:
        holder[key] = [make(holder[key][0], number) for number in range(count)]

    return _of_member((name,), change)


MARKUP = "</script><img src=x onerror=alert(1)>{{ 7 * 7 }}\\"
DOCUMENTS: dict[str, Write] = {
    **{what: _of_value(keys, value) for what, (keys, value) in ABSURD.items()},
    **{f"without {name_of(keys)}": _of_member(keys, lambda holder, key: holder.pop(key)) for keys in REQUIRED},
    **{f"text: {what}": _of_text(lambda good, text=text: text) for what, text in TEXTS.items()},
    "UTF-16": _of_text(lambda good: good.encode("utf-16")),
    **{f"cut to {share:.0%}": _of_text(lambda good, share=share: cut(good.encode(), share))
       for share in (0.001, 0.5, 0.999)},
    **NO_FILES,
    "60 MB of spaces after it": _of_text(lambda good: good + " " * 60_000_000),
    "a million advices of nothing": _of_value(("advice",), [{}] * 1_000_000),
}  # fmt: skip
_FUZZED = {f"fuzzed {number}": _of_text(partial(fuzzed_json, number=number, marks=_MARKS)) for number in range(40)}
# Valid profiles that a reader may stumble over.
STRANGE: dict[str, Write] = {
    "a member that is not known": _of_value(("colour",), "red"),
    "no counters and advice": _of_member(
        ("counters",), lambda holder, _: [holder.pop(name) for name in ("counters", "advice")]
    ),
    **{f"markup in {name_of(keys)}": _of_value(keys, MARKUP)
       for keys in (("hardware",), ("what",), ("layers", 0, "name"), ("primitives", 0, "shape"))},
    "no rows": _of_member(("phases",), lambda holder, _: holder.update({rows: [] for rows in _ROWS})),
    "a gain of -5": _of_value(("advice", 0, "gain"), -5.0),
}  # fmt: skip
LARGE: dict[str, Write] = {
    "50,000 primitives": _many("primitives", 50_000, lambda row, number: {**row, "name": f"aten::op{number}"}),
    "20,000 layers of one name": _many("layers", 20_000, lambda row, number: row),
    "20,000 phases": _many("phases", 20_000, lambda row, number: {**row, "name": f"phase {number}"}),
    "a layer of 2,000 parts": _of_value(("layers", 0, "name"), ".".join(["part"] * 2_000)),
    "2,000 runs": _many("further_runs", 2_000, lambda run, number: {**run, "engine": f"engine {number}"}),
    "50,000 facts": _of_value(("limits", "machine"), {f"fact {number}": number for number in range(50_000)}),
}


def _member_cases() -> list[Case]:
    cases, values = [], cycle(VALUES.items())
    for number, (keys, good) in enumerate(members(profile_document())):
        next(values)  # so that neighbors do not get the same ones
        is_free = any(keys[: len(free)] == free and len(keys) > len(free) for free in FREE)
        for what, value in islice(values, VALUES_A_MEMBER):
            may_be = is_free or is_of_type_of(value, good) or (value is None and keys[-1] in NULLABLE)
            name = f"{name_of(keys)} is {what}"
            cases.append(_case(number, name, _of_value(keys, value), EITHER if may_be else REFUSED))
    return cases


def _case(number: int, what: str, make: Write, expect: str) -> Case:
    field = FIELDS[number % len(FIELDS)]
    names = ("spoilt.json",) if expect == REFUSED else ()
    return Case(f"profile {field}: {what}", JOB, _spoilt(field, make), expect, names)


def _cases(kinds: dict[str, Write], expect: str) -> list[Case]:
    return [_case(number, what, make, expect) for number, (what, make) in enumerate(kinds.items())]


# Its rasters and its models are read as by other jobs.
_OF_PROFILE = [
    Case(f"profile, {what}", "profile", lambda place, options=options: options, expect, names, limit_s=60)
    for what, options, expect, *names in (
        ("random weights", {"model": ""}, DONE),
        ("training on a generated image", {"what": "training", "raster": "", "chip_px": 64, "batch_size": 1}, DONE),
        ("a step that takes too long", {"what": "training", "chip_px": 4096, "batch_size": 4096}, EITHER),
        ("a tile of 8192 px", {"tile_px": 8192}, EITHER),
        ("64 threads", {"threads": 64}, DONE),
        ("all engines and precisions", {"engine": "all", "precision": "all"}, EITHER),
        ("an output where nothing is written", {"profile": "/proc/profile.json"}, REFUSED, "/proc/profile.json"),
    )
]

CASES = [
    *_member_cases(),
    *_cases(DOCUMENTS, REFUSED),
    *_cases(_FUZZED, EITHER),
    *_cases(STRANGE, DONE),
    *_cases(LARGE, EITHER),
    *_OF_PROFILE,
]  # fmt: skip
