"""Outputs that appear whole or not at all.

Knows how files come into being under a temporary name beside their destination; knows nothing of what is in them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Optional

from .errors import OutputError

PART = ".part"


class Outputs:
    """A job's outputs: written under temporary names, renamed together when the job is done, removed when it is not.

    Use it as a context manager: leaving it by an exception removes what was begun.

    Parameters
    ----------
    inputs : iterable of str
        Files that must not be written over.
    """

    def __init__(self, inputs: Iterable[str] = ()) -> None:
        self._inputs = {Path(path).resolve() for path in inputs if path}
        self._staged: dict[Path, Path] = {}

    def __enter__(self) -> "Outputs":
        return self

    def __exit__(
        self, kind: Optional[type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        if kind is None:
            self._commit()
        else:
            self._discard()

    def stage(self, destination: str) -> Path:
        """Return the path to write in place of `destination`; the destination appears when all is done.

        Raises
        ------
        OutputError
            The folder is missing or cannot be written to, or the destination is one of the inputs.
        """
        final = Path(destination).absolute()
        if final.resolve() in self._inputs:
            raise OutputError(
                f"{destination} is an input of this job and would be overwritten.", "Choose another name."
            )
        if final.is_dir():
            raise OutputError(f"{destination} is a folder.", "Give a file name.")
        temporary = final.with_name(f".{final.stem}.{os.getpid()}{PART}{final.suffix}")
        try:
            final.parent.mkdir(parents=True, exist_ok=True)
            _remove_leftovers(final)
            temporary.write_bytes(b"\0" * 4096)
            temporary.unlink()
        except OSError as error:
            temporary.unlink(missing_ok=True)
            raise OutputError(
                f"{final.parent} cannot be written to ({error.strerror}).", "Choose another folder, or make room in it."
            ) from error
        self._staged[final] = temporary
        return temporary

    def _commit(self) -> None:
        written = [(final, temporary) for final, temporary in self._staged.items() if temporary.exists()]
        try:
            for final, temporary in written:
                os.replace(temporary, final)
        except OSError as error:
            self._discard()
            raise OutputError(
                f"{final} cannot be replaced ({error.strerror}).", "Close the layer or program that uses it."
            ) from error

    def _discard(self) -> None:
        for temporary in self._staged.values():
            for path in temporary.parent.glob(f"{temporary.name}*"):  # with sidecars such as a journal
                path.unlink(missing_ok=True)


def _remove_leftovers(final: Path) -> None:
    """Remove what runs that were killed have left of this destination."""
    for path in final.parent.glob(f".{final.stem}.*{PART}{final.suffix}*"):
        process = path.name[len(final.stem) + 2 :].split(".", 1)[0]
        if process.isdecimal() and not _is_running(int(process)):
            path.unlink(missing_ok=True)


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
