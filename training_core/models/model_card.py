"""The model card: architecture, bands, resolution, threshold, training and metrics, as a STAC MLM document.

Scope: the document in a model file's header and its checks. Independent of weights and files.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any

from ..errors import ModelFileError
from ..geodata.model_input import MODEL, SCALINGS, ModelInput
from ..geodata.rasters import Band
from ..geodata.road_classes import RoadClass, from_document, to_document
from ..geodata.tiling import STRIDE_PX
from .unet import Architecture

FORMAT = "roadseg-model-1"
LARGEST_HALO_PX = 4096
_STAC_EXTENSION = "https://stac-extensions.github.io/mlm/v1.5.0/schema.json"


@dataclass(frozen=True)
class ModelCard:
    """All metadata of a model.

    Parameters
    ----------
    architecture : Architecture
    bands : tuple of Band
        Its input bands, in order, with mean and deviation.
    resolution_m : float
        Ground size of the pixels it was trained on, in meters.
    threshold : float
        Probability from which a pixel is road: the one with the best validation F1.
    chip_px : int
        Side of the chips it was trained on.
    halo_px : int
        Halo with which tiles keep nearly all of the mask of an undivided image (see `halo`); 0 if not measured.
    training : dict
        How it was trained, for the user: images, minutes, steps, engine.
    metrics : dict
        Validation scores at the threshold.
    versions : dict
        Of RoadSeg and the libraries.
    classes : tuple of RoadClass
        The road classes it predicts, in the order of its channels, which follow that of road.
    quantization : dict
        If quantized to INT8: which layers were not, and how the scores changed.
    scaling : str
        Whether values are normalized by the bands' mean and deviation (model), or by those of each image (image); see
        `model_input`.
    license : str
        SPDX identifier of the weights' license; empty if unknown, as for a model of one's own.
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
        """Which input it takes."""
        return ModelInput(self.bands, self.resolution_m, self.scaling)

    @property
    def band_names(self) -> tuple[str, ...]:
        """The names of its input bands, in order."""
        return tuple(band.name for band in self.bands)

    def to_document(self) -> dict[str, Any]:
        """Return the JSON document for the file's header."""
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
    """Return the card in a header's JSON document, checked; see `ModelCard.to_document`.

    Raises
    ------
    ModelFileError
        A part is missing or has an invalid value.
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
        raise ModelFileError("The model file's description has invalid values.", "Copy it anew or train it again.")
    return card
