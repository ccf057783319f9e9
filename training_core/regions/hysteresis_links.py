"""Hysteresis across the borders of parts: which likely road is connected with sure road in another part.

With this, parts decide as the undivided region would, however far away the sure road is. The memory grows with the
patches of likely road at borders. Scope: these patches, and their connections through all parts. Independent of how
probability is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import groupby
from pathlib import Path

import numpy as np

from ..extraction.run_lengths import Frame, Runs, components, joined, runs_of
from ..geodata.road_raster import RoadRaster
from ..networks.graph import connected
from .region_grid import Part
from .store import read_arrays, write_arrays


@dataclass(frozen=True, eq=False)
class BorderPatches:
    """Patches of likely road that touch the border of a part's core.

    `pixels`, (n, 2), int64, are columns and rows, in the region, of their border pixels, and `patch`, (n,), int64, the
    patch of each, from 0. `is_sure`, (patches,), bool, marks those with sure road.
    """

    pixels: np.ndarray
    patch: np.ndarray
    is_sure: np.ndarray


def border_patches(raster: RoadRaster, core: Part, hysteresis: float) -> BorderPatches:
    """Return the patches of likely road at the border of a core, of which the raster has the probability.

    `hysteresis` is the lower threshold as a fraction of the upper one.
    """
    frame = Frame(core.height, core.width)
    likely, sure = (_runs(raster, fraction, frame) for fraction in (hysteresis, 1.0))
    patch = components(likely, frame, diagonal=True)
    # A patch is sure if one of its runs contains a run of sure road.
    is_sure = np.zeros(patch.max(initial=-1) + 1, dtype=bool)
    is_sure[patch[_run_at(likely, sure.starts)]] = True
    # Look up the run at each pixel of the border, if that pixel is likely road.
    columns, rows = _border(core.width, core.height)
    at = frame.row(0) + rows * frame.stride + columns
    run = _run_at(likely, at)
    is_likely = (run >= 0) & (at < likely.stops[run]) if len(likely) else np.zeros(len(at), dtype=bool)
    at_border, number = np.unique(patch[run[is_likely]], return_inverse=True)
    pixels = np.column_stack([columns + core.column, rows + core.row])[is_likely]
    return BorderPatches(pixels, number.ravel().astype(np.int64), is_sure[at_border])


def _runs(raster: RoadRaster, fraction: float, frame: Frame) -> Runs:
    """Return the runs of pixels above a fraction of the threshold, read by strips."""
    strips = (
        runs_of(raster.road(*raster.read(first_row, count), fraction), first_row, frame)
        for first_row, count in raster.strips()
    )
    return joined(*strips)


def _run_at(runs: Runs, places: np.ndarray) -> np.ndarray:
    """Return the last run that begins at or before each place: (n,), int64; -1 for none."""
    return np.searchsorted(runs.starts, places, side="right") - 1


def _border(width: int, height: int) -> tuple[np.ndarray, np.ndarray]:
    """Return columns and rows of the pixels at the border of an image, row by row: (n,), int64 each."""
    is_border = np.zeros((height, width), dtype=bool)
    is_border[[0, -1]] = is_border[:, [0, -1]] = True
    rows, columns = np.nonzero(is_border)
    return columns, rows


def write_patches(path: Path, patches: BorderPatches) -> None:
    """Write patches to a file; see `store.write_arrays`."""
    write_arrays(path, {field.name: getattr(patches, field.name) for field in fields(patches)})


def read_patches(path: Path) -> BorderPatches:
    """Return the patches in a file.

    Raises
    ------
    OutputError
        The file is missing, or damaged.
    """
    names = [field.name for field in fields(BorderPatches)]
    held = read_arrays(path, names)
    return BorderPatches(*(held[name] for name in names))


def linked_pixels(cores: Sequence[Part], read: Callable[[int], BorderPatches]) -> Iterator[np.ndarray]:
    """Yield, for each core, its border pixels that are connected with sure road anywhere in the region.

    They are columns and rows in the region, (n, 2), int64. Cores are given row by row, those of a row from left to
    right. `read` returns the border patches of a core by its number. It is called three times for each.
    """
    counts, is_sure = [], []
    for number in range(len(cores)):
        patches = read(number)
        counts.append(len(patches.is_sure))
        is_sure.append(patches.is_sure)
    first = np.cumsum([0, *counts])
    together = connected(int(first[-1]), np.concatenate([np.zeros((0, 2), np.int64), *_links(cores, read, first)]))
    # All patches that are connected have sure road if one of them has.
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
        pixels = np.concatenate([core.pixels for core in patches])
        patch = np.concatenate([core.patch + first[number] for number, core in zip(numbers, patches)])
        yield _touching(np.concatenate([above[0], pixels]), np.concatenate([above[1], patch]))
        above = pixels, patch


def _touching(pixels: np.ndarray, patch: np.ndarray) -> np.ndarray:
    """Return the pairs of patches of which two pixels are neighbors, in any of eight directions: (k, 2), int64."""
    # With one number for each pixel, its neighbor to the right and those below are at fixed distances.
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
