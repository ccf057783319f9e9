"""Files and their names: which file a name means, and how Windows and macOS differ from Linux in names and open files.

Scope: paths, links, and names of layers and rasters as QGIS and GDAL write them, so that no output is written over an
input; moving files into place. Independent of what files hold.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
import time
import unicodedata
from collections.abc import Callable
from itertools import combinations
from pathlib import Path, PureWindowsPath
from typing import Union

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
