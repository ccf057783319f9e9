"""The index of a region's scenes: a GeoPackage of their footprints that people can watch while the work goes on.

The file is a plain SQLite database with a rollback journal: readers see the state before or after a change, and no
other file remains at the end. It has no spatial index, whose triggers need functions that only GDAL has. A thread
gathers changes and writes them, so neither a slow disk nor a reader that holds the file delays the work.

Scope: rows, their values, and the style file. Independent of how scenes are mapped. The index can be made again at any
time, so a change that cannot be written is only a warning.
"""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import threading
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Optional

import geopandas
import numpy as np
import pandas
import pyogrio
from rasterio.crs import CRS
from shapely.geometry.base import BaseGeometry

from ..errors import OutputError, without_passwords
from ..events import Reporter
from ..geodata.antimeridian import as_written
from ..geodata.vector_output import CREATION_OPTIONS, type_of
from ..jobs.file_systems import replace
from ..system.outputs import StagingFolder, replaced, sync

LAYER = "scenes"
_STYLES = Path(__file__).resolve().parents[2] / "resources" / "styles"
# With the second one, QGIS reads the layer again every few seconds.
FINISHED_STYLE, LIVE_STYLE = _STYLES / "region_index.qml", _STYLES / "region_index_live.qml"
WAITING, RUNNING, DONE, KEPT, FAILED, OUTSIDE = "waiting", "running", "done", "kept", "failed", "outside"
# The layer's fields and their types; unknown values are None.
FIELDS = {
    "name": "object", "path": "object", "status": "object", "reason": "object", "blocks": "int32",
    "blocks_done": "int32", "megapixels": "float64", "mp_per_s": "float64", "road_km": "float64", "mask": "object",
    "probability": "object", "updated": "datetime64[ms, UTC]",
}  # fmt: skip
# The statement that writes the fields that change while the work goes on.
_WRITE_ROW = (
    "UPDATE scenes SET status = :status, reason = :reason, blocks_done = :blocks_done, mp_per_s = :mp_per_s, "
    "road_km = :road_km, updated = :updated WHERE fid = :fid"
)
# An existing index is filled again only if it has the tables, triggers and CRS of the new one.
_FORM = (
    "SELECT type, name, sql FROM {}sqlite_master ORDER BY type, name",
    "SELECT srs_id, definition FROM {}gpkg_spatial_ref_sys ORDER BY srs_id",
    "SELECT table_name, geometry_type_name, srs_id FROM {}gpkg_geometry_columns",
)
_REFILL = (
    "DELETE FROM main.scenes",
    "INSERT INTO main.scenes SELECT * FROM new.scenes",
    "DELETE FROM main.gpkg_contents",
    "INSERT INTO main.gpkg_contents SELECT * FROM new.gpkg_contents",
)
# Time between two writings of changes.
PERIOD_S = 1.0
# How long a reader may hold the file before a change is put off until the next one.
_PATIENCE_S = 5.0


