"""Base models of fine-tuning: a RoadSeg model, a model of segmentation_models_pytorch, or an encoder of ImageNet.

Scope: files of weights to the weights of a network. Independent of images and training. A file is untrusted input. An
encoder is fetched once from the hub of segmentation_models_pytorch, only if a job asks for `imagenet`, and only as
safetensors; the library would fall back on a pickle.
"""

from __future__ import annotations

import hashlib
import importlib
import itertools
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Optional

import torch

from ..errors import JobError, ModelFileError, RuntimeEnvironmentError
from ..events import Reporter
from ..geodata.road_classes import RoadClass
from ..jobs import IMAGENET, file_systems
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
from .loading import Weights, load_any_weights
from .model_card import ModelCard

# The bands of weights made elsewhere, if they have three.
_COLORS = ("red", "green", "blue")
_ENCODER, _HEAD = "encoder.", "segmentation_head."
# Weights of the classifier that an encoder was trained with, and counters that some files lack.
_CLASSIFIERS = ("fc.", "classifier.", "conv_head.", "bn2.")
_COUNTER = ".num_batches_tracked"
# The registry of the library: which repository, at which revision.
_REGISTRY = "segmentation_models_pytorch.encoders"
_FILE, _README = "model.safetensors", "README.md"
_TIMEOUT_S = 20.0


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
    weights, card = load_any_weights(path)
    if card is None:
        base = _made_elsewhere(weights, usual, path, reporter)
    else:
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
    pairs = itertools.product(ARCHITECTURES if is_whole else (usual.name,), ENCODERS)
    for name, encoder in sorted(pairs, key=lambda pair: pair != (usual.name, usual.encoder)):  # the usual first
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


def encoder_file(encoder: str) -> Path:
    """Return the file of an encoder's weights, which may also be put there by hand."""
    return _data_folder() / "weights" / f"{encoder}-imagenet.safetensors"


def _data_folder() -> Path:
    """Return the folder for RoadSeg's own data, the same as in QGIS (`qgis_roadseg/paths.py`)."""
    home = Path.home()
    if sys.platform == "win32":
        parent = Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    elif sys.platform == "darwin":
        parent = home / "Library" / "Application Support"
    else:
        parent = Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share")
    return parent / "roadseg"


def fetch_encoder(encoder: str, reporter: Reporter) -> Path:
    """Return the file of an encoder pretrained on ImageNet, fetched if it is not there yet.

    The license of the weights is logged. Raises RuntimeEnvironmentError if it cannot be fetched, is damaged on its way,
    or cannot be written.
    """
    path = encoder_file(encoder)
    if path.is_file():
        return path
    place = _place(Architecture(encoder=encoder).library_name)
    hub = importlib.import_module("huggingface_hub")
    hub.constants.HF_HUB_DISABLE_TELEMETRY = True  # it would report each use to its makers
    url = hub.hf_hub_url(filename=_FILE, **place)
    reporter.log(f"Fetching {encoder}, pretrained on ImageNet, from {url}.")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent, ignore_cleanup_errors=True) as folder:
            options = {**place, "local_dir": folder, "etag_timeout": _TIMEOUT_S}
            expected = hub.get_hf_file_metadata(url, timeout=_TIMEOUT_S).etag
            fetched = Path(hub.hf_hub_download(filename=_FILE, tqdm_class=_progress_class(reporter), **options))
            found = hashlib.sha256(fetched.read_bytes()).hexdigest()
            if found != expected:
                raise OSError(f"its checksum is {found}, not {expected}")
            reporter.log(f"The license of these weights: {_license(hub, options)} ({place['repo_id']}).")
            partial = path.with_suffix(f".{os.getpid()}.part")
            shutil.move(fetched, partial)
            file_systems.replace(partial, path)
    except (OSError, ValueError, RuntimeError, hub.errors.HTTPError) as error:
        raise RuntimeEnvironmentError(
            f"The weights of {encoder}, pretrained on ImageNet, cannot be fetched: {error}.",
            f"Connect to the internet; or fetch {url} elsewhere, and put it here as {path}.",
        ) from error
    return path


def _place(library_name: str) -> dict[str, str]:
    """Return the repository and revision of the weights, from the library or, for some encoders, from timm."""
    if library_name.startswith(TIMM):
        timm = importlib.import_module("timm")
        return {"repo_id": timm.get_pretrained_cfg(library_name.removeprefix(TIMM)).hf_hub_id, "revision": "main"}
    settings = importlib.import_module(_REGISTRY).encoders[library_name]["pretrained_settings"]["imagenet"]
    return {"repo_id": settings["repo_id"], "revision": settings["revision"]}


def _license(hub: Any, options: dict[str, Any]) -> str:
    """Return the license that the weights' page names."""
    try:
        text = Path(hub.hf_hub_download(filename=_README, **options)).read_text("utf-8")
    except (OSError, ValueError, RuntimeError, hub.errors.HTTPError):
        return "not stated"
    lines = (line.partition(":") for line in text.splitlines())
    return next((value.strip() for name, _, value in lines if name.strip() == "license"), "not stated")


def _progress_class(reporter: Reporter) -> type:
    """Return a class of progress bars for the hub that passes progress to a reporter and ends when it is cancelled."""
    base = importlib.import_module("huggingface_hub.utils").tqdm

    class Progress(base):  # type: ignore[misc, valid-type]
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **{**options, "disable": True})  # nothing on the terminal

        def update(self, n: float = 1) -> None:
            reporter.check_cancelled()
            self.n += n
            if self.total:
                reporter.progress(min(1.0, self.n / self.total), "Fetching the encoder")

    return Progress
