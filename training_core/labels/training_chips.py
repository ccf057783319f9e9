"""Training chips: squares of one size that cover the labeled part of an image, their files, and indexes of these.

An index has `masks`, the name of the folder of label rasters, takes the chips one by one, and writes its files at the
end: items of STAC, the files of Esri's classified tiles, or COCO annotations. Samples are squares in
random order, normalized, to measure models on. Scope: pixels, windows and files. Independent of the model.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from itertools import islice
from pathlib import Path
from typing import Any, Optional

import numpy as np
import rasterio
import shapely
from rasterio.enums import ColorInterp
from rasterio.errors import NotGeoreferencedWarning
from rasterio.features import shapes as regions_of

from ..errors import ImageryError, OutputError
from ..events import Reporter
from ..geodata.antimeridian import bounding_box, cut_at_antimeridian
from ..geodata.geotiff import named_errors
from ..geodata.grid import NOWHERE, Grid
from ..geodata.pixel_codes import BACKGROUND, IGNORE, MASK_BAND, ROAD
from ..geodata.rasters import MIN_KNOWN, Image, ModelInput, normalize, open_for_model, require_normal
from ..geodata.shapes import outline_in_degrees
from ..geodata.sources import source_name
from ..geodata.tiling import STRIDE_PX
from ..system.outputs import write_json
from .drawing import Labels
from .labeled_images import Truth, nothing_labeled, without_labels

_RGB = (ColorInterp.red, ColorInterp.green, ColorInterp.blue)
_MAX_STEM = 60
_TIFF = "image/tiff; application=geotiff"
_NAMES = {BACKGROUND: "background", ROAD: "road", IGNORE: "unknown"}
_CLASSES = [{"value": value, "name": name, "description": name} for value, name in _NAMES.items()]
_COLORS = {ROAD: [255, 0, 0], IGNORE: [128, 128, 128]}
_CLASSIFICATION = "https://stac-extensions.github.io/classification/v2.0.0/schema.json"


@dataclass(frozen=True)
class Chip:
    """A part of an image and its labels; the name, unique among all chips, is that of its files without the ending.

    The values, (bands, side, side), are of the image's type; `known`, (side, side), bool, is False without data. Labels
    are (side, side), uint8.
    """

    name: str
    image: str
    grid: Grid
    values: np.ndarray
    known: np.ndarray
    labels: np.ndarray

    @property
    def is_placed(self) -> bool:
        """Whether it lies on the map."""
        return bool(self.grid.crs != NOWHERE)


@dataclass(frozen=True)
class Bands:
    """Names and colors of an image's bands, and the value of missing data: the same for all of its chips."""

    names: tuple[str, ...]
    colors: tuple[ColorInterp, ...]
    nodata: Optional[float]


def cut_chips(
    image: Image, labels: Labels, side_px: int, step_px: int, min_labeled: float, first: int
) -> Iterator[Chip]:
    """Yield the chips of an image that have labels, numbered from `first` on.

    `min_labeled`, from 0 to 1, is the smallest fraction of a chip's pixels that must be labeled. The last ones of a row
    or column are moved back to the image's edge. An image smaller than a chip has none.
    """
    height, width = labels.values.shape
    stem = re.sub(r"[^\w-]+", "_", Path(source_name(image.name)).stem)[:_MAX_STEM]
    for row in _starts(labels.row, height, image.grid.height, side_px, step_px):
        for column in _starts(labels.column, width, image.grid.width, side_px, step_px):
            window = (column, row, side_px, side_px)
            values, known = image.read(*window)
            chip_labels = labels.within(window)
            chip_labels[~known] = IGNORE
            share = float((chip_labels != IGNORE).mean())
            if share and share >= min_labeled:
                yield Chip(f"{stem}_{first:06d}", image.name, image.grid.window(*window), values, known, chip_labels)
                first += 1


def _starts(begin: int, length: int, size: int, side_px: int, step_px: int) -> list[int]:
    """Return where chips begin along a side of an image that touch its labeled part."""
    last = size - side_px
    starts = sorted({*range(0, last, step_px), last}) if last >= 0 else []
    return [start for start in starts if begin - side_px < start < begin + length]


