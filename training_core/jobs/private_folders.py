"""Private folders for temporary files: removed at the end, or by a later run if their process was killed.

Each folder holds a file that its process keeps locked. The system drops the lock when the process ends in any way, so
a folder without a lock is a leftover. Scope: folders and locks. Independent of their content; standard library only.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import sys
import time
from pathlib import Path
from typing import Optional

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

LOCK = ".lock"
# Prefix and suffix of the folders next to outputs, in which these are written until they are complete.
BESIDE_OUTPUTS = (".roadseg-", ".part")
# Where a file system has no locks, folders that have not changed for this long are leftovers.
OLD_S = 2 * 86400.0
# Newer Pythons make 0o700 an access list on Windows, which files keep when they are moved out of the folder: in a
# shared folder, nobody else could read a finished output. There the list of the parent is inherited.
_MODE = 0o777 if sys.platform == "win32" else 0o700


class PrivateFolder:
    """A new folder that no other user can foresee, enter, or have there before as a link.

    By prefix and suffix of its name, `remove_leftovers` finds it. Raises OSError if it cannot be made.
    """

    def __init__(self, parent: Path, prefix: str, suffix: str = "") -> None:
        self._lock: Optional[int] = None
        while True:
            self.path = parent / f"{prefix}{os.getpid()}-{secrets.token_hex(8)}{suffix}"
            self.path.mkdir(_MODE)
            try:
                if self._take_lock():
                    return
            except BaseException:
                self.remove()
                raise
            self.remove()

    def remove(self) -> None:
        """Remove the folder with its content; a later run removes what cannot be removed now."""
        if self._lock is not None:
            os.close(self._lock)  # first, since Windows removes no file that is open
            self._lock = None
        shutil.rmtree(self.path, ignore_errors=True)

    def _take_lock(self) -> bool:
        """Lock the folder; return False if another run has taken it for a leftover before it was locked."""
        file = self.path / LOCK
        self._lock = os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            return is_locked_now(self._lock) and file.exists()
        except OSError:  # a file system without locks
            os.close(self._lock)
            self._lock = None
            file.unlink()
            return True


def remove_leftovers(parent: Path, prefix: str, suffix: str = "") -> int:
    """Remove the private folders of killed processes, and return their number."""
    count = 0
    with contextlib.suppress(OSError):
        for folder in list(parent.glob(f"{prefix}*{suffix}")):
            with contextlib.suppress(OSError):
                count += _removed(folder)
    return count


def _removed(folder: Path) -> bool:
    """Remove a folder if no process uses it; return whether it was removed.

    Raises OSError if the folder cannot be read, or its lock cannot be tried.
    """
    if folder.is_symlink() or not folder.is_dir():
        return False
    try:
        lock = os.open(folder / LOCK, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
    except FileNotFoundError:  # a file system without locks, or a folder that is just being made
        newest_s = max(path.stat().st_mtime for path in (folder, *folder.iterdir()))
        if time.time() - newest_s > OLD_S:
            shutil.rmtree(folder, ignore_errors=True)
            return True
        return False
    try:
        is_leftover = is_locked_now(lock)
        if is_leftover:
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(lock)
    if is_leftover and sys.platform == "win32":  # which removes no file that is open
        shutil.rmtree(folder, ignore_errors=True)
    return is_leftover


def is_locked_now(handle: int) -> bool:
    """Lock an open file if no one else has locked it, and return whether that was possible.

    Raises OSError if the file system has no locks.
    """
    try:
        if sys.platform == "win32":
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True
