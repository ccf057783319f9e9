"""Untrusted JSON: parsed within limits, and read into dataclasses whose annotations define the format.

Scope: text to values with types and ranges. Independent of what a document means; standard library only.

    @dataclass(frozen=True)
    class Card:
        threshold: Annotated[float, Limits(0, 1)]
        bands: Annotated[tuple[str, ...], Key("mlm:bands"), Limits(1, 100)]
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
from functools import cache
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
class Limits:
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

    Raises
    ------
    ValueError
        The text is not JSON; a key stands twice in an object; a number is NaN, infinite or has too many digits; or
        lists and objects are nested deeper than MAX_DEPTH.
    """
    try:
        document = json.loads(
            text, object_pairs_hook=_object, parse_int=_integer, parse_float=_float, parse_constant=_refuse_constant
        )
    except RecursionError as error:
        raise ValueError("The JSON is nested too deeply.") from error
    _check_depth(document)
    return document


def parse_file(path: Union[str, Path], max_bytes: int) -> Any:
    """Return the value of a JSON file in UTF-8 without a byte order mark.

    Raises
    ------
    OSError
        The file cannot be read.
    ValueError
        It is not a regular file, has more bytes than `max_bytes`, or `parse` refuses its text.
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
    Annotated with Limits, and in dataclasses with Key, EXACT or PRINTABLE. A number must not be a truth
    value, nor an integer a float; lists become tuples where annotated as such. If `is_exact`, unknown members are
    refused, as by EXACT.

    Raises
    ------
    ValueError
        A member is missing, of another type or out of its limits; the message names it.
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
    limits = next((note for note in notes if isinstance(note, Limits)), None)
    if kind is Any:
        return lambda value, name: value
    if dataclasses.is_dataclass(kind):
        return _dataclass_reader(kind, EXACT in notes)
    if kind is str:
        return _text_reader(limits or Limits(0, MAX_TEXT), notes)
    if kind is bool or origin is Literal:
        return _choice_reader(arguments or (False, True))
    if kind in (int, float):
        return _number_reader(kind, limits or Limits())
    if type(None) in arguments:
        return _optional_reader(_reader(next(each for each in arguments if each is not type(None)), notes))
    return _container_reader(origin, arguments, limits or Limits())


def _container_reader(kind: Any, arguments: tuple[Any, ...], limits: Limits) -> _Reader:
    if kind is tuple and arguments[-1] is not Ellipsis:
        return _fixed_reader(arguments)
    if kind in (list, tuple):
        return _list_reader(arguments[0], kind, limits)
    if isinstance(kind, type) and issubclass(kind, Mapping):
        return _mapping_reader(arguments, limits)
    raise TypeError(f"{kind} cannot be read from JSON")


def _dataclass_reader(kind: Any, is_exact: bool) -> _Reader:
    hints = get_type_hints(kind, include_extras=True)
    keys, readers, optional = {}, {}, set()
    for field in dataclasses.fields(kind):
        notes = get_args(hints[field.name]) if get_origin(hints[field.name]) is Annotated else ()
        keys[field.name] = next((note.name for note in notes if isinstance(note, Key)), field.name)
        readers[field.name] = _reader(hints[field.name])
        has_default = field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING
        if has_default:
            optional.add(field.name)
    known = set(keys.values())

    def read_members(value: Any, name: str) -> Any:
        if not isinstance(value, dict):
            raise ValueError(f"{name} is {shown(value)}, not an object")
        if is_exact and not value.keys() <= known:
            raise ValueError(f"{name} has the unknown member {shown(min(value.keys() - known))}".strip())
        values = {}
        for field, key in keys.items():
            if key in value:
                values[field] = readers[field](value[key], f"{name} {key}" if name else key)
            elif field not in optional:
                raise ValueError(f"{name} {key} is missing".strip())
        return kind(**values)

    return read_members


def _text_reader(limits: Limits, notes: tuple[Any, ...]) -> _Reader:
    refused = CONTROL_CHARACTERS if PRINTABLE in notes else (_NULL if PATH in notes else _UNWRITABLE)

    def read_text(value: Any, name: str) -> Any:
        if not isinstance(value, str) or not limits.low <= len(value) <= limits.high or refused.search(value):
            least = f"{limits.low:g} to" if limits.low > 0 else "at most"
            length = f" of {least} {limits.high:g} characters" if limits.high < math.inf else ""
            raise ValueError(f"{name} is {shown(value)}, not text{length}")
        return value

    return read_text


def _choice_reader(choices: tuple[Any, ...]) -> _Reader:
    def read_choice(value: Any, name: str) -> Any:
        if not any(type(value) is type(choice) and value == choice for choice in choices):
            raise ValueError(f"{name} is {shown(value)}, not one of {', '.join(map(json.dumps, choices))}")
        return value

    return read_choice


def _number_reader(kind: type, limits: Limits) -> _Reader:
    def read_number(value: Any, name: str) -> Any:
        is_number = type(value) in (int, kind) and math.isfinite(value)
        if not is_number or not limits.low <= value <= limits.high:
            bounds = "" if limits == Limits() else f" from {limits.low:g} to {limits.high:g}"
            raise ValueError(f"{name} is {shown(value)}, not a {'whole ' * (kind is int)}number{bounds}")
        return kind(value)

    return read_number


def _optional_reader(reader: _Reader) -> _Reader:
    return lambda value, name: None if value is None else reader(value, name)


def _fixed_reader(kinds: tuple[Any, ...]) -> _Reader:
    readers = [_reader(kind) for kind in kinds]

    def read_items(value: Any, name: str) -> Any:
        if not isinstance(value, list) or len(value) != len(readers):
            raise ValueError(f"{name} is {shown(value)}, not a list of {len(readers)}")
        return tuple(reader(item, name) for reader, item in zip(readers, value))

    return read_items


def _list_reader(kind: Any, make: Callable[[Any], Any], limits: Limits) -> _Reader:
    reader = _reader(kind)

    def read_list(value: Any, name: str) -> Any:
        if not isinstance(value, list):
            raise ValueError(f"{name} is {shown(value)}, not a list")
        _check_count(value, name, limits)
        item_name = f"an item of {name}"
        return make([reader(item, item_name) for item in value])

    return read_list


def _mapping_reader(kinds: tuple[Any, ...], limits: Limits) -> _Reader:
    read_key, read_value = map(_reader, kinds)

    def read_mapping(value: Any, name: str) -> Any:
        if not isinstance(value, dict):
            raise ValueError(f"{name} is {shown(value)}, not an object")
        _check_count(value, name, limits)
        key_name = f"a key of {name}"
        return {read_key(key, key_name): read_value(each, f"{name} {shown(key)}") for key, each in value.items()}

    return read_mapping


def _check_count(items: Any, name: str, limits: Limits) -> None:
    if not limits.low <= len(items) <= limits.high:
        bounds = f"{limits.low:g} to {limits.high:g}" if limits.low > 0 else f"at most {limits.high:g}"
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


def _float(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError("A number of the JSON is too large.")
    return value


def _refuse_constant(name: str) -> float:
    raise ValueError(f"The JSON has the number {name}.")


def _check_depth(document: Any) -> None:
    level, depth = [document], 0
    while level:
        if depth > MAX_DEPTH:
            raise ValueError("The JSON is nested too deeply.")
        parents = [
            each.values() if isinstance(each, dict) else each for each in level if isinstance(each, (dict, list))
        ]
        level, depth = [child for children in parents for child in children], depth + 1
