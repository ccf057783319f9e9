"""The files of a session, from which it continues however the worker ended.

Scope: session.json (identity of the session), labels.json (commands that draw the labels again) and
checkpoint.safetensors (see `checkpoint`). All are replaced atomically, and all are untrusted input. Independent of the
course of a session.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, Optional

import shapely
import torch
from safetensors import SafetensorError

from ..errors import JobError
from ..events import Reporter
from ..geodata.grid import Grid
from ..jobs.json_fields import parse_file
from ..system.input_lines import MAX_LINE_BYTES
from ..system.machine import versions
from ..system.outputs import replaced
from .checkpoint import FORMAT, Saved, read_checkpoint, write_checkpoint
from .commands import Change, ChangeLabels, parse_command

SESSION, LABELS, CHECKPOINT = "session.json", "labels.json", "checkpoint.safetensors"
CHECKPOINT_S = 20.0
# Limits of the file of labels, in writing and reading; its lines are as short as commands.
MAX_LABELS_BYTES, LINE_FEATURES = 200 << 20, 200
# Name under which an unreadable file of labels is kept.
UNREAD = "unread-labels.json"
_MAX_SESSION_BYTES = 1 << 20


class SessionFiles:
    """The files of a session: a context manager, which waits for the last checkpoint.

    Raises JobError if the folder cannot be made, or belongs to another session.
    """

    def __init__(
        self, path: str, raster: str, weights: dict[str, torch.Tensor], base_sha256: str, grid: Grid, reporter: Reporter
    ) -> None:
        self.path, self._reporter = Path(path).absolute(), reporter
        self._weights, self._base_sha256 = weights, base_sha256
        self._failing: set[str] = set()
        identity = {
            "format": FORMAT,
            "base_sha256": base_sha256,
            "crs": grid.crs.to_wkt(),
            "transform": list(grid.transform)[:6],
            "size": [grid.width, grid.height],
        }
        self._thread = ThreadPoolExecutor(1)
        self._writing: Optional[Future[None]] = None
        self._written_s = time.monotonic()
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self._claim(identity, raster)
        except OSError as error:
            raise JobError(
                f"The folder of the session (folder) {path} cannot be used ({error.strerror or error}).",
                "Choose another folder, or make room on the disk.",
            ) from error

    def __enter__(self) -> "SessionFiles":
        return self

    def __exit__(self, *_: object) -> None:
        self.finish()

    def finish(self) -> None:
        """Wait until the last checkpoint is written; afterwards none can be written."""
        self._thread.shutdown()
        self.has_failed()

    def _claim(self, identity: dict[str, Any], raster: str) -> None:
        """Write the identity of the session; raise JobError if the folder has another one."""
        file = self.path / SESSION
        if file.exists():
            try:
                found = parse_file(file, _MAX_SESSION_BYTES)
                is_same = all(found.get(name) == value for name, value in identity.items())
            except (ValueError, AttributeError):
                is_same = False
            if not is_same:
                raise JobError(
                    f"The folder (folder) {self.path} holds a session of another image, resolution or base model.",
                    "Choose another folder.",
                )
            return
        document = {**identity, "raster": raster, "versions": versions()}
        with replaced(file) as temporary:
            temporary.write_text(json.dumps(document, indent=1), encoding="utf-8")

    def read_labels(self) -> tuple[Change, ...]:
        """Return the labels; if they cannot be read, warn, set the file aside and return nothing."""
        file = self.path / LABELS
        if not file.exists():
            return ()
        try:
            return tuple(_changes_in(file))
        except (OSError, ValueError) as error:
            with contextlib.suppress(OSError):
                file.replace(self.path / UNREAD)
            self._reporter.warning(
                f"The labels of the session cannot be read from {file} ({error}); the file is kept as {UNREAD}."
            )
            return ()

    def write_labels(self, features: Iterable[Change]) -> bool:
        """Write the labels, and return whether that worked; warn of the first failure in a row."""
        try:
            with replaced(self.path / LABELS) as temporary:
                _write_lines(temporary, _lines_of(features))
        except (OSError, ValueError) as error:
            self._warn_once(LABELS, f"The labels cannot be written to {self.path / LABELS} ({error})")
            return False
        self._failing.discard(LABELS)
        return True

    @property
    def is_checkpoint_due(self) -> bool:
        """Whether the last checkpoint is complete and CHECKPOINT_S old."""
        is_busy = self._writing is not None and not self._writing.done()
        return time.monotonic() - self._written_s >= CHECKPOINT_S and not is_busy

    def read_checkpoint(self) -> Optional[Saved]:
        """Return the checkpoint, if any; warn and return None if it cannot be used."""
        file = self.path / CHECKPOINT
        if not file.exists():
            return None
        try:
            return read_checkpoint(file, self._weights, self._base_sha256)
        except (SafetensorError, OSError, ValueError, KeyError, TypeError, RuntimeError) as error:
            self._reporter.warning(
                f"The checkpoint {file} cannot be used ({error}); learning starts again from the drawn labels."
            )
            return None

    def write_checkpoint(self, saved: Saved) -> None:
        """Write a checkpoint in a background thread; `has_failed` returns the outcome."""
        arguments = (self.path / CHECKPOINT, saved, self._weights, self._base_sha256)
        self._writing = self._thread.submit(write_checkpoint, *arguments)
        self._written_s = time.monotonic()

    def has_failed(self) -> bool:
        """Whether the last checkpoint could not be written, returned once; warn of the first failure in a row."""
        if self._writing is None or not self._writing.done():
            return False
        error, self._writing = self._writing.exception(), None
        if error is None:
            self._failing.discard(CHECKPOINT)
            return False
        self._warn_once(CHECKPOINT, f"No checkpoint could be written to {self.path} ({error})")
        return True

    def _warn_once(self, name: str, message: str) -> None:
        if name not in self._failing:
            self._reporter.warning(f"{message}; the session goes on, and tries again.")
        self._failing.add(name)


def _lines_of(features: Iterable[Change]) -> Iterator[bytes]:
    """Yield commands of limited length that draw features."""
    entries: list[str] = []
    for feature in features:
        geometry = shapely.to_wkt(feature.geometry, rounding_precision=-1)  # exact
        entries.append(json.dumps({**vars(feature), "geometry": geometry}))
        if len(entries) == LINE_FEATURES or sum(map(len, entries)) > MAX_LINE_BYTES // 4:
            yield _line_of(entries)
            entries = []
    yield _line_of(entries)


def _line_of(entries: list[str]) -> bytes:
    return f'{{"command": "labels", "sequence": 0, "changes": [{", ".join(entries)}]}}\n'.encode()


def _write_lines(path: Path, lines: Iterable[bytes]) -> None:
    """Write lines; raise ValueError where they exceed the limits of reading."""
    left = MAX_LABELS_BYTES
    with path.open("wb") as file:
        for line in lines:
            left -= len(line)
            _check_size(line, left)
            file.write(line)


def _changes_in(path: Path) -> Iterator[Change]:
    """Yield the features of a file of labels; raise ValueError where it is damaged or too large."""
    if not path.is_file() or not path.stat().st_size:  # reading a pipe might never end
        raise ValueError("it is not a file of labels")
    left = MAX_LABELS_BYTES
    _check_size(b"", left - path.stat().st_size)
    with path.open("rb") as file:
        while line := file.readline(MAX_LINE_BYTES + 1):
            left -= len(line)
            _check_size(line, left)
            command = parse_command(line)
            if not isinstance(command, ChangeLabels):
                raise ValueError("it holds other commands")
            yield from command.changes


def _check_size(line: bytes, left: int) -> None:
    if len(line) > MAX_LINE_BYTES:
        raise ValueError(f"a line of it is longer than {MAX_LINE_BYTES >> 20} MiB")
    if left < 0:
        raise ValueError(f"they are larger than {MAX_LABELS_BYTES >> 20} MiB, the most that a session reads")
