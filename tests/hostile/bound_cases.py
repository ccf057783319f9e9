"""The worst input known for the time and memory of jobs, within the bounds that docs/design.md states.

A case is given the processor time and the memory of its bound, and some more for the libraries. What has no such bound,
since lines can meet in as many places as they have pairs of segments, is refused.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from typing import Any

import numpy as np
import shapely

from tests.core.support.rasters import NORTH_UP, write_layer, write_raster
from tests.core.support.towns import SIDE_PX
from tests.hostile.cases import DONE, REFUSED, Case, Place

_MASK_PX, _MASK_M = 700, 5.0
# Bytes of address space and seconds of processor time a pixel of the mask: with room above what "Time and memory" in
# docs/design.md states, since address space is more than memory, and processors differ.
_MASK_BYTES, _MASK_S = 1000, 3e-5
_LIBRARIES_BYTES, _LIBRARIES_S = 250 << 20, 5.0
_VERTICES = 100_000


def _raster(
    pattern: Callable[[np.ndarray, np.ndarray], np.ndarray], dtype: type = np.uint8
) -> Callable[[Place], dict[str, Any]]:
    """Return what writes a mask, or a probability in floats, and names it as the job's raster."""

    def spoil(place: Place) -> dict[str, Any]:
        columns, rows = np.meshgrid(np.arange(_MASK_PX), np.arange(_MASK_PX))
        transform = NORTH_UP * NORTH_UP.scale(_MASK_M)
        values = pattern(columns, rows).astype(dtype)
        return {"raster": write_raster(place.bad / "raster.tif", values, transform=transform, compress="deflate")}

    return spoil


_PATTERNS = {
    "stripes of one pixel": lambda x, y: y % 2 == 0,
    "a lattice of one pixel": lambda x, y: (x % 3 == 0) | (y % 3 == 0),
    "noise": lambda x, y: np.random.default_rng(0).random(x.shape) < 0.5,
    "dots": lambda x, y: (x % 3 == 0) & (y % 3 == 0),
    "nothing but road": lambda x, y: x >= 0,
}
_PROBABILITIES = {
    "noise": lambda x, y: np.random.default_rng(0).random(x.shape),
    "noise around the threshold": lambda x, y: 0.5 + 0.001 * np.random.default_rng(0).standard_normal(x.shape),
    "broken stripes": lambda x, y: np.where((y % 3 == 0) & (x % 7 > 1), 0.9, 0.3),
    "no contrast": lambda x, y: np.full(x.shape, 0.5),
    "nothing but road": lambda x, y: np.full(x.shape, 1.0),
    "three tenths of road": lambda x, y: np.where((x + y) % 10 < 3, 0.9, 0.1),
}


def _lattice() -> np.ndarray:
    ways, far = 0.2 * np.arange(1500), 300.0
    east = np.stack([np.column_stack([0 * ways, ways]), np.column_stack([0 * ways + far, ways])], axis=1)
    return shapely.linestrings(np.concatenate([east, east[..., ::-1]]))


def _star() -> np.ndarray:
    angles = np.linspace(0, 2 * np.pi, 3000, endpoint=False)
    ends = 90 * np.column_stack([np.cos(angles), np.sin(angles)]) + 95
    return shapely.linestrings(np.stack([np.full_like(ends, 95), ends], axis=1))


_TANGLES = {
    "lines that all cross": _lattice,
    "lines from one point": _star,
    "a line again and again": lambda: shapely.linestrings(
        np.array([(5, 5), (180, 180)]) + np.random.default_rng(0).uniform(0, 1e-3, (3000, 2, 2))
    ),
    "a heap of short lines": lambda: shapely.linestrings(np.random.default_rng(0).uniform(95, 95.3, (9000, 2, 2))),
}
_LINES = {"cleannetwork": "lines", "exportnetwork": "lines", "scorenetwork": "truth", "comparenetworks": "before"}


def _tangle(make: Callable[[], np.ndarray], field: str) -> Callable[[Place], dict[str, Any]]:
    def spoil(place: Place) -> dict[str, Any]:
        shapes = shapely.transform(make(), lambda points: points * (1, -1) + (NORTH_UP.c, NORTH_UP.f))
        return {field: write_layer(place.bad / "tangle.gpkg", *shapes)}

    return spoil


