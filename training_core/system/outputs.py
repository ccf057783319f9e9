"""Atomic outputs: files are written in private folders next to their destination and put in place together at the end.

Scope: staging, temporary names, renaming, rollback and cleanup of files. Independent of what is in them.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Optional

from ..errors import NO_ROOM, OutputError
from ..jobs import file_systems
from ..jobs.file_systems import SIDECARS, files_in, identities, is_read_only, remove, replace
from . import work

PART = ".part"
# Suffixes by which libraries tell formats; others could mean something to them.
_PLAIN_SUFFIX = re.compile(r"\.[A-Za-z0-9]{1,16}")
# Characters of a folder's name that libraries take for a part of an address, or cannot encode.
_ODD = re.compile("[!\t\n\r\ud800-\udfff]")


class Outputs:
    """A job's outputs: written under temporary names, renamed together when the job is done, removed if it fails.

    Use it as a context manager: leaving it by an exception discards the temporary files. It can be entered again for
    other outputs. `inputs` must not be overwritten. They may be layers or rasters in files, as QGIS and GDAL name
    these.
    """

    def __init__(self, inputs: Iterable[str] = ()) -> None:
        paths = (Path(file) for path in inputs if path for file in files_in(path))
        self._inputs = {name for path in paths for name in identities(path)}
        self._folders: dict[Path, StagingFolder] = {}
        self._staged: dict[Path, Path] = {}

    def __enter__(self) -> "Outputs":
        work.add_cleanup(self._discard)
        return self

    def __exit__(
        self, kind: Optional[type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        try:
            if error is None:
                self._sync()
                with work.critical_section():
                    self._commit()
            else:
                self._raise_with_final_names(error)
        finally:
            self._discard()
            self._folders.clear()
            self._staged.clear()
            work.remove_cleanup(self._discard)

    def stage(self, destination: str) -> Path:
        """Return the temporary path to write to; `destination` appears when the job is done.

        The temporary path is the same for each name of a destination, and holds no characters that a library takes for
        an address. Raises OutputError if the folder cannot be created or written to, or the destination is not a file,
        or is one of the inputs or, by another name, one of the outputs.
        """
        final = Path(destination).absolute()
        with _explained(destination):
            self.check(destination)
            final.parent.mkdir(parents=True, exist_ok=True)
            final = Path(os.path.realpath(final.parent)) / final.name
            return self._staged.get(final) or self._add(final)

    def stage_fields(self, job: Any, *names: str) -> tuple[dict[str, str], dict[str, Path]]:
        """Return the destinations that a job names in these fields, and their temporary paths; see `stage`."""
        paths = {name: path for name in names if (path := getattr(job, name))}
        return paths, {name: self.stage(path) for name, path in paths.items()}

    def stage_folder(self, destination: str) -> Path:
        """Return a temporary folder to write files to; all of it appears as `destination` when the job is done.

        Raises OutputError if the folder cannot be made, or the destination is there and is not an empty folder.
        """
        with _explained(destination):
            final = Path(os.path.realpath(destination))
            if final.exists() and not (final.is_dir() and not any(final.iterdir())):
                raise OutputError(f"{destination} is not an empty folder.", "Give a new folder, or an empty one.")
            final.parent.mkdir(parents=True, exist_ok=True)
            temporary = self._add(final)
            temporary.mkdir()
            return temporary

    def check(self, destination: str) -> None:
        """Check that a file can be written without loss of an input, also one that is not staged.

        Raises OutputError if it is one of the inputs or read-only, or no file.
        """
        final = Path(destination).absolute()
        files = (Path(f"{final}{ending}") for ending in ("", *SIDECARS))
        if any(name in self._inputs for file in files for name in identities(file)):
            raise OutputError(
                f"{destination} is an input of this job and would be overwritten.", "Choose another name."
            )
        if final.is_dir():
            raise OutputError(f"{destination} is a folder.", "Give a file name.")
        if final.exists() and not final.is_file():
            raise OutputError(f"{destination} is not a file.", "Give a file name.")
        if is_read_only(final):
            raise OutputError(f"{destination} is read-only.", "Choose another name.")

    def _add(self, final: Path) -> Path:
        if final.parent not in self._folders:
            self._folders[final.parent] = StagingFolder(final.parent)
        try:
            self._staged[final] = self._folders[final.parent].add(final.name)
        except FileExistsError as error:
            raise OutputError(
                f"{final} is the same file as another output of this job.", "Give each a file of its own."
            ) from error
        return self._staged[final]

    def _sync(self) -> None:
        for final, temporary in self._staged.items():
            try:
                for file in filter(Path.is_file, temporary.rglob("*")) if temporary.is_dir() else [temporary]:
                    sync(file)
            except OSError as error:
                raise OutputError(
                    f"{final} could not be written ({_why(error)}).",
                    "Make room on the disk, or choose another folder or name.",
                ) from error

    def _commit(self) -> None:
        placed: list[tuple[Path, Path]] = []
        try:
            for final, temporary in self._staged.items():
                # A hard link to the destination that is there, for a rollback; not every file system has them.
                former = temporary.with_name(f"{temporary.name}.former")
                with contextlib.suppress(OSError):
                    os.link(final, former)
                if temporary.is_dir() and final.is_dir():  # an empty one, which Windows would not replace
                    final.rmdir()
                replace(temporary, final)
                placed.append((final, former))
        except OSError as error:
            for earlier, former in placed:
                with contextlib.suppress(OSError):
                    replace(former, earlier) if former.exists() else remove(earlier)
            raise OutputError(
                f"{final} cannot be replaced ({_why(error)}).", "Close the layer or program that uses it."
            ) from error
        for final, _ in placed:
            for sidecar in (Path(f"{final}{ending}") for ending in SIDECARS):
                if os.path.lexists(sidecar):  # also where this name would be too long
                    _remove_sidecar(final, sidecar)

    def _discard(self) -> None:
        for folder in list(self._folders.values()):
            folder.remove()

    def _raise_with_final_names(self, error: BaseException) -> None:
        """Raise an error that names outputs by their final names, where that makes a difference."""
        if isinstance(error, OSError) and error.errno in NO_ROOM:
            names = ", ".join(map(str, self._staged))
            raise OutputError(
                f"There is no room on the disk for {names}.", "Make room, or choose another folder."
            ) from error
        if isinstance(error, OutputError):
            message = error.message
            for final, temporary in self._staged.items():
                message = message.replace(str(temporary), str(final)).replace(temporary.name, final.name)
            if message != error.message:
                raise OutputError(message, error.remedy) from error


@contextmanager
def replaced(path: Path) -> Iterator[Path]:
    """Provide a temporary path to write a single file to, which replaces another when it is complete.

    For files that come and go while a job runs, in any thread; a job's outputs are staged by `Outputs`. Raises OSError
    if the file cannot be written or replaced.
    """
    folder = StagingFolder(path.parent)
    try:
        temporary = folder.add(path.name)
        yield temporary
        sync(temporary)
        replace(temporary, path)
    finally:
        folder.remove()


@contextmanager
def _explained(destination: str) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:  # of a name with a null character
        raise OutputError(
            f"{destination} cannot be written ({_why(error)}).",
            "Choose another folder or name, or make room on the disk.",
        ) from error


def _why(error: Exception) -> str:
    return str(getattr(error, "strerror", None) or error)


def _remove_sidecar(final: Path, sidecar: Path) -> None:
    try:
        remove(sidecar)
    except OSError as error:
        raise OutputError(
            f"{final} is written, but {sidecar.name}, which belonged to the file before it, cannot be removed "
            f"({_why(error)}).",
            "Close the program that uses it, and delete it: programs would treat it as a part of the new file.",
        ) from error


class StagingFolder:
    """A private folder next to an output. Leftovers of killed runs next to it are removed.

    It holds temporary files, and an empty file of the name of each output: so the file system itself shows whether two
    names are one. Raises OSError if the folder cannot be made.
    """

    def __init__(self, folder: Path) -> None:
        remove_leftovers(folder)
        self._folder = file_systems.PrivateFolder(folder, *file_systems.BESIDE_OUTPUTS)
        self._token = secrets.token_hex(6)
        self._count = 0
        self._handle: Optional[int] = None

    def add(self, name: str) -> Path:
        """Return a temporary path for the output of a name, of ASCII letters and digits, with its suffix.

        Raises FileExistsError if the folder has that output already, perhaps in another spelling. Raises OSError if
        there is no room, or the file system does not take the name. Raises ValueError if no file system takes the name.
        """
        with (self._folder.path / name).open("xb"):
            pass
        suffix = Path(name).suffix
        suffix = suffix if _PLAIN_SUFFIX.fullmatch(suffix) else PART
        self._count += 1
        temporary = self._reachable() / f"{self._token}{self._count}{suffix}"
        temporary.write_bytes(b"\0" * 4096)  # fails at once on a full disk
        remove(temporary)
        return temporary

    def _reachable(self) -> Path:
        """Return the folder's path, or another one if its own has characters that libraries stumble over."""
        descriptors = Path("/proc/self/fd")
        if not _ODD.search(str(self._folder.path)) or not descriptors.is_dir():
            return self._folder.path
        if self._handle is None:
            self._handle = os.open(self._folder.path, os.O_RDONLY)
        return descriptors / str(self._handle)

    def remove(self) -> None:
        """Remove the folder with its content; the next run removes what cannot be removed now."""
        self._folder.remove()
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


def remove_leftovers(folder: Path) -> None:
    """Remove the staging folders that killed runs have left in a folder."""
    file_systems.remove_leftovers(folder, *file_systems.BESIDE_OUTPUTS)


def write_json(path: Path, document: Any) -> None:
    """Write a document as JSON text."""
    path.write_text(json.dumps(document, indent=1), encoding="utf-8")


def sync(path: Path) -> None:
    """Have a file on the disk, so that nothing of it can be lost later.

    Raises OSError if the file is missing, has no room, or the disk fails.
    """
    with path.open("rb+") as file:
        try:
            os.fsync(file.fileno())
        except OSError as error:  # not every file system can do it
            if error.errno in (*NO_ROOM, errno.EIO):
                raise


def sync_folder(folder: Path) -> None:
    """Have the names of a folder's files on the disk, where the system can do that."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
