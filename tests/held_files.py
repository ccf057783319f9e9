"""Windows, simulated: nobody may move or remove a file that another program has open."""

from __future__ import annotations

import os
from typing import Any


def hold_files(monkeypatch: Any, refusals: int) -> None:
    """Have the next moves and removals of files refused, as many as given."""
    left = iter(range(refusals))

    def held(act: Any) -> Any:
        def attempt(*paths: Any, **options: Any) -> None:
            if next(left, None) is not None:
                raise PermissionError(13, "Access is denied")
            act(*paths, **options)

        return attempt

    for name in ("replace", "rename", "unlink"):
        monkeypatch.setattr(os, name, held(getattr(os, name)))