def write_chip(chip: Chip, bands: Bands, image: Path, mask: Optional[Path]) -> None:
    """Write a chip's image and, if there is a path for them, its labels as GeoTIFFs.

    Raises OutputError if the disk is full.
    """
    place = {"crs": chip.grid.crs, "transform": chip.grid.transform} if chip.is_placed else {}
    colors = {"photometric": "rgb" if bands.colors[:3] == _RGB else "minisblack", "alpha": "no"}
    _write(image, chip.values, chip.known, bands, {**place, **colors, "nodata": bands.nodata})
    if mask:
        everywhere = np.ones_like(chip.known)
        _write(mask, chip.labels[None], everywhere, None, {**place, "nodata": IGNORE})


def _write(path: Path, values: np.ndarray, known: np.ndarray, bands: Optional[Bands], profile: dict[str, Any]) -> None:
    count, height, width = values.shape
    size = {"count": count, "height": height, "width": width, "dtype": values.dtype}
    with named_errors(path), rasterio.Env(GDAL_TIFF_INTERNAL_MASK=True), warnings.catch_warnings():
        warnings.simplefilter("ignore", NotGeoreferencedWarning)  # as some images are
        with rasterio.open(path, "w", driver="GTiff", compress="deflate", **size, **profile) as dataset:
            if bands:
                dataset.colorinterp = bands.colors
                dataset.descriptions = bands.names
            else:
                dataset.set_band_description(1, MASK_BAND)
            dataset.write(values)
            if profile["nodata"] is None and not known.all():
                dataset.write_mask(known)
        with rasterio.open(path) as dataset:  # GDAL reports no error when a full disk keeps it from closing a file
            if not np.array_equal(dataset.read(), values, equal_nan=True):
                raise OutputError.incomplete(path)


class StacIndex:
    """An item of STAC 1.0 for each chip, all in the collection `items.json`, which QGIS opens as a layer, too.

    The time is that of the export, since rasters seldom say when they were taken.
    """

    masks = "masks"

    def __init__(self) -> None:
        self._items: list[dict[str, Any]] = []
        self._time = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")

    def add(self, chip: Chip) -> None:
        """Take a chip into the index; one without a place on the map has no geometry."""
        place: dict[str, Any] = {"geometry": None}
        if chip.is_placed:
            outline = outline_in_degrees(chip.grid)
            (cut,) = cut_at_antimeridian(np.array([outline]))
            place = {"geometry": shapely.geometry.mapping(cut), "bbox": bounding_box(outline)}
        image = {"href": f"./images/{chip.name}.tif", "type": _TIFF, "roles": ["data"]}
        mask = {"href": f"./masks/{chip.name}.tif", "type": _TIFF, "roles": ["labels"]}
        shares = {f"{_NAMES[label]}_share": round(float((chip.labels == label).mean()), 6) for label in (ROAD, IGNORE)}
        item = {
            "type": "Feature",
            "stac_version": "1.0.0",
            "stac_extensions": [_CLASSIFICATION],
            "id": chip.name,
            **place,
            "properties": {"datetime": self._time, "source": source_name(chip.image), **shares},
            "links": [],
            "assets": {"image": image, "mask": {**mask, "classification:classes": _CLASSES}},
        }
        self._items.append(item)

    def write(self, folder: Path, bands: Bands) -> None:
        """Write the index to the folder of the chips."""
        write_json(folder / "items.json", {"type": "FeatureCollection", "features": self._items})


