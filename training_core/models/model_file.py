"""The model file: a `.safetensors` file of weights, with the model card in its header.

Scope: writing the file, and checks of its parts. Independent of training; `loading` reads models of any kind.
"""

from __future__ import annotations

import hashlib
import json
import stat
from pathlib import Path
from typing import Any, Optional

import torch
from safetensors.torch import load, save

from ..errors import ModelFileError, shown
from ..jobs.json_fields import parse
from .model_card import ModelCard

# A U-Net on the largest encoder has 250 MB; the header of some hundred tensors takes some 50 kB.
MAX_BYTES, MAX_HEADER_BYTES = 1 << 30, 10_000_000
# No training that went well has weights or statistics like that; larger ones overflow in FP32.
MAX_WEIGHT = 1e15
HEADER_KEY, STORAGE_KEY = "roadseg", "roadseg:storage"
_VARIANCE = ".running_var"
# Compact weights: each output channel of a convolution as integers up to QUANT_MAX, times a scale of its own.
STORAGE, _SCALE, QUANT_MAX = "int8-per-output-channel", ".scale", 127
# The last layer, which is adapted to other classes.
_LAST, _LAST_BIAS = "segmentation_head.0.weight", "segmentation_head.0.bias"


def save_model(path: Path, weights: dict[str, torch.Tensor], card: ModelCard) -> None:
    """Write weights, (...), float32 or int64, by name, to a file with the card in its header."""
    tensors = {
        name: (tensor.float() if tensor.is_floating_point() else tensor).detach().contiguous()
        for name, tensor in weights.items()
    }
    _write(path, tensors, card.to_document())


def save_compact_model(
    path: Path, weights: dict[str, torch.Tensor], card: ModelCard, quant_max: int = QUANT_MAX
) -> None:
    """Write weights, (...), float32 or int64, quantized to a quarter of the size; see `save_model` and `compact`."""
    tensors = {name: tensor.contiguous() for name, tensor in compact(weights, quant_max).items()}
    _write(path, tensors, {**card.to_document(), STORAGE_KEY: STORAGE})


def _write(path: Path, tensors: dict[str, torch.Tensor], document: dict[str, Any]) -> None:
    path.write_bytes(save(tensors, metadata={HEADER_KEY: json.dumps(document)}))


def mismatched(path: str, what: str) -> ModelFileError:
    """Return the error that weights are not those of their architecture."""
    return ModelFileError(f"The weights in {path} do not match their architecture: {what}.", "Copy it again.")


def read_safetensors(path: Path) -> tuple[dict[str, torch.Tensor], dict[str, str]]:
    """Return the tensors of a safetensors file, (...), any dtype, by name, and the texts in its header.

    The file is read into memory: `safe_open` would map it, and the process would end (SIGBUS) if somebody truncated it.
    Raises SafetensorError if the file is damaged. Raises OSError if it cannot be read. Raises ValueError if its header
    is not JSON, or has no texts.
    """
    content = path.read_bytes()
    tensors = load(content)
    header_bytes = int.from_bytes(content[:8], "little")
    return tensors, parse(content[8 : 8 + header_bytes].decode("utf-8")).get("__metadata__") or {}


def weights_sha256(weights: dict[str, torch.Tensor]) -> str:
    """Return the SHA-256 digest of weights, (...) of any dtype by name: the same for every kind of storage."""
    digest = hashlib.sha256()
    for name, tensor in sorted(weights.items()):
        digest.update(f"{name} {list(tensor.shape)} {tensor.dtype}\n".encode())
        digest.update(tensor.detach().contiguous().flatten().view(torch.uint8).numpy())
    return digest.hexdigest()


def check_weights(weights: dict[str, torch.Tensor], card: ModelCard, path: str) -> None:
    """Check that weights, (...), any dtype, are numbers, and the first and last layer those of the architecture.

    So no network is built that is much larger than the file. Raises ModelFileError if they are not.
    """
    check_numbers(weights, path)
    bands, classes = card.architecture.in_channels, card.architecture.classes
    first = f"{card.architecture.first_layer}.weight"
    for name, axis, size, dimensions in ((first, 1, bands, 4), (_LAST, 0, classes, 4), (_LAST_BIAS, 0, classes, 1)):
        shape = weights[name].shape if name in weights else ()
        if len(shape) != dimensions or shape[axis] != size:
            raise mismatched(path, f"{name} is {list(shape) if name in weights else 'missing'}")


