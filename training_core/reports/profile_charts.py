"""Charts of a profiled step as SVG: its flame graph by module, its time line, and its memory.

The flame graph (Gregg, 2016) hangs from its root (icicle). Each box is a module, as wide as its time with the modules
in it. The first row is the step, the second its directions: forward, backward, and the rest.

Scope: layers, a TimeLine and a MemoryCurve to SVG. Independent of the page around them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

import numpy as np

from ..profiling.profile import LayerRow, MemoryCurve, Phase, Span, ThreadLoad, TimeLine
from .colors import AXIS, BLUE, FAINT, GRAY, INK, PALE, VERMILION, WHITE, kind_color, phase_color
from .quantities import percent, quantity, seconds
from .svg import box, drawing, fitted, path, ticks, words

WIDTH_PX, LEFT_PX = 1000.0, 108.0
# Rows of the flame graph; boxes narrower than this are drawn as one with their siblings.
ROW_PX, MIN_PX = 26.0, 4.0
_REST = "outside of modules"
# Only a hostile document nests modules deeper.
_MAX_DEPTH = 24
# Parts of the time line.
_BAND_PX, _LANE_PX, _LOAD_PX, _GAP_PX, _AXIS_PX = 24.0, 34.0, 13.0, 8.0, 34.0
_MAX_LOADS = 64
_COLUMNS = int(WIDTH_PX - LEFT_PX)
_MIN_COVER = 0.25
# The memory curve.
_MEMORY_PX, _TOP, _BOTTOM = 300.0, 30.0, 268.0
_MAX_POINTS = 800


@dataclass
class Module:
    """A module with the modules in it: the last part of its path, and its own time without theirs."""

    name: str
    path: str
    self_s: float = 0.0
    inner: dict[str, "Module"] = field(default_factory=dict)

    @property
    def time_s(self) -> float:
        """Its time with the modules in it."""
        return self.self_s + sum(module.time_s for module in self.inner.values())

    def add(self, parts: Sequence[str], time_s: float) -> None:
        """Add the time of a module in it, by the parts of its path."""
        module = self
        for part in parts:
            path = f"{module.path}.{part}" if module.path else part
            module = module.inner.setdefault(part, Module(part, path))
        module.self_s += time_s


@dataclass(frozen=True)
class Block:
    """A box of the graph, in row `depth`, with its left edge and width in pixels."""

    name: str
    title: str
    direction: str
    depth: int
    x: float
    width: float


def modules_of(layers: Sequence[LayerRow]) -> Module:
    """Return the step as a tree: directions, and in them the modules by their paths."""
    step = Module("step", "")
    for direction in (Phase.FORWARD, Phase.BACKWARD, _REST):
        step.inner[direction] = Module(direction, "")
    for row in layers:
        rest_s = row.time_s - row.forward_s - row.backward_s
        parts = row.name.split(".")[:_MAX_DEPTH]
        for direction, time_s in ((Phase.FORWARD, row.forward_s), (Phase.BACKWARD, row.backward_s), (_REST, rest_s)):
            if time_s > 1e-9 * row.time_s:  # the rest may be a rounding error
                step.inner[direction].add(parts, time_s)
    return step


def blocks_of(layers: Sequence[LayerRow]) -> list[Block]:
    """Return the boxes of the graph; narrow ones are merged with their siblings."""
    step = modules_of(layers)
    if step.time_s <= 0:
        return []
    scale = WIDTH_PX / step.time_s
    blocks = [Block("step", f"step: {seconds(step.time_s)}", "", 0, 0.0, WIDTH_PX)]
    x = 0.0
    for direction in step.inner.values():
        blocks += _blocks(direction, direction.name, 1, x, scale, step.time_s)
        x += direction.time_s * scale
    return blocks


def _blocks(module: Module, direction: str, depth: int, x: float, scale: float, step_s: float) -> Iterator[Block]:
    time_s = module.time_s
    if time_s <= 0:
        return
    title_parts = [f"{module.path or module.name}: {seconds(time_s)}, {percent(time_s / step_s)} of the step"]
    if module.inner and module.self_s > 0:
        title_parts.append(f"itself {seconds(module.self_s)}")
    yield Block(module.name, ", ".join(title_parts), direction, depth, x, time_s * scale)
    inner = sorted(module.inner.values(), key=lambda inner_module: -inner_module.time_s)
    wide = [inner_module for inner_module in inner if inner_module.time_s * scale >= MIN_PX]
    for inner_module in wide:
        yield from _blocks(inner_module, direction, depth + 1, x, scale, step_s)
        x += inner_module.time_s * scale
    narrow = inner[len(wide) :]
    rest_s = sum(inner_module.time_s for inner_module in narrow)
    if rest_s * scale >= MIN_PX / 4:
        title = f"{len(narrow)} smaller ones in {module.path or module.name}: {seconds(rest_s)}"
        yield Block("other", title, direction, depth + 1, x, rest_s * scale)


def flame_graph(name: str, layers: Sequence[LayerRow]) -> str:
    """Return the flame graph as an `<svg>` element; empty without layers."""
    blocks = blocks_of(layers)
    if not blocks:
        return ""
    height_px = ROW_PX * (1 + max(block.depth for block in blocks))
    return drawing(name, WIDTH_PX, height_px, (part for block in blocks for part in _flame_box(block)))


def _flame_box(block: Block) -> Iterator[str]:
    y = block.depth * ROW_PX
    fill = phase_color(block.direction) if block.name != "other" else FAINT
    opacity = 0.85 if block.depth <= 1 else 0.3 + 0.12 * (block.depth % 3)
    yield box(block.x, y, block.width, ROW_PX - 1, fill, block.title, fill_opacity=f"{opacity:.2f}", stroke=WHITE)
    label = fitted(block.name, block.width - 8, 12)
    if label:
        yield words(block.x + 4, y + 17, label, fill=INK, font_size=12, pointer_events="none")


def time_line(name: str, line: TimeLine) -> str:
    """Return the time line as an `<svg>` element; empty if nothing was recorded."""
    ends_s = [end for _, _, end in line.phases] + [span.begin_s + span.duration_s for span in line.spans]
    end_s = max(ends_s, default=0.0)
    if end_s <= 0:
        return ""
    scale = (WIDTH_PX - LEFT_PX) / end_s
    parts, y = [*_phase_bands(line, scale)], _BAND_PX + _GAP_PX
    for thread in sorted({span.thread for span in line.spans}, reverse=True):  # the main thread before the data thread
        spans = [span for span in line.spans if span.thread == thread]
        parts += [_name(y + _LANE_PX / 2, thread), *lane(spans, y, scale)]
        y += _LANE_PX + _GAP_PX
    for load in line.loads[:_MAX_LOADS]:
        parts += [_name(y + _LOAD_PX / 2, load.name, 11), *_load(load, y, scale)]
        y += _LOAD_PX + 1
    parts += _time_axis(y + 4, end_s, scale)
    return drawing(name, WIDTH_PX, y + _AXIS_PX, parts)


def lane(spans: Sequence[Span], y: float, scale: float) -> Iterator[str]:
    """Yield the boxes of a thread's spans, from `y` downwards, at a `scale` in pixels a second.

    Spans narrower than a pixel are merged by kind, pixel by pixel.
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
    rows = np.array([kinds.index(span.kind) for span in spans])
    columns = np.clip([int((span.begin_s + span.duration_s / 2) * scale) for span in spans], 0, _COLUMNS - 1)
    np.add.at(cover, (rows, columns), [span.duration_s * scale for span in spans])
    kind = np.where(cover.sum(0) >= _MIN_COVER, cover.argmax(0), -1)
    begins = np.flatnonzero(np.append(True, np.diff(kind) != 0))
    for begin, end in zip(begins, np.append(begins[1:], _COLUMNS)):
        if kind[begin] >= 0:
            name = kinds[kind[begin]]
            yield box(LEFT_PX + begin, y, end - begin, _LANE_PX, kind_color(name), f"{name}, several calls")


