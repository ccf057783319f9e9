"""The state of known roads: the words of its layer, and the job that finds it.

Scope: names, words, fields and their texts. Independent of how a state is found; standard library only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..errors import JobError, shown
from .fields import parse_moments
from .networks import NodingOptions, bridge_option
from .option import (
    AREAS,
    FIELD,
    HTML_OUTPUT,
    RASTER,
    RASTERS,
    STARTER,
    VECTOR,
    VECTOR_OUTPUT,
    advanced_option,
    like,
    option,
)
from .shared import SegmentOptions, model_option

# The field of states, and its words.
STATE = "state"
SEEN, PARTLY_SEEN, NOT_SEEN = "seen", "partly seen", "not seen"
UNDER_WATER, IN_HAZARD, HIDDEN, OUTSIDE = "under water", "in a hazard", "hidden", "outside"
STATES = (SEEN, PARTLY_SEEN, NOT_SEEN, UNDER_WATER, IN_HAZARD, HIDDEN, OUTSIDE)
# States of roads that are not passable, and those that a look on the ground may change.
CLOSED, DOUBTFUL = (NOT_SEEN, UNDER_WATER, IN_HAZARD), (PARTLY_SEEN, NOT_SEEN, HIDDEN)
# Fields of the layer: the probability of being lost, and what a stretch means for the network.
LOST_PROBABILITY, PATHS_SHARE, DECIDES, CHECK = "lost_probability", "paths_share", "decides", "check"


@dataclass(frozen=True)
class RoadStatus(SegmentOptions):
    """Find the state of known roads after an event: which of them an image still shows, stretch by stretch.

    Takes the lines of roads before, for example from OpenStreetMap, and an image after. Each line is cut where its
    state changes: seen, partly seen, not seen, under water, in a hazard, hidden (in given clouds, or without data in
    the image) or outside. All fields are kept.

    Maps are often some meters off. So the lines are first moved, only to look, onto the roads that the model sees up to
    15 m away: neighbors alike, since the offset varies smoothly. A log entry tells the offsets, and arrows can show
    them.

    What the model sees along a line is compared with what it sees along other roads of this class and width in this
    image. A class that the model hardly sees anywhere is therefore never said to be lost with certainty. With an image
    before, what the model did not see even then does not count as lost.

    With a near-infrared band, an index tells water where the model sees no road. Layers or masks of water replace it.
    Clouds, shadows and trees are not recognized unless they are given as clouds: roads under them may be not seen. A
    bridge over water is not under water if it has the tag. To the index, water that an image before shows is not new.

    The field lost_probability is the mean probability that the road is lost, where about one meter in ten is. From 0.5
    on a place is not seen, and from 0.2 on partly seen. The fields evidence, beside, expected and evidence_before are
    log odds of road along the line, beside it, along other roads like it, and in the image before. 0 is the threshold.
    The fields image and image_date tell which image decided, and contradicted_by which other one shows the opposite.

    The field paths_share is the fraction of the shortest paths before, from the sites, that need the stretch. Roads
    that are not seen, under water or in a hazard count as closed. The field decides is the expected change of the paths
    by a check on the ground: the probability that the road is otherwise than assumed, times the fraction of the paths
    that are cut off, or become longer, without it. The field check numbers the checks, beginning with the one that
    decides most. Without sites, paths lead between all parts of the network.
    """

    name: ClassVar[str] = "roadstatus"
    title: ClassVar[str] = "State of known roads"

    lines: str = option("", "Known roads", kind=VECTOR, required=True).help("Road lines before the event, in any CRS.")
    raster: str = option("", "Image after", kind=RASTER, required=True).help("Image taken after the event.")
    rasters: tuple[str, ...] = option((), "Further images after", kind=RASTERS).help(
        "More images taken after the event, in any order. The newest image that shows a place decides about it."
    )
    dates: str = option("", "Dates").help(
        "Dates of the image after and the further images, in this order, such as 2024-09-29, 2024-09-27. One date "
        "stands for all. If empty, the date of a temporal layer or in the metadata of a file (ACQUISITIONDATETIME, "
        "TIFFTAG_DATETIME) counts. Several images need dates."
    )
    before: str = option("", "Image before", kind=RASTER).help(
        "Image taken before the event. It tells which roads the model can see at all."
    )
    hazards: str = option("", "Hazards", kind=VECTOR).help(
        "Polygons of a flood, a landslide, a fire or damage. Roads in them are in a hazard, whatever the image shows."
    )
    water: str = option("", "Water", kind=AREAS).help(
        "Polygons or a raster mask of water on the images of the newest day, such as flood polygons of Copernicus EMS "
        "or UNOSAT. They replace the water that the index tells in these."
    )
    clouds: str = option("", "Clouds", kind=AREAS).help(
        "Polygons or a raster mask of clouds on the images of the newest day, such as one of s2cloudless, and of "
        "shadows or trees. Roads in them are hidden."
    )
    near_infrared: int = option(0, "Near-infrared band", within=(0, 1000)).help(
        "Number of the near-infrared band of all images, from which an index (NDWI) tells water. 0 means that there is "
        "none."
    )
    aoi: str = option("", "Area of interest", kind=VECTOR).help("Polygons to look at. Roads elsewhere are outside.")
    class_field: str = option("", "Class field", kind=FIELD, usual="highway").help(
        "Field with the road classes. Each road is compared with others of its class."
    )
    width_field: str = option("", "Road width field", kind=FIELD, usual="width_m").help(
        "Field with the width of each road in meters. Each road is compared with others of about its width."
    )
    model: str = model_option(STARTER)
    sites: str = option("", "Sites", kind=VECTOR).help(
        "Points from which roads are reached: hospitals, depots, villages. The paths between them are compared before "
        "and after."
    )
    sites_name_field: str = option("", "Name field of the sites", kind=FIELD, usual="name").help(
        "Field with the names of the sites."
    )
    districts: str = option("", "Districts", kind=VECTOR).help("Polygons by which the report adds up the states.")
    districts_name_field: str = option("", "Name field of the districts", kind=FIELD, usual="name").help(
        "Field with the names of the districts."
    )
    lines_bridge_field: str = bridge_option("known roads")
    place_m: float = advanced_option(100.0, "Distance of sites", unit="m", within=(1, 10000)).help(
        "Maximum distance at which sites are snapped to the nearest road."
    )
    join_m: float = like(NodingOptions, "join_m")
    reach_m: float = advanced_option(3.0, "Reach", unit="m", within=(0, 30)).help(
        "Maximum distance of a road in the image from its moved line."
    )
    min_stretch_m: float = advanced_option(30.0, "Shortest stretch", unit="m", within=(0, 1000)).help(
        "Minimum length of a stretch: shorter ones are merged into the longer neighbor on the same line."
    )
    status: str = option("", "Roads with their state", kind=VECTOR_OUTPUT, required=True).help(
        "Lines to write, with the fields state, lost_probability, evidence, beside, expected, evidence_before, image, "
        "image_date, contradicted_by, paths_share, decides and check."
    )
    reached: str = option("", "Sites and their paths", kind=VECTOR_OUTPUT).help(
        "Sites to write, with the length of road that is reached before and after, and the status of their paths."
    )
    arrows: str = option("", "Offset arrows", kind=VECTOR_OUTPUT).help(
        "Lines to write, from places every 50 m along the known roads to where they are in the newest image after, "
        "with the field offset_m."
    )
    report: str = option("", "Report", kind=HTML_OUTPUT).help(
        "HTML report to write: map, tables by class and district, lost roads, checks, and images before and after."
    )

    def _check_together(self) -> None:
        super()._check_together()
        if self.reached and not self.sites:
            raise JobError("The option reached needs sites (sites).", "Give sites, or leave out reached.")
        try:
            parse_moments(self.dates)
        except ValueError as error:
            raise JobError(
                f"The dates (dates) {shown(self.dates)} cannot be read.", "Write them as 2024-09-29, 2024-09-27."
            ) from error
