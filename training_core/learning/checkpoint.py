"""Checkpoints: the state of a training in a safetensors file next to the model file, to resume it later.

It holds the tensors that a step changes, the best weights so far, and the history as JSON in its header. It is
untrusted input: nothing in it is executed.

Scope: the file, and when to write it. `write_state`, `read_state` and `BackgroundWriter` serve any checkpoint.
"""

from __future__ import annotations

import copy
import hashlib
import json
import math
import os
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Optional

import torch
from safetensors import SafetensorError
from safetensors.torch import save_file

from ..errors import Cancelled, JobError, WorkerError, shown
from ..events import Reporter
from ..geodata.sources import source_name
from ..jobs import RecipeOptions
from ..jobs.json_fields import parse
from ..labels.training_images import TrainingImages
from ..models.engines import BF16, FP32, NativeEngine, ipex_is_loaded, training_engine, why_not_ipex
from ..models.model_file import read_safetensors
from ..segmentation.pixel_metrics import Confusion
from ..system.outputs import remove_leftovers, replaced
from .history import History, Trained, best_at_threshold, history_from_document
from .trainer import Trainer, under
from .training_loop import Batches, Training

FORMAT = "roadseg-checkpoint-1"
_HEADER_KEY = "roadseg"
# Shortest time between two checkpoints of a training.
INTERVAL_S = 60.0
_BEST, _STATE = "best.", "state."
# That of a training of many days, with its history, has less than a megabyte.
_MAX_HEADER_BYTES = 20_000_000
# What reading a damaged or forged file raises.
DAMAGE = (
    SafetensorError, OSError, ValueError, KeyError, TypeError, AttributeError, RuntimeError, OverflowError,
)  # fmt: skip
# Options that may differ between a run and the one that resumes it.
_FREE = ("minutes", "steps", "threads")


@dataclass(frozen=True)
class Checkpoint:
    """The state of a training, `state` as the trainer's `state_dict`; `best` is None before the first validation.

    A run that resumes must have the same `identity`, see `identify`. `has_extension`: the Intel extension was loaded,
    which changes the rounding even if another engine trains.
    """

    identity: dict[str, Any]
    engine: NativeEngine
    has_extension: bool
    history: History
    state: dict[str, torch.Tensor]
    best: Optional[Trained]


def checkpoint_path(model: str) -> Path:
    """Return the path of the checkpoint for a model file."""
    return Path(f"{model}.checkpoint")


def identify(recipe: RecipeOptions, images: TrainingImages) -> dict[str, Any]:
    """Return the identity of a training: its recipe, and a digest of images and labels, whatever their folders.

    Of images that are not in memory, names and grids count.
    """
    names = [field.name for field in RecipeOptions.option_fields() if field.name not in _FREE]
    digest = hashlib.sha256()
    for part in images.others:
        digest.update(repr((source_name(part.path), part.grid)).encode())
    for image in images.in_memory:
        digest.update(repr((image.values.shape, image.bands)).encode())
        for array in (image.training, image.validation, image.classes, image.values[:, ::8, ::8]):
            if array is not None:
                digest.update(array.tobytes())
    return {**{name: getattr(recipe, name) for name in names}, "images": digest.hexdigest()}


def write_state(path: Path, tensors: dict[str, torch.Tensor], document: dict[str, Any]) -> None:
    """Write tensors, (...) of any dtype, with a document in the header; the former file stays until all is written.

    Raises OSError if the disk is full, or the folder cannot be written to.
    """
    try:
        with replaced(path) as temporary:  # next to which safetensors makes another, which a killed run leaves
            save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, temporary,
                      metadata={_HEADER_KEY: json.dumps(document)})  # fmt: skip
    except SafetensorError as error:  # its name for errors of the system
        raise OSError(str(error)) from error


