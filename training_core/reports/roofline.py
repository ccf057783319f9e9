"""The roofline plot: achieved FLOP/s by arithmetic intensity, under the measured roofs of the machine.

After Williams, Waterman and Patterson (2009). Layers are circles, primitives diamonds in the color of their kind; the
area is the time.

Scope: rows of a breakdown and limits to SVG. Independent of the page around it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..profiling.profile import Limits, PrimitiveRow, Row, Run
from .colors import AXIS, INK, PALE, WHITE, kind_color
from .quantities import number, percent, quantity, seconds
from .svg import circle, drawing, fitted, path, width_of, words

WIDTH_PX = 1000.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 106.0, 984.0, 16.0, 526.0
_MAX_RADIUS_PX, _MIN_RADIUS_PX = 15.0, 3.0
_MAX_DOTS, _LABELED, _KEY_PX = 120, 4, 19.0
# In decades: the margin around the dots, and the length of an axis up to which 2 and 5 are marked as well.
_PADDING, _SHORT_AXIS = 0.2, 2.5
_HALO = {"paint_order": "stroke", "stroke": WHITE, "stroke_width": 3, "stroke_linejoin": "round"}
# Different in gray print too.
_PEAKS = {"fp32": ("FP32", ""), "bf16": ("BF16", "9 4"), "int8": ("INT8", "2 3")}


@dataclass(frozen=True)
class Dot:
    """A row in the plot: a PrimitiveRow or a LayerRow, with its place and radius in pixels."""

    row: Row
    x: float
    y: float
    radius: float


@dataclass(frozen=True)
class Axes:
    """Both axes by the exponents of ten at the plot's edges."""

    left: float
    right: float
    bottom: float
    top: float

    def x(self, intensity: float) -> float:
        """Return the place of an intensity in FLOP a byte, in pixels."""
        return _LEFT + (math.log10(intensity) - self.left) / (self.right - self.left) * (_RIGHT - _LEFT)

    def y(self, per_s: float) -> float:
        """Return the place of FLOP a second, in pixels."""
        return _BOTTOM - (math.log10(per_s) - self.bottom) / (self.top - self.bottom) * (_BOTTOM - _TOP)


def roofline(name: str, run: Run, limits: Limits) -> str:
    """Return the roofline plot of a run as an `<svg>` element; empty if no row has FLOP and bytes."""
    rows = [row for rows in (run.layers, run.primitives) for row in _largest(rows)]
    if not rows:
        return ""
    peaks = {dtype: limits.peak(dtype) for dtype in _PEAKS if limits.peak(dtype) > 0}
    axes = axes_for(rows, list(peaks.values()), [limits.memory_per_s, limits.cache_per_s])
    dots = dots_of(rows, axes)
    lines, names, taken = _roofs(axes, peaks, limits)
    labeled = _labeled(dots)
    parts = [*_grid(axes), *lines, *map(_drawn, dots), *names, *_numbers(labeled, taken), *_key(labeled)]
    return drawing(name, WIDTH_PX, _BOTTOM + 62 + _KEY_PX * len(labeled), parts)


def axes_for(rows: Sequence[Row], peaks: Sequence[float], bandwidths: Sequence[float]) -> Axes:
    """Return axes on which all rows, peaks and ridges are.

    Rows have FLOP, bytes and time; peaks and bandwidths are in FLOP and bytes a second, or 0 where unmeasured.
    """
    ridges = [peak / bandwidth for peak in peaks for bandwidth in bandwidths if bandwidth > 0]
    return Axes(*_range([*map(_intensity, rows), *ridges]), *_range([*map(_per_s, rows), *peaks]))


def _range(values: Sequence[float]) -> tuple[float, float]:
    low, high = math.log10(min(values)), math.log10(max(values))
    return low - _PADDING, high + max(_PADDING, 1 - high + low)


def dots_of(rows: Sequence[Row], axes: Axes) -> list[Dot]:
    """Return the dots of rows with FLOP, bytes and time, the largest first; their areas are as their times."""
    longest_s = max(row.time_s for row in rows)
    dots = [
        Dot(
            row,
            axes.x(_intensity(row)),
            axes.y(_per_s(row)),
            max(_MIN_RADIUS_PX, _MAX_RADIUS_PX * math.sqrt(row.time_s / longest_s)),
        )
        for row in rows
    ]
    return sorted(dots, key=lambda dot: -dot.radius)


