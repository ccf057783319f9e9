"""The images of a region: the rasters that a job names, those that can be mapped, and the problems of the others.

Rasters come from files, folders, patterns, tile indexes, and STAC in files or on the web. Indexes and collections are
untrusted: their paths are later opened as rasters, and used for nothing else. One bad image never stops the others.
Scope: paths, and headers of raster files. Independent of pixel values.
"""

from __future__ import annotations

import hashlib
import math
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Optional
from urllib.parse import urlsplit

import geopandas
import pyogrio
from rasterio.enums import ColorInterp, MaskFlags
from rasterio.io import DatasetReader

from ..errors import ImageryError, RoadSegError, without_passwords
from ..events import Reporter
from ..geodata.grid import Grid
from ..geodata.plain_rasters import PlainRaster, has_own_mask, has_unmarked_floats
from ..geodata.rasters import ModelInput, band_names, open_image, open_raster
from ..geodata.shapes import pixel_window, shapes_on
from ..geodata.sources import QGIS_PART, expand, for_pyogrio, require_openable, with_sources
from ..jobs.file_systems import impossible_name, same_name, without_options
from ..jobs.json_fields import parse
from ..segmentation.work_plan import fitting
from .stac import ALL_ITEMS, ItemFilter, ItemImages, find_images
from .web_json import MAX_JSON_BYTES, is_web_address

# How a plain image marks missing data: it has none, or by a value of each band, by alpha or by a mask.
FULL, NODATA, ALPHA, MASK = "full", "nodata", "alpha", "mask"
# Files are opened in threads, since other machines take most of the time to answer.
_READERS = 8
_MAX_NAME_BYTES = 200
# Maximum number of parent folders in a name, which distinguish scenes of the same file name.
_MAX_FOLDERS = 4
_COLORS = {color: color.name for color in (ColorInterp.gray, ColorInterp.red, ColorInterp.green, ColorInterp.blue)}
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


@dataclass(frozen=True)
class SceneBand:
    """A band of a scene, except alpha, numbered from 1. The color is gray, red, green, blue or empty."""

    number: int
    dtype: str
    color: str = ""
    description: str = ""
    nodata: Optional[float] = None


@dataclass(frozen=True)
class Scene:
    """An image that can be mapped, at a path that GDAL opens from anywhere. Its name is unique.

    `indexes` are the numbers of the bands that the model takes, in the model's order, from 1. The version changes when
    the file, or one of its sources, changes. Masking is FULL, NODATA, ALPHA or MASK. `plain` is the virtual raster
    to read in place of the file, if that is no plain image; see `geodata.plain_rasters`.
    """

    path: str
    name: str
    grid: Grid
    indexes: tuple[int, ...]
    version: str
    bands: tuple[SceneBand, ...]
    masking: str = FULL
    plain: str = ""


@dataclass(frozen=True)
class Problem:
    """An image that cannot be mapped, with the code, reason and remedy of its error (see `errors`)."""

    path: str
    name: str
    code: str
    reason: str
    remedy: str


@dataclass(frozen=True)
class Catalog:
    """The images of a region; `outside` has the paths of those outside of the area of interest."""

    scenes: tuple[Scene, ...]
    problems: tuple[Problem, ...]
    outside: tuple[str, ...] = ()


def read_catalog(
    paths: Sequence[str], wanted: ModelInput, aoi: Optional[geopandas.GeoDataFrame], reporter: Reporter
) -> Catalog:
    """Open each image of `find_scenes`, and sort them, some as outside of the area of interest, in any CRS."""
    scenes: dict[str, Scene] = {}
    problems: list[Problem] = []
    outside: list[str] = []
    names = dict(zip(paths, scene_names(paths)))
    for number, (path, image) in enumerate(_read_all(names, wanted), 1):
        reporter.step(number / len(paths), f"Image {number:,} of {len(paths):,} read")
        entry = _within(image, aoi) if isinstance(image, Scene) and aoi is not None else image
        if entry is None:
            outside.append(path)
        elif isinstance(entry, Problem):
            problems.append(entry)
        elif (first := scenes.setdefault(same_name(entry.name), entry)) is not entry:
            shared = f"{path} has the same name as {first.path}, and so would its mask. It is left out."
            error = ImageryError(shared, "Rename one of the files, or map them in two jobs.")
            problems.append(_problem(path, entry.name, error))
    return Catalog(tuple(scenes.values()), tuple(problems), tuple(outside))


