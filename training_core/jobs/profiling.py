"""Jobs about speed: profile training and inference, and compare profiles.

Scope: the fields and their texts. Independent of how time is measured; standard library only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..errors import JobError
from .option import (
    HTML_OUTPUT,
    JSON_OUTPUT,
    MODEL,
    PROFILE,
    RASTER,
    STARTER,
    STARTERS_HELP,
    Job,
    advanced_option,
    option,
)
from .recipe import MIN_CHIP_PX, StepOptions
from .shared import ThreadOptions

TRAINING, INFERENCE, BOTH = "training", "inference", "both"
# Stands for an engine or a precision: all that this computer supports, one after the other.
ALL = "all"


@dataclass(frozen=True)
class Profile(StepOptions, ThreadOptions):
    """Profile training and inference on this computer: see where the time goes and how to make it faster.

    The limits of the processor are measured first: the peak speed of convolutions and matrix products, and the memory
    bandwidth. Then a typical training step, or the segmentation of a tile, is broken down by phase, layer, kind of
    operation and primitive, each with its fraction of the limit that bounds it (roofline model). Advice names changes
    and the time they would save. The changes can be tried at once.

    The profile uses a generated image, or your own image and model. Other programs distort the measurements: close them
    first.
    """

    name: ClassVar[str] = "profile"
    title: ClassVar[str] = "Profile this computer"

    what: str = option(BOTH, "What to profile", choices=(TRAINING, INFERENCE, BOTH)).help(
        "Training steps (training), the segmentation of tiles (inference), or both."
    )
    raster: str = option("", "Image", kind=RASTER).help("Image to profile with. Without one, a scene is generated.")
    model: str = option(STARTER, "Model", kind=MODEL).help(
        f"Model to run and to train: a file, or {STARTERS_HELP}. Leave empty for random weights."
    )
    seconds: float = option(60.0, "Time", unit="s", within=(1, 3600)).help(
        "Total measuring time, divided among the engines and precisions."
    )
    engine: str = advanced_option("auto", "Engine", choices=("auto", "native", "ipex", "openvino", ALL)).help(
        "Backend that runs the model. auto takes native. With all, every installed engine that supports the task is "
        "profiled."
    )
    precision: str = advanced_option("auto", "Precision", choices=("auto", "bf16", "fp32", ALL)).help(
        "Floating-point format of the computation: auto takes bf16 if the processor has a BF16 unit, and fp32 "
        "otherwise. With all, both are profiled if there is a BF16 unit."
    )
    tile_px: int = advanced_option(512, "Tile size", unit="px", within=(64, 8192)).help(
        "Side of the tiles whose segmentation is profiled, with their halo."
    )
    try_advice: bool = option(False, "Try the advice").help(
        "Measure the actual gain of each piece of advice that an option can apply. Each measurement adds about a "
        "quarter of the time."
    )
    report: str = option("", "Report", kind=HTML_OUTPUT).help("HTML report to write.")
    profile: str = option("", "Profile", kind=JSON_OUTPUT).help(
        "JSON file to write with all numbers, for Compare profiles."
    )
    trace: str = option("", "Trace", kind=JSON_OUTPUT).help(
        "File to write with a trace of a few steps, for Perfetto or chrome://tracing."
    )

    def _check_together(self) -> None:
        super()._check_together()
        if 0 < self.chip_px < MIN_CHIP_PX:
            raise JobError(
                f"Chip size (chip_px) cannot be {self.chip_px}.",
                f"Give at least {MIN_CHIP_PX} px, or 0 for the usual one.",
            )
        if self.engine == "openvino" and self.what != INFERENCE:
            raise JobError(
                "The engine openvino does not train.",
                f"Set what to profile (what) to {INFERENCE}, or choose another engine (engine).",
            )


@dataclass(frozen=True)
class CompareProfiles(Job):
    """Compare two profiles: list the parts that became faster or slower, and their share of the whole.

    Takes two profiles written by Profile this computer: before and after a change, of two computers, or of two engines.
    Phases, kinds of operations, layers and primitives are matched by name. Each difference is given in time and as a
    fraction of the step before.
    """

    name: ClassVar[str] = "compareprofiles"
    title: ClassVar[str] = "Compare profiles"

    before: str = option("", "Profile before", kind=PROFILE, required=True).help("JSON file of the profile before.")
    after: str = option("", "Profile after", kind=PROFILE, required=True).help("JSON file of the profile after.")
    report: str = option("", "Report", kind=HTML_OUTPUT).help("HTML report of the differences to write.")
    differences: str = option("", "Differences", kind=JSON_OUTPUT).help("JSON file of the differences to write.")