def _per_s(row: Row) -> float:
    return (row.flop or 0.0) / row.time_s


def _intensity(row: Row) -> float:
    return (row.flop or 0.0) / (row.bytes or 1.0)


def _largest(rows: Sequence[Row]) -> list[Row]:
    known = [row for row in rows if (row.flop or 0) >= 1 and (row.bytes or 0) >= 1 and row.time_s > 1e-12]
    return sorted(known, key=lambda row: -row.time_s)[:_MAX_DOTS]


def _grid(axes: Axes) -> Iterator[str]:
    for value in _marks(axes.left, axes.right):
        x = axes.x(value)
        yield path(f"M{x:.1f} {_TOP}V{_BOTTOM}", stroke=PALE, stroke_width=0.8)
        yield words(x, _BOTTOM + 19, f"{value:,.{max(0, -math.floor(math.log10(value)))}f}", text_anchor="middle")
    for value in _marks(axes.bottom, axes.top):
        y = axes.y(value)
        yield path(f"M{_LEFT} {y:.1f}H{_RIGHT}", stroke=PALE, stroke_width=0.8)
        yield words(_LEFT - 8, y + 4.5, quantity(value, "FLOP/s"), text_anchor="end")
    yield path(f"M{_LEFT} {_TOP}V{_BOTTOM}H{_RIGHT}", fill="none", stroke=AXIS)
    yield words((_LEFT + _RIGHT) / 2, _BOTTOM + 40, "arithmetic intensity in FLOP a byte", text_anchor="middle")


def _marks(low: float, high: float) -> list[float]:
    """Return the numbers to mark on an axis: powers of ten, and those between on a short one."""
    every = max(1, round((high - low) / 10))
    steps = (1, 2, 5) if high - low < _SHORT_AXIS else (1,)
    powers = range(math.floor(low), math.ceil(high) + 1, every)
    return [step * 10.0**power for power in powers for step in steps if low <= math.log10(step * 10.0**power) <= high]


Box = tuple[float, float, float, float]


def _roofs(axes: Axes, peaks: dict[str, float], limits: Limits) -> tuple[list[str], list[str], list[Box]]:
    """Return the roofs, their names, and the boxes of the names of peaks."""
    lines: list[str] = []
    names: list[str] = []
    boxes: list[Box] = []
    fastest = max(limits.memory_per_s, limits.cache_per_s)
    top = max(peaks.values(), default=10.0**axes.top)
    for label, per_s, dashes in (("memory", limits.memory_per_s, ""), ("cache", limits.cache_per_s, "9 4")):
        if per_s <= 0:
            continue
        begin = max(10.0**axes.left, 10.0**axes.bottom / per_s)
        end = min(top / per_s, 10.0**axes.right)
        if end > begin:
            low, high = ((axes.x(intensity), axes.y(intensity * per_s)) for intensity in (begin, end))
            lines.append(_line(low, high, dashes))
            names.append(_along(low, high, f"{label} {quantity(per_s, 'B/s')}"))
    free_y = _TOP
    for dtype, peak in sorted(peaks.items(), key=lambda item: -item[1]):
        word, dashes = _PEAKS[dtype]
        y = axes.y(peak)
        begin = axes.x(max(peak / fastest, 10.0**axes.left)) if fastest > 0 else _LEFT
        lines.append(_line((begin, y), (_RIGHT, y), dashes))
        label = f"{word} peak {quantity(peak, 'OP/s' if dtype == 'int8' else 'FLOP/s')}"
        place = y - 5 if y - 18 >= free_y else y + 15
        names.append(words(_RIGHT - 4, place, label, text_anchor="end", font_weight=600, **_HALO))
        boxes.append((_RIGHT - 10 - 1.15 * width_of(label), place - 12, _RIGHT, place + 4))  # bold
        free_y = place
    return lines, names, boxes


def _line(begin: tuple[float, float], end: tuple[float, float], dashes: str) -> str:
    style = {"stroke_dasharray": dashes} if dashes else {}
    steps = f"M{begin[0]:.1f} {begin[1]:.1f}L{end[0]:.1f} {end[1]:.1f}"
    return path(steps, stroke=INK, stroke_width=1.6, fill="none", **style)


