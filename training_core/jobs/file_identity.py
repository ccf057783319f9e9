"""Which file a name means: paths, links, and names of layers and rasters as QGIS and GDAL write them.

Scope: names of inputs and outputs, so that no output is written over an input. Independent of what files hold.
"""

from __future__ import annotations

import contextlib
import os
import re
from itertools import combinations
from pathlib import Path
from typing import Union

Identity = Union[Path, tuple[int, int]]
# Sidecar files of other programs, which would be wrong for a new file of the name.
SIDECARS = ("-journal", "-wal", "-shm", ".aux.xml", ".ovr", ".msk")
# Between the parts of a name of GDAL's, not behind the letter of a drive.
_COLON = re.compile(r"(?<!\b[A-Za-z]):|:(?![\\/])")


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
