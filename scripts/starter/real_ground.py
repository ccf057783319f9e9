"""Real ground to train the starter on: images with road labels, and tiles without any road.

Scope: files of images and masks, how their labels are taken, and which are held out. Independent of the model.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import rasterio
from rasterio.errors import NotGeoreferencedWarning
from scipy.ndimage import distance_transform_edt

from training_core.geodata.pixel_codes import BACKGROUND, IGNORE, ROAD

MASSACHUSETTS, DUBAI, SHANGHAI, ROADLESS, TOWNS = "massachusetts", "dubai", "shanghai", "roadless", "towns"
LABELED = (MASSACHUSETTS, DUBAI, SHANGHAI, ROADLESS)
_UC_MERCED = (
    "USGS National Map Urban Area Imagery (public domain), selected by Y. Yang and S. Newsam, UC Merced Land Use, 2010"
)
ATTRIBUTION = {
    MASSACHUSETTS: "Images: MassGIS, Commonwealth of Massachusetts (public domain); lines: OpenStreetMap contributors "
    "(ODbL 1.0); compiled by V. Mnih, Machine Learning for Aerial Image Labeling, 2013",
    DUBAI: "Mohammed Bin Rashid Space Centre and Humans in the Loop (CC0)",
    SHANGHAI: "SpaceNet on AWS, SpaceNet 3, Maxar (CC BY-SA 4.0)",
    ROADLESS: _UC_MERCED,
    TOWNS: _UC_MERCED,
}
_MASK_ROAD, _MASK_UNKNOWN = 255, 127
# Lines of OpenStreetMap, drawn 7 px wide at 1 m, lie up to 3 px beside the road: so the middle of a line is road, and
# what the road may be is ignored. Those of Shanghai are 5 px wide.
_CORE_PX, _NARROW_CORE_PX, _BESIDE_PX = 3.0, 2.0, 5.0
# Easting of neighborhoods held out, in hundreds of meters: no tile of another one adjoins them.
_HELD_OUT_EASTINGS = range(1877, 2000)
_HELD_OUT_GROUPS = ("t3", "t8")
_HELD_OUT_CHIPS = range(10300, 10430)
_HELD_OUT_TILES = range(80, 100)
# Of groups whose labels are incomplete, only chips near a labeled road are learned from.
_INCOMPLETE_GROUPS = ("t1", "t5", "t6")
# Classes of UC Merced with roads, which are not labeled.
_TOWNS = ("buildings", "denseresidential", "freeway", "intersection", "mediumresidential", "mobilehomepark", "overpass",
          "sparseresidential")  # fmt: skip
# Tiles of UC Merced that were inspected and show no road, by class: no street, track or paved path, but possibly
# runways, aprons, piers and rows of parked cars.
_TILES = {
    "agricultural": "1 5-24 26-36 39-69 71-94 96-99",
    "airplane": "0-23 25-37 39-40 42-45 47-52 54-56 58-65 67-76 78-85 87-99",
    "baseballdiamond": "3-7 9-11 13-14 30-33 36-38 40-43 46 50-51 53-56 66-70 73 75-78 83-87",
    "beach": "0-27 29-38 43-99",
    "chaparral": "2 4-10 13-24 27-35 37-41 43-45 47-99",
    "forest": "0 2 6-7 10-39 41-99",
    "golfcourse": "2-7 9-11 13 15-18 26-27 30-31 33-34 36-37 40 46 48 53 64 71-72 96-99",
    "harbor": "0-32 34-61 63-68 71-99",
    "parkinglot": "1-13 15 17 20-30 33 36-38 43 45-46 53-54 66-96",
    "river": "7-18 21 28-33 35 43-45 53-54 68-73 75-76 83-95 98-99",
    "runway": "0-99",
}


@dataclass(frozen=True, eq=False)
class Ground:
    """An image of real ground, with its labels.

    Parameters
    ----------
    source : str
        One of LABELED, or TOWNS.
    image : ndarray (3, height, width), uint8
    mean, deviation : ndarray (3,), float32
        Of the bands, over the pixels that are known.
    labels : ndarray (height, width), uint8
        BACKGROUND, ROAD or IGNORE, to learn from.
    truth : ndarray (height, width), uint8
        The same as it was drawn, to score on.
    known : ndarray (height, width), bool
        Where there is an image.
    roads : ndarray (N,), int
        Flat indexes of the road pixels.
    is_complete : bool
        Whether pixels far from labeled roads are known to be no road.
    """

    source: str
    name: str
    image: np.ndarray
    mean: np.ndarray
    deviation: np.ndarray
    labels: np.ndarray
    truth: np.ndarray
    known: np.ndarray
    pixel_m: float
    roads: np.ndarray
    is_complete: bool = True


def read_ground(folder: Path, is_held_out: bool, left_out: Collection[str] = ()) -> list[Ground]:
    """Return the images of real ground in a folder, those to learn from or those held out; none where it is absent.

    Parameters
    ----------
    folder : Path
        With a folder for each source, see its README.
    left_out : collection of str
        Sources all of whose images are held out.
    """
    return [read() for source, is_held, read in _images(folder) if (is_held or source in left_out) == is_held_out]


def _images(folder: Path) -> Iterator[tuple[str, bool, Callable[[], Ground]]]:
    """Yield the source of each image, whether it is held out in any case, and what reads it."""
    for path in [*_pictures(folder / "massachusetts"), *_pictures(folder / "massachusetts_more")]:
        is_held = path.stem[:4].isdigit() and int(path.stem[:4]) in _HELD_OUT_EASTINGS
        yield MASSACHUSETTS, is_held, partial(_read, MASSACHUSETTS, path, 1.0, displaced_lines)
    for path in _pictures(folder / "dubai"):
        group = path.stem.partition("_")[0]
        is_complete = group not in _INCOMPLETE_GROUPS
        yield DUBAI, group in _HELD_OUT_GROUPS, partial(_read, DUBAI, path, 0.7, drawn_areas, is_complete)
    for path in _pictures(folder / "shanghai"):
        labels = partial(displaced_lines, core_px=_NARROW_CORE_PX)
        yield SHANGHAI, int(path.stem) in _HELD_OUT_CHIPS, partial(_read, SHANGHAI, path, 0.76, labels)
    if (folder / "ucmerced").is_dir():
        for kind, number in roadless_tiles():
            path = folder / "ucmerced" / kind / f"{kind}{number:02}.jpg"
            yield ROADLESS, number in _HELD_OUT_TILES, partial(_read, ROADLESS, path, 0.305, None)


def _pictures(folder: Path) -> list[Path]:
    return sorted((folder / "images").glob("*.jpg"))


def read_towns(folder: Path) -> list[Ground]:
    """Return the tiles of UC Merced with roads, whose labels are all IGNORE; none where the folder is absent.

    Parameters
    ----------
    folder : Path
        With a folder for each source.
    """
    paths = [path for kind in _TOWNS for path in sorted((folder / "ucmerced" / kind).glob("*.jpg"))]
    tiles = [_read(TOWNS, path, 0.305, None) for path in paths]
    return [replace(tile, labels=np.full_like(tile.labels, IGNORE), is_complete=False) for tile in tiles]


def _read(
    source: str,
    path: Path,
    pixel_m: float,
    to_labels: Callable[[np.ndarray], np.ndarray] | None,
    is_complete: bool = True,
) -> Ground:
    """Return an image with the labels that its mask is taken for; without any road where there is no mask."""
    image = _bands(path)[:3]
    known = np.ones(image.shape[1:], dtype=bool)
    labels = truth = np.full(image.shape[1:], BACKGROUND, dtype=np.uint8)
    if to_labels:
        mask = _bands(path.parents[1] / "masks" / f"{path.stem}.png")[0]
        known = ~((mask == _MASK_UNKNOWN) & (image.min(0) > 240))  # white where there is no image
        labels = to_labels(mask)
        truth = np.choose(mask // 127, (BACKGROUND, IGNORE, ROAD)).astype(np.uint8)
    values = image[:, known].astype(np.float32)
    mean, deviation = values.mean(1), values.std(1) + np.float32(1e-3)
    roads = np.flatnonzero(labels == ROAD)
    return Ground(source, path.stem, image, mean, deviation, labels, truth, known, pixel_m, roads, is_complete)


def _bands(path: Path) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotGeoreferencedWarning)
        with rasterio.open(path) as dataset:
            return dataset.read()


def displaced_lines(mask: np.ndarray, core_px: float = _CORE_PX) -> np.ndarray:
    """Return labels that forgive displaced lines: road along their middle, and nothing known beside them.

    Parameters
    ----------
    mask : ndarray (height, width), uint8
        255 on lines, 127 where nothing is known.
    core_px : float
        Least distance of a road pixel to the line's edge.

    Returns
    -------
    ndarray (height, width), uint8
        ROAD along the middle; IGNORE up to 5 px beside the line.
    """
    is_line = mask == _MASK_ROAD
    labels = np.where(distance_px(is_line) <= _BESIDE_PX, IGNORE, BACKGROUND).astype(np.uint8)
    labels[distance_px(~is_line) >= core_px] = ROAD
    labels[mask == _MASK_UNKNOWN] = IGNORE
    return labels


def drawn_areas(mask: np.ndarray) -> np.ndarray:
    """Return labels of drawn areas, whose outermost pixels, on both sides of the edge, are ignored.

    Parameters
    ----------
    mask : ndarray (height, width), uint8
        255 on roads, 127 where nothing is known.

    Returns
    -------
    ndarray (height, width), uint8
    """
    is_road = mask == _MASK_ROAD
    labels = np.where(is_road, ROAD, BACKGROUND).astype(np.uint8)
    labels[(distance_px(is_road) <= 1) ^ (distance_px(~is_road) > 1)] = IGNORE
    labels[mask == _MASK_UNKNOWN] = IGNORE
    return labels


def distance_px(where: np.ndarray) -> np.ndarray:
    """Return the distance of each pixel to the nearest one of a kind, (height, width); infinite where there is none.

    Parameters
    ----------
    where : ndarray (height, width), bool
    """
    return distance_transform_edt(~where) if where.any() else np.full(where.shape, np.inf)


def roadless_tiles() -> list[tuple[str, int]]:
    """Return class and number of each tile without a road."""
    return [(kind, number) for kind, text in _TILES.items() for part in text.split() for number in _numbers(part)]


def _numbers(part: str) -> range:
    first, _, last = part.partition("-")
    return range(int(first), int(last or first) + 1)
