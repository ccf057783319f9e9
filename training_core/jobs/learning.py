"""Jobs about what a model learns: fine-tuning it, scoring it, where to label next, and scenes to learn from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..errors import JobError
from .option import (
    BANDS,
    FIELD,
    FOLDER,
    HTML_OUTPUT,
    JSON_OUTPUT,
    MODEL,
    MODEL_OUTPUT,
    RASTER,
    RASTER_OUTPUT,
    RASTERS,
    STARTER,
    VECTOR,
    VECTOR_OUTPUT,
    Job,
    option,
)
from .recipe import RecipeOptions
from .shared import ComputeOptions, LabelOptions, SegmentOptions, model_option


@dataclass(frozen=True)
class FineTune(LabelOptions, RecipeOptions, ComputeOptions):
    """Teach a network the roads drawn in an image.

    Learns from roads drawn as lines or polygons, best within an area of interest in which every road is drawn, and
    starts from a base model or afresh. Before it learns, it warns of roads that lie beside those of the image, lie
    outside of the area of interest, or are too few. A part of the ground is kept apart to score the model on. The
    result is a model file, a report with charts and pictures, and the scores.

    Every minute a checkpoint is written beside the model, from which a run that was stopped or cut off goes on.
    """

    name: ClassVar[str] = "finetune"
    title: ClassVar[str] = "Fine-tune a model"

    rasters: tuple[str, ...] = option(
        (), "Images", "The images in which the roads are drawn.", kind=RASTERS, required=True
    )
    roads: str = option(
        "", "Drawn roads", "Road center-lines or road polygons drawn on the images.", kind=VECTOR, required=True
    )
    aoi: str = option(
        "",
        "Area of interest",
        "Polygons within which every road is drawn, so that all else in them is known to be no road.",
        kind=VECTOR,
    )
    base_model: str = option(
        STARTER,
        "Base model",
        f"Model to start from: a file, or {STARTER} for the model that comes with RoadSeg. Left empty, learning starts "
        "fresh.",
        kind=MODEL,
    )
    model: str = option("", "Model", "Where to write the model.", kind=MODEL_OUTPUT, required=True)
    report: str = option("", "Report", "Where to write the HTML report of the training.", kind=HTML_OUTPUT)
    class_field: str = option(
        "",
        "Road class field",
        "Field that holds each road's class, such as highway or surface; the model then tells the classes apart. Roads "
        "where it is empty are learned from as roads alone.",
        kind=FIELD,
    )
    speed_field: str = option(
        "",
        "Speed field",
        "Field that holds the speed on each road in km/h. Without a road class field the model tells apart bins of 16 "
        "km/h (10 mph); with one, it gives each class its speed.",
        kind=FIELD,
    )
    bands: tuple[int, ...] = option(
        (),
        "Bands",
        "Image bands to learn from, counted from 1; none given means the base model's, or else all but alpha.",
        kind=BANDS,
        minimum=1,
        maximum=65535,
        advanced=True,
    )
    resolution_m: float = option(
        0.0,
        "Ground resolution",
        "Size of a pixel on the ground at which to work; 0 takes the base model's, or else the first image's own.",
        unit="m",
        minimum=0,
        maximum=100,
        advanced=True,
    )
    validation_share: float = option(
        0.2,
        "Validation share",
        "Share of the labeled ground, in blocks, that is kept apart to measure how good the model is.",
        minimum=0.05,
        maximum=0.5,
        advanced=True,
    )
    resume: bool = option(
        False,
        "Resume",
        "Go on from the checkpoint that a run of the same job, cut off or stopped, has left beside the model.",
    )
    keep_best: bool = option(
        False,
        "Keep the best when stopped",
        "When the training is stopped, write the best model so far instead of none.",
    )
    log_folder: str = option(
        "",
        "TensorBoard folder",
        "Where to write logs for TensorBoard, in a folder of their own for each run.",
        kind=FOLDER,
        advanced=True,
    )

    def validate(self) -> None:
        """See Job.validate; also wants a base model where stages of it are to be kept."""
        super().validate()
        if not self.base_model and (self.frozen_stages or self.batch_norm == "frozen"):
            name = "Frozen stages (frozen_stages)" if self.frozen_stages else "Batch norm (batch_norm) frozen"
            raise JobError(
                f"{name} keep what a base model knows, but there is none.", "Give a base model (base_model)."
            )


@dataclass(frozen=True)
class Evaluate(LabelOptions, SegmentOptions):
    """Score a model against drawn roads.

    Compares what a model finds with true roads, best on ground that it has not learned from: another part of the
    town, or another image. All roads there must be drawn, within an area of interest. The scores compare pixel by
    pixel, strictly and within a tolerance: for all ground, for each image and for each polygon of the area of interest.
    """

    name: ClassVar[str] = "evaluate"
    title: ClassVar[str] = "Evaluate a model"

    rasters: tuple[str, ...] = option((), "Images", "The images to score on.", kind=RASTERS, required=True)
    roads: str = option("", "Drawn roads", "The true roads, as lines or polygons.", kind=VECTOR, required=True)
    aoi: str = option("", "Area of interest", "Polygons within which every road is drawn.", kind=VECTOR)
    model: str = model_option()
    tolerance_m: float = option(
        3.0,
        "Tolerance",
        "How far from a true road a found one may lie, and the other way round, to count in the relaxed scores.",
        unit="m",
        minimum=0,
        maximum=100,
    )
    report: str = option("", "Report", "Where to write the HTML report of the scores.", kind=HTML_OUTPUT)
    scores: str = option("", "Scores", "Where to write the scores as JSON.", kind=JSON_OUTPUT)


@dataclass(frozen=True)
class SuggestLabels(Job):
    """Suggest the patches of a segmented scene in which a label would help the model most.

    Looks for ground where the model is sure neither of road nor of its absence, as the entropy of its probability
    tells, and rather for patches with both than with one of them. The patches lie side by side, spread over the scene
    and away from what is labeled already, and are ranked: draw every road in the first ones, and take these as area of
    interest of the next training. Where a model is sure and wrong is not found in this way.
    """

    name: ClassVar[str] = "suggestlabels"
    title: ClassVar[str] = "Suggest where to label"

    raster: str = option(
        "",
        "Road probability",
        "What a model has found in the scene, as Segment roads writes it: the probability, not the mask.",
        kind=RASTER,
        required=True,
    )
    labeled: str = option(
        "",
        "Labeled areas",
        "Polygons that are labeled already, such as the area of interest of the last training. No patch is suggested "
        "there, and rather far from there than near.",
        kind=VECTOR,
    )
    suggestions: str = option(
        "",
        "Patches to label",
        "Where to write the patches, with rank, uncertainty and share of road; once every road in them is drawn, they "
        "can be the area of interest of a training.",
        kind=VECTOR_OUTPUT,
        required=True,
    )
    count: int = option(10, "Number of patches", "How many patches to suggest at most.", minimum=1, maximum=1000)
    patch_m: float = option(
        100.0,
        "Patch size",
        "Side of a square patch on the ground. What lies in one should be drawn in some minutes.",
        unit="m",
        minimum=1,
        maximum=100000,
    )
    spread: float = option(
        0.5,
        "Spread",
        "How much a patch counts for less that lies near another one or labeled ground: 0 takes the most uncertain "
        "patches wherever they lie, 1 spreads them over the scene as far as it is uncertain at all.",
        minimum=0,
        maximum=1,
        advanced=True,
    )


@dataclass(frozen=True)
class MakeScene(Job):
    """Generate an aerial scene with its true roads, for demonstrations and tests.

    Generates streets of all kinds, houses, trees and fields, with shadows and noise, in color, with near infrared or
    panchromatic. The roads are lines with their widths, so that a model can be trained and scored without any data of
    one's own.
    """

    name: ClassVar[str] = "makescene"
    title: ClassVar[str] = "Make a scene"

    raster: str = option("", "Image", "Where to write the image.", kind=RASTER_OUTPUT, required=True)
    roads: str = option("", "Roads", "Where to write the true roads.", kind=VECTOR_OUTPUT, required=True)
    size_px: int = option(1024, "Size", "Side of the square image.", unit="px", minimum=64, maximum=32768)
    seed: int = option(0, "Seed", "The same seed gives the same scene.", minimum=0, maximum=2**31 - 1)
    resolution_m: float = option(
        0.5, "Ground resolution", "Side of a pixel on the ground.", unit="m", minimum=0.25, maximum=1.0, advanced=True
    )
    bands: str = option(
        "rgb",
        "Bands",
        "What the image holds: red, green and blue (rgb), the same and near infrared (rgbn), or a single panchromatic "
        "band (pan).",
        choices=("rgb", "rgbn", "pan"),
        advanced=True,
    )
    bit_depth: str = option(
        "8",
        "Bit depth",
        "Values from 0 to 255 as in most images (8), or from 0 to 2047 as from many satellites (11).",
        choices=("8", "11"),
        advanced=True,
    )
    layout: str = option(
        "auto",
        "Layout",
        "The kind of street plan: villages among fields (mixed), straight blocks (grid), an old town of narrow lanes "
        "(organic), rings and spokes (radial), curved streets with cul-de-sacs (suburb), few roads and tracks (rural), "
        "or a motorway with an interchange (highway). The choice auto leaves it to the seed.",
        choices=("auto", "mixed", "grid", "organic", "radial", "suburb", "rural", "highway"),
    )
    region: str = option(
        "temperate",
        "Region",
        "What is built and grows there, and the colors of ground, roofs and roads; any draws a region by the seed, and "
        "varies its colors.",
        choices=("temperate", "himalayan", "desert", "tropical", "any"),
    )
