"""Checkpoints that no training wrote: documents, tensors and files spoiled one by one."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import save

from tests.hostile.cases import EITHER, REFUSED, Case, Place
from tests.hostile.spoiling import NO_FILES, VALUES, Keys, Write, cut, fuzzed, name_of, with_value
from training_core.errors import Cancelled
from training_core.events import Metric, Reporter
from training_core.jobs import FineTune, from_options
from training_core.learning.checkpoint import checkpoint_path
from training_core.pipelines import finetune

Tensors, Document = dict[str, torch.Tensor], dict[str, Any]


@lru_cache
def _good(options: str, folder: str) -> tuple[Tensors, Document]:
    """Return tensors and document of the checkpoint of a job, given as JSON, that is stopped after its first step."""
    events: list[object] = []
    path = Path(folder, "stopped.safetensors")
    job = from_options(FineTune, {**json.loads(options), "model": str(path), "report": ""})
    try:
        finetune.run(job, Reporter(events.append, lambda: any(isinstance(event, Metric) for event in events)))
    except Cancelled:
        with safe_open(checkpoint_path(str(path)), "pt") as file:
            document = json.loads(file.metadata()["roadseg"])
            return {name: file.get_tensor(name) for name in file.keys()}, document  # noqa: SIM118  # not a dict
    finally:
        checkpoint_path(str(path)).unlink(missing_ok=True)
    raise AssertionError("the job was not stopped")


def _resumed(write: Write) -> Callable[[Place], dict[str, Any]]:
    """Return a case's function: it writes a checkpoint next to the path of the model; the job is to resume from it."""

    def spoil(place: Place) -> dict[str, Any]:
        options = place.options("finetune")
        fixed = {name: value for name, value in options.items() if name not in ("model", "report")}
        tensors, document = _good(json.dumps(fixed, sort_keys=True), str(place.bad.parent.parent))
        write(checkpoint_path(options["model"]), dict(tensors), json.loads(json.dumps(document)))
        return {"resume": True}

    return spoil


def _saved(path: Path, tensors: Tensors, text: str) -> None:
    path.write_bytes(save({name: tensor.contiguous() for name, tensor in tensors.items()}, metadata={"roadseg": text}))


def _of_tensors(change: Callable[[Tensors], object]) -> Write:
    def write(path: Path, tensors: Tensors, document: Document) -> None:
        change(tensors)
        _saved(path, tensors, json.dumps(document))

    return write


def _of_value(keys: Keys, value: Any) -> Write:
    """Return a function that writes a checkpoint with another document; its tensors are looked at after that."""
    return lambda path, tensors, document: _saved(
        path, {"x": torch.zeros(1)}, json.dumps(with_value(document, keys, value))
    )


def _of_bytes(change: Callable[[bytes], bytes]) -> Write:
    def write(path: Path, tensors: Tensors, document: Document) -> None:
        _saved(path, tensors, json.dumps(document))
        path.write_bytes(change(path.read_bytes()))

    return write


def _fuzzed_header(number: int) -> Write:
    return _of_bytes(lambda content: fuzzed(content, number, 8 + int.from_bytes(content[:8], "little")))


def _filled(name: str, value: float) -> Callable[[Tensors], object]:
    return lambda tensors: tensors.update({name: torch.full_like(tensors[name], value)})


def _replaced(name: str, change: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[Tensors], object]:
    return lambda tensors: tensors.update({name: change(tensors[name])})


_NAMES = (
    "state.network.encoder.conv1.weight",
    "state.optimizer.segmentation_head.0.bias.exp_avg",
    "state.optimizer.segmentation_head.0.bias.exp_avg_sq",
    "state.optimizer.segmentation_head.0.bias.step",
)
MEMBERS = (
    ("format",), ("identity",), ("engine",), ("engine", "name"), ("engine", "precision"), ("has_extension",),
    ("history",), ("history", "step"), ("history", "elapsed_s"), ("history", "steps"), ("history", "validations"),
    ("history", "timings_s"),
    ("history", "notes"), ("history", "stride"), ("history", "validated_parts"), ("history", "fitted"), ("best",),
)  # fmt: skip
SPOILT = {
    **{f"{value} in {name}": _of_tensors(_filled(name, value))
       for name in _NAMES for value in (float("nan"), float("-inf"))},
    **{f"{name} {what}": _of_tensors(_replaced(name, change)) for name in _NAMES for what, change in {
        "with an axis more": lambda tensor: tensor[None], "of a size 0": lambda tensor: tensor.reshape(-1)[:0],
        "of integers": lambda tensor: tensor.to(torch.int64), "of flags": lambda tensor: tensor > 0,
    }.items()},
    **{f"{name} missing": _of_tensors(lambda tensors, name=name: tensors.pop(name)) for name in _NAMES},
    "a negative step": _of_tensors(_filled("state.optimizer.segmentation_head.0.bias.step", -1.0)),
    "a negative square": _of_tensors(_filled("state.optimizer.segmentation_head.0.bias.exp_avg_sq", -1.0)),
    "no tensors": _of_tensors(dict.clear),
    "a tensor more": _of_tensors(lambda tensors: tensors.update({"state.network.extra": torch.zeros(3)})),
    "a moment of no parameter": _of_tensors(
        lambda tensors: tensors.update({"state.optimizer.other.exp_avg": torch.zeros(3)})),
    **{f"{name_of(keys)} is {what}": _of_value(keys, VALUES[what])
       for keys in MEMBERS for what in ("null", "true", "negative", "huge", "text", "list", "object of a list")},
    **{f"cut to {share:.0%}": _of_bytes(partial(cut, share=share)) for share in (0.0001, 0.5, 0.9999)},
    "a header of 2^63": _of_bytes(lambda content: struct.pack("<Q", 2**63) + content[8:]),
    "a header of 90 MB": _of_bytes(lambda content: struct.pack("<Q", 90_000_000) + b"{" + b" " * 90_000_000),
    **NO_FILES,
}  # fmt: skip

CASES = [
    *(
        Case(f"checkpoint: {what}", "finetune", _resumed(write), REFUSED, ("model.safetensors.checkpoint",), limit_s=40)
        for what, write in SPOILT.items()
    ),
    *(
        Case(f"checkpoint: fuzzed {number}", "finetune", _resumed(_fuzzed_header(number)), EITHER, limit_s=60)
        for number in range(20)
    ),
]
