"""Items of STAC: whether one is wanted by its place, date and cloud cover, and which of its assets is the image.

Items are untrusted: any member may be missing or of another type. Scope: one item at a time. Independent of where
items come from.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Optional

import geopandas
import numpy as np
import shapely
from pyproj.exceptions import ProjError
from shapely.geometry.base import BaseGeometry

from ..errors import ImageryError, shown
from ..events import Reporter
from ..geodata.shapes import valid
from ..jobs.date_interval import ALL_TIME, DateInterval, parse_interval

# Media types of GeoTIFFs, cloud optimized or not, and roles of images in a collection, the best first.
_GEOTIFF = re.compile(r"image/(tiff|vnd\.stac\.geotiff)\b")
_ROLES = ("visual", "data")
# The percentage of clouds in the EO extension, and in Maxar's open data.
_CLOUD_COVER = ("eo:cloud_cover", "tile:clouds_percent")
_TIMES = ("start_datetime", "end_datetime")
_LONGITUDE_LATITUDE = "EPSG:4326"
# Edges of an area bend when they are taken to longitude and latitude; the images themselves are looked at later.
_MARGIN_DEG = 0.001
# Where more items than these cannot be read, their server is at fault.
_MAX_UNREADABLE = 20
# Why items are left out.
OUTSIDE, OTHER_DATES, CLOUDY = "outside of the area of interest", "of other dates", "too cloudy"
UNREADABLE = "that cannot be read"
NO_IMAGE = "without an image that may be opened (role data or visual, or a GeoTIFF; of a server: at http or https)"


@dataclass(frozen=True)
class ItemFilter:
    """Which items are wanted: all by default. `area` is in degrees of longitude and latitude."""

    area: Optional[BaseGeometry] = None
    dates: DateInterval = ALL_TIME
    max_cloud_percent: float = 100.0

    def objection(self, item: dict[str, Any]) -> str:
        """Return why an item is not wanted: OUTSIDE, OTHER_DATES, CLOUDY, or an empty text if it is.

        One without a place or cloud cover is wanted; one without a date only if dates do not matter.
        """
        properties = _object(item.get("properties"))
        if not self._touches(_outline(item)):
            return OUTSIDE
        span = _span(*(properties.get(name) or properties.get("datetime") for name in _TIMES))
        if self.dates != ALL_TIME and not (span and self.dates.overlaps(span)):
            return OTHER_DATES
        clouds = (properties.get(name) for name in _CLOUD_COVER)
        percent = next((each for each in clouds if isinstance(each, (int, float))), 0.0)
        return CLOUDY if percent > self.max_cloud_percent else ""

    def may_hold(self, collection: dict[str, Any]) -> bool:
        """Whether a collection may have wanted items, by the extent that it states."""
        extent = _object(collection.get("extent"))
        place = _first(_object(extent.get("spatial")).get("bbox"))
        times = _first(_object(extent.get("temporal")).get("interval"))
        span = _span(*times) if isinstance(times, list) and len(times) == 2 else None
        return self._touches(_box(place)) and (span is None or self.dates.overlaps(span))

    def query(self) -> dict[str, str]:
        """Return the parameters by which a STAC API searches for these items."""
        parameters = {}
        if self.area is not None:
            corners = np.add(self.area.bounds, np.array([-1, -1, 1, 1]) * _MARGIN_DEG)
            corners = np.clip(corners, (-180, -90, -180, -90), (180, 90, 180, 90))
            parameters["bbox"] = ",".join(f"{each:.6f}" for each in corners)
        if self.dates != ALL_TIME:
            parameters["datetime"] = self.dates.rfc3339()
        return parameters

    def _touches(self, place: Optional[BaseGeometry]) -> bool:
        return self.area is None or place is None or bool(shapely.dwithin(self.area, place, _MARGIN_DEG))


ALL_ITEMS = ItemFilter()


def make_filter(aoi: Optional[geopandas.GeoDataFrame], dates: DateInterval, max_cloud_percent: float) -> ItemFilter:
    """Return the filter for an area of interest in any CRS, dates, and the largest cloud cover in percent."""
    return ItemFilter(None if aoi is None else _in_degrees(aoi), dates, max_cloud_percent)


def _in_degrees(aoi: geopandas.GeoDataFrame) -> Optional[BaseGeometry]:
    """Return an area of interest; None where it has no shape there, as across the antimeridian."""
    try:
        shapes = aoi.to_crs(_LONGITUDE_LATITUDE).geometry.to_numpy()
    except ProjError:
        return None
    west, south, east, north = shapely.total_bounds(shapes)
    if not np.isfinite([west, south, east, north]).all() or east - west > 180:
        return None
    area: BaseGeometry = shapely.union_all(valid(shapes))
    shapely.prepare(area)
    return area


@dataclass
class ItemImages:
    """The images of wanted items in order, and the numbers of the items that are not wanted by reason."""

    wanted: ItemFilter
    addresses: list[str] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)

    def add(self, item: Any, path: str, locate: Callable[[str], Optional[str]]) -> None:
        """Add an item's image, if it is wanted and has one.

        Messages call the collection `path`. `locate` returns the place that an asset's address stands for, or None if
        an image there must not be opened.

        Raises
        ------
        ImageryError
            The item has several images, of which none is more of an image than the others.
        """
        if not isinstance(item, dict):
            return
        objection = self.wanted.objection(item)
        image = None if objection else _image_of(item, path, locate)
        if image is None:
            self.left_out[objection or NO_IMAGE] += 1
        else:
            self.addresses.append(image)

    def leave_out(self, error: ImageryError, reporter: Reporter) -> None:
        """Leave out an item that cannot be read, with a warning; raise its error if there are too many of them."""
        self.left_out[UNREADABLE] += 1
        if self.left_out[UNREADABLE] > _MAX_UNREADABLE:
            raise error
        reporter.warning(f"{error} The item is left out.")

    def checked(self, path: str, reporter: Reporter) -> list[str]:
        """Return the addresses, and log what was left out.

        Raises
        ------
        ImageryError
            There are none.
        """
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in self.left_out.items()) or "there are none"
        if not self.addresses:
            raise ImageryError(
                f"No item of {path} can be mapped: {reasons}.",
                "Check area of interest, dates and cloud cover, or give another collection of images.",
            )
        if self.left_out:
            reporter.log(f"Of the items of {path}, {len(self.addresses):,} are taken, and not: {reasons}.")
        return self.addresses


def _image_of(item: dict[str, Any], path: str, locate: Callable[[str], Optional[str]]) -> Optional[str]:
    ranked: dict[int, dict[str, str]] = {}
    for name, asset in _object(item.get("assets")).items():
        rank = _rank(name, asset)
        place = None if rank is None else locate(asset["href"])
        if rank is not None and place is not None:
            ranked.setdefault(rank, {})[name] = place
    if not ranked:
        return None
    best = ranked[min(ranked)]
    if len(set(best.values())) > 1:
        raise ImageryError(
            f"The item {shown(item.get('id'))} of {path} has several images: {', '.join(map(shown, best))}.",
            "Give the image files themselves, or a collection with one image for each item.",
        )
    return next(iter(best.values()))


def _rank(name: str, asset: Any) -> Optional[int]:
    """Return how likely an asset is the image of its item, from 0 for the likeliest; None if it is not an image."""
    if not isinstance(asset, dict) or not isinstance(asset.get("href"), str) or not asset["href"].strip():
        return None
    roles, media = asset.get("roles"), asset.get("type")
    roles = roles if isinstance(roles, list) else []
    media = media if isinstance(media, str) else ""
    is_geotiff = bool(_GEOTIFF.match(media))
    is_raster = is_geotiff or not media or media.startswith("image/")
    for rank, role in enumerate(_ROLES):
        if is_raster and (role in roles or (is_geotiff and name == role)):
            return 2 * rank + (not is_geotiff)  # Earth Search has the same picture as JPEG 2000, too
    return 2 * len(_ROLES) if not roles and is_geotiff else None


def _outline(item: dict[str, Any]) -> Optional[BaseGeometry]:
    """Return the geometry of an item, else its bounding box; None without a valid one."""
    geometry = item.get("geometry")
    if isinstance(geometry, dict):
        shape = shapely.from_geojson(json.dumps(geometry), on_invalid="ignore")
        if shape is not None and not shape.is_empty:
            return shapely.make_valid(shape)
    return _box(item.get("bbox"))


def _box(corners: Any) -> Optional[BaseGeometry]:
    """Return a bounding box of STAC, with heights or without; None if it is none, or crosses the antimeridian."""
    if not isinstance(corners, list) or len(corners) not in (4, 6):
        return None
    if not all(isinstance(each, (int, float)) for each in corners):
        return None
    west, south, east, north = (corners[index] for index in (0, 1, len(corners) // 2, len(corners) // 2 + 1))
    return shapely.box(west, south, east, north) if west <= east and south <= north else None


def _span(start: Any, end: Any) -> Optional[DateInterval]:
    try:
        return parse_interval("/".join(each if isinstance(each, str) else ".." for each in (start, end)))
    except ValueError:
        return None


def _first(value: Any) -> Any:
    return value[0] if isinstance(value, list) and value else None


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
