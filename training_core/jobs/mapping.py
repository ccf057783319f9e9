"""Jobs that map roads: segmentation, vectorization, both at once, for a region, and network cleaning.

Scope: the fields and their texts. Independent of how roads are found; standard library only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..errors import JobError, shown
from .date_interval import parse_interval
from .networks import NodingOptions, bridge_option
from .option import (
    FOLDER,
    RASTER,
    RASTER_OUTPUT,
    RASTERS,
    STARTER,
    VECTOR,
    VECTOR_OUTPUT,
    advanced_option,
    option,
    with_default,
)
from .shared import CleaningOptions, MaskValueOptions, NetworkOptions, SegmentOptions, model_option

# How addresses of a Dask scheduler begin.
SCHEDULER_PROTOCOLS = ("tcp://", "tls://")


def _classes_option() -> str:
    """Return the field `classes`: the raster of road classes to write."""
    return option(
        "",
        "Road classes",
        "Raster of road classes to write, with a model that predicts them: 0 no road, then the class numbers, 255 no "
        "data.",
        kind=RASTER_OUTPUT,
    )


def _links_option() -> str:
    """Return the field `links`: the layer of examined gaps."""
    return option(
        "",
        "Links",
        "Examined gaps to write, as lines along the likeliest path, with the probability of a road there, and whether "
        "they were joined or why not. Needs a probability, not a mask.",
        kind=VECTOR_OUTPUT,
    )


def _breaks_option() -> str:
    """Return the field `breaks`: the layer of places to check."""
    return option(
        "",
        "Likely breaks",
        "Places to write where the network may be broken: gaps that were not joined, dead ends that were removed, and "
        "components apart. They are ranked by the number of shortest paths that a road there would change: check the "
        "first ten.",
        kind=VECTOR_OUTPUT,
    )


@dataclass(frozen=True)
class Segment(SegmentOptions):
    """Segment roads in an image: road mask and probability.

    Writes a mask, a probability and, with a model that predicts them, road classes, in the CRS and extent of the image.
    Images of any size are processed tile by tile within the given memory. In QGIS the image may be any raster layer: a
    file, a raster within a file, a virtual raster, a file on a server, or, within an extent or an area of interest, a
    web map. A mesh layer is rendered in its style.
    """

    name: ClassVar[str] = "segment"
    title: ClassVar[str] = "Segment roads"

    raster: str = option("", "Image", "Image to segment.", kind=RASTER)
    rasters: tuple[str, ...] = option(
        (), "Images", "Several images to segment in one job; their masks go to the folder.", kind=RASTERS
    )
    folder: str = option("", "Folder", "Folder for the masks of several images, named after the images.", kind=FOLDER)
    resume: bool = advanced_option(
        False,
        "Resume",
        "Skip those of several images whose mask exists and is newer than image and model, as after an interrupted "
        "run.",
    )
    model: str = model_option(STARTER)
    aoi: str = option("", "Area of interest", "Polygons outside of which nothing is segmented.", kind=VECTOR)
    mask: str = option("", "Road mask", "Mask to write: 1 road, 0 background, 255 no data.", kind=RASTER_OUTPUT)
    probability: str = option(
        "", "Road probability", "Probability raster to write: 0 to 254 for 0 to 1, 255 no data.", kind=RASTER_OUTPUT
    )
    classes: str = _classes_option()

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

    Lines follow the middle of their roads. Gaps, as under trees, are closed and missed junctions restored; connected
    lines end in exactly the same points, and rings and parallel roads are kept. Each line has its length, width,
    confidence (from a probability), connected component and OpenStreetMap tags; with a raster of road classes also
    class, speed and travel time.
    """

    name: ClassVar[str] = "vectorize"
    title: ClassVar[str] = "Vectorize roads"

    raster: str = option("", "Road mask or probability", "Raster to vectorize.", kind=RASTER, required=True)
    classes: str = option(
        "",
        "Road classes",
        "Raster of the classes of these roads as written by Segment roads: lines then have a class, the usual speed "
        "there, and a travel time.",
        kind=RASTER,
    )
    threshold: float = option(
        0.5, "Threshold", "Minimum probability of a road pixel; no effect on masks.", within=(0.01, 0.99)
    )
    roads: str = option("", "Roads", "Center-lines to write.", kind=VECTOR_OUTPUT, required=True)
    nodes: str = option("", "Nodes", "Junctions and dead ends to write, as points.", kind=VECTOR_OUTPUT)
    links: str = _links_option()
    breaks: str = _breaks_option()


@dataclass(frozen=True)
class ExtractRoads(NetworkOptions, SegmentOptions):
    """Extract the road network of an image: segment and vectorize in one step.

    Does the same as Segment roads followed by Vectorize roads, and writes a mask only on request. With a model that
    predicts road classes, lines have a class, a speed and a travel time.
    """

    name: ClassVar[str] = "extractroads"
    title: ClassVar[str] = "Extract roads"

    raster: str = option("", "Image", "Image to extract roads from.", kind=RASTER, required=True)
    model: str = model_option(STARTER)
    aoi: str = option("", "Area of interest", "Polygons outside of which nothing is segmented.", kind=VECTOR)
    roads: str = option("", "Roads", "Center-lines to write.", kind=VECTOR_OUTPUT, required=True)
    links: str = _links_option()
    breaks: str = _breaks_option()
    mask: str = option("", "Road mask", "Mask to write: 1 road, 0 background, 255 no data.", kind=RASTER_OUTPUT)
    classes: str = _classes_option()


