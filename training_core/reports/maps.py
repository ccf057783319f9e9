"""Maps of lines and areas as inline SVG for HTML pages, and a sketch of a network that is too large for one.

The SVG is written here: thousands of lines are one path of a kilobyte a line at most, and places have tooltips.

Scope: lines and polygons in meters, and their colors. Independent of their meaning.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
import shapely

from .colors import AXIS, INK, WHITE

_WIDTH_PX, _MARGIN_PX, _TALLEST = 1000.0, 24.0, 1.2
_FONT = 'font-family="system-ui, sans-serif" font-size="15"'
# A map of more lines makes a page that is slow to open.
MAX_LINES = 30_000


@dataclass(frozen=True)
class MapLines:
    """Lines of one color: `LineString`s in meters, x east and y north, (n,) object; drawn on a map 1000 px wide."""

    shapes: np.ndarray
    color: str
    width_px: float = 2.0


@dataclass(frozen=True)
class MapAreas:
    """Polygons of one color, lighter inside, of one part or several: in meters, x east and y north, (n,) object.

    Each has its title, shown where the pointer rests; without titles all are one shape with that of the layer.
    """

    shapes: np.ndarray
    color: str
    titles: Sequence[str] = ()
    is_filled: bool = True


@dataclass(frozen=True)
class MapNumbers:
    """Numbers from 1 beside points in meters, (n, 2) float64."""

    points: np.ndarray

    @property
    def shapes(self) -> np.ndarray:
        """The points as lines, (n,) object."""
        return dots(self.points)


Drawn = MapLines | MapAreas | MapNumbers


def line_map(name: str, drawn: Mapping[str, Drawn]) -> str:
    """Return a map as an `<svg>` element, north up, with a scale bar; later layers are on top."""
    shapes = np.concatenate([layer.shapes for layer in drawn.values()])
    west, south, east, north = shapely.total_bounds(shapes) if len(shapes) else np.zeros(4)
    span_m = max(east - west, (north - south) / _TALLEST, 1.0)
    scale = (_WIDTH_PX - 2 * _MARGIN_PX) / span_m
    left_px = (_WIDTH_PX - (east - west) * scale) / 2
    height_px = (north - south) * scale + 3 * _MARGIN_PX

    def to_picture(points: np.ndarray) -> np.ndarray:
        return np.column_stack([left_px + (points[:, 0] - west) * scale, _MARGIN_PX + (north - points[:, 1]) * scale])

    parts = [*_layers(drawn, to_picture, scale), *_scale_bar(span_m, scale, height_px - _MARGIN_PX)]
    return _svg(name, parts, _WIDTH_PX, height_px)


def overlay(name: str, drawn: Mapping[str, Drawn], bounds: Sequence[float], width_px: int) -> str:
    """Return an `<svg>` element to lay over a picture of a rectangle: west, south, east and north in meters."""
    west, south, east, north = bounds
    scale = width_px / (east - west)
    parts = _layers(drawn, lambda points: (points - (west, north)) * (scale, -scale), scale)
    return _svg(name, parts, width_px, (north - south) * scale)


def _svg(name: str, parts: Iterable[str], width_px: float, height_px: float) -> str:
    size = f'viewBox="0 0 {width_px:.0f} {height_px:.0f}" style="max-width: none"'
    return f'<svg role="img" aria-label="{escape(name)}" {size}>{"".join(parts)}</svg>'


def _layers(drawn: Mapping[str, Drawn], to_picture: Callable[[np.ndarray], np.ndarray], scale: float) -> Iterator[str]:
    for title, layer in drawn.items():
        if isinstance(layer, MapLines):
            yield from _lines(title, layer, to_picture, scale)
        elif isinstance(layer, MapNumbers):
            yield from _numbers(layer, to_picture)
        else:
            yield from _areas(title, layer, to_picture, scale)


def dots(points: np.ndarray) -> np.ndarray:
    """Return points, (n, 2) float64, as lines of length 0, (n,) object, which a map draws as dots."""
    return shapely.linestrings(np.stack([points, points], axis=1))


def _lines(title: str, drawn: MapLines, to_picture: Callable[[np.ndarray], np.ndarray], scale: float) -> Iterator[str]:
    """Yield lines as one path, simplified to a third of a pixel."""
    simple = shapely.simplify(drawn.shapes, 0.3 / scale, preserve_topology=False)
    points, line = shapely.get_coordinates(simple, return_index=True)
    # A point whose line is not that of the point before begins a line.
    begins = np.append(True, np.diff(line) > 0)
    steps = [f"{'ML'[not begin]}{x:.1f} {y:.1f}" for begin, (x, y) in zip(begins, to_picture(points))]
    style = {"stroke": drawn.color, "stroke_width": f"{drawn.width_px:g}", "stroke_linecap": "round"}
    yield _path("".join(steps), title, fill="none", stroke_linejoin="round", **style)


def _areas(title: str, drawn: MapAreas, to_picture: Callable[[np.ndarray], np.ndarray], scale: float) -> Iterator[str]:
    """Yield areas as paths, simplified to a third of a pixel."""
    simple = shapely.simplify(drawn.shapes, 0.3 / scale, preserve_topology=True)
    style = {"fill": drawn.color if drawn.is_filled else "none", "fill_opacity": 0.25, "fill_rule": "evenodd"}
    style |= {"stroke": drawn.color, "stroke_width": 1, "stroke_linejoin": "round"}
    steps = []
    for shape in simple:
        rings = shapely.get_rings(shapely.get_parts(shape)) if shape is not None else ()
        corners = (to_picture(shapely.get_coordinates(ring)[:-1]) for ring in rings)
        steps.append("".join(f"M{'L'.join(f'{x:.1f} {y:.1f}' for x, y in points)}Z" for points in corners))
    for shape_title, shape_steps in zip(drawn.titles, steps) if drawn.titles else [(title, "".join(steps))]:
        if shape_steps:
            yield _path(shape_steps, shape_title, **style)


def _numbers(drawn: MapNumbers, to_picture: Callable[[np.ndarray], np.ndarray]) -> Iterator[str]:
    """Yield numbers with a white outline, to the right of their points."""
    style = f'{_FONT} font-weight="600" fill="{INK}" stroke="{WHITE}" stroke-width="3" paint-order="stroke"'
    for number, (x, y) in enumerate(to_picture(drawn.points), 1):
        yield f'<text x="{x + 7:.1f}" y="{y + 5:.1f}" {style}>{number}</text>'


def _scale_bar(span_m: float, scale: float, bottom_px: float) -> Iterator[str]:
    """Yield a scale bar: a round number of meters, about a fifth of the map."""
    power = 10.0 ** math.floor(math.log10(span_m / 5))
    length_m = max(each * power for each in (1, 2, 5) if each * power <= span_m / 5 * (1 + 1e-9))
    text = f"{length_m / 1000:g} km" if length_m >= 1000 else f"{length_m:g} m"
    end_px = _MARGIN_PX + length_m * scale
    yield _path(f"M{_MARGIN_PX:.1f} {bottom_px:.1f}H{end_px:.1f}", stroke=AXIS, stroke_width=3)
    yield f'<text x="{end_px + 8:.1f}" y="{bottom_px + 5:.1f}" {_FONT} fill="{AXIS}">{text}</text>'


def _path(steps: str, title: str = "", **attributes: object) -> str:
    """Return a path with a tooltip; in the names of its attributes, underscores stand for hyphens."""
    named = " ".join(f'{name.replace("_", "-")}="{value}"' for name, value in attributes.items())
    return f'<path d="{steps}" {named}>' + (f"<title>{escape(title)}</title></path>" if title else "</path>")


class RoadSketch:
    """The `lines`, (n,) object, of a network that comes part by part: of many, every second, every fourth and so on."""

    def __init__(self, max_lines: int = MAX_LINES) -> None:
        self._max_lines, self._seen, self.every = max_lines, 0, 1
        self.lines = np.zeros(0, dtype=object)

    def add(self, lines: np.ndarray) -> None:
        """Add lines, (n,) object, of a part of the network."""
        # Lines whose number, counted over all parts, is a multiple of `every`.
        self.lines = np.concatenate([self.lines, lines[-self._seen % self.every :: self.every]])
        self._seen += len(lines)
        while len(self.lines) > self._max_lines:
            self.lines, self.every = self.lines[::2], 2 * self.every
