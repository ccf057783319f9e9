"""The model file: weights and, beside them, all that is needed to use them rightly.

One `.safetensors` file whose header holds a JSON document in the terms of the STAC Machine Learning Model extension
where it has a term. Knows the file; knows nothing of training. A model file is untrusted input: nothing in it is run.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import nn

from .compact import STORAGE, compact, expand
from .errors import ModelFileError
from .geodata.model_input import MODEL, SCALINGS, ModelInput
from .geodata.rasters import Band
from .geodata.road_classes import RoadClass, from_document, to_document
from .geodata.tiling import STRIDE_PX
from .model import Architecture, build_network

FORMAT = "roadseg-model-1"
_HEADER_KEY, _STORAGE_KEY = "roadseg", "roadseg:storage"
LARGEST_HALO_PX = 4096
_STAC_EXTENSION = "https://stac-extensions.github.io/mlm/v1.5.0/schema.json"


@dataclass(frozen=True)
class ModelCard:
    """What is known of a model beside its weights.

    Parameters
    ----------
    architecture : Architecture
    bands : tuple of Band
        The bands it takes, in order, with their scaling.
    resolution_m : float
        Ground size of the pixels it learned from, in meters.
    threshold : float
        Probability from which a pixel is road: the one with the best validation F1.
    chip_px : int
        Side of the chips it learned from.
    halo_px : int
        Halo with which tiles keep nearly all of the mask of an undivided image (see `halo`); 0 where nobody measured.
    training : dict
        Where and on what it was trained, for people: images, minutes, steps, engine.
    metrics : dict
        Validation scores at the threshold.
    versions : dict
        Of RoadSeg and the libraries.
    classes : tuple of RoadClass
        Those that it tells apart, in the order of its channels, which follow that of road.
    quantization : dict
        Where it was made to compute with 8-bit integers, what of it was not, and what that cost.
    scaling : str
        Whether values are scaled by the bands' numbers (model), or by those of each image itself (image); see
        `modelinput`.
    license : str
        Under which the weights may be used, as SPDX names it; empty where nobody said, as for a model of one's own.
    """

    architecture: Architecture
    bands: tuple[Band, ...]
    resolution_m: float
    threshold: float = 0.5
    chip_px: int = 512
    halo_px: int = 0
    training: dict[str, Any] = field(default_factory=dict)
    metrics: dict[str, float] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    classes: tuple[RoadClass, ...] = ()
    quantization: dict[str, Any] = field(default_factory=dict)
    scaling: str = MODEL
    license: str = ""

    @property
    def input(self) -> ModelInput:
        """What of images it takes."""
        return ModelInput(self.bands, self.resolution_m, self.scaling)

    @property
    def band_names(self) -> tuple[str, ...]:
        """The names of the bands it takes, in order."""
        return tuple(band.name for band in self.bands)

    def to_document(self) -> dict[str, Any]:
        """Return the document that stands in the file's header."""
        shape = [-1, len(self.bands), self.chip_px, self.chip_px]
        scaling = [{"type": "z-score", "mean": band.mean, "stddev": band.std} for band in self.bands]
        return {
            "format": FORMAT,
            "stac_extensions": [_STAC_EXTENSION],
            "mlm:name": "RoadSeg roads",
            "mlm:architecture": self.architecture.name,
            "mlm:framework": "pytorch",
            "mlm:tasks": ["semantic-segmentation"],
            "mlm:input": [
                {
                    "name": "image",
                    "bands": list(self.band_names),
                    "input": {
                        "shape": shape,
                        "dim_order": ["batch", "bands", "height", "width"],
                        "data_type": "float32",
                    },
                    "value_scaling": scaling,
                    "resize_type": None,
                }
            ],
            "mlm:output": [
                {
                    "name": "road",
                    "tasks": ["semantic-segmentation"],
                    "result": {
                        "shape": [-1, self.architecture.classes, self.chip_px, self.chip_px],
                        "dim_order": ["batch", "class", "height", "width"],
                        "data_type": "float32",
                    },
                    "classification:classes": [
                        {"value": value, "name": name}
                        for value, name in enumerate(["road", *(each.name for each in self.classes)], 1)
                    ],
                }
            ],
            "roadseg:architecture": asdict(self.architecture),
            "roadseg:scaling": self.scaling,
            "roadseg:resolution_m": self.resolution_m,
            "roadseg:threshold": self.threshold,
            "roadseg:halo_px": self.halo_px,
            "roadseg:nodata": "set to the mean of each band; no data where the image has none",
            "roadseg:training": self.training,
            "roadseg:metrics": self.metrics,
            "roadseg:versions": self.versions,
            **({"roadseg:classes": to_document(self.classes)} if self.classes else {}),
            **({"roadseg:quantization": self.quantization} if self.quantization else {}),
            **({"license": self.license} if self.license else {}),
        }