class EsriIndex:
    """The files that Export Training Data For Deep Learning of ArcGIS writes beside classified tiles."""

    masks = "labels"

    def __init__(self) -> None:
        self._names: list[str] = []
        self._side_px, self._is_placed = 0, True
        self._pixels = {ROAD: [0, 0], IGNORE: [0, 0]}  # chips with a class, and its pixels
        self._extremes: list[np.ndarray] = []
        self._sums: list[np.ndarray] = []

    def add(self, chip: Chip) -> None:
        """Take a chip into the statistics."""
        self._names.append(chip.name)
        self._side_px, self._is_placed = len(chip.labels), self._is_placed and chip.is_placed
        for label, counts in self._pixels.items():
            pixels = int((chip.labels == label).sum())
            counts[0], counts[1] = counts[0] + (pixels > 0), counts[1] + pixels
        values = chip.values[:, chip.known].astype(np.float64)
        if values.size:
            self._extremes.append(np.stack([values.min(axis=1), values.max(axis=1)]))
            # Sums from which mean and deviation of all chips follow: count, total and total of squares by band.
            count = np.full(len(values), values.shape[1])
            self._sums.append(np.stack([count, values.sum(axis=1), (values**2).sum(axis=1)]))

    def write(self, folder: Path, bands: Bands) -> None:
        """Write the model definition, the list of files and the statistics to the folder of the chips."""
        there = {label: counts for label, counts in self._pixels.items() if counts[0]}
        write_json(
            folder / "esri_model_definition.emd",
            {
                "ImageHeight": self._side_px,
                "ImageWidth": self._side_px,
                "ExtractBands": list(range(len(bands.names))),
                "MetaDataMode": "Classified_Tiles",
                "ImageSpaceUsed": "MAP_SPACE" if self._is_placed else "PIXEL_SPACE",
                "Classes": [{"Value": value, "Name": _NAMES[value], "Color": _COLORS[value]} for value in there],
                "InputRastersProps": {"RasterCount": 1, "SensorName": "", "BandNames": list(bands.names)},
                "AllTilesStats": self._band_stats(bands),
            },
        )
        files = "".join(f"images/{name}.tif labels/{name}.tif\n" for name in self._names)
        (folder / "map.txt").write_text(files, encoding="utf-8")
        lines = [
            f"images = {len(self._names)} *{len(bands.names)}*{self._side_px}*{self._side_px}",
            f"classes = {len(there)}",
            f"{'cls name':<12}{'cls value':>10}{'images':>10}{'pixels':>14}",
            *(f"{_NAMES[value]:<12}{value:>10}{chips:>10}{pixels:>14}" for value, (chips, pixels) in there.items()),
        ]
        (folder / "stats.txt").write_text("\n".join([*lines, ""]), encoding="utf-8")

    def _band_stats(self, bands: Bands) -> list[dict[str, Any]]:
        if not self._sums:
            return []
        low, high = np.min(self._extremes, axis=0)[0], np.max(self._extremes, axis=0)[1]
        count, total, squares = np.sum(self._sums, axis=0)
        mean = total / count
        deviation = np.sqrt(np.maximum(squares / count - mean**2, 0))
        keys = ("BandName", "Min", "Max", "Mean", "StdDev")
        rows = zip(bands.names, *(each.tolist() for each in (low, high, mean, deviation)))
        return [dict(zip(keys, row)) for row in rows]


class CocoIndex:
    """The annotations of chips: an object for each connected area of road or unknown ground, as polygons.

    COCO's polygons have no holes, so an area with holes is cut into several polygons where a hole begins.
    """

    masks = ""

    def __init__(self) -> None:
        self._images: list[dict[str, Any]] = []
        self._annotations: list[dict[str, Any]] = []

    def add(self, chip: Chip) -> None:
        """Take a chip's image and its areas into the annotations."""
        number, side_px = len(self._images) + 1, len(chip.labels)
        self._images.append({"id": number, "file_name": f"{chip.name}.tif", "width": side_px, "height": side_px})
        for outline, label in regions_of(chip.labels, mask=chip.labels != BACKGROUND, connectivity=4):
            area = shapely.geometry.shape(outline)
            left, top, right, bottom = (int(side) for side in area.bounds)
            polygons = [shapely.get_coordinates(part)[:-1].astype(int).ravel().tolist() for part in without_holes(area)]
            self._annotations.append(
                {
                    "id": len(self._annotations) + 1,
                    "image_id": number,
                    "category_id": 1 if label == ROAD else 2,
                    "segmentation": polygons,
                    "area": int(area.area),
                    "bbox": [left, top, right - left, bottom - top],
                    "iscrowd": 0,
                }
            )

    def write(self, folder: Path, bands: Bands) -> None:
        """Write the annotations to the folder of the chips."""
        categories = [{"id": 1, "name": "road"}, {"id": 2, "name": "unknown"}]
        document = {"images": self._images, "annotations": self._annotations, "categories": categories}
        (folder / "annotations.json").write_text(json.dumps(document), encoding="utf-8")


