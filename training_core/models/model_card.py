"""The model card: architecture, bands, resolution, threshold, training and metrics, as a STAC MLM document.

Scope: the document in a model file's header and its checks. Independent of weights and files.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from ..errors import ModelFileError, shown
from ..geodata.model_input import MODEL, SCALINGS, ModelInput
from ..geodata.rasters import MAX_VALUE, MIN_STD, Band
from ..geodata.road_classes import FASTEST_KMH, MAX_CLASSES, SLOWEST_KMH, RoadClass, to_document
from ..geodata.tiling import STRIDE_PX
from ..jobs.untrusted_json import parse
from .architectures import MAX_BANDS, Architecture
from .card_fields import Fields

FORMAT = "roadseg-model-1"
MAX_HALO_PX = 4096
# Wider than anything that a training or a drawing gives.
_FINEST_M, _COARSEST_M, _MAX_CHIP_PX = 1e-4, 1e6, 65536
_STAC_EXTENSION = "https://stac-extensions.github.io/mlm/v1.5.0/schema.json"


@dataclass(frozen=True)
class ModelCard:
    """All metadata of a model.

    Parameters
    ----------
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
        How it was trained, for the user: images, minutes, steps, engine, and whom to name; see `attribution`.
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
    def attribution(self) -> dict[str, str]:
        """Whom to name, by source of its training data, and of its base model's; empty where the card tells none."""
        told = self.training.get("attribution")
        if not isinstance(told, dict):
            return {}
        return {source: text for source, text in told.items() if isinstance(text, str)}

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


def card_from_text(text: str, path: str) -> tuple[ModelCard, dict[str, Any]]:
    """Return the card in the JSON text of a model file's header, checked; see `ModelCard.to_document`.

    Parameters
    ----------
    path : str
        The file, for messages.

    Returns
    -------
    card : ModelCard
    document : dict
        What it was read from.

    Raises
    ------
    ModelFileError
        It is no JSON, of another format, or a part of it is missing or has an invalid value.
    """
    try:
        document = parse(text)
        fields = Fields(document, "the document")
        if document.get("format") == FORMAT:
            return _card(fields), document
    except ValueError as error:
        raise ModelFileError(
            f"The description in {path} is damaged: {str(error).rstrip('.')}.", "Copy it anew or train it again."
        ) from error
    raise ModelFileError(
        f"The format of the model {path} is {shown(document.get('format'))}, not {FORMAT!r}.",
        "Choose a model made by this version of RoadSeg.",
    )


def _card(fields: Fields) -> ModelCard:
    """Return the card in a document; raise ValueError where a part of it is invalid."""
    architecture = _architecture(fields.inner("roadseg:architecture"))
    classes = _classes(fields)
    image = _only(fields, "mlm:input")
    bands = _bands(image)
    shape = image.inner("input").items("shape")
    if len(shape) != 4 or type(shape[3]) is not int or not 1 <= shape[3] <= _MAX_CHIP_PX:
        raise ValueError(f"the input's shape is {shown(shape)}")
    if (len(bands), 1 + len(classes)) != (architecture.in_channels, architecture.classes):
        raise ValueError(
            f"it names {len(bands)} bands and {1 + len(classes)} classes, and its architecture has "
            f"{architecture.in_channels} and {architecture.classes}"
        )
    scaling, halo_px = fields.text("roadseg:scaling", MODEL), fields.whole("roadseg:halo_px", 0, MAX_HALO_PX, 0)
    if scaling not in SCALINGS or halo_px % STRIDE_PX:
        raise ValueError(f"its scaling is {shown(scaling)} and its halo {halo_px} px")
    return ModelCard(
        architecture=architecture,
        bands=bands,
        resolution_m=fields.number("roadseg:resolution_m", _FINEST_M, _COARSEST_M),
        threshold=fields.number("roadseg:threshold", 0, 1),
        chip_px=shape[3],
        halo_px=halo_px,
        training=fields.inner("roadseg:training").plain(),
        metrics=fields.inner("roadseg:metrics").plain(),
        versions=fields.inner("roadseg:versions").plain(),
        classes=classes,
        quantization=fields.inner("roadseg:quantization", {}).plain(),
        scaling=scaling,
        license=fields.text("license", ""),
    )


def _architecture(fields: Fields) -> Architecture:
    architecture = Architecture(
        fields.text("name"),
        fields.text("encoder"),
        fields.whole("in_channels", 1, MAX_BANDS),
        fields.whole("classes", 1, 1 + MAX_CLASSES),
    )
    if fields.plain().keys() != asdict(architecture).keys():
        raise ValueError("its architecture has other members than RoadSeg knows")
    try:
        architecture.validate()
    except ModelFileError as error:
        raise ValueError(error.message) from error
    return architecture


def _bands(image: Fields) -> tuple[Band, ...]:
    names, scalings = image.texts("bands"), image.items("value_scaling")
    if len(names) != len(scalings):
        raise ValueError(f"it has {len(names)} bands and {len(scalings)} scalings")
    bands = []
    for name, value in zip(names, scalings):
        scaling = Fields(value, f"the scaling of {name}")
        mean = scaling.number("mean", -MAX_VALUE, MAX_VALUE)
        bands.append(Band(name, mean, scaling.number("stddev", MIN_STD, MAX_VALUE)))
    return tuple(bands)


def _classes(fields: Fields) -> tuple[RoadClass, ...]:
    entries = [Fields(value, "a class") for value in fields.items("roadseg:classes", [])]
    classes = tuple(
        RoadClass(each.text("name"), each.number("speed_kmh", SLOWEST_KMH, FASTEST_KMH)) for each in entries
    )
    if not all(each.name for each in classes):
        raise ValueError("a class has no name")
    return classes


def _only(fields: Fields, key: str) -> Fields:
    """Return the members of the one object in a list."""
    values = fields.items(key)
    if len(values) != 1:
        raise ValueError(f"{key} has {len(values)} items instead of one")
    return Fields(values[0], key)
