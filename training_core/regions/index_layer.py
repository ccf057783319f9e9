"""The index of scenes: a GeoPackage of footprints with status and pace, updated while a region is mapped.

Scope: one layer in one file, which others may read at the same time. Independent of how scenes are mapped.

The file is made by GDAL and updated by SQLite, field by field. It has no spatial index: its triggers need functions
that GDAL alone brings along.
"""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Optional

import geopandas
import pyogrio
from shapely.geometry.base import BaseGeometry

from ..errors import OutputError
from ..geodata.vectors import CREATION_OPTIONS
from ..system.outputs import Outputs

LAYER = "scenes"
WAITING, RUNNING, DONE, KEPT, FAILED = "waiting", "running", "done", "kept", "failed"
# How often changes are written, how long a reader that holds the file is waited for each time, and at the end.
_EVERY_S, _PATIENCE_S, _LAST_PATIENCE_S = 1.0, 0.2, 10.0
_CHANGING = ("status", "reason", "blocks_done", "mp_per_s", "road_km", "updated")


@dataclass(frozen=True)
class IndexedScene:
    """A scene in the index.

    Parameters
    ----------
    name, path : str
    outline : geometry, optional
        In the CRS of the layer; None for a scene that cannot be placed.
    status : str
        One of the constants above.
    reason : str
        Of a failure.
    blocks : int
        Into which it is divided.
    megapixels : float
    mask, probability : str
        Paths of its results.
    """

    name: str
    path: str
    outline: Optional[BaseGeometry]
    status: str = WAITING
    reason: str = ""
    blocks: int = 0
    megapixels: float = 0.0
    mask: str = ""
    probability: str = ""


class IndexLayer:
    """The index of scenes. A context manager, which writes the last changes at its end.

    Parameters
    ----------
    path : Path
        The file; replaced if it exists.
    crs : Any
        As pyproj takes it.
    scenes : sequence of IndexedScene
        With different names, but for those that have failed.

    Raises
    ------
    OutputError
        It cannot be written.
    """

    def __init__(self, path: Path, crs: Any, scenes: Sequence[IndexedScene]) -> None:
        self._path = path
        self._rows = {scene.name: row for row, scene in enumerate(scenes, 1) if scene.outline is not None}
        self._changes: dict[int, dict[str, Any]] = {}
        self._written_s = time.monotonic()
        _create(path, crs, scenes)

    def __enter__(self) -> "IndexLayer":
        return self

    def __exit__(self, *error: object) -> None:
        self._write(_LAST_PATIENCE_S)

    def update(self, name: str, **values: Any) -> None:
        """Change fields of a scene; they are written within about a second, together with those of others.

        Parameters
        ----------
        name : str
            A scene that is not in the index is ignored.
        **values
            status, reason, blocks_done, mp_per_s or road_km.
        """
        if name not in self._rows:
            return
        now = datetime.now(timezone.utc).isoformat(timespec="seconds")
        self._changes.setdefault(self._rows[name], {}).update(values, updated=now)
        if time.monotonic() - self._written_s >= _EVERY_S:
            self._write(_PATIENCE_S)

    def _write(self, patience_s: float) -> None:
        """Write the changes; they stay for the next time where a reader holds the file, or its disk is full."""
        self._written_s = time.monotonic()
        changes = [
            (*(values.get(field) for field in _CHANGING), row) for row, values in self._changes.items()
        ]  # None leaves a field as it is
        assignments = ", ".join(f"{field} = coalesce(?, {field})" for field in _CHANGING)
        with contextlib.suppress(sqlite3.Error):
            with contextlib.closing(sqlite3.connect(self._path, timeout=patience_s)) as database, database:
                database.executemany(f"UPDATE {LAYER} SET {assignments} WHERE fid = ?", changes)  # noqa: S608
            self._changes.clear()


def _create(path: Path, crs: Any, scenes: Sequence[IndexedScene]) -> None:
    rows = [{name: value for name, value in asdict(scene).items() if name != "outline"} for scene in scenes]
    table = geopandas.GeoDataFrame(rows, geometry=[scene.outline for scene in scenes], crs=crs)
    for name, empty in (("blocks_done", 0), ("mp_per_s", 0.0), ("road_km", 0.0), ("updated", "")):
        table[name] = empty
    try:
        with Outputs() as outputs:
            pyogrio.write_dataframe(
                table,
                outputs.stage(str(path)),
                layer=LAYER,
                driver="GPKG",
                geometry_type="Polygon",
                layer_options={"SPATIAL_INDEX": "NO"},
                dataset_options=CREATION_OPTIONS["GPKG"],
            )
    except (RuntimeError, ValueError, OSError) as error:  # pyogrio's are RuntimeErrors
        raise OutputError(
            f"{path} cannot be written: {str(error).rstrip('.')}.", "Make room on the disk, or choose another folder."
        ) from error
