"""Jobs that make another file of a model: one that other programs read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from .option import MODEL, ONNX_OUTPUT, Job, option


@dataclass(frozen=True)
class ExportModel(Job):
    """Write a model as an ONNX file, which other programs can run."""

    name: ClassVar[str] = "exportmodel"
    title: ClassVar[str] = "Export a model"

    model: str = option("", "Model", "The model file.", kind=MODEL, required=True)
    onnx: str = option("", "ONNX model", "Where to write the ONNX file.", kind=ONNX_OUTPUT, required=True)
    tile_px: int = option(
        512,
        "Tile size",
        "Side of the squares that other programs give the model, rounded up to a multiple of 32; 0 leaves it free, "
        "which the plugin Deepness cannot open. RoadSeg gives it tiles of any size.",
        unit="px",
        minimum=0,
        maximum=8192,
        advanced=True,
    )
