"""Costs of the parts of the U-Net: time and memory of each, measured on a batch.

Scope: parts on one process. Independent of stages and schedules.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks

from .stages import Part, Stage

# The first repeat prepares kernels and memory; of the others the best counts, which other programs disturb least.
REPEATS = 4


@dataclass(frozen=True)
class PartCost:
    """Time and memory of a part of the U-Net on a batch.

    Parameters
    ----------
    forward_s, backward_s : float
        Time of its passes.
    kept_bytes : int
        Tensors that it keeps for its backward pass, without its inputs.
    received_bytes : int
        Its inputs if there is a cut before it.
    """

    forward_s: float
    backward_s: float
    weight_bytes: int
    kept_bytes: int
    received_bytes: int


def measure_parts(
    model: nn.Module, parts: Sequence[Part], dtype: torch.dtype, shape: tuple[int, ...]
) -> list[PartCost]:
    """Measure time and memory of parts on a batch.

    Parameters
    ----------
    model : Module
        A U-Net, as an engine has prepared it for training; its running statistics change.
    dtype : dtype
        In which the engine computes.
    shape : tuple of int
        Of a batch of images: batch, bands, height, width.
    """
    costs, tensors = [], (torch.randn(shape),)
    for part in parts:
        stage, passes_s = Stage(model, [part], dtype), []
        inputs = tuple(each.detach().requires_grad_(each.requires_grad) for each in tensors)
        for _ in range(REPEATS):
            tensors, *seconds = _pass(stage, inputs)
            passes_s.append(seconds)
        forward_s, backward_s = map(min, zip(*passes_s[1:]))
        weight_bytes = sum(tensor.nbytes for tensor in stage.state_dict().values())
        received_bytes = sum(tensor.nbytes for tensor in inputs)
        costs.append(PartCost(forward_s, backward_s, weight_bytes, _kept_bytes(stage, inputs), received_bytes))
    return costs


def _pass(stage: Stage, inputs: tuple[Tensor, ...]) -> tuple[tuple[Tensor, ...], float, float]:
    """Return the outputs of a stage, and the seconds of its forward and backward pass."""
    began_s = time.perf_counter()
    outputs = stage(*inputs)
    forward_s = time.perf_counter() - began_s
    features = outputs[0]  # skip connections pass through
    if not features.requires_grad:
        return outputs, forward_s, 0.0
    gradient = torch.ones_like(features)
    began_s = time.perf_counter()
    features.backward(gradient)
    return outputs, forward_s, time.perf_counter() - began_s


def _kept_bytes(stage: Stage, inputs: tuple[Tensor, ...]) -> int:
    """Return the size of the tensors that a stage keeps of a batch: its output too, but no weights and inputs."""
    sizes = {}

    def note(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        sizes[storage.data_ptr()] = storage.nbytes()
        return tensor

    with saved_tensors_hooks(note, lambda tensor: tensor):
        outputs = stage(*inputs)
    note(outputs[0])
    others = {tensor.untyped_storage().data_ptr() for tensor in (*inputs, *stage.parameters(), *stage.buffers())}
    return sum(size for pointer, size in sizes.items() if pointer not in others)
