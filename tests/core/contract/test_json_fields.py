"""Untrusted JSON: what a document may hold is read as it stands, and what it may not is refused by name."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.support.systems import make_pipe
from training_core.jobs.json_fields import EXACT, PATH, PRINTABLE, Key, Range, parse, parse_file, read


@dataclass(frozen=True)
class Wheel:
    radius_m: Annotated[float, Range(0.1, 2)]
    is_flat: bool = False


@dataclass(frozen=True)
class Car:
    wheels: Annotated[tuple[Wheel, ...], Range(3, 4)]
    name: Annotated[str, Key("car:name")]
    spare: Annotated[Optional[Wheel], EXACT] = None
    seats: Annotated[int, Range(1, 9)] = 5
    fuel: Literal["petrol", "none"] = "petrol"
    size: tuple[int, float] = (0, 0.0)
    is_new: bool = False
    notes: list[Annotated[str, PRINTABLE]] = field(default_factory=list)
    owners: Mapping[str, int] = field(default_factory=dict)
    extra: Any = None
    photo: Annotated[str, PATH] = ""


GOOD = {"wheels": [{"radius_m": 1}] * 3, "car:name": "A"}


def test_a_document_becomes_its_dataclass_with_defaults_and_keys():
    car = read(
        Car, {**GOOD, "spare": {"radius_m": 0.5, "is_flat": True}, "size": [3, 4], "owners": {"B": 2}, "unknown": 1}
    )
    assert car == Car((Wheel(1.0),) * 3, "A", Wheel(0.5, True), size=(3, 4.0), owners={"B": 2})
    assert type(car.wheels[0].radius_m) is float and type(car.size[1]) is float
    path = os.fsdecode(b"caf\xe9.jpg")
    assert read(Car, {**GOOD, "spare": None, "photo": path}).photo == path


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"wheels": [{"radius_m": 1}] * 2}, r"^wheels has 2 items, not 3 to 4$"),
        ({"wheels": [{"radius_m": 3}] * 4}, r"^an item of wheels radius_m is 3, not a number from 0.1 to 2$"),
        ({"wheels": [{"radius_m": float("nan")}] * 4}, "radius_m is nan"),
        ({"wheels": [{}] * 4}, "^an item of wheels radius_m is missing$"),
        ({"wheels": {}}, "^wheels is {}, not a list$"),
        ({"car:name": "a\0"}, "car:name .* not text of at most 10000 characters"),
        ({"car:name": "\ud800"}, "car:name"),
        ({"car:name": 3}, "car:name is 3"),
        ({"spare": {"radius_m": 1, "x": 2}}, "^spare has the unknown member 'x'$"),
        ({"spare": []}, "^spare is .*, not an object$"),
        ({"seats": 2.0}, "^seats is 2.0, not a whole number from 1 to 9$"),
        ({"seats": True}, "seats is True"),
        ({"fuel": "coal"}, '^fuel is \'coal\', not one of "petrol", "none"$'),
        ({"is_new": 1}, "^is_new is 1, not one of false, true$"),
        ({"size": [1]}, "^size is .*, not a list of 2$"),
        ({"notes": ["\x1b[2J"]}, "^an item of notes is"),
        ({"owners": {"A": "b"}}, "^owners 'A' is 'b', not a whole number$"),
        ({"photo": "a\0b"}, "^photo is"),
    ],
)
def test_a_wrong_member_is_refused_by_name(members, message):
    with pytest.raises(ValueError, match=message):
        read(Car, {**GOOD, **members})


def test_a_document_that_is_not_an_object_or_has_unknown_members_is_refused():
    with pytest.raises(ValueError, match=r"^the car is \[\], not an object$"):
        read(Car, [], "the car")
    with pytest.raises(ValueError, match="unknown member 'horn'"):
        read(Car, {**GOOD, "horn": 1}, is_exact=True)


_ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda values: st.lists(values, max_size=3) | st.dictionaries(st.text(max_size=5), values, max_size=3),
)


@given(st.sampled_from(sorted(Car.__dataclass_fields__)), _ANY_JSON)
def test_any_value_is_read_or_refused(name, value):
    try:
        read(Car, {**GOOD, "car:name" if name == "name" else name: value})
    except ValueError as error:
        assert len(str(error)) < 1000


@pytest.mark.parametrize(
    "text", ["", "{", '{"a": 1, "a": 2}', "NaN", "-Infinity", "1e999", "9" * 21, "[" * 100_000, "[" * 40 + "]" * 40]
)
def test_a_text_beyond_the_limits_is_refused(text):
    with pytest.raises(ValueError):
        parse(text)


def test_a_file_is_read_within_its_limit(tmp_path):
    path = tmp_path / "a.json"
    path.write_bytes(b'{"a": [1, 2.5]}')
    assert parse_file(path, 1000) == {"a": [1, 2.5]}
    for content in (b"[1]" * 1000, b"\xff", b"\xef\xbb\xbf[1]"):
        path.write_bytes(content)
        with pytest.raises(ValueError):
            parse_file(path, 1000)
    path.unlink()
    make_pipe(path)
    with pytest.raises(ValueError, match="regular file"):
        parse_file(path, 1000)
