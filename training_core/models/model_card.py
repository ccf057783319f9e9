"""The model card: architecture, bands, resolution, threshold, training and metrics, as a STAC MLM document.

Scope: the document in a model file's header and its checks. Independent of weights and files.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Annotated, Any

from ..errors import JobError, ModelFileError, shown
from ..geodata.rasters import MAX_VALUE, MIN_STD, MODEL, SCALINGS, Band, ModelInput
from ..geodata.road_classes import MAX_CLASSES, RoadClass, to_document
from ..geodata.tiling import STRIDE_PX
from ..jobs.json_fields import EXACT, Key, Range, parse, read
from .architectures import Architecture

FORMAT = "roadseg-model-1"
MAX_HALO_PX = 4096
# Wider than anything that a training or a drawing gives.
FINEST_M, COARSEST_M, _MAX_CHIP_PX = 1e-4, 1e6, 65536
MLM_SCHEMA = "https://stac-extensions.github.io/mlm/v1.5.2/schema.json"


@dataclass(frozen=True)
class ModelCard:
    """All metadata of a model.

    It was trained on pixels of `resolution_m` on the ground. From the `threshold` on a pixel is road: the probability
    with the best validation F1. With `halo_px` tiles keep nearly all of the mask of an undivided image; 0 if not
    measured. If `threshold_by_image`, images decide on their threshold (see `segmentation.segmenter`), as for a
    starter, which is to map any ground, and models interpolated with it; `threshold` is then for those that cannot.
    `training` tells the user images, minutes, steps, engine, and whom to name; see `attribution`. The metrics are
    validation scores at the threshold.

    Classes are in the order of channels, which follow that of road. `quantization` names the layers that are not INT8,
    and how scores changed. By its `scaling`, values are normalized by the bands' mean and deviation (model), or by
    those of each image (image). The license is the SPDX identifier of the weights' license; empty if unknown, as for a
    model of one's own.
    """

    architecture: Annotated[Architecture, Key("roadseg:architecture"), EXACT]
    bands: tuple[Band, ...]
    resolution_m: Annotated[float, Key("roadseg:resolution_m"), Range(FINEST_M, COARSEST_M)]
    threshold: Annotated[float, Key("roadseg:threshold"), Range(0, 1)] = 0.5
    chip_px: int = 512
    halo_px: Annotated[int, Key("roadseg:halo_px"), Range(0, MAX_HALO_PX)] = 0
    training: Annotated[dict[str, Any], Key("roadseg:training")] = field(default_factory=dict)
    metrics: Annotated[dict[str, Any], Key("roadseg:metrics")] = field(default_factory=dict)
    versions: Annotated[dict[str, Any], Key("roadseg:versions")] = field(default_factory=dict)
    classes: Annotated[tuple[RoadClass, ...], Key("roadseg:classes"), Range(0, MAX_CLASSES)] = ()
    quantization: Annotated[dict[str, Any], Key("roadseg:quantization")] = field(default_factory=dict)
    scaling: Annotated[str, Key("roadseg:scaling")] = MODEL
    license: str = ""
    threshold_by_image: Annotated[bool, Key("roadseg:threshold_by_image")] = False

    @property
    def attribution(self) -> dict[str, str]:
        """Whom to name, by source of its training data, and of its base model's; empty where the card lacks them."""
        names = self.training.get("attribution")
        if not isinstance(names, dict):
            return {}
        return {source: text for source, text in names.items() if isinstance(text, str)}

    @property
    def input(self) -> ModelInput:
        """The input that it takes."""
        return ModelInput(self.bands, self.resolution_m, self.scaling)

    @property
    def band_names(self) -> tuple[str, ...]:
        """The names of its input bands, in order."""
        return tuple(band.name for band in self.bands)

    def require_classes(self, model: str) -> None:
        """Check that it predicts road classes; `model` is its file, for the message.

        Raises JobError if it predicts none.
        """
        if not self.classes:
            raise JobError(
                f"{model} predicts no road classes, so there is nothing to write to road classes (classes).",
                "Leave it out, or choose a model that was trained on roads with classes.",
            )

    def to_document(self) -> dict[str, Any]:
        """Return the JSON document for the file's header."""
        shape = [-1, len(self.bands), self.chip_px, self.chip_px]
        scaling = [{"type": "z-score", "mean": band.mean, "stddev": band.std} for band in self.bands]
        return {
            "format": FORMAT,
            "stac_extensions": [MLM_SCHEMA],
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
            "roadseg:architecture": {
                **asdict(self.architecture),
                "decoder_channels": list(self.architecture.decoder_channels),
            },
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
            **({"roadseg:threshold_by_image": True} if self.threshold_by_image else {}),
        }


@dataclass(frozen=True)
class _Scaling:
    mean: Annotated[float, Range(-MAX_VALUE, MAX_VALUE)]
    stddev: Annotated[float, Range(MIN_STD, MAX_VALUE)]


@dataclass(frozen=True)
class _Shape:
    shape: tuple[Any, Any, Any, Annotated[int, Range(1, _MAX_CHIP_PX)]]


@dataclass(frozen=True)
class _Input:
    bands: tuple[str, ...]
    value_scaling: tuple[_Scaling, ...]
    input: _Shape


@dataclass(frozen=True)
class _Architecture:
    """The members that a file must have for its architecture; no default stands in for them."""

    name: str
    encoder: str
    in_channels: int
    classes: int


@dataclass(frozen=True)
class _Document:
    """The members of a card's document that have another form than in the card."""

    inputs: Annotated[tuple[_Input], Key("mlm:input")]
    architecture: Annotated[_Architecture, Key("roadseg:architecture")]


def card_from_text(text: str, path: str) -> tuple[ModelCard, dict[str, Any]]:
    """Return the checked card in the JSON text of a model file's header, and the document that it was read from.

    Raises ModelFileError if the text is not JSON, has another format, or a part of it is missing or has an invalid
    value.
    """
    try:
        document = parse(text)
        if isinstance(document, dict) and document.get("format") != FORMAT:
            raise ModelFileError(
                f"The format of the model {path} is {shown(document.get('format'))}, not {FORMAT!r}.",
                "Choose a model made by this version of RoadSeg.",
            )
        return _card(document), document
    except ValueError as error:
        raise ModelFileError(
            f"The description in {path} is damaged: {str(error).rstrip('.')}.", "Copy it again or train it again."
        ) from error


def _card(document: Any) -> ModelCard:
    """Return the card in a document; raise ValueError where parts of it do not fit together."""
    (image,) = read(_Document, document, "the document").inputs
    if len(image.bands) != len(image.value_scaling):
        raise ValueError(f"it has {len(image.bands)} bands and {len(image.value_scaling)} scalings")
    bands = [Band(name, each.mean, each.stddev) for name, each in zip(image.bands, image.value_scaling)]
    in_place = {"bands": list(map(asdict, bands)), "chip_px": image.input.shape[-1]}
    card = read(ModelCard, {**document, **in_place}, "the document")
    try:
        card.architecture.validate()
    except ModelFileError as error:
        raise ValueError(error.message) from error
    if (len(bands), 1 + len(card.classes)) != (card.architecture.in_channels, card.architecture.classes):
        raise ValueError(
            f"it names {len(bands)} bands and {1 + len(card.classes)} classes, and its architecture has "
            f"{card.architecture.in_channels} and {card.architecture.classes}"
        )
    if card.scaling not in SCALINGS or card.halo_px % STRIDE_PX:
        raise ValueError(f"its scaling is {shown(card.scaling)} and its halo {card.halo_px} px")
    return card
