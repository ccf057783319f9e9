"""Parts of drawings as inline SVG for HTML pages: boxes, words, axes. Text is escaped.

Scope: elements and their attributes. Independent of the drawing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from html import escape

from .colors import AXIS

# Of letters of a sans-serif font, on average, to its size.
_LETTER = 0.56


def drawing(name: str, width_px: float, height_px: float, parts: Iterable[str]) -> str:
    """Return an `<svg>` element of a name that screen readers read out; later parts are on top."""
    size = f'viewBox="0 0 {width_px:.0f} {height_px:.0f}" style="max-width: none"'
    font = 'font-family="system-ui, sans-serif" font-size="13"'
    return f'<svg role="img" aria-label="{escape(name)}" {size} {font}>{"".join(parts)}</svg>'


def box(x: float, y: float, width: float, height: float, fill: str, title: str = "", **attributes: object) -> str:
    """Return a rectangle with a tooltip; attributes as in `path`.

    Its left `x`, its top `y`, its `width` and its `height` are in pixels.
    """
    place = {"x": f"{x:.2f}", "y": f"{y:.2f}", "width": f"{max(width, 0):.2f}", "height": f"{height:.2f}"}
    return _element("rect", title, {**place, "fill": fill, **attributes})


def path(steps: str, title: str = "", **attributes: object) -> str:
    """Return a path; in the names of its attributes, underscores stand for hyphens."""
    return _element("path", title, {"d": steps, **attributes})


def circle(x: float, y: float, radius: float, title: str = "", **attributes: object) -> str:
    """Return a circle around `x`, `y` of a `radius` in pixels, with a tooltip; attributes as in `path`."""
    return _element("circle", title, {"cx": f"{x:.1f}", "cy": f"{y:.1f}", "r": f"{radius:.1f}", **attributes})


def words(x: float, y: float, text: str, **attributes: object) -> str:
    """Return a line of text whose baseline, or the point that text_anchor names, is at `x`, `y`."""
    given = _attributes({"fill": AXIS, **attributes})
    return f'<text x="{x:.1f}" y="{y:.1f}" {given}>{escape(text)}</text>'


def fitted(text: str, width_px: float, size_px: float = 13) -> str:
    """Return a text cut to a width at a font size in pixels; empty if not even three letters have room."""
    letters = int(width_px / (_LETTER * size_px))
    if len(text) <= letters:
        return text
    return f"{text[: letters - 1]}…" if letters >= 4 else ""


def width_of(text: str, size_px: float = 13) -> float:
    """Return the width of a text in pixels, estimated."""
    return len(text) * _LETTER * size_px


def ticks(high: float, count: int) -> list[float]:
    """Return round numbers from 0 to `high`: at least `count`, their steps 1, 2 or 5 times a power of ten."""
    if not high > 0 or not math.isfinite(high):
        return [0.0]
    power = 10.0 ** math.floor(math.log10(high / count))
    step = max(each * power for each in (1, 2, 5) if each * power <= high / count * (1 + 1e-9))
    return [number * step for number in range(int(high / step * (1 + 1e-9)) + 1)]


def _element(tag: str, title: str, attributes: dict[str, object]) -> str:
    named = _attributes(attributes)
    return f"<{tag} {named}><title>{escape(title)}</title></{tag}>" if title else f"<{tag} {named}/>"


def _attributes(values: dict[str, object]) -> str:
    return " ".join(f'{name.replace("_", "-")}="{value}"' for name, value in values.items())
