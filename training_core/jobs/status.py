"""The state of known roads: the words of its layer, and the job that finds it.

Scope: names, words, fields and their texts. Independent of how a state is found; standard library only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from .option import FIELD, RASTER, STARTER, VECTOR, VECTOR_OUTPUT, advanced_option, option
from .shared import SegmentOptions, model_option

# The field of states, and its words.
STATE = "state"
SEEN, PARTLY_SEEN, NOT_SEEN = "seen", "partly seen", "not seen"
IN_HAZARD, HIDDEN, OUTSIDE = "in a hazard", "hidden", "outside"
STATES = (SEEN, PARTLY_SEEN, NOT_SEEN, IN_HAZARD, HIDDEN, OUTSIDE)


@dataclass(frozen=True)
class RoadStatus(SegmentOptions):
    """Find the state of known roads after an event: which of them an image still shows, stretch by stretch.

    Takes the lines of roads before, for example from OpenStreetMap, and an image after. Each line is cut where its
    state changes: seen, partly seen, not seen, in a hazard, hidden (no data in the image) or outside. All fields are
    kept.

    Maps are often some meters off. So the lines are first moved, only to look, onto the roads that the model sees up to
    15 m away: neighbors alike, since the offset varies smoothly. A log entry tells the offsets, and arrows can show
    them.

    What the model sees along a line is compared with what it sees along other roads of this class and width in this
    image. A class that the model hardly sees anywhere is therefore never said to be lost with certainty. With an image
    before, what the model did not see even then does not count as lost. Trees, shadows and clouds are not recognized.

    The field lost_probability is the mean probability that the road is lost, where about one meter in ten is. From 0.5
    on a place is not seen, and from 0.2 on partly seen. The fields evidence, beside, expected and evidence_before are
    log odds of road along the line, beside it, along other roads like it, and in the image before. 0 is the threshold.
    """

    name: ClassVar[str] = "roadstatus"
    title: ClassVar[str] = "State of known roads"

    lines: str = option("", "Known roads", kind=VECTOR, required=True).help("Road lines before the event, in any CRS.")
    raster: str = option("", "Image after", kind=RASTER, required=True).help("Image taken after the event.")
    before: str = option("", "Image before", kind=RASTER).help(
        "Image taken before the event. It tells which roads the model can see at all."
    )
    hazards: str = option("", "Hazards", kind=VECTOR).help(
        "Polygons of a flood, a landslide, a fire or damage. Roads in them are in a hazard, whatever the image shows."
    )
    aoi: str = option("", "Area of interest", kind=VECTOR).help("Polygons to look at. Roads elsewhere are outside.")
    class_field: str = option("", "Class field", kind=FIELD, usual="highway").help(
        "Field with the road classes. Each road is compared with others of its class."
    )
    width_field: str = option("", "Road width field", kind=FIELD, usual="width_m").help(
        "Field with the width of each road in meters. Each road is compared with others of about its width."
    )
    model: str = model_option(STARTER)
    reach_m: float = advanced_option(3.0, "Reach", unit="m", within=(0, 30)).help(
        "Maximum distance of a road in the image from its moved line."
    )
    min_stretch_m: float = advanced_option(30.0, "Shortest stretch", unit="m", within=(0, 1000)).help(
        "Minimum length of a stretch: shorter ones are merged into the longer neighbor on the same line."
    )
    status: str = option("", "Roads with their state", kind=VECTOR_OUTPUT, required=True).help(
        "Lines to write, with the fields state, lost_probability, evidence, beside, expected and evidence_before."
    )
    arrows: str = option("", "Offset arrows", kind=VECTOR_OUTPUT).help(
        "Lines to write, from places every 50 m along the known roads to where they are in the image after, with the "
        "field offset_m."
    )
