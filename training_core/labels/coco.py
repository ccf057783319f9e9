"""COCO annotations: roads in the pixels of images, as polygons or run-length codes, read as masks.

Scope: the JSON document. Independent of where images lie.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any, Union

import numpy as np
import rasterio
from rasterio.errors import NotGeoreferencedWarning
from rasterio.features import rasterize
from rasterio.io import DatasetReader, MemoryFile

from ..errors import LabelError
from ..geodata.pixel_codes import BACKGROUND, IGNORE, ROAD
from ..jobs.json_fields import Range, parse_file, read

_MAX_BYTES = 1 << 30
_ROAD = re.compile(r"road|street|highway", re.IGNORECASE)
_UNKNOWN = re.compile(r"unknown|ignore|unlabell?ed|void", re.IGNORECASE)
_FIRST, _SIGN, _LAST_BITS = 48, 16, 31  # of the characters of a compressed run-length code


@dataclass(frozen=True)
class _Image:
    id: int
    file_name: Annotated[str, Range(1, 4096)]
    width: Annotated[int, Range(1, 32768)]
    height: Annotated[int, Range(1, 32768)]


@dataclass(frozen=True)
class _Category:
    id: int
    name: str


@dataclass(frozen=True)
class _Annotation:
    image_id: int
    category_id: int
    segmentation: Any


@dataclass(frozen=True)
class _Document:
    images: Annotated[list[_Image], Range(1)]
    categories: list[_Category]
    annotations: list[_Annotation]


@dataclass(frozen=True)
class CocoImage:
    """The annotations of an image: its size in pixels, and shapes with the label of each, ROAD or IGNORE.

    A shape is a polygon, (vertices, 2), float64, in columns and rows of pixel corners, or the lengths, (n,), int64, of
    runs of pixels without and with it, in turns and column by column.
    """

    width: int
    height: int
    shapes: Sequence[tuple[np.ndarray, int]]

    @contextmanager
    def open(self) -> Iterator[DatasetReader]:
        """Open it as a raster of labels without a place on the map, (height, width), uint8, with IGNORE as nodata."""
        labels = np.full((self.height, self.width), BACKGROUND, np.uint8)
        for shape, label in self.shapes:
            if shape.ndim == 2:
                rasterize([({"type": "Polygon", "coordinates": [shape]}, label)], out=labels)
            else:
                inside = np.repeat(np.arange(len(shape)) % 2 == 1, shape).reshape(self.width, self.height).T
                labels[inside] = label
        size = {"width": self.width, "height": self.height, "count": 1, "dtype": "uint8"}
        with warnings.catch_warnings(), MemoryFile() as memory:
            warnings.simplefilter("ignore", NotGeoreferencedWarning)
            with memory.open(driver="GTiff", nodata=IGNORE, **size) as file:
                file.write(labels, 1)
            with rasterio.open(memory.name) as dataset:
                yield dataset


def is_coco(path: str) -> bool:
    """Whether a path of label masks is that of COCO annotations, by its ending."""
    return path.lower().endswith(".json")


def read_coco(path: str) -> dict[str, CocoImage]:
    """Return the annotations of each image, by a name such as `annotations.json/tile_1.tif`.

    Categories are road, unknown or else background by their names; a single one is road. Raises LabelError if the file
    cannot be read as COCO annotations, or no category is known to be road.
    """
    try:
        document = read(_Document, parse_file(path, _MAX_BYTES), "the document")
        images = {image.id: image for image in document.images}
        shapes: dict[int, list[tuple[np.ndarray, int]]] = {number: [] for number in images}
        labels = _labels(document.categories, path)
        for annotation in document.annotations:
            if annotation.image_id not in images:
                raise ValueError(f"An annotation is of the image {annotation.image_id}, which is not listed.")
            label = labels.get(annotation.category_id, BACKGROUND)
            if label != BACKGROUND:
                found = _shapes(annotation.segmentation, images[annotation.image_id])
                shapes[annotation.image_id] += [(shape, label) for shape in found]
    except (OSError, ValueError) as error:
        raise LabelError(
            f"The COCO annotations {path} cannot be read: {str(error).rstrip('.')}.",
            "Check that the file was copied whole and has images, categories and annotations with segmentations.",
        ) from error
    # Unknown areas come last, so that they cover roads.
    return {
        f"{path}/{image.file_name}": CocoImage(
            image.width, image.height, sorted(shapes[number], key=lambda shape: shape[1])
        )
        for number, image in images.items()
    }


def _labels(categories: list[_Category], path: str) -> dict[int, int]:
    """Return the label of each category that is not background."""
    unknown = {each.id for each in categories if _UNKNOWN.search(each.name)}
    others = [each for each in categories if each.id not in unknown]
    roads = {each.id for each in others if _ROAD.search(each.name) or len(others) == 1}
    if not roads:
        names = ", ".join(each.name for each in others[:8])
        raise LabelError(
            f"None of the categories of the COCO annotations {path} is called road: {names or 'there are none'}.",
            "Give the category of roads a name with the word road.",
        )
    return {**dict.fromkeys(roads, ROAD), **dict.fromkeys(unknown, IGNORE)}


def _shapes(segmentation: Any, image: _Image) -> list[np.ndarray]:
    """Return the shapes of an annotation as `CocoImage` has them.

    Raises ValueError if it has none, or none that fits the image.
    """
    problem = f"A segmentation on {image.file_name} is neither polygons nor a run-length code of its size"
    try:
        if not isinstance(segmentation, dict):
            polygons = [np.array(flat, dtype=np.float64).reshape(-1, 2) for flat in segmentation]
            if all(len(polygon) >= 3 for polygon in polygons):
                return polygons
        else:
            runs = np.array(_runs(segmentation["counts"]), dtype=np.int64)
            if runs.ndim == 1 and (runs >= 0).all() and runs.sum() == image.width * image.height:
                return [runs]
    except (TypeError, ValueError, KeyError, IndexError, OverflowError) as error:
        raise ValueError(problem) from error
    raise ValueError(problem)


def _runs(counts: Union[str, list[int]]) -> list[int]:
    """Return the lengths of runs; a compressed code has five bits a character, and differences from the third on."""
    if not isinstance(counts, str):
        return counts
    runs: list[int] = []
    for digits in re.findall(r"[P-o]*[0-O]", counts):
        bits = [ord(digit) - _FIRST for digit in digits]
        value = sum((bit & _LAST_BITS) << 5 * place for place, bit in enumerate(bits))
        value -= (bits[-1] & _SIGN) and 1 << 5 * len(bits)
        runs.append(value + (runs[-2] if len(runs) > 2 else 0))
    return runs
