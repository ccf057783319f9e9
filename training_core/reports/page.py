"""What RoadSeg's HTML reports share: self-contained pages without scripts, made from Jinja templates.

Scope: templates, pictures, and charts of scores. Independent of what a single report shows.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from ..errors import without_passwords
from ..geodata.pixel_codes import reaches
from ..jobs import Job
from ..segmentation.pixel_metrics import Scores
from . import overlays
from .charts import Series, line_chart
from .colors import BLUE, GRAY, GREEN, VERMILION

_TEMPLATES = Path(__file__).parents[2] / "resources" / "reports"
_MAX_PANEL_PX = 512
# The overlays' colors by what they mean.
_LEGEND = {
    "drawn road": overlays.LABEL_COLOR,
    "true positive (found)": overlays.HIT_COLOR,
    "false negative (missed)": overlays.MISS_COLOR,
    "false positive (false alarm)": overlays.FALSE_ALARM_COLOR,
    "predicted on unlabeled ground": overlays.UNKNOWN_COLOR,
}


@dataclass(frozen=True)
class ImageSummary:
    """An image that was trained or scored on.

    Parameters
    ----------
    width, height : int
        In pixels of the ground resolution that was worked at.
    resolution_m : float
        Ground size of a pixel in meters.
    labeled_share : float
        Share of the pixels, from 0 to 1, that are labeled road or background.
    road_share : float
        Share of those that are road.
    training_px, validation_px : int
        Labeled pixels for training, and held-out ones for validation; 0 without training.
    training_road_share, validation_road_share : float
        Share of road in either.
    """

    name: str
    width: int
    height: int
    resolution_m: float
    labeled_share: float
    road_share: float
    training_px: int = 0
    validation_px: int = 0
    training_road_share: float = 0.0
    validation_road_share: float = 0.0


@dataclass(frozen=True)
class Panel:
    """A square of an image with its labels and its prediction.

    Parameters
    ----------
    image : ndarray (height, width, 3), uint8
    truth : ndarray (height, width), uint8
        0 background, 1 road, 255 ignored.
    probability : ndarray (height, width), uint8 or float
        uint8: 0 to 254 for 0 to 1, 255 no data. Float: 0 to 1, NaN no data.
    """

    image: np.ndarray
    truth: np.ndarray
    probability: np.ndarray
    caption: str = ""


@dataclass(frozen=True, kw_only=True)
class ReportRecord:
    """What every report shows.

    Parameters
    ----------
    options : mapping of str to anything
        The job's fields.
    timings_s : mapping of str to float
        Seconds by part of the work.
    versions : mapping of str to str
        Of RoadSeg and the libraries it ran with, by name.
    """

    options: Mapping[str, Any]
    timings_s: Mapping[str, float] = field(default_factory=dict)
    warnings: Sequence[str] = ()
    versions: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class ModelRecord(ReportRecord):
    """What every report on a model shows.

    Parameters
    ----------
    hardware, engine, precision, engine_reason : str
        What computed, and why that was chosen.
    threshold : float
        Probability from which a pixel is road.
    """

    hardware: str
    engine: str
    precision: str
    engine_reason: str
    threshold: float
    panels: Sequence[Panel] = ()


def write_page(template: str, path: Path, job_type: type[Job], record: ReportRecord, **values: Any) -> None:
    """Write a report as one HTML file. Text in its values is shown, never executed.

    Parameters
    ----------
    template : str
        A file of resources/reports.
    job_type : type of Job
        Labels the options of the record.
    **values
        What else the template shows.
    """
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    page = environment.get_template(template).render(
        record=record,
        accent=VERMILION,
        legend=_LEGEND,
        timings=_shares_of(record.timings_s),
        settings=_settings_of(job_type, record.options),
        **values,
    )
    path.write_text(page, encoding="utf-8", errors="replace")  # not every path is valid UTF-8


def sweep_chart(thresholds: Sequence[float], sweep: Sequence[Scores], threshold: float, word: str) -> str:
    """Return a chart of scores by threshold, as SVG.

    Parameters
    ----------
    sweep : sequence of Scores
        At these thresholds.
    threshold : float
        The one to mark.
    word : str
        Its label.
    """
    lines = [
        Series("F1", thresholds, [scores.f1 for scores in sweep], VERMILION),
        Series("precision", thresholds, [scores.precision for scores in sweep], GREEN, width=1.3),
        Series("recall", thresholds, [scores.recall for scores in sweep], GRAY, width=1.3),
    ]
    return line_chart(
        "Scores by threshold", lines, "threshold", "score", (0, 1), (threshold, f"{word}: {threshold:.2f}")
    )


def precision_recall_chart(sweep: Sequence[Scores], marked: Mapping[str, Scores]) -> str:
    """Return the precision-recall curve over all thresholds as SVG, with some labeled points."""
    found = [scores for scores in sweep if scores.recall > 0]  # without predictions there is no precision
    curve = Series("all thresholds", [scores.recall for scores in found], [scores.precision for scores in found], BLUE)
    points = [
        Series(word, [scores.recall], [scores.precision], color, dots=True)
        for (word, scores), color in zip(marked.items(), (VERMILION, GREEN))
    ]
    return line_chart("Precision-recall curve", [curve, *points], "recall", "precision", (0, 1))


def pictures_of(panels: Sequence[Panel], threshold: float) -> list[dict[str, Any]]:
    """Return each panel's caption, and its pictures as data URLs by name."""
    return [_pictures_of(panel, threshold) for panel in panels]


def _pictures_of(panel: Panel, threshold: float) -> dict[str, Any]:
    image, truth, probability = (
        overlays.reduced(pixels, _MAX_PANEL_PX) for pixels in (panel.image, panel.truth, panel.probability)
    )
    mask = reaches(probability, threshold)
    pictures = {
        "image": image,
        "labels": overlays.label_overlay(image, truth),
        "prediction": overlays.prediction_overlay(image, truth, mask),
    }
    return {"caption": panel.caption, "pictures": {name: _data_url(picture) for name, picture in pictures.items()}}


def _data_url(picture: np.ndarray) -> str:
    return "data:image/png;base64," + base64.b64encode(overlays.png(picture)).decode("ascii")


def _settings_of(job_type: type[Job], options: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Return (label, field, value with its unit) of each of a job's settings."""
    known = {field.name: field.option for field in job_type.option_fields()}
    rows = []
    for name, value in options.items():
        option = known.get(name)
        text = without_passwords(", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value))
        unit = f" {option.unit}" if option and option.unit and text else ""
        rows.append((option.label if option else name, name, text + unit))
    return rows


def _shares_of(timings_s: Mapping[str, float]) -> list[tuple[str, float, float]]:
    """Return (part, seconds, share of all), the longest first."""
    total_s = sum(timings_s.values()) or 1.0
    rows = [(part, seconds, seconds / total_s) for part, seconds in timings_s.items()]
    return sorted(rows, key=lambda row: -row[1])
