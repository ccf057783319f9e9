"""The time line of one step: its phases, what the main thread and the data thread did, and how busy each thread was.

Scope: a TimeLine to SVG. Independent of the page around it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

import numpy as np

from ..profiling.profile import Span, ThreadLoad, TimeLine
from .colors import AXIS, FAINT, GRAY, INK, VERMILION
from .kind_colors import kind_color, phase_color
from .quantities import percent, seconds
from .svg import box, drawing, fitted, path, ticks, words

WIDTH_PX = 1000.0
LEFT_PX = 108.0
_BAND_PX, _LANE_PX, _LOAD_PX, _GAP_PX, _AXIS_PX = 24.0, 34.0, 13.0, 8.0, 34.0
_MAX_LOADS = 64
_COLUMNS = int(WIDTH_PX - LEFT_PX)
_MIN_COVER = 0.25


def time_line(name: str, line: TimeLine) -> str:
    """Return the time line as an `<svg>` element; empty if nothing was recorded.

    Parameters
    ----------
    name : str
        Unique on the page; read out by screen readers.
    """
    ends_s = [end for _, _, end in line.phases] + [span.begin_s + span.duration_s for span in line.spans]
    end_s = max(ends_s, default=0.0)
    if end_s <= 0:
        return ""
    scale = (WIDTH_PX - LEFT_PX) / end_s
    parts, y = [*_phases(line, scale)], _BAND_PX + _GAP_PX
    for thread in sorted({span.thread for span in line.spans}, reverse=True):  # the main thread before the data thread
        spans = [span for span in line.spans if span.thread == thread]
        parts += [_name(y + _LANE_PX / 2, thread), *lane(spans, y, scale)]
        y += _LANE_PX + _GAP_PX
    for load in line.loads[:_MAX_LOADS]:
        parts += [_name(y + _LOAD_PX / 2, load.name, 11), *_load(load, y, scale)]
        y += _LOAD_PX + 1
    parts += _axis(y + 4, end_s, scale)
    return drawing(name, WIDTH_PX, y + _AXIS_PX, parts)


def lane(spans: Sequence[Span], y: float, scale: float) -> Iterator[str]:
    """Yield the boxes of a thread's spans; those narrower than a pixel are merged by kind, pixel by pixel.

    Parameters
    ----------
    y : float
        Top of the lane.
    scale : float
        Pixels a second.
    """
    yield box(LEFT_PX, y, _COLUMNS, _LANE_PX, FAINT)
    yield from _merged([span for span in spans if span.duration_s * scale < 1], y, scale)
    for span in spans:
        width = span.duration_s * scale
        if width >= 1:
            title = ", ".join(filter(None, (span.name, span.layer, seconds(span.duration_s))))
            yield box(LEFT_PX + span.begin_s * scale, y, width, _LANE_PX, kind_color(span.kind), title)


def _merged(spans: Sequence[Span], y: float, scale: float) -> Iterator[str]:
    """Yield a box for each run of pixels in which the same kind takes the most time."""
    kinds = list(dict.fromkeys(span.kind for span in spans))
    if not kinds:
        return
    cover = np.zeros((len(kinds), _COLUMNS))
    rows = [kinds.index(span.kind) for span in spans]
    columns = np.clip([int((span.begin_s + span.duration_s / 2) * scale) for span in spans], 0, _COLUMNS - 1)
    np.add.at(cover, (rows, columns), [span.duration_s * scale for span in spans])
    kind = np.where(cover.sum(0) >= _MIN_COVER, cover.argmax(0), -1)
    begins = np.flatnonzero(np.append(True, np.diff(kind) != 0))
    for begin, end in zip(begins, np.append(begins[1:], _COLUMNS)):
        if kind[begin] >= 0:
            name = kinds[kind[begin]]
            yield box(LEFT_PX + begin, y, end - begin, _LANE_PX, kind_color(name), f"{name}, several calls")


def _phases(line: TimeLine, scale: float) -> Iterator[str]:
    yield _name(_BAND_PX / 2, "phases")
    for phase, begin_s, end_s in line.phases:
        x, width = LEFT_PX + begin_s * scale, (end_s - begin_s) * scale
        title = f"{phase}: {seconds(end_s - begin_s)}"
        yield box(x, 0, width, _BAND_PX, phase_color(phase), title, 'fill-opacity="0.6"')
        yield words(x + 5, 16.5, fitted(phase, width - 10), fill=INK, pointer_events="none")


def _load(load: ThreadLoad, y: float, scale: float) -> Iterator[str]:
    """Yield how busy a thread was: the darker, the busier."""
    yield box(LEFT_PX, y, _COLUMNS, _LOAD_PX, FAINT)
    x = LEFT_PX
    for busy, alike in groupby(load.busy, key=lambda share: round(min(share, 1), 2)):
        end = min(x + load.interval_s * scale * len(list(alike)), WIDTH_PX)
        if busy > 0 and end > x:
            style = f'fill-opacity="{busy:.2f}" shape-rendering="crispEdges"'
            yield box(x, y, end - x, _LOAD_PX, VERMILION, f"{load.name}: busy {percent(busy)}", style)
        x = end


def _axis(y: float, end_s: float, scale: float) -> Iterator[str]:
    yield path(f"M{LEFT_PX} {y}H{WIDTH_PX}", stroke=GRAY)
    for tick_s in ticks(end_s, 5):
        x = LEFT_PX + tick_s * scale
        yield path(f"M{x:.1f} {y}v5", stroke=GRAY)
        anchor = "end" if x > WIDTH_PX - 30 else "middle"
        yield words(x, y + 20, seconds(tick_s), text_anchor=anchor)


def _name(middle: float, name: str, size_px: float = 13) -> str:
    return words(LEFT_PX - 8, middle + 4.5, fitted(name, LEFT_PX - 10, size_px), text_anchor="end", font_size=size_px,
                 fill=AXIS)  # fmt: skip
