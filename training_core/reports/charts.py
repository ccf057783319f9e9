"""Line charts and histograms as inline SVG for HTML pages, and charts of scores.

Scope: matplotlib, series and samples of numbers. Independent of their meaning.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, Optional

import numpy as np
import pandas

from ..segmentation.pixel_metrics import Scores
from .colors import AXIS, BLUE, GRAY, GREEN, VERMILION

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_RULE = "#e3e7eb"
_INCHES = (5.6, 3.0)
_STYLE: Any = {"svg.fonttype": "none", "font.family": "sans-serif", "font.size": 9}
# Parts that would make a browser fetch something, or make two charts on a page clash.
_NOT_FOR_HTML = re.compile(r'<\?xml.*?\?>|<!DOCTYPE.*?>|<metadata>.*?</metadata>| xmlns(:xlink)?="[^"]*"', re.DOTALL)
_SIZE = re.compile(r'<svg (width="[^"]*" )?height="[^"]*"')  # the page decides on the size


@dataclass(frozen=True)
class Series:
    """One line of a chart.

    It is not in the legend without a label. NaN and infinity leave a gap. Its width is in points, and `dots` marks each
    point.
    """

    label: str
    x: Sequence[float] | np.ndarray
    y: Sequence[float] | np.ndarray
    color: str
    width: float = 1.8
    dots: bool = False


def line_chart(
    name: str,
    lines: Sequence[Series],
    x_label: str,
    y_label: str,
    y_range: Optional[tuple[float, float]] = None,
    marked_x: Optional[tuple[float, str]] = None,
) -> str:
    """Return a chart as an `<svg>` element of a name that is unique on the page.

    The vertical axis is fitted to the lines without `y_range`; `marked_x` is a labeled position on the other axis.
    """

    def draw(axes: Axes) -> None:
        for line in lines:
            marker = "o" if line.dots else ""
            size = 3.5 if len(line.x) > 1 else 7  # a single point marks a place
            axes.plot(line.x, line.y, marker=marker, color=line.color, lw=line.width, ms=size, label=line.label or None)
        if marked_x is not None:
            axes.axvline(marked_x[0], color=AXIS, lw=1, ls=(0, (3, 3)), label=marked_x[1])
        axes.margins(x=0.02)
        if y_range is not None:
            axes.set_ylim(*y_range)

    return _chart(name, draw, x_label, y_label, len(lines) + 1)


def histogram(name: str, values: Sequence[float], x_label: str, y_label: str, color: str) -> str:
    """Return how often values, at least one and none negative, occur, as an `<svg>` element with the median marked."""
    bars = int(np.clip(np.sqrt(len(values)), 5, 40))
    middle = float(np.median(values))

    def draw(axes: Axes) -> None:
        axes.hist(values, bins=bars, range=(0, max(*values, 1e-6)), color=color, rwidth=0.9)
        axes.axvline(middle, color=AXIS, lw=1, ls=(0, (3, 3)), label=f"median: {middle:.3g}")
        axes.locator_params(axis="y", integer=True)

    return _chart(name, draw, x_label, y_label, 1)


def _chart(name: str, draw: Callable[[Axes], None], x_label: str, y_label: str, columns: int) -> str:
    """Return a drawing with labeled axes as SVG, with a legend of several columns above."""

    def draw_with_labels(axes: Axes) -> None:
        draw(axes)
        axes.legend(frameon=False, labelcolor=AXIS, loc="lower left", bbox_to_anchor=(0, 1), borderpad=0, ncols=columns)
        axes.set_xlabel(x_label, color=AXIS)
        axes.set_ylabel(y_label, color=AXIS)

    return drawing(name, draw_with_labels)


def drawing(name: str, draw: Callable[[Axes], None], size_inches: tuple[float, float] = _INCHES) -> str:
    """Return what a function draws on axes as an `<svg>` element, in the look of all charts.

    Screen readers read its name, which is unique on the page. The same drawing has the same text always.
    """
    import matplotlib  # takes half a second to load, and only reports need it
    from matplotlib.figure import Figure

    text = io.StringIO()
    with matplotlib.rc_context({**_STYLE, "svg.hashsalt": name}):
        figure = Figure(figsize=size_inches, layout="constrained")
        axes = figure.add_subplot()
        draw(axes)
        axes.grid(color=_RULE, lw=0.8)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
        axes.spines[["left", "bottom"]].set_color(GRAY)
        axes.tick_params(colors=AXIS, length=3)
        figure.savefig(text, format="svg", transparent=True)
    svg = _NOT_FOR_HTML.sub("", text.getvalue()).strip()
    return _SIZE.sub(f'<svg role="img" aria-label="{escape(name)}"', svg, count=1)


def smoothed(values: Sequence[float] | np.ndarray, window: int) -> np.ndarray:
    """Return the trailing moving mean over up to `window` values: (n,) float64."""
    return pandas.Series(values).rolling(window, min_periods=1).mean().to_numpy()


def sweep_chart(thresholds: Sequence[float], sweep: Sequence[Scores], threshold: float, word: str) -> str:
    """Return a chart of scores by threshold, as SVG, with one `threshold` labeled by a word."""
    marked = threshold, f"{word}: {threshold:.2f}"
    lines = lines_of_scores(thresholds, sweep, ("F1", "precision", "recall"))
    return line_chart("Scores by threshold", lines, "threshold", "score", (0, 1), marked)


def lines_of_scores(x: Sequence[float], scores: Sequence[Any], measures: tuple[str, str, str]) -> list[Series]:
    """Return a line for each of three measures of scores by `x`, such as thresholds; the first one stands out."""
    styles = zip(measures, (VERMILION, GREEN, GRAY), (1.8, 1.3, 1.3))
    return [
        Series(name, x, [getattr(at, name.lower()) for at in scores], color, width) for name, color, width in styles
    ]


def precision_recall_chart(sweep: Sequence[Scores], marked: Mapping[str, Scores]) -> str:
    """Return the precision-recall curve over all thresholds as SVG, with some labeled points."""
    drawn = [scores for scores in sweep if scores.recall > 0]  # precision needs predictions
    curve = Series("all thresholds", [scores.recall for scores in drawn], [scores.precision for scores in drawn], BLUE)
    points = [
        Series(word, [scores.recall], [scores.precision], color, dots=True)
        for (word, scores), color in zip(marked.items(), (VERMILION, GREEN))
    ]
    return line_chart("Precision-recall curve", [curve, *points], "recall", "precision", (0, 1))
