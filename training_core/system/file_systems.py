"""What file systems of Windows and macOS do otherwise than those of Linux: equal names, files that others hold open.

Scope: names and moves. Independent of what files hold.
"""

from __future__ import annotations

import time
import unicodedata
from collections.abc import Callable
from typing import Any

PATIENCE_S, PAUSE_S = 2.0, 0.05


def patiently(act: Callable[..., object], *paths: Any) -> None:
    """Rename or remove files, and try again for PATIENCE_S as long as another program holds one of them open.

    Windows lets nobody else rename, replace or remove an open file, and programs that search for viruses, index or
    back up open each new file for moments.

    Raises
    ------
    OSError
        It is not possible.
    """
    end_s = time.monotonic() + PATIENCE_S
    while True:
        try:
            act(*paths)
            return
        except PermissionError:
            if time.monotonic() > end_s:
                raise
            time.sleep(PAUSE_S)


def same_name(name: str) -> str:
    """Return a key that two names share if a file system takes them for one: of other case, or decomposed accents."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())
