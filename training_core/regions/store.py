"""Store of the results of blocks: files under names from their content, either whole or missing.

A file is written in a private folder, synced, and renamed into place. A process killed at any moment leaves no half
file. Two processes that write the same key do not disturb each other, also on two machines that share the folder.

Scope: names, files, arrays. Independent of the meaning of the content.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Optional
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile

import numpy as np

from ..errors import NO_ROOM, OutputError
from ..jobs.file_systems import PrivateFolder, remove_leftovers, replace
from ..system.outputs import sync, sync_folder

KEY_DIGITS = 24
_WORK, _PARTIAL, _PREFIX = "work", "partial", "roadseg-"
_UNREACHABLE = "Choose a folder that can be written to from all workers, or make room on its disk."


def content_key(*parts: object) -> str:
    """Return a name made from parts of JSON types: the same for the same content in any process on any machine.

    It is the first 24 hexadecimal digits of the SHA-256 of their JSON. NaN and infinity are a ValueError.
    """
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:KEY_DIGITS]


class Store:
    """Results in the folder of a job: `folder/work/<kind>/<key>.<suffix>`."""

    def __init__(self, folder: str | Path) -> None:
        self._work = Path(folder) / _WORK

    def path(self, kind: str, key: str, suffix: str) -> Path:
        """Return the path of a result, whole if it exists; the kind is a word such as predict."""
        return self._work / kind / f"{key}{suffix}"

    def write(self, kind: str, key: str, suffix: str, writer: Callable[[Path], object]) -> Path:
        """Write a result whole, in place of an existing one, and return its path.

        The writer takes a temporary path in a folder of its own that is removed afterwards. Raises OutputError if the
        disk is full, or the file cannot be written.
        """
        final = self.path(kind, key, suffix)
        try:
            with self.private_folder() as folder:
                final.parent.mkdir(exist_ok=True)
                temporary = folder / final.name
                writer(temporary)
                sync(temporary)
                replace(temporary, final)
                sync_folder(final.parent)
        except OSError as error:
            problem, advice = f"{final} cannot be written ({error.strerror or error}).", _UNREACHABLE
            if error.errno in NO_ROOM:
                problem, advice = f"There is no room on the disk for {final}.", "Make room, or choose another folder."
            raise OutputError(problem, advice) from error
        return final

    @contextmanager
    def private_folder(self) -> Iterator[Path]:
        """Provide a folder next to the results that is removed at the end, or with the leftovers.

        Raises OSError if it cannot be made.
        """
        (self._work / _PARTIAL).mkdir(parents=True, exist_ok=True)
        folder = PrivateFolder(self._work / _PARTIAL, _PREFIX)
        try:
            yield folder.path
        finally:
            folder.remove()

    def remove_leftovers(self) -> int:
        """Remove the private folders of killed processes, and return their number."""
        return remove_leftovers(self._work / _PARTIAL, _PREFIX)


def write_arrays(path: Path, arrays: Mapping[str, Optional[np.ndarray]]) -> None:
    """Write arrays of numbers to an .npz file, without those that are None; the same arrays give the same bytes."""
    with ZipFile(path, "w", ZIP_DEFLATED, compresslevel=1) as file:  # numpy's own level is four times slower
        for name, array in arrays.items():
            if array is not None:
                with file.open(f"{name}.npy", "w", force_zip64=True) as entry:
                    np.lib.format.write_array(entry, array, allow_pickle=False)


def read_arrays(path: Path, names: Iterable[str] = ()) -> dict[str, np.ndarray]:
    """Return all arrays of an .npz file by name; no object is unpickled.

    Raises OutputError if the file is damaged, missing, or lacks one of the names.
    """
    try:
        with np.load(path, allow_pickle=False) as held:
            return {name: held[name] for name in {*names, *held.files}}
    except (OSError, ValueError, KeyError, EOFError, BadZipFile) as error:
        raise OutputError(f"{path} cannot be read: {error}.", "Delete it, and run the job again.") from error
