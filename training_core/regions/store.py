"""Store of the results of blocks: files under names from their content, there whole or not at all.

A file is written in a private folder, synced, and renamed into place: a process killed at any moment leaves no half
file, and two that write the same key at once do not disturb each other, whether on one machine or on several that share
the folder. What dead processes have left is removed by `remove_leftovers`.

Scope: names, files, leftovers. Independent of what is in the files.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import re
import secrets
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from ..errors import OutputError
from ..system.staging import NO_ROOM, sync

KEY_DIGITS = 24
# What processes of other machines have not finished after so long is taken for a leftover.
OLD_S = 2 * 86400.0
_WORK, _PARTIAL = "work", "partial"
_NAME = re.compile(r"[A-Za-z0-9_-]+")
_SUFFIX = re.compile(r"(\.[A-Za-z0-9]+)+")
_MARK = re.compile(r"(.+)-(\d+)-(\d+)-[0-9a-f]+")


def content_key(*parts: object) -> str:
    """Return a name made from content: the same for the same parts, whatever process or machine computes it.

    Parameters
    ----------
    *parts : object
        Of JSON types.

    Returns
    -------
    str
        The first 24 hexadecimal digits of the SHA-256 of their JSON.

    Raises
    ------
    TypeError
        A part is of no JSON type.
    ValueError
        A number is NaN or infinite.
    """
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:KEY_DIGITS]


class Store:
    """Results in a folder: `folder/work/<kind>/<key>.<suffix>`.

    Parameters
    ----------
    folder : str or Path
        Folder of the job; it is made when the first result is written.
    """

    def __init__(self, folder: str | Path) -> None:
        self._work = Path(folder) / _WORK

    def path(self, kind: str, key: str, suffix: str) -> Path:
        """Return the path of a result, whether it is there or not.

        Parameters
        ----------
        kind : str
            Kind of results, such as predict: letters, digits, `_` and `-`.
        key : str
            See `content_key`; of the same characters.
        suffix : str
            Of the file, such as .tif.

        Raises
        ------
        ValueError
            One of them has other characters.
        """
        is_plain = _NAME.fullmatch(kind) and kind != _PARTIAL and _NAME.fullmatch(key) and _SUFFIX.fullmatch(suffix)
        if not is_plain:
            raise ValueError(f"{kind}/{key}{suffix} is no name of a result.")
        return self._work / kind / f"{key}{suffix}"

    def has(self, kind: str, key: str, suffix: str) -> bool:
        """Return whether a result is there, and so is whole.

        Parameters
        ----------
        kind, key, suffix : str
            See `path`.
        """
        return self.path(kind, key, suffix).is_file()

    def write(self, kind: str, key: str, suffix: str, writer: Callable[[Path], object]) -> Path:
        """Write a result whole, in place of one that is there.

        Parameters
        ----------
        kind, key, suffix : str
            See `path`.
        writer : callable
            Takes the temporary path to write to, which has the suffix, in a folder of its own; what else it leaves
            in that folder is dropped.

        Returns
        -------
        Path
            Where it is now.

        Raises
        ------
        OutputError
            There is no room on the disk, or it cannot be written.
        """
        final = self.path(kind, key, suffix)
        try:
            with self.private_folder() as folder:
                final.parent.mkdir(exist_ok=True)
                temporary = folder / final.name
                writer(temporary)
                sync(temporary)
                os.replace(temporary, final)
                _sync_folder(final.parent)
        except OSError as error:
            raise _explained(final, error) from error
        return final

    @contextmanager
    def private_folder(self) -> Iterator[Path]:
        """Provide a folder beside the results that is removed at the end, or with the leftovers.

        Raises
        ------
        OSError
            It cannot be made.
        """
        folder = self._work / _PARTIAL / f"{_mark_of_this_process()}-{secrets.token_hex(6)}"
        try:
            folder.mkdir(parents=True)
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def remove_leftovers(self) -> int:
        """Remove what processes have left that ended while they wrote, and return of how many files.

        On this machine these are processes that are gone; of other machines, what has not changed for two days.
        """
        count = 0
        with contextlib.suppress(OSError):
            for folder in list((self._work / _PARTIAL).iterdir()):
                if _is_leftover(folder):
                    shutil.rmtree(folder, ignore_errors=True)
                    count += 1
        return count


def _mark_of_this_process() -> str:
    return f"{platform.node() or 'unnamed'}-{os.getpid()}-{_began(os.getpid())}"


def _began(process: int) -> int:
    """Return when a process began, in hundredths of a second: a number may be that of another one by now."""
    return round(psutil.Process(process).create_time() * 100)


def _is_leftover(folder: Path) -> bool:
    parts = _MARK.fullmatch(folder.name)
    if parts is None:
        return False
    if parts[1] != (platform.node() or "unnamed"):
        with contextlib.suppress(OSError):
            return time.time() - max(path.stat().st_mtime for path in (folder, *folder.iterdir())) > OLD_S
        return False
    try:
        return abs(_began(int(parts[2])) - int(parts[3])) > 1
    except (psutil.Error, OverflowError):
        return True


def _sync_folder(folder: Path) -> None:
    """Have a file's new name on the disk as well, where the system can do that."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _explained(final: Path, error: OSError) -> OutputError:
    if error.errno in NO_ROOM:
        return OutputError(f"There is no room on the disk for {final}.", "Make room, or choose another folder.")
    return OutputError(
        f"{final} cannot be written ({error.strerror or error}).",
        "Choose a folder that can be written to from all workers, or make room on its disk.",
    )
