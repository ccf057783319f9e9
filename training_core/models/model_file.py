"""The model file: a `.safetensors` file of weights, with the model card in its header.

Scope: reading, checking and writing the file. Independent of training. The card is JSON in the terms of the STAC
Machine Learning Model extension. A model file is untrusted input: nothing in it is executed.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import nn

from ..errors import ModelFileError
from .compact_weights import STORAGE, compact, expand
from .model_card import ModelCard, card_from_document
from .unet import build_unet

_HEADER_KEY, _STORAGE_KEY = "roadseg", "roadseg:storage"


def save_model(path: Path, weights: dict[str, torch.Tensor], card: ModelCard) -> None:
    """Write weights and card to a file.

    Parameters
    ----------
    path : Path
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
    path : Path
    weights : dict of Tensor of any shape (...), float32 or int64
        By name.
    card : ModelCard
        Goes into the header.
    """
    tensors = {name: tensor.contiguous() for name, tensor in compact(weights).items()}
    _write(path, tensors, {**card.to_document(), _STORAGE_KEY: STORAGE})


def _write(path: Path, tensors: dict[str, torch.Tensor], document: dict[str, Any]) -> None:
    path.write_bytes(save(tensors, metadata={_HEADER_KEY: json.dumps(document, ensure_ascii=False)}))


def load_model(path: str) -> tuple[nn.Module, ModelCard]:
    """Return the model of a file, in evaluation mode, and its card.

    Raises
    ------
    ModelFileError
        See `load_weights`; or the weights do not match the architecture.
    """
    weights, card = load_weights(path)
    model = build_unet(card.architecture)
    load_into(model, weights, path)
    return model.eval(), card


def load_into(model: nn.Module, weights: dict[str, torch.Tensor], path: str) -> None:
    """Load the weights of a model file into a model.

    Parameters
    ----------
    model : Module
    weights : dict of Tensor of any shape (...), float32 or int64
        By name.
    path : str
        The file, for the message.

    Raises
    ------
    ModelFileError
        Names or shapes of the weights do not match.
    """
    expected = model.state_dict()
    fits = weights.keys() == expected.keys() and all(
        tensor.shape == expected[name].shape for name, tensor in weights.items()
    )
    if not fits:
        raise ModelFileError(f"The weights in {path} do not match their architecture.", "Copy it anew.")
    model.load_state_dict(weights)


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
        The file is missing, truncated, a pickle, an ONNX file, or no RoadSeg model.
    """
    _refuse_other_kinds(path)
    try:
        with safe_open(path, framework="pt") as file:
            document = json.loads((file.metadata() or {})[_HEADER_KEY])
            card = card_from_document(document)
            weights = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  # not a dict
    except (SafetensorError, OSError, ValueError) as error:
        raise ModelFileError(f"{path} is damaged or no model file.", "Copy it anew or choose another.") from error
    except KeyError as error:
        raise ModelFileError(
            f"{path} is a safetensors file, but no RoadSeg model.", "Choose a model made by Fine-tune a model."
        ) from error
    storage = document.get(_STORAGE_KEY)
    if storage not in (None, STORAGE):
        raise ModelFileError(f"RoadSeg does not know how the weights in {path} are stored ({storage!r}).")
    return (expand(weights) if storage else weights), card


def _refuse_other_kinds(path: str) -> None:
    if Path(path).suffix.lower() == ".onnx":
        raise ModelFileError(
            f"{path} is an ONNX model, which can be run, but not fine-tuned or exported.",
            "Choose the .safetensors model that it was made from.",
        )
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