@dataclass(frozen=True)
class MapRegion(NetworkOptions, SegmentOptions):
    """Map the roads of a region: many scenes in, a mask of each and one road network out.

    Scenes may overlap, and differ in CRS, resolution and bands. Scenes on the same grid are read as one image. Where
    several show the same ground, the one with the least nodata counts, then the one with the most certain prediction.
    Roads are extracted block by block, and the blocks joined without seams, so memory does not grow with the region.
    The folder gets a mask and a probability of each scene, an index of the scenes that can be shown during the run,
    and a report. Existing results are kept: the same job run again computes only missing or outdated ones. A scene
    that cannot be mapped is reported, and does not stop the others.
    A Dask scheduler can distribute the work to many machines.
    """

    name: ClassVar[str] = "mapregion"
    title: ClassVar[str] = "Map a region"

    rasters: tuple[str, ...] = option((), "Scenes", "Images that show the region.", kind=RASTERS)
    source: str = option(
        "",
        "Folder or index of scenes",
        "More scenes: a folder, a pattern such as /data/*.tif, a tile index (a vector file with a field location), a "
        "STAC item collection (JSON), or the http or https address of a STAC item, collection, catalog or API.",
    )
    dates: str = option(
        "",
        "Dates",
        "Of STAC, only items of these dates: an interval such as 2024-09-01/2024-09-30 or 2024-09-27/.., or one day; "
        "empty for all.",
    )
    max_cloud_percent: float = option(
        100.0,
        "Largest cloud cover",
        "Of STAC, only items with at most this cloud cover, and those that do not state any.",
        unit="%",
        within=(0, 100),
    )
    model: str = model_option(STARTER)
    aoi: str = option("", "Area of interest", "Polygons outside of which nothing is mapped.", kind=VECTOR)
    folder: str = option(
        "",
        "Folder",
        "Folder for the masks, the index of scenes, the report, and the results of blocks, from which an interrupted "
        "run resumes. With several machines, all must reach it under this path.",
        kind=FOLDER,
        required=True,
    )
    roads: str = option("", "Roads", "Center-lines of the whole region to write.", kind=VECTOR_OUTPUT, required=True)
    scheduler: str = advanced_option(
        "",
        "Dask scheduler",
        "Address of a Dask scheduler, such as tcp://host:8786 or tls://host:8786, whose workers do the work; empty for "
        "this machine alone. Needs the requirement set fleet.",
    )
    workers: int = advanced_option(
        0,
        "Workers",
        "Number of processes on this machine; 0 for one per NUMA node. More than one need the requirement set fleet. "
        "A Dask scheduler has its own workers.",
        within=(0, 256),
    )
    block_px: int = advanced_option(
        0,
        "Block size",
        "Side of the blocks into which the work is divided; 0 for blocks of about a minute each.",
        unit="px",
        within=(0, 32768),
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
                f"Dates (dates) is {shown(self.dates)}.",
                "Give an interval such as 2024-09-01/2024-09-30, ../2024-09-30 or 2024-09-27/..",
            ) from error
        if self.scheduler and not self.scheduler.startswith(SCHEDULER_PROTOCOLS):
            raise JobError(
                f"Dask scheduler (scheduler) is {shown(self.scheduler)}.",
                "Give an address such as tcp://host:8786 or tls://host:8786.",
            )


@dataclass(frozen=True)
class CleanNetwork(NodingOptions, CleaningOptions):
    """Clean the topology of road lines: node them, close gaps, extend undershoots, prune dangles, merge junctions.

    Takes any layer of lines, drawn or downloaded, in any CRS. Lines are split where they meet; the parts keep the
    fields and the direction of their line, and length, component and, with a field speed_kmh, travel time are
    recomputed. Bridges are not split and connect to other lines only at their ends. Connected roads stay connected.
    """

    name: ClassVar[str] = "cleannetwork"
    title: ClassVar[str] = "Clean road network"

    lines: str = option("", "Lines", "Lines to clean.", kind=VECTOR, required=True)
    lines_bridge_field: str = bridge_option("lines")
    bridges: str = option(
        "",
        "Known bridges",
        "Lines along bridges over other roads, drawn or from OpenStreetMap; with a field bridge, or else layer, only "
        "those that it marks (layer: above 0). What runs along one, within 6 m, becomes a bridge (fields bridge and "
        "layer) without junctions on it.",
        kind=VECTOR,
    )
    join_lines: bool = option(
        False,
        "Join lines",
        "Merge lines where exactly two meet, keeping the fields of the longest; bridges are not merged.",
    )
    roads: str = option("", "Roads", "Cleaned lines to write.", kind=VECTOR_OUTPUT, required=True)
    nodes: str = option("", "Nodes", "Junctions and dead ends to write, as points.", kind=VECTOR_OUTPUT)
    junction_m: float = advanced_option(
        5.0,
        "Junction merging distance",
        "Junctions closer together than this along a line are merged; 0 merges none.",
        unit="m",
        within=(0, 100),
    )
    spur_m: float = with_default(CleaningOptions, "spur_m", 2.0)
    gap_m: float = with_default(CleaningOptions, "gap_m", 10.0)
    snap_m: float = with_default(CleaningOptions, "snap_m", 5.0)
    min_length_m: float = with_default(CleaningOptions, "min_length_m", 0.0)
    simplify_m: float = with_default(CleaningOptions, "simplify_m", 0.1)
