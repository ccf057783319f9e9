"""The checkpoint of a session, in a safetensors file, which is untrusted input.

Scope: tensors, their names, and the header. Independent of when it is written. Tensors that equal those of the base
model, such as a frozen encoder, are left out.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import save_file
from torch import Tensor

from ..jobs.json_fields import Limits, parse, read
from ..models.model_file import read_safetensors
from ..system.outputs import replaced
from .drawn_labels import BLOCK_PX, Block

FORMAT = "roadseg-live-1"
MAX_STEPS = 10**9
# Limits of a checkpoint: copies of the weights (themselves, their average, two moments), and bytes of masks.
_STATE_COPIES, _SPARED_BYTES = 4, 256 << 20
_HEADER_KEY, _SPARED = "roadseg", "spared."
# Prefixes of the weights in a trainer's state: of the network that learns, and of its average.
_PREFIXES = ("network.", "average.")


@dataclass(frozen=True)
class Saved:
    """The state of a session, with the step, seconds and F1 of each validation.

    `state`, tensors (...) of any dtype, is as from `Learner.state_dict`, or empty if nothing was learned. For `spared`,
    (BLOCK_PX, BLOCK_PX), bool, see `DrawnLabels`.
    """

    step: int
    trained_s: float = 0.0
    scores: list[tuple[int, float, float]] = field(default_factory=list)
    state: dict[str, Tensor] = field(default_factory=dict)
    spared: dict[Block, np.ndarray] = field(default_factory=dict)


_Count = Annotated[int, Limits(0, MAX_STEPS)]
_Seconds = Annotated[float, Limits(0)]


@dataclass(frozen=True)
class _Header:
    """The header; `same` names the tensors that equal those of the base model, and are not in the file."""

    format: str
    base_sha256: str
    step: _Count
    trained_s: _Seconds
    scores: list[tuple[_Count, _Seconds, Annotated[float, Limits(0, 1)]]]
    same: list[str]


def write_checkpoint(path: Path, saved: Saved, weights: Mapping[str, Tensor], base_sha256: str) -> None:
    """Write a checkpoint with the tensors, (...) of any dtype, that differ from the base model's.

    Raises
    ------
    OSError
        The disk is full, or the folder is gone.
    """
    same = same_as_base(saved.state, weights)
    tensors = {name: tensor for name, tensor in saved.state.items() if name not in set(same)}
    header = _Header(FORMAT, base_sha256, saved.step, saved.trained_s, saved.scores, same)
    try:
        with replaced(path) as temporary:
            metadata = {_HEADER_KEY: json.dumps(asdict(header))}
            save_file({**tensors, **_packed(saved.spared)}, temporary, metadata=metadata)
    except SafetensorError as error:  # safetensors wraps errors of the system
        raise OSError(str(error)) from error


def read_checkpoint(path: Path, weights: Mapping[str, Tensor], base_sha256: str) -> Saved:
    """Return a checkpoint, completed with tensors, (...) of any dtype, of the base model.

    Raises
    ------
    OSError, SafetensorError, ValueError, KeyError, RuntimeError
        The file cannot be read, is damaged, or is of another base model.
    """
    max_bytes = _SPARED_BYTES + _STATE_COPIES * sum(tensor.nbytes for tensor in weights.values())
    if not path.is_file() or path.stat().st_size > max_bytes:
        raise ValueError(f"it is not a file of at most {max_bytes >> 20} MiB")
    tensors, metadata = read_safetensors(path)
    header = read(_Header, parse(metadata[_HEADER_KEY]), "its header")
    if header.format != FORMAT or header.base_sha256 != base_sha256:
        raise ValueError("it is of another base model")
    if not all(bool(torch.isfinite(tensor).all()) for tensor in tensors.values() if tensor.is_floating_point()):
        raise ValueError("it holds values that are not finite")
    changed = {name: tensor for name, tensor in tensors.items() if not name.startswith(_SPARED)}
    state = completed(changed, header.same, weights)
    return Saved(header.step, header.trained_s, header.scores, state, _unpacked(tensors))


def _packed(spared: Mapping[Block, np.ndarray]) -> dict[str, Tensor]:
    """Return masks of blocks as bits; the names hold row and column."""
    return {
        f"{_SPARED}{row}.{column}": torch.from_numpy(np.packbits(mask, axis=1))
        for (row, column), mask in spared.items()
    }


def _unpacked(tensors: Mapping[str, Tensor]) -> dict[Block, np.ndarray]:
    """Reverse `_packed`; raise ValueError where a mask is malformed."""
    spared = {}
    for name, bits in tensors.items():
        if name.startswith(_SPARED):
            row, column = map(int, name[len(_SPARED) :].split("."))
            if bits.dtype != torch.uint8 or bits.shape != (BLOCK_PX, BLOCK_PX // 8):
                raise ValueError("a mask has another shape")
            spared[row, column] = np.unpackbits(bits.numpy(), axis=1).astype(bool)
    return spared


def same_as_base(state: Mapping[str, Tensor], weights: Mapping[str, Tensor]) -> list[str]:
    """Return the names of tensors, (...) of any dtype, in a state that equal the base model's weights."""
    return [
        name
        for name, tensor in state.items()
        if (base := _of_base(name, weights)) is not None and tensor.dtype == base.dtype and torch.equal(tensor, base)
    ]


def completed(state: Mapping[str, Tensor], same: Collection[str], weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Add the base model's tensors named in `same` to a state, all of any shape (...) and any dtype.

    Raises
    ------
    ValueError
        A name is unknown in the base model, or the state has it as well.
    """
    base_tensors = {name: tensor for name in same if (tensor := _of_base(name, weights)) is not None}
    if base_tensors.keys() != set(same) or base_tensors.keys() & state.keys():
        raise ValueError("it names tensors that are not the base model's")
    return {**state, **base_tensors}


def _of_base(name: str, weights: Mapping[str, Tensor]) -> Tensor | None:
    prefix = next((item for item in _PREFIXES if name.startswith(item)), None)
    return None if prefix is None else weights.get(name[len(prefix) :])
