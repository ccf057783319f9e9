"""Drafts of results: written beside their destinations, and put in place together when all of them are complete.

Scope: files and tables; the former ones stay until then, and come back where a draft cannot be put in place.
Independent of features.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
from contextlib import ExitStack
from pathlib import Path

from qgis.core import QgsDataSourceUri, QgsProcessingUtils, QgsProviderConnectionException

from ...training_core.errors import OutputError
from ...training_core.jobs.file_systems import BESIDE_OUTPUTS, PrivateFolder, remove, remove_leftovers, replace
from .destinations import Destination
from .places import OGR, files_of_output

_STYLES = "layer_styles"


class Draft:
    """The draft of a temporary layer: the layer itself. A context manager: leaving it removes the draft.

    Attributes
    ----------
    text : str
        The destination to give Processing for the draft.
    is_apart : bool
        Whether the draft is apart from its destination.
    """

    is_apart = False

    def __init__(self, destination: Destination) -> None:
        self.destination = destination
        self.text = destination.text

    def __enter__(self) -> "Draft":
        return self

    def __exit__(self, *error: object) -> None:
        """Remove what is left of the draft."""

    def put_in_place(self, undo: ExitStack, written: str) -> str:
        """Put the complete draft, whose layer has the name `written`, in place; return the layer's name there.

        Leaving `undo` takes the steps back. Raises OutputError if the former file or table cannot be replaced.
        """
        return written

    def finish(self) -> None:
        """Remove the former table, when all drafts are in place."""


class FileDraft(Draft):
    """The draft of a file and of those that belong to it, such as a Shapefile's, in a private folder beside them.

    Raises OutputError if the folder cannot be written to.
    """

    is_apart = True

    def __init__(self, destination: Destination, appends: bool) -> None:
        super().__init__(destination)
        self._final = Path(destination.path)
        self._folder = _private_folder(self._final)
        self._new, self._former = self._folder.path / "new", self._folder.path / "former"
        try:
            for folder in (self._new, self._former):
                folder.mkdir()
            for file in self._present() if appends else ():
                shutil.copy2(file, self._new)
        except OSError as error:
            self._folder.remove()
            raise _unwritable(self._final, error) from error
        self.text = str(self._new / self._final.name)

    def __exit__(self, *error: object) -> None:
        self._folder.remove()

    def put_in_place(self, undo: ExitStack, written: str) -> str:
        """See Draft; raise OutputError if another program has a file open, or there is no room."""
        try:
            new, present = list(self._new.iterdir()), self._present()
            for file in present:
                kept = self._former / file.name
                _keep(file, kept)
                undo.callback(replace, kept, file)
            for file in new:
                final = self._final.with_name(file.name)
                if final not in present:
                    undo.callback(_remove, final)
                replace(file, final)
            for file in present:  # of a former file, and wrong for the new one
                if file.name not in {each.name for each in new}:
                    remove(file)
        except OSError as error:
            raise _unwritable(self._final, error) from error
        return str(self._final)

    def _present(self) -> list[Path]:
        return [Path(name) for name in files_of_output(str(self._final)) if os.path.lexists(name)]


class TableDraft(Draft):
    """The draft of a table: a table of another name in the same database or GeoPackage.

    Beside a GeoPackage lies a private folder meanwhile. So the next run knows the tables of runs that were killed.
    Raises OutputError if the database cannot be reached, or the folder of the GeoPackage cannot be written to.
    """

    is_apart = True

    def __init__(self, destination: Destination) -> None:
        super().__init__(destination)
        self._connection, self._uri = destination.connect(), QgsDataSourceUri(destination.uri)
        self._is_new_file = destination.provider == OGR and not os.path.exists(destination.path)
        token, self._folder = secrets.token_hex(8), None
        if destination.provider == OGR:
            self._folder = _private_folder(Path(destination.path))
            token = _token_of(self._folder.path)
            if not self._is_new_file:
                self._remove_leftovers()
        self._replaces = destination.exists()
        self._part = f"{destination.table}_roadseg_{token}"
        self._former = f"{self._part}_former"
        draft = QgsDataSourceUri(destination.uri)
        draft.setDataSource(draft.schema(), self._part, draft.geometryColumn(), draft.sql(), draft.keyColumn())
        self.text = _text_of(destination.provider, draft.uri(False))

    def __exit__(self, *error: object) -> None:
        with contextlib.suppress(OutputError, QgsProviderConnectionException):  # else the next run removes it
            if self._is_new_file and error[0] is not None:
                _remove(Path(self.destination.path))
            elif self.destination.table_exists(self._part):
                self._drop(self._part)
        if self._folder is not None:
            self._folder.remove()

    def _remove_leftovers(self) -> None:
        """Drop the tables of runs that were killed, and give back its name to a table that one was to replace."""
        table, folders = self.destination.table, Path(self.destination.path).parent.glob("*".join(BESIDE_OUTPUTS))
        running = set(map(_token_of, folders))
        for name in self.destination.tables():
            match = re.fullmatch(rf"{re.escape(table)}_roadseg_([0-9a-f]+)(_former)?", name)
            if match is not None and match[1] not in running:
                if match[2] and not self.destination.exists():
                    self._rename(name, table)
                else:
                    self._drop(name)

    def put_in_place(self, undo: ExitStack, written: str) -> str:
        """See Draft; raise OutputError if another program locks the table, or something depends on it."""
        table = self.destination.table
        try:
            if self._replaces:
                self._rename(table, self._former)
                undo.callback(self._rename, self._former, table)
            self._rename(self._part, table)
            undo.callback(self._rename, table, self._part)
        except QgsProviderConnectionException as error:
            raise OutputError(
                f"{self.destination.text} cannot be replaced: {error}", "Close the layer or program that uses it."
            ) from error
        if self.destination.provider == OGR:
            return f"{self.destination.path}|layername={table}"
        return _text_of(self.destination.provider, self.destination.uri)

    def finish(self) -> None:
        """See Draft; styles that were stored for the table stay those of the table."""
        if not self._replaces:
            return
        with contextlib.suppress(OutputError, QgsProviderConnectionException):
            if self.destination.table_exists(_STYLES):
                table, former = (_quoted(name, "'") for name in (self.destination.table, self._former))
                change = ("UPDATE", _STYLES, "SET f_table_name =", table, "WHERE f_table_name =", former)
                self._connection.executeSql(" ".join(change))
            self._drop(self._former)

    def _rename(self, table: str, new: str) -> None:
        self._connection.executeSql(f"ALTER TABLE {self._named(table)} RENAME TO {_quoted(new)}")

    def _drop(self, table: str) -> None:
        self._connection.dropVectorTable(self._uri.schema(), table)

    def _named(self, table: str) -> str:
        schema = self._uri.schema()
        return f"{_quoted(schema)}.{_quoted(table)}" if schema else _quoted(table)


def draft_of(destination: Destination, appends: bool) -> Draft:
    """Return a draft of a destination; an append to a table goes into the table itself."""
    if destination.is_temporary or (appends and destination.provider):
        return Draft(destination)
    return TableDraft(destination) if destination.provider else FileDraft(destination, appends)


def _private_folder(final: Path) -> PrivateFolder:
    """Return a private folder beside a file, and remove those of runs that were killed."""
    try:
        remove_leftovers(final.parent, *BESIDE_OUTPUTS)
        return PrivateFolder(final.parent, *BESIDE_OUTPUTS)
    except OSError as error:
        raise _unwritable(final, error) from error


def _token_of(folder: Path) -> str:
    """Return the random part of a private folder's name."""
    return folder.name.removesuffix(BESIDE_OUTPUTS[1]).rpartition("-")[2]


def _unwritable(final: Path, error: OSError) -> OutputError:
    return OutputError(
        f"{final} cannot be written ({error.strerror}).",
        "Close the layer or program that uses it, make room, or choose another name.",
    )


def _text_of(provider: str, uri: str) -> str:
    """Return the name of a table for Processing; only that of a file has but a colon behind the provider's key."""
    return f"{OGR}:{uri}" if provider == OGR else QgsProcessingUtils.encodeProviderKeyAndUri(provider, uri)


def _quoted(name: str, mark: str = '"') -> str:
    return mark + name.replace(mark, mark * 2) + mark


def _keep(file: Path, kept: Path) -> None:
    """Keep a file by another name, and leave it where it is."""
    try:
        os.link(file, kept)
    except OSError:  # a file system without hard links
        shutil.copy2(file, kept)


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):  # on Windows it may still be open: why it is removed matters more
        remove(path)