def read_state(path: Path, file_format: str, max_bytes: float = math.inf) -> tuple[dict[str, torch.Tensor], Any]:
    """Return the tensors, (...) of any dtype, and the document in an untrusted file of a format.

    Raises one of `DAMAGE` if it is missing, damaged, too large, of another format, or holds NaN.
    """
    if not path.is_file() or path.stat().st_size > max_bytes:  # reading a pipe might never end
        limit = f" of at most {int(max_bytes) >> 20} MiB" if max_bytes < math.inf else ""
        raise ValueError(f"it is not a file{limit}")
    with path.open("rb") as file:
        if int.from_bytes(file.read(8), "little") > _MAX_HEADER_BYTES:
            raise ValueError("the header is too long")
    tensors, metadata = read_safetensors(path)
    document = parse(metadata[_HEADER_KEY])
    if document["format"] != file_format:
        raise ValueError("it is of an unknown format")
    for name, tensor in tensors.items():
        if tensor.is_floating_point() and not bool(torch.isfinite(tensor).all()):
            raise ValueError(f"it holds values that are not numbers, in {shown(name)}")
    return tensors, document


class BackgroundWriter:
    """Writes the versions of a file in a background thread, one after the other."""

    def __init__(self) -> None:
        self._thread, self._written_s = ThreadPoolExecutor(1), time.monotonic()
        self._writing: Optional[Future[None]] = None

    def is_due(self, interval_s: float) -> bool:
        """Whether the last version is complete, and an interval old."""
        is_busy = self._writing is not None and not self._writing.done()
        return time.monotonic() - self._written_s >= interval_s and not is_busy

    def write(self, function: Callable[..., None], *arguments: Any) -> None:
        """Have a function write the next version."""
        self._writing, self._written_s = self._thread.submit(function, *arguments), time.monotonic()

    def take_error(self, wait: bool = True) -> Optional[BaseException]:
        """Return once, and after it is complete, why the last version could not be written; None if it could."""
        if self._writing is None or not (wait or self._writing.done()):
            return None
        error, self._writing = self._writing.exception(), None
        return error

    def close(self) -> None:
        """Wait until the last version is complete; no other can be written."""
        self._thread.shutdown()


def write_checkpoint(path: Path, checkpoint: Checkpoint) -> None:
    """Write a checkpoint; see `write_state`."""
    best = checkpoint.best
    document = {
        "format": FORMAT,
        "identity": checkpoint.identity,
        "engine": asdict(checkpoint.engine),
        "has_extension": checkpoint.has_extension,
        "history": asdict(checkpoint.history),
        "best": best and best.confusion.counts(),
    }
    tensors = {f"{_STATE}{name}": tensor for name, tensor in checkpoint.state.items()}
    tensors |= {f"{_BEST}{name}": tensor for name, tensor in (best.weights if best else {}).items()}
    write_state(path, tensors, document)


def read_checkpoint(path: Path) -> Checkpoint:
    """Return the checkpoint in a file.

    Raises JobError if the file is missing, damaged, or holds NaN.
    """
    if not path.exists():
        raise JobError(f"There is no checkpoint {path} to resume from.", "Run it without resume.")
    try:
        tensors, document = read_state(path, FORMAT)
        engine = training_engine(**document["engine"])
        if engine.precision not in (BF16, FP32) or type(engine.reason) is not str:
            raise ValueError("unknown engine")
        history, counts = history_from_document(document["history"]), document["best"]
        if type(document["has_extension"]) is not bool or bool(counts) != bool(history.validations):
            raise ValueError("parts that do not belong together")
        return Checkpoint(
            identity=dict(document["identity"]),
            engine=engine,
            has_extension=document["has_extension"],
            history=history,
            state=under(_STATE, tensors),
            best=best_at_threshold(under(_BEST, tensors), Confusion.from_counts(counts)) if counts else None,
        )
    except DAMAGE as error:
        raise JobError(f"The checkpoint {path} is damaged.", "Run it without resume.") from error


