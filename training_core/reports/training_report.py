"""The report of finetune: the course of a training and its validation scores, as one HTML page.

Scope: its content. Independent of how training is done; `page` has the parts of all reports.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

import numpy as np

from ..jobs import FineTune
from ..labels.labeled_images import ImageSummary
from ..learning.history import History, Trained
from ..models.engines import NativeEngine
from ..segmentation.pixel_metrics import Scores
from .charts import Series, line_chart, smoothed, sweep_chart
from .colors import BLUE, GRAY, PALE, VERMILION
from .overlays import ModelRecord, write_model_page
from .quantities import percent, quantity, seconds

_MAX_POINTS = 600


@dataclass(frozen=True)
class ParallelFigures:
    """How a training by several processes used them.

    The efficiency, the fraction of the steps' time that went to communication, and the imbalance are fractions;
    communication and payload are those of a process in a step. The speed-ups to expect are those of 1, 2, 3 and so on
    processes.
    """

    processes: int
    machines: int
    threads: int
    speed_up: float
    efficiency: float
    communication_fraction: float
    communication_step_s: float
    imbalance: float
    bytes_per_step: float
    expected_speed_ups: Sequence[float]


@dataclass(frozen=True, kw_only=True)
class TrainingRecord(ModelRecord):
    """The content of the report of a fine-tune, in addition to that of all reports on a model.

    Steps have their number, seconds since the start, loss and learning rate; they may be thinned out. Validations have
    the step, seconds since the start, and scores at the best threshold. Scores, thresholds and sweep are those of the
    kept model, perhaps the base model, on the held-out area; scores are None without validation. `images_per_s` counts
    chips of the training loop, without validation. Notes are events other than warnings, such as a resumption.
    `steps_done` includes those before a resumption. `steps_planned` is 0 if a time budget was given.
    """

    images: Sequence[ImageSummary]
    steps: Sequence[tuple[int, float, float, float]]
    validations: Sequence[tuple[int, float, Scores]]
    scores: Optional[Scores]
    thresholds: Sequence[float]
    sweep: Sequence[Scores]
    images_per_s: float
    steps_done: int
    notes: Sequence[str] = ()
    steps_planned: int = 0
    memory_bytes: int = 0
    parallel: Optional[ParallelFigures] = None
    is_base_kept: bool = False

    @property
    def best(self) -> Optional[tuple[int, float, Scores]]:
        """The validation with the best F1; None without validation."""
        return max(self.validations, key=lambda validation: validation[2].f1, default=None)

    @property
    def elapsed_s(self) -> float:
        """Seconds to the last step or validation."""
        times_s = [*(step[1] for step in self.steps), *(validation[1] for validation in self.validations)]
        return max(times_s, default=0.0)


def record_of(
    options: dict[str, Any],
    engine: NativeEngine,
    images: Sequence[ImageSummary],
    history: History,
    best: Trained,
    has_scores: bool = True,
) -> TrainingRecord:
    """Return what the report of any training shows of the best weights."""
    return TrainingRecord(
        options=options,
        engine=engine,
        images=images,
        steps=history.steps,
        validations=history.validations,
        scores=best.scores if has_scores else None,
        thresholds=best.confusion.thresholds.tolist() if has_scores else (),
        sweep=best.confusion.sweep() if has_scores else (),
        threshold=best.threshold,
        timings_s=history.timings_s,
        images_per_s=history.images_per_s,
        notes=history.notes,
        steps_done=history.step,
    )


def write_training_report(record: TrainingRecord, path: Path) -> None:
    """Write the report of a fine-tune as one self-contained HTML file without scripts."""
    write_model_page(
        "finetune.html.j2",
        path,
        FineTune,
        record,
        run=_run(record),
        parallel=_parallel_rows(record.parallel) if record.parallel else {},
        charts=_charts(record),
    )


def _run(record: TrainingRecord) -> dict[str, str]:
    """Return the figures of the training in words, by label."""
    rows = {"Steps": f"{record.steps_done:,}" + (f" of {record.steps_planned:,}" if record.steps_planned else "")}
    size, accumulation = record.options.get("batch_size", 0), record.options.get("accumulation", 1)
    if size:
        parts = f", in {accumulation} batches of {size}" if accumulation > 1 else ""
        rows["Effective batch size"] = f"{size * accumulation:,} chips{parts}"
    if record.steps:
        rows["Peak learning rate"] = f"{max(rate for _, _, _, rate in record.steps):.3g}"
    if record.options.get("encoder_rate", 1) not in (0, 1):
        rows["Learning rate of the encoder"] = f"{record.options['encoder_rate']:.3g} of it"
    if record.options.get("frozen_stages", 0) > 0:
        rows["Frozen stages of the encoder"] = f"{record.options['frozen_stages']} of 5"
    if record.memory_bytes:
        rows["Memory (estimate)"] = f"{record.memory_bytes / 1e9:.1f} GB"
    return rows


def _charts(record: TrainingRecord) -> dict[str, str]:
    """Return the charts for which there are data, by name."""
    charts = {}
    if record.steps:
        charts["loss"] = _loss_chart(record)
        shown = record.steps[_shown(len(record.steps))]
        rates = Series("learning rate", [step[1] / 60 for step in shown], [step[3] for step in shown], BLUE)
        charts["rate"] = line_chart("Learning rate over time", [rates], "minutes", "rate")
    if record.validations:
        charts["validation"] = _validation_chart(record)
    if len(record.sweep):
        charts["sweep"] = sweep_chart(record.thresholds, record.sweep, record.threshold, "chosen")
    if record.parallel:
        charts["speed_up"] = _speed_up_chart(record.parallel)
    return charts


def _loss_chart(record: TrainingRecord) -> str:
    minutes = np.array([elapsed_s / 60 for _, elapsed_s, _, _ in record.steps])
    loss = np.array([loss for _, _, loss, _ in record.steps])
    window = max(1, len(loss) // 20)
    shown = _shown(len(loss))
    lines = [
        Series("steps", minutes[shown], loss[shown], PALE, width=0.9),
        Series("moving mean", minutes[shown], smoothed(loss, window)[shown], BLUE),
    ]
    top = float(np.nanpercentile(loss, 99)) * 1.1  # the loss of the first steps may be far larger
    return line_chart("Loss over time", lines, "minutes", "loss", (0, top) if top > 0 else None)


def _parallel_rows(record: ParallelFigures) -> dict[str, str]:
    """Return the figures of a run in words, by label."""
    machines = f" on {record.machines} machines" if record.machines > 1 else ""
    threads = f"{record.threads} {'threads' if record.threads > 1 else 'thread'} each"
    return {
        "Processes": f"{record.processes}{machines}, {threads}",
        "Speed-up": f"{record.speed_up:.2f} of {record.processes}",
        "Efficiency": percent(record.efficiency),
        "Communication": f"{percent(record.communication_fraction)} of the time of steps, "
        f"{seconds(record.communication_step_s)} a step",
        "Imbalance": f"the slowest process computed {percent(record.imbalance)} longer than all did on average",
        "Sent by each process": f"{quantity(record.bytes_per_step, 'B')} a step",
    }


def _speed_up_chart(record: ParallelFigures) -> str:
    """Return speed-up by the number of processes as SVG: ideal, as the model of this run has it, and this run."""
    most = len(record.expected_speed_ups)
    lines = [
        Series("ideal", [1, most], [1, most], GRAY, width=1.0),
        Series("computed from this run", range(1, most + 1), record.expected_speed_ups, BLUE),
        Series("this run", [record.processes], [record.speed_up], VERMILION, dots=True),
    ]
    return line_chart("Speed-up by processes", lines, "processes", "speed-up", (0, most))


def _shown(count: int) -> slice:
    """Return which of `count` points are drawn."""
    return slice(None, None, max(1, count // _MAX_POINTS))


def _validation_chart(record: TrainingRecord) -> str:
    minutes = [elapsed_s / 60 for _, elapsed_s, _ in record.validations]
    lines = [
        Series("F1", minutes, [scores.f1 for _, _, scores in record.validations], VERMILION, dots=True),
        Series("IoU", minutes, [scores.iou for _, _, scores in record.validations], BLUE, dots=True),
    ]
    best = (record.best[1] / 60, "kept") if record.best and len(minutes) > 1 else None
    return line_chart("Validation scores over time", lines, "minutes", "score", (0, 1), best)
