"""Sources: the name of a raster or vector layer as users give it, and whether that can be opened at all.

Scope: paths and addresses as QGIS and GDAL write them. Independent of formats and of what is in a file.
"""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from ..errors import RoadSegError, without_passwords
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
