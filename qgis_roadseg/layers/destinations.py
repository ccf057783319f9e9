"""Destinations of results, as Processing reads them from a text: files, tables of databases, or QGIS' memory.

Scope: whether something can be written there, and what is there. Independent of features.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

from qgis.core import (
    QgsAbstractDatabaseProviderConnection,
    QgsDataSourceUri,
    QgsProcessing,
    QgsProcessingUtils,
    QgsProviderConnectionException,
    QgsProviderRegistry,
    QgsVectorFileWriter,
)

from ...training_core.errors import OutputError
from ...training_core.jobs.fields import TAKEN, stored_names
from ...training_core.jobs.file_systems import is_read_only
from .places import OGR, Place, files_of_output, place_of_output, place_of_table

GEOPACKAGE = ".gpkg"
# Providers whose tables can be renamed by SQL without losing index and registration, so that a draft replaces them.
_REPLACEABLE = (OGR, "postgres")
# Names that fields cannot have, and how many bytes of a name are kept, by the ending of the file.
_FIELD_NAMES: dict[str, tuple[Sequence[str], Optional[int]]] = {
    GEOPACKAGE: (TAKEN, None),
    ".sqlite": (("ogc_fid", "geometry"), None),
    ".shp": ((), 10),
    ".tab": ((), 31),
    ".mif": ((), 31),
    ".gdb": (("objectid", "shape"), 64),
}
_LONGEST_OF_POSTGRES = 63
_OF_SHAPEFILES = ("shz", "dbf")
# Prefixes of the spatial index and the triggers that a GeoPackage has for a table.
_MADE_FOR_TABLES = ("rtree_", "trigger_", "gpkg_", "sqlite_")
# A message shows this number of names.
_SHOWN = 3
_PROVIDER = re.compile(r"(.{3,}?):(.*)", re.DOTALL)


@dataclass(frozen=True)
class Destination:
    """Where a result goes: to a file of its own, to a table, or to a temporary layer.

    Parameters
    ----------
    text : str
        The value of the parameter.
    path : str
        Absolute path of the file; empty for a database on a server and for a temporary layer.
    provider : str
        Key of the provider that makes a table; empty for a file of its own and for a temporary layer.
    uri : str
        The provider's name of the table.
    """

    text: str
    path: str = ""
    provider: str = ""
    uri: str = ""

    @property
    def is_temporary(self) -> bool:
        """Whether QGIS removes the layer at its end."""
        return not self.path and not self.provider

    @property
    def table(self) -> str:
        """The name of the table, without its schema; empty for a file of its own."""
        return QgsDataSourceUri(self.uri).table()

    def place(self) -> Place:
        """Return where the result will be."""
        return place_of_output(self.path, self.table) if self.path else place_of_table(QgsDataSourceUri(self.uri))

    def exists(self) -> bool:
        """Return whether something is there that would be replaced; raise OutputError if a database does not answer."""
        if not self.provider:
            return any(map(os.path.lexists, files_of_output(self.path)))
        is_new_file = self.provider == OGR and not os.path.exists(self.path)
        return not is_new_file and self.table_exists(self.table)

    def table_exists(self, name: str) -> bool:
        """Return whether the database has a table; raise OutputError if it does not answer."""
        is_same = str.lower if self.path else str  # SQLite ignores case
        return is_same(name) in map(is_same, self.tables())

    def tables(self) -> list[str]:
        """Return the names of the tables beside that of the result; raise OutputError if a database does not answer."""
        connection, schema = self.connect(), QgsDataSourceUri(self.uri).schema()
        try:
            return [each.tableName() for each in connection.tables(schema)]
        except QgsProviderConnectionException as error:
            raise self._unreachable(str(error)) from error

    def stored_names(self, names: Sequence[str]) -> dict[str, str]:
        """Return the names that fields get here, in order."""
        taken, longest = _FIELD_NAMES.get(Path(self.path).suffix.lower(), ((), None))
        if self.provider:
            taken = (*taken, QgsDataSourceUri(self.uri).geometryColumn())
            longest = _LONGEST_OF_POSTGRES if self.provider == "postgres" else longest
        return stored_names(names, taken, longest)

    def connect(self) -> QgsAbstractDatabaseProviderConnection:
        """Return a connection to the database or GeoPackage; it is not used before something is asked of it.

        Raises OutputError if QGIS has no such provider, or the provider no connections.
        """
        metadata = QgsProviderRegistry.instance().providerMetadata(self.provider)
        name = self.path if self.provider == OGR else self.uri
        try:
            connection = None if metadata is None else metadata.createConnection(name, {})
        except QgsProviderConnectionException as error:
            raise self._unreachable(str(error)) from error
        if connection is None:
            raise OutputError(f"QGIS cannot write to {self.text}.", "Choose a file, or a table of a database.")
        return connection

    def _unreachable(self, reason: str) -> OutputError:
        return OutputError(f"{self.text} cannot be reached: {reason}", "Check the connection, or choose a file.")


def destination_of(text: str) -> Destination:
    """Return the destination that Processing reads from the text of a sink: a path, or ogr:, postgis: and the like."""
    if text in ("", QgsProcessing.TEMPORARY_OUTPUT) or text.startswith("memory:"):
        return Destination(text)
    decoded, provider, uri = QgsProcessingUtils.decodeProviderKeyAndUri(text)
    match = _PROVIDER.fullmatch(text)
    if not decoded and match is None:
        return Destination(text, os.path.abspath(_file_name(text)))
    if not decoded:
        provider, uri = match.groups()
    provider = "postgres" if provider == "postgis" else provider
    path = os.path.abspath(QgsDataSourceUri(uri).database()) if provider in (OGR, "spatialite") else ""
    return Destination(text, path, provider, uri)


def _file_name(text: str) -> str:
    """Return the name of the file that Processing writes: it appends an ending where it or the driver has another."""
    driver = QgsVectorFileWriter.driverForExtension(Path(text).suffix[1:])
    if not driver:
        return f"{text}{GEOPACKAGE}"
    about = QgsVectorFileWriter.MetaData()
    QgsVectorFileWriter.driverMetadata(driver, about)
    endings = (*about.ext.split(), *_OF_SHAPEFILES) if driver == "ESRI Shapefile" else about.ext.split()
    is_kept = not endings or any(text.lower().endswith(f".{ending}") for ending in endings)
    return text if is_kept else f"{text}.{endings[0]}"


def check_destination(destination: Destination) -> None:
    """Check before the work that a result can be written, as far as the file system and QGIS' providers tell.

    Raises OutputError if a folder is missing or cannot be written to, the path is a folder, the database cannot be
    reached, or its tables cannot be replaced.
    """
    if destination.provider:
        destination.connect()
    if destination.provider and not destination.table:
        raise OutputError(f"{destination.text} does not name a table.", "Choose a file, or a table of a database.")
    if destination.provider == OGR and not destination.path.lower().endswith(GEOPACKAGE):
        raise OutputError(
            f"{destination.text} is a table in a file that is not a GeoPackage.",
            "Choose a GeoPackage, or another file.",
        )
    if destination.path:
        folder = os.path.dirname(destination.path)
        if not os.path.isdir(folder) or not os.access(folder, os.W_OK):
            raise OutputError(f"{folder} cannot be written to.", "Choose another folder.")
        if os.path.isdir(destination.path):
            raise OutputError(f"{destination.path} is a folder.", "Give a file name.")
        if is_read_only(destination.path):
            raise OutputError(f"{destination.path} is read-only.", "Choose another name.")
    if destination.provider and destination.exists() and destination.provider not in _REPLACEABLE:
        raise OutputError(f"{destination.text} exists already.", "Choose another table.")
    if destination.provider == OGR and os.path.exists(destination.path):
        _check_table(destination)


def _check_table(destination: Destination) -> None:
    """Raise OutputError if a table of a GeoPackage is no layer, or if views, triggers or keys of others refer to it.

    SQLite changes these when a table is renamed.
    """
    connection, table = destination.connect(), destination.table
    word = re.compile(rf"(?<!\w){re.escape(table)}(?!\w)", re.IGNORECASE)
    try:
        # Some answers begin with a number of the row.
        contents = [row[-2:] for row in connection.executeSql("SELECT table_name, data_type FROM gpkg_contents")]
        rows = connection.executeSql("SELECT name, tbl_name, sql FROM sqlite_master WHERE sql IS NOT NULL")
        parts = [row[-3:] for row in rows]
    except QgsProviderConnectionException as error:
        raise OutputError(
            f"{destination.text} cannot be read: {error}", "Close the program that uses it, or choose another file."
        ) from error
    if any(str(name).lower() == table.lower() and kind != "features" for name, kind in contents):
        raise OutputError(f"{destination.text} is not a layer of features.", "Choose another table.")
    users = [
        str(name)
        for name, owner, sql in parts
        if str(owner).lower() != table.lower() and not str(name).startswith(_MADE_FOR_TABLES) and word.search(str(sql))
    ]
    if users and destination.exists():
        raise OutputError(
            f"{destination.text} cannot be replaced: {', '.join(users[:_SHOWN])} in its file refer to it.",
            "Choose another table.",
        )
