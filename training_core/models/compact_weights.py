"""Compact weights: convolutions as 8-bit integers with a scale for each output channel, a quarter of the size.

Scope: weights by name. Independent of files. Compact weights are untrusted input: shapes and scales are checked.
"""

from __future__ import annotations

import torch

from ..errors import ModelFileError

STORAGE = "int8-per-output-channel"
_SCALE = ".scale"
_LARGEST = 127


def compact(weights: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Quantize the weights of convolutions symmetrically, by output channel; all other tensors stay.

    The scale of an output channel is its largest absolute weight divided by 127, so the rounding error is at most half
    a scale.

    Parameters
    ----------
    weights : dict of Tensor of any shape, float32
        By name; convolutions are (out, in, height, width).

    Returns
    -------
    dict of Tensor
        Convolutions as int8 from -127 to 127, and their scales, (out,), float32, under the name with `.scale`.
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


def expand(stored: dict[str, torch.Tensor], path: str = "the model file") -> dict[str, torch.Tensor]:
    """Return the weights in FP32 from what `compact` returned.

    Parameters
    ----------
    stored : dict of Tensor, int8 (out, in, height, width) with scales float32 (out,), or any others
        By name.
    path : str
        The model's file, for messages.

    Returns
    -------
    dict of Tensor of any shape (...), float32 or int64
        By name.

    Raises
    ------
    ModelFileError
        Scales are missing, left over, of another shape or dtype, negative or not finite.
    """
    scales = {name for name in stored if name.endswith(_SCALE)}
    packed = {name for name, tensor in stored.items() if tensor.dtype == torch.int8}
    if scales != {name + _SCALE for name in packed}:
        raise ModelFileError(f"The weights in {path} and their scales do not match.", "Copy it again.")
    return {
        name: _expanded(tensor, stored[name + _SCALE], path) if name in packed else tensor
        for name, tensor in stored.items()
        if name not in scales
    }


def _is_convolution(tensor: torch.Tensor) -> bool:
    return tensor.is_floating_point() and tensor.dim() == 4


def _expanded(steps: torch.Tensor, scale: torch.Tensor, path: str) -> torch.Tensor:
    fits = steps.dim() == 4 and scale.dtype == torch.float32 and scale.shape == steps.shape[:1]
    if not (fits and bool(torch.isfinite(scale).all()) and bool((scale >= 0).all())):
        raise ModelFileError(f"The weights in {path} have invalid scales.", "Copy it again.")
    return steps.float() * scale[:, None, None, None]