@dataclass(frozen=True)
class IndexedScene:
    """A scene as it is when the index is made.

    The outline is the footprint in the layer's CRS; None where it is unknown. Status is one of those above, reason that
    of a failure. Megapixels are those to predict. Paths of results may be empty.
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
    """The index while the work goes on; of scenes with the same name, `update` changes the first.

    The index of an earlier run is filled again, so that people who watch it see the new one. Any other file is replaced
    as a whole. The reporter gets one warning if changes cannot be written. Raises OutputError if the file cannot be
    written.
    """

    def __init__(self, path: Path, crs: CRS, scenes: Sequence[IndexedScene], reporter: Reporter) -> None:
        self._path, self._reporter = path, reporter
        self._values: dict[str, dict[str, Any]] = {}
        for number, scene in enumerate(scenes, 1):
            self._values.setdefault(scene.name, {"fid": number, **_values(scene)})
        _make(self._path, crs, scenes)
        self._changed: set[str] = set()
        self._lock, self._wake, self._ended = threading.Lock(), threading.Event(), threading.Event()
        self._warned = False
        self._writer = threading.Thread(target=self._write_on, name="index layer", daemon=True)
        self._writer.start()

    def update(self, name: str, **values: Any) -> None:
        """Change values of a scene, by field; they are in the file a second later, or at `close`.

        A scene that is not in the index is ignored. The field updated is set to now.
        """
        if name not in self._values:
            return
        with self._lock:
            self._values[name].update({field: _plain(value) for field, value in values.items()}, updated=_now())
            self._changed.add(name)
        self._wake.set()

    def close(self) -> None:
        """Write the last changes, and end."""
        self._ended.set()
        self._wake.set()
        self._writer.join()
        with contextlib.suppress(OSError):
            sync(self._path)

    def _write_on(self) -> None:
        """Write changes once a period, until the end."""
        while not self._ended.is_set():
            self._wake.wait()
            self._wake.clear()
            self._write()
            self._ended.wait(PERIOD_S)
        self._write()

    def _write(self) -> None:
        """Write changes; if that fails, they are written with the next ones."""
        with self._lock:
            changed, self._changed = self._changed, set()
            rows = [dict(self._values[name]) for name in changed]
        if not rows:
            return
        try:
            with closing(_connect(self._path)) as database, database:
                database.executemany(_WRITE_ROW, rows)
                database.execute("UPDATE gpkg_contents SET last_change = ?", (_now(),))
        except (sqlite3.Error, OSError) as error:
            with self._lock:
                self._changed |= changed
            if not self._warned:
                self._warned = True
                self._reporter.warning(f"The index of scenes {self._path} cannot be kept up to date: {error}.")


def _connect(path: Path) -> sqlite3.Connection:
    """Open an existing database, with a rollback journal and without waiting for the disk."""
    if not path.is_file():
        raise FileNotFoundError("the file is gone")
    database = sqlite3.connect(path, timeout=_PATIENCE_S)
    try:
        database.execute("PRAGMA journal_mode = DELETE")  # a reader may have set another one
        database.execute("PRAGMA synchronous = OFF")
    except sqlite3.Error:
        database.close()
        raise
    return database


def _make(path: Path, crs: CRS, scenes: Sequence[IndexedScene]) -> None:
    """Write the whole index, or raise OutputError."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        staging = StagingFolder(path.parent)
        try:
            new = staging.add(path.name)
            options = {"layer_options": {"SPATIAL_INDEX": "NO"}, "dataset_options": CREATION_OPTIONS["GPKG"]}
            table = as_written(_table(crs, scenes))
            kind = type_of(table, "Polygon")
            pyogrio.write_dataframe(
                table, new, layer=LAYER, driver="GPKG", geometry_type=kind, promote_to_multi=kind != "Polygon",
                **options,
            )  # fmt: skip
            if not _refilled(path, new):
                sync(new)
                replace(new, path)
                for ending in ("-wal", "-shm", "-journal"):  # of the file that was there
                    path.with_name(path.name + ending).unlink(missing_ok=True)
        finally:
            staging.remove()
    except (OSError, ValueError, RuntimeError, sqlite3.Error) as error:  # pyogrio's are RuntimeErrors
        raise OutputError(
            f"The index of scenes {path} cannot be written.",
            "Choose another folder, make room on its disk, or remove the index from the project that shows it.",
        ) from error


def _refilled(path: Path, new: Path) -> bool:
    """Fill an existing index with the rows of a new one, and return whether that was possible."""
    try:
        with closing(_connect(path)) as database:
            database.execute("ATTACH ? AS new", (str(new),))
            with database:
                database.execute("BEGIN IMMEDIATE")
                if _form(database, "main.") != _form(database, "new."):
                    return False
                for statement in _REFILL:
                    database.execute(statement)
            return True
    except (sqlite3.Error, OSError):
        return False


def _form(database: sqlite3.Connection, name: str) -> list[list[Any]]:
    return [database.execute(question.format(name)).fetchall() for question in _FORM]


def _values(scene: IndexedScene) -> dict[str, Any]:
    """Return the values of a scene, by field, when the index is made."""
    own = {name: _plain(value) for name, value in vars(scene).items() if name in FIELDS}
    return {**own, "blocks_done": 0, "mp_per_s": None, "road_km": None}


def _table(crs: CRS, scenes: Sequence[IndexedScene]) -> geopandas.GeoDataFrame:
    now = pandas.Timestamp.now("UTC").floor("ms")
    rows = [{**_values(scene), "updated": now} for scene in scenes]
    columns = {field: pandas.Series([row[field] for row in rows], dtype=kind) for field, kind in FIELDS.items()}
    return geopandas.GeoDataFrame(columns, geometry=[scene.outline for scene in scenes], crs=crs.to_wkt())


def _plain(value: Any) -> Any:
    """Return a value for the database: without passwords, and with nothing but Unicode."""
    if isinstance(value, (str, Path)):
        return without_passwords(str(value)).encode("utf-8", "replace").decode("utf-8")
    return value.item() if isinstance(value, np.generic) else value


def _now() -> str:
    """Return the time in the format of GeoPackages."""
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"


def put_style(index: Path, is_live: bool, reporter: Reporter) -> None:
    """Write the style of an index next to it, but never over a style of the user's own.

    So QGIS shows scenes by status whenever the index is added to a map. A style that cannot be written is a warning.
    """
    style = index.with_suffix(".qml")
    try:
        if style.exists() and style.read_bytes() not in (FINISHED_STYLE.read_bytes(), LIVE_STYLE.read_bytes()):
            return
        with replaced(style) as draft:
            shutil.copyfile(LIVE_STYLE if is_live else FINISHED_STYLE, draft)
    except OSError as error:
        reporter.warning(f"The style cannot be written next to {index} ({error.strerror}).")
