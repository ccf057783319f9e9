"""The checkpoint of a session, in a safetensors file, which is untrusted input.

Scope: tensors, their names, and the header. Independent of when it is written. Weights that equal those of the base
model, as in a frozen encoder, are left out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import save_file
from torch import Tensor

from ..jobs.json_fields import parse
from ..learning.history import History, history_from_document
from ..models.model_file import read_safetensors
from ..system.outputs import replaced
from .drawn_labels import BLOCK_PX, BlockIndex

FORMAT = "roadseg-live-1"
# Limits of a checkpoint: copies of the weights (themselves, their average, two moments), and bytes of masks.
_STATE_COPIES, _SPARED_BYTES = 4, 256 << 20
_HEADER_KEY, _SPARED = "roadseg", "spared."
# Prefix of the weights of the network that learns, in a trainer's state.
_NETWORK = "network."


@dataclass(frozen=True)
class Saved:
    """The state of a session.

    `state`, tensors (...) of any dtype, is as from `Learner.state_dict`, or empty if nothing was learned. For `spared`,
    (BLOCK_PX, BLOCK_PX), bool, see `DrawnLabels`.
    """

    history: History
    state: dict[str, Tensor] = field(default_factory=dict)
    spared: dict[BlockIndex, np.ndarray] = field(default_factory=dict)


def write_checkpoint(path: Path, saved: Saved, weights: Mapping[str, Tensor], base_sha256: str) -> None:
    """Write a checkpoint with the tensors, (...) of any dtype, that differ from the base model's weights.

    Raises OSError if the disk is full, or the folder is gone.
    """
    base = _of_network(weights)
    tensors = {name: tensor for name, tensor in saved.state.items() if not _is_same(tensor, base.get(name))}
    header = {"format": FORMAT, "base_sha256": base_sha256, "history": asdict(saved.history)}
    try:
        with replaced(path) as temporary:
            save_file({**tensors, **_packed(saved.spared)}, temporary, metadata={_HEADER_KEY: json.dumps(header)})
    except SafetensorError as error:  # safetensors wraps errors of the system
        raise OSError(str(error)) from error


def read_checkpoint(path: Path, weights: Mapping[str, Tensor], base_sha256: str) -> Saved:
    """Return a checkpoint, completed with the weights, (...) of any dtype, of the base model.

    Raises OSError, SafetensorError, ValueError, KeyError, TypeError, RuntimeError if the file cannot be read, is
    damaged, or is of another base model.
    """
    max_bytes = _SPARED_BYTES + _STATE_COPIES * sum(tensor.nbytes for tensor in weights.values())
    if not path.is_file() or path.stat().st_size > max_bytes:
        raise ValueError(f"it is not a file of at most {max_bytes >> 20} MiB")
    tensors, metadata = read_safetensors(path)
    header = parse(metadata[_HEADER_KEY])
    if header["format"] != FORMAT or header["base_sha256"] != base_sha256:
        raise ValueError("it is of another base model")
    if not all(bool(torch.isfinite(tensor).all()) for tensor in tensors.values() if tensor.is_floating_point()):
        raise ValueError("it holds values that are not finite")
    learned = {name: tensor for name, tensor in tensors.items() if not name.startswith(_SPARED)}
    state = {**_of_network(weights), **learned} if learned else {}
    return Saved(history_from_document(header["history"]), state, _unpacked(tensors))


def _of_network(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {f"{_NETWORK}{name}": tensor for name, tensor in weights.items()}


def _is_same(tensor: Tensor, base: Tensor | None) -> bool:
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
        if name.startswith(_SPARED):
            row, column = map(int, name[len(_SPARED) :].split("."))
            if bits.dtype != torch.uint8 or bits.shape != (BLOCK_PX, BLOCK_PX // 8):
                raise ValueError("a mask has another shape")
            spared[row, column] = np.unpackbits(bits.numpy(), axis=1).astype(bool)
    return spared
