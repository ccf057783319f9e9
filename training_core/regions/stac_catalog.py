"""Items of STAC on the web: of an item, a collection, a static catalog or an API, by its address.

Everything that servers send is untrusted. Scope: which documents are read, and when that ends. Independent of HTTP and
of what items are wanted for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, Optional, Union
from urllib.parse import parse_qs, urlencode, urljoin, urlsplit

from ..errors import ImageryError
from ..events import Reporter
from .stac_items import ItemFilter, ItemImages
from .web_json import MAX_JSON_BYTES, SMALLER, ByteBudget, WebDocument, fetch_json, is_web_address, quoted

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
class _Link:
    """A link to be followed: an address, and its relation to the document that has it."""

    address: str
    relation: str = ""


def find_images(address: str, wanted: ItemFilter, reporter: Reporter) -> list[str]:
    """Return the addresses of the images of all wanted items behind an address.

    Raises
    ------
    ImageryError
        A document cannot be read or is no STAC; the server does not come to an end; or no item is left.
    """
    images = ItemImages(wanted)
    level = [_Link(quoted(_asked(address, wanted)))]
    seen, item_count = {level[0].address}, 0
    read = partial(_read, budget=ByteBudget(MAX_JSON_BYTES))
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
            _require_end(address, len(seen), item_count)
            reporter.progress(0, f"{len(images.addresses):,} images found in {item_count:,} items")
    finally:
        readers.shutdown(cancel_futures=True)
    return images.checked(address, reporter)


def _read(link: _Link, budget: ByteBudget) -> Union[WebDocument, ImageryError]:
    """Return the document of a link, or the error of one item, without which others can be mapped."""
    try:
        return fetch_json(link.address, budget)
    except ImageryError as error:
        if link.relation != "item":
            raise
        return error


def _require_end(address: str, documents: int, items: int) -> None:
    """Raise ImageryError if a server sends, or promises, more than any job needs."""
    for count, most, what in ((items, MAX_ITEMS, "items"), (documents, MAX_DOCUMENTS, "documents")):
        if count > most:
            raise ImageryError(f"{address} leads to more than {most:,} {what}.", SMALLER)


def _asked(address: str, wanted: ItemFilter) -> str:
    """Return the address, with the filter as parameters where it is that of a search."""
    parts = urlsplit(address)
    if not parts.path.rstrip("/").endswith(_SEARCHES):
        return address
    given = parse_qs(parts.query)
    added = {name: each for name, each in {"limit": str(_PAGE_ITEMS), **wanted.query()}.items() if name not in given}
    return parts._replace(query="&".join(filter(None, (parts.query, urlencode(added))))).geturl()


def _unseen(links: Iterable[_Link], seen: set[str]) -> Iterator[_Link]:
    """Yield links to documents that were not read yet; a next page must be one of them."""
    for link in links:
        if link.address not in seen:
            seen.add(link.address)
            yield link
        elif link.relation == "next":
            raise ImageryError(
                f"The pages of items lead round in a circle, to {link.address} again.",
                "The server is at fault: save the items to a file and give that, or take another server.",
            )


def _is_page(document: WebDocument) -> bool:
    return document.content.get("type") == "FeatureCollection"


def _items_of(document: WebDocument) -> list[Any]:
    content = document.content
    items = content.get("features") if _is_page(document) else [content] if content.get("type") == "Feature" else []
    return items if isinstance(items, list) else []


def _links_of(document: WebDocument, wanted: ItemFilter) -> list[_Link]:
    """Return the links of a document that lead to wanted items."""
    content, links = document.content, _web_links(document.content, document.address)
    if _is_page(document):
        return [link for link in links if link.relation == "next"]
    if content.get("type") == "Feature" or (content.get("type") == "Collection" and not wanted.may_hold(content)):
        return []
    if not isinstance(content.get("links"), list):
        raise ImageryError(
            f"{document.address} is no STAC.", "Give the address of an item, a collection, a catalog or a STAC API."
        )
    for relation in _QUERIES:
        found = [link for link in links if link.relation == relation]
        if found:
            return [_Link(_asked(found[0].address, wanted), relation)]
    return [link for link in links if link.relation in ("child", "item")]


def _web_links(content: dict[str, Any], base: str) -> list[_Link]:
    """Return the links of a document to JSON at addresses of the web, absolute."""
    links = content.get("links")
    given = [link for link in links if isinstance(link, dict)] if isinstance(links, list) else []
    located = ((_located(link.get("href"), base), link.get("rel")) for link in given if _is_json(link))
    return [_Link(address, str(relation)) for address, relation in located if address]


def _is_json(link: dict[str, Any]) -> bool:
    """Whether a link may lead to JSON; static collections also list their items as GeoParquet."""
    return "json" in str(link.get("type") or "json")


def _add_image(images: ItemImages, item: Any, document: WebDocument) -> None:
    """Add the image of an item; its relative addresses belong to the item's own address."""
    own = _web_links(item, document.address) if _is_page(document) and isinstance(item, dict) else []
    base = next((link.address for link in own if link.relation == "self"), document.address)
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
