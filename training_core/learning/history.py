"""Training history: losses, learning rates, validation scores, timings, and the best model so far.

Scope: the record and its JSON form. Independent of how a training goes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import astuple, dataclass, field
from typing import Annotated, Any

import torch

from ..jobs.json_fields import Range, read
from ..segmentation.pixel_metrics import Confusion, Scores

# Parts of a training step whose time is measured.
PARTS_OF_A_STEP = ("waiting for chips", "forward", "backward", "communication", "optimizer")

# Options of the recipe that may depend on the measured throughput, and their smallest values.
FITTED = {"frozen_stages": 0, "chip_px": 32}

# Of thresholds whose F1 in validation is so close to the best, the one nearest to 0.5 is taken: the best one fits the
# drawn ground, and is often too high for other ground, where roads are less certain.
THRESHOLD_TOLERANCE = 0.005

# No chart shows more points. At this number every other one is dropped, and from then on every other one is kept.
MAX_POINTS = 4000

# No training has more steps, chips or seconds, nor longer notes.
MAX_STEPS, MAX_NOTE = 10**12, 10_000
_Count = Annotated[int, Range(0, MAX_STEPS)]
_Amount = Annotated[float, Range(0, MAX_STEPS)]


@dataclass
class History:
    """Record of a training after `step` steps, `elapsed_s` seconds and `validated_parts` parts, each with a validation.

    Steps have number, seconds since the start, loss and learning rate; in a long training there is every `stride`-th
    alone. Validations have step, seconds since the start, and scores at the best threshold. `fitted` are options of the
    recipe that depended on the throughput; a resumed training keeps them. Each validation computes the same
    `validation_blocks` held-out blocks, so that scores compare; 0 before the first. `skipped` is the fraction of the
    budget that is left out because nothing more was gained.
    """

    step: _Count = 0
    elapsed_s: _Amount = 0.0
    steps: Annotated[list[tuple[_Count, _Amount, float, _Amount]], Range(0, MAX_POINTS)] = field(default_factory=list)
    validations: Annotated[list[tuple[_Count, _Amount, Scores]], Range(0, MAX_POINTS)] = field(default_factory=list)
    images_seen: _Count = 0
    timings_s: dict[str, _Amount] = field(default_factory=dict)
    notes: list[Annotated[str, Range(0, MAX_NOTE)]] = field(default_factory=list)
    stride: Annotated[int, Range(1, MAX_STEPS)] = 1
    validated_parts: _Count = 0
    validation_blocks: _Count = 0
    fitted: dict[str, _Count] = field(default_factory=dict)
    skipped: Annotated[float, Range(0, 1)] = 0.0

    def add_step(self, elapsed_s: float, loss: float, rate: float, images: int) -> None:
        """Add a step with its loss, learning rate and number of chips, `elapsed_s` after the start."""
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
        """Fraction of the time of training and validation that went to validation."""
        return self.timings_s.get("validation", 0.0) / self.elapsed_s if self.elapsed_s > 0 else 0.0


def history_from_document(document: object) -> History:
    """Return the history of which `dataclasses.asdict` made an untrusted JSON document.

    Raises ValueError if the document is not a history, or numbers in it have another type or make no sense.
    """
    history = read(History, document, "history", is_exact=True)
    scores = [score for _, _, found in history.validations for score in astuple(found)]
    is_sound = (
        (history.validations or not history.validated_parts)
        and all(_is_in_order(points, history.step) for points in (history.steps, history.validations))
        and all(0 <= score <= 1 for score in scores)
        and all(value >= FITTED.get(name, math.inf) for name, value in history.fitted.items())
    )
    if not is_sound:
        raise ValueError("This is not a history of a fine-tune.")
    return history


def _is_in_order(points: Sequence[tuple[Any, ...]], last_step: int) -> bool:
    """Whether points of a training, each with its step and second, come one after the other."""
    steps, seconds = [point[0] for point in points], [point[1] for point in points]
    return steps == sorted(steps) and seconds == sorted(seconds) and max(steps, default=0) <= last_step


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
