"""Jobs that map roads: segmentation, vectorization, both at once, for a region, and network cleaning.

Scope: the fields and their texts. Independent of how roads are found; standard library only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from ..errors import JobError, shown
from .fields import parse_interval
from .json_fields import Range
from .networks import NodingOptions, bridge_option
from .option import (
    FOLDER,
    RASTER,
    RASTER_OUTPUT,
    RASTERS,
    STARTER,
    VECTOR,
    VECTOR_OUTPUT,
    Job,
    advanced_option,
    like,
    option,
)
from .shared import THRESHOLDS, CleaningOptions, MaskingOptions, MaskValueOptions, NetworkOptions, model_option

# A threshold in a document, and how many areas with a threshold of their own it may have.
Threshold = Annotated[float, Range(*THRESHOLDS)]
MAX_AREAS = 10_000
# How addresses of a Dask scheduler begin.
SCHEDULER_PROTOCOLS = ("tcp://", "tls://")


@dataclass(frozen=True)
class Segment(MaskingOptions):
    """Segment roads in an image: road mask and probability.

    Writes a mask and a probability on the pixels of the image, and road classes if the model predicts them.
    Images of any size are processed tile by tile within the given memory. In QGIS, the image may be any raster layer: a
    file, a raster within a file, a virtual raster, a file on a server, or a web map. A web map needs an extent or an
    area of interest. A mesh layer is rendered in its style.
    """

    name: ClassVar[str] = "segment"
    title: ClassVar[str] = "Segment roads"

    raster: str = option("", "Image", kind=RASTER).help("Image to segment.")
    rasters: tuple[str, ...] = option((), "Images", kind=RASTERS).help(
        "Several images to segment in one job. Their masks are written to the folder."
    )
    folder: str = option("", "Folder", kind=FOLDER).help(
        "Folder for the masks of several images, named after the images."
    )
    resume: bool = advanced_option(False, "Resume").help(
        "Several images only: skip each image whose mask exists and is newer than image and model, as after an "
        "interrupted run."
    )
    model: str = model_option(STARTER)
    aoi: str = option("", "Area of interest", kind=VECTOR).help(
        "Polygons to segment. Everything outside them is left out."
    )
    no_road: str = option("", "No road here", kind=VECTOR).help(
        "Polygons or lines without roads, such as water, railways, runways and walls. A file of OpenStreetMap is read "
        "by its tags. What looks like a road there is left out, except for bridges: roads that run straight across and "
        "on for 10 m on both sides. A line is as wide as its field width_m says, or 4 m. It is widened to what looks "
        "like a road along it, up to 10 m on either side."
    )
    mask: str = option("", "Road mask", kind=RASTER_OUTPUT).help("Mask to write: 1 road, 0 background, 255 no data.")
    probability: str = option("", "Road probability", kind=RASTER_OUTPUT).help(
        "Probability raster to write: 0 to 254 for 0 to 1, 255 no data."
    )
    classes: str = option("", "Road classes", kind=RASTER_OUTPUT).help(
        "Raster of road classes to write: 0 no road, then the class numbers, 255 no data. Needs a model that predicts "
        "classes."
    )

    def _check_together(self) -> None:
        super()._check_together()
        if bool(self.raster) == bool(self.rasters):
            given = "Both one image (raster) and several (rasters) are given." if self.raster else "No image is given."
            raise JobError(given, "Give either one image (raster) or several images (rasters), not both.")
        if self.rasters and not self.folder:
            raise JobError("Several images (rasters) need a folder (folder) for their masks.", "Choose a folder.")
        if self.rasters and (self.mask or self.probability or self.classes):
            raise JobError(
                "Several images (rasters) cannot be written to one road mask (mask), road probability (probability) or "
                "classes (classes).",
                "Leave these out: the masks go to the folder (folder).",
            )
        if self.raster and not (self.mask or self.probability or self.classes):
            raise JobError("There is nothing to write.", "Give a road mask (mask) or a road probability (probability).")


@dataclass(frozen=True)
class Vectorize(MaskValueOptions, NetworkOptions):
    """Vectorize a road mask or probability into a network of center-lines.

    Lines follow the middle of their roads. Gaps, for example under trees, are closed and missed junctions are restored.
    Connected lines end in exactly the same points, and rings and parallel roads are kept. Each line has its length,
    width, confidence (from a probability), connected component and OpenStreetMap tags. With a raster of road classes,
    each line also has a class, a speed and a travel time.
    """

    name: ClassVar[str] = "vectorize"
    title: ClassVar[str] = "Vectorize roads"

    raster: str = option("", "Road mask or probability", kind=RASTER, required=True).help("Raster to vectorize.")
    no_road: str = like(Segment, "no_road")
    classes: str = option("", "Road classes", kind=RASTER).help(
        "Raster of road classes as written by Segment roads. Each line then has a class, the usual speed of that "
        "class, and a travel time."
    )
    threshold: float = option(0.5, "Threshold", within=THRESHOLDS).help(
        "Minimum probability of a road pixel; no effect on masks."
    )
    threshold_areas: str = advanced_option("", "Threshold areas", kind=VECTOR).help(
        "Polygons in which another threshold holds: that of their field threshold, from 0.01 to 0.99. Within 30 m "
        "outside of them it passes smoothly into the threshold, so that no line is cut at their border. Where they "
        "overlap, the last one holds. Needs a probability, not a mask."
    )
    roads: str = option("", "Roads", kind=VECTOR_OUTPUT, required=True).help("Center-lines to write.")
    nodes: str = option("", "Nodes", kind=VECTOR_OUTPUT).help("Junctions and dead ends to write, as points.")
    links: str = option("", "Links", kind=VECTOR_OUTPUT).help(
        "Examined gaps to write, as lines along the likeliest path. Fields hold the probability of a road, and "
        "whether the gap was joined or why not. Needs a probability, not a mask."
    )
    breaks: str = option("", "Likely breaks", kind=VECTOR_OUTPUT).help(
        "Places to write where the network may be broken: gaps that were not joined, dead ends that were removed, and "
        "separate components. They are ranked by the number of shortest paths that a road there would change. Check "
        "the first ten."
    )


@dataclass(frozen=True)
class ThresholdArea:
    """Polygons as WKT in the CRS of a raster, and the threshold that holds there."""

    geometry: Annotated[str, Range(1, 1_000_000)]
    threshold: Threshold


@dataclass(frozen=True)
class Trace(Job):
    """Trace roads in a probability, from place to place, along the likeliest paths.

    The session lasts until it is stopped. It reads commands as JSON lines from standard input: places where a path
    begins, and places that it leads to. It also answers with all lines of a view at a threshold.
    """

    name: ClassVar[str] = "trace"
    title: ClassVar[str] = "Trace roads"
    takes_commands: ClassVar[bool] = True

    raster: str = option("", "Road probability", kind=RASTER, required=True).help(
        "Probability raster as written by Segment roads."
    )


@dataclass(frozen=True)
class ExtractRoads(NetworkOptions, MaskingOptions):
    """Extract the road network of an image: segment and vectorize in one step.

    Gives the same lines as Segment roads on the model's grid followed by Vectorize roads, and writes a mask only on
    request. With a model that predicts road classes, each line has a class, a speed and a travel time.
    """

    name: ClassVar[str] = "extractroads"
    title: ClassVar[str] = "Extract roads"

    raster: str = option("", "Image", kind=RASTER, required=True).help("Image to extract roads from.")
    model: str = model_option(STARTER)
    aoi: str = like(Segment, "aoi")
    no_road: str = like(Segment, "no_road")
    roads: str = option("", "Roads", kind=VECTOR_OUTPUT, required=True).help("Center-lines to write.")
    links: str = like(Vectorize, "links")
    breaks: str = like(Vectorize, "breaks")
    mask: str = like(Segment, "mask")
    probability: str = like(Segment, "probability")
    classes: str = like(Segment, "classes")


@dataclass(frozen=True)
class MapRegion(NetworkOptions, MaskingOptions):
    """Map the roads of a region: turn many scenes into a mask for each scene and one road network.

    Scenes may overlap, and differ in CRS, resolution and bands. Scenes on the same grid are read as one image. If
    several scenes show the same ground, the scene with the least nodata is used, then the scene with the most certain
    prediction. Roads are extracted block by block and joined without seams, so memory does not grow with the region.
    The folder receives a mask and a probability of each scene, an index of the scenes that can be shown during the run,
    and a report. Existing results are kept: running the same job again computes only missing or outdated results. A
    scene that cannot be mapped is reported and does not stop the others. A Dask scheduler can distribute the work to
    many machines.
    """

    name: ClassVar[str] = "mapregion"
    title: ClassVar[str] = "Map a region"

    rasters: tuple[str, ...] = option((), "Scenes", kind=RASTERS).help("Images that show the region.")
    source: str = option("", "Folder or index of scenes").help(
        "More scenes: a folder, a pattern such as /data/*.tif, a tile index (a vector file with a field location), a "
        "STAC item collection (JSON), or the http or https address of a STAC item, collection, catalog or API."
    )
    dates: str = option("", "Dates").help(
        "STAC only: use items within these dates. Give an interval such as 2024-09-01/2024-09-30 or 2024-09-27/.., or "
        "one day. Leave empty for all dates."
    )
    max_cloud_percent: float = option(100.0, "Largest cloud cover", unit="%", within=(0, 100)).help(
        "STAC only: use items with at most this cloud cover. Items that do not state their cloud cover are used, too."
    )
    model: str = model_option(STARTER)
    aoi: str = option("", "Area of interest", kind=VECTOR).help("Polygons to map. Everything outside them is left out.")
    no_road: str = like(Segment, "no_road")
    folder: str = option("", "Folder", kind=FOLDER, required=True).help(
        "Folder for the masks, the index of scenes, the report, and the results of blocks. An interrupted run resumes "
        "from it. Several machines must all reach it under this path."
    )
    roads: str = option("", "Roads", kind=VECTOR_OUTPUT, required=True).help(
        "Center-lines of the whole region to write."
    )
    scheduler: str = advanced_option("", "Dask scheduler", needs="distributed").help(
        "Address of a Dask scheduler, such as tcp://host:8786 or tls://host:8786, whose workers map the region. Leave "
        "empty to use this machine alone. Needs the requirement set fleet."
    )
    workers: int = advanced_option(0, "Workers", within=(0, 256)).help(
        "Number of processes on this machine. 0 starts one process per NUMA node. A Dask scheduler has its own workers."
    )
    block_px: int = advanced_option(0, "Block size", unit="px", within=(0, 32768)).help(
        "Side of the blocks into which scenes are divided. 0 chooses blocks of about a minute each."
    )

    def _check_together(self) -> None:
        super()._check_together()
        if not (self.rasters or self.source):
            raise JobError(
                "No scenes are given.",
                "Give images (rasters), or a folder, a pattern or an index of scenes (source).",
            )
        try:
            parse_interval(self.dates)
        except ValueError as error:
            raise JobError(
                f"Dates (dates) cannot be {shown(self.dates)}.",
                "Give an interval such as 2024-09-01/2024-09-30, ../2024-09-30 or 2024-09-27/..",
            ) from error
        if self.scheduler and not self.scheduler.startswith(SCHEDULER_PROTOCOLS):
            raise JobError(
                f"Dask scheduler (scheduler) cannot be {shown(self.scheduler)}.",
                "Give an address such as tcp://host:8786 or tls://host:8786.",
            )


@dataclass(frozen=True)
class CleanNetwork(NodingOptions, CleaningOptions):
    """Clean the topology of road lines: node them, close gaps, extend undershoots, prune dangles, merge junctions.

    Takes any layer of lines, drawn or downloaded, in any CRS. Lines are split where they meet. The parts keep the
    fields and the direction of their line. Length and component are recomputed, and travel time if there is a field
    speed_kmh. Bridges are not split and connect to other lines only at their ends. Connected roads stay connected.
    """

    name: ClassVar[str] = "cleannetwork"
    title: ClassVar[str] = "Clean road network"

    lines: str = option("", "Lines", kind=VECTOR, required=True).help("Lines to clean.")
    lines_bridge_field: str = bridge_option("lines")
    bridges: str = option("", "Known bridges", kind=VECTOR).help(
        "Lines along bridges over other roads, drawn or from OpenStreetMap. If there is a field bridge or, failing "
        "that, layer, only the lines that it marks are used (layer: above 0). Lines to clean that run along a known "
        "bridge, within 6 m, become bridges (fields bridge and layer) without junctions on them."
    )
    join_lines: bool = option(False, "Join lines").help(
        "Merge lines where exactly two meet, and keep the fields of the longer one. Bridges are not merged."
    )
    roads: str = option("", "Roads", kind=VECTOR_OUTPUT, required=True).help("Cleaned lines to write.")
    nodes: str = option("", "Nodes", kind=VECTOR_OUTPUT).help("Junctions and dead ends to write, as points.")
    junction_m: float = advanced_option(5.0, "Junction merging distance", unit="m", within=(0, 100)).help(
        "Junctions closer together than this along a line are merged; 0 merges none."
    )
    spur_m: float = like(CleaningOptions, "spur_m", 2.0)
    gap_m: float = like(CleaningOptions, "gap_m", 10.0)
    snap_m: float = like(CleaningOptions, "snap_m", 5.0)
    min_length_m: float = like(CleaningOptions, "min_length_m", 0.0)
    simplify_m: float = like(CleaningOptions, "simplify_m", 0.1)
