"""Hostile extracts of OpenStreetMap, for the job that connects new roads to their ways."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from tests.hostile.cases import DONE, EITHER, REFUSED, Case, Place

SEED = 20261126
JOB = "exportchanges"
_BOMB = '<!DOCTYPE osm [<!ENTITY a "aaaaaaaaaa">' + "".join(
    f'<!ENTITY {name} "{f"&{last};" * 10}">' for last, name in zip("abcdefgh", "bcdefghi")
) + ']><osm version="0.6"><way id="1"><tag k="highway" v="&i;"/></way></osm>'  # fmt: skip
_EMPTY = '<osm version="0.6">{}</osm>'


def written(content: str | bytes, name: str = "hostile.osm") -> Callable[[Place], dict[str, Any]]:
    """Return a function that writes an extract."""

    def write(place: Place) -> dict[str, Any]:
        path = place.bad / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return {"extract": str(path)}

    return write


def replaced(place: Place, old: str, new: str) -> dict[str, Any]:
    """Write the good extract with one text in place of another."""
    text = Path(place.goods.extract).read_text(encoding="utf-8")
    assert old in text
    return written(text.replace(old, new))(place)


def cut(place: Place, percent: int) -> dict[str, Any]:
    """Write the first part of the good extract."""
    content = Path(place.goods.extract).read_bytes()
    return written(content[: len(content) * percent // 100])(place)


def fuzzed(place: Place, seed: int) -> dict[str, Any]:
    """Write the good extract with some of its bytes changed."""
    content, chance = bytearray(Path(place.goods.extract).read_bytes()), random.Random(SEED + seed)
    for _ in range(chance.choice((1, 4, 30))):
        content[chance.randrange(len(content))] = chance.choice(b"\x00<>\"'&;0-9.\xff")
    return written(bytes(content))(place)


def special(place: Place, make: Callable[[Path], None]) -> dict[str, Any]:
    """Make something else than a file."""
    path = place.bad / "hostile.osm"
    make(path)
    return {"extract": str(path)}


_REFUSED: dict[str, Callable[[Place], dict[str, Any]]] = {
    "empty": written(""),
    "of no objects": written(_EMPTY.format("")),
    "of another root": written("<html/>"),
    "of entities in entities": written(_BOMB),
    "bytes that are no PBF": written(bytes(range(256)) * 40, "hostile.osm.pbf"),
    "a PBF of nothing": written(b"", "hostile.osm.pbf"),
    "a way without nodes": written(_EMPTY.format('<way id="1" version="1"><tag k="highway" v="road"/></way>')),
    "a folder": partial(special, make=Path.mkdir),
    "a pipe": partial(special, make=os.mkfifo),
    "without a file": lambda place: {"extract": str(place.bad / "missing.osm")},
    "a null character in the name": lambda place: {"extract": str(place.bad / "a\0.osm")},
    "every way twice": partial(replaced, old='way id="501"', new='way id="500"'),
    "coordinates of no Earth": partial(replaced, old='lat="', new='lat="9'),
    "a new way": partial(replaced, old='way id="50', new='way id="-50'),
    "a new node": lambda place: replaced(place, "1000", "-1"),
    "an id beyond 64 bits": partial(replaced, old='way id="500"', new='way id="99999999999999999999"'),
    "a version of text": partial(replaced, old='version="3"', new='version="three"'),
    **{f"cut to {percent}%": partial(cut, percent=percent) for percent in (1, 50, 99)},
}
CASES = [
    *(Case(f"extract: {name}", JOB, spoil, REFUSED) for name, spoil in _REFUSED.items()),
    Case("extract: nodes that are missing", JOB, partial(replaced, old='<node id="1000"', new='<node id="9"'), DONE),
    *(Case(f"extract: fuzzed {seed}", JOB, partial(fuzzed, seed=seed), EITHER) for seed in range(40)),
]
