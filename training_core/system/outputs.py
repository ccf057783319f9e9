"""Atomic outputs: files are written under temporary names beside their destination and renamed together at the end.

Scope: staging, renaming, rollback and cleanup of files. Independent of what is in them.
"""

from __future__ import annotations

import contextlib
import errno
import glob
import os
from collections.abc import Iterable
from itertools import combinations
from pathlib import Path
from types import TracebackType
from typing import Optional

import psutil

from ..errors import OutputError
from . import shutdown

PART = ".part"
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
# Sidecar files of other programs, which would be wrong for the new file.
SIDECARS = ("-journal", "-wal", "-shm", ".aux.xml", ".ovr", ".msk")


class Outputs:
    """A job's outputs: written under temporary names, renamed together when the job is done, removed if it fails.

    Use it as a context manager: leaving it by an exception discards the temporary files.

    Parameters
    ----------
    inputs : iterable of str
        Files that must not be overwritten; also layers or rasters in them, as QGIS and GDAL name these.
    """

    def __init__(self, inputs: Iterable[str] = ()) -> None:
        self._inputs = {Path(file).resolve() for path in inputs if path for file in files_in(path)}
        self._staged: dict[Path, Path] = {}

    def __enter__(self) -> "Outputs":
        shutdown.add_cleanup(self._discard)
        return self

    def __exit__(
        self, kind: Optional[type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        try:
            self._end(error)
        finally:
            shutdown.remove_cleanup(self._discard)

    def _end(self, error: Optional[BaseException]) -> None:
        if error is None:
            with shutdown.critical_section():
                self._commit()
            return
        self._discard()
        named = self._with_final_names(error)
        if named is not error:
            raise named from error

    def stage(self, destination: str) -> Path:
        """Return the temporary path to write to; `destination` appears when the job is done.

        Raises
        ------
        OutputError
            The folder cannot be created or written to, or the destination is not a file or is one of the inputs.
        """
        final = Path(destination).absolute()
        try:
            self._check(final, destination)
            temporary = final.with_name(f".{final.stem}.{os.getpid()}{PART}{final.suffix}")
            final.parent.mkdir(parents=True, exist_ok=True)
            _remove_leftovers(final)
            self._staged[final] = temporary
            temporary.write_bytes(b"\0" * 4096)
            temporary.unlink()
        except (OSError, ValueError) as error:  # of a name with a null character
            why = error.strerror if isinstance(error, OSError) else error
            raise OutputError(
                f"{destination} cannot be written ({why}).", "Choose another folder or name, or make room on the disk."
            ) from error
        return temporary

    def _check(self, final: Path, destination: str) -> None:
        if final.resolve() in self._inputs:
            raise OutputError(
                f"{destination} is an input of this job and would be overwritten.", "Choose another name."
            )
        if final.is_dir():
            raise OutputError(f"{destination} is a folder.", "Give a file name.")
        if final.exists() and not final.is_file():
            raise OutputError(f"{destination} is no file.", "Give a file name.")

    def _commit(self) -> None:
        placed: list[tuple[Path, Optional[Path]]] = []
        try:
            for final, temporary in self._staged.items():
                if temporary.exists():
                    former = _keep(final, temporary)
                    os.replace(temporary, final)
                    placed.append((final, former))
        except OSError as error:
            for earlier, former in placed:
                _undo(earlier, former)
            self._discard()
            raise OutputError(
                f"{final} cannot be replaced ({error.strerror}).", "Close the layer or program that uses it."
            ) from error
        for final, _ in placed:
            for sidecar in SIDECARS:
                final.with_name(final.name + sidecar).unlink(missing_ok=True)
        self._discard()

    def _discard(self) -> None:
        for temporary in self._staged.values():
            for path in temporary.parent.glob(f"{glob.escape(temporary.name)}*"):  # with sidecar files
                path.unlink(missing_ok=True)

    def _with_final_names(self, error: BaseException) -> BaseException:
        """Return the error with the outputs' names in place of their temporary ones."""
        if isinstance(error, OSError) and error.errno in NO_ROOM:
            names = ", ".join(map(str, self._staged))
            return OutputError(f"There is no room on the disk for {names}.", "Make room, or choose another folder.")
        if not isinstance(error, OutputError):
            return error
        message = error.message
        for final, temporary in self._staged.items():
            message = message.replace(temporary.name, final.name)
        return error if message == error.message else OutputError(message, error.remedy)


def files_in(path: str) -> list[str]:
    """Return the files that a path may refer to: itself, and the file of the layer or raster that it names.

    QGIS writes town.gpkg|layername=roads, GDAL GPKG:town.gpkg:image, GTIFF_DIR:2:town.tif or NETCDF:"town.nc":Band1.
    """
    parts = path.replace('"', "").split(":")
    ranges = combinations(range(len(parts) + 1), 2)  # since a path may hold a colon itself
    return [path.partition("|")[0], *(":".join(parts[begin:end]) for begin, end in ranges)]


def _keep(final: Path, temporary: Path) -> Optional[Path]:
    """Hard-link the existing destination for a rollback; None without one or without hard links."""
    former = temporary.with_name(f"{temporary.name}.former")
    try:
        os.link(final, former)
    except OSError:  # no such file, or a file system without hard links
        return None
    return former


def _undo(final: Path, former: Optional[Path]) -> None:
    """Roll back a destination to what it was."""
    with contextlib.suppress(OSError):
        if former is None:
            final.unlink()
        else:
            os.replace(former, final)


def _remove_leftovers(final: Path) -> None:
    """Remove temporary files of this destination that killed runs have left."""
    for path in final.parent.glob(f".{glob.escape(final.stem)}.*{PART}{glob.escape(final.suffix)}*"):
        process = path.name[len(final.stem) + 2 :].split(".", 1)[0]
        if process.isdecimal() and not _is_running(int(process)):
            path.unlink(missing_ok=True)


def _is_running(process: int) -> bool:
    try:
        return psutil.pid_exists(process)
    except OverflowError:
        return False
