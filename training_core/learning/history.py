"""Training history: losses, learning rates, validation scores, timings, and the best model so far.

Scope: the record and its JSON form. Independent of how a training goes.
"""

from __future__ import annotations

import math
from dataclasses import asdict, astuple, dataclass, field
from typing import Any

import torch

from ..segmentation.pixel_metrics import Confusion, Scores

# Parts of a training step, by which the time is told apart.
PARTS_OF_A_STEP = ("waiting for chips", "forward", "backward", "communication", "optimizer")

# Options of the recipe that may be chosen by the pace, and their least values.
FITTED = {"frozen_stages": 0, "chip_px": 32}

# Of thresholds whose F1 in validation is so close to the best, the one nearest to 0.5 is taken: the best one fits the
# drawn ground, and is often too high for other ground, where roads are less certain.
THRESHOLD_TOLERANCE = 0.005

# More steps and chips than any training has.
MAX_STEPS, LONGEST_NOTE = 10**12, 10_000

# More points no chart shows. At this number every other one is dropped, and from then on every other one is kept.
MAX_POINTS = 4000


@dataclass
class History:
    """Record of a training.

    Parameters
    ----------
    step : int
        Steps done.
    elapsed_s : float
        Seconds of training until then.
    steps : list of tuple
        Step, seconds since the start, loss, learning rate; in a long training of every `stride`-th step only.
    validations : list of tuple
        Step, seconds since the start, scores at the best threshold.
    images_seen : int
        Chips trained on.
    timings_s : dict
        Seconds by part of the loop.
    notes : list of str
        Events for the report: resumed, stopped, stopped early.
    stride : int
        Interval, in steps, at which `steps` is recorded.
    validated_parts : int
        How many of the equal parts that end in a validation have been validated.
    fitted : dict of str to int
        Options of the recipe that were chosen by the pace, which a resumed training keeps.
    validation_blocks : int
        Held-out blocks that each validation computes, the same ones, so that their scores compare; 0 before the first.
    """

    step: int = 0
    elapsed_s: float = 0.0
    steps: list[tuple[int, float, float, float]] = field(default_factory=list)
    validations: list[tuple[int, float, Scores]] = field(default_factory=list)
    images_seen: int = 0
    timings_s: dict[str, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    stride: int = 1
    validated_parts: int = 0
    validation_blocks: int = 0
    fitted: dict[str, int] = field(default_factory=dict)

    def add_step(self, elapsed_s: float, loss: float, rate: float, images: int) -> None:
        """Add a step.

        Parameters
        ----------
        elapsed_s : float
            Seconds since the start.
        loss, rate : float
            Loss and learning rate of the step.
        images : int
            Number of chips in it.
        """
        self.step, self.elapsed_s = self.step + 1, elapsed_s
        self.images_seen += images
        if self.step % self.stride == 0:
            self.steps.append((self.step, elapsed_s, loss, rate))
        if len(self.steps) >= MAX_POINTS:
            self.stride *= 2
            self.steps = [entry for entry in self.steps if entry[0] % self.stride == 0]

    @property
    def images_per_s(self) -> float:
        """Throughput in chips per second, without validations and checkpoints."""
        seconds = sum(taken for part, taken in self.timings_s.items() if part in PARTS_OF_A_STEP)
        return self.images_seen / seconds if seconds > 0 else 0.0

    @property
    def validation_share(self) -> float:
        """Share of the time of training and validation that went to validation, from 0 to 1."""
        return self.timings_s.get("validation", 0.0) / self.elapsed_s if self.elapsed_s > 0 else 0.0

    def to_document(self) -> dict[str, Any]:
        """Return the history as a JSON document."""
        return asdict(self)


def history_from_document(document: dict[str, Any]) -> History:
    """Return the history in a JSON document.

    Raises
    ------
    KeyError, TypeError, ValueError
        The document is not a history, or numbers in it have another type or no sense.
    """
    validations = [(step, elapsed_s, Scores(**scores)) for step, elapsed_s, scores in document["validations"]]
    steps = [(step, elapsed_s, loss, rate) for step, elapsed_s, loss, rate in document["steps"]]
    history = History(**{**document, "steps": steps, "validations": validations})
    if not _is_sound(history):
        raise ValueError("This is not a history of a fine-tune.")
    return history


def _is_sound(history: History) -> bool:
    """Whether every number of a history has its type and range, and steps and seconds grow."""
    counts = (history.images_seen, history.validated_parts, history.validation_blocks)
    scores = [score for _, _, found in history.validations for score in astuple(found)]
    return (
        all(_is_count(each, MAX_STEPS) for each in (history.step, *counts))
        and _is_count(history.stride, MAX_STEPS)
        and history.stride > 0
        and (history.validations or not history.validated_parts)
        and all(map(_is_amount, (history.elapsed_s, *history.timings_s.values())))
        and all(_is_course(points, history) for points in (history.steps, history.validations))
        and all(math.isfinite(loss) and _is_amount(rate) for _, _, loss, rate in history.steps)
        and all(_is_amount(score) and score <= 1 for score in scores)
        and isinstance(history.notes, list)
        and all(type(note) is str and len(note) <= LONGEST_NOTE for note in history.notes)
        and all(_is_count(value, MAX_STEPS) and value >= FITTED[name] for name, value in history.fitted.items())
    )


def _is_course(points: list[tuple[Any, ...]], history: History) -> bool:
    """Whether points of a training come one after the other, up to the step and time of the history."""
    steps, seconds = [point[0] for point in points], [point[1] for point in points]
    if not all(_is_count(step, history.step) for step in steps) or not all(map(_is_amount, seconds)):
        return False
    return len(points) <= MAX_POINTS and steps == sorted(steps) and seconds == sorted(seconds)


def _is_count(value: object, most: int) -> bool:
    return type(value) is int and 0 <= value <= most


def _is_amount(value: object) -> bool:
    return type(value) in (int, float) and 0 <= value <= MAX_STEPS


@dataclass(frozen=True)
class Trained:
    """The weights of a model, and how they score in validation at the best threshold."""

    weights: dict[str, torch.Tensor]
    confusion: Confusion
    threshold: float
    scores: Scores


def best_at_threshold(weights: dict[str, torch.Tensor], confusion: Confusion) -> Trained:
    """Return weights, tensors (...) of any dtype, with a threshold of the best F1 in validation, or close to it."""
    threshold = confusion.robust_threshold(THRESHOLD_TOLERANCE)
    return Trained(weights, confusion, threshold, confusion.scores(threshold))
