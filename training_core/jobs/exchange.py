"""Jobs that make another file of a model: one that other programs read, or that computes faster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..errors import JobError
from .option import ONNX_OUTPUT, RASTERS, VECTOR, Job, option
from .shared import LabelOptions, ThreadOptions, model_option


@dataclass(frozen=True)
class OnnxOptions(Job):
    """The ONNX file to write."""

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


@dataclass(frozen=True)
class ExportModel(OnnxOptions):
    """Write a model as an ONNX file, which other programs can run.

    The ONNX file runs in ONNX Runtime, OpenVINO and the QGIS plugin Deepness. RoadSeg's other algorithms take it in
    place of the model, but cannot learn from it; so keep the original.
    """

    name: ClassVar[str] = "exportmodel"
    title: ClassVar[str] = "Export a model"

    model: str = model_option()


@dataclass(frozen=True)
class Quantize(LabelOptions, OnnxOptions, ThreadOptions):
    """Make a model compute with 8-bit integers, which is faster, and check that it still finds the same roads.

    Makes an ONNX file that computes with 8-bit integers, faster and down to a quarter of the size. Pieces of images of
    the kind that the model is for are looked at: on half of them its numbers are measured, on the other half the roads
    found before and after are compared. With true roads, no more than 0.005 of IoU and of APLS may be lost; without, no
    more than 0.5 % of the pixels may turn over. Where that cannot be kept, parts of the network get their precision
    back; where nothing helps, there is no file.
    """

    name: ClassVar[str] = "quantize"
    title: ClassVar[str] = "Quantize a model"

    model: str = model_option()
    rasters: tuple[str, ...] = option(
        (),
        "Images",
        "Images of the kind that the model is for: on pieces of them its numbers are measured, and the result checked.",
        kind=RASTERS,
        required=True,
    )
    roads: str = option(
        "",
        "Drawn roads",
        "True roads on the images. With them the model may lose no more than 0.005 of its IoU and of its APLS; "
        "without, 99.5 % of the pixels must stay what they were.",
        kind=VECTOR,
    )
    aoi: str = option("", "Area of interest", "Polygons within which every road is drawn.", kind=VECTOR)
    chips: int = option(
        24,
        "Chips",
        "How many pieces of the images to look at: half of them to measure, half to check.",
        minimum=2,
        maximum=1000,
        advanced=True,
    )
    chip_px: int = option(512, "Chip size", "Side of the pieces.", unit="px", minimum=64, maximum=4096, advanced=True)
    seed: int = option(0, "Seed", "Decides which pieces are taken.", minimum=0, maximum=2**31 - 1, advanced=True)

    def validate(self) -> None:
        """See Job.validate; also wants roads where there is an area of interest."""
        super().validate()
        if self.aoi and not self.roads:
            raise JobError(
                "An area of interest (aoi) says where all roads are drawn, but there are no drawn roads (roads).",
                "Give the roads, or leave it out.",
            )
