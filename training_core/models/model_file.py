"""The model file: a `.safetensors` file of weights, with the model card in its header.

Scope: reading, checking and writing the file. Independent of training. The card is JSON in the terms of the STAC
Machine Learning Model extension. A model file is untrusted input: nothing in it is executed.
"""

from __future__ import annotations

import hashlib
import json
import stat
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import nn

from ..errors import ModelFileError, shown
from ..jobs.json_fields import parse
from .architectures import build_uninitialized
from .compact_weights import STORAGE, compact, expand
from .model_card import ModelCard, card_from_text

# A U-Net on the largest encoder has 250 MB; the header of some hundred tensors takes some 50 kB.
MAX_BYTES, MAX_HEADER_BYTES = 1 << 30, 10_000_000
# No training that went well has weights or statistics like that; larger ones overflow in FP32.
MAX_WEIGHT = 1e15
_HEADER_KEY, _STORAGE_KEY = "roadseg", "roadseg:storage"
_VARIANCE = ".running_var"
# The last layer, which is adapted to other classes.
_LAST, _LAST_BIAS = "segmentation_head.0.weight", "segmentation_head.0.bias"


def save_model(path: Path, weights: dict[str, torch.Tensor], card: ModelCard) -> None:
    """Write weights and card to a file.

    Parameters
    ----------
    weights : dict of Tensor of any shape (...), float32 or int64
        By name.
    card : ModelCard
        Goes into the header.
    """
    tensors = {
        name: (tensor.float() if tensor.is_floating_point() else tensor).detach().contiguous()
        for name, tensor in weights.items()
    }
    _write(path, tensors, card.to_document())


def save_compact_model(path: Path, weights: dict[str, torch.Tensor], card: ModelCard) -> None:
    """Write weights and card to a file of a quarter of the size, quantized; see `compact`.

    Parameters
    ----------
    weights : dict of Tensor of any shape (...), float32 or int64
        By name.
    card : ModelCard
        Goes into the header.
    """
    tensors = {name: tensor.contiguous() for name, tensor in compact(weights).items()}
    _write(path, tensors, {**card.to_document(), _STORAGE_KEY: STORAGE})


def _write(path: Path, tensors: dict[str, torch.Tensor], document: dict[str, Any]) -> None:
    path.write_bytes(save(tensors, metadata={_HEADER_KEY: json.dumps(document)}))


def load_model(path: str) -> tuple[nn.Module, ModelCard]:
    """Return the model of a file, in evaluation mode, and its card.

    Raises
    ------
    ModelFileError
        See `load_weights`; or the weights do not match the architecture.
    """
    weights, card = load_weights(path)
    model = build_uninitialized(card.architecture)
    load_into(model, weights, path)
    return model.eval(), card


def load_into(model: nn.Module, weights: dict[str, torch.Tensor], path: str) -> None:
    """Load the weights of a model file into a model.

    Parameters
    ----------
    weights : dict of Tensor of any shape (...), float32 or int64
        By name.
    path : str
        The file, for the message.

    Raises
    ------
    ModelFileError
        Names, shapes or types of the weights do not match.
    """
    expected = model.state_dict()
    for name in sorted(expected.keys() | weights.keys()):
        if name not in weights or name not in expected:
            raise _mismatched(path, f"{shown(name)} is {'left over' if name in weights else 'missing'}")
        found, wanted = (f"{list(each.shape)} {each.dtype}" for each in (weights[name], expected[name]))
        if found != wanted:
            raise _mismatched(path, f"{shown(name)} is {found}, not {wanted}")
    model.load_state_dict(weights)


def _mismatched(path: str, what: str) -> ModelFileError:
    return ModelFileError(f"The weights in {path} do not match their architecture: {what}.", "Copy it again.")


def load_weights(path: str) -> tuple[dict[str, torch.Tensor], ModelCard]:
    """Read a model file.

    Returns
    -------
    weights : dict of Tensor of any shape (...), float32 or int64
        By name, also if they are stored in 8 bits.
    card : ModelCard

    Raises
    ------
    ModelFileError
        The file is missing, truncated, a pickle, an ONNX file, or no RoadSeg model; or a weight is no number.
    """
    _refuse_other_kinds(path)
    try:
        weights, metadata = read_safetensors(Path(path))
        card, document = card_from_text(metadata[_HEADER_KEY], path)
    except (SafetensorError, OSError, ValueError, TypeError, AttributeError, RuntimeError) as error:
        raise ModelFileError(f"{path} is damaged or no model file.", "Copy it again or choose another.") from error
    except KeyError as error:
        raise ModelFileError(
            f"{path} is a safetensors file, but no RoadSeg model.", "Choose a model made by Fine-tune a model."
        ) from error
    storage = document.get(_STORAGE_KEY)
    if storage not in (None, STORAGE):
        raise ModelFileError(
            f"RoadSeg does not know how the weights in {path} are stored ({shown(storage)}).",
            "Choose a model made by this version of RoadSeg.",
        )
    weights = expand(weights, path) if storage else weights
    check_weights(weights, card, path)
    return weights, card


