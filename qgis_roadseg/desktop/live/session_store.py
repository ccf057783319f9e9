"""Folders of live sessions in the user's data folder: made, found again, read, and cleaned up when they are old.

Scope: folders, their locks, the files of choices and labels. Independent of workers. Labels are never removed: of an
old session they stay, with its choices. The files are untrusted input: invalid entries are left out.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import time
import uuid
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Optional

from qgis.core import QgsGeometry

from ....training_core.errors import OutputError
from ....training_core.jobs import parse
from ....training_core.jobs.file_systems import replace
from ...layers.label_layers import NAMES
from ...runtime.locks import lock_at
from .labels import Content, Label

# Sessions that can be resumed; of older ones the labels alone are kept.
KEPT = 3
CHOICES, LABELS, CHECKPOINT = "choices.json", "labels.json", "checkpoint.safetensors"
IMAGE, SHOWN = "image.tif", "shown.tif"
# As the worker reads it: the file, a line of it, and the id of a label.
_MAX_BYTES, _MAX_LINE_BYTES, _MAX_ID = 200 << 20, 16 << 20, 200
_PRECIOUS = (CHOICES, LABELS, "unread-labels.json", SHOWN, "session.json")


class SessionStore:
    """A session's folder, which no other QGIS uses as long as it is held.

    Raises OutputError if it cannot be made, or another QGIS uses it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(f"{path} cannot be created ({error.strerror}).", "Make room on its disk.") from error
        self._lock = _lock_of(path)
        if not self._lock.tryLock(0):
            raise OutputError(
                f"The session in {path} is open in another QGIS.", "Continue it there, or start a new session."
            )

    def note(self, choices: Mapping[str, Any]) -> None:
        """Store the choices, for a resumed session; raise OutputError if that fails."""
        draft = self.path / f".{uuid.uuid4().hex}"
        try:
            draft.write_text(json.dumps(choices, indent=1), encoding="utf-8")
            replace(draft, self.path / CHOICES)
        except OSError as error:
            raise OutputError(f"{self.path} cannot be written ({error.strerror}).", "Make room on its disk.") from error

    def release(self) -> None:
        """Let others use the folder, or remove it where there is nothing to go on with."""
        if not any((self.path / name).exists() for name in (LABELS, CHECKPOINT, SHOWN)):
            shutil.rmtree(self.path, ignore_errors=True)
        self._lock.unlock()


def new_folder(root: Path) -> SessionStore:
    """Return the folder of a new session, named for the time."""
    name = time.strftime("%Y-%m-%d %H-%M-%S")
    path = root / name
    return SessionStore(path if not path.exists() else root / f"{name} {uuid.uuid4().hex[:4]}")


def choices_in(path: Path) -> dict[str, Any]:
    """Return the choices of a session; empty where they cannot be read."""
    try:
        choices = parse((path / CHOICES).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return choices if isinstance(choices, dict) else {}


def last_session(root: Path) -> Optional[Path]:
    """Return the folder of the last session that can be resumed here; None without one."""
    free = (path for path in _newest_first(root)[:KEPT] if choices_in(path) and not _is_held(path))
    return next(free, None)


def clean_up(root: Path) -> None:
    """Remove models and predictions of old sessions, and temporary files of unused ones; never labels."""
    for rank, path in enumerate(_newest_first(root)):
        lock = _lock_of(path)
        if not lock.tryLock(0):
            continue
        for each in list(path.iterdir()):
            if each.name in _PRECIOUS or (rank < KEPT and not each.name.startswith(("prediction-", "temporary"))):
                continue
            with contextlib.suppress(OSError):
                shutil.rmtree(each) if each.is_dir() else each.unlink()
        with contextlib.suppress(OSError):
            path.rmdir()  # one in which nothing was left
        lock.unlock()


def _newest_first(root: Path) -> list[Path]:
    """Return the folders of sessions, whose names are their times."""
    return sorted((path for path in root.glob("*") if path.is_dir()), key=lambda path: path.name, reverse=True)


def _is_held(path: Path) -> bool:
    lock = _lock_of(path)
    is_free = lock.tryLock(0)
    lock.unlock()
    return not is_free


def _lock_of(path: Path) -> Any:
    return lock_at(path.with_name(f"{path.name}.lock"))


def read_known(path: Path, decimals: int) -> list[Label]:
    """Return the labels in a session's file; none where there is no such file, or it cannot be read."""
    try:
        if path.stat().st_size > _MAX_BYTES:
            return []
        with path.open("rb") as file:
            lines = iter(partial(file.readline, _MAX_LINE_BYTES), b"")
            labels = [_label(change, decimals) for line in lines for change in parse(line.decode())["changes"]]
    except (OSError, ValueError, KeyError, TypeError):
        return []
    return [label for label in labels if label is not None]


def _label(change: Any, decimals: int) -> Optional[Label]:
    """Return a label; None where the change is invalid."""
    try:
        name, key, geometry = change["layer"], change["id"], QgsGeometry.fromWkt(change["geometry"])
        width_m, sure = change["width_m"], change["sure"]
    except (KeyError, TypeError):  # TypeError also if the geometry is not text
        return None
    is_number = isinstance(width_m, (int, float)) and not isinstance(width_m, bool)
    if geometry.isNull() or name not in NAMES or not (is_number or width_m is None):
        return None
    if not isinstance(key, str) or not 0 < len(key) <= _MAX_ID:
        return None
    content = Content(geometry.asWkt(decimals), float(width_m) if is_number else None, sure is not False)
    return Label(name, key, content)
