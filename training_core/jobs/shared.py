"""Options shared by several jobs: threads, engine, precision, labels, tiling, network cleaning.

Scope: the fields and their texts. Independent of how they are used; standard library only.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import JobError, shown
from .option import FIELD, MODEL, STARTER, VECTOR, Job, option

# Environment variables with the thread and memory limits of jobs that set none themselves.
THREADS_VARIABLE, MEMORY_VARIABLE = "ROADSEG_THREADS", "ROADSEG_MEMORY_GB"
UNKNOWN, RIGHT, LEFT = "unknown", "right", "left"
DRIVING_SIDES = (UNKNOWN, RIGHT, LEFT)


def _engine_option(*engines: str) -> str:
    """Return the field `engine` with these choices and auto."""
    return option(
        "auto",
        "Engine",
        "Backend that runs the model. The choice auto times the installed engines on the actual tile or chip size, and "
        "takes another than native if it is clearly faster.",
        choices=("auto", *engines),
        advanced=True,
    )


def model_option(default: str = "") -> str:
    """Return the field `model`: the model to run."""
    text = f"Model file, or {STARTER} for the pretrained model that comes with RoadSeg."
    return option(default, "Model", text, kind=MODEL, required=True)


@dataclass(frozen=True)
class ThreadOptions(Job):
    """Options of every job that limits its threads."""

    threads: int = option(
        0,
        "Threads",
        "Number of CPU threads; 0 takes the number from RoadSeg's settings, or else all available cores.",
        minimum=0,
        maximum=1024,
        advanced=True,
    )


@dataclass(frozen=True)
class ComputeOptions(ThreadOptions):
    """Options of every job that runs a model: engine, precision, threads."""

    engine: str = _engine_option("native", "ipex")
    precision: str = option(
        "auto",
        "Precision",
        "Floating-point format of the computation: auto takes bf16 if the processor has a BF16 unit, and is not slower "
        "in bf16 than in fp32; else fp32.",
        choices=("auto", "bf16", "fp32"),
        advanced=True,
    )


@dataclass(frozen=True)
class LabelOptions(Job):
    """Options of every job that rasterizes drawn roads to labels: training, evaluation, quantization."""

    no_road: str = option(
        "",
        "No road here",
        "Polygons without other roads than the drawn ones: background, also outside of the area of interest and far "
        "from all roads. Draw them where a model mistakes something for a road.",
        kind=VECTOR,
    )
    width_m: float = option(
        6.0,
        "Road width",
        "Width given to road lines without a width of their own. Polygons are used as drawn.",
        unit="m",
        minimum=0.5,
        maximum=100,
    )
    width_field: str = option(
        "",
        "Road width field",
        "Field with the width of each road in meters; where it is empty, the road width is used.",
        kind=FIELD,
        usual="width_m",
    )
    sure_field: str = option(
        "",
        "Sure field",
        "Yes/no field. Roads marked no are ignored: neither road nor background in training and scores.",
        kind=FIELD,
        usual="sure",
        advanced=True,
    )
    background_m: float = option(
        30.0,
        "Background distance",
        "Without an area of interest: other pixels within this distance of a drawn road are background, all farther "
        "ones are ignored.",
        unit="m",
        minimum=1,
        maximum=10000,
        advanced=True,
    )


@dataclass(frozen=True)
class SegmentOptions(ComputeOptions):
    """Options of every job that segments an image tile by tile."""

    engine: str = _engine_option("native", "ipex", "openvino")
    halo: str = option(
        "auto",
        "Halo",
        "Overlap of tiles: margin in pixels around each tile that is computed and discarded. A number; exact for the "
        "model's receptive field, which gives the same result as the undivided image; or auto for the smallest that "
        "keeps 99.99 % of the mask, as stored in the model file.",
        advanced=True,
    )
    tile_px: int = option(
        0,
        "Tile size",
        "Side of a tile without its halo; 0 takes the largest that fits into the memory.",
        unit="px",
        minimum=0,
        maximum=32768,
        advanced=True,
    )
    memory_gb: float = option(
        0.0,
        "Memory",
        "Memory limit, which decides on the tile size: larger tiles spend less time on halos. 0 takes the limit from "
        "RoadSeg's settings, or else a quarter of the free memory.",
        unit="GB",
        minimum=0,
        maximum=4096,
        advanced=True,
    )
    test_time_augmentation: bool = option(
        False,
        "Test-time augmentation",
        "Average the predictions over all eight rotations and flips of the image: more accurate, and roads connect "
        "better, but up to eight times slower.",
        advanced=True,
    )
    threshold: float = option(
        0.0,
        "Threshold",
        "Minimum probability of a road pixel; 0 takes the threshold stored in the model.",
        minimum=0,
        maximum=1,
        advanced=True,
    )

    def validate(self) -> None:
        """See Job.validate; also checks that the halo is auto, exact or a number of pixels.

        Raises
        ------
        JobError
            An option is invalid.
        """
        super().validate()
        is_number = self.halo.isdecimal() and len(self.halo) <= 4 and int(self.halo) <= 4096
        if self.halo not in ("auto", "exact") and not is_number:
            raise JobError(f"Halo (halo) is {shown(self.halo)}.", "Give auto, exact, or a number from 0 to 4096 px.")


@dataclass(frozen=True)
class CleaningOptions(Job):
    """Options of every job that cleans a road network. All lengths are in meters on the ground."""

    spur_m: float = option(
        10.0,
        "Spur length",
        "Dead ends (dangles) shorter than this, or than the width of the road they branch off, are pruned.",
        unit="m",
        minimum=0,
        maximum=1000,
        advanced=True,
    )
    gap_m: float = option(
        24.0,
        "Longest gap",
        "Two dead ends that face each other across a gap up to this length are connected; 0 keeps all gaps.",
        unit="m",
        minimum=0,
        maximum=1000,
        advanced=True,
    )
    gap_angle: float = option(
        30.0,
        "Gap angle",
        "Maximum change of direction from either road into a gap; 1.5 times as much in gaps below 0.3 of the longest.",
        unit="degrees",
        minimum=0,
        maximum=90,
        advanced=True,
    )
    snap_m: float = option(
        15.0,
        "Snap distance",
        "A dead end (undershoot) that points at a road within this distance is extended to it; 0 extends none. About "
        "twice the road width restores the junctions that a mask has missed.",
        unit="m",
        minimum=0,
        maximum=1000,
        advanced=True,
    )
    min_length_m: float = option(
        20.0,
        "Shortest component",
        "Connected components of the network with less total length are removed.",
        unit="m",
        minimum=0,
        maximum=1e5,
        advanced=True,
    )
    simplify_m: float = option(
        0.5,
        "Simplification",
        "Douglas-Peucker tolerance: maximum distance of a simplified line from the original.",
        unit="m",
        minimum=0,
        maximum=100,
        advanced=True,
    )


@dataclass(frozen=True)
class NetworkOptions(CleaningOptions):
    """Options of every job that vectorizes a mask. All lengths are in meters on the ground."""

    hysteresis: float = option(
        0.8,
        "Hysteresis",
        "Lower threshold as a fraction of the upper one: pixels above it count as road if connected to pixels above "
        "the upper one, which bridges uncertain stretches. 1 switches it off; no effect on masks.",
        minimum=0.05,
        maximum=1,
        advanced=True,
    )
    close_m: float = option(
        1.0,
        "Widest gap to close",
        "Morphological closing of the mask: gaps in and between roads up to this width are closed; 0 closes none.",
        unit="m",
        minimum=0,
        maximum=100,
        advanced=True,
    )
    min_hole_m2: float = option(
        60.0,
        "Smallest hole",
        "Holes in the mask with a smaller area are filled.",
        unit="m²",
        minimum=0,
        maximum=1e6,
        advanced=True,
    )
    min_area_m2: float = option(
        60.0,
        "Smallest patch",
        "Connected road patches of the mask with a smaller area are removed.",
        unit="m²",
        minimum=0,
        maximum=1e6,
        advanced=True,
    )
    gap_probability: float = option(
        0.0,
        "Probability in gaps",
        "Minimum mean road probability along a gap that is connected; no effect on masks.",
        minimum=0,
        maximum=1,
        advanced=True,
    )
    likely_gap_m: float = option(
        45.0,
        "Longest likely gap",
        "A dead end is connected with another one, or with a road, up to this distance along the likeliest path "
        "between them, if a road is probable there; 0 connects none. No effect on masks.",
        unit="m",
        minimum=0,
        maximum=100,
        advanced=True,
    )
    link_probability: float = option(
        0.2,
        "Probability of links",
        "Minimum probability that a road runs along such a link, by its length, turn, and mean and worst evidence.",
        minimum=0.01,
        maximum=1,
        advanced=True,
    )
    stub_m: float = option(
        60.0,
        "Longest unlikely dead end",
        "Dead ends up to this length are removed if they are hardly roads; 0 keeps all. No effect on masks.",
        unit="m",
        minimum=0,
        maximum=200,
        advanced=True,
    )
    stub_probability: float = option(
        0.5,
        "Probability of dead ends",
        "Minimum probability that such a dead end is a road, by its length, width and bends and by the evidence along "
        "and next to it.",
        minimum=0,
        maximum=1,
        advanced=True,
    )
    driving_side: str = option(
        UNKNOWN,
        "Driving side",
        "On which side of the road the country drives. If it is known, the lines of dual carriageways run with the "
        "traffic and have the tag oneway.",
        choices=DRIVING_SIDES,
        advanced=True,
    )
    center: bool = option(
        True,
        "Center lines on roads",
        "Shift lines to the middle of their roads with subpixel accuracy.",
        advanced=True,
    )
