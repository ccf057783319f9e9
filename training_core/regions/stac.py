"""STAC: the images of wanted items, and the links from documents on the web that lead to them.

Everything that files and servers say is untrusted: any member may be missing or of another type. Scope: which items
are wanted, which of their assets is the image, which documents are read, and when that ends. Independent of HTTP.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Optional, Union
from urllib.parse import parse_qs, urlencode, urljoin, urlsplit

import geopandas
import numpy as np
import shapely
from pyproj.exceptions import ProjError
from shapely.geometry.base import BaseGeometry

from ..errors import ImageryError, shown
from ..events import Reporter
from ..geodata.antimeridian import bounding_box, middle_of, settled, touches
from ..geodata.shapes import valid
from ..jobs.fields import ALL_TIME, DateInterval, parse_interval
from .web_json import MAX_JSON_BYTES, SMALLER, ByteBudget, WebDocument, fetch_json, is_web_address, quoted

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
OUTSIDE, OTHER_DATES, CLOUDY = "outside the area of interest", "outside the dates", "too cloudy"
UNREADABLE = "that cannot be read"
NO_IMAGE = "without an image that may be opened (role data or visual, or a GeoTIFF; on a server, at http or https)"
# More images than any job maps, and the documents of a static catalog of that size.
MAX_ITEMS = 100_000
MAX_DOCUMENTS = 200_000
# Static catalogs have a document for each item; servers take most of the time to answer.
_READERS = 8
# Items of a page that an API is asked for. Some cannot send more than a few megabytes at once.
_PAGE_ITEMS = 100
# How addresses of an API end under which it searches; relations of links to them, of a collection and of its root.
_SEARCHES = ("/items", "/search")
_QUERIES = ("items", "search")


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
        places = _list(_object(extent.get("spatial")).get("bbox"))
        times = _list(next(iter(_list(_object(extent.get("temporal")).get("interval"))), None))
        span = _span(*times) if len(times) == 2 else None
        return self._touches(_box(next(iter(places), None))) and (span is None or self.dates.overlaps(span))

    def query(self) -> dict[str, str]:
        """Return the parameters by which a STAC API searches for these items."""
        parameters = {}
        if self.area is not None:
            west, south, east, north = np.add(self.area.bounds, np.array([-1, -1, 1, 1]) * _MARGIN_DEG)
            corners = bounding_box(shapely.box(west, max(south, -90), east, min(north, 90)))
            parameters["bbox"] = ",".join(f"{each:.6f}" for each in corners)
        if self.dates != ALL_TIME:
            parameters["datetime"] = self.dates.rfc3339()
        return parameters

    def _touches(self, place: Optional[BaseGeometry]) -> bool:
        return self.area is None or place is None or touches(self.area, place, _MARGIN_DEG)


ALL_ITEMS = ItemFilter()


def area_in_degrees(aoi: Optional[geopandas.GeoDataFrame]) -> Optional[BaseGeometry]:
    """Return an area of interest in any CRS in longitude and latitude, in one piece across the antimeridian.

    None without one, or where it has no shape there.
    """
    if aoi is None:
        return None
    try:
        layer = aoi.to_crs(_LONGITUDE_LATITUDE)
    except ProjError:
        return None
    if not np.isfinite(layer.total_bounds).all():
        return None
    area: BaseGeometry = shapely.union_all(valid(settled(layer, middle_of(layer)).geometry.to_numpy()))
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
        an image there must not be opened. Raises ImageryError if the item has several images, of which none is more of
        an image than the others.
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

        Raises ImageryError if there are none.
        """
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in self.left_out.items()) or "there are none"
        if not self.addresses:
            raise ImageryError(
                f"No item of {path} can be mapped: {reasons}.",
                "Check area of interest, dates and cloud cover, or give another collection of images.",
            )
        if self.left_out:
            reporter.log(f"Some items of {path} are not used: {reasons}. The other {len(self.addresses):,} are used.")
        return self.addresses


