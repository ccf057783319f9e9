"""Untrusted JSON: parsed within limits, and read into dataclasses whose annotations define the format.

Scope: text to values with types and ranges. Independent of what a document means; standard library only.

    @dataclass(frozen=True)
    class Card:
        threshold: Annotated[float, Range(0, 1)]
        bands: Annotated[tuple[str, ...], Key("mlm:bands"), Range(1, 100)]
        halo_px: int = 0

    card = read(Card, parse(text), "the card")
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
import stat
from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path
from typing import Annotated, Any, Callable, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from ..errors import shown

# Far beyond what jobs and model cards hold, and far below what a recursive function bears.
MAX_DEPTH = 32
# Longer than any description of a band, name of a class, or note.
MAX_TEXT = 10_000
# Every integer that a float or a file's size may stand for; longer ones only cost time.
_MAX_DIGITS = 20
_NULL = re.compile("\0")
# Characters that files cannot hold: null, and halves of surrogate pairs.
_UNWRITABLE = re.compile("[\0\ud800-\udfff]")
# Characters that moreover do harm in a terminal.
CONTROL_CHARACTERS = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")

_T = TypeVar("_T")
_Reader = Callable[[Any, str], Any]


@dataclasses.dataclass(frozen=True)
class Range:
    """Least and greatest value of a number, or number of characters or items; both may be reached."""

    low: float = -math.inf
    high: float = math.inf


@dataclasses.dataclass(frozen=True)
class Key:
    """Name of the member in the document, where it differs from the field's."""

    name: str


@dataclasses.dataclass(frozen=True)
class _Mark:
    name: str


# For a dataclass: refuse members that are not fields of it, instead of passing over them.
EXACT = _Mark("exact")
# For a text: refuse control characters; or allow bytes that are not UTF-8, as os.fsdecode returns them.
PRINTABLE, PATH = _Mark("printable"), _Mark("path")


def parse(text: str) -> Any:
    """Return the value of a JSON text.

    Raises ValueError if the text is not JSON; a key stands twice in an object; a number is NaN, infinite or has too
    many digits; or lists and objects are nested deeper than MAX_DEPTH.
    """
    try:
        document = json.loads(
            text, object_pairs_hook=_object, parse_int=_integer, parse_float=_finite, parse_constant=_finite
        )
    except RecursionError as error:
        raise ValueError("The JSON is nested too deeply.") from error
    _check_depth(document)
    return document


def parse_file(path: Union[str, Path], max_bytes: int) -> Any:
    """Return the value of a JSON file in UTF-8 without a byte order mark.

    Raises OSError if the file cannot be read. Raises ValueError if it is not a regular file, has more bytes than
    `max_bytes`, or `parse` refuses its text.
    """
    status = Path(path).stat()
    if not stat.S_ISREG(status.st_mode):  # reading a pipe or a device might never end
        raise ValueError("It is not a regular file.")
    if status.st_size > max_bytes:
        raise ValueError(f"It has {status.st_size / 1e6:.0f} MB; at most {max_bytes / 1e6:g} MB are read.")
    return parse(Path(path).read_bytes().decode("utf-8"))  # UnicodeDecodeError is a ValueError


def read(kind: type[_T], value: object, name: str = "", is_exact: bool = False) -> _T:
    """Return a JSON value of unknown origin, from `parse`, as a type; messages name the value by `name`.

    The type is a dataclass, int, float, bool, str, Any, or Literal, Optional, list, tuple, dict or Mapping of these;
    Annotated with Range, and in dataclasses with Key, EXACT or PRINTABLE. A number must not be a truth value, nor an
    integer a float; lists become tuples where annotated as such. If `is_exact`, unknown members are refused, as by
    EXACT. Raises ValueError if a member is missing, of another type or out of its range; the message names it.
    """
    annotation: Any = kind
    result: _T = _reader(annotation, (EXACT,) if is_exact else ())(value, name)
    return result