def _phase_bands(line: TimeLine, scale: float) -> Iterator[str]:
    yield _name(_BAND_PX / 2, "phases")
    for phase, begin_s, end_s in line.phases:
        x, width = LEFT_PX + begin_s * scale, (end_s - begin_s) * scale
        title = f"{phase}: {seconds(end_s - begin_s)}"
        yield box(x, 0, width, _BAND_PX, phase_color(phase), title, fill_opacity=0.6)
        yield words(x + 5, 16.5, fitted(phase, width - 10), fill=INK, pointer_events="none")


def _load(load: ThreadLoad, y: float, scale: float) -> Iterator[str]:
    """Yield how busy a thread was: the darker, the busier."""
    yield box(LEFT_PX, y, _COLUMNS, _LOAD_PX, FAINT)
    x = LEFT_PX
    for busy, alike in groupby(load.busy, key=lambda share: round(min(share, 1), 2)):
        end = min(x + load.interval_s * scale * len(list(alike)), WIDTH_PX)
        if busy > 0 and end > x:
            style = {"fill_opacity": f"{busy:.2f}", "shape_rendering": "crispEdges"}
            yield box(x, y, end - x, _LOAD_PX, VERMILION, f"{load.name}: busy {percent(busy)}", **style)
        x = end


def _time_axis(y: float, end_s: float, scale: float) -> Iterator[str]:
    yield path(f"M{LEFT_PX} {y}H{WIDTH_PX}", stroke=GRAY)
    for tick_s in ticks(end_s, 5):
        x = LEFT_PX + tick_s * scale
        yield path(f"M{x:.1f} {y}v5", stroke=GRAY)
        anchor = "end" if x > WIDTH_PX - 30 else "middle"
        yield words(x, y + 20, seconds(tick_s), text_anchor=anchor)