def scene_names(paths: Sequence[str]) -> list[str]:
    """Return the names of scenes; of images on servers, with as many of their folders as tell them apart.

    Open data often has the same name in the folder of each tile or date, and nobody can rename it.
    """
    names = [scene_name(path) for path in paths]
    for folders in range(1, _MAX_FOLDERS + 1):
        counts = Counter(map(same_name, names))
        names = [
            scene_name(path, folders) if counts[same_name(name)] > 1 and path.startswith("/vsi") else name
            for path, name in zip(paths, names)
        ]
    return names


def scene_name(path: str, folders: int = 0) -> str:
    """Return the name of a scene: its file's without the ending, allowed as a file name on any system.

    It is preceded by the names of `folders` parent folders.
    """
    path = without_options(path)
    plain = without_passwords(path).split("?")[0] if path.startswith("/vsi") else path
    *above, file = re.split(r"[\\/]", plain)
    stem, dot, ending = file.rpartition(".")
    stem = stem if dot and ":" not in ending else stem + dot + ending  # as in NETCDF:"heights.nc":Band1
    named = "_".join([*above[max(0, len(above) - folders) :], stem])
    name = re.sub(r'[<>:"/\\|?*\x00-\x1f]', "_", named).strip(" .") or "scene"
    name = f"_{name}" if impossible_name(name, "win32") else name  # of a device, as NUL
    return name.encode("utf-8", "replace")[:_MAX_NAME_BYTES].decode("utf-8", "ignore")


def _read_all(names: dict[str, str], wanted: ModelInput) -> Iterator[tuple[str, Scene | Problem]]:
    """Yield each path in the given order with its scene or problem, which get the path's name."""
    readers = ThreadPoolExecutor(_READERS)
    try:
        yield from zip(names, readers.map(lambda path: _read(path, names[path], wanted), names))
    finally:
        readers.shutdown(cancel_futures=True)


def _read(path: str, name: str, wanted: ModelInput) -> Scene | Problem:
    try:
        return _scene(gdal_path(path), name, wanted)
    except RoadSegError as error:
        return _problem(path, name, error)
    except Exception as error:  # a damaged file may break a library in any way, and must not end the job
        unforeseen = f"{path} cannot be read ({type(error).__name__}: {str(error).rstrip('.')})."
        return _problem(path, name, ImageryError(unforeseen, "Check that the file was copied whole."))


def _problem(path: str, name: str, error: RoadSegError) -> Problem:
    return Problem(without_passwords(path), name, error.code, error.message, error.remedy)


def _scene(path: str, name: str, wanted: ModelInput) -> Scene:
    with open_image(path) as dataset:
        indexes, grid = fitting(dataset, wanted, path)
        of_bands = (dataset.dtypes, dataset.colorinterp, dataset.descriptions, dataset.nodatavals)
        facts, numbers = dict(enumerate(zip(*of_bands), 1)), band_names(dataset)
        bands = tuple(
            SceneBand(number, dtype, _COLORS.get(color, ""), description or "", nodata)
            for number, (dtype, color, description, nodata) in facts.items()
            if number in numbers
        )
        if has_unmarked_floats(dataset):
            bands = tuple(replace(band, nodata=math.nan) for band in bands)
        plain = dataset.xml if isinstance(dataset, PlainRaster) else ""
        return Scene(path, name, grid, indexes, _version(path, dataset), bands, _masking(dataset), plain)


def _masking(image: DatasetReader) -> str:
    """Return how a plain image marks missing data."""
    if has_own_mask(image):
        return MASK
    flags = image.mask_flag_enums[0]
    if MaskFlags.alpha in flags:
        return ALPHA
    return NODATA if MaskFlags.nodata in flags or has_unmarked_floats(image) else FULL


def _version(path: str, dataset: DatasetReader) -> str:
    """Return a digest that changes when a raster's files change; files elsewhere count by their path alone."""
    files = with_sources([path]) if dataset.driver == "VRT" else dict.fromkeys([path, *dataset.files])
    found = {file: os.stat(file) for file in sorted(map(os.path.abspath, filter(os.path.exists, files)))}
    facts = [f"{file} {status.st_size} {status.st_mtime_ns}" for file, status in found.items()]
    return hashlib.sha256("\n".join([path, *facts]).encode()).hexdigest()[:16]


def _within(scene: Scene, aoi: geopandas.GeoDataFrame) -> Scene | Problem | None:
    """Return a scene if the area of interest touches it, else None; a problem where that is unknown."""
    try:
        window = pixel_window(shapes_on(aoi, scene.grid), scene.grid)
    except RoadSegError as error:
        return _problem(scene.path, scene.name, error)
    return scene if window[2] and window[3] else None


def find_scenes(
    rasters: Sequence[str], source: str = "", wanted: ItemFilter = ALL_ITEMS, reporter: Optional[Reporter] = None
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
