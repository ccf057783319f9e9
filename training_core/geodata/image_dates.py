"""When images were taken, by what a person says or by their metadata, and their order.

Scope: dates and times. Independent of pixels and of what images show.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from typing import Optional

from ..errors import ImageryError, JobError
from ..jobs.fields import parse_moments
from .rasters import open_raster
from .sources import source_name

# Metadata of GDAL, by domain: of satellite images, and of TIFF, in which it is often the time of processing.
_TAGS = (("IMAGERY", "ACQUISITIONDATETIME"), (None, "TIFFTAG_DATETIME"))
_EXIF_DATE = re.compile(r"^(\d{4}):(\d{2}):(\d{2})")
# The path of an image, and the time in UTC at which it was taken, if that is known.
DatedImage = tuple[str, Optional[datetime]]


def newest_first(images: Sequence[str], dates: str) -> list[DatedImage]:
    """Return images with the time, in UTC, at which each was taken, the newest first; equals stay in their order.

    Dates are those of the images, or one for all; if empty, metadata tells. Only a single image needs none. Raises
    JobError if their number does not fit, and ImageryError if one of several images has none.
    """
    given = parse_moments(dates)
    if len(given) > 1 and len(given) != len(images):
        raise JobError(
            f"There are {len(given)} dates (dates) for {len(images)} images after the event.",
            "Give one date for each image, or one for all.",
        )
    told = given * len(images) if len(given) == 1 else given
    taken: list[Optional[datetime]] = [*told] or [_in_metadata(image) for image in images]
    missing = [source_name(image) for image, moment in zip(images, taken) if moment is None]
    if missing and len(images) > 1:
        raise ImageryError(
            f"The image {missing[0]} does not tell when it was taken, so the newest of the {len(images)} images after "
            "the event is unknown.",
            "Give the date of each image (dates).",
        )
    return sorted(zip(images, taken), key=lambda each: -each[1].timestamp() if each[1] else 0.0)


def _in_metadata(image: str) -> Optional[datetime]:
    with open_raster(image) as dataset:
        for domain, name in _TAGS:
            with suppress(LookupError, ValueError):
                return parse_moments(_EXIF_DATE.sub(r"\1-\2-\3", dataset.tags(ns=domain).get(name, "")))[0]
    return None