def _name(middle: float, name: str, size_px: float = 13) -> str:
    return words(LEFT_PX - 8, middle + 4.5, fitted(name, LEFT_PX - 10, size_px), text_anchor="end", font_size=size_px,
                 fill=AXIS)  # fmt: skip


def memory_curve(name: str, memory: MemoryCurve) -> str:
    """Return the curve as an `<svg>` element; empty without one."""
    if max(memory.bytes, default=0) <= 0:
        return ""
    x, values = points_of(memory)
    low, high = min(0.0, float(values.min())), float(values.max()) * 1.06
    height = _BOTTOM - (values - low) / (high - low) * (_BOTTOM - _TOP)
    zero = _BOTTOM + low / (high - low) * (_BOTTOM - _TOP)
    steps = "".join(f"L{left:.1f} {y:.1f}" for left, y in zip(x, height))
    area = f"M{x[0]:.1f} {zero:.1f}{steps}L{x[-1]:.1f} {zero:.1f}z"
    grid = []
    for tick in ticks(high, 4):
        y = _BOTTOM - (tick - low) / (high - low) * (_BOTTOM - _TOP)
        grid.append(path(f"M{LEFT_PX} {y:.1f}H{WIDTH_PX}", stroke=PALE if tick else GRAY, stroke_width=0.8))
        grid.append(words(LEFT_PX - 8, y + 4.5, quantity(tick, "B"), text_anchor="end"))
    parts = [
        *_memory_phases(memory),
        *grid,
        path(area, fill=BLUE, fill_opacity=0.35, stroke=BLUE, stroke_width=1.4, stroke_linejoin="round"),
        words((LEFT_PX + WIDTH_PX) / 2, _BOTTOM + 24, "operations of the step, in their order", text_anchor="middle"),
    ]
    return drawing(name, WIDTH_PX, _MEMORY_PX, parts)


def points_of(memory: MemoryCurve) -> tuple[np.ndarray, np.ndarray]:
    """Return the curve thinned out, so that all peaks are left: pixels and bytes, both (n,) float64."""
    count = len(memory.bytes)
    begins = np.arange(0, count, max(1, -(-count // _MAX_POINTS)))
    values = np.maximum.reduceat(np.array(memory.bytes, dtype=np.float64), begins)
    return _memory_x(begins, count), values


def _memory_x(index: np.ndarray, count: int) -> np.ndarray:
    return LEFT_PX + np.asarray(index) / max(count - 1, 1) * (WIDTH_PX - LEFT_PX)


def _memory_phases(memory: MemoryCurve) -> Iterator[str]:
    """Yield a band for each phase, with its peak where there is room."""
    count, begin = len(memory.bytes), 0
    peaks = memory.peaks()
    for phase, end in memory.phases:
        left, right = _memory_x(np.array([begin, min(end + 1, count - 1)]), count)
        label = f"{phase}: peak {quantity(peaks[phase], 'B')}"
        yield box(left, 0, right - left, _BOTTOM, phase_color(phase), label, fill_opacity=0.18)
        shown = fitted(label, right - left - 10)
        if shown:
            yield words(left + 5, 18, shown, fill=INK)
        begin = end + 1
