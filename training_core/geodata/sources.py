"""Inputs as users give them: which rasters a file, folder or pattern means, and by which name it is opened.

Scope: paths and addresses as QGIS and GDAL write them. Independent of what is in a file.
"""

from __future__ import annotations

import glob
import os
import re
import stat
import warnings
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import rasterio
from rasterio.errors import NotGeoreferencedWarning, RasterioError

from ..errors import ImageryError, RoadSegError, without_passwords
from ..jobs.file_systems import files_in, without_options

# The parts that QGIS appends to a file's path, such as "roads.gpkg|layername=roads|subset=lanes > 1".
QGIS_PART = re.compile(r"\|(layername|layerid|subset|geometrytype|option:[^=|]*|uniqueGeometryType)=", re.IGNORECASE)
# A vector file, or the folder that is one, in an archive.
_VECTOR_FILE = re.compile(r".*?\.(shp|gdb|gpkg|geojson|fgb|kml|gml|gpx|tab|mif|csv)(?=/|$)", re.IGNORECASE)
# GDAL's name of standard input, which a worker needs to follow its client.
_STANDARD_INPUT = "/vsistdin"
# If none of so many files with one ending, spread evenly over all, is a raster, the others are not tried.
_TRIED = 100


def source_name(source: str) -> str:
    """Return the file name of a source such as `roads.gpkg|layername=roads` for messages, without passwords."""
    return Path(QGIS_PART.split(without_passwords(without_options(source)))[0]).name


class Verbatim(str):
    """The path of a file that pyogrio hands to GDAL as it is.

    In the name of a file, pyogrio takes `;`, `!` and line breaks for parts of an address unless the name begins as that
    of a virtual file system of GDAL.
    """

    def startswith(self, prefix: Any, *span: Any) -> bool:
        """See str.startswith; pyogrio asks for /vsi."""
        return prefix == "/vsi" or super().startswith(prefix, *span)

    def __str__(self) -> str:
        return self


def for_pyogrio(source: str) -> str:
    """Return a source as pyogrio opens it: an address, an archive, its only layer's file, or a file of any name."""
    if not source.lower().endswith(".zip"):
        return Verbatim(source) if os.path.exists(source) else source
    if not zipfile.is_zipfile(source):
        return source
    with zipfile.ZipFile(source) as archive:
        held = {found[0] for name in archive.namelist() if (found := _VECTOR_FILE.match(name))}
    return f"/vsizip/{{{os.path.abspath(source)}}}/{held.pop()}" if len(held) == 1 else source


def require_openable(source: str, name: str, error_type: type[RoadSegError]) -> None:
    """Check that opening a source does not fail in GDAL's encoding or wait forever.

    A source is a path, or anything else that GDAL opens. It need not exist. Messages call it `name`. Raises
    RoadSegError of `error_type`: GDAL cannot take the name, or it stands for a pipe, a socket or a device.
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
    """Whether a path exists and is neither a file nor a folder."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def expand(inputs: Iterable[str], parts: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the rasters that inputs name, each once and in order: folders and glob patterns are expanded.

    If a folder holds one of the `parts`, which are names of folders or files, the first of them stands for it.

    Anything else that GDAL opens, such as an address, stays as it is. A file whose name looks like a pattern is that
    file. The matches of a pattern are sorted; `**` also matches subfolders. Raises ImageryError if a folder holds no
    raster, or a pattern matches no file.
    """
    return tuple(dict.fromkeys(raster for source in inputs for raster in _rasters_of(source, parts)))


def _rasters_of(source: str, parts: Sequence[str] = ()) -> list[str]:
    if os.path.isdir(source):
        inner = next((path for path in (os.path.join(source, part) for part in parts) if os.path.exists(path)), "")
        return _rasters_of(inner) if inner else rasters_in(source)
    is_remote = "://" in source or source.startswith("/vsi")
    if is_remote or os.path.exists(source) or not glob.has_magic(source):
        return [source]
    matches = sorted(filter(os.path.isfile, glob.iglob(source, recursive=True)))
    if not matches:
        raise ImageryError(f"No file matches the pattern {source}.", "Check its folder and its extension.")
    return matches


def rasters_in(folder: str) -> list[str]:
    """Return the rasters in a folder that GDAL opens, sorted by name; subfolders are not searched.

    Parts of another raster are left out: overviews, masks, the tiles of a virtual mosaic. A damaged file counts as a
    raster if one with the same ending is intact, so that reading it fails by name. Where none of `_TRIED` files with an
    ending is a raster, the others are not tried: with a hundred thousand notes that would take a minute. A folder that
    is one raster in some format is returned as it is. Raises ImageryError if it holds no raster.
    """
    if _parts(folder):
        return [folder]
    files = sorted(entry.path for entry in os.scandir(folder) if entry.is_file() and not entry.name.startswith("."))
    of_ending: dict[str, list[str]] = {}
    for path in files:
        of_ending.setdefault(os.path.splitext(path)[1], []).append(path)
    parts: dict[str, set[str]] = {}
    for same in of_ending.values():
        tried = {path: _parts(path) for path in same[:: -(-len(same) // _TRIED)]}
        if any(tried.values()):
            parts |= {path: tried[path] if path in tried else _parts(path) for path in same}
    belonging = {part for path in parts for part in parts[path] if part != os.path.abspath(path)}
    single = [path for path in files if os.path.abspath(path) not in belonging]
    endings = {os.path.splitext(path)[1] for path in single if parts.get(path)}
    rasters = [path for path in single if os.path.splitext(path)[1] in endings]
    if not rasters:
        raise ImageryError(f"The folder {folder} holds no raster that GDAL can open.", "Give a folder with rasters.")
    return rasters


def is_raster(path: str) -> bool:
    """Return whether a source is a raster that GDAL opens, and not a vector layer."""
    return bool(_parts(path))


def _parts(path: str, **options: str) -> set[str]:
    """Return the absolute paths of the files of a raster, or nothing if GDAL cannot open it."""
    try:
        require_openable(path, path, ImageryError)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotGeoreferencedWarning)
            with rasterio.open(path, **options) as dataset:
                return {os.path.abspath(path), *map(os.path.abspath, dataset.files)}
    # UnicodeDecodeError: rasterio decodes GDAL's message, which quotes bytes of a damaged file.
    except (RasterioError, ImageryError, UnicodeDecodeError):
        return set()


def with_sources(rasters: Iterable[str]) -> tuple[str, ...]:
    """Return rasters and the files that they are made of, such as the images of a virtual mosaic, each once.

    One that cannot be opened stands for itself; empty names are skipped.
    """
    waiting = list(dict.fromkeys(map(without_options, filter(None, rasters))))
    named, files = set(waiting), dict[str, None]()
    while waiting:
        path = waiting.pop()
        if path not in files and (os.path.isfile(path) or os.path.isdir(path)):
            # Only a virtual raster has parts of parts. Trying all drivers on thousands of tiles takes long.
            waiting += _parts(path) if path in named else _parts(path, driver="VRT")
        files[path] = None
    return tuple(files)
