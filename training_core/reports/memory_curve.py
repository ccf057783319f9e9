"""Memory over one step: bytes of tensors that are alive after each operation, with the peak of each phase.

Scope: a MemoryCurve to SVG. Independent of the page around it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..profiling.profile import MemoryCurve
from .colors import BLUE, GRAY, INK, PALE
from .kind_colors import phase_color
from .quantities import quantity
from .svg import box, drawing, fitted, path, ticks, words

WIDTH_PX, HEIGHT_PX = 1000.0, 300.0
LEFT_PX, _TOP, _BOTTOM = 92.0, 30.0, 268.0
_MAX_POINTS = 800


def memory_curve(name: str, memory: MemoryCurve) -> str:
    """Return the curve as an `<svg>` element; empty without one.

    Parameters
    ----------
    name : str
        Unique on the page; read out by screen readers.
    """
    if max(memory.bytes, default=0) <= 0:
        return ""
    x, values = points_of(memory)
    low, high = min(0.0, float(values.min())), float(values.max()) * 1.06
    height = _BOTTOM - (values - low) / (high - low) * (_BOTTOM - _TOP)
    zero = _BOTTOM + low / (high - low) * (_BOTTOM - _TOP)
    steps = "".join(f"L{each:.1f} {y:.1f}" for each, y in zip(x, height))
    area = f"M{x[0]:.1f} {zero:.1f}{steps}L{x[-1]:.1f} {zero:.1f}z"
    parts = [
        *_phases(memory),
        *_grid(low, high),
        path(area, fill=BLUE, fill_opacity=0.35, stroke=BLUE, stroke_width=1.4, stroke_linejoin="round"),
        words((LEFT_PX + WIDTH_PX) / 2, _BOTTOM + 24, "operations of the step, in their order", text_anchor="middle"),
    ]
    return drawing(name, WIDTH_PX, HEIGHT_PX, parts)


def points_of(memory: MemoryCurve) -> tuple[np.ndarray, np.ndarray]:
    """Return the curve thinned out, so that all peaks are left.

    Returns
    -------
    x : ndarray (n,), float64
        In pixels.
    values : ndarray (n,), float64
        In bytes; the largest of each group of neighbors.
    """
    count = len(memory.bytes)
    begins = np.arange(0, count, max(1, -(-count // _MAX_POINTS)))
    values = np.maximum.reduceat(np.array(memory.bytes, dtype=np.float64), begins)
    return _x(begins, count), values


def _x(index: np.ndarray, count: int) -> np.ndarray:
    return LEFT_PX + np.asarray(index) / max(count - 1, 1) * (WIDTH_PX - LEFT_PX)


def _phases(memory: MemoryCurve) -> Iterator[str]:
    """Yield a band for each phase, with its peak where there is room."""
    count, begin = len(memory.bytes), 0
    peaks = memory.peaks()
    for phase, end in memory.phases:
        left, right = _x(np.array([begin, min(end + 1, count - 1)]), count)
        label = f"{phase}: peak {quantity(peaks[phase], 'B')}"
        yield box(left, 0, right - left, _BOTTOM, phase_color(phase), label, 'fill-opacity="0.18"')
        shown = fitted(label, right - left - 10)
        if shown:
            yield words(left + 5, 18, shown, fill=INK)
        begin = end + 1


def _grid(low: float, high: float) -> Iterator[str]:
    for tick in ticks(high, 4):
        y = _BOTTOM - (tick - low) / (high - low) * (_BOTTOM - _TOP)
        yield path(f"M{LEFT_PX} {y:.1f}H{WIDTH_PX}", stroke=PALE if tick else GRAY, stroke_width=0.8)
        yield words(LEFT_PX - 8, y + 4.5, quantity(tick, "B"), text_anchor="end")
