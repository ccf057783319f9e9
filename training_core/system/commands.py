"""Commands of a session: lines of JSON, which are untrusted input, read into dataclasses.

Scope: the format of a line. Independent of which commands a session has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Optional, TypeVar

from ..errors import shown
from ..events import Reporter
from ..jobs.json_fields import parse, read
from .input_lines import MAX_LINE_BYTES, TOO_LONG

_T = TypeVar("_T")


def read_command(line: bytes, parse_line: Callable[[bytes], _T], reporter: Reporter) -> Optional[_T]:
    """Return the command of a line; warn and return None where `parse_line` raises ValueError."""
    try:
        return parse_line(line)
    except ValueError as error:
        reporter.warning(f"A command was not understood and is skipped: {str(error).rstrip('.')}.")
        return None


def parse_line(line: bytes, types: Mapping[str, type]) -> Any:
    """Return the command of a line, of the type that its name has.

    Raises ValueError if the line is not a command; the message gives the reason.
    """
    if line == TOO_LONG:
        raise ValueError(f"it is longer than {MAX_LINE_BYTES >> 20} MiB")
    document = parse(line.decode("utf-8"))  # UnicodeDecodeError is a ValueError
    if not isinstance(document, dict):
        raise ValueError("it is not an object")
    name = document.pop("command", None)
    if not isinstance(name, str) or name not in types:
        raise ValueError(f"there is no command {shown(name)}")
    return read(types[name], document, "", is_exact=True)
