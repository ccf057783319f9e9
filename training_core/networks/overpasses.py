"""Overpasses: known bridges laid over traced lines, in place of what runs along them, so that no junction is there.

Scope: lines in a plane of meters. Independent of layers and of where bridges are known from.

A mask shows that two roads cross, not on which levels, so that traced lines meet there. What runs along a known bridge
is the road on it: it is replaced by the bridge, which noding does not split. What runs across passes below.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import shapely
from shapely.geometry import LineString
from shapely.ops import substring

from ..geodata.parallel_arrays import first_of_each
from .lines import Lines

# Traced lines lie within this distance of a bridge as it is drawn.
_BESIDE_M = 6.0
# A line runs along a bridge if it gets ahead on it by this fraction of its length: within 45 degrees.
_ALONG = np.cos(np.radians(45))
# Shorter leftovers of a line are rounding errors.
_LEAST_M = 0.01


@dataclass(frozen=True)
class _Stretches:
    """Stretches of lines along bridges."""

    bridge: np.ndarray  # (k,) int64
    line: np.ndarray  # (k,) int64
    begin_m: np.ndarray  # (k,) float64: from the start of the line, along it
    end_m: np.ndarray  # (k,) float64


def lay_bridges(lines: Lines, bridges: np.ndarray) -> tuple[Lines, np.ndarray]:
    """Return lines with bridges in place of what runs along them, and which of the bridges were laid: (b,) bool.

    A bridge begins and ends where the road on it reaches the ends of the (b,) object LineString; it has the attributes
    of that road, and follows the lines. Where no line runs along a bridge, it is not laid.
    """
    # Stretches along bridges are cut out of the lines, and the bridges put in, with the attributes of the line that
    # runs along them for longest.
    along = _stretches_along(lines.shapes, bridges)
    laid = np.unique(along.bridge)
    if not len(laid):
        return lines, np.zeros(len(bridges), dtype=bool)
    longest = along.line[first_of_each(along.bridge, along.begin_m - along.end_m)]
    decks = np.array([_deck(bridges[bridge], lines.shapes, along, bridge) for bridge in laid], dtype=object)
    rest, line = _without(lines.shapes, along)
    parted = lines.parted(np.concatenate([rest, decks]), np.concatenate([line, longest]))
    parted.bridge[len(rest) :] = True
    return parted, np.isin(np.arange(len(bridges)), laid)


def _stretches_along(shapes: np.ndarray, bridges: np.ndarray) -> _Stretches:
    # Parts of lines in the corridor of a bridge; such as get ahead along it by most of their length run along it.
    corridors = shapely.buffer(bridges, _BESIDE_M, cap_style="flat")
    bridge, line = shapely.STRtree(shapes).query(corridors, predicate="intersects")
    parts, pair = shapely.get_parts(shapely.intersection(corridors[bridge], shapes[line]), return_index=True)
    is_line = (shapely.get_dimensions(parts) == 1) & (shapely.length(parts) > _LEAST_M)
    parts, bridge, line = parts[is_line], bridge[pair[is_line]], line[pair[is_line]]
    ends = shapely.get_point(parts, 0), shapely.get_point(parts, -1)
    ahead_m = np.abs(np.subtract(*(shapely.line_locate_point(bridges[bridge], end) for end in ends)))
    runs = ahead_m >= _ALONG * shapely.length(parts)
    at_m = [shapely.line_locate_point(shapes[line], end)[runs] for end in ends]
    return _Stretches(bridge[runs], line[runs], np.minimum(*at_m), np.maximum(*at_m))


def _deck(bridge: LineString, shapes: np.ndarray, along: _Stretches, number: int) -> LineString:
    """Return a bridge from where the road on it is cut on one side to where it is cut on the other."""
    own = np.flatnonzero(along.bridge == number)
    line = np.tile(shapes[along.line[own]], 2)
    at_m = np.concatenate([along.begin_m[own], along.end_m[own]])
    is_cut = (at_m > _LEAST_M) & (at_m < shapely.length(line) - _LEAST_M)
    cuts = shapely.line_interpolate_point(line[is_cut], at_m[is_cut])
    ahead_m = shapely.line_locate_point(bridge, cuts)
    middle_m, points = bridge.length / 2, list(bridge.coords)
    # Where the road was not traced up to an end of the bridge, that end stays.
    if (ahead_m < middle_m).any():
        points = [cuts[ahead_m.argmin()].coords[0], *points[1:]]
    if (ahead_m >= middle_m).any():
        points = [*points[:-1], cuts[ahead_m.argmax()].coords[0]]
    return LineString(points)


def _without(shapes: np.ndarray, along: _Stretches) -> tuple[np.ndarray, np.ndarray]:
    """Return what is left of lines without stretches of them, and the line of each part: (n,) object and int64."""
    is_cut = np.isin(np.arange(len(shapes)), along.line)
    parts, line = list(shapes[~is_cut]), list(np.flatnonzero(~is_cut))
    # Between stretches in order along a line, which may overlap, its rest remains.
    for number in np.flatnonzero(is_cut):
        shape, own = shapes[number], along.line == number
        begun_m = 0.0
        for begin_m, end_m in sorted([*zip(along.begin_m[own], along.end_m[own]), (shape.length, shape.length)]):
            if begin_m - begun_m > _LEAST_M:
                parts.append(substring(shape, begun_m, begin_m))
                line.append(number)
            begun_m = max(begun_m, end_m)
    order = np.argsort(line, kind="stable")
    return np.array(parts, dtype=object)[order], np.array(line, dtype=np.int64)[order]
