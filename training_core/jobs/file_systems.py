"""How file systems of Windows and macOS differ from those of Linux: names that are the same, files that are open.

Scope: names, and moving files into place. Independent of what files hold.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
import time
import unicodedata
from collections.abc import Callable
from pathlib import Path, PureWindowsPath
from typing import Union

PATIENCE_S, PAUSE_S = 2.0, 0.05
# On Windows: characters that mean something else, ends that are cut off, and devices, also with an extension.
_IMPOSSIBLE = re.compile(
    r'.*[<>:"|?*\x00-\x1f].*|.*[. ]|(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9¹²³]) *(\..*)?',
    re.IGNORECASE | re.DOTALL,
)


def replace(new: Path, final: Path) -> None:
    """Move a file or folder into place, and try again for PATIENCE_S as long as another program holds one of them open.

    Windows lets nobody move, replace or remove a file that another program has open, and programs that search for
    viruses, index or back up open each new file for moments. Raises OSError if it is not possible.
    """
    _patiently(lambda: os.replace(new, final))


def remove(path: Path) -> None:
    """Remove a file, with the same patience.

    Raises OSError if it is not possible.
    """
    _patiently(lambda: os.unlink(path))


def is_read_only(path: Union[str, Path]) -> bool:
    """Return whether there is a file that its owner has protected, or that this user may not write to.

    On POSIX systems, only the folder of a file decides whether the file can be replaced.
    """
    with contextlib.suppress(OSError, ValueError):
        return not os.stat(path).st_mode & 0o222 or not os.access(path, os.W_OK)
    return False


def _patiently(act: Callable[[], None]) -> None:
    end_s = time.monotonic() + PATIENCE_S
    while True:
        try:
            act()
            return
        except PermissionError:
            if time.monotonic() > end_s:
                raise
            time.sleep(PAUSE_S)


def same_name(name: str) -> str:
    """Return a key that two names share if a file system takes them for one: of other case, or decomposed accents."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def impossible_name(path: str, system: str = sys.platform) -> str:
    """Return the part of a path that no file of this system can be called, or nothing; only Windows has such."""
    if system != "win32":
        return ""
    pure = PureWindowsPath(path)
    return next((part for part in pure.parts[bool(pure.anchor) :] if part != ".." and _IMPOSSIBLE.fullmatch(part)), "")
