"""The catalog of a region: its images that can be mapped, their grids, and the problems of the others.

One bad image never stops the others. Scope: headers of raster files. Independent of pixel values.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Optional

import geopandas
from rasterio.enums import ColorInterp, MaskFlags
from rasterio.io import DatasetReader

from ..errors import ImageryError, RoadSegError, without_passwords
from ..events import Reporter
from ..geodata.grid import Grid
from ..geodata.rasters import ModelInput, band_names, open_raster
from ..geodata.shapes import pixel_window, shapes_on
from ..geodata.sources import with_sources
from ..jobs.file_systems import impossible_name, same_name, without_options
from ..segmentation.work_plan import fitting
from .scene_sources import gdal_path

# How an image marks missing data: it has none, or by a value of all bands, by alpha, by a mask, or otherwise.
FULL, NODATA, ALPHA, MASK, OTHER = "full", "nodata", "alpha", "mask", "other"
# Files are opened in threads, since other machines take most of the time to answer.
_READERS = 8
_MAX_NAME_BYTES = 200
# Maximum number of parent folders in a name, which distinguish scenes of the same file name.
_MAX_FOLDERS = 4
_COLORS = {color: color.name for color in (ColorInterp.gray, ColorInterp.red, ColorInterp.green, ColorInterp.blue)}


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
    the file, or one of its sources, changes. Masking is FULL, NODATA, ALPHA, MASK or OTHER.
    """

    path: str
    name: str
    grid: Grid
    indexes: tuple[int, ...]
    version: str
    bands: tuple[SceneBand, ...]
    masking: str = FULL


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
        reporter.check_cancelled()
        reporter.progress(number / len(paths), f"Image {number:,} of {len(paths):,} read")
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
    with open_raster(path) as dataset:
        indexes, grid = fitting(dataset, wanted, path)
        of_bands = (dataset.dtypes, dataset.colorinterp, dataset.descriptions, dataset.nodatavals)
        facts, numbers = dict(enumerate(zip(*of_bands), 1)), band_names(dataset)
        bands = tuple(
            SceneBand(number, dtype, _COLORS.get(color, ""), description or "", nodata)
            for number, (dtype, color, description, nodata) in facts.items()
            if number in numbers
        )
        return Scene(path, name, grid, indexes, _version(path, dataset), bands, _masking(dataset))


def _masking(dataset: DatasetReader) -> str:
    """Return how a dataset marks missing data, as `dataset_mask` of rasterio reads it."""
    flags, has_alpha = dataset.mask_flag_enums, ColorInterp.alpha in dataset.colorinterp
    if all(MaskFlags.all_valid in band for band in flags):
        return FULL
    if MaskFlags.per_dataset in flags[0]:
        return ALPHA if MaskFlags.alpha in flags[0] else (OTHER if has_alpha else MASK)
    if has_alpha:
        return OTHER
    # A pixel has data where any band has.
    return FULL if any(MaskFlags.all_valid in band for band in flags) else NODATA


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
