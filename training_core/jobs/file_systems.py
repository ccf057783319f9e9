"""Files and their names: which file a name means, how systems differ in names and open files, and private folders.

Scope: paths, links, and names of layers and rasters as QGIS and GDAL write them, so that no output is written over an
input; moving files into place; folders for temporary files, which a later run removes if their process was killed.
Independent of what files hold; standard library only.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import sys
import time
import unicodedata
from collections.abc import Callable
from itertools import combinations
from pathlib import Path, PureWindowsPath
from typing import Optional, Union

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

Identity = Union[Path, tuple[int, int]]
# Sidecar files of other programs, which would be wrong for a new file of the name.
SIDECARS = ("-journal", "-wal", "-shm", ".aux.xml", ".ovr", ".msk")
# Between the parts of a name of GDAL's, not behind the letter of a drive.
_COLON = re.compile(r"(?<!\b[A-Za-z]):|:(?![\\/])")
PATIENCE_S, PAUSE_S = 2.0, 0.05
# On Windows: characters that mean something else, ends that are cut off, and devices, also with an extension.
_IMPOSSIBLE = re.compile(
    r'.*[<>:"|?*\x00-\x1f].*|.*[. ]|(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9¹²³]) *(\..*)?',
    re.IGNORECASE | re.DOTALL,
)
LOCK = ".lock"
# Prefix and suffix of the folders next to outputs, in which these are written until they are complete.
BESIDE_OUTPUTS = (".roadseg-", ".part")
# Folders that have not changed for this long are leftovers, if the file system has no locks.
OLD_S = 2 * 86400.0
# Newer Pythons make 0o700 an access list on Windows, which files keep when they are moved out of the folder: in a
# shared folder, nobody else could read a finished output. There the list of the parent is inherited.
_MODE = 0o777 if sys.platform == "win32" else 0o700


def files_in(path: str) -> list[str]:
    """Return the files that a path may refer to: itself, and the file of the layer or raster that it names.

    QGIS writes town.gpkg|layername=roads, GDAL GPKG:town.gpkg:image, GTIFF_DIR:2:town.tif, NETCDF:"town.nc":Band1,
    /vsizip/images.zip/town.tif or vrt://town.tif?a_srs=EPSG:32645.
    """
    path = without_options(path)
    parts = _COLON.split(path.replace('"', ""))
    ranges = combinations(range(len(parts) + 1), 2)  # since a path may hold a colon itself
    inner = re.sub(r"^(/vsi\w+/)+", "", path)
    archives = map(str, Path(re.sub("[{}]", "", inner)).parents) if inner != path else ()
    return [path, path.partition("|")[0], *(":".join(parts[begin:end]) for begin, end in ranges), *archives]


def without_options(source: str) -> str:
    """Return the raster that a source such as vrt://town.tif?a_srs=EPSG:32645 refers to; any other one as it is."""
    return re.sub(r"^vrt://([^?]*).*", r"\1", source, flags=re.DOTALL)


def identities(path: Path) -> set[Identity]:
    """Return all by which a file is known: its path without links and, if it exists, its number on its device.

    Two paths are the same file if they share an identity, through symbolic and hard links or in another case.
    """
    known: set[Identity] = set()
    with contextlib.suppress(OSError, ValueError):
        known.add(Path(os.path.realpath(path)))  # Path.resolve raises RuntimeError where links go round in circles
        status = path.stat()
        if status.st_ino:  # some file systems of Windows have none
            known.add((status.st_dev, status.st_ino))
    return known


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


class PrivateFolder:
    """A new folder that no other user can foresee, enter, or have there before as a link.

    It holds a file that its process keeps locked. The system drops the lock when the process ends in any way, so a
    folder without a lock is a leftover, which `remove_leftovers` finds by prefix and suffix of its name. Raises OSError
    if it cannot be made.
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