def is_made_elsewhere(path: str) -> bool:
    """Whether a file is a safetensors file without a model card; of one that cannot be read, `load_weights` says why.

    Raises
    ------
    ModelFileError
        It is no file, or of another kind.
    """
    _refuse_other_kinds(path)
    try:
        with Path(path).open("rb") as file:
            header_bytes = int.from_bytes(file.read(8), "little")
            header = parse(file.read(header_bytes).decode("utf-8")) if header_bytes <= MAX_HEADER_BYTES else None
    except (OSError, ValueError):
        return False
    metadata = header.get("__metadata__", {}) if isinstance(header, dict) else None
    return isinstance(metadata, dict) and _HEADER_KEY not in metadata


def read_safetensors(path: Path) -> tuple[dict[str, torch.Tensor], dict[str, str]]:
    """Return the tensors of a safetensors file, and the texts in its header.

    It is read whole: a file that is mapped, as `safe_open` has it, ends the process (SIGBUS) where somebody cuts it off
    meanwhile.

    Returns
    -------
    tensors : dict of Tensor of any shape (...), any dtype
    metadata : dict of str to str

    Raises
    ------
    SafetensorError
        The file is damaged.
    OSError
        It cannot be read.
    ValueError
        Its header is no JSON, or has no texts.
    """
    content = path.read_bytes()
    tensors = load(content)
    header_bytes = int.from_bytes(content[:8], "little")
    return tensors, parse(content[8 : 8 + header_bytes].decode("utf-8")).get("__metadata__") or {}


def weights_sha256(weights: dict[str, torch.Tensor]) -> str:
    """Return the SHA-256 digest of weights, (...) of any dtype by name: the same for however they are stored."""
    digest = hashlib.sha256()
    for name, tensor in sorted(weights.items()):
        digest.update(f"{name} {list(tensor.shape)} {tensor.dtype}\n".encode())
        digest.update(tensor.detach().contiguous().flatten().view(torch.uint8).numpy())
    return digest.hexdigest()


def check_weights(weights: dict[str, torch.Tensor], card: ModelCard, path: str) -> None:
    """Check that all weights are numbers, and that the first and last layer are those of the architecture.

    So no network is built that is much larger than the file.

    Parameters
    ----------
    weights : dict of Tensor of any shape (...), any dtype
        By name.
    path : str
        The model's file, for messages.

    Raises
    ------
    ModelFileError
        They are not.
    """
    check_numbers(weights, path)
    bands, classes = card.architecture.in_channels, card.architecture.classes
    first = f"{card.architecture.first_layer}.weight"
    for name, axis, size, dimensions in ((first, 1, bands, 4), (_LAST, 0, classes, 4), (_LAST_BIAS, 0, classes, 1)):
        shape = weights[name].shape if name in weights else ()
        if len(shape) != dimensions or shape[axis] != size:
            raise _mismatched(path, f"{name} is {list(shape) if name in weights else 'missing'}")


def check_numbers(weights: dict[str, torch.Tensor], path: str) -> None:
    """Check that all weights, (...) of any dtype by name, are numbers.

    Raises
    ------
    ModelFileError
        They are not.
    """
    for name, tensor in weights.items():
        is_sound = not tensor.is_floating_point() or not tensor.numel() or _is_within(tensor, name)
        if not is_sound:
            raise ModelFileError(
                f"The weights {shown(name)} in {path} hold values that are no numbers, or out of any range.",
                "Copy the model anew, train it again, or choose another.",
            )


def _is_within(tensor: torch.Tensor, name: str) -> bool:
    low, high = map(float, tensor.aminmax())  # NaN if any is
    return (0 if name.endswith(_VARIANCE) else -MAX_WEIGHT) <= low and high <= MAX_WEIGHT


def check_file(path: str) -> None:
    """Check that a model is a regular file that can be opened, and no larger than models are.

    Raises
    ------
    ModelFileError
        It is not.
    """
    try:
        status = Path(path).stat()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "no path is like that"
        raise ModelFileError(f"The model {path} cannot be opened ({reason}).", "Choose a model file.") from error
    if not stat.S_ISREG(status.st_mode):  # reading a pipe or a device might never end
        raise ModelFileError(f"The model {path} is no file, and cannot be opened.", "Choose a model file.")
    if status.st_size > MAX_BYTES:
        raise ModelFileError(
            f"{path} has {status.st_size / 1e9:.1f} GB, which is too large for a RoadSeg model.", "Choose another file."
        )


def _refuse_other_kinds(path: str) -> None:
    if Path(path).suffix.lower() == ".onnx":
        raise ModelFileError(
            f"{path} is an ONNX model, which can be run, but not fine-tuned, merged or exported.",
            "Choose the .safetensors model that it was made from.",
        )
    check_file(path)
    try:
        with Path(path).open("rb") as file:
            start = file.read(9)
    except OSError as error:
        raise ModelFileError(
            f"The model {path} cannot be opened ({error.strerror}).", "Choose a model file."
        ) from error
    is_safetensors = start[8:] == b"{"  # after the length of the header, which may be any bytes
    if not is_safetensors and (start[:2] == b"PK" or start[:1] == b"\x80"):
        raise ModelFileError(
            f"{path} is a pickled PyTorch file. Such files can run code when they are opened, so RoadSeg never does.",
            "Choose a .safetensors model made by RoadSeg.",
        )
    if int.from_bytes(start[:8], "little") > MAX_HEADER_BYTES:
        raise ModelFileError(
            f"{path} is damaged or no model file: its header would be too long.", "Copy it again or choose another."
        )
