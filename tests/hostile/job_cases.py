"""Job files that no client wrote: texts that are no job, and values of every JSON type in every field of every job."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from functools import partial
from typing import Any

from tests.hostile.cases import EITHER, REFUSED, Case, Place
from tests.hostile.outcome import job_document
from tests.hostile.spoiling import fuzzed_json
from training_core.jobs import INTERACTIVE_JOBS, JOBS, OptionField

VALUES = (
    None, True, False, -1, 0, 1.5, -0.0, 1e308, -(10**18), "", "\0", "a\0b", "\ud800", "x\udfff", "x" * 100_000, [],
    [[]], [None], ["\0"], [1.5], [True], ["\ud800", "a"], {}, {"x": [1]},
)  # fmt: skip
# How many of them each field of each job gets, chosen by its name.
VALUES_A_FIELD = 2
# Jobs that take seconds, or wait for commands: what is of a field's type is not tried with them, since most of it is
# all right.
_SLOW = ("finetune", "quantize", "makescene", "profile", *INTERACTIVE_JOBS)


def _is_of_type(field: OptionField, value: Any) -> bool:
    """Whether a JSON value is of a field's type; it may be out of range all the same."""
    if field.is_list:
        return isinstance(value, list) and all(type(item) is field.item_type for item in value)
    return type(value) is field.type or (field.type is float and type(value) is int)


def _is_name(value: Any) -> bool:
    texts = [each for each in (value if isinstance(value, list) else [value]) if isinstance(each, str)]
    return all("\0" not in text and len(text) < 10_000 and text.isascii() for text in texts)


def _cases_of_fields() -> list[Case]:
    cases = []
    for name, job in JOBS.items():
        for field in job.option_fields():
            for value in random.Random(f"{name} {field.name}").sample(VALUES, VALUES_A_FIELD):
                is_possible = _is_of_type(field, value) and _is_name(value)
                if is_possible and name in _SLOW:
                    continue
                what = json.dumps(value)[:20]
                expect, names = (EITHER, ()) if is_possible else (REFUSED, (field.name,))
                cases.append(Case(f"{name}, {field.name} is {what}", name, _option(field.name, value), expect, names))
    return cases


def _option(name: str, value: Any) -> Callable[[Place], dict[str, Any]]:
    return lambda place: {name: value}


def _good(place: Place, job: str = "vectorize") -> dict[str, Any]:
    return json.loads(job_document(job, place.options(job)))


def _of(change: Callable[[dict[str, Any]], Any]) -> Callable[[Place], bytes]:
    """Return a function that makes a job file of a good one's document after a change."""

    def make(place: Place) -> bytes:
        document = _good(place)
        changed = change(document)
        return json.dumps(document if changed is None else changed).encode()

    return make


def _changed(change: Callable[[str], str]) -> Callable[[Place], bytes]:
    return lambda place: change(json.dumps(_good(place))).encode()


def _inserted(text: str) -> Callable[[Place], bytes]:
    """Return a function that makes a job file with a text as the first member of its options."""
    return _changed(lambda good: good.replace('"options": {', '"options": {' + text + ", "))


TEXTS: dict[str, Callable[[Place], bytes]] = {
    **{f"only {content[:12]!r}": lambda place, content=content: content for content in (
        b"", b"\0", b"{}", b"[]", b"null", b"3", b'"job"', b"NaN", b"\xff\xfe{", b"\x80\x04\x95.", b"%PDF-1.4",
        b"\x1f\x8b",
        b"[" * 1_000_000, b'{"a":' * 200_000, b"9" * 1_000_000, b'"' + b"x" * 5_000_000 + b'"', b" " * 1_000_000,
    )},
    "65 MB": _changed(lambda good: good + " " * 65_000_000),
    "UTF-16": lambda place: json.dumps(_good(place)).encode("utf-16"),
    "a byte order mark": _changed(lambda good: f"\ufeff{good}"),
    "text after it": _changed(lambda good: f"{good}x"),
    "two documents": _changed(lambda good: good * 2),
    "a comment": _changed(lambda good: f"// a job\n{good}"),
    "a null byte at its end": _changed(lambda good: f"{good}\0"),
    "a list of it": _of(lambda document: [document]),
    **{f"version {version}": _of(lambda document, version=version: document.update(version=version))
       for version in (0, 2, -1, 1.0, True, "1", None, [1], 10**19)},
    **{f"job {name!r:.20}": _of(lambda document, name=name: document.update(job=name))
       for name in ("drive", "", "Segment", "../segment", "worker", "\ud800", None, 3, ["segment"], {"segment": 1},
                    "x" * 100_000)},
    **{f"options {options!r:.20}": _of(lambda document, options=options: document.update(options=options))
       for options in (None, [], {}, "all", 3, [["raster", "a.tif"], ["roads", "b.gpkg"]], {"raster": {}})},
    **{f"without {key}": _of(lambda document, key=key: document.pop(key) and None)
       for key in ("job", "version", "options")},
    **{f"an unknown field {name!r:.20}": _of(lambda document, name=name: document["options"].update({name: 1}))
       for name in ("colour", "", "__class__", "name", "title", "\ud800", "x" * 100_000, "raster\0")},
    "a thousand unknown fields": _of(lambda document: document["options"].update({f"f{at}": 1 for at in range(1000)})),
    "a field twice": _inserted('"raster": "a.tif"'),
    **{f"{number[:12]} for a number": _inserted(f'"threshold": {number}')
       for number in ("NaN", "Infinity", "-Infinity", "1e999", "-1e999", "9" * 400, "9" * 5000, "0x10", "01", "1.",
                      ".5", "+1", "1_000")},
    "nested by 900": _inserted('"extra": ' + "[" * 900 + "]" * 900),
}  # fmt: skip


def _of_job_file(what: str, make: Callable[[Place], bytes], expect: str) -> Case:
    return Case(f"job file: {what}", "vectorize", lambda place: {}, expect, job_file=make)


CASES = [
    *_cases_of_fields(),
    *(_of_job_file(what, make, REFUSED) for what, make in TEXTS.items()),
    *(
        _of_job_file(f"cut to {share:.0%}", _changed(lambda text, share=share: text[: int(len(text) * share)]), REFUSED)
        for share in (0.01, 0.5, 0.999)
    ),
    *(_of_job_file(f"fuzzed {number}", _changed(partial(fuzzed_json, number=number)), EITHER) for number in range(60)),
]