def _track(place: Place) -> dict[str, Any]:
    """Return drawn roads that are one line of very many vertices, which crosses itself everywhere."""
    steps = np.random.default_rng(0).normal(0, 1, (_VERTICES, 2))
    points = (NORTH_UP.c, NORTH_UP.f - SIDE_PX) + np.cumsum(steps, axis=0) % SIDE_PX * (0.4, 1)
    return {"roads": write_layer(place.bad / "track.gpkg", shapely.LineString(points)), "width_m": 1.0}


_MIDDLE = (NORTH_UP.c + SIDE_PX / 2, NORTH_UP.f - SIDE_PX / 2)


def _area(points: np.ndarray) -> Callable[[Place], dict[str, Any]]:
    return lambda place: {"aoi": write_layer(place.bad / "area.gpkg", shapely.Polygon(points + _MIDDLE))}


def _coast(radius_m: float = 80.0) -> np.ndarray:
    angles = np.linspace(0, 2 * np.pi, _VERTICES, endpoint=False)
    out_m = radius_m * np.random.default_rng(0).uniform(1, 1.06, _VERTICES)
    return out_m[:, None] * np.column_stack([np.cos(angles), np.sin(angles)])


def _many_lines(field: str) -> Callable[[Place], dict[str, Any]]:
    """Return what writes drawn roads of very many lines in an area of very many vertices."""

    def spoil(place: Place) -> dict[str, Any]:
        begins = np.stack(np.meshgrid(np.arange(-75, 75, 2), np.arange(-75, 75, 2)), axis=-1).reshape(-1, 2) + _MIDDLE
        lines = shapely.linestrings(np.stack([begins, begins + 0.5], axis=1))
        return {field: write_layer(place.bad / "lines.gpkg", *lines), **_area(_coast())(place)}

    return spoil


def _many_images(place: Place) -> dict[str, Any]:
    """Return many images in the middle of a wide area of very many vertices."""
    images = [place.bad / f"{number}.tif" for number in range(40)]
    for image in images:
        shutil.copy(place.goods.raster, image)
    return {"rasters": [str(image) for image in images], **_area(_coast(8000.0))(place)}


def _pavement(place: Place) -> dict[str, Any]:
    """Return drawn roads that are one polygon of very many vertices, without an area of interest."""
    return {"roads": write_layer(place.bad / "pavement.gpkg", shapely.Polygon(_coast(30.0) + _MIDDLE)), "aoi": ""}


_OF_AREAS = ("finetune", "segment", "extractroads", "mapregion", "evaluate", "scorenetwork", "comparenetworks")
CASES = [
    *(
        Case(
            f"vectorize, {name}", "vectorize", raster, DONE, limit_s=_LIBRARIES_S + _MASK_S * _MASK_PX**2,
            memory_bytes=_LIBRARIES_BYTES + _MASK_BYTES * _MASK_PX**2,
        )
        for name, raster in (
            *((f"a mask: {name}", _raster(pattern)) for name, pattern in _PATTERNS.items()),
            *((f"a probability: {name}", _raster(pattern, np.float32)) for name, pattern in _PROBABILITIES.items()),
        )
    ),
    *(
        Case(f"{job}, {name}", job, _tangle(make, field), REFUSED, ("tangle.gpkg",), memory_bytes=1 << 30)
        for job, field in _LINES.items()
        for name, make in _TANGLES.items()
    ),
    *(
        Case(f"{job}, a track of {_VERTICES:,} vertices", job, _track, DONE, limit_s=60, memory_bytes=2 << 30)
        for job in ("finetune", "evaluate")
    ),
    *(
        Case(f"{job}, an area of {_VERTICES:,} vertices", job, _area(_coast()), DONE, limit_s=30)
        for job in _OF_AREAS
    ),
    *(
        Case(f"{job}, 5,625 lines in an area of {_VERTICES:,} vertices", job, _many_lines(field), DONE, limit_s=30)
        for job, field in (("finetune", "roads"), ("scorenetwork", "proposal"), ("comparenetworks", "after"))
    ),
    *(
        Case(f"{job}, 40 images in an area of {_VERTICES:,} vertices", job, _many_images, DONE, limit_s=30)
        for job in ("finetune", "mapregion", "evaluate")
    ),
    *(
        Case(f"{job}, a road polygon of {_VERTICES:,} vertices", job, _pavement, DONE, limit_s=30, memory_bytes=2 << 30)
        for job in ("finetune", "evaluate", "exportchips")
    ),
    *(
        Case(
            f"{job}, an area that crosses itself everywhere", job,
            _area(np.random.default_rng(0).uniform(-80, 80, (3000, 2))), REFUSED, ("area.gpkg",),
        )
        for job in _OF_AREAS
    ),
]  # fmt: skip
