"""The report of a fine-tune: one HTML file that holds everything it shows and runs nothing.

Knows what is told of a training, and how; knows nothing of how one is done.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional

import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from . import overlays
from .charts import BLUE, GRAY, GREEN, ORANGE, PALE, Series, line_chart, smoothed
from .jobs import FineTune
from .metrics import Scores

_TEMPLATES = Path(__file__).parents[1] / "resources"
_LARGEST_PANEL_PX, _MOST_POINTS = 512, 600


@dataclass(frozen=True)
class ImageSummary:
    """An image that was learned from.

    Parameters
    ----------
    name : str
    width, height : int
        In pixels of the ground resolution that was worked at.
    resolution_m : float
        Ground size of a pixel in meters.
    labeled_share : float
        Share of the pixels, from 0 to 1, that are known to be road or no road.
    road_share : float
        Share of those that are road.
    """

    name: str
    width: int
    height: int
    resolution_m: float
    labeled_share: float
    road_share: float


@dataclass(frozen=True)
class Panel:
    """A piece of ground with its labels and its prediction.

    Parameters
    ----------
    image : ndarray (height, width, 3), uint8
    truth : ndarray (height, width), uint8
        0 no road, 1 road, 255 to be ignored.
    probability : ndarray (height, width), uint8 or float
        uint8: 0 to 254 for 0 to 1, 255 no data. Float: 0 to 1, NaN no data.
    caption : str
    """

    image: np.ndarray
    truth: np.ndarray
    probability: np.ndarray
    caption: str = ""


@dataclass(frozen=True)
class TrainingRecord:
    """All that the report of a fine-tune tells.

    Parameters
    ----------
    options : mapping of str to anything
        The job's fields.
    hardware, engine, precision, engine_reason : str
        What computed, and why that was chosen.
    images : sequence of ImageSummary
    steps : sequence of (int, float, float, float)
        Step, seconds since the start, loss, learning rate.
    validations : sequence of (int, float, Scores)
        Step, seconds since the start, scores at the best threshold.
    thresholds, sweep : sequence of float, sequence of Scores
        Scores on the ground kept apart, by threshold.
    threshold : float
        The one chosen.
    timings_s : mapping of str to float
        Seconds by part of the training loop.
    images_per_s : float
        Chips a second of the loop, validation left out.
    warnings : sequence of str
    panels : sequence of Panel
    versions : mapping of str to str
        Of what computed, by name.
    """

    options: Mapping[str, Any]
    hardware: str
    engine: str
    precision: str
    engine_reason: str
    images: Sequence[ImageSummary]
    steps: Sequence[tuple[int, float, float, float]]
    validations: Sequence[tuple[int, float, Scores]]
    thresholds: Sequence[float]
    sweep: Sequence[Scores]
    threshold: float
    timings_s: Mapping[str, float]
    images_per_s: float
    warnings: Sequence[str] = ()
    panels: Sequence[Panel] = ()
    versions: Mapping[str, str] = field(default_factory=dict)

    @property
    def best(self) -> Optional[tuple[int, float, Scores]]:
        """The validation with the best F1, or None where there was none."""
        return max(self.validations, key=lambda validation: validation[2].f1, default=None)

    @property
    def elapsed_s(self) -> float:
        """Seconds to the last step or validation."""
        return max((entry[1] for entry in [*self.steps, *self.validations]), default=0.0)


def write_training_report(record: TrainingRecord, path: Path) -> None:
    """Write the report of a fine-tune as one HTML file without scripts and without references to anything outside."""
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    page = environment.get_template("report.html.j2").render(
        record=record,
        charts=_charts(record),
        panels=[_panel(panel, record.threshold) for panel in record.panels],
        legend=_legend(),
        timings=_shares(record.timings_s),
        settings=_settings(record.options),
    )
    path.write_text(page, encoding="utf-8")


def _charts(record: TrainingRecord) -> dict[str, Markup]:
    """Return the charts for which there are numbers, by name."""
    charts = {}
    if record.steps:
        charts["loss"] = _loss_chart(record)
    if record.validations:
        charts["validation"] = _validation_chart(record)
    if len(record.sweep):
        charts["sweep"] = _sweep_chart(record)
    return {name: Markup(svg) for name, svg in charts.items()}  # made of numbers and fixed words


def _loss_chart(record: TrainingRecord) -> str:
    minutes = np.array([elapsed_s / 60 for _, elapsed_s, _, _ in record.steps])
    loss = np.array([loss for _, _, loss, _ in record.steps])
    window = max(1, len(loss) // 20)
    shown = slice(None, None, max(1, len(loss) // _MOST_POINTS))
    lines = [
        Series("steps", minutes[shown], loss[shown], PALE, width=0.9),
        Series(f"mean of {window} steps", minutes[shown], smoothed(loss, window)[shown], BLUE),
    ]
    top = float(np.nanpercentile(loss, 99)) * 1.1  # the first steps may be far off
    return line_chart("Loss over time", lines, "minutes", "loss", (0, top) if top > 0 else None)


def _validation_chart(record: TrainingRecord) -> str:
    minutes = [elapsed_s / 60 for _, elapsed_s, _ in record.validations]
    lines = [
        Series("F1", minutes, [scores.f1 for _, _, scores in record.validations], ORANGE, dots=True),
        Series("IoU", minutes, [scores.iou for _, _, scores in record.validations], BLUE, dots=True),
    ]
    best = (record.best[1] / 60, "kept") if len(minutes) > 1 else None
    return line_chart("Validation scores over time", lines, "minutes", "score", (0, 1), best)


def _sweep_chart(record: TrainingRecord) -> str:
    lines = [
        Series("F1", record.thresholds, [scores.f1 for scores in record.sweep], ORANGE),
        Series("precision", record.thresholds, [scores.precision for scores in record.sweep], GREEN, width=1.3),
        Series("recall", record.thresholds, [scores.recall for scores in record.sweep], GRAY, width=1.3),
    ]
    return line_chart("Scores by threshold", lines, "threshold", "score", (0, 1), (record.threshold, "chosen"))


def _panel(panel: Panel, threshold: float) -> dict[str, Any]:
    """Return a panel's pictures as data URLs, with its caption."""
    image, truth, probability = (
        overlays.reduced(pixels, _LARGEST_PANEL_PX) for pixels in (panel.image, panel.truth, panel.probability)
    )
    mask = _to_mask(probability, threshold)
    pictures = {
        "image": image,
        "labels": overlays.label_overlay(image, truth),
        "prediction": overlays.prediction_overlay(image, truth, mask),
    }
    return {"caption": panel.caption, "pictures": {name: _data_url(picture) for name, picture in pictures.items()}}


