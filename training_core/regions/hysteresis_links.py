"""Hysteresis across the borders of parts: which likely road is connected with sure road in another part.

Scope: patches of likely road that touch the border of a part, and their connections through all parts. Independent of
how probability is read. What is held grows with the patches at borders.

With these, parts decide alike, and as the undivided region would, however far away the sure road is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from ..extraction.run_lengths import Frame, components, runs_of
from ..geodata.road_raster import RoadRaster
from ..networks.graph import connected
from .part_grid import Part


@dataclass(frozen=True, eq=False)
class BorderPatches:
    """Patches of likely road that touch the border of a part's core.

    Parameters
    ----------
    pixels : ndarray (n, 2), int64
        Columns and rows, in the region, of their pixels at the border.
    patch : ndarray (n,), int64
        The patch of each pixel, from 0.
    is_sure : ndarray (patches,), bool
        Which of them contain sure road.
    """

    pixels: np.ndarray
    patch: np.ndarray
    is_sure: np.ndarray


def border_patches(raster: RoadRaster, core: Part, hysteresis: float) -> BorderPatches:
    """Return the patches of likely road at the border of a core.

    Parameters
    ----------
    raster : RoadRaster
        Probability of the core.
    core : Part
    hysteresis : float
        Lower threshold as a share of the upper one.

    Returns
    -------
    BorderPatches
    """
    values, known = raster.read(0, core.height)
    likely, sure = raster.road(values, known, hysteresis), raster.road(values, known)
    frame = Frame(core.height, core.width)
    runs = runs_of(likely, 0, frame)
    patch = components(runs, frame, diagonal=True)
    labels = np.full(likely.shape, -1, dtype=np.int64)
    labels[likely] = np.repeat(patch, runs.sizes)
    is_sure = np.zeros(patch.max(initial=-1) + 1, dtype=bool)
    is_sure[labels[sure]] = True
    is_border = np.zeros(likely.shape, dtype=bool)
    is_border[[0, -1]] = is_border[:, [0, -1]] = True
    rows, columns = np.nonzero(is_border & likely)
    found, number = np.unique(labels[rows, columns], return_inverse=True)
    pixels = np.column_stack([columns + core.column, rows + core.row]).astype(np.int64)
    return BorderPatches(pixels, number.ravel().astype(np.int64), is_sure[found])


def linked_pixels(cores: Sequence[Part], read: Callable[[int], BorderPatches]) -> Iterator[np.ndarray]:
    """Yield, for each core, its border pixels that are connected with sure road anywhere in the region.

    Parameters
    ----------
    cores : sequence of Part
        Row by row, those of a row from left to right.
    read : callable
        Returns the border patches of a core by its number; is called three times for each.

    Yields
    ------
    ndarray (n, 2), int64
        Columns and rows in the region.
    """
    counts, is_sure = [], []
    for number in range(len(cores)):
        patches = read(number)
        counts.append(len(patches.is_sure))
        is_sure.append(patches.is_sure)
    first = np.cumsum([0, *counts])
    together = connected(int(first[-1]), np.concatenate([np.zeros((0, 2), np.int64), *_links(cores, read, first)]))
    has_sure = np.zeros(together.max(initial=-1) + 1, dtype=bool)
    has_sure[together[np.concatenate([np.zeros(0, bool), *is_sure])]] = True
    for number in range(len(cores)):
        patches = read(number)
        yield patches.pixels[has_sure[together[first[number] + patches.patch]]]


def _links(cores: Sequence[Part], read: Callable[[int], BorderPatches], first: np.ndarray) -> Iterator[np.ndarray]:
    """Yield pairs of patches that touch, (k, 2), int64, from each row of cores and the one above."""
    above = np.zeros((0, 2), np.int64), np.zeros(0, np.int64)
    for _, row in groupby(range(len(cores)), key=lambda number: cores[number].row):
        numbers = list(row)
        patches = [read(number) for number in numbers]
        pixels = np.concatenate([each.pixels for each in patches])
        patch = np.concatenate([each.patch + first[number] for number, each in zip(numbers, patches)])
        yield _touching(np.concatenate([above[0], pixels]), np.concatenate([above[1], patch]))
        above = pixels, patch


def _touching(pixels: np.ndarray, patch: np.ndarray) -> np.ndarray:
    """Return the pairs of patches of which two pixels are neighbors, in any of eight directions: (k, 2), int64."""
    stride = pixels[:, 0].max(initial=0) + 2
    at = pixels[:, 1] * stride + pixels[:, 0]
    order = np.argsort(at)
    at, patch = at[order], patch[order]
    pairs = [np.zeros((0, 2), np.int64)]
    for step in (1, stride - 1, stride, stride + 1):
        place = np.searchsorted(at, at + step)
        is_there = place < len(at)
        is_there[is_there] = at[place[is_there]] == at[is_there] + step
        pairs.append(np.column_stack([patch[is_there], patch[place[is_there]]]))
    return np.unique(np.concatenate(pairs), axis=0)
