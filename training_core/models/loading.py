"""Loading of models: the one place where a model file of any kind comes in.

Scope: safetensors with a model card, in full or compact; safetensors made elsewhere; ONNX. Independent of engines. A
model file is untrusted input: pickles are refused, nothing in a file is executed, all of it is checked.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Optional

import torch
from safetensors import SafetensorError
from torch import nn

from ..errors import ModelFileError, shown
from . import model_file
from .architectures import build_uninitialized
from .model_card import ModelCard, card_from_text
from .onnx_model import OnnxModel, is_onnx

if TYPE_CHECKING:
    from onnx import ModelProto

Weights = dict[str, torch.Tensor]


def load_model(path: str) -> tuple[nn.Module | OnnxModel, ModelCard]:
    """Return a model to run, in evaluation mode, and its card: of a `.safetensors` or ONNX file.

    Raises ModelFileError if the file cannot be read, or is not a model that RoadSeg runs.
    """
    if is_onnx(path):
        from .deepness import is_from_deepness, read_deepness  # which import onnx, and not every runtime has it
        from .onnx_file import checked_onnx, parse_onnx, serialized

        parsed = parse_onnx(path)
        graph, card = (read_deepness if is_from_deepness(parsed) else checked_onnx)(parsed, path)
        return serialized(graph), card
    return load_network(path)


def load_graph(path: str) -> tuple[ModelProto, ModelCard]:
    """Return a model as an ONNX graph, exported where the file holds a network, and its card.

    Raises ModelFileError; see `load_model`.
    """
    from .onnx_file import export_onnx, read_onnx

    if is_onnx(path):
        return read_onnx(path)
    network, card = load_network(path)
    return export_onnx(network), card


def load_network(path: str) -> tuple[nn.Module, ModelCard]:
    """Return a network that can also be trained or exported, in evaluation mode, and its card.

    Raises ModelFileError if the file is refused by `load_weights`, or the weights do not match the architecture.
    """
    weights, card = load_weights(path)
    model = build_uninitialized(card.architecture)
    load_into(model, weights, path)
    return model.eval(), card


def load_into(model: nn.Module, weights: Weights, path: str) -> None:
    """Load the weights of a model file, (...), float32 or int64, by name, into a model.

    Raises ModelFileError if names, shapes or types of the weights do not match.
    """
    expected = model.state_dict()
    for name in sorted(expected.keys() | weights.keys()):
        if name not in weights or name not in expected:
            raise model_file.mismatched(path, f"{shown(name)} is {'left over' if name in weights else 'missing'}")
        found, wanted = (f"{list(each.shape)} {each.dtype}" for each in (weights[name], expected[name]))
        if found != wanted:
            raise model_file.mismatched(path, f"{shown(name)} is {found}, not {wanted}")
    model.load_state_dict(weights)


def load_weights(path: str) -> tuple[Weights, ModelCard]:
    """Return the weights of a RoadSeg model, (...), float32 or int64, by name, also if stored in 8 bits, and its card.

    Raises ModelFileError if the file is refused by `load_any_weights`, or is not a RoadSeg model.
    """
    weights, card = load_any_weights(path)
    if card is None:
        raise ModelFileError(
            f"{path} is a safetensors file, but not a RoadSeg model.", "Choose a model made by Fine-tune a model."
        )
    return weights, card


def load_any_weights(path: str) -> tuple[Weights, Optional[ModelCard]]:
    """Return the weights of a safetensors file, (...), float32 or int64, by name, and its card if RoadSeg made it.

    Raises ModelFileError if the file is missing, truncated, a pickle or an ONNX file; or a weight is not a number.
    """
    _refuse_other_kinds(path)
    try:
        weights, metadata = model_file.read_safetensors(Path(path))
    except (SafetensorError, OSError, ValueError, TypeError, AttributeError, RuntimeError) as error:
        raise _damaged(path) from error
    if model_file.HEADER_KEY not in metadata:
        model_file.check_numbers(weights, path)
        return {name: each.float() if each.is_floating_point() else each for name, each in weights.items()}, None
    card, document = card_from_text(metadata[model_file.HEADER_KEY], path)
    storage = document.get(model_file.STORAGE_KEY)
    if storage not in (None, model_file.STORAGE):
        raise ModelFileError(
            f"RoadSeg does not know how the weights in {path} are stored ({shown(storage)}).",
            "Choose a model made by this version of RoadSeg.",
        )
    weights = model_file.expand(weights, path) if storage else weights
    model_file.check_weights(weights, card, path)
    return weights, card


def _damaged(path: str) -> ModelFileError:
    return ModelFileError(f"{path} is damaged or not a model file.", "Copy it again or choose another.")


def _refuse_other_kinds(path: str) -> None:
    if is_onnx(path):
        raise ModelFileError(
            f"{path} is an ONNX model, which can be run, but not fine-tuned, merged or exported.",
            "Choose the .safetensors model from which it was made.",
        )
    model_file.check_file(path)
    try:
        with Path(path).open("rb") as file:
            start = file.read(9)
    except OSError as error:
        raise model_file.unopened(path, error.strerror) from error
    is_safetensors = start[8:] == b"{"  # after the length of the header, which may be any bytes
    if not is_safetensors and (start[:2] == b"PK" or start[:1] == b"\x80"):
        raise ModelFileError(
            f"{path} is a pickled PyTorch file. Such files can run code when they are opened, so RoadSeg never does.",
            "Choose a .safetensors model made by RoadSeg.",
        )
    if int.from_bytes(start[:8], "little") > model_file.MAX_HEADER_BYTES:
        raise ModelFileError(
            f"{path} is damaged or not a model file: its header would be too long.", "Copy it again or choose another."
        )
