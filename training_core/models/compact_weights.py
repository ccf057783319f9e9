"""Compact weights: convolutions as 8-bit integers with a scale for each output channel, a quarter of the size.

Knows tensors by their names; knows nothing of files. What is expanded is untrusted input: shapes and numbers are
checked first.
"""

from __future__ import annotations

import torch

from ..errors import ModelFileError

STORAGE = "int8-per-output-channel"
_SCALE = ".scale"
_LARGEST = 127


def compact(weights: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Return weights with each convolution's as integers from -127 to 127, and its scales beside it.

    The scale of an output channel is its largest weight's size, divided by 127; so no weight is farther than half a
    scale from what it was. All other tensors stay as they are.
    """
    stored = {}
    for name, tensor in weights.items():
        if not _is_convolution(tensor):
            stored[name] = tensor
            continue
        scale = tensor.detach().float().abs().amax(dim=(1, 2, 3)) / _LARGEST
        steps = tensor.detach().float() / torch.where(scale > 0, scale, 1.0)[:, None, None, None]
        stored[name] = steps.round().clamp(-_LARGEST, _LARGEST).to(torch.int8)
        stored[name + _SCALE] = scale
    return stored


def expand(stored: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Return the weights, in FP32, that `compact` made smaller.

    Raises
    ------
    ModelFileError
        Integers have no scales, or scales that do not fit or make no sense; or there are scales of nothing.
    """
    scales = {name for name in stored if name.endswith(_SCALE)}
    packed = {name for name, tensor in stored.items() if tensor.dtype == torch.int8}
    if scales != {name + _SCALE for name in packed}:
        raise ModelFileError("The model file's weights and their scales do not belong together.", "Copy it anew.")
    return {
        name: _expanded(tensor, stored[name + _SCALE]) if name in packed else tensor
        for name, tensor in stored.items()
        if name not in scales
    }


def _is_convolution(tensor: torch.Tensor) -> bool:
    return tensor.is_floating_point() and tensor.dim() == 4


def _expanded(steps: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    fits = steps.dim() == 4 and scale.dtype == torch.float32 and scale.shape == steps.shape[:1]
    if not (fits and bool(torch.isfinite(scale).all()) and bool((scale >= 0).all())):
        raise ModelFileError("The scales of the model file's weights make no sense.", "Copy it anew.")
    return steps.float() * scale[:, None, None, None]
