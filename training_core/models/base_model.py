"""Base models of fine-tuning: a RoadSeg model, a model of segmentation_models_pytorch, or an encoder of ImageNet.

Scope: files of weights to the weights of a network. Independent of images and training. A file is untrusted input.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Optional

import torch

from ..errors import JobError, ModelFileError
from ..events import Reporter
from ..geodata.road_classes import RoadClass
from ..jobs import IMAGENET
from ..jobs.recipe import ARCHITECTURES, AS_BASE, EFFICIENTNET, ENCODERS, UNET, USUAL
from .architectures import (
    DECODER_CHANNELS,
    NARROW_DECODER_CHANNELS,
    TAKEN,
    TIMM,
    Architecture,
    build_network,
    weights_without_memory,
)
from .imagenet import fetch_encoder
from .loading import Weights, is_foreign, load_foreign_weights, load_weights
from .model_card import ModelCard

# The bands of weights made elsewhere, if they have three.
_COLORS = ("red", "green", "blue")
_ENCODER, _HEAD = "encoder.", "segmentation_head."
# Weights of the classifier that an encoder was trained with, and counters that some files lack.
_CLASSIFIERS = ("fc.", "classifier.", "conv_head.", "bn2.")
_COUNTER = ".num_batches_tracked"


@dataclass(frozen=True, eq=False)
class BaseModel:
    """All weights of an architecture to start from, (...), float32 or int64, and the card if RoadSeg made them."""

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


def read_base_model(model: str, name: str, encoder: str, reporter: Reporter) -> Optional[BaseModel]:
    """Return the model to start from: a file, an encoder pretrained on ImageNet, or None for random weights.

    The model is a path, IMAGENET or empty. Architecture and encoder may be AS_BASE, for those of the base model. Raises
    ModelFileError if the file is not a model that RoadSeg knows, or is damaged. Raises RuntimeEnvironmentError if the
    encoder cannot be fetched. Raises JobError if the model has another architecture or encoder.
    """
    if not model:
        return None
    usual = architecture_for(name, encoder)
    path = str(fetch_encoder(usual.encoder, reporter)) if model == IMAGENET else model
    if is_foreign(path):
        base = _made_elsewhere(load_foreign_weights(path), usual, path, reporter)
    else:
        weights, card = load_weights(path)
        base = BaseModel(weights, card.architecture, card.band_names, card)
    found = base.architecture
    if name not in (AS_BASE, found.name) or encoder not in (AS_BASE, found.encoder):
        raise JobError(
            f"The base model (base_model) {path} is a {found.name} with {found.encoder}; it cannot become a "
            f"{found.name if name == AS_BASE else name} with {found.encoder if encoder == AS_BASE else encoder}.",
            f"Choose {IMAGENET} as base model, or none; or leave architecture (architecture) and encoder (encoder) at "
            f"{AS_BASE}.",
        )
    return base


def architecture_for(name: str, encoder: str) -> Architecture:
    """Return the architecture without a base model: the one asked for, with the usual choice for `AS_BASE`."""
    usual_name, usual_encoder = USUAL
    name, encoder = usual_name if name == AS_BASE else name, usual_encoder if encoder == AS_BASE else encoder
    is_narrow = (name, encoder) == (UNET, EFFICIENTNET)
    return Architecture(name, encoder, decoder_channels=NARROW_DECODER_CHANNELS if is_narrow else DECODER_CHANNELS)


def _made_elsewhere(found: Weights, usual: Architecture, path: str, reporter: Reporter) -> BaseModel:
    """Return a whole network, or an encoder in a network with otherwise random weights."""
    is_whole = any(name.startswith(_HEAD) for name in found)
    found = {name: each for name, each in found.items() if not _in_encoder(name).startswith(_CLASSIFIERS)}
    for name, encoder in _candidates(usual, is_whole):
        kind = Architecture(name, encoder) if is_whole else architecture_for(name, encoder)
        named = found if is_whole else _as_encoder(found, kind)
        first = named.get(f"{kind.first_layer}.weight")
        if first is None or first.ndim != 4 or not first.shape[1]:
            continue
        architecture = replace(kind, in_channels=first.shape[1])
        expected = {each: tensor.shape for each, tensor in weights_without_memory(architecture).items()}
        if _fits(named, expected, is_whole):
            break
    else:
        raise ModelFileError(
            f"{path} is a safetensors file, but not a model that RoadSeg takes: neither one of its own, nor a model or "
            f"an encoder of segmentation_models_pytorch ({TAKEN}).",
            "Choose a model made by Fine-tune a model.",
        )
    fresh = build_network(architecture).state_dict()
    taken = {name: each for name, each in named.items() if name in expected and each.shape == expected[name]}
    part = f"a {architecture.name}" if is_whole else "an encoder, whose decoder begins with random weights"
    bands = architecture.in_channels
    reporter.log(f"{path} holds the weights of {part}: {architecture.encoder}, {bands} bands.")
    names = _COLORS if bands == len(_COLORS) else tuple(f"band {number}" for number in range(1, bands + 1))
    return BaseModel({**fresh, **taken}, architecture, names)


def _candidates(usual: Architecture, is_whole: bool) -> Iterator[tuple[str, str]]:
    """Yield the architectures and encoders that a file may hold, the usual first."""
    names = ARCHITECTURES if is_whole else (usual.name,)
    pairs = itertools.product(names, ENCODERS)
    yield from sorted(pairs, key=lambda pair: pair != (usual.name, usual.encoder))


def _as_encoder(found: Weights, kind: Architecture) -> Weights:
    """Return the weights of an encoder under their names in the network."""
    within = f"{_ENCODER}model." if kind.library_name.startswith(TIMM) else _ENCODER
    return {within + _in_encoder(name): each for name, each in found.items()}


def _in_encoder(name: str) -> str:
    """Return the name of a weight within its encoder, with or without the prefixes of the library."""
    return name.removeprefix(_ENCODER).removeprefix("model.")


def _fits(found: Weights, expected: Mapping[str, torch.Size], is_whole: bool) -> bool:
    """Whether tensors are those of an architecture, the head apart, which may be for other classes."""
    wanted = {name for name in expected if is_whole or name.startswith(_ENCODER)}
    is_same = all(found[name].shape == expected[name] for name in wanted & found.keys() if not name.startswith(_HEAD))
    missing = {name for name in wanted - found.keys() if not name.endswith(_COUNTER)}
    return is_same and not missing and found.keys() <= wanted
