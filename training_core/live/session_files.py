"""The files of a session, from which it continues however the worker ended.

Scope: session.json (identity of the session), labels.json (commands that draw the labels again) and
checkpoint.safetensors (what was learned). All are replaced atomically, and all are untrusted input. Independent of the
course of a session.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Optional

import numpy as np
import shapely
import torch
from torch import Tensor

from ..errors import JobError
from ..events import Reporter
from ..geodata.grid import Grid
from ..jobs.json_fields import parse_file
from ..learning.checkpoint import DAMAGE, BackgroundWriter, read_state, write_state
from ..learning.history import History, history_from_document
from ..learning.trainer import under
from ..system.input_lines import MAX_LINE_BYTES
from ..system.machine import versions
from ..system.outputs import replaced
from .commands import Change, ChangeLabels, parse_command
from .drawn_labels import BLOCK_PX, BlockIndex

SESSION, LABELS, CHECKPOINT = "session.json", "labels.json", "checkpoint.safetensors"
FORMAT = "roadseg-live-1"
CHECKPOINT_S = 20.0
# Limit of the file of labels, in writing and reading; its lines are no longer than commands.
MAX_LABELS_BYTES = 200 << 20
# Name under which an unreadable file of labels is kept.
UNREAD = "unread-labels.json"
_MAX_SESSION_BYTES = 1 << 20
# Limits of a checkpoint: copies of the weights (themselves, their average, two moments), and bytes of masks.
_STATE_COPIES, _SPARED_BYTES = 4, 256 << 20
# Prefixes of the weights of the network that learns, in a trainer's state, and of the masks of blocks.
_NETWORK, _SPARED = "network.", "spared."


@dataclass(frozen=True)
class Saved:
    """What a session has learned.

    `state`, tensors (...) of any dtype, is as from `Learner.state_dict`, or empty if nothing was learned. For `spared`,
    (BLOCK_PX, BLOCK_PX), bool, see `DrawnLabels`.
    """

    history: History
    state: dict[str, Tensor] = field(default_factory=dict)
    spared: dict[BlockIndex, np.ndarray] = field(default_factory=dict)


class SessionFiles:
    """The files of a session: a context manager, which waits for the last checkpoint.

    Raises JobError if the folder cannot be made, or belongs to another session.
    """

    def __init__(
        self, path: str, raster: str, weights: dict[str, Tensor], base_sha256: str, grid: Grid, reporter: Reporter
    ) -> None:
        self.path, self._reporter = Path(path).absolute(), reporter
        self._weights = {f"{_NETWORK}{name}": tensor for name, tensor in weights.items()}
        self._failing: set[str] = set()
        self._writer = BackgroundWriter()
        self._identity = {
            "format": FORMAT,
            "base_sha256": base_sha256,
            "crs": grid.crs.to_wkt(),
            "transform": list(grid.transform)[:6],
            "size": [grid.width, grid.height],
        }
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self._claim(raster)
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
        self._writer.close()
        self.has_failed()

    def _claim(self, raster: str) -> None:
        """Write the identity of the session; raise JobError if the folder has another one."""
        file = self.path / SESSION
        if file.exists():
            try:
                found = parse_file(file, _MAX_SESSION_BYTES)
                is_same = all(found.get(name) == value for name, value in self._identity.items())
            except (ValueError, AttributeError):
                is_same = False
            if not is_same:
                raise JobError(
                    f"The folder (folder) {self.path} holds a session of another image, resolution or base model.",
                    "Choose another folder.",
                )
            return
        with replaced(file) as temporary:
            document = {**self._identity, "raster": raster, "versions": versions()}
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
                f"The labels of the session cannot be read from {file} ({error}). The file is kept as {UNREAD}."
            )
            return ()

    def write_labels(self, features: Iterable[Change]) -> bool:
        """Write the labels, and return whether that worked; warn of the first failure in a row."""
        try:
            with replaced(self.path / LABELS) as temporary:
                _write_lines(temporary, features)
        except (OSError, ValueError) as error:
            self._warn_once(LABELS, f"The labels cannot be written to {self.path / LABELS} ({error})")
            return False
        self._failing.discard(LABELS)
        return True

    @property
    def is_checkpoint_due(self) -> bool:
        """Whether the last checkpoint is complete and CHECKPOINT_S old."""
        return self._writer.is_due(CHECKPOINT_S)

    def read_checkpoint(self) -> Optional[Saved]:
        """Return the checkpoint, if any; warn and return None if it cannot be used."""
        file = self.path / CHECKPOINT
        if not file.exists():
            return None
        try:
            return self._read_checkpoint(file)
        except DAMAGE as error:
            self._reporter.warning(
                f"The checkpoint {file} cannot be used ({error}). Learning starts again from the drawn labels."
            )
            return None

    def _read_checkpoint(self, file: Path) -> Saved:
        max_bytes = _SPARED_BYTES + _STATE_COPIES * sum(tensor.nbytes for tensor in self._weights.values())
        tensors, header = read_state(file, FORMAT, max_bytes)
        if header["base_sha256"] != self._identity["base_sha256"]:
            raise ValueError("it is of another base model")
        learned = {name: tensor for name, tensor in tensors.items() if not name.startswith(_SPARED)}
        state = {**self._weights, **learned} if learned else {}
        return Saved(history_from_document(header["history"]), state, _unpacked(under(_SPARED, tensors)))

    def write_checkpoint(self, saved: Saved) -> None:
        """Write a checkpoint in a background thread; `has_failed` returns the outcome.

        Weights that equal those of the base model, as in a frozen encoder, are left out.
        """
        header = {name: self._identity[name] for name in ("format", "base_sha256")}
        header["history"] = asdict(saved.history)

        def write() -> None:
            state = {name: each for name, each in saved.state.items() if not _is_same(each, self._weights.get(name))}
            write_state(self.path / CHECKPOINT, {**state, **_packed(saved.spared)}, header)
            self._failing.discard(CHECKPOINT)

        self._writer.write(write)

    def has_failed(self) -> bool:
        """Whether the last checkpoint could not be written, returned once; warn of the first failure in a row."""
        error = self._writer.take_error(wait=False)
        if error:
            self._warn_once(CHECKPOINT, f"No checkpoint could be written to {self.path} ({error})")
        return error is not None

    def _warn_once(self, name: str, message: str) -> None:
        if name not in self._failing:
            self._reporter.warning(f"{message}. The session continues and tries again.")
        self._failing.add(name)


def _write_lines(path: Path, features: Iterable[Change]) -> None:
    """Write commands that draw features, one a line; raise ValueError where they exceed the limits of reading."""
    with path.open("wb") as file:
        file.write(_line_of([]))  # draws nothing, so that no file is empty
        for feature in features:
            geometry = shapely.to_wkt(feature.geometry, rounding_precision=-1)  # exact
            file.write(_within_limits(_line_of([{**vars(feature), "geometry": geometry}]), file.tell()))


def _line_of(changes: list[dict[str, Any]]) -> bytes:
    return json.dumps({"command": "labels", "sequence": 0, "changes": changes}).encode() + b"\n"


def _changes_in(path: Path) -> Iterator[Change]:
    """Yield the features of a file of labels; raise ValueError where it is damaged or too large."""
    if not path.is_file() or not path.stat().st_size:  # reading a pipe might never end
        raise ValueError("it is not a file of labels")
    _within_limits(b"", path.stat().st_size)
    with path.open("rb") as file:
        while line := file.readline(MAX_LINE_BYTES + 1):
            command = parse_command(_within_limits(line, 0))
            if not isinstance(command, ChangeLabels):
                raise ValueError("it holds other commands")
            yield from command.changes


def _within_limits(line: bytes, before_bytes: int) -> bytes:
    """Return a line that follows some bytes of a file; raise ValueError where either is too large."""
    if len(line) > MAX_LINE_BYTES:
        raise ValueError(f"a line of it is longer than {MAX_LINE_BYTES >> 20} MiB")
    if before_bytes + len(line) > MAX_LABELS_BYTES:
        raise ValueError(f"they are larger than {MAX_LABELS_BYTES >> 20} MiB, the most that a session reads")
    return line


def _is_same(tensor: Tensor, base: Optional[Tensor]) -> bool:
    return base is not None and tensor.dtype == base.dtype and torch.equal(tensor, base)


def _packed(spared: Mapping[BlockIndex, np.ndarray]) -> dict[str, Tensor]:
    """Return masks of blocks as bits; the names hold row and column."""
    return {
        f"{_SPARED}{row}.{column}": torch.from_numpy(np.packbits(mask, axis=1))
        for (row, column), mask in spared.items()
    }


def _unpacked(tensors: Mapping[str, Tensor]) -> dict[BlockIndex, np.ndarray]:
    """Reverse `_packed`; raise ValueError where a mask is malformed."""
    spared = {}
    for name, bits in tensors.items():
        row, column = map(int, name.split("."))
        if bits.dtype != torch.uint8 or bits.shape != (BLOCK_PX, BLOCK_PX // 8):
            raise ValueError("a mask has another shape")
        spared[row, column] = np.unpackbits(bits.numpy(), axis=1).astype(bool)
    return spared
