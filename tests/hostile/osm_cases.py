"""Hostile extracts of OpenStreetMap, for the jobs that connect new roads to their ways, and make layers of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from tests.hostile.cases import DONE, EITHER, REFUSED, Case, Place
from tests.hostile.spoiling import NO_FILES, Write, cut, fuzzed

JOB, READER = "exportchanges", "getosmdata"
_BOMB = '<!DOCTYPE osm [<!ENTITY a "aaaaaaaaaa">' + "".join(
    f'<!ENTITY {name} "{f"&{last};" * 10}">' for last, name in zip("abcdefgh", "bcdefghi")
) + ']><osm version="0.6"><way id="1"><tag k="highway" v="&i;"/></way></osm>'  # fmt: skip
_EMPTY = '<osm version="0.6">{}</osm>'


def written(content: str | bytes, name: str = "hostile.osm") -> Callable[[Place], dict[str, Any]]:
    def write(place: Place) -> dict[str, Any]:
        path = place.bad / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return {"extract": str(path)}

    return write


def replaced(place: Place, old: str, new: str) -> dict[str, Any]:
    text = Path(place.goods.extract).read_text(encoding="utf-8")
    assert old in text
    return written(text.replace(old, new))(place)


def changed(place: Place, change: Callable[[bytes], bytes]) -> dict[str, Any]:
    return written(change(Path(place.goods.extract).read_bytes()))(place)


def as_file(place: Place, write: Write) -> dict[str, Any]:
    path = place.bad / "hostile.osm"
    write(path)
    return {"extract": str(path)}


_REFUSED: dict[str, Callable[[Place], dict[str, Any]]] = {
    "of no objects": written(_EMPTY.format("")),
    "of another root": written("<html/>"),
    "of entities in entities": written(_BOMB),
    "bytes that are no PBF": written(bytes(range(256)) * 40, "hostile.osm.pbf"),
    "a PBF of nothing": written(b"", "hostile.osm.pbf"),
    "a way without nodes": written(_EMPTY.format('<way id="1" version="1"><tag k="highway" v="road"/></way>')),
    **{what: partial(as_file, write=write) for what, write in NO_FILES.items()},
    "a null character in the name": lambda place: {"extract": str(place.bad / "a\0.osm")},
    "every way twice": partial(replaced, old='way id="501"', new='way id="500"'),
    "coordinates of no Earth": partial(replaced, old='lat="', new='lat="9'),
    "a new way": partial(replaced, old='way id="50', new='way id="-50'),
    "a new node": lambda place: replaced(place, "1000", "-1"),
    "an id beyond 64 bits": partial(replaced, old='way id="500"', new='way id="99999999999999999999"'),
    "a version of text": partial(replaced, old='version="3"', new='version="three"'),
    **{f"cut to {share:.0%}": partial(changed, change=partial(cut, share=share)) for share in (0.01, 0.5, 0.99)},
}
# What matters only to edits: objects that are new, or there twice, and versions.
_READ = ("every way twice", "a new way", "a new node", "an id beyond 64 bits", "a version of text")
CASES = [
    *(Case(f"extract: {name}", JOB, spoil, REFUSED) for name, spoil in _REFUSED.items()),
    Case("extract: nodes that are missing", JOB, partial(replaced, old='<node id="1000"', new='<node id="9"'), DONE),
    *(Case(f"extract: fuzzed {seed}", JOB, partial(changed, change=partial(fuzzed, number=seed)), EITHER)
      for seed in range(40)),
    *(Case(f"layers of an extract: {name}", READER, spoil, EITHER if name in _READ else REFUSED)
      for name, spoil in _REFUSED.items()),
    *(Case(f"layers of an extract: fuzzed {seed}", READER, partial(changed, change=partial(fuzzed, number=seed)),
           EITHER) for seed in range(40)),
]  # fmt: skip
