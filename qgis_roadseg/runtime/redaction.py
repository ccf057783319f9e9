"""Texts for other people's eyes: without passwords, tokens of addresses, and paths of the user's data.

Scope: plain text. Independent of where it comes from.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from ...training_core.errors import without_passwords

_START = r"(?:~?/(?=[^\s/])|[A-Za-z]:[\\/]+|\\\\(?=\w))"
_QUOTED = rf"""(?<=")(?:{_START})[^"\n]*(?=")|(?<=')(?:{_START})[^'\n]*(?=')"""
# Folders, of which names may hold spaces; then a name up to its ending or, without one, to the next space.
_FOLDERS = r"""(?:[^\\/\n'"<>|*?]*[^\\/\n'"<>|*?\s][\\/]+)*"""
_NAME = r"""(?:(?:[^\\/\n'"<>|:;,.]|\.(?!\s)){0,80}?\.[A-Za-z]\w{0,7}\b|[^\s\\/'"<>|,;()]*)"""
_PLAIN = rf"(?<![\w.)\]/\\<~]){_START}{_FOLDERS}{_NAME}"
_RELATIVE = r"(?<![\w./\\-])[\w.-]+(?:[\\/]+[\w.-]+)*[\\/]+[\w.-]*\.[A-Za-z]\w{1,7}\b"
_ADDRESS = (
    r"""\b(?P<scheme>[A-Za-z][\w+.-]{0,15})(?:://|%3A%2F%2F)(?:[^\s/@'"&]*(?:@|%40))?(?P<host>[^\s/?#'"%&]*)[^\s'"]*"""
)
_HIDDEN = re.compile(rf"(?P<address>{_ADDRESS})|(?P<path>{_QUOTED}|{_PLAIN}|{_RELATIVE})", re.IGNORECASE)
_ADDRESSES = re.compile(_ADDRESS, re.IGNORECASE)
_ENDING = re.compile(r"\.[A-Za-z]\w{0,7}\b(?!.*\.[A-Za-z]\w{0,7}\b)")
# Shorter names would be found within words.
_MIN_NAME = 4


def shareable(text: str, kept: Iterable[Path] = (), with_paths: bool = False) -> str:
    """Return a text without passwords; addresses are reduced to their host, paths to a number and their ending.

    The same path has the same number, as its file's name has by itself. Paths in the folders `kept` stay, and all do
    `with_paths`; the home folder becomes ~ in them.
    """
    text = without_passwords(text)
    if with_paths:
        return _without_home(_ADDRESSES.sub(_host_alone, text))
    folders = tuple(_plain(folder) for folder in kept if not Path.home().is_relative_to(folder))
    numbers: dict[str, str] = {}

    def hidden(path: str) -> str:
        if any(_plain(path) == folder or _plain(path).startswith(f"{folder}/") for folder in folders):
            return path
        ending = _ENDING.search(re.split(r"[\\/]", path)[-1])
        return numbers.setdefault(_plain(path), f"<path {len(numbers) + 1}>{ending[0] if ending else ''}")

    def replaced(found: re.Match) -> str:
        if found["path"] is not None:
            return hidden(found["path"])
        return _host_alone(found) if found["host"] else f"{found['scheme']}:{hidden(found['address'])}"

    text = _HIDDEN.sub(replaced, text)
    for path, number in numbers.items():
        name = path.rpartition("/")[2]
        if len(name) >= _MIN_NAME and name in text:
            text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", number.replace("\\", r"\\"), text)
    return _without_home(text)


def _host_alone(found: re.Match) -> str:
    return f"{found['scheme']}://{found['host']}/…" if found["host"] else found[0]


def _plain(path: "str | Path") -> str:
    return re.sub(r"[\\/]+", "/", str(path))


def _without_home(text: str) -> str:
    home = str(Path.home())
    for written in {home, home.replace("\\", "\\\\"), home.replace("\\", "/")}:
        text = re.sub(rf"{re.escape(written)}(?![\w.-])", "~", text)
    return text
