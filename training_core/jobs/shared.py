"""Options that several jobs share."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import JobError
from .option import FIELD, MODEL, STARTER, Job, option

# Environment variables that say what a job may take of the machine where it does not say so itself.
THREADS_VARIABLE, MEMORY_VARIABLE = "ROADSEG_THREADS", "ROADSEG_MEMORY_GB"


def _engine_option(*engines: str) -> str:
    """Return the field that chooses between engines."""
    return option(
        "auto",
        "Engine",
        "What runs the network. The choice auto times those that are installed on the shapes at hand, and takes "
        "another than native where it is clearly faster.",
        choices=("auto", *engines),
        advanced=True,
    )


def model_option(default: str = "") -> str:
    """Return the field of the model to use."""
    text = f"The model file, or {STARTER} for the model that comes with RoadSeg."
    return option(default, "Model", text, kind=MODEL, required=True)


@dataclass(frozen=True)
class ThreadOptions(Job):
    """How much of the processor to use."""

    threads: int = option(
        0,
        "Threads",
        "Processor cores to use; 0 uses as many as RoadSeg's settings say, or else all that are there.",
        minimum=0,
        maximum=1024,
        advanced=True,
    )


@dataclass(frozen=True)
class ComputeOptions(ThreadOptions):
    """How to compute: shared by every job that runs a network as the person wishes."""

    engine: str = _engine_option("native", "ipex")
    precision: str = option(
        "auto",
        "Precision",
        "Number format of the computation. The choice auto takes bf16 where the processor has a BF16 unit, else fp32.",
        choices=("auto", "bf16", "fp32"),
        advanced=True,
    )


@dataclass(frozen=True)
class LabelOptions(Job):
    """How drawn roads become labels: shared by training and evaluation."""

    width_m: float = option(
        6.0,
        "Road width",
        "Width given to road lines that have no width of their own. Polygons are used as drawn.",
        unit="m",
        minimum=0.5,
        maximum=100,
    )
    width_field: str = option(
        "",
        "Road width field",
        "Field that holds each road's own width in meters; where it is empty, the road width counts.",
        kind=FIELD,
        usual="width_m",
    )
    sure_field: str = option(
        "",
        "Sure field",
        "Yes/no field; roads where it says no are neither road nor background, but left out of learning and scores.",
        kind=FIELD,
        usual="sure",
        advanced=True,
    )
    background_m: float = option(
        30.0,
        "Background distance",
        "Without an area of interest, how far from a drawn road the ground is known to be no road. "
        "What lies beyond is left out.",
        unit="m",
        minimum=1,
        maximum=10000,
        advanced=True,
    )


@dataclass(frozen=True)
class SegmentOptions(ComputeOptions):
    """How an image is worked through: shared by every job that segments."""

    engine: str = _engine_option("native", "ipex", "openvino")
    halo: str = option(
        "auto",
        "Halo",
        "Context around each tile in pixels: a number, exact for the very result of the undivided image, or auto for "
        "the narrowest that keeps 99.99 % of the mask, which the model file tells.",
        advanced=True,
    )
    tile_px: int = option(
        0,
        "Tile size",
        "Side of the tiles the image is worked through in, without their halo; 0 fits it to the memory.",
        unit="px",
        minimum=0,
        maximum=32768,
        advanced=True,
    )
    memory_gb: float = option(
        0.0,
        "Memory",
        "What the work may take of the memory: larger tiles waste less on halos. 0 takes what RoadSeg's settings say, "
        "or else a quarter of what is free.",
        unit="GB",
        minimum=0,
        maximum=4096,
        advanced=True,
    )
    test_time_augmentation: bool = option(
        False,
        "Test-time augmentation",
        "Look at the image in all eight turns and mirror images, and take the mean: a little better, in eight times "
        "the time.",
        advanced=True,
    )
    threshold: float = option(
        0.0,
        "Threshold",
        "Probability from which a pixel is road; 0 takes the one stored in the model.",
        minimum=0,
        maximum=1,
        advanced=True,
    )

    def validate(self) -> None:
        """See Job.validate; also checks the halo, which is a word or a number."""
        super().validate()
        if self.halo not in ("auto", "exact") and not (self.halo.isdecimal() and int(self.halo) <= 4096):
            raise JobError(f"Halo (halo) is {self.halo!r}.", "Give auto, exact, or a number from 0 to 4096 px.")


def spur_option(default_m: float) -> float:
    """Return the field of how long dead ends must be to stay."""
    return option(
        default_m,
        "Spur length",
        "Dead ends shorter than this, or than the width of the road they leave, are pruned.",
        unit="m",
        minimum=0,
        maximum=1000,
        advanced=True,
    )


def gap_option(default_m: float) -> float:
    """Return the field of how wide a gap may be to be joined."""
    return option(
        default_m,
        "Longest gap",
        "Two dead ends that face each other across no more than this are joined; 0 leaves all gaps open.",
        unit="m",
        minimum=0,
        maximum=1000,
        advanced=True,
    )


def snap_option(default_m: float) -> float:
    """Return the field of how far a dead end is led on to a road."""
    return option(
        default_m,
        "Snap distance",
        "A dead end that points at a road whose line is no farther than this is led on to it; 0 leaves them all. "
        "About twice a road's width finds the junctions that a mask has missed.",
        unit="m",
        minimum=0,
        maximum=1000,
        advanced=True,
    )


def min_length_option(default_m: float) -> float:
    """Return the field of how long a component must be to stay."""
    return option(
        default_m,
        "Shortest component",
        "Connected groups of lines shorter than this in all are dropped.",
        unit="m",
        minimum=0,
        maximum=1e5,
        advanced=True,
    )


def simplify_option(default_m: float) -> float:
    """Return the field of how far lines are simplified."""
    return option(
        default_m,
        "Simplification",
        "How far a simplified line may lie from the one found.",
        unit="m",
        minimum=0,
        maximum=100,
        advanced=True,
    )


@dataclass(frozen=True)
class CleaningOptions(Job):
    """How a network of lines is cleaned: shared by every job that does. All lengths are on the ground."""

    spur_m: float = spur_option(10.0)
    gap_m: float = gap_option(24.0)
    gap_angle: float = option(
        30.0,
        "Gap angle",
        "How far a road may turn into a gap that is joined; half as much more in a gap below 0.3 of the longest.",
        unit="degrees",
        minimum=0,
        maximum=90,
        advanced=True,
    )
    snap_m: float = snap_option(15.0)
    min_length_m: float = min_length_option(20.0)
    simplify_m: float = simplify_option(0.5)


@dataclass(frozen=True)
class NetworkOptions(CleaningOptions):
    """How a mask becomes lines: shared by every job that vectorizes. All lengths are on the ground."""

    hysteresis: float = option(
        0.8,
        "Hysteresis",
        "Share of the threshold from which pixels are road, too, where they hang together with pixels above the "
        "threshold, which mends uncertain roads. 1 takes the threshold alone; a mask needs none.",
        minimum=0.05,
        maximum=1,
        advanced=True,
    )
    close_m: float = option(
        1.0,
        "Widest gap to close",
        "Gaps in roads and between them that are no wider than this are closed; 0 closes none.",
        unit="m",
        minimum=0,
        maximum=100,
        advanced=True,
    )
    min_hole_m2: float = option(
        60.0,
        "Smallest hole",
        "Holes in roads smaller than this are filled.",
        unit="m²",
        minimum=0,
        maximum=1e6,
        advanced=True,
    )
    min_area_m2: float = option(
        60.0,
        "Smallest patch",
        "Patches of road smaller than this are dropped.",
        unit="m²",
        minimum=0,
        maximum=1e6,
        advanced=True,
    )
    gap_probability: float = option(
        0.0,
        "Probability in gaps",
        "Gaps along which the mean probability of road is less than this stay open; a mask tells nothing of it.",
        minimum=0,
        maximum=1,
        advanced=True,
    )
    center: bool = option(
        True,
        "Center lines",
        "Move lines to the middle of their roads, to a fraction of a pixel.",
        advanced=True,
    )
