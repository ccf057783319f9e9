"""Folders of live sessions in the user's data folder: made, found again, and cleaned up when they are old.

Scope: folders and their locks. Independent of what runs in them. What was drawn is never removed: of an old session the
labels stay, with the note of what was chosen.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Optional

from qgis.PyQt.QtCore import QLockFile

from ...training_core.errors import OutputError
from ...training_core.jobs import parse
from ..paths import data_folder

# Sessions that can be resumed; of older ones the labels alone are kept.
KEPT = 3
CHOICES, LABELS, CHECKPOINT = "choices.json", "labels.json", "checkpoint.safetensors"
IMAGE, SHOWN = "image.tif", "shown.tif"
_PRECIOUS = (CHOICES, LABELS, "unread-labels.json", SHOWN, "session.json")
_LOCK = ".lock"


def sessions_folder() -> Path:
    """Return the folder of all sessions."""
    return data_folder() / "live"


class SessionFolder:
    """A session's folder, which no other QGIS uses as long as it is held.

    Parameters
    ----------
    path : Path
        The folder.

    Raises
    ------
    OutputError
        It cannot be made, or another QGIS uses it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(f"{path} cannot be made ({error.strerror}).", "Make room on its disk.") from error
        self._lock = _lock_of(path)
        if not self._lock.tryLock(0):
            raise OutputError(f"The session in {path} is open in another QGIS.", "Go on with it there, or start anew.")

    def note(self, choices: Mapping[str, Any]) -> None:
        """Note what was chosen, for the one who resumes the session.

        Raises
        ------
        OutputError
            The folder cannot be written.
        """
        draft = self.path / f".{uuid.uuid4().hex}"
        try:
            draft.write_text(json.dumps(choices, indent=1), encoding="utf-8")
            draft.replace(self.path / CHOICES)
        except OSError as error:
            raise OutputError(f"{self.path} cannot be written ({error.strerror}).", "Make room on its disk.") from error

    def release(self) -> None:
        """Let others use the folder, or remove it where there is nothing to go on with."""
        if not any((self.path / name).exists() for name in (LABELS, CHECKPOINT, SHOWN)):
            shutil.rmtree(self.path, ignore_errors=True)
        self._lock.unlock()


def new_folder(root: Path) -> SessionFolder:
    """Return the folder of a new session, named for the time.

    Raises
    ------
    OutputError
        It cannot be made.
    """
    name = time.strftime("%Y-%m-%d %H-%M-%S")
    path = root / name
    return SessionFolder(path if not path.exists() else root / f"{name} {uuid.uuid4().hex[:4]}")


def choices_in(path: Path) -> dict[str, Any]:
    """Return what was chosen in a session; empty where that cannot be read."""
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
    """Remove models and predictions of old sessions, and what is temporary in all that nobody uses; never labels."""
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


def _lock_of(path: Path) -> QLockFile:
    lock = QLockFile(str(path.with_name(f"{path.name}{_LOCK}")))
    lock.setStaleLockTime(0)  # a lock is stale when its process has gone, however long a session takes
    return lock