def _to_mask(probability: np.ndarray, threshold: float) -> np.ndarray:
    if probability.dtype == np.uint8:
        return (probability != 255) & (probability / 254 >= threshold - 1e-9)
    return probability >= threshold


def _data_url(picture: np.ndarray) -> str:
    return "data:image/png;base64," + base64.b64encode(overlays.png(picture)).decode("ascii")


def _legend() -> dict[str, str]:
    """Return the overlays' colors by what they mean."""
    colors = {
        "drawn road": overlays.LABEL_COLOR,
        "found": overlays.HIT_COLOR,
        "missed": overlays.MISS_COLOR,
        "false alarm": overlays.FALSE_ALARM_COLOR,
        "predicted where nothing is known": overlays.UNKNOWN_COLOR,
    }
    return {meaning: "#{:02x}{:02x}{:02x}".format(*color) for meaning, color in colors.items()}


def _shares(timings_s: Mapping[str, float]) -> list[tuple[str, float, float]]:
    """Return (part, seconds, share of all), the longest first."""
    total_s = sum(timings_s.values()) or 1.0
    rows = [(part, seconds, seconds / total_s) for part, seconds in timings_s.items()]
    return sorted(rows, key=lambda row: -row[1])


def _settings(options: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Return (label, field, value with its unit) of each setting."""
    known = {field.name: field.option for field in FineTune.option_fields()}
    rows = []
    for name, value in options.items():
        option = known.get(name)
        text = ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
        unit = f" {option.unit}" if option and option.unit and text else ""
        rows.append((option.label if option else name, name, text + unit))
    return rows