def _along(begin: tuple[float, float], end: tuple[float, float], label: str) -> str:
    """Return a label above a rising line, near its lower end."""
    angle = math.degrees(math.atan2(end[1] - begin[1], end[0] - begin[0]))
    share = min(24 / max(math.dist(begin, end), 24), 1)
    x, y = (low + share * (high - low) for low, high in zip(begin, end))
    turned = f"rotate({angle:.1f} {x:.1f} {y:.1f}) translate(0 -6)"
    return words(x, y, label, transform=turned, font_weight=600, **_HALO)


def _drawn(dot: Dot) -> str:
    row = dot.row
    title = (
        f"{row.name}: {seconds(row.time_s)}, {number(row.intensity)} FLOP/B, "
        f"{quantity(_per_s(row), 'FLOP/s')}, {percent(row.roof_share)} of its roof"
    )
    if isinstance(row, PrimitiveRow):
        size = dot.radius * math.sqrt(math.pi / 2)  # half the diagonal of a diamond of the circle's area
        steps = f"M{dot.x:.1f} {dot.y - size:.1f}l{size:.1f} {size:.1f}l{-size:.1f} {size:.1f}l{-size:.1f} {-size:.1f}z"
        fill = kind_color(row.kind)
        return path(steps, f"{title}; {row.phase} {row.shape}", fill=fill, fill_opacity=0.75, stroke=WHITE)
    return circle(dot.x, dot.y, dot.radius, title, fill=WHITE, fill_opacity=0.35, stroke=AXIS, stroke_width=1.2)


def _labeled(dots: Sequence[Dot]) -> list[Dot]:
    """Return the largest primitives, then the largest layers."""
    kinds = [[dot for dot in dots if isinstance(dot.row, PrimitiveRow) is wanted] for wanted in (True, False)]
    return [dot for of_kind in kinds for dot in of_kind[:_LABELED]]


def _numbers(labeled: Sequence[Dot], taken: Sequence[Box]) -> Iterator[str]:
    """Yield the numbers of dots, each at the nearest place that no other number takes, and a line to its dot."""
    boxes = [*taken]
    for index, dot in enumerate(labeled, 1):
        for x, y in _places(dot):
            box = x - 9, y - 9, x + 9, y + 9
            is_inside = box[0] > _LEFT and box[2] < _RIGHT and box[1] > _TOP and box[3] < _BOTTOM
            if is_inside and not any(_overlap(box, other) for other in boxes):
                boxes.append(box)
                yield path(f"M{dot.x:.1f} {dot.y:.1f}L{x:.1f} {y:.1f}", stroke=INK, stroke_width=0.9)
                yield circle(x, y, 8.5, stroke=INK, stroke_width=0.9, fill=WHITE)
                yield words(x, y + 4, str(index), text_anchor="middle", font_size=11.5, fill=INK)
                break


def _key(labeled: Sequence[Dot]) -> Iterator[str]:
    """Yield a line of text for each number."""
    for index, dot in enumerate(labeled, 1):
        row = dot.row
        y = _BOTTOM + 62 + _KEY_PX * (index - 1)
        yield words(_LEFT + 14, y, str(index), text_anchor="end", font_weight=600)
        what = f"{row.name}, {row.phase} {row.shape}" if isinstance(row, PrimitiveRow) else f"{row.name}, layer"
        reached = f", {percent(row.roof_share)} of its roof" if row.roof_share is not None else ""
        end = f": {seconds(row.time_s)}{reached}"
        yield words(_LEFT + 24, y, fitted(what, _RIGHT - _LEFT - 30 - width_of(end)) + end)


def _places(dot: Dot) -> Iterator[tuple[float, float]]:
    """Yield where the middle of a number may be, the nearest first."""
    for gap in (14, 26, 40, 56, 74, 94, 116):
        for turn in range(12):
            angle = (turn * 5 % 12) * math.pi / 6 - math.pi / 2
            yield dot.x + (dot.radius + gap) * math.cos(angle), dot.y + (dot.radius + gap) * math.sin(angle)


def _overlap(box: Box, other: Box) -> bool:
    return box[0] < other[2] and other[0] < box[2] and box[1] < other[3] and other[1] < box[3]