def without_holes(area: shapely.Polygon) -> list[shapely.Polygon]:
    """Return polygons without holes that cover an area of whole pixels, cut upright at the left side of each hole."""
    left, top, right, bottom = area.bounds
    cuts = sorted({left, right, *(ring.bounds[0] for ring in area.interiors)})
    strips = shapely.box(cuts[:-1], top, cuts[1:], bottom)
    parts = shapely.get_parts(shapely.intersection(area, strips)) if len(strips) > 1 else [area]
    return [part for part in parts if part.area > 0]


@dataclass(frozen=True)
class Sample:
    """A crop of an image, normalized, (1, bands, height, width), float32, with sides in multiples of 32.

    `known`, (height, width), bool, is false without data. If roads are given, `truth`, (height, width), uint8, has
    labels.
    """

    images: np.ndarray
    known: np.ndarray
    truth: Optional[np.ndarray]


def collect_samples(
    rasters: Sequence[str],
    wanted: ModelInput,
    count: int,
    side_px: int,
    reporter: Reporter,
    truth: Optional[Truth] = None,
    seed: int = 0,
) -> list[Sample]:
    """Draw up to so many samples, at least one, spread over images; a seed always draws the same.

    With drawn roads, only samples with labels count. `side_px` is a multiple of the stride. Raises ImageryError if an
    image cannot be used, or has hardly any data, and LabelError if the drawing touches no image.
    """
    rng = np.random.default_rng(seed)
    samples: list[Sample] = []
    for number, path in enumerate(rasters):
        missing = -(-(count - len(samples)) // (len(rasters) - number))
        samples += islice(_samples_of(path, wanted, side_px, truth, rng, reporter), missing)
    if not samples and truth:
        raise nothing_labeled(rasters)
    if not samples:
        named = " and ".join(rasters[:3])
        raise ImageryError(f"{named} have hardly any data, or are too small.", "Choose other images.")
    reporter.log(f"{len(samples)} samples of the images are used.")
    return samples


def _samples_of(
    path: str, wanted: ModelInput, side_px: int, truth: Optional[Truth], rng: np.random.Generator, reporter: Reporter
) -> Iterator[Sample]:
    """Yield the samples of an image that have data and, with a truth, labels, in random order."""
    with open_for_model(path, wanted) as (image, bands):
        labels = truth.burn(image.grid, path) if truth else None
        if truth and labels is None:
            reporter.warning(without_labels(path))
            return
        # Squares that cover the image; the last ones of a row or column overlap others.
        size = image.grid.width, image.grid.height
        starts = [sorted({min(at, max(0, px - side_px)) for at in range(0, px, side_px)}) for px in size]
        corners = [(column, row) for row in starts[1] for column in starts[0]]
        for number in rng.permutation(len(corners)):
            reporter.check_cancelled()
            window = (*corners[number], min(side_px, size[0]), min(side_px, size[1]))
            labeled = labels.within(window) if labels else None
            if labeled is not None and (labeled == IGNORE).all():
                continue
            values, known = image.read(*window)
            normalized = normalize(values, known, bands)
            require_normal(normalized, values.dtype, bands, image.name)
            missing = [(0, -extent % STRIDE_PX) for extent in known.shape]
            known = np.pad(known, missing)
            if known.mean() >= MIN_KNOWN:
                padded = None if labeled is None else np.pad(labeled, missing, constant_values=IGNORE)
                yield Sample(np.pad(normalized, [(0, 0), *missing])[None], known, padded)