def check_numbers(weights: dict[str, torch.Tensor], path: str) -> None:
    """Check that all weights, (...) of any dtype by name, are numbers.

    Raises ModelFileError if they are not.
    """
    for name, tensor in weights.items():
        if not tensor.is_floating_point() or not tensor.numel():
            continue
        low, high = map(float, tensor.aminmax())  # NaN if any is
        if not ((0 if name.endswith(_VARIANCE) else -MAX_WEIGHT) <= low and high <= MAX_WEIGHT):
            raise no_numbers(name, path)


def no_numbers(name: str, path: str) -> ModelFileError:
    """Return the error that weights of a name hold NaN, infinity or absurd values."""
    return ModelFileError(
        f"The weights {shown(name)} in {path} hold values that are not numbers or are out of any range.",
        "Copy the model again, train it again, or choose another.",
    )


def check_file(path: str) -> None:
    """Check that a model is a regular file that can be opened, and no larger than models are.

    Raises ModelFileError if it is not.
    """
    try:
        status = Path(path).stat()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "this path is impossible"
        raise unopened(path, reason) from error
    if not stat.S_ISREG(status.st_mode):  # reading a pipe or a device might never end
        raise ModelFileError(f"The model {path} is not a file, and cannot be opened.", "Choose a model file.")
    if status.st_size > MAX_BYTES:
        raise ModelFileError(
            f"{path} has {status.st_size / 1e9:.1f} GB, which is too large for a RoadSeg model.", "Choose another file."
        )


def unopened(path: str, reason: Optional[str]) -> ModelFileError:
    """Return the error that a model cannot be opened, for a reason."""
    return ModelFileError(f"The model {path} cannot be opened ({reason}).", "Choose a model file.")


def compact(weights: dict[str, torch.Tensor], quant_max: int = QUANT_MAX) -> dict[str, torch.Tensor]:
    """Return weights, (...), float32, by name, with convolutions quantized symmetrically, by output channel.

    The scale of an output channel is its largest absolute weight divided by `quant_max`, so the rounding error is at
    most half a scale. Convolutions, (out, in, height, width), become int8 from `-quant_max` to `quant_max`. Their
    scales, (out,), float32, are under the name with `.scale`.
    """
    stored = {}
    for name, tensor in weights.items():
        if not tensor.is_floating_point() or tensor.dim() != 4:  # no convolution
            stored[name] = tensor
            continue
        # Each output channel in whole steps of its own size; a channel of zeros has steps of any size.
        scale = tensor.detach().float().abs().amax(dim=(1, 2, 3)) / quant_max
        steps = tensor.detach().float() / torch.where(scale > 0, scale, 1.0)[:, None, None, None]
        stored[name] = steps.round().clamp(-quant_max, quant_max).to(torch.int8)
        stored[name + _SCALE] = scale
    return stored


def expand(stored: dict[str, torch.Tensor], path: str) -> dict[str, torch.Tensor]:
    """Return the weights, (...), float32 or int64, by name, that `compact` quantized.

    Raises ModelFileError if scales are missing, left over, of another shape or dtype, negative or not finite.
    """
    scales = {name for name in stored if name.endswith(_SCALE)}
    packed = {name for name, tensor in stored.items() if tensor.dtype == torch.int8}
    if scales != {name + _SCALE for name in packed}:
        raise ModelFileError(f"The weights in {path} and their scales do not match.", "Copy it again.")
    weights = {name: tensor for name, tensor in stored.items() if name not in scales}
    for name in packed:
        steps, scale = stored[name], stored[name + _SCALE]
        fits = steps.dim() == 4 and scale.dtype == torch.float32 and scale.shape == steps.shape[:1]
        if not (fits and bool(torch.isfinite(scale).all()) and bool((scale >= 0).all())):
            raise ModelFileError(f"The weights in {path} have invalid scales.", "Copy it again.")
        weights[name] = steps.float() * scale[:, None, None, None]
    return weights
