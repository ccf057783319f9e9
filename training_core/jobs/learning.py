"""Jobs about training: fine-tuning, live learning, evaluation, active learning (where to label), synthetic scenes.

Scope: the fields and their texts. Independent of how models are trained; standard library only.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from ..errors import JobError
from .option import (
    BANDS,
    FIELD,
    FOLDER,
    HTML_OUTPUT,
    IMAGENET,
    JSON_OUTPUT,
    MODEL,
    MODEL_OUTPUT,
    RASTER,
    RASTER_OUTPUT,
    RASTERS,
    STARTER,
    STARTERS_HELP,
    VECTOR,
    VECTOR_OUTPUT,
    Job,
    advanced_option,
    like,
    option,
)
from .recipe import ARCHITECTURES, AS_BASE, ENCODERS, FPN, IMAGE, MIN_CHIP_PX, MUCH_LABELED, USUAL, RecipeOptions
from .shared import (
    AUTO,
    MAX_PROCESSES,
    ComputeOptions,
    LabelOptions,
    MaskingOptions,
    MaskOptions,
    ProcessOptions,
    ThreadOptions,
    model_option,
)

_WEB_MAPS_HELP = "In QGIS, web maps can be used, too. They are rendered around the labels."
_AOI_HELP = "Polygons in which every road is drawn, so that all other pixels in them are background."


@dataclass(frozen=True)
class FineTune(MaskOptions, RecipeOptions, ProcessOptions, ComputeOptions):
    """Fine-tune a road segmentation model on roads drawn in images.

    Trains on roads drawn as lines or polygons, starting from a base model or from random weights. Training works best
    within an area of interest in which every road is drawn. Before it starts, warnings report roads that are offset
    from the roads in the image, roads outside the area of interest, and too few roads. Part of the labeled area is held
    out to validate the model. The results are a model file, a report with charts and pictures, and validation scores.

    A checkpoint is written next to the model every minute, so that a stopped or interrupted run can be resumed.
    """

    name: ClassVar[str] = "finetune"
    title: ClassVar[str] = "Fine-tune a model"

    rasters: tuple[str, ...] = option((), "Images", kind=RASTERS, required=True).help(
        f"Images in which the roads are drawn. {_WEB_MAPS_HELP}"
    )
    roads: str = option("", "Drawn roads", kind=VECTOR).help("Road center-lines or road polygons drawn on the images.")
    aoi: str = option("", "Area of interest", kind=VECTOR).help(_AOI_HELP)
    base_model: str = option(STARTER, "Base model", kind=MODEL).help(
        f"Model to start from: a file, {STARTERS_HELP}, or {IMAGENET} for an encoder pretrained on ImageNet, which is "
        "fetched from the internet once. A U-Net or encoder of segmentation_models_pytorch in a safetensors file is "
        "accepted, too. Leave empty to train from random weights."
    )
    model: str = option("", "Model", kind=MODEL_OUTPUT, required=True).help("Model file to write.")
    report: str = option("", "Report", kind=HTML_OUTPUT).help("HTML report of the training to write.")
    move_roads: bool = advanced_option(False, "Move roads onto the images").help(
        "Move drawn roads that lie beside the roads in an image, as OpenStreetMap's often do, onto them before "
        "training. The offset is measured for each image. All roads of the image are moved by it, but only if it is "
        "significant."
    )
    class_field: str = advanced_option("", "Road class field", kind=FIELD).help(
        "Field with the class of each road, such as highway or surface, which the model then predicts as well. Roads "
        "without a value count as roads of unknown class."
    )
    speed_field: str = advanced_option("", "Speed field", kind=FIELD).help(
        "Field with the speed on each road in km/h. With a road class field, each class gets its median speed. "
        "Without one, the model predicts speeds in bins of 16 km/h (10 mph) as classes."
    )
    bands: tuple[int, ...] = advanced_option((), "Bands", kind=BANDS, within=(1, 65535)).help(
        "Image bands to train on, counted from 1. By default, the base model's bands or, without a base model, all "
        "bands except alpha."
    )
    resolution_m: float = advanced_option(0.0, "Ground resolution", unit="m", within=(0, 100)).help(
        "Pixel size on the ground for training. Images are resampled to it. 0 takes the base model's resolution or, "
        "without a base model, the first image's."
    )
    interpolation: str = advanced_option("auto", "Weight interpolation", choices=("auto", "no")).help(
        "Interpolate between the weights of the base model and the fine-tuned weights, so that the model keeps more "
        "of the base model's knowledge of other ground. auto goes 70 % or 85 % of the way to the fine-tuned weights "
        f"if this costs little in validation and fewer than {MUCH_LABELED} are labeled. With no, the fine-tuned "
        "weights stay as they are."
    )
    validation_share: float = advanced_option(0.2, "Validation fraction", within=(0.05, 0.5)).help(
        "Fraction of the labeled area that is held out for validation, in blocks (spatial split)."
    )
    architecture: str = advanced_option(AS_BASE, "Architecture", choices=(AS_BASE, *ARCHITECTURES)).help(
        f"Architecture of the model. {AS_BASE} takes the base model's architecture or, without a base model, "
        f"{USUAL[0]}. Any other architecture needs {IMAGENET} as base model, or none. {FPN} has no exact halo."
    )
    encoder: str = advanced_option(AS_BASE, "Encoder", choices=(AS_BASE, *ENCODERS)).help(
        f"Encoder of the model. {AS_BASE} takes the base model's encoder or, without a base model, {USUAL[1]}."
    )
    resume: bool = option(False, "Resume").help(
        "Resume a stopped or interrupted run of the same job from its checkpoint next to the model."
    )
    keep_best: bool = advanced_option(False, "Keep the best when stopped").help(
        "When training is stopped, write the best model so far instead of no model."
    )

    def completed(self) -> tuple["FineTune", list[str]]:
        """Return the job with what whole images and pipelines need besides, and a sentence for each change.

        Whole images need frozen batch norm. A pipeline needs a process for each stage, and at least as many batches in
        a step as there are processes: smaller ones, so that a step keeps its number of chips.
        """
        changes: dict[str, Any] = {}
        told = []
        if self.sample == IMAGE and self.batch_norm != "frozen":
            changes["batch_norm"] = "frozen"
            told.append(
                "Batch norm is frozen, because whole images (sample) are computed in tiles one after the other."
            )
        if self.pipeline_stages > 1:
            asked = 0 if self.processes == AUTO else int(self.processes)
            processes = max(self.pipeline_stages, asked - asked % self.pipeline_stages)
            if self.processes != AUTO and processes != asked:
                changes["processes"] = str(processes)
                told.append(
                    f"{processes} processes (processes) are used, a multiple of the {self.pipeline_stages} "
                    "stages of a pipeline (pipeline_stages)."
                )
            if self.accumulation < processes:
                chips = self.batch_size * self.accumulation
                changes["batch_size"] = batch_size = max(1, chips // processes)
                changes["accumulation"] = accumulation = max(processes, -(-chips // batch_size))
                told.append(
                    f"A step has {accumulation} batches (accumulation) of {batch_size} (batch_size) instead of "
                    f"{self.accumulation} of {self.batch_size}, to fill the stages of the pipeline."
                )
        return replace(self, **changes), told

    @property
    def max_processes(self) -> int:
        """Maximum number of processes with work in each step: whole images are divided into tiles."""
        if self.sample == IMAGE:
            return MAX_PROCESSES
        return self.accumulation

    def _check_together(self) -> None:
        super()._check_together()
        self._require_labels()
        if self.masks and (self.class_field or self.speed_field):
            raise JobError(
                "Label masks (masks) have no fields for classes (class_field, speed_field).",
                "Give drawn roads (roads) instead, or leave the fields out.",
            )
        if self.masks and self.move_roads:
            raise JobError(
                "Label masks (masks) cannot be moved onto the images (move_roads).",
                "Give drawn roads (roads) instead, or leave them where they are.",
            )
        self._check_processes()
        if 0 < self.chip_px < MIN_CHIP_PX:
            raise JobError(
                f"Chip size (chip_px) cannot be {self.chip_px}.",
                f"Give at least {MIN_CHIP_PX} px, or 0 to let the training speed decide.",
            )
        kept = {
            "Frozen stages (frozen_stages) need": self.frozen_stages > 0,
            "Frozen batch norm (batch_norm) needs": self.batch_norm == "frozen",
            "Whole images (sample), whose batch norm is frozen, need": self.sample == IMAGE,
        }
        for what in (what for what, is_kept in kept.items() if is_kept and not self.base_model):
            raise JobError(f"{what} a base model.", "Give a base model (base_model).")

    def _check_processes(self) -> None:
        if self.pipeline_stages > 1:
            self._check_pipeline()
        elif self.processes != AUTO and int(self.processes) > self.max_processes:
            raise JobError(
                f"{self.max_processes} batches a step cannot be divided among {self.processes} processes (processes).",
                f"Raise accumulation to a multiple of {self.processes}, or lower the number of processes.",
            )

    def _check_pipeline(self) -> None:
        if self.encoder_rate not in (0, 1):
            raise JobError(
                "The stages of a pipeline (pipeline_stages) learn at one rate, but the encoder has its own rate "
                f"(encoder_rate {self.encoder_rate:g}).",
                "Set the encoder learning rate to 0 or 1, or pipeline stages to 1.",
            )
        if self.sample == IMAGE:
            raise JobError(
                "The stages of a pipeline (pipeline_stages) pass on whole batches of chips.",
                "Choose chips as sample, or a single stage.",
            )


@dataclass(frozen=True)
class Live(LabelOptions, ThreadOptions):
    """Learn from roads while they are drawn, and predict the roads in view.

    The session lasts until it is stopped. It reads commands as JSON lines from standard input: changes of the drawn
    roads, the area of interest and the places without a road, the view, correcting clicks, pause, keep and stop. It
    writes predictions of the view as GeoTIFFs to its folder, and a checkpoint to resume from.
    """

    name: ClassVar[str] = "live"
    title: ClassVar[str] = "Learn while drawing"
    takes_commands: ClassVar[bool] = True

    raster: str = option("", "Image", kind=RASTER, required=True).help("Image in which the roads are drawn.")
    roads: str = option("", "Drawn roads", kind=VECTOR).help(
        "Roads at the start of the session. Commands add further roads."
    )
    aoi: str = option("", "Area of interest", kind=VECTOR).help(_AOI_HELP)
    no_road: str = option("", "No road here", kind=VECTOR).help(
        "Polygons that contain no roads other than the drawn ones. Commands add further polygons."
    )
    base_model: str = option(STARTER, "Base model", kind=MODEL, required=True).help(
        f"Model to start from: a file, or {STARTERS_HELP}."
    )
    folder: str = option("", "Folder", kind=FOLDER, required=True).help(
        "Folder of the session for predictions and the checkpoint. A checkpoint in it that has the same image and "
        "base model is resumed."
    )
    resolution_m: float = advanced_option(0.0, "Ground resolution", unit="m", within=(0, 100)).help(
        "Pixel size on the ground for learning and prediction. The image is resampled to it. 0 takes the image's own "
        "resolution, unless it is much finer or coarser than the base model's."
    )
    precision: str = like(ComputeOptions, "precision")
    seed: int = advanced_option(0, "Seed", within=(0, 2**31 - 1)).help("Random seed for the choice of image chips.")


@dataclass(frozen=True)
class Evaluate(MaskOptions, MaskingOptions):
    """Evaluate a model against drawn roads: IoU, F1, precision and recall.

    Compares predicted roads with true roads. Use an area on which the model was not trained, such as another part of
    the town or another image. Draw every road in it, within an area of interest. The scores compare pixels, exactly and
    within a tolerance (relaxed). They are given in total, by image and by polygon of the area of interest.
    """

    name: ClassVar[str] = "evaluate"
    title: ClassVar[str] = "Evaluate a model"

    rasters: tuple[str, ...] = option((), "Images", kind=RASTERS, required=True).help(
        f"Images to evaluate on. {_WEB_MAPS_HELP}"
    )
    aoi: str = option("", "Area of interest", kind=VECTOR).help("Polygons in which every road is drawn.")
    model: str = model_option()
    tolerance_m: float = option(3.0, "Tolerance", unit="m", within=(0, 100)).help(
        "Relaxed scores: maximum distance of a predicted road pixel from a true one, and vice versa."
    )
    report: str = option("", "Report", kind=HTML_OUTPUT).help("HTML report of the scores to write.")
    scores: str = option("", "Scores", kind=JSON_OUTPUT).help("JSON file of the scores to write.")

    def _check_together(self) -> None:
        super()._check_together()
        self._require_labels()


@dataclass(frozen=True)
class SuggestLabels(Job):
    """Suggest where labels would help the model most (active learning by uncertainty sampling).

    Ranks square patches of a segmented scene by the entropy of the road probability. Patches that contain both road and
    background are preferred, and patches are spread over the scene and away from labeled areas. Draw every road in the
    first patches, and use these patches as the area of interest of the next training. Errors about which the model is
    confident are not found.
    """

    name: ClassVar[str] = "suggestlabels"
    title: ClassVar[str] = "Suggest where to label"

    raster: str = option("", "Road probability", kind=RASTER, required=True).help(
        "Probability raster of the scene as written by Segment roads, not the mask."
    )
    labeled: str = option("", "Labeled areas", kind=VECTOR).help(
        "Polygons that are labeled already, such as the area of interest of the last training. No patch is suggested "
        "in them, and patches close to them are penalized."
    )
    suggestions: str = option("", "Patches to label", kind=VECTOR_OUTPUT, required=True).help(
        "Patches to write, with rank, uncertainty and road fraction. Draw every road in them, then use them as the "
        "area of interest in training."
    )
    count: int = option(10, "Number of patches", within=(1, 1000)).help("Maximum number of patches.")
    patch_m: float = option(100.0, "Patch size", unit="m", within=(1, 100000)).help(
        "Side of a square patch on the ground. Choose it so that the roads of a patch can be drawn in a few minutes."
    )
    spread: float = advanced_option(0.5, "Spread", within=(0, 1)).help(
        "Penalty on patches close to another patch or to a labeled area. 0 ranks patches by uncertainty alone. 1 "
        "spreads them over all uncertain parts of the scene."
    )


@dataclass(frozen=True)
class MakeScene(Job):
    """Generate a synthetic aerial image with its true roads, for demonstrations and tests.

    Generates streets of all kinds, houses, trees and fields, with shadows and noise. The image is in color, in color
    with near infrared, or panchromatic. The roads are lines with widths, so that models can be trained and evaluated
    without your own data.
    """

    name: ClassVar[str] = "makescene"
    title: ClassVar[str] = "Make a scene"

    raster: str = option("", "Image", kind=RASTER_OUTPUT, required=True).help("Image to write.")
    roads: str = option("", "Roads", kind=VECTOR_OUTPUT, required=True).help("True roads to write, as lines.")
    size_px: int = option(1024, "Size", unit="px", within=(64, 32768)).help("Side of the square image.")
    seed: int = option(0, "Seed", within=(0, 2**31 - 1)).help("Random seed; the same seed gives the same scene.")
    resolution_m: float = advanced_option(0.5, "Ground resolution", unit="m", within=(0.25, 1.0)).help(
        "Pixel size on the ground."
    )
    bands: str = advanced_option("rgb", "Bands", choices=("rgb", "rgbn", "pan")).help(
        "Bands of the image: red, green and blue (rgb), these and near infrared (rgbn), or one panchromatic band (pan)."
    )
    bit_depth: str = advanced_option("8", "Bit depth", choices=("8", "11")).help(
        "Range of values: 0 to 255 as in most images (8), or 0 to 2047 as from many satellites (11)."
    )
    layout: str = option(
        "auto", "Layout", choices=("auto", "mixed", "grid", "organic", "radial", "suburb", "rural", "highway", "sparse")
    ).help(
        "Street plan: villages among fields (mixed), straight blocks (grid), an old town of narrow lanes (organic), "
        "rings and spokes (radial), curved streets with cul-de-sacs (suburb), few roads and tracks (rural), a "
        "motorway with an interchange (highway), or a road or two through wide land (sparse). With auto, the seed "
        "chooses; sparse only where the region is monsoon or any."
    )
    region: str = option(
        "temperate", "Region", choices=("temperate", "himalayan", "desert", "tropical", "monsoon", "any")
    ).help(
        "Buildings, vegetation, and colors of ground, roofs and roads; monsoon has palms and paddies. With any, the "
        "seed chooses a region and varies its colors."
    )
