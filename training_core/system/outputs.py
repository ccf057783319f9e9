"""Outputs that appear whole or not at all.

Knows how files come into being under a temporary name beside their destination; knows nothing of what is in them.
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
# What other programs keep beside a file, and would take for the new one's when it is replaced.
SIDECARS = ("-journal", "-wal", "-shm", ".aux.xml", ".ovr", ".msk")


class Outputs:
    """A job's outputs: written under temporary names, renamed together when the job is done, removed when it is not.

    Use it as a context manager: leaving it by an exception removes what was begun.

    Parameters
    ----------
    inputs : iterable of str
        Files that must not be written over; with a layer or a raster in them, as QGIS and GDAL write it, or without.
    """

    def __init__(self, inputs: Iterable[str] = ()) -> None:
        self._inputs = {Path(file).resolve() for path in inputs if path for file in files_in(path)}
        self._staged: dict[Path, Path] = {}

    def __enter__(self) -> "Outputs":
        shutdown.tidy_by(self._discard)
        return self

    def __exit__(
        self, kind: Optional[type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        try:
            self._end(error)
        finally:
            shutdown.forget(self._discard)

    def _end(self, error: Optional[BaseException]) -> None:
        if error is None:
            with shutdown.uncut():
                self._commit()
            return
        self._discard()
        told = self._tell(error)
        if told is not error:
            raise told from error

    def stage(self, destination: str) -> Path:
        """Return the path to write in place of `destination`; the destination appears when all is done.

        Raises
        ------
        OutputError
            The folder cannot be made or written to, or the destination is no file or one of the inputs.
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
            for path in temporary.parent.glob(f"{glob.escape(temporary.name)}*"):  # with what is kept beside it
                path.unlink(missing_ok=True)

    def _tell(self, error: BaseException) -> BaseException:
        """Return the error as a person must read it: naming the outputs, and never their temporary names."""
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
    """Return the files that a path may be about: itself, and what it names of a layer or raster within a file.

    QGIS writes town.gpkg|layername=roads, GDAL GPKG:town.gpkg:image, GTIFF_DIR:2:town.tif or NETCDF:"town.nc":Band1.
    """
    parts = path.replace('"', "").split(":")
    ranges = combinations(range(len(parts) + 1), 2)  # since a path may hold a colon itself
    return [path.partition("|")[0], *(":".join(parts[begin:end]) for begin, end in ranges)]


def _keep(final: Path, temporary: Path) -> Optional[Path]:
    """Give what is at the destination a second name, by which it can be put back; None where that cannot be done."""
    former = temporary.with_name(f"{temporary.name}.former")
    try:
        os.link(final, former)
    except OSError:  # there is none, or the file system knows no second names
        return None
    return former


def _undo(final: Path, former: Optional[Path]) -> None:
    """Put back what was at a destination."""
    with contextlib.suppress(OSError):
        if former is None:
            final.unlink()
        else:
            os.replace(former, final)


def _remove_leftovers(final: Path) -> None:
    """Remove what runs that were killed have left of this destination."""
    for path in final.parent.glob(f".{glob.escape(final.stem)}.*{PART}{glob.escape(final.suffix)}*"):
        process = path.name[len(final.stem) + 2 :].split(".", 1)[0]
        if process.isdecimal() and not _is_running(int(process)):
            path.unlink(missing_ok=True)


def _is_running(process: int) -> bool:
    try:
        return psutil.pid_exists(process)
    except OverflowError:
        return False
