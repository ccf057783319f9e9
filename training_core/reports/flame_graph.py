"""The flame graph of a step by module: each box is a module, as wide as the time in it and in the modules within.

After Gregg (2016), hung from its root (icicle). The first row is the step, the second its directions: forward,
backward, and what belongs to no module.

Scope: layers to SVG. Independent of the page around it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ..profiling.profile import BACKWARD, FORWARD, LayerRow
from .colors import FAINT, INK, WHITE
from .kind_colors import phase_color
from .quantities import percent, seconds
from .svg import box, drawing, fitted, words

WIDTH_PX, ROW_PX = 1000.0, 26.0
# Boxes narrower than this are drawn as one with their siblings.
MIN_PX = 4.0
_REST = "outside of modules"
# Only a hostile document nests modules deeper.
_DEEPEST = 24


@dataclass
class Module:
    """A module with the modules within.

    Parameters
    ----------
    name : str
        The last part of its path.
    self_s : float
        Time in itself, without the modules within.
    """

    name: str
    path: str
    self_s: float = 0.0
    inner: dict[str, "Module"] = field(default_factory=dict)

    @property
    def time_s(self) -> float:
        """Time in it and in the modules within."""
        return self.self_s + sum(module.time_s for module in self.inner.values())

    def add(self, parts: Sequence[str], time_s: float) -> None:
        """Add the time of a module within, by the parts of its path."""
        module = self
        for part in parts:
            path = f"{module.path}.{part}" if module.path else part
            module = module.inner.setdefault(part, Module(part, path))
        module.self_s += time_s


@dataclass(frozen=True)
class Block:
    """A box of the graph.

    Parameters
    ----------
    depth : int
        Row, from 0.
    x, width : float
        In pixels.
    """

    name: str
    title: str
    direction: str
    depth: int
    x: float
    width: float


def modules_of(layers: Sequence[LayerRow]) -> Module:
    """Return the step as a tree: directions, and in them the modules by their paths."""
    step = Module("step", "")
    for direction in (FORWARD, BACKWARD, _REST):
        step.inner[direction] = Module(direction, "")
    for row in layers:
        rest_s = row.time_s - row.forward_s - row.backward_s
        parts = row.name.split(".")[:_DEEPEST]
        for direction, time_s in ((FORWARD, row.forward_s), (BACKWARD, row.backward_s), (_REST, rest_s)):
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
    words_of = [f"{module.path or module.name}: {seconds(time_s)}, {percent(time_s / step_s)} of the step"]
    if module.inner and module.self_s > 0:
        words_of.append(f"itself {seconds(module.self_s)}")
    yield Block(module.name, ", ".join(words_of), direction, depth, x, time_s * scale)
    inner = sorted(module.inner.values(), key=lambda each: -each.time_s)
    wide = [each for each in inner if each.time_s * scale >= MIN_PX]
    for each in wide:
        yield from _blocks(each, direction, depth + 1, x, scale, step_s)
        x += each.time_s * scale
    narrow = inner[len(wide) :]
    rest_s = sum(each.time_s for each in narrow)
    if rest_s * scale >= MIN_PX / 4:
        title = f"{len(narrow)} smaller ones in {module.path or module.name}: {seconds(rest_s)}"
        yield Block("other", title, direction, depth + 1, x, rest_s * scale)


def flame_graph(name: str, layers: Sequence[LayerRow]) -> str:
    """Return the flame graph as an `<svg>` element; empty without layers."""
    blocks = blocks_of(layers)
    if not blocks:
        return ""
    height_px = ROW_PX * (1 + max(block.depth for block in blocks))
    return drawing(name, WIDTH_PX, height_px, (part for block in blocks for part in _drawn(block)))


def _drawn(block: Block) -> Iterator[str]:
    y = block.depth * ROW_PX
    fill = phase_color(block.direction) if block.name != "other" else FAINT
    opacity = 0.85 if block.depth <= 1 else 0.3 + 0.12 * (block.depth % 3)
    style = f'fill-opacity="{opacity:.2f}" stroke="{WHITE}"'
    yield box(block.x, y, block.width, ROW_PX - 1, fill, block.title, style)
    label = fitted(block.name, block.width - 8, 12)
    if label:
        yield words(block.x + 4, y + 17, label, fill=INK, font_size=12, pointer_events="none")
