"""The job that maps a region: many scenes into masks and one road network.

Scope: the fields and their texts. Independent of how the work is divided; standard library only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..errors import JobError, shown
from .option import FOLDER, RASTERS, STARTER, VECTOR, VECTOR_OUTPUT, option
from .shared import NetworkOptions, SegmentOptions, model_option

# How addresses of a Dask scheduler begin.
SCHEDULER_PROTOCOLS = ("tcp://", "tls://")


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
        "More scenes: a folder, a pattern such as /data/*.tif, a tile index (a vector file with a field location), or "
        "a STAC item collection (JSON).",
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
    scheduler: str = option(
        "",
        "Dask scheduler",
        "Address of a Dask scheduler, such as tcp://host:8786 or tls://host:8786, whose workers do the work; empty for "
        "this machine alone. Needs the requirement set fleet.",
        advanced=True,
    )
    workers: int = option(
        0,
        "Workers",
        "Number of processes on this machine; 0 for one per NUMA node. More than one need the requirement set fleet. "
        "A Dask scheduler has its own workers.",
        minimum=0,
        maximum=256,
        advanced=True,
    )
    block_px: int = option(
        0,
        "Block size",
        "Side of the blocks into which the work is divided; 0 for blocks of about a minute each.",
        unit="px",
        minimum=0,
        maximum=32768,
        advanced=True,
    )

    def validate(self) -> None:
        """See Job.validate; also checks that there are scenes, and the form of the scheduler's address.

        Raises
        ------
        JobError
            An option is invalid.
        """
        super().validate()
        if not (self.rasters or self.source):
            raise JobError(
                "No scenes are given.",
                "Give images (rasters), or a folder, a pattern or an index of scenes (source).",
            )
        if self.scheduler and not self.scheduler.startswith(SCHEDULER_PROTOCOLS):
            raise JobError(
                f"Dask scheduler (scheduler) is {shown(self.scheduler)}.",
                "Give an address such as tcp://host:8786 or tls://host:8786.",
            )
