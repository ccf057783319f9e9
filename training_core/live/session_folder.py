"""The folder of a session: what is needed to go on after the worker has ended in any way.

Scope: session.json (whose session it is), labels.json (what was drawn: a line for each some features, in the form of a
command), checkpoint.safetensors (what was learned, but for what the base model has). Independent of how a session goes.
All are written whole, and all are untrusted input when they are read again.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Optional

import numpy as np
import shapely
import torch
from safetensors import SafetensorError
from safetensors.torch import save_file

from ..errors import JobError
from ..events import Reporter
from ..geodata.grid import Grid
from ..jobs.json_fields import Limits, parse, parse_file, read
from ..models.model_file import read_safetensors
from ..system.input_lines import LONGEST_LINE_BYTES
from ..system.outputs import replaced
from ..system.versions import versions
from .base_difference import completed, same_as_base
from .commands import Change, ChangeLabels, parse_command
from .held_out import BLOCK_PX, Block

FORMAT = "roadseg-live-1"
SESSION, LABELS, CHECKPOINT = "session.json", "labels.json", "checkpoint.safetensors"
CHECKPOINT_S = 20.0
# Lines are read one by one, and no longer ones than of commands; of all labels no more than this is written or read.
MAX_LABELS_BYTES, LINE_FEATURES = 200 << 20, 200
# A file of labels that could not be read, which is not lost by that.
UNREAD = "unread-labels.json"
_MAX_SESSION_BYTES, MAX_STEPS = 1 << 20, 10**9
# A checkpoint has at most so many copies of the weights (themselves, their average, two moments), and masks of blocks.
_STATE_COPIES, _SPARED_BYTES = 4, 256 << 20
_HEADER_KEY, _SPARED = "roadseg", "spared."


@dataclass(frozen=True)
class Saved:
    """What was learned.

    Parameters
    ----------
    trained_s : float
        Seconds spent on steps.
    scores : list of (int, float, float)
        Step, seconds and F1 of each validation.
    state : dict of Tensor of any shape (...), any dtype
        See `Learner.state_dict`; empty where nothing is learned.
    spared : dict of Block to ndarray (BLOCK_PX, BLOCK_PX), bool
        See `DrawnLabels`.
    """

    step: int
    trained_s: float = 0.0
    scores: list[tuple[int, float, float]] = field(default_factory=list)
    state: dict[str, torch.Tensor] = field(default_factory=dict)
    spared: dict[Block, np.ndarray] = field(default_factory=dict)


_Count = Annotated[int, Limits(0, MAX_STEPS)]
_Seconds = Annotated[float, Limits(0)]


@dataclass(frozen=True)
class _Header:
    """What a checkpoint says of itself.

    Parameters
    ----------
    scores : list of (int, float, float)
        See `Saved`.
    same : list of str
        Names of the tensors that are the base model's, and not in the file.
    """

    format: str
    base_sha256: str
    step: _Count
    trained_s: _Seconds
    scores: list[tuple[_Count, _Seconds, Annotated[float, Limits(0, 1)]]]
    same: list[str]


class SessionFolder:
    """The files of a session. A context manager, which waits for the last checkpoint.

    Parameters
    ----------
    raster : str
        Whose session it is, for people: the image's file.
    weights : dict of Tensor of any shape (...), float32 or int64
        The base model's, which the state is told from.
    base_sha256 : str
        Their digest.
    grid : Grid
        Of the image, at the resolution that is worked at.

    Raises
    ------
    JobError
        The folder cannot be made, or is that of another session.
    """

    def __init__(
        self,
        path: str,
        raster: str,
        weights: dict[str, torch.Tensor],
        base_sha256: str,
        grid: Grid,
        reporter: Reporter,
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

    def __enter__(self) -> "SessionFolder":
        return self

    def __exit__(self, *_: object) -> None:
        self.finish()

    def finish(self) -> None:
        """Wait until the last checkpoint is written; there is none after this."""
        self._thread.shutdown()
        self.has_failed()

    def _claim(self, identity: dict[str, Any], raster: str) -> None:
        """Note whose session it is, or raise JobError where it is another one."""
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
        _write_text(file, json.dumps(document, indent=1))

    def read_labels(self) -> tuple[Change, ...]:
        """Return what was drawn; nothing, after a warning, where that cannot be read: then the file is set aside."""
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
        """Write what is drawn, and return whether that went well; the first failure in a row is warned of."""
        try:
            with replaced(self.path / LABELS) as temporary:
                _write_lines(temporary, _lines_of(features))
        except (OSError, ValueError) as error:
            self._warn_once(LABELS, f"The labels cannot be written to {self.path / LABELS} ({error})")
            return False
        self._failing.discard(LABELS)
        return True

    def read_checkpoint(self) -> Optional[Saved]:
        """Return what was learned; None without a checkpoint, and after a warning where it cannot be used."""
        file = self.path / CHECKPOINT
        if not file.exists():
            return None
        try:
            self._check_checkpoint(file)
            tensors, metadata = read_safetensors(file)
            header = read(_Header, parse(metadata[_HEADER_KEY]), "its header")
            if header.format != FORMAT or header.base_sha256 != self._base_sha256:
                raise ValueError("it is of another base model")
            if not all(bool(torch.isfinite(each).all()) for each in tensors.values() if each.is_floating_point()):
                raise ValueError("it holds values that are not finite")
            changed = {name: tensor for name, tensor in tensors.items() if not name.startswith(_SPARED)}
            state = completed(changed, header.same, self._weights)
            return Saved(header.step, header.trained_s, header.scores, state, _unpacked(tensors))
        except (SafetensorError, OSError, ValueError, KeyError, RuntimeError) as error:
            self._reporter.warning(
                f"The checkpoint {file} cannot be used ({error}); learning starts again from what is drawn."
            )
            return None

    def _check_checkpoint(self, file: Path) -> None:
        """Raise ValueError unless a file is one, and no larger than a checkpoint of the base model can be."""
        most_bytes = _SPARED_BYTES + _STATE_COPIES * sum(each.nbytes for each in self._weights.values())
        if not file.is_file() or file.stat().st_size > most_bytes:
            raise ValueError(f"it is no file of at most {most_bytes >> 20} MiB")

    @property
    def is_checkpoint_due(self) -> bool:
        """Whether the last checkpoint is old enough, and complete."""
        is_busy = self._writing is not None and not self._writing.done()
        return time.monotonic() - self._written_s >= CHECKPOINT_S and not is_busy

    def write_checkpoint(self, saved: Saved) -> None:
        """Write a checkpoint in a background thread; `has_failed` tells whether that went well."""
        document = {
            "format": FORMAT,
            "base_sha256": self._base_sha256,
            "step": saved.step,
            "trained_s": saved.trained_s,
            "scores": saved.scores,
        }
        self._writing = self._thread.submit(_save, self.path / CHECKPOINT, saved, self._weights, document)
        self._written_s = time.monotonic()

    def has_failed(self) -> bool:
        """Whether the last checkpoint could not be written: told once, and the first failure in a row is warned of."""
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


def _save(path: Path, saved: Saved, weights: Mapping[str, torch.Tensor], document: dict[str, Any]) -> None:
    same = same_as_base(saved.state, weights)
    tensors = {name: tensor for name, tensor in saved.state.items() if name not in set(same)}
    header = {_HEADER_KEY: json.dumps({**document, "same": same})}
    try:
        with replaced(path) as temporary:
            save_file({**tensors, **_packed(saved.spared)}, temporary, metadata=header)
    except SafetensorError as error:  # its name for errors of the system
        raise OSError(str(error)) from error


def _packed(spared: Mapping[Block, np.ndarray]) -> dict[str, torch.Tensor]:
    """Return masks of blocks as bits, by names with their rows and columns."""
    return {
        f"{_SPARED}{row}.{column}": torch.from_numpy(np.packbits(mask, axis=1))
        for (row, column), mask in spared.items()
    }


def _unpacked(tensors: Mapping[str, torch.Tensor]) -> dict[Block, np.ndarray]:
    """Return what `_packed` has packed; raise ValueError where it is something else."""
    spared = {}
    for name, bits in tensors.items():
        if name.startswith(_SPARED):
            row, column = map(int, name[len(_SPARED) :].split("."))
            if bits.dtype != torch.uint8 or bits.shape != (BLOCK_PX, BLOCK_PX // 8):
                raise ValueError("a mask has another shape")
            spared[row, column] = np.unpackbits(bits.numpy(), axis=1).astype(bool)
    return spared


def _entry(feature: Change) -> dict[str, Any]:
    return {
        "layer": feature.layer,
        "id": feature.id,
        "geometry": shapely.to_wkt(feature.geometry, rounding_precision=-1),
        "width_m": feature.width_m,
        "sure": feature.sure,
    }


def _lines_of(features: Iterable[Change]) -> Iterator[bytes]:
    """Yield commands of limited length that draw features."""
    entries: list[str] = []
    for feature in features:
        entries.append(json.dumps(_entry(feature)))
        if len(entries) == LINE_FEATURES or sum(map(len, entries)) > LONGEST_LINE_BYTES // 4:
            yield _line_of(entries)
            entries = []
    yield _line_of(entries)


def _line_of(entries: list[str]) -> bytes:
    return f'{{"command": "labels", "sequence": 0, "changes": [{", ".join(entries)}]}}\n'.encode()


def _write_lines(path: Path, lines: Iterable[bytes]) -> None:
    """Write lines; raise ValueError where they are more, or longer, than are read again."""
    left = MAX_LABELS_BYTES
    with path.open("wb") as file:
        for line in lines:
            left -= len(line)
            _check_size(line, left)
            file.write(line)


def _changes_in(path: Path) -> Iterator[Change]:
    """Yield the features that lines draw; raise ValueError where they are no such lines, or too many, or too long."""
    if not path.is_file() or not path.stat().st_size:  # reading a pipe might never end
        raise ValueError("it is no file of labels")
    left = MAX_LABELS_BYTES
    _check_size(b"", left - path.stat().st_size)
    with path.open("rb") as file:
        while line := file.readline(LONGEST_LINE_BYTES + 1):
            left -= len(line)
            _check_size(line, left)
            command = parse_command(line)
            if not isinstance(command, ChangeLabels):
                raise ValueError("these are no labels")
            yield from command.changes


def _check_size(line: bytes, left: int) -> None:
    if len(line) > LONGEST_LINE_BYTES:
        raise ValueError(f"a line of it is longer than {LONGEST_LINE_BYTES >> 20} MiB")
    if left < 0:
        raise ValueError(f"they are more than the {MAX_LABELS_BYTES >> 20} MiB that a session can take up again")


def _write_text(path: Path, text: str) -> None:
    with replaced(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