def _image_of(item: dict[str, Any], path: str, locate: Callable[[str], Optional[str]]) -> Optional[str]:
    """Return the place of an item's image; see `ItemImages.add`."""
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
    roles, media = _list(asset.get("roles")), str(asset.get("type") or "")
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
    """Return a bounding box of STAC, with heights or without; None if it is none.

    One whose west is greater than its east crosses the antimeridian.
    """
    if not isinstance(corners, list) or len(corners) not in (4, 6):
        return None
    if not all(isinstance(each, (int, float)) for each in corners):
        return None
    west, south, east, north = (corners[index] for index in (0, 1, len(corners) // 2, len(corners) // 2 + 1))
    if south > north:
        return None
    # With vertices between its corners, so that a wide box has no jump.
    x = np.linspace(west, east + (360 if west > east else 0), 5)
    box: BaseGeometry = shapely.polygons(np.column_stack([[*x, *x[::-1]], [south] * 5 + [north] * 5]))
    return box


def _span(start: Any, end: Any) -> Optional[DateInterval]:
    try:
        return parse_interval("/".join(each if isinstance(each, str) else ".." for each in (start, end)))
    except ValueError:
        return None


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


# A link: its relation to the document that has it, and an address.
_Link = tuple[str, str]


def find_images(address: str, wanted: ItemFilter, reporter: Reporter) -> list[str]:
    """Return the addresses of the images of all wanted items behind an address.

    Raises ImageryError if a document cannot be read or is no STAC; the server does not come to an end; or no item is
    left.
    """
    images, budget = ItemImages(wanted), ByteBudget(MAX_JSON_BYTES)
    level: list[_Link] = [("", quoted(_asked(address, wanted)))]
    seen, item_count = {level[0][1]}, 0

    def read(link: _Link) -> Union[WebDocument, ImageryError]:
        try:
            return fetch_json(link[1], budget)
        except ImageryError as error:
            if link[0] != "item":
                raise
            return error  # others can be mapped without it

    readers = ThreadPoolExecutor(_READERS)
    try:
        while level:
            links: list[_Link] = []
            for document in readers.map(read, level):
                reporter.check_cancelled()
                if isinstance(document, ImageryError):
                    images.leave_out(document, reporter)
                    continue
                items = _items_of(document)
                item_count += len(items)
                links += _links_of(document, wanted) if items or not _is_page(document) else ()
                for item in items:
                    _add_image(images, item, document)
            level = [*_unseen(links, seen)]
            for count, most, what in ((item_count, MAX_ITEMS, "items"), (len(seen), MAX_DOCUMENTS, "documents")):
                if count > most:
                    raise ImageryError(f"{address} leads to more than {most:,} {what}.", SMALLER)
            reporter.progress(0, f"{len(images.addresses):,} images found in {item_count:,} items")
    finally:
        readers.shutdown(cancel_futures=True)
    return images.checked(address, reporter)


def _asked(address: str, wanted: ItemFilter) -> str:
    """Return the address, with the filter as parameters where it is that of a search."""
    parts = urlsplit(address)
    if not parts.path.rstrip("/").endswith(_SEARCHES):
        return address
    given = parse_qs(parts.query)
    added = {name: each for name, each in {"limit": str(_PAGE_ITEMS), **wanted.query()}.items() if name not in given}
    return parts._replace(query="&".join(filter(None, (parts.query, urlencode(added))))).geturl()


def _unseen(links: list[_Link], seen: set[str]) -> Iterator[_Link]:
    """Yield links to documents that were not read yet; a next page must be one of them."""
    for relation, address in links:
        if address not in seen:
            seen.add(address)
            yield relation, address
        elif relation == "next":
            raise ImageryError(
                f"The pages of items link in a circle, back to {address}.",
                "The server is at fault: save the items to a file and give that, or take another server.",
            )


def _is_page(document: WebDocument) -> bool:
    return document.content.get("type") == "FeatureCollection"


def _items_of(document: WebDocument) -> list[Any]:
    if _is_page(document):
        return _list(document.content.get("features"))
    return [document.content] if document.content.get("type") == "Feature" else []


def _links_of(document: WebDocument, wanted: ItemFilter) -> list[_Link]:
    """Return the links of a document that lead to wanted items."""
    content, links = document.content, _web_links(document.content, document.address)
    if _is_page(document):
        return [link for link in links if link[0] == "next"]
    if content.get("type") == "Feature" or (content.get("type") == "Collection" and not wanted.may_hold(content)):
        return []
    if not isinstance(content.get("links"), list):
        raise ImageryError(
            f"{document.address} is not STAC.", "Give the address of an item, a collection, a catalog or a STAC API."
        )
    for query in _QUERIES:
        for relation, address in links:
            if relation == query:
                return [(query, _asked(address, wanted))]
    return [link for link in links if link[0] in ("child", "item")]


def _web_links(content: dict[str, Any], base: str) -> list[_Link]:
    """Return the links of a document to JSON at addresses of the web, absolute.

    Static collections also list their items as GeoParquet.
    """
    given = [link for link in _list(content.get("links")) if "json" in str(_object(link).get("type") or "json")]
    located = ((str(link.get("rel")), _located(link.get("href"), base)) for link in given if isinstance(link, dict))
    return [(relation, address) for relation, address in located if address]


def _add_image(images: ItemImages, item: Any, document: WebDocument) -> None:
    """Add the image of an item; its relative addresses belong to the item's own address."""
    own = dict(_web_links(_object(item), document.address)) if _is_page(document) else {}
    base = own.get("self", document.address)
    images.add(item, base, lambda href: _located(href, base))


def _located(href: Any, base: str) -> Optional[str]:
    """Return the absolute address of a link or asset, quoted as GDAL needs it.

    None for anything but http and https, such as local files.
    """
    try:
        address = urljoin(base, href.strip()) if isinstance(href, str) else ""
    except ValueError:  # no address, as http://[
        return None
    return quoted(address) if is_web_address(address) else None
