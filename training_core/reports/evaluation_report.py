"""The report of an evaluation: what is told of a model's scores, and how.

Knows nothing of how they are found; what all reports share is in `pages`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..jobs import Evaluate
from ..models.model_card import ModelCard
from ..segmentation.pixel_metrics import Confusion, GroundScores, Scores
from .page import (
    ImageSummary,
    Panel,
    pictures_of,
    precision_recall_chart,
    settings_of,
    shares_of,
    sweep_chart,
    write_page,
)


@dataclass(frozen=True)
class EvaluationRecord:
    """All that the report of an evaluation tells.

    Parameters
    ----------
    options : mapping of str to anything
        The job's fields.
    model : str
        The model's name.
    card : ModelCard
        What the model says of itself; it may come from anywhere.
    hardware, engine, precision, engine_reason : str
        What computed, and why that was chosen.
    confusion : Confusion
        Of all that was scored.
    threshold, tolerance_m : float
        With which it was scored.
    total : GroundScores
    images, areas : sequence of (str, GroundScores)
        The scores of each image and of each area of interest, with its name.
    summaries : sequence of ImageSummary
    timings_s : mapping of str to float
        Seconds by part of the work.
    warnings : sequence of str
    panels : sequence of Panel
    versions : mapping of str to str
        Of what computed, by name.
    """

    options: Mapping[str, Any]
    model: str
    card: ModelCard
    hardware: str
    engine: str
    precision: str
    engine_reason: str
    confusion: Confusion
    threshold: float
    tolerance_m: float
    total: GroundScores
    images: Sequence[tuple[str, GroundScores]]
    summaries: Sequence[ImageSummary]
    areas: Sequence[tuple[str, GroundScores]] = ()
    timings_s: Mapping[str, float] = field(default_factory=dict)
    warnings: Sequence[str] = ()
    panels: Sequence[Panel] = ()
    versions: Mapping[str, str] = field(default_factory=dict)

    @property
    def best_threshold(self) -> float:
        """The threshold with the best F1 on what was scored."""
        return self.confusion.best_threshold()

    @property
    def best(self) -> Scores:
        """The scores at that threshold."""
        return self.confusion.scores(self.best_threshold)

    @property
    def shared(self) -> list[str]:
        """Names of the images that the model says it learned from."""
        learned = self.card.training.get("images")
        names = set(map(str, learned)) if isinstance(learned, list) else set()
        return [name for name, _ in self.images if name in names]


def write_evaluation_report(record: EvaluationRecord, path: Path) -> None:
    """Write the report of an evaluation as one HTML file without scripts and references to anything outside."""
    thresholds, sweep = record.confusion.thresholds, record.confusion.sweep()
    marked = {f"{record.threshold:.2f} (used)": record.total.pixel}
    marked.setdefault(f"{record.best_threshold:.2f} (best F1)", record.best)
    charts = {
        "sweep": sweep_chart(thresholds.tolist(), sweep, record.threshold, "used"),
        "curve": precision_recall_chart(sweep, marked),
    }
    write_page(
        "evaluate.html.j2",
        path,
        record=record,
        model=_describe(record.card),
        charts=charts,
        panels=pictures_of(record.panels, record.threshold),
        timings=shares_of(record.timings_s),
        settings=settings_of(Evaluate, record.options),
    )


def _describe(card: ModelCard) -> dict[str, str]:
    """Return what a model says of itself and of where it learned, in words."""
    told = {
        "Network": f"{card.architecture.name}, {card.architecture.encoder}",
        "Bands": ", ".join(card.band_names),
        "Ground resolution": f"{card.resolution_m:.2f} m",
        "Stored threshold": f"{card.threshold:.2f}",
    }
    if card.metrics:
        told["Scores in its own validation"] = ", ".join(
            f"{name} {_plain(value)}" for name, value in card.metrics.items()
        )
    for name, value in card.training.items():
        told[f"Training: {str(name).replace('_', ' ')}"] = _plain(value)
    if card.versions:
        told["Made with"] = ", ".join(f"{name} {version}" for name, version in card.versions.items())
    return told


def _plain(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