@cache
def _reader(kind: Any, notes: tuple[Any, ...] = ()) -> _Reader:
    """Return the function that reads values of a type; made once for each type, since live commands have many."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _reader(arguments[0], (*arguments[1:], *notes))
    within = next((note for note in notes if isinstance(note, Range)), None)
    if kind is Any:
        return lambda value, name: value
    if dataclasses.is_dataclass(kind):
        return partial(_read_object, kind, _members(kind), EXACT in notes)
    if kind is str:
        refused = CONTROL_CHARACTERS if PRINTABLE in notes else (_NULL if PATH in notes else _UNWRITABLE)
        return partial(_read_text, refused, within or Range(0, MAX_TEXT))
    if kind is bool or origin is Literal:
        return partial(_read_choice, arguments or (False, True))
    if kind in (int, float):
        return partial(_read_number, kind, within or Range())
    if type(None) in arguments:
        reader = _reader(next(each for each in arguments if each is not type(None)), notes)
        return lambda value, name: None if value is None else reader(value, name)
    return _container_reader(origin, arguments, within or Range())


def _container_reader(kind: Any, arguments: tuple[Any, ...], within: Range) -> _Reader:
    if kind is tuple and arguments[-1] is not Ellipsis:
        return partial(_read_fixed, tuple(map(_reader, arguments)))
    if kind in (list, tuple):
        return partial(_read_list, kind, _reader(arguments[0]), within)
    if isinstance(kind, type) and issubclass(kind, Mapping):
        return partial(_read_mapping, _reader(arguments[0]), _reader(arguments[1]), within)
    raise TypeError(f"{kind} cannot be read from JSON")


def _members(kind: Any) -> dict[str, tuple[str, _Reader, bool]]:
    """Return each field of a dataclass by its key: its name, what reads it, and whether it must be there."""
    hints = get_type_hints(kind, include_extras=True)
    members = {}
    for field in dataclasses.fields(kind):
        notes = get_args(hints[field.name]) if get_origin(hints[field.name]) is Annotated else ()
        key = next((note.name for note in notes if isinstance(note, Key)), field.name)
        is_required = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        members[key] = (field.name, _reader(hints[field.name]), is_required)
    return members


def _read_object(
    kind: Any, members: dict[str, tuple[str, _Reader, bool]], is_exact: bool, value: Any, name: str
) -> Any:
    if not isinstance(value, dict):
        raise _wrong(value, name, "an object")
    if is_exact and not value.keys() <= members.keys():
        raise ValueError(f"{name} has the unknown member {shown(min(value.keys() - members.keys()))}".strip())
    values = {}
    for key, (field, reader, is_required) in members.items():
        if key in value:
            values[field] = reader(value[key], f"{name} {key}" if name else key)
        elif is_required:
            raise ValueError(f"{name} {key} is missing".strip())
    return kind(**values)


def _read_text(refused: re.Pattern[str], within: Range, value: Any, name: str) -> Any:
    if not isinstance(value, str) or not within.low <= len(value) <= within.high or refused.search(value):
        least = f"{within.low:g} to" if within.low > 0 else "at most"
        raise _wrong(value, name, "text" + f" of {least} {within.high:g} characters" * (within.high < math.inf))
    return value


def _read_choice(choices: tuple[Any, ...], value: Any, name: str) -> Any:
    if not any(type(value) is type(choice) and value == choice for choice in choices):
        raise _wrong(value, name, f"one of {', '.join(map(json.dumps, choices))}")
    return value


def _read_number(kind: type, within: Range, value: Any, name: str) -> Any:
    is_number = type(value) in (int, kind) and math.isfinite(value)
    if not is_number or not within.low <= value <= within.high:
        bounds = "" if within == Range() else f" from {within.low:g} to {within.high:g}"
        raise _wrong(value, name, f"a {'whole ' * (kind is int)}number{bounds}")
    return kind(value)


def _read_fixed(readers: tuple[_Reader, ...], value: Any, name: str) -> Any:
    if not isinstance(value, list) or len(value) != len(readers):
        raise _wrong(value, name, f"a list of {len(readers)}")
    return tuple(reader(item, name) for reader, item in zip(readers, value))


def _read_list(make: Callable[[Any], Any], reader: _Reader, within: Range, value: Any, name: str) -> Any:
    if not isinstance(value, list):
        raise _wrong(value, name, "a list")
    _check_count(value, name, within)
    item_name = f"an item of {name}"
    return make([reader(item, item_name) for item in value])


def _read_mapping(read_key: _Reader, read_value: _Reader, within: Range, value: Any, name: str) -> Any:
    if not isinstance(value, dict):
        raise _wrong(value, name, "an object")
    _check_count(value, name, within)
    return {read_key(key, f"a key of {name}"): read_value(each, f"{name} {shown(key)}") for key, each in value.items()}


def _wrong(value: Any, name: str, expected: str) -> ValueError:
    return ValueError(f"{name} is {shown(value)}, not {expected}")


def _check_count(items: Any, name: str, within: Range) -> None:
    if not within.low <= len(items) <= within.high:
        bounds = f"{within.low:g} to {within.high:g}" if within.low > 0 else f"at most {within.high:g}"
        raise ValueError(f"{name} has {len(items)} items, not {bounds}")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("A key of the JSON stands twice in an object.")
    return members


def _integer(digits: str) -> int:
    if len(digits.lstrip("-")) > _MAX_DIGITS:
        raise ValueError("A number of the JSON has too many digits.")
    return int(digits)


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError("A number of the JSON is NaN, infinite or too large.")
    return value


def _check_depth(document: Any) -> None:
    level, depth = [document], 0
    while level:
        if depth > MAX_DEPTH:
            raise ValueError("The JSON is nested too deeply.")
        parents = [
            each.values() if isinstance(each, dict) else each for each in level if isinstance(each, (dict, list))
        ]
        level, depth = [child for children in parents for child in children], depth + 1
