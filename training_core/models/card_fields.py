"""Members of a model's document, each read as a type and within a range: the document is untrusted.

Scope: JSON objects. Independent of what the members mean.
"""

from __future__ import annotations

from typing import Any

from ..errors import shown

# Longer than any description of a band or name of a class.
LONGEST_TEXT = 10_000
_REQUIRED = object()


class Fields:
    """The members of a JSON object. What is wrong with one is a ValueError that names it.

    Parameters
    ----------
    value : any JSON value
        That should be an object.
    name : str
        Its name, for messages.
    """

    def __init__(self, value: Any, name: str) -> None:
        if not isinstance(value, dict):
            raise ValueError(f"{name} is {shown(value)}, no object")
        self._members, self._name = value, name

    def text(self, key: str, default: Any = _REQUIRED) -> str:
        """Return a text of at most LONGEST_TEXT characters.

        Raises
        ------
        ValueError
            It is missing, or something else.
        """
        value = self._member(key, default)
        return value if value is default else _text(value, f"{self._name} {key}")

    def texts(self, key: str) -> list[str]:
        """Return a list of such texts.

        Raises
        ------
        ValueError
            It is missing, or something else.
        """
        return [_text(value, f"an item of {self._name} {key}") for value in self.items(key)]

    def number(self, key: str, low: float, high: float) -> float:
        """Return a number within a range, ends included.

        Raises
        ------
        ValueError
            It is missing, or something else.
        """
        value = self._member(key, _REQUIRED)
        if type(value) not in (int, float) or not low <= value <= high:
            raise ValueError(f"{self._name} {key} is {shown(value)}, no number from {low:g} to {high:g}")
        return float(value)

    def whole(self, key: str, low: int, high: int, default: Any = _REQUIRED) -> int:
        """Return an integer within a range, ends included.

        Parameters
        ----------
        default : int, optional
            Without one, the member must be there.

        Raises
        ------
        ValueError
            It is missing, or something else.
        """
        value = self._member(key, default)
        if type(value) is not int or not low <= value <= high:
            raise ValueError(f"{self._name} {key} is {shown(value)}, no whole number from {low} to {high}")
        return value

    def items(self, key: str, default: Any = _REQUIRED) -> list[Any]:
        """Return a list.

        Raises
        ------
        ValueError
            It is missing, or something else.
        """
        value = self._member(key, default)
        if not isinstance(value, list):
            raise ValueError(f"{self._name} {key} is {shown(value)}, no list")
        return value

    def inner(self, key: str, default: Any = _REQUIRED) -> "Fields":
        """Return the members of an object.

        Raises
        ------
        ValueError
            It is missing, or something else.
        """
        return Fields(self._member(key, default), f"{self._name} {key}".strip())

    def plain(self) -> dict[str, Any]:
        """Return all members as they are."""
        return dict(self._members)

    def _member(self, key: str, default: Any) -> Any:
        value = self._members.get(key, default)
        if value is _REQUIRED:
            raise ValueError(f"{self._name} {key} is missing")
        return value


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str) or len(value) > LONGEST_TEXT or "\0" in value or not _is_unicode(value):
        raise ValueError(f"{name} is {shown(value)}, no text of at most {LONGEST_TEXT} characters")
    return value


def _is_unicode(text: str) -> bool:
    """Whether a text can be written to files: JSON can hold halves of surrogate pairs."""
    return not any("\ud800" <= char <= "\udfff" for char in text)