def read_former(path: Path, resume: bool, identity: dict[str, Any], reporter: Reporter) -> Optional[Checkpoint]:
    """Return the checkpoint in a file if it is to be resumed from; else warn where there is one.

    Raises JobError if it is missing, damaged, or of another training.
    """
    if resume:
        former = read_checkpoint(path)
        check_identity(former, identity, path)
        obstacle = why_not_ipex() if former.has_extension else None
        if obstacle:
            reporter.warning(f"The result will differ slightly from that of an uninterrupted run: {obstacle}.")
        return former
    if os.path.exists(path):  # no error either if its name is too long
        reporter.warning(f"The checkpoint {path} of an interrupted run is replaced, since resume is off.")
    return None


def check_identity(checkpoint: Checkpoint, identity: dict[str, Any], path: Path) -> None:
    """Check that a checkpoint has the `identity` of the run that resumes.

    Raises JobError if it is of another training; the message names the differences.
    """
    defaults = {field.name: field.default for field in RecipeOptions.option_fields()}
    # A checkpoint of an earlier version lacks the options that are new since.
    former = {name: defaults.get(name) for name in identity} | checkpoint.identity
    different = sorted(name for name in former if former[name] != identity.get(name))
    if different:
        what = ", ".join("the images or labels" if name == "images" else shown(name)[1:-1] for name in different[:9])
        raise JobError(
            f"The checkpoint {path} belongs to another job: {what} differ.",
            "Run that job again, or run this one without resume.",
        )


def take_over(trainer: Trainer, former: Checkpoint, path: Path) -> None:
    """Resume a trainer from a checkpoint.

    Raises JobError if the checkpoint is of another model or optimizer.
    """
    try:
        trainer.load_state_dict(former.state)
        if former.best is not None:
            trainer.require_fitting(former.best.weights)
    except (KeyError, ValueError, RuntimeError) as error:
        raise JobError(f"The checkpoint {path} does not fit the model.", "Run it without resume.") from error


class CheckpointWriter:
    """Writes a training's checkpoints at intervals, in a background thread.

    On entry, this context manager removes leftovers of killed runs; on exit, it waits until the last one is written.
    """

    def __init__(self, path: Path, identity: dict[str, Any], engine: NativeEngine, reporter: Reporter) -> None:
        self._path, self._identity, self._engine, self._reporter = path, identity, engine, reporter
        self._writer = BackgroundWriter()

    def __enter__(self) -> "CheckpointWriter":
        remove_leftovers(self._path.parent)
        return self

    def __exit__(self, *_: object) -> None:
        self._writer.close()
        self._warn_of_failure()

    def run(self, training: Training, batches: Batches, keep_best: bool) -> bool:
        """Train to the end; return whether the user stopped it before, so that the best model so far is kept.

        Raises Cancelled if the user stopped it before its first step, or only the checkpoint is to be kept. Raises
        WorkerError if another process that takes part has ended. Where this one has the whole model, it has written a
        checkpoint.
        """
        try:
            training.run(batches, self._keep)
            return False
        except WorkerError:
            if training.history.step and training.trainer.is_whole:
                self._write(training)
            raise
        except Cancelled:
            if not training.history.step:
                raise
            self._write(training)
            if not keep_best:
                raise Cancelled(
                    "Stopped. No model was written. The same job with resume continues from here."
                ) from None
        if training.best_so_far is None:
            training.validate()
        training.history.notes.append(f"Stopped at step {training.history.step}. This is the best model so far.")
        return True

    def _keep(self, training: Training) -> None:
        if self._writer.is_due(INTERVAL_S):
            self._write(training)

    def _write(self, training: Training) -> None:
        self._warn_of_failure()
        history = copy.deepcopy(training.history)  # which changes while the thread writes
        checkpoint = Checkpoint(
            self._identity, self._engine, ipex_is_loaded(), history, training.trainer.state_dict(), training.best_so_far
        )
        self._writer.write(write_checkpoint, self._path, checkpoint)
        training.trainer.stopwatch.record("checkpoint")

    def _warn_of_failure(self) -> None:
        if error := self._writer.take_error():
            self._reporter.warning(f"No checkpoint could be written to {self._path} ({error}); the training continues.")
