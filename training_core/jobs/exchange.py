"""Jobs that convert or combine models, and that export training data: ONNX, 8-bit quantization, merging, chips.

Scope: the fields and their texts. Independent of formats and of how models are converted; standard library only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..errors import JobError
from .option import (
    FOLDER_OUTPUT,
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

    onnx: str = option("", "ONNX model", kind=ONNX_OUTPUT, required=True, needs="onnx").help("ONNX file to write.")
    tile_px: int = advanced_option(512, "Tile size", unit="px", within=(0, 8192)).help(
        "Input size of the ONNX model in other programs, rounded up to a multiple of 32. 0 makes it dynamic, but the "
        "plugin Deepness cannot open dynamic models. RoadSeg itself runs the model at any tile size."
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
    stac_item: str = option("", "STAC item", kind=JSON_OUTPUT).help(
        "JSON file to write. It describes the model's bands, normalization, classes, license and attribution to "
        "catalogs and other programs, in the terms of STAC MLM."
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
    rasters: tuple[str, ...] = option((), "Images", kind=RASTERS, required=True).help(
        "Images similar to those that the model will be used on. Chips of them are used for calibration and validation."
    )
    roads: str = option("", "Drawn roads", kind=VECTOR).help(
        "True roads in the images. With them, IoU and APLS may each drop by 0.005 at most. Without them, 99.5 % of "
        "the pixels must keep their class."
    )
    aoi: str = option("", "Area of interest", kind=VECTOR).help("Polygons in which every road is drawn.")
    chips: int = advanced_option(24, "Chips", within=(2, 1000)).help(
        "Number of image chips: half for calibration, half for validation."
    )
    chip_px: int = advanced_option(512, "Chip size", unit="px", within=(64, 4096)).help("Side of a chip.")
    seed: int = advanced_option(0, "Seed", within=(0, 2**31 - 1)).help("Random seed for the choice of chips.")

    def packages(self) -> list[str]:
        """See Job; the set that has these has all others."""
        return ["nncf", "onnxruntime"]

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

    models: tuple[str, ...] = option((), "Models", kind=MODELS, required=True).help(
        "Model files to merge, fine-tuned from the same base model: two or more."
    )
    weights: tuple[float, ...] = option((), "Weights", kind=NUMBERS, within=(0.001, 1000)).help(
        "A weight for each model, in the order of the models, such as 2, 1. By default the weight is the number of "
        "labeled pixels in the model's training data, as stored in the model file."
    )
    rasters: tuple[str, ...] = option((), "Images", kind=RASTERS).help(
        "Images similar to those that the merged model will be used on. Batch normalization statistics are measured "
        "on chips of them. Without images, the statistics are averaged, too."
    )
    model: str = option("", "Merged model", kind=MODEL_OUTPUT, required=True).help("Model file to write.")

    def _check_together(self) -> None:
        super()._check_together()
        if len(self.models) < 2:
            raise JobError("There is only one model (models).", "Give two or more; the same one may be given twice.")
        if self.weights and len(self.weights) != len(self.models):
            raise JobError(
                f"There are {len(self.models)} models (models), but {len(self.weights)} weights (weights).",
                "Give a weight for each model, or none.",
            )


GEOTIFF, COCO, ESRI = "geotiff", "coco", "esri"


@dataclass(frozen=True)
class ExportChips(MaskOptions):
    """Export training chips: parts of images with their labels, in a format on which other programs can train.

    Cuts the labeled parts of the images into square chips of one size. The labels are 1 for road, 0 for background and
    255 for unknown, taken from drawn roads or label masks. RoadSeg reads all formats back as images and label masks.
    """

    name: ClassVar[str] = "exportchips"
    title: ClassVar[str] = "Export training chips"

    rasters: tuple[str, ...] = option((), "Images", kind=RASTERS, required=True).help("Images to cut chips from.")
    aoi: str = option("", "Area of interest", kind=VECTOR).help("Polygons in which every road is drawn.")
    folder: str = option("", "Folder", kind=FOLDER_OUTPUT, required=True).help(
        "Folder to write. It must be new or empty."
    )
    format: str = option(GEOTIFF, "Format", choices=(GEOTIFF, COCO, ESRI)).help(
        "Layout of the folder. geotiff contains images, masks and a STAC index. coco contains images, and polygons of "
        "their roads in annotations.json. esri contains images and labels in the layout of classified tiles that "
        "ArcGIS exports."
    )
    chip_px: int = option(256, "Chip size", unit="px", within=(32, 4096)).help("Side of a chip.")
    overlap_px: int = option(0, "Overlap", unit="px", within=(0, 4064)).help(
        "Number of pixels that neighboring chips share."
    )
    min_labeled: float = option(0.0, "Minimum labeled fraction", within=(0, 1)).help(
        "Chips with a smaller labeled fraction are left out. 1 leaves out all chips with unknown pixels. 0 leaves out "
        "only chips without labels."
    )

    def _check_together(self) -> None:
        super()._check_together()
        self._require_labels()
        if self.overlap_px >= self.chip_px:
            raise JobError(
                f"Chips of {self.chip_px} px (chip_px) cannot share {self.overlap_px} px (overlap_px).",
                "Give a smaller overlap.",
            )
