"""Sources of scenes: files, folders, patterns, tile indexes, and STAC in files or on the web, as a list of rasters.

Indexes and collections are untrusted: their paths are later opened as rasters, and used for nothing else. Scope: paths.
Independent of the content of rasters.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Optional
from urllib.parse import urlsplit

import pyogrio

from ..errors import ImageryError
from ..events import Reporter
from ..geodata.rasters import open_raster
from ..geodata.sources import QGIS_PART, expand, for_pyogrio, require_openable
from ..jobs.json_fields import parse
from .stac import ALL_ITEMS, ItemFilter, ItemImages, find_images
from .web_json import MAX_JSON_BYTES, is_web_address

# The field in which a tile index, as gdaltindex makes it, has the path of each tile.
LOCATION = "location"
_JSON_SUFFIXES = (".json", ".geojson")
_VECTOR_SUFFIXES = (".gpkg", ".shp", ".fgb", ".geojson", ".json", ".gml", ".sqlite", ".tab")
# The last part of an address, if it is that of a file other than JSON.
_OTHER_FILE = re.compile(r"\.(?!json$|geojson$)[a-z]\w{1,4}$", re.IGNORECASE)
# GDAL's file systems by the schemes of addresses.
_PREFIXES = {
    "http": "/vsicurl/http://",
    "https": "/vsicurl/https://",
    "s3": "/vsis3/",
    "gs": "/vsigs/",
    "az": "/vsiaz/",
    "abfs": "/vsiadls/",
}


def find_scenes(
    rasters: Sequence[str],
    source: str = "",
    wanted: ItemFilter = ALL_ITEMS,
    reporter: Optional[Reporter] = None,
) -> list[str]:
    """Return the rasters that a job names, each once, in the order given.

    Each entry, and the source if not empty, is a raster that GDAL opens, a folder, a pattern, a tile index, a STAC item
    collection or the web address of STAC; of these, only the `wanted` items count. A virtual raster (VRT) is one image.
    The rasters of a folder or a pattern are in natural order (2 before 10), those of an index or a collection in its
    own. Raises ImageryError if a folder, pattern, index or collection names no raster, or is damaged; or no scene is
    given.
    """
    found: dict[str, str] = {}
    for given in filter(None, (*rasters, source)):
        for path in _scenes_of(given, wanted, reporter or Reporter()):
            path = gdal_path(path)
            found.setdefault(os.path.realpath(path) if os.path.exists(path) else path, path)
    if not found:
        raise ImageryError("There are no scenes.", "Give images, or a folder, a pattern or an index of images.")
    return list(found.values())


def gdal_path(path: str) -> str:
    """Return a path as GDAL opens it from anywhere, also from within a virtual raster: absolute, or below /vsi...."""
    path = re.sub(r"^file://(/(?=[A-Za-z]:))?", "", path)  # file:///C:/town.tif
    scheme, is_address, rest = path.partition("://")
    if is_address and scheme.lower() in _PREFIXES:
        return _PREFIXES[scheme.lower()] + rest
    return os.path.abspath(path) if not path.startswith("/vsi") and os.path.exists(path) else path


def natural_key(path: str) -> list[tuple[int, int, str]]:
    """Return a key by which names sort as people count: scene 2 before scene 10."""
    parts = re.split(r"(\d+)", path)
    return [(1, int(part), part) if part.isdecimal() else (0, 0, part.casefold()) for part in parts]


def _scenes_of(given: str, wanted: ItemFilter, reporter: Reporter) -> list[str]:
    # STAC may have a web address of JSON, or one without the ending of a file.
    if is_web_address(given) and not _OTHER_FILE.search(urlsplit(given).path):
        return find_images(given, wanted, reporter)
    require_openable(given, given, ImageryError)
    file = QGIS_PART.split(given)[0]
    if not os.path.isfile(file):
        return sorted(expand([given]), key=natural_key)
    found = None
    if file.lower().endswith(_JSON_SUFFIXES):
        found = _rasters_of_items(file, wanted, reporter)
    if found is None and file.lower().endswith(_VECTOR_SUFFIXES):
        found = _rasters_of_index(given, file)
    return [given] if found is None else found


def _rasters_of_index(given: str, file: str) -> Optional[list[str]]:
    """Return the rasters that a vector file names; None if it has no vector layer, as a raster GeoPackage."""
    layer, field = _location_of(given, file)
    if layer is None:
        return None
    try:
        places = pyogrio.read_dataframe(for_pyogrio(file), layer=layer, columns=[field], read_geometry=False)[field]
    except (RuntimeError, ValueError, OSError) as error:  # pyogrio's own are RuntimeErrors
        raise _damaged(given, error) from error
    folder = os.path.dirname(os.path.abspath(file))
    paths = [_placed(place, folder) for place in places if isinstance(place, str) and place.strip()]
    if not paths:
        raise ImageryError(f"The tile index {given} names no raster.", "Make it again with gdaltindex.")
    return paths


def _location_of(given: str, file: str) -> tuple[Optional[str], str]:
    """Return the layer with the paths of rasters, and its field for them."""
    asked = re.search(r"\|layername=([^|]*)", given)
    try:
        layers = [asked.group(1)] if asked else [str(name) for name, _ in pyogrio.list_layers(for_pyogrio(file))]
        fields = {layer: list(pyogrio.read_info(for_pyogrio(file), layer=layer)["fields"]) for layer in layers}
    except (RuntimeError, ValueError, OSError) as error:
        with suppress(ImageryError), open_raster(file):
            return None, ""
        if file.lower().endswith(_JSON_SUFFIXES):
            raise ImageryError(
                f"{given} is not a STAC item, collection of items or tile index.",
                "Give images, or a folder, a tile index or a STAC item collection.",
            ) from error
        raise _damaged(given, error) from error
    for layer, names in fields.items():
        for name in names:
            if name.casefold() == LOCATION:
                return layer, name
    if not fields:
        return None, ""
    all_names = ", ".join(dict.fromkeys(name for names in fields.values() for name in names)) or "none"
    raise ImageryError(
        f"{given} is not an index of rasters: it has no field {LOCATION} (its fields: {all_names}).",
        "Make a tile index with gdaltindex, or give images.",
    )


def _damaged(given: str, error: Exception) -> ImageryError:
    return ImageryError(
        f"The index {given} cannot be read: {str(error).rstrip('.')}.", "Check that the file was copied whole."
    )


def _rasters_of_items(path: str, wanted: ItemFilter, reporter: Reporter) -> Optional[list[str]]:
    """Return the rasters of a STAC item collection, or of a file that is one item; None for other JSON."""
    try:
        if os.path.getsize(path) > MAX_JSON_BYTES:
            raise ValueError(f"it has more than {MAX_JSON_BYTES / 1e9:.1f} GB")
        document = parse(Path(path).read_text(encoding="utf-8-sig"))
    except (OSError, ValueError) as error:
        raise ImageryError(
            f"{path} cannot be read as JSON: {str(error).rstrip('.')}.", "Check that the file was copied whole."
        ) from error
    if not isinstance(document, dict):
        raise ImageryError(f"{path} is not a STAC item collection.", "Give a collection of items, or images.")
    items = document.get("features") if document.get("type") == "FeatureCollection" else [document]
    if not isinstance(items, list) or not any(isinstance(item, dict) and "assets" in item for item in items):
        return None
    folder, images = os.path.dirname(os.path.abspath(path)), ItemImages(wanted)
    for item in items:
        images.add(item, path, lambda href: _placed(href, folder))
    return images.checked(path, reporter)


def _placed(path: str, folder: str) -> str:
    """Return the path in an index; a relative one belongs to the index's folder."""
    is_elsewhere = "://" in path or path.startswith("/vsi") or os.path.isabs(path)
    return path if is_elsewhere else os.path.normpath(os.path.join(folder, path))
