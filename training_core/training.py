"""The training loop: a network learns for the minutes it is given, and the best state seen in validation is kept.

Knows time and schedules; what happens in a step is the trainer's. Knows nothing of files.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from typing import Optional

import numpy as np
import torch

from .events import Reporter
from .examples import LabeledImage
from .metrics import Confusion, Scores
from .trainer import Trainer

WARM_UP_SHARE = 0.05
# Validation costs time that learning could use: so many of them in a run, but never more often than this.
VALIDATIONS, SHORTEST_INTERVAL_S = 10, 15.0
TELL_INTERVAL_S = 1.0


@dataclass(frozen=True)
class Budget:
    """How long to train, and how fast to learn meanwhile.

    Parameters
    ----------
    seconds : float
        From the first step to the end of the last validation.
    learning_rate : float
        The peak.
    """

    seconds: float
    learning_rate: float

    def rate(self, elapsed_s: float) -> float:
        """Return the learning rate: a warm-up, then a cosine to near zero (Loshchilov and Hutter, 2017)."""
        done = min(elapsed_s / self.seconds, 1.0)
        if done < WARM_UP_SHARE:
            return self.learning_rate * max(done / WARM_UP_SHARE, 0.05)
        return self.learning_rate * max(0.5 * (1 + math.cos(math.pi * done)), 0.01)

    @property
    def interval_s(self) -> float:
        """Seconds between validations."""
        return max(SHORTEST_INTERVAL_S, self.seconds / VALIDATIONS)


@dataclass
class History:
    """What happened in training.

    Parameters
    ----------
    steps : list of tuple
        Step, seconds since the start, loss, learning rate.
    validations : list of tuple
        Step, seconds since the start, scores at the best threshold.
    images_seen : int
        Chips learned from.
    timings_s : dict
        Seconds by part of the loop.
    """

    steps: list[tuple[int, float, float, float]] = field(default_factory=list)
    validations: list[tuple[int, float, Scores]] = field(default_factory=list)
    images_seen: int = 0
    timings_s: dict[str, float] = field(default_factory=dict)

    @property
    def images_per_s(self) -> float:
        """Chips a second of the loop, validation left out."""
        seconds = sum(self.timings_s.values()) - self.timings_s.get("validation", 0.0)
        return self.images_seen / seconds if seconds else 0.0


@dataclass(frozen=True)
class Trained:
    """The best state of the network, and what validation said of it."""

    weights: dict[str, torch.Tensor]
    confusion: Confusion
    threshold: float
    scores: Scores


def train(
    trainer: Trainer,
    batches: Iterator[tuple[np.ndarray, np.ndarray]],
    images: list[LabeledImage],
    budget: Budget,
    reporter: Reporter,
) -> tuple[Trained, History]:
    """Train for a time, and return the state with the best F1 on the labels kept apart, and what happened.

    Parameters
    ----------
    trainer : Trainer
    batches : generator of (chips, labels)
        Closed at the end.
    images : list of LabeledImage
        With the labels to validate on.
    budget : Budget
    reporter : Reporter
    """
    history = History(timings_s=trainer.timings_s)
    best: Optional[Trained] = None
    began_s, validated_s, told_s, validation_s = time.monotonic(), 0.0, -TELL_INTERVAL_S, 0.0
    elapsed_s = 0.0
    with closing(batches):
        while elapsed_s + validation_s < budget.seconds or best is None:
            reporter.check_cancelled()
            chips, labels = next(batches)
            rate = budget.rate(elapsed_s)
            loss = trainer.step(chips, labels, rate)
            elapsed_s = time.monotonic() - began_s
            history.images_seen += len(chips)
            history.steps.append((len(history.steps) + 1, elapsed_s, loss, rate))
            if elapsed_s - told_s >= TELL_INTERVAL_S:
                told_s = elapsed_s
                _tell(history, budget, reporter)
            left_s = budget.seconds - elapsed_s
            is_due = elapsed_s - validated_s >= budget.interval_s and left_s >= budget.interval_s / 2
            if is_due or left_s <= validation_s:
                best = _validate(trainer, images, history, best, reporter)
                validated_s = time.monotonic() - began_s
                validation_s, elapsed_s = validated_s - elapsed_s, validated_s
    return best, history


def _tell(history: History, budget: Budget, reporter: Reporter) -> None:
    step, elapsed_s, loss, _ = history.steps[-1]
    pace = f"{history.images_per_s:.2f} images/s"
    reporter.metric("loss", loss, step)
    left_s = max(0.0, budget.seconds - elapsed_s)
    reporter.progress(elapsed_s / budget.seconds, f"Step {step}: loss {loss:.3f}, {pace}", left_s)


def _validate(
    trainer: Trainer, images: list[LabeledImage], history: History, best: Optional[Trained], reporter: Reporter
) -> Trained:
    """Validate, and return the better of the network as it is and the best one so far."""
    step, elapsed_s, _, _ = history.steps[-1]
    confusion = trainer.validate(images)
    threshold = confusion.best_threshold()
    scores = confusion.scores(threshold)
    history.validations.append((step, elapsed_s, scores))
    reporter.metric("validation_f1", scores.f1, step)
    reporter.metric("validation_iou", scores.iou, step)
    reporter.log(f"Step {step}: validation F1 {scores.f1:.3f}, IoU {scores.iou:.3f} at threshold {threshold:.2f}")
    if best is not None and best.scores.f1 >= scores.f1:
        return best
    return Trained(trainer.weights(), confusion, threshold, scores)
