"""Staging folders: private folders next to outputs, in which files are written until they are complete.

Scope: temporary names, and outputs of one name. Independent of their content, and of when they are put in place.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
from pathlib import Path
from typing import Optional

from ..jobs import private_folders
from ..jobs.file_systems import remove

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
PART = ".part"
# Suffixes by which libraries tell formats; others could mean something to them.
_PLAIN_SUFFIX = re.compile(r"\.[A-Za-z0-9]{1,16}")
# In a folder's name, what libraries take for a part of an address, or cannot encode.
_ODD = re.compile("[!\t\n\r\ud800-\udfff]")


class StagingFolder:
    """A private folder next to an output. Leftovers of killed runs next to it are removed.

    It holds temporary files, and an empty file of the name of each output: so the file system itself shows whether two
    names are one. Raises OSError if the folder cannot be made.
    """

    def __init__(self, folder: Path) -> None:
        remove_leftovers(folder)
        self._folder = private_folders.PrivateFolder(folder, *private_folders.BESIDE_OUTPUTS)
        self._token = secrets.token_hex(6)
        self._count = 0
        self._handle: Optional[int] = None

    def add(self, name: str) -> Path:
        """Return a temporary path for the output of a name, of ASCII letters and digits, with its suffix.

        Raises FileExistsError if the folder has that output already, perhaps in another spelling. Raises OSError if
        there is no room, or the file system does not take the name. Raises ValueError if no file system takes the name.
        """
        with (self._folder.path / name).open("xb"):
            pass
        suffix = Path(name).suffix
        suffix = suffix if _PLAIN_SUFFIX.fullmatch(suffix) else PART
        self._count += 1
        temporary = self._reachable() / f"{self._token}{self._count}{suffix}"
        temporary.write_bytes(b"\0" * 4096)  # fails at once on a full disk
        remove(temporary)
        return temporary

    def _reachable(self) -> Path:
        """Return the folder's path, or another one if its own has characters that libraries stumble over."""
        descriptors = Path("/proc/self/fd")
        if not _ODD.search(str(self._folder.path)) or not descriptors.is_dir():
            return self._folder.path
        if self._handle is None:
            self._handle = os.open(self._folder.path, os.O_RDONLY)
        return descriptors / str(self._handle)

    def remove(self) -> None:
        """Remove the folder with its content; the next run removes what cannot be removed now."""
        self._folder.remove()
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


def remove_leftovers(folder: Path) -> None:
    """Remove the staging folders that killed runs have left in a folder."""
    private_folders.remove_leftovers(folder, *private_folders.BESIDE_OUTPUTS)


def sync(path: Path) -> None:
    """Have a file on the disk, so that nothing of it can be lost later.

    Raises OSError if the file is missing, has no room, or the disk fails.
    """
    with path.open("rb+") as file:
        try:
            os.fsync(file.fileno())
        except OSError as error:  # not every file system can do it
            if error.errno in (*NO_ROOM, errno.EIO):
                raise


def sync_folder(folder: Path) -> None:
    """Have the names of a folder's files on the disk, where the system can do that."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
