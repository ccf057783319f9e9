"""Options shared by several jobs: threads, processes, engine, device, precision, labels, tiling, network cleaning.

Scope: the fields and their texts. Independent of how they are used; standard library only.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import JobError, shown
from .option import FIELD, MODEL, NUMBERS, RASTERS, STARTERS_HELP, VECTOR, Job, advanced_option, option

# Environment variables with the thread and memory limits, and the device, of jobs that set none themselves.
THREADS_VARIABLE, MEMORY_VARIABLE, DEVICE_VARIABLE = "ROADSEG_THREADS", "ROADSEG_MEMORY_GB", "ROADSEG_DEVICE"
UNKNOWN, RIGHT, LEFT = "unknown", "right", "left"
DRIVING_SIDES = (UNKNOWN, RIGHT, LEFT)
AUTO, MAX_PROCESSES = "auto", 1024
# Where models run: GPUs as PyTorch names them, and devices of OpenVINO, which does not train.
CPU, ACCELERATORS = "cpu", ("cuda", "xpu", "mps")
OPENVINO_DEVICES = {"openvino-auto": "AUTO", "openvino-gpu": "GPU", "openvino-npu": "NPU"}
DEVICES = (AUTO, CPU, *ACCELERATORS, *OPENVINO_DEVICES)
# The lowest and the highest threshold that a person may choose: thresholds are compared by odds, which 0 and 1 lack.
THRESHOLDS = 0.01, 0.99
# The grids of result rasters.
IMAGE_GRID, MODEL_GRID = "image", "model"


def _engine_option(*engines: str) -> str:
    """Return the field `engine` with these choices and auto."""
    return advanced_option("auto", "Engine", choices=("auto", *engines)).help(
        "Backend that runs the model on the CPU. auto times the installed engines, and devices, at the actual tile or "
        "chip size, and takes another one than native only if it is clearly faster."
    )


def _device_option(*devices: str, more: str = "") -> str:
    """Return the field `device` with these choices, auto and cpu; `more` is a sentence about the last of them."""
    return advanced_option(AUTO, "Device", choices=(AUTO, CPU, *devices)).help(
        "Processor or accelerator that runs the model. auto takes the device from RoadSeg's settings. If none is set "
        "there, it also times a GPU or NPU, and takes it if it is clearly faster than the CPU. cuda is a GPU by NVIDIA "
        f"or AMD, xpu by Intel, and mps by Apple. {more}If the device is missing or fails, the CPU takes over."
    )


def model_option(default: str = "") -> str:
    """Return the field `model`: the model to run."""
    return option(default, "Model", kind=MODEL, required=True).help(f"Model file, or {STARTERS_HELP}.")


@dataclass(frozen=True)
class ThreadOptions(Job):
    """Options of every job that limits its threads."""

    threads: int = advanced_option(0, "Threads", within=(0, 1024)).help(
        "Number of CPU threads. 0 takes the number from RoadSeg's settings or, if none is set there, all available "
        "cores, or fewer if these are faster in a trial."
    )


@dataclass(frozen=True)
class ComputeOptions(ThreadOptions):
    """Options of every job that runs a model: engine, device, precision, threads."""

    engine: str = _engine_option("native", "ipex")
    device: str = _device_option(*ACCELERATORS)
    precision: str = advanced_option("auto", "Precision", choices=("auto", "bf16", "fp32")).help(
        "Floating-point format of the computation. auto takes bf16 if the processor has a BF16 unit and is at least "
        "as fast in bf16 as in fp32. Otherwise it takes fp32."
    )

    def _check_together(self) -> None:
        super()._check_together()
        if self.engine != AUTO and self.device not in (AUTO, CPU):
            raise JobError(
                f"The engine {self.engine} (engine) computes on the CPU, not on {self.device} (device).",
                "Leave one of them at auto.",
            )


@dataclass(frozen=True)
class ProcessOptions(Job):
    """Options of every job that trains with several processes."""

    processes: str = advanced_option("1", "Processes").help(
        "Number of processes that train together on this machine, each on its own cores and memory. auto starts one "
        "process per NUMA node or socket, and a single process on small machines. Each process computes whole batches "
        "of the gradient accumulation. With equal threads per process, the model is bit-identical for any number of "
        "processes."
    )
    exchange_precision: str = advanced_option("fp32", "Exchange precision", choices=("fp32", "bf16")).help(
        "Number format in which processes exchange gradients. Gradients are always summed in fp32. bf16 halves the "
        "network traffic and rounds the gradients of each batch. The model then differs from a model trained by one "
        "process, but is the same for two or more processes."
    )
    pipeline_stages: int = advanced_option(1, "Pipeline stages", within=(1, 6)).help(
        "Number of parts into which a model is divided that is too large for the memory of one process. Each part has "
        "its own process. The batches of the gradient accumulation pass through the parts one after the other. The "
        "number of processes becomes a multiple of the stages, and a step has at least one batch for each process."
    )

    def _check_together(self) -> None:
        super()._check_together()
        is_number = self.processes.isascii() and self.processes.isdecimal() and len(self.processes) <= 4
        if self.processes != AUTO and not (is_number and 1 <= int(self.processes) <= MAX_PROCESSES):
            raise JobError(
                f"Processes (processes) cannot be {shown(self.processes)}.",
                f"Give auto, or a number from 1 to {MAX_PROCESSES}.",
            )


@dataclass(frozen=True)
class LabelOptions(Job):
    """Options of every job that rasterizes drawn roads to labels: training, evaluation, quantization."""

    no_road: str = option("", "No road here", kind=VECTOR).help(
        "Polygons or lines, such as rivers, without roads other than the drawn ones. A file of OpenStreetMap is read "
        "by its tags. They count as background, even outside the area of interest and far from all roads. Draw "
        "them where a model mistakes something for a road."
    )
    width_m: float = option(6.0, "Road width", unit="m", within=(0.5, 100)).help(
        "Width given to road lines without a width of their own. Polygons are used as drawn."
    )
    width_field: str = option("", "Road width field", kind=FIELD, usual="width_m").help(
        "Field with the width of each road in meters. Roads without a value get the road width."
    )
    sure_field: str = advanced_option("", "Sure field", kind=FIELD, usual="sure").help(
        "Yes/no field. Roads marked no are ignored: in training and scores, they are neither road nor background."
    )
    background_m: float = advanced_option(30.0, "Background distance", unit="m", within=(1, 10000)).help(
        "Without an area of interest, pixels within this distance of a drawn road are background. Pixels farther away "
        "are ignored."
    )


@dataclass(frozen=True)
class MaskValueOptions(Job):
    """Options of every job that reads masks: what their values mean."""

    road_values: tuple[int, ...] = advanced_option((), "Road values", kind=NUMBERS, within=(0, 65535)).help(
        "Values that mean road in a mask. By default, road is 1 or 255, and background is 0. If road is 1, 255 is "
        "ignored. If road is 255, 127 and 128 are ignored."
    )
    ignored_values: tuple[int, ...] = advanced_option((), "Ignored values", kind=NUMBERS, within=(0, 65535)).help(
        "Values of a mask that are neither road nor background."
    )


@dataclass(frozen=True)
class MaskOptions(MaskValueOptions, LabelOptions):
    """Options of every job that takes label masks in place of drawn roads."""

    roads: str = option("", "Drawn roads", kind=VECTOR).help("True roads, as lines or polygons.")
    masks: tuple[str, ...] = option((), "Label masks", kind=RASTERS).help(
        "Rasters with a value for road, used instead of drawn roads. A mask belongs to the image of the same name, as "
        "in images/tile_1.tif and masks/tile_1.png, or to the images that it overlaps on the map. COCO annotations "
        "(annotations.json) are accepted, too."
    )
    pixel_m: float = advanced_option(0.0, "Pixel size", unit="m", within=(0, 100)).help(
        "Pixel size on the ground in images without a georeference. These images need label masks."
    )

    def _check_together(self) -> None:
        super()._check_together()
        if self.masks and self.roads:
            raise JobError("Both drawn roads (roads) and label masks (masks) are given.", "Leave one of them out.")
        if self.masks and self.no_road:
            raise JobError(
                "Places without a road (no_road) need drawn roads (roads).",
                "Leave no_road out: everything in a label mask that is not road is background.",
            )

    def _require_labels(self) -> None:
        """Raise JobError if there are neither drawn roads nor label masks."""
        if not (self.roads or self.masks):
            raise JobError(
                "Drawn roads (roads) are missing.", "Give roads drawn on the images, or label masks (masks)."
            )


@dataclass(frozen=True)
class SegmentOptions(ComputeOptions):
    """Options of every job that segments an image tile by tile."""

    engine: str = _engine_option("native", "ipex", "openvino")
    device: str = _device_option(*ACCELERATORS, *OPENVINO_DEVICES, more="The others are devices of OpenVINO. ")
    halo: str = advanced_option("auto", "Halo").help(
        "Margin around each tile that is computed and then discarded. Give a number of pixels, exact, or auto. exact "
        "covers the model's receptive field, so the result equals that of the undivided image. auto takes the "
        "smallest halo that keeps 99.99 % of the mask, as stored in the model file."
    )
    tile_px: int = advanced_option(0, "Tile size", unit="px", within=(0, 32768)).help(
        "Side of a tile without its halo. 0 takes the largest tile that fits into the memory."
    )
    memory_gb: float = advanced_option(0.0, "Memory", unit="GB", within=(0, 4096)).help(
        "Memory limit. It determines the tile size: larger tiles spend less time on halos. 0 takes the limit from "
        "RoadSeg's settings or, if none is set there, a quarter of the free memory."
    )
    test_time_augmentation: bool = advanced_option(False, "Test-time augmentation").help(
        "Average the predictions over all eight rotations and flips of the image. The result is more accurate and "
        "roads connect better, but it takes up to eight times as long."
    )
    threshold: float = advanced_option(0.0, "Threshold", within=(0, 1)).help(
        "Minimum probability of a road pixel. 0 takes the threshold stored in the model. For a starter, and for a "
        "model fine-tuned from it with interpolation, 0 chooses a threshold that suits the images."
    )

    def packages(self) -> list[str]:
        """See Job; OpenVINO alone runs ONNX files."""
        runs_graph = getattr(self, "model", "").lower().endswith(".onnx")
        is_named = self.engine == "openvino" or self.device in OPENVINO_DEVICES
        return super().packages() + ["openvino"] * (runs_graph or is_named)

    def _check_together(self) -> None:
        super()._check_together()
        is_number = self.halo.isdecimal() and len(self.halo) <= 4 and int(self.halo) <= 4096
        if self.halo not in ("auto", "exact") and not is_number:
            raise JobError(
                f"Halo (halo) cannot be {shown(self.halo)}.", "Give auto, exact, or a number from 0 to 4096 px."
            )


@dataclass(frozen=True)
class MaskingOptions(SegmentOptions):
    """Options of every job that writes, or scores, a mask of what it segments."""

    grid: str = advanced_option(IMAGE_GRID, "Grid", choices=(IMAGE_GRID, MODEL_GRID)).help(
        "Pixels of the result rasters. image takes those of the image, or in a region those of its finest scene. model "
        "takes those of the model's ground resolution, which make small files of very fine images. Lines are the same."
    )


@dataclass(frozen=True)
class CleaningOptions(Job):
    """Options of every job that cleans a road network. All lengths are in meters on the ground."""

    spur_m: float = advanced_option(10.0, "Spur length", unit="m", within=(0, 1000)).help(
        "Dead ends (dangles) are pruned if they are shorter than this, or than the width of the road from which they "
        "branch off."
    )
    gap_m: float = advanced_option(24.0, "Longest gap", unit="m", within=(0, 1000)).help(
        "Two dead ends that face each other across a gap up to this length are connected; 0 keeps all gaps."
    )
    gap_angle: float = advanced_option(30.0, "Gap angle", unit="degrees", within=(0, 90)).help(
        "Maximum change of direction from either road into a gap. Gaps below 0.3 of the longest gap may turn 1.5 "
        "times as much."
    )
    snap_m: float = advanced_option(15.0, "Snap distance", unit="m", within=(0, 1000)).help(
        "A dead end (undershoot) that points at a road within this distance is extended to it; 0 extends none. About "
        "twice the road width restores the junctions that a mask has missed."
    )
    min_length_m: float = advanced_option(20.0, "Shortest component", unit="m", within=(0, 1e5)).help(
        "Connected components of the network with a shorter total length are removed."
    )
    simplify_m: float = advanced_option(0.5, "Simplification", unit="m", within=(0, 100)).help(
        "Douglas-Peucker tolerance: maximum distance of a simplified line from the original."
    )


@dataclass(frozen=True)
class NetworkOptions(CleaningOptions):
    """Options of every job that vectorizes a mask. All lengths are in meters on the ground."""

    hysteresis: float = advanced_option(0.8, "Hysteresis", within=(0.05, 1)).help(
        "Lower threshold as a fraction of the upper one. Pixels above the lower threshold count as road if they are "
        "connected to pixels above the upper one. This bridges uncertain stretches. 1 switches hysteresis off. No "
        "effect on masks."
    )
    close_m: float = advanced_option(1.0, "Widest gap to close", unit="m", within=(0, 100)).help(
        "Morphological closing of the mask: gaps in and between roads up to this width are closed; 0 closes none."
    )
    min_hole_m2: float = advanced_option(60.0, "Smallest hole", unit="m²", within=(0, 1e6)).help(
        "Holes in the mask with a smaller area are filled."
    )
    min_area_m2: float = advanced_option(60.0, "Smallest patch", unit="m²", within=(0, 1e6)).help(
        "Connected road patches of the mask with a smaller area are removed."
    )
    gap_probability: float = advanced_option(0.0, "Probability in gaps", within=(0, 1)).help(
        "Minimum mean road probability along a gap that is connected; no effect on masks."
    )
    likely_gap_m: float = advanced_option(45.0, "Longest likely gap", unit="m", within=(0, 100)).help(
        "A dead end is connected to another dead end, or to a road, up to this distance if a road between them is "
        "probable. The link follows the likeliest path. 0 connects none. No effect on masks."
    )
    link_probability: float = advanced_option(0.35, "Probability of links", within=(0.01, 1)).help(
        "Minimum probability that a road runs along a likely gap. It is estimated from the link's length and turn, "
        "and from the evidence along and beside it."
    )
    stub_m: float = advanced_option(60.0, "Longest unlikely dead end", unit="m", within=(0, 200)).help(
        "Dead ends up to this length are removed if they are unlikely to be roads. 0 keeps all. No effect on masks."
    )
    stub_probability: float = advanced_option(0.5, "Probability of dead ends", within=(0, 1)).help(
        "Minimum probability that a dead end up to that length is a road. It is estimated from its length, width and "
        "bends, and from the evidence along and beside it."
    )
    driving_side: str = advanced_option(UNKNOWN, "Driving side", choices=DRIVING_SIDES).help(
        "Side of the road on which the country drives. If it is known, the lines of dual carriageways run with the "
        "traffic and have the tag oneway."
    )
    center: bool = advanced_option(True, "Center lines on roads").help(
        "Shift lines to the middle of their roads with subpixel accuracy."
    )
