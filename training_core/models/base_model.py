"""What fine-tuning starts from: a RoadSeg model, a U-Net of segmentation_models_pytorch, or an encoder of ImageNet.

Scope: files of weights to the weights of a U-Net. Independent of images and training. A file is untrusted input.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

import torch
from safetensors import SafetensorError

from ..errors import ModelFileError
from ..events import Reporter
from ..geodata.road_classes import RoadClass
from ..jobs import IMAGENET
from .imagenet import fetch_encoder
from .model_card import ModelCard
from .model_file import check_file, check_numbers, is_made_elsewhere, load_weights, read_safetensors
from .unet import ENCODERS, Architecture, build_unet

# Of what weights made elsewhere were trained on, if they have three.
_COLORS = ("red", "green", "blue")
_ENCODER, _HEAD = "encoder.", "segmentation_head."
_FIRST = "encoder.conv1.weight"
# Of the classifier that an encoder was trained with, and counters that some files lack.
_CLASSIFIER, _COUNTER = "fc.", ".num_batches_tracked"

Weights = dict[str, torch.Tensor]


@dataclass(frozen=True, eq=False)
class BaseModel:
    """Weights to start from.

    Parameters
    ----------
    weights : dict of Tensor of any shape (...), float32 or int64
        By name, all that the architecture has.
    architecture : Architecture
    band_names : tuple of str
        Of the input bands, in order.
    card : ModelCard, optional
        Of a RoadSeg model.
    """

    weights: Weights
    architecture: Architecture
    band_names: tuple[str, ...]
    card: Optional[ModelCard] = None

    @property
    def classes(self) -> tuple[RoadClass, ...]:
        """The road classes that it predicts."""
        return self.card.classes if self.card else ()

    @property
    def halo_px(self) -> int:
        """The halo that its tiles need; 0 if it is not known."""
        return self.card.halo_px if self.card else 0


def read_base_model(model: str, reporter: Reporter) -> Optional[BaseModel]:
    """Return what to start from; None for random weights.

    Parameters
    ----------
    model : str
        A file; IMAGENET for the default encoder pretrained on ImageNet; or empty.
    reporter : Reporter

    Raises
    ------
    ModelFileError
        The file is no model that RoadSeg knows, or damaged.
    RuntimeEnvironmentError
        The encoder cannot be fetched.
    """
    if not model:
        return None
    path = str(fetch_encoder(Architecture().encoder, reporter)) if model == IMAGENET else model
    if is_made_elsewhere(path):
        return _made_elsewhere(_read(path), path, reporter)
    weights, card = load_weights(path)
    return BaseModel(weights, card.architecture, card.band_names, card)


def _read(path: str) -> Weights:
    """Return the tensors of a safetensors file without a card."""
    check_file(path)
    try:
        weights, _ = read_safetensors(Path(path))
    except (SafetensorError, OSError, ValueError, TypeError, AttributeError, RuntimeError) as error:
        raise ModelFileError(f"{path} is damaged or no model file.", "Copy it anew or choose another.") from error
    check_numbers(weights, path)
    return {name: each.float() if each.is_floating_point() else each for name, each in weights.items()}


def _made_elsewhere(found: Weights, path: str, reporter: Reporter) -> BaseModel:
    """Return a whole U-Net, or an encoder in a U-Net with otherwise random weights."""
    is_whole = any(name.startswith(_HEAD) for name in found)
    named = found if is_whole else {_ENCODER + name.removeprefix(_ENCODER): each for name, each in found.items()}
    named = {name: each for name, each in named.items() if not name.startswith(_ENCODER + _CLASSIFIER)}
    first = named.get(_FIRST)
    bands = first.shape[1] if first is not None and first.ndim == 4 else 0
    for encoder in ENCODERS if bands else ():
        architecture = Architecture(encoder=encoder, in_channels=bands)
        expected = _shapes(architecture)
        if _fits(named, expected, is_whole):
            break
    else:
        raise ModelFileError(
            f"{path} is a safetensors file, but no model that RoadSeg knows: neither one of its own, nor a U-Net or an "
            f"encoder of segmentation_models_pytorch ({', '.join(ENCODERS)}).",
            "Choose a model made by Fine-tune a model.",
        )
    fresh = build_unet(architecture).state_dict()
    taken = {name: each for name, each in named.items() if name in expected and each.shape == expected[name]}
    part = "a U-Net" if is_whole else "an encoder, whose decoder begins with random weights"
    reporter.log(f"{path} holds the weights of {part}: {architecture.encoder}, {bands} bands.")
    names = _COLORS if bands == len(_COLORS) else tuple(f"band {number}" for number in range(1, bands + 1))
    return BaseModel({**fresh, **taken}, architecture, names)


def _shapes(architecture: Architecture) -> dict[str, torch.Size]:
    """Return the shapes of a U-Net's weights by name."""
    with torch.device("meta"):
        return {name: each.shape for name, each in build_unet(architecture).state_dict().items()}


def _fits(found: Weights, expected: Mapping[str, torch.Size], is_whole: bool) -> bool:
    """Whether tensors are those of an architecture, the head apart, which may be for other classes."""
    wanted = {name for name in expected if is_whole or name.startswith(_ENCODER)}
    is_same = all(found[name].shape == expected[name] for name in wanted & found.keys() if not name.startswith(_HEAD))
    missing = {name for name in wanted - found.keys() if not name.endswith(_COUNTER)}
    return is_same and not missing and found.keys() <= wanted
