"""The report of an evaluation: what is told of a model's scores, and how.

Knows nothing of how they are found; what all reports share is in `pages`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..jobs import Evaluate
from ..models.model_card import ModelCard
from ..segmentation.pixel_metrics import Confusion, GroundScores, Scores
from .page import (
    ImageSummary,
    ModelRecord,
    pictures_of,
    precision_recall_chart,
    sweep_chart,
    write_page,
)


@dataclass(frozen=True, kw_only=True)
class EvaluationRecord(ModelRecord):
    """What the report of an evaluation shows, beside what all reports on a model do.

    Parameters
    ----------
    model : str
        The model's name.
    card : ModelCard
        What the model says of itself; it may come from anywhere.
    confusion : Confusion
        Of all that was scored.
    tolerance_m : float
        With which it was scored.
    total : GroundScores
    images, areas : sequence of (str, GroundScores)
        The scores of each image and of each area of interest, with its name.
    summaries : sequence of ImageSummary
    """

    model: str
    card: ModelCard
    confusion: Confusion
    tolerance_m: float
    total: GroundScores
    images: Sequence[tuple[str, GroundScores]]
    summaries: Sequence[ImageSummary]
    areas: Sequence[tuple[str, GroundScores]] = ()

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
        Evaluate,
        record,
        model=_describe(record.card),
        charts=charts,
        panels=pictures_of(record.panels, record.threshold),
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
