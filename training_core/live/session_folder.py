"""The folder of a session: what is needed to go on after the worker has ended in any way.

Scope: session.json (whose session it is), labels.json (what was drawn), checkpoint.safetensors (what was learned).
Independent of how a session goes. All are written whole, and all are untrusted input when they are read again.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional

import numpy as np
import shapely
import torch
from safetensors import SafetensorError
from safetensors.torch import save_file

from ..errors import JobError
from ..events import Reporter
from ..geodata.grid import Grid
from ..jobs import parse
from ..models.model_file import read_safetensors
from ..system.outputs import replaced
from ..system.versions import versions
from .commands import Change, ChangeLabels, parse_command
from .held_out import BLOCK_PX, Block

FORMAT = "roadseg-live-1"
SESSION, LABELS, CHECKPOINT = "session.json", "labels.json", "checkpoint.safetensors"
CHECKPOINT_S = 20.0
LARGEST_JSON_BYTES, MOST_STEPS = 200 << 20, 10**9
_HEADER_KEY, _SPARED = "roadseg", "spared."


@dataclass(frozen=True)
class Saved:
    """What was learned.

    Parameters
    ----------
    step : int
    trained_s : float
        Seconds spent on steps.
    scores : list of (int, float, float)
        Step, seconds and F1 of each validation.
    state : dict of Tensor of any shape (...), any dtype
        See `Learner.state_dict`.
    spared : dict of Block to ndarray (BLOCK_PX, BLOCK_PX), bool
        See `DrawnLabels`.
    """

    step: int
    trained_s: float = 0.0
    scores: list[tuple[int, float, float]] = field(default_factory=list)
    state: dict[str, torch.Tensor] = field(default_factory=dict)
    spared: dict[Block, np.ndarray] = field(default_factory=dict)


class SessionFolder:
    """The files of a session. A context manager, which waits for the last checkpoint.

    Parameters
    ----------
    path : str
    raster, base_sha256 : str
        Whose session it is: the image's file, for people, and the digest of the base model's weights.
    grid : Grid
        Of the image, at the resolution that is worked at.
    reporter : Reporter

    Raises
    ------
    JobError
        The folder cannot be made, or is that of another session.
    """

    def __init__(self, path: str, raster: str, base_sha256: str, grid: Grid, reporter: Reporter) -> None:
        self.path, self._reporter = Path(path).absolute(), reporter
        self._base_sha256 = base_sha256
        identity = {
            "format": FORMAT,
            "base_sha256": base_sha256,
            "crs": grid.crs.to_wkt(),
            "transform": list(grid.transform)[:6],
            "size": [grid.width, grid.height],
        }
        self._thread, self._writing = ThreadPoolExecutor(1), None
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
        self._warn_of_failure()

    def _claim(self, identity: dict[str, Any], raster: str) -> None:
        """Note whose session it is, or raise JobError where it is another one."""
        file = self.path / SESSION
        if file.exists():
            try:
                found = parse(_read_text(file))
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
        """Return what was drawn; nothing, after a warning, where that cannot be read."""
        file = self.path / LABELS
        if not file.exists():
            return ()
        try:
            command = parse_command(_read_text(file).encode())
            if not isinstance(command, ChangeLabels):
                raise ValueError("these are no labels")
            return command.changes
        except (OSError, ValueError) as error:
            self._reporter.warning(f"The labels of the session cannot be read from {file} ({error}).")
            return ()

    def write_labels(self, features: Iterable[Change]) -> None:
        """Write what is drawn, in the form of a command; after a warning, not where the disk is full."""
        document = {"command": "labels", "sequence": 0, "changes": [_entry(feature) for feature in features]}
        try:
            _write_text(self.path / LABELS, json.dumps(document))
        except OSError as error:
            self._reporter.warning(f"The labels cannot be written to {self.path} ({error}); the session goes on.")

    def read_checkpoint(self) -> Optional[Saved]:
        """Return what was learned; None without a checkpoint, and after a warning where it cannot be used."""
        file = self.path / CHECKPOINT
        if not file.exists():
            return None
        try:
            tensors, metadata = read_safetensors(file)
            document = parse(metadata[_HEADER_KEY])
            if document["format"] != FORMAT or document["base_sha256"] != self._base_sha256:
                raise ValueError("it is of another base model")
            if not all(bool(torch.isfinite(each).all()) for each in tensors.values() if each.is_floating_point()):
                raise ValueError("it holds values that are no numbers")
            scores = [(int(step), float(s), float(f1)) for step, s, f1 in document["scores"]]
            step, trained_s = document["step"], float(document["trained_s"])
            if type(step) is not int or not 0 < step < MOST_STEPS or not 0 <= trained_s < math.inf:
                raise ValueError("its numbers make no sense")
            state = {name: each for name, each in tensors.items() if not name.startswith(_SPARED)}
            return Saved(step, trained_s, scores, state, _unpacked(tensors))
        except (
            SafetensorError, OSError, ValueError, KeyError, TypeError, AttributeError, RuntimeError, OverflowError,
        ) as error:  # fmt: skip
            self._reporter.warning(
                f"The checkpoint {file} cannot be used ({error}); learning begins anew from what is drawn."
            )
            return None

    @property
    def is_checkpoint_due(self) -> bool:
        """Whether the last checkpoint is old enough, and complete."""
        is_busy = self._writing is not None and not self._writing.done()
        return time.monotonic() - self._written_s >= CHECKPOINT_S and not is_busy

    def write_checkpoint(self, saved: Saved) -> None:
        """Write a checkpoint in a background thread."""
        self._warn_of_failure()
        document = {
            "format": FORMAT,
            "base_sha256": self._base_sha256,
            "step": saved.step,
            "trained_s": saved.trained_s,
            "scores": saved.scores,
        }
        tensors = {**saved.state, **_packed(saved.spared)}
        self._writing = self._thread.submit(_save, self.path / CHECKPOINT, tensors, json.dumps(document))
        self._written_s = time.monotonic()

    def _warn_of_failure(self) -> None:
        error = self._writing.exception() if self._writing is not None else None
        self._writing: Optional[Future[None]] = None
        if error is not None:
            self._reporter.warning(f"No checkpoint could be written to {self.path} ({error}); the session goes on.")


def _save(path: Path, state: dict[str, torch.Tensor], document: str) -> None:
    try:
        with replaced(path) as temporary:
            save_file(state, temporary, metadata={_HEADER_KEY: document})
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


def _read_text(path: Path) -> str:
    if not path.is_file() or path.stat().st_size > LARGEST_JSON_BYTES:
        raise ValueError(f"{path.name} is no file of a session")
    return path.read_text(encoding="utf-8")


def _write_text(path: Path, text: str) -> None:
    with replaced(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
