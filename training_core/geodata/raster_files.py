"""Input rasters by file, folder or glob pattern, as a list of files.

Scope: which files are meant. Independent of what the rasters hold; `rasters.py` reads that.
"""

from __future__ import annotations

import glob
import os
import warnings
from collections.abc import Iterable

import rasterio
from rasterio.errors import NotGeoreferencedWarning, RasterioError

from ..errors import ImageryError
from .sources import require_openable


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
