"""Sources: the name of a raster or vector layer as users give it, and whether that can be opened at all.

Scope: paths and addresses as QGIS and GDAL write them. Independent of formats and of what is in a file.
"""

from __future__ import annotations

import glob
import os
import re
import stat
import warnings
from collections.abc import Iterable
from pathlib import Path

import rasterio
from rasterio.errors import NotGeoreferencedWarning, RasterioError

from ..errors import ImageryError, RoadSegError, without_passwords
from ..system.outputs import files_in

# What QGIS appends to a file's path, such as "roads.gpkg|layername=roads|subset=lanes > 1".
QGIS_PART = re.compile(r"\|(layername|layerid|subset|geometrytype|option:[^=|]*|uniqueGeometryType)=", re.IGNORECASE)
# GDAL's name of standard input, from which a worker hears of its client.
_STANDARD_INPUT = "/vsistdin"


def source_name(source: str) -> str:
    """Return the file name of a source, such as `roads.gpkg|layername=roads`, to be shown: without passwords."""
    return Path(QGIS_PART.split(without_passwords(source))[0]).name


def require_openable(source: str, name: str, error_type: type[RoadSegError]) -> None:
    """Check that a source is nothing that cannot be opened, or that would be waited for without end.

    Parameters
    ----------
    source : str
        A path, or whatever else GDAL opens. That it is there is not checked.
    name : str
        The source as messages name it.
    error_type : type
        Of the error to raise.

    Raises
    ------
    RoadSegError
        Of that type: the name cannot be passed to GDAL, or stands for a pipe, a socket or a device.
    """
    try:
        source.encode()
    except UnicodeEncodeError as error:
        raise error_type(f"{name} cannot be read: the name is not UTF-8.", "Rename the file.") from error
    if "\0" in source:
        raise error_type(f"{name!r} cannot be read: the name has a null character.", "Give another file.")
    if _STANDARD_INPUT in source or any(map(_is_stream, files_in(source))):
        raise error_type(
            f"{name} cannot be read: it is a pipe, a socket or a device.", "Save its contents to a file, and give that."
        )


def _is_stream(path: str) -> bool:
    """Whether a path is there and is neither a file nor a folder."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def expand(inputs: Iterable[str]) -> tuple[str, ...]:
    """Return the rasters that the inputs name, each once: folders and glob patterns expanded, all else as given.

    A file whose name looks like a pattern is that file. The matches of a pattern are sorted; `**` also matches
    folders below folders.

    Parameters
    ----------
    inputs : iterable of str
        Files, folders, patterns, and whatever else GDAL opens, such as addresses.

    Returns
    -------
    tuple of str
        In the order of the inputs.

    Raises
    ------
    ImageryError
        A folder holds no raster, or a pattern matches no file.
    """
    found: dict[str, None] = {}
    for given in inputs:
        found.update(dict.fromkeys(_rasters_of(given)))
    return tuple(found)


def _rasters_of(given: str) -> list[str]:
    if os.path.isdir(given):
        return rasters_in(given)
    is_remote = "://" in given or given.startswith("/vsi")
    if is_remote or os.path.exists(given) or not glob.has_magic(given):
        return [given]
    matches = sorted(filter(os.path.isfile, glob.iglob(given, recursive=True)))
    if not matches:
        raise ImageryError(f"No file matches the pattern {given}.", "Check its folder and its ending.")
    return matches


def rasters_in(folder: str) -> list[str]:
    """Return the rasters in a folder that GDAL opens, sorted by name; folders within it are not searched.

    What belongs to another raster of the folder is left out: overviews, masks, the tiles of a virtual mosaic. A
    damaged file counts as a raster if one with the same ending is intact, so that reading it fails by name. A folder
    that is one raster itself, as some formats have it, is returned as it is.

    Raises
    ------
    ImageryError
        There is no raster.
    """
    if _parts(folder):
        return [folder]
    files = sorted(entry.path for entry in os.scandir(folder) if entry.is_file() and not entry.name.startswith("."))
    parts = {path: _parts(path) for path in files}
    belonging = {part for path, each in parts.items() for part in each if part != os.path.abspath(path)}
    endings = {os.path.splitext(path)[1] for path in files if parts[path] and os.path.abspath(path) not in belonging}
    found = [path for path in files if os.path.splitext(path)[1] in endings and os.path.abspath(path) not in belonging]
    if not found:
        raise ImageryError(f"The folder {folder} holds no raster that GDAL opens.", "Give a folder with rasters.")
    return found


def _parts(path: str) -> set[str]:
    """Return the absolute paths of the files that make up a raster; none where GDAL opens none there."""
    try:
        require_openable(path, path, ImageryError)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotGeoreferencedWarning)
            with rasterio.open(path) as dataset:
                return {os.path.abspath(path), *map(os.path.abspath, dataset.files)}
    except (RasterioError, ImageryError):
        return set()


def with_sources(rasters: Iterable[str]) -> tuple[str, ...]:
    """Return rasters with the files that they are made of, such as the images of a virtual mosaic, and theirs.

    Parameters
    ----------
    rasters : iterable of str
        One that cannot be opened, or an empty one, stands for itself.

    Returns
    -------
    tuple of str
        Each once.
    """
    given = set(filter(None, rasters))
    found: dict[str, None] = {}
    waiting = list(given)
    while waiting:
        path = waiting.pop()
        if path in found:
            continue
        found[path] = None
        # Only virtual rasters are made of others; to open each of thousands of tiles as any would take long.
        if (os.path.isfile(path) or os.path.isdir(path)) and (path in given or _is_virtual(path)):
            waiting += _parts(path)
    return tuple(found)


def _is_virtual(path: str) -> bool:
    try:
        require_openable(path, path, ImageryError)
        with rasterio.open(path, driver="VRT"):
            return True
    except (RasterioError, ImageryError):
        return False
