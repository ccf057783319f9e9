"""Staging folders: private folders beside outputs, in which files are written until they are complete.

Scope: names, links, leftovers of killed runs. Independent of what is staged, and of when it is put in place.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import shutil
from pathlib import Path
from typing import Optional

import psutil

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
PART = ".part"
_NAME = re.compile(rf"\.roadseg-(\d+)-([0-9a-f]+){re.escape(PART)}")
# Suffixes by which libraries tell formats; others could mean something to them.
_PLAIN_SUFFIX = re.compile(r"\.[A-Za-z0-9]{1,16}")
# In a folder's name, what libraries take for a part of an address, or cannot encode.
_ODD = re.compile("[!\t\n\r\ud800-\udfff]")
# Names of this process' folders: the process of a leftover may have had the same number, as in containers.
_OWN: set[str] = set()


class StagingFolder:
    """A folder beside an output that no other user can foresee, enter, or have there before as a link.

    In it lie temporary files, and an empty file of the name of each output: by these the file system itself tells
    whether two names are one, and the next run whose leftovers they are.

    Parameters
    ----------
    final : Path
        An output, in the folder that this one is made in.

    Raises
    ------
    OSError
        The folder cannot be made.
    """

    def __init__(self, final: Path) -> None:
        self._token = secrets.token_hex(6)
        self._path = final.with_name(f".roadseg-{os.getpid()}-{self._token}{PART}")
        self._count = 0
        self._handle: Optional[int] = None
        _OWN.add(self._path.name)
        self._path.mkdir(0o700)

    def add(self, name: str) -> Path:
        """Return a temporary path for the output of a name, of ASCII letters and digits, with its suffix.

        What killed runs have left of that output is removed.

        Raises
        ------
        FileExistsError
            The folder has that output already, perhaps in another spelling.
        OSError
            There is no room, or the file system does not take the name.
        ValueError
            No file system takes the name.
        """
        remove_leftovers(self._path.with_name(name))
        with (self._path / name).open("xb"):
            pass
        suffix = Path(name).suffix
        suffix = suffix if _PLAIN_SUFFIX.fullmatch(suffix) else PART
        self._count += 1
        temporary = self._reachable() / f"{self._token}{self._count}{suffix}"
        temporary.write_bytes(b"\0" * 4096)
        temporary.unlink()
        return temporary

    def _reachable(self) -> Path:
        """Return the folder's path, or where its own has characters that libraries stumble over, one without these."""
        descriptors = Path("/proc/self/fd")
        if not _ODD.search(str(self._path)) or not descriptors.is_dir():
            return self._path
        if self._handle is None:
            self._handle = os.open(self._path, os.O_RDONLY)
        return descriptors / str(self._handle)

    def remove(self) -> None:
        """Remove the folder with all that is in it; what cannot be removed is left to the next run."""
        shutil.rmtree(self._path, ignore_errors=True)
        _OWN.discard(self._path.name)
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


def remove_leftovers(final: Path) -> None:
    """Remove what killed runs have left of an output: staging folders without a living process."""
    for path in list(final.parent.glob(f".roadseg-*{PART}")):
        with contextlib.suppress(OSError):
            if _is_leftover(path, final.name):
                shutil.rmtree(path, ignore_errors=True)


def _is_leftover(folder: Path, name: str) -> bool:
    parts = _NAME.fullmatch(folder.name)
    if parts is None or folder.name in _OWN or folder.is_symlink():
        return False
    process, token = int(parts[1]), parts[2]
    if process != os.getpid() and _is_running(process):
        return False
    outputs = any(not each.name.startswith(token) for each in folder.iterdir())
    return not outputs or (folder / name).exists()


def _is_running(process: int) -> bool:
    try:
        return psutil.pid_exists(process)
    except OverflowError:
        return False


def sync(path: Path) -> None:
    """Have a file on the disk, so that nothing of it can be lost later.

    Raises
    ------
    OSError
        There is no such file, no room for it, or the disk is at fault.
    """
    with path.open("rb+") as file:
        try:
            os.fsync(file.fileno())
        except OSError as error:  # not every file system can do it
            if error.errno in (*NO_ROOM, errno.EIO):
                raise