def card_from_document(document: dict[str, Any]) -> ModelCard:
    """Return the card that a header's document holds, checked; see `ModelCard.to_document`.

    Raises
    ------
    ModelFileError
        A part is missing or has a value that makes no sense.
    """
    if not isinstance(document, dict):
        raise ModelFileError("The model file's description is damaged.", "Copy it anew or train it again.")
    if document.get("format") != FORMAT:
        raise ModelFileError(f"The model file's format is {document.get('format')!r}, not {FORMAT!r}.")
    try:
        image = document["mlm:input"][0]
        bands = tuple(
            Band(str(name), float(scaling["mean"]), float(scaling["stddev"]))
            for name, scaling in zip(image["bands"], image["value_scaling"])
        )
        card = ModelCard(
            architecture=Architecture(**document["roadseg:architecture"]),
            bands=bands,
            resolution_m=float(document["roadseg:resolution_m"]),
            threshold=float(document["roadseg:threshold"]),
            chip_px=int(image["input"]["shape"][-1]),
            halo_px=int(document.get("roadseg:halo_px", 0)),
            training=dict(document["roadseg:training"]),
            metrics=dict(document["roadseg:metrics"]),
            versions=dict(document["roadseg:versions"]),
            classes=from_document(document.get("roadseg:classes", [])),
            quantization=dict(document.get("roadseg:quantization", {})),
            scaling=str(document.get("roadseg:scaling", MODEL)),
            license=str(document.get("license", "")),
        )
        card.architecture.validate()
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise ModelFileError("The model file's description is damaged.", "Copy it anew or train it again.") from error
    numbers = [card.resolution_m, *(band.std for band in bands)]
    sound = all(math.isfinite(value) and value > 0 for value in numbers)
    sound = sound and 0 <= card.halo_px <= LARGEST_HALO_PX and card.halo_px % STRIDE_PX == 0
    sound = sound and (len(bands), 1 + len(card.classes)) == (card.architecture.in_channels, card.architecture.classes)
    if not (sound and 0 <= card.threshold <= 1 and card.scaling in SCALINGS):
        raise ModelFileError("The model file's description makes no sense.", "Copy it anew or train it again.")
    return card


def save_model(path: Path, weights: dict[str, torch.Tensor], card: ModelCard) -> None:
    """Write weights (FP32) and card to a file."""
    tensors = {
        name: (tensor.float() if tensor.is_floating_point() else tensor).detach().contiguous()
        for name, tensor in weights.items()
    }
    _write(path, tensors, card.to_document())


def save_compact_model(path: Path, weights: dict[str, torch.Tensor], card: ModelCard) -> None:
    """Write weights and card to a file of a quarter of the size; see `compact` for what that costs."""
    tensors = {name: tensor.contiguous() for name, tensor in compact(weights).items()}
    _write(path, tensors, {**card.to_document(), _STORAGE_KEY: STORAGE})


def _write(path: Path, tensors: dict[str, torch.Tensor], document: dict[str, Any]) -> None:
    path.write_bytes(save(tensors, metadata={_HEADER_KEY: json.dumps(document, ensure_ascii=False)}))


def load_model(path: str) -> tuple[nn.Module, ModelCard]:
    """Return the network of a model file, ready to infer, and its card; see `load_weights` for the errors."""
    weights, card = load_weights(path)
    network = build_network(card.architecture)
    load_into(network, weights, path)
    return network.eval(), card


def load_into(network: nn.Module, weights: dict[str, torch.Tensor], path: str) -> None:
    """Give a network the weights of a model file; raise ModelFileError where they do not fit."""
    expected = network.state_dict()
    fits = weights.keys() == expected.keys() and all(
        tensor.shape == expected[name].shape for name, tensor in weights.items()
    )
    if not fits:
        raise ModelFileError(f"The weights in {path} do not fit the network they name.", "Copy it anew.")
    network.load_state_dict(weights)


def load_weights(path: str) -> tuple[dict[str, torch.Tensor], ModelCard]:
    """Return a model file's weights, in FP32 however they are stored, and card.

    Raises
    ------
    ModelFileError
        The file is missing, truncated, a pickle, an ONNX file, or something else than a RoadSeg model.
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
            f"{path} is an ONNX model, which can be run, but not learned from or exported.",
            "Choose the .safetensors model that it was made from.",
        )
    try:
        with Path(path).open("rb") as file:
            start = file.read(9)
    except OSError as error:
        raise ModelFileError(
            f"The model {path} cannot be opened ({error.strerror}).", "Choose a model file."
        ) from error
    is_safetensors = start[8:] == b"{"  # after the header's length, whose bytes may be any
    if not is_safetensors and (start[:2] == b"PK" or start[:1] == b"\x80"):
        raise ModelFileError(
            f"{path} is a pickled PyTorch file. Such files can run code when they are opened, so RoadSeg never does.",
            "Choose a .safetensors model made by RoadSeg.",
        )
