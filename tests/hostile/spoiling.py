"""Ways to spoil any input: values in documents, texts that are no document, bytes, and what is no file.

Writers take the path first, and ignore what else they are given.
"""

from __future__ import annotations

import copy
import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

SEED = 20261122
Keys = tuple[str | int, ...]
Write = Callable[..., object]
# Values of every kind, in place of good ones.
VALUES = {
    "null": None, "true": True, "negative": -1, "zero": 0, "half": 0.5, "huge": 1e300, "tiny": 1e-300,
    "an integer of 18 digits": 10**18, "text": "x", "long text": "x" * 300_000,
    "surrogate": "\ud800", "list": [], "list of lists": [[[]]], "object": {},
    "object of a list": {"a": [1]},
}  # fmt: skip
# Texts in place of a document with a member `format`.
TEXTS = {
    "empty": "",
    "no JSON": "{",
    "deeply nested lists": "[" * 200_000,
    "deeply nested objects": '{"a":' * 50_000 + "1" + "}" * 50_000,
    "nested by 900": '{"format": ' + "[" * 900 + "]" * 900 + "}",
    "integer of 400 digits": '{"format": ' + "9" * 400 + "}",
    "integer of 5000 digits": '{"format": ' + "9" * 5000 + "}",
    "NaN": '{"format": NaN}',
    "infinity": '{"format": -Infinity}',
    "number too large": '{"format": 1e999}',
    "duplicate key": '{"format": "a", "format": "roadseg-model-1"}',
    "list": "[]",
    "number": "3",
    "long text": '"' + "x" * 1_000_000 + '"',
}


def zeros(size: int) -> Write:
    def write(path: Path, *_: object) -> None:
        path.touch()
        os.truncate(path, size)

    return write


NO_FILES: dict[str, Write] = {
    "nothing": lambda path, *_: None,
    "an empty file": lambda path, *_: path.touch(),
    "a folder": lambda path, *_: path.mkdir(),
    "a pipe": lambda path, *_: os.mkfifo(path),
    "a link to itself": lambda path, *_: path.symlink_to(path),
    "a device": lambda path, *_: path.symlink_to("/dev/zero"),
    "a pickle": lambda path, *_: torch.save({"x": torch.zeros(3)}, path),
    "two GB of zeros": zeros(2 << 30),
}


def members(document: Any, keys: Keys = ()) -> Iterator[tuple[Keys, Any]]:
    """Yield the keys and the value of each member at any depth; of a list, its first item alone."""
    for key, value in document.items() if isinstance(document, dict) else list(enumerate(document))[:1]:
        yield (*keys, key), value
        if isinstance(value, (dict, list)):
            yield from members(value, (*keys, key))


def changed(document: Any, keys: Keys, change: Callable[[Any, str | int], object]) -> Any:
    """Return a copy of a document in which a member is changed, given its holder and its key."""
    result = copy.deepcopy(document)
    holder = result
    for key in keys[:-1]:
        holder = holder[key]
    change(holder, keys[-1])
    return result


def with_value(document: Any, keys: Keys, value: Any) -> Any:
    return changed(document, keys, lambda holder, key: holder.__setitem__(key, value))


def is_of_type_of(value: Any, good: Any) -> bool:
    """Whether JSON has one type for both values."""
    kind = (int, float) if isinstance(good, (int, float)) else type(good)
    return isinstance(value, kind) and not isinstance(value, bool)


def name_of(keys: Keys) -> str:
    return " ".join(map(str, keys))


def cut(content: bytes, share: float) -> bytes:
    return content[: int(len(content) * share)]


def fuzzed(content: bytes, number: int, end: int | None = None) -> bytes:
    """Return the bytes of a file of which some before an offset are others."""
    chance, data = random.Random(SEED + number), bytearray(content)
    for _ in range(chance.choice((1, 2, 8))):
        at = chance.randrange(end or len(data))
        data[at] = chance.choice((chance.randrange(256), 0, 255, *b'9-"', data[at] ^ 1))
    return bytes(data)


def fuzzed_json(text: str, number: int, marks: str = '{}[]:,"') -> str:
    """Return a JSON text of which some marks are others."""
    chance, content = random.Random(SEED + number), list(text)
    for at in chance.sample([at for at, char in enumerate(content) if char in marks], chance.choice((1, 2, 4))):
        content[at] = chance.choice('{}[]:," 9-0.eE+ntf\\')
    return "".join(content)
