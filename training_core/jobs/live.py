"""The job behind the panel RoadSeg live: learn from roads while they are drawn, and show predictions.

Scope: the fields and their texts. Independent of how the session works; standard library only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from .option import FOLDER, MODEL, RASTER, STARTER, VECTOR, option
from .shared import LabelOptions, ThreadOptions


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

    raster: str = option("", "Image", "Image in which the roads are drawn.", kind=RASTER, required=True)
    roads: str = option(
        "", "Drawn roads", "Roads to begin with; further ones come as commands.", kind=VECTOR
    )  # fmt: skip
    aoi: str = option(
        "",
        "Area of interest",
        "Polygons in which every road is drawn, so that all other pixels in them are background.",
        kind=VECTOR,
    )
    base_model: str = option(
        STARTER,
        "Base model",
        f"Model to start from: a file, or {STARTER} for the pretrained model that comes with RoadSeg.",
        kind=MODEL,
        required=True,
    )
    folder: str = option(
        "",
        "Folder",
        "Folder of the session, for predictions and the checkpoint. A checkpoint of the same image and base model "
        "there is resumed.",
        kind=FOLDER,
        required=True,
    )
    resolution_m: float = option(
        0.0,
        "Ground resolution",
        "Pixel size on the ground to work at; the image is resampled to it. 0 takes the image's own, unless it is much "
        "finer or coarser than that of the base model.",
        unit="m",
        minimum=0,
        maximum=100,
        advanced=True,
    )
    precision: str = option(
        "auto",
        "Precision",
        "Floating-point format of the computation: auto takes bf16 if the processor has a BF16 unit, and is not slower "
        "in bf16 than in fp32; else fp32.",
        choices=("auto", "bf16", "fp32"),
        advanced=True,
    )
    seed: int = option(
        0, "Seed", "Random seed of the image chips that are learned from.", minimum=0, maximum=2**31 - 1, advanced=True
    )
