"""Vector files, read back: GDAL reports no error if the disk is full when it closes a file.

Scope: whether a file holds all that was to be in it. Independent of what the features mean.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

import geopandas
import numpy as np
import pyogrio

from ..errors import OutputError

# How far the bounds may be off that GeoJSON rounds, in degrees.
_ROUNDED_DEGREES = 1e-6
# What GDAL makes of a layer in a GeoPackage when it closes the file: its spatial index, and triggers, the last of all.
_MADE_AT_CLOSE = (
    "rtree_{0}_geom", "rtree_{0}_geom_insert", "rtree_{0}_geom_delete", "trigger_insert_feature_count_{0}",
    "trigger_delete_feature_count_{0}",
)  # fmt: skip


@dataclass(frozen=True)
class Written:
    """What a layer was to hold: its number of features, and their extent, (4,), float64, or None without any."""

    count: int
    extent: Optional[np.ndarray]


def extent_of(layer: geopandas.GeoDataFrame) -> Optional[np.ndarray]:
    """Return the extent of a layer, (4,), float64; None where no feature has a shape."""
    return None if layer.geometry.isna().all() or layer.is_empty.all() else layer.total_bounds


def check_written(path: Path, driver: str, layers: Mapping[str, Written]) -> None:
    """Check that a file is complete and has the features of some layers, by their count and extent.

    Parameters
    ----------
    driver : str
        GPKG, GeoJSON or FlatGeobuf.
    layers : mapping of str to Written
        What was to be written, in the CRS of the file.

    Raises
    ------
    OutputError
        Something is missing.
    """
    try:
        is_whole = _is_closed(path, driver, layers) and all(
            _has_features(path, name, layer, driver) for name, layer in layers.items()
        )
    except (RuntimeError, ValueError, OSError, sqlite3.Error) as error:  # pyogrio's are RuntimeErrors
        raise _incomplete(path) from error
    if not is_whole:
        raise _incomplete(path)


def _incomplete(path: Path) -> OutputError:
    return OutputError(f"{path} cannot be written whole.", "Make room on the disk, or choose another folder.")


def _is_closed(path: Path, driver: str, layers: Mapping[str, Written]) -> bool:
    """Whether a file has its end."""
    if driver == "GPKG":
        return _is_whole_geopackage(path, layers)
    if driver == "GeoJSON":
        with path.open("rb") as file:
            file.seek(-2, os.SEEK_END)
            return file.read() == b"}\n"
    return True  # FlatGeobuf has the size of each feature, and so of the file, in it


def _is_whole_geopackage(path: Path, layers: Mapping[str, Written]) -> bool:
    """Whether a GeoPackage has all its pages and, of each layer, all that is made when it is closed."""
    with path.open("rb") as file:
        header = file.read(100)
    page_bytes, pages = int.from_bytes(header[16:18], "big"), int.from_bytes(header[28:32], "big")
    if path.stat().st_size != page_bytes * pages:
        return False
    with closing(sqlite3.connect(path)) as database:
        made = {name for (name,) in database.execute("SELECT name FROM sqlite_master")}
        counts = dict(database.execute("SELECT table_name, feature_count FROM gpkg_ogr_contents"))
        checked = database.execute("PRAGMA quick_check").fetchall()
    return (
        checked == [("ok",)]
        and counts == {name: layer.count for name, layer in layers.items()}
        and made >= {each.format(name) for name in layers for each in _MADE_AT_CLOSE}
    )


def _has_features(path: Path, name: str, layer: Written, driver: str) -> bool:
    """Whether a layer of a file has as many features as it should, and the same extent."""
    rounded = driver == "GeoJSON"
    _, bounds = pyogrio.read_bounds(path, layer=None if rounded else name)
    if bounds.shape[1] != layer.count or layer.extent is None:
        return bounds.shape[1] == layer.count
    extent = np.concatenate([np.nanmin(bounds[:2], axis=1), np.nanmax(bounds[2:], axis=1)])
    sides = [1, 3] if rounded else [0, 1, 2, 3]  # what crosses the antimeridian is cut there in GeoJSON
    return np.allclose(extent[sides], layer.extent[sides], rtol=0, atol=_ROUNDED_DEGREES if rounded else 0)
