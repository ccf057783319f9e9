"""The report of evaluate: scores of a model on images with drawn roads, as one HTML page.

Scope: its content. Independent of how scores are computed; `page` has the parts of all reports.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..jobs import Evaluate
from ..labels.labeled_images import ImageSummary
from ..models.model_card import ModelCard
from ..segmentation.pixel_metrics import Confusion, GroundScores, Scores
from .charts import precision_recall_chart, sweep_chart
from .overlays import ModelRecord, write_model_page

# Limits of the displayed metadata of a model.
_MAX_TEXT, _MAX_ROWS = 1000, 100


@dataclass(frozen=True, kw_only=True)
class EvaluationRecord(ModelRecord):
    """The content of the report of an evaluation, in addition to that of all reports on a model.

    The card may come from anywhere, so it is not trusted. The confusion counts all scored pixels by threshold. Images
    and areas of interest are listed with their names.
    """

    model: str
    card: ModelCard
    confusion: Confusion
    total: GroundScores
    images: Sequence[tuple[str, GroundScores]]
    summaries: Sequence[ImageSummary]
    areas: Sequence[tuple[str, GroundScores]] = ()

    @property
    def best_threshold(self) -> float:
        """The threshold with the best F1 on the scored pixels."""
        return self.confusion.best_threshold()

    @property
    def best(self) -> Scores:
        """The scores at that threshold."""
        return self.confusion.scores(self.best_threshold)

    @property
    def shared(self) -> list[str]:
        """Names of the images that are also among the model's training images, by its metadata."""
        trained = self.card.training.get("images")
        names = set(map(str, trained)) if isinstance(trained, list) else set()
        return [name for name, _ in self.images if name in names]


def write_evaluation_report(record: EvaluationRecord, path: Path) -> None:
    """Write the report of an evaluation as one self-contained HTML file without scripts."""
    thresholds, sweep = record.confusion.thresholds, record.confusion.sweep()
    marked = {f"{record.threshold:.2f} (used)": record.total.pixel}
    marked.setdefault(f"{record.best_threshold:.2f} (best F1)", record.best)
    charts = {
        "sweep": sweep_chart(thresholds.tolist(), sweep, record.threshold, "used"),
        "curve": precision_recall_chart(sweep, marked),
    }
    write_model_page("evaluate.html.j2", path, Evaluate, record, model=_describe(record.card), charts=charts)


def _describe(card: ModelCard) -> dict[str, str]:
    """Return the model's metadata in words, by label."""
    rows = {
        "Architecture": f"{card.architecture.name}, {card.architecture.encoder}",
        "Bands": _shortened(", ".join(card.band_names)),
        "Ground resolution": f"{card.resolution_m:.2f} m",
        "Stored threshold": f"{card.threshold:.2f}",
    }
    if card.metrics:
        rows["Validation scores in training"] = _listed(card.metrics)
    for name, value in list(card.training.items())[:_MAX_ROWS]:
        rows[f"Training: {_shortened(name.replace('_', ' '))}"] = _plain(value)
    if card.versions:
        rows["Trained with versions"] = _listed(card.versions)
    return rows


def _listed(values: dict[str, Any]) -> str:
    return _shortened(", ".join(f"{name} {_plain(value)}" for name, value in values.items()))


def _plain(value: Any) -> str:
    """Return a value in words, shortened: a model file may say anything."""
    if isinstance(value, float):
        return f"{value:.4g}"
    return _shortened(", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value))


def _shortened(text: str) -> str:
    return text if len(text) <= _MAX_TEXT else f"{text[:_MAX_TEXT]} …"
