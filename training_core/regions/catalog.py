"""The catalog of a region: which of its images can be mapped, on which grids, and what is wrong with the others.

Scope: what the heads of raster files say. Independent of pixel values. One bad image never stops the others.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Optional

import geopandas
import numpy as np
import shapely
from rasterio.enums import ColorInterp, MaskFlags
from rasterio.io import DatasetReader

from ..errors import ImageryError, RoadSegError, without_passwords
from ..events import Reporter
from ..geodata.grid import Grid
from ..geodata.model_input import ModelInput
from ..geodata.rasterize import ground_shapes, pixel_window
from ..geodata.rasters import band_names, open_raster
from ..geodata.sources import with_sources
from ..segmentation.work_plan import fitting
from .scene_sources import gdal_path

# How an image says where it has no data: nowhere, by a value of all bands, by alpha, by a mask, or otherwise.
FULL, NODATA, ALPHA, MASK, OTHER = "full", "nodata", "alpha", "mask", "other"
# Files are opened side by side, since those on other machines take most of their time to answer.
_READERS = 8
_LONGEST_NAME_BYTES = 200
_COLORS = {each: each.name for each in (ColorInterp.gray, ColorInterp.red, ColorInterp.green, ColorInterp.blue)}


@dataclass(frozen=True)
class SceneBand:
    """A band of a scene that is no alpha.

    Parameters
    ----------
    number : int
        In the file, from 1.
    dtype : str
        As numpy names it.
    color : str
        gray, red, green or blue; empty for any other.
    nodata : float, optional
    """

    number: int
    dtype: str
    color: str = ""
    description: str = ""
    nodata: Optional[float] = None


@dataclass(frozen=True)
class Scene:
    """An image that can be mapped.

    Parameters
    ----------
    path : str
        As GDAL opens it from anywhere.
    name : str
        Its file's, without the ending; no other scene has it.
    grid : Grid
        Its own.
    indexes : tuple of int
        Numbers of the bands that the model takes, in the model's order, from 1.
    version : str
        Changes when the file, or one that it is made of, changes.
    bands : tuple of SceneBand
        All but alpha.
    masking : str
        FULL, NODATA, ALPHA, MASK or OTHER.
    alpha : int
        Number of the alpha band; 0 for none.
    """

    path: str
    name: str
    grid: Grid
    indexes: tuple[int, ...]
    version: str
    bands: tuple[SceneBand, ...]
    masking: str = FULL
    alpha: int = 0


@dataclass(frozen=True)
class Problem:
    """An image that cannot be mapped.

    Parameters
    ----------
    name : str
        As of a scene.
    code, reason, remedy : str
        Of the error; see `errors`.
    """

    path: str
    name: str
    code: str
    reason: str
    remedy: str


@dataclass(frozen=True)
class Catalog:
    """The images of a region.

    Parameters
    ----------
    scenes : tuple of Scene
        That can be mapped.
    problems : tuple of Problem
        Those that cannot.
    outside : tuple of str
        Paths of those that lie outside the area of interest.
    """

    scenes: tuple[Scene, ...]
    problems: tuple[Problem, ...]
    outside: tuple[str, ...] = ()


def read_catalog(
    paths: Sequence[str], wanted: ModelInput, aoi: Optional[geopandas.GeoDataFrame], reporter: Reporter
) -> Catalog:
    """Open each image, and sort out what can be mapped.

    Parameters
    ----------
    paths : sequence of str
        As `find_scenes` returns them.
    wanted : ModelInput
        What the model takes.
    aoi : GeoDataFrame, optional
        Polygons of the area of interest, in any CRS; None for none.
    """
    scenes: dict[str, Scene] = {}
    problems: list[Problem] = []
    outside: list[str] = []
    for number, (path, image) in enumerate(_read_all(paths, wanted), 1):
        reporter.check_cancelled()
        reporter.progress(number / len(paths), f"Image {number:,} of {len(paths):,} read")
        entry = _within(image, aoi) if isinstance(image, Scene) and aoi is not None else image
        if entry is None:
            outside.append(path)
        elif isinstance(entry, Problem):
            problems.append(entry)
        else:
            first = scenes.setdefault(entry.name.casefold(), entry)  # some file systems take "A" and "a" for one
            if first is not entry:
                problems.append(_problem(path, _same_name(path, first)))
    return Catalog(tuple(scenes.values()), tuple(problems), tuple(outside))


def scene_name(path: str) -> str:
    """Return the name of a scene: that of its file without the ending, such as files may have on any system."""
    plain = without_passwords(path).split("?")[0] if path.startswith("/vsi") else path
    stem, dot, ending = re.split(r"[\\/]", plain)[-1].rpartition(".")
    stem = stem if dot and ":" not in ending else stem + dot + ending  # as in NETCDF:"heights.nc":Band1
    name = re.sub(r'[<>:"/\\|?*\x00-\x1f]', "_", stem).strip(" .") or "scene"
    return name.encode("utf-8", "replace")[:_LONGEST_NAME_BYTES].decode("utf-8", "ignore")


def _read_all(paths: Sequence[str], wanted: ModelInput) -> Iterator[tuple[str, Scene | Problem]]:
    """Yield each path in the given order with what it is."""
    readers = ThreadPoolExecutor(_READERS)
    try:
        yield from zip(paths, readers.map(lambda path: _read(path, wanted), paths))
    finally:
        readers.shutdown(cancel_futures=True)


def _read(path: str, wanted: ModelInput) -> Scene | Problem:
    try:
        return _scene(gdal_path(path), wanted)
    except RoadSegError as error:
        return _problem(path, error)
    except Exception as error:  # a damaged file may break a library in any way, and must not end the job
        unforeseen = f"{path} cannot be read ({type(error).__name__}: {str(error).rstrip('.')})."
        return _problem(path, ImageryError(unforeseen, "Check that the file was copied whole."))


def _problem(path: str, error: RoadSegError) -> Problem:
    return Problem(without_passwords(path), scene_name(path), error.code, error.message, error.remedy)


def _same_name(path: str, first: Scene) -> ImageryError:
    return ImageryError(
        f"{path} has the same name as {first.path}, and so would its mask; it is left out.",
        "Rename one of the files, or map them in two jobs.",
    )


def _scene(path: str, wanted: ModelInput) -> Scene:
    with open_raster(path) as dataset:
        indexes, grid = fitting(dataset, wanted, path)
        bands = tuple(_band(dataset, number) for number in band_names(dataset))
        masking, alpha = _masking(dataset)
        return Scene(path, scene_name(path), grid, indexes, _version(path, dataset), bands, masking, alpha)


def _band(dataset: DatasetReader, number: int) -> SceneBand:
    color = _COLORS.get(dataset.colorinterp[number - 1], "")
    description, nodata = dataset.descriptions[number - 1] or "", dataset.nodatavals[number - 1]
    return SceneBand(number, dataset.dtypes[number - 1], color, description, nodata)


def _masking(dataset: DatasetReader) -> tuple[str, int]:
    """Return how a dataset says where it has no data, as `dataset_mask` of rasterio reads it, and its alpha band."""
    flags, colors = dataset.mask_flag_enums, dataset.colorinterp
    alpha = colors.index(ColorInterp.alpha) + 1 if ColorInterp.alpha in colors else 0
    if all(MaskFlags.all_valid in each for each in flags):
        return FULL, 0
    if MaskFlags.per_dataset in flags[0]:
        return (ALPHA, alpha) if MaskFlags.alpha in flags[0] else (MASK if not alpha else OTHER, alpha)
    if alpha:
        return OTHER, alpha
    # A pixel has data where any band has.
    return (FULL if any(MaskFlags.all_valid in each for each in flags) else NODATA), 0


def _version(path: str, dataset: DatasetReader) -> str:
    """Return a digest that changes when a raster's files change; of what is elsewhere, its path."""
    files = with_sources([path]) if dataset.driver == "VRT" else dict.fromkeys([path, *dataset.files])
    facts = []
    for file in sorted(map(os.path.abspath, filter(os.path.exists, files))):
        status = os.stat(file)
        facts.append(f"{file} {status.st_size} {status.st_mtime_ns}")
    return hashlib.sha256("\n".join([path, *facts]).encode()).hexdigest()[:16]


def _within(scene: Scene, aoi: geopandas.GeoDataFrame) -> Scene | Problem | None:
    """Return a scene if the area of interest touches it, else None; a problem where that cannot be told."""
    try:
        shape = shapely.union_all(ground_shapes(aoi, scene.grid))
        window = pixel_window(np.array([shape]), scene.grid)
    except RoadSegError as error:
        return _problem(scene.path, error)
    return scene if window[2] and window[3] else None
