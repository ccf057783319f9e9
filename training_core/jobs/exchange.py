"""Jobs that convert or combine models: ONNX export, 8-bit quantization, merging.

Scope: the fields and their texts. Independent of how models are converted or merged; standard library only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..errors import JobError
from .option import (
    JSON_OUTPUT,
    MODEL_OUTPUT,
    MODELS,
    NUMBERS,
    ONNX_OUTPUT,
    RASTERS,
    VECTOR,
    Job,
    advanced_option,
    option,
)
from .shared import MaskOptions, ThreadOptions, model_option


@dataclass(frozen=True)
class OnnxOptions(Job):
    """Options of every job that writes an ONNX file."""

    onnx: str = option("", "ONNX model", "ONNX file to write.", kind=ONNX_OUTPUT, required=True)
    tile_px: int = advanced_option(
        512,
        "Tile size",
        "Input size of the ONNX model in other programs, rounded up to a multiple of 32. 0 makes it dynamic, but the "
        "plugin Deepness cannot open dynamic models. RoadSeg itself runs the model at any tile size.",
        unit="px",
        within=(0, 8192),
    )


@dataclass(frozen=True)
class ExportModel(OnnxOptions):
    """Export a model to ONNX, so that other programs can run it.

    The ONNX file runs in ONNX Runtime, OpenVINO and the QGIS plugin Deepness. RoadSeg's other algorithms run it as
    well, but cannot fine-tune it: keep the original model.
    """

    name: ClassVar[str] = "exportmodel"
    title: ClassVar[str] = "Export a model"

    model: str = model_option()
    stac_item: str = option(
        "",
        "STAC item",
        "JSON file to write. It describes the model's bands, normalization, classes, license and attribution to "
        "catalogs and other programs, in the terms of STAC MLM.",
        kind=JSON_OUTPUT,
    )


@dataclass(frozen=True)
class Quantize(MaskOptions, OnnxOptions, ThreadOptions):
    """Quantize a model to 8-bit integers (INT8) for speed, and check that it still finds the same roads.

    Post-training quantization to an ONNX file, which runs faster and has down to a quarter of the size. Half of the
    sampled image chips calibrate the ranges of activations, and the other half validate the result. With true roads,
    IoU and APLS may each drop by 0.005 at most. Without true roads, at most 0.5 % of the pixels may change their class.
    If a limit is exceeded, some layers are kept in full precision. If that does not suffice, no file is written.
    """

    name: ClassVar[str] = "quantize"
    title: ClassVar[str] = "Quantize a model"

    model: str = model_option()
    rasters: tuple[str, ...] = option(
        (),
        "Images",
        "Images similar to those that the model will be used on. Chips of them are used for calibration and "
        "validation.",
        kind=RASTERS,
        required=True,
    )
    roads: str = option(
        "",
        "Drawn roads",
        "True roads in the images. With them, IoU and APLS may each drop by 0.005 at most. Without them, 99.5 % of "
        "the pixels must keep their class.",
        kind=VECTOR,
    )
    aoi: str = option("", "Area of interest", "Polygons in which every road is drawn.", kind=VECTOR)
    chips: int = advanced_option(
        24, "Chips", "Number of image chips: half for calibration, half for validation.", within=(2, 1000)
    )
    chip_px: int = advanced_option(512, "Chip size", "Side of a chip.", unit="px", within=(64, 4096))
    seed: int = advanced_option(0, "Seed", "Random seed for the choice of chips.", within=(0, 2**31 - 1))

    def _check_together(self) -> None:
        super()._check_together()
        if self.no_road and not self.roads:
            raise JobError(
                "Places without a road (no_road) need drawn roads (roads).",
                "Give the roads that are drawn around them, or leave out these places.",
            )
        if self.aoi and not (self.roads or self.masks):
            raise JobError(
                "An area of interest (aoi) needs drawn roads (roads) or label masks (masks).",
                "Give the roads that are drawn in it, or leave out the area of interest.",
            )


@dataclass(frozen=True)
class MergeModels(ThreadOptions):
    """Merge models that were fine-tuned from the same base model into one, without their images.

    Offices that may not exchange images can exchange models. Each office fine-tunes the same base model on its own
    images, and the merged model is the weighted average of their weights (federated averaging). Architecture, bands,
    ground resolution and classes must be the same. The averaged weights need new batch normalization statistics, which
    are measured on your images. No drawn roads are needed.

    The merged model has no validation scores: evaluate it.
    """

    name: ClassVar[str] = "mergemodels"
    title: ClassVar[str] = "Merge models"

    models: tuple[str, ...] = option(
        (), "Models", "Model files to merge, fine-tuned from the same base model: two or more.", kind=MODELS,
        required=True
    )  # fmt: skip
    weights: tuple[float, ...] = option(
        (),
        "Weights",
        "A weight for each model, in the order of the models, such as 2, 1. By default the weight is the number of "
        "labeled pixels in the model's training data, as stored in the model file.",
        kind=NUMBERS,
        within=(0.001, 1000),
    )
    rasters: tuple[str, ...] = option(
        (),
        "Images",
        "Images similar to those that the merged model will be used on. Batch normalization statistics are measured "
        "on chips of them. Without images, the statistics are averaged, too.",
        kind=RASTERS,
    )
    model: str = option("", "Merged model", "Model file to write.", kind=MODEL_OUTPUT, required=True)

    def _check_together(self) -> None:
        super()._check_together()
        if len(self.models) < 2:
            raise JobError("There is only one model (models).", "Give two or more; the same one may be given twice.")
        if self.weights and len(self.weights) != len(self.models):
            raise JobError(
                f"There are {len(self.models)} models (models), but {len(self.weights)} weights (weights).",
                "Give a weight for each model, or none.",
            )
