"""Jobs that map roads: from an image to a mask, from a mask to lines, or both at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..errors import JobError
from .networks import NodingOptions, bridge_option
from .option import FOLDER, RASTER, RASTER_OUTPUT, RASTERS, STARTER, VECTOR, VECTOR_OUTPUT, option
from .shared import (
    CleaningOptions,
    NetworkOptions,
    SegmentOptions,
    gap_option,
    min_length_option,
    model_option,
    simplify_option,
    snap_option,
    spur_option,
)


def _classes_option() -> str:
    """Return the field of where classes of roads are written."""
    return option(
        "",
        "Road classes",
        "Where to write the classes of roads, for a model that tells them: 0 no road, then numbers of classes, "
        "255 no data.",
        kind=RASTER_OUTPUT,
    )


@dataclass(frozen=True)
class Segment(SegmentOptions):
    """Find road pixels in an image.

    Writes a mask, a probability and, from a model that tells them, the classes of roads, with the coordinate system
    and the extent of the image. Images of any size are worked through tile by tile, within the memory that is given.
    In QGIS the image may be any raster layer: a file, a raster within a file, a virtual raster, a file on a server, or,
    within an extent or an area of interest, a web map. A mesh layer is taken as it is styled.
    """

    name: ClassVar[str] = "segment"
    title: ClassVar[str] = "Segment roads"

    raster: str = option("", "Image", "The image to segment.", kind=RASTER)
    rasters: tuple[str, ...] = option(
        (), "Images", "Several images to segment in one job, with the folder for their masks.", kind=RASTERS
    )
    folder: str = option("", "Folder", "Where the masks of several images go, named for them.", kind=FOLDER)
    resume: bool = option(
        False,
        "Go on",
        "Of several images, leave out those whose mask is there and younger than image and model, as after a run that "
        "was cut off.",
        advanced=True,
    )
    model: str = model_option(STARTER)
    aoi: str = option("", "Area of interest", "Polygons to which the work is limited.", kind=VECTOR)
    mask: str = option("", "Road mask", "Where to write the mask: 1 road, 0 other, 255 no data.", kind=RASTER_OUTPUT)
    probability: str = option(
        "", "Road probability", "Where to write the probability: 0 to 254 for 0 to 1, 255 no data.", kind=RASTER_OUTPUT
    )
    classes: str = _classes_option()

    def validate(self) -> None:
        """See Job.validate; also wants either one image with an output, or several with a folder."""
        super().validate()
        if bool(self.raster) == bool(self.rasters):
            raise JobError("The image (raster) or several images (rasters) must be given, not both.")
        if self.rasters and not self.folder:
            raise JobError("Several images need a folder (folder) for their masks.")
        if self.rasters and (self.mask or self.probability or self.classes):
            raise JobError(
                "Several images have no one road mask (mask), road probability (probability) or classes (classes).",
                "Their masks go into the folder (folder).",
            )
        if self.raster and not (self.mask or self.probability or self.classes):
            raise JobError("There is nothing to write.", "Give a road mask (mask) or a road probability (probability).")


@dataclass(frozen=True)
class Vectorize(NetworkOptions):
    """Turn a road mask or probability into a network of center-lines.

    Lines lie in the middle of their roads. Gaps, as under trees, are joined and missed junctions found; lines that meet
    share their end point exactly, and rings and parallel roads are kept. Each line has its length, width, confidence
    (from a probability), the number of its connected component, and tags of OpenStreetMap; with a raster of classes
    also class, speed and travel time.
    """

    name: ClassVar[str] = "vectorize"
    title: ClassVar[str] = "Vectorize roads"

    raster: str = option("", "Road mask or probability", "The raster to vectorize.", kind=RASTER, required=True)
    classes: str = option(
        "",
        "Road classes",
        "Raster of the classes of these roads, as Segment roads writes it: lines then have a class, the speed that is "
        "usual there, and a travel time.",
        kind=RASTER,
    )
    threshold: float = option(
        0.5,
        "Threshold",
        "Probability from which a pixel is road; a mask needs none.",
        minimum=0.01,
        maximum=0.99,
    )
    roads: str = option("", "Roads", "Where to write the lines.", kind=VECTOR_OUTPUT, required=True)
    nodes: str = option("", "Nodes", "Where to write junctions and ends.", kind=VECTOR_OUTPUT)


@dataclass(frozen=True)
class ExtractRoads(NetworkOptions, SegmentOptions):
    """Segment an image and vectorize the roads in one go.

    Does what Segment roads and Vectorize roads do one after the other, without a mask in between unless one is wanted.
    A model that tells classes of roads gives lines with a class, a speed and a travel time.
    """

    name: ClassVar[str] = "extractroads"
    title: ClassVar[str] = "Extract roads"

    raster: str = option("", "Image", "The image to map roads in.", kind=RASTER, required=True)
    model: str = model_option(STARTER)
    aoi: str = option("", "Area of interest", "Polygons to which the work is limited.", kind=VECTOR)
    roads: str = option("", "Roads", "Where to write the lines.", kind=VECTOR_OUTPUT, required=True)
    mask: str = option("", "Road mask", "Where to write the mask: 1 road, 0 other, 255 no data.", kind=RASTER_OUTPUT)
    classes: str = _classes_option()


@dataclass(frozen=True)
class CleanNetwork(NodingOptions, CleaningOptions):
    """Clean a layer of road lines: cut them where they meet, join gaps, find missed junctions, merge crowded ones.

    Takes any layer of lines, drawn or downloaded, in any coordinate system. A line's parts keep its fields and its
    direction; length, component and, beside a field speed_kmh, travel time are made anew. Bridges are cut by nothing
    and meet other lines at their ends alone. What was connected stays connected.
    """

    name: ClassVar[str] = "cleannetwork"
    title: ClassVar[str] = "Clean road network"

    lines: str = option("", "Lines", "The lines to clean.", kind=VECTOR, required=True)
    lines_bridge_field: str = bridge_option("lines")
    join_lines: bool = option(
        False,
        "Join lines",
        "Where just two lines meet, make them one, with the fields of the longest of its parts; bridges stay.",
    )
    roads: str = option("", "Roads", "Where to write the cleaned lines.", kind=VECTOR_OUTPUT, required=True)
    nodes: str = option("", "Nodes", "Where to write junctions and ends.", kind=VECTOR_OUTPUT)
    junction_m: float = option(
        5.0,
        "Junction size",
        "Junctions less apart than this along a line become one; 0 leaves them all.",
        unit="m",
        minimum=0,
        maximum=100,
        advanced=True,
    )
    spur_m: float = spur_option(2.0)
    gap_m: float = gap_option(10.0)
    snap_m: float = snap_option(5.0)
    min_length_m: float = min_length_option(0.0)
    simplify_m: float = simplify_option(0.1)
