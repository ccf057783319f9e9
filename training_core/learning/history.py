"""What happened in a training: losses, rates, scores, and the best state seen.

Knows how they are kept and told in JSON; knows nothing of how they come about.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import torch

from ..segmentation.pixel_metrics import Confusion, Scores

# More points no chart shows. When there are as many, every other one goes, and from then on every other one is kept.
MOST_POINTS = 4000


@dataclass
class History:
    """What happened in training.

    Parameters
    ----------
    step : int
        Steps done.
    elapsed_s : float
        Seconds of training until then.
    steps : list of tuple
        Step, seconds since the start, loss, learning rate; of a long training only every so manieth.
    validations : list of tuple
        Step, seconds since the start, scores at the best threshold.
    images_seen : int
        Chips learned from.
    timings_s : dict
        Seconds by part of the loop.
    notes : list of str
        What else there is to say, for a person: resumed, stopped, ended early.
    stride : int
        Of how many steps one is kept in `steps`.
    validated_parts : int
        How many of the parts, after each of which there is a validation, were over at the last one.
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

    def add_step(self, elapsed_s: float, loss: float, rate: float, images: int) -> None:
        """Note a step that is done."""
        self.step, self.elapsed_s = self.step + 1, elapsed_s
        self.images_seen += images
        if self.step % self.stride == 0:
            self.steps.append((self.step, elapsed_s, loss, rate))
        if len(self.steps) >= MOST_POINTS:
            self.stride *= 2
            self.steps = [entry for entry in self.steps if entry[0] % self.stride == 0]

    @property
    def images_per_s(self) -> float:
        """Chips a second of the loop, validations and checkpoints left out."""
        seconds = sum(taken for part, taken in self.timings_s.items() if part not in ("validation", "checkpoint"))
        return self.images_seen / seconds if seconds > 0 else 0.0

    @property
    def validations_since_best(self) -> int:
        """How many validations have passed without a better F1."""
        f1 = [scores.f1 for _, _, scores in self.validations]
        return len(f1) - 1 - f1.index(max(f1)) if f1 else 0

    def to_document(self) -> dict[str, Any]:
        """Return it as JSON holds it."""
        return asdict(self)


def history_from_document(document: dict[str, Any]) -> History:
    """Return the history that a document holds.

    Raises
    ------
    KeyError, TypeError, ValueError
        The document is no history.
    """
    validations = [(step, elapsed_s, Scores(**scores)) for step, elapsed_s, scores in document["validations"]]
    steps = [(step, elapsed_s, loss, rate) for step, elapsed_s, loss, rate in document["steps"]]
    return History(**{**document, "steps": steps, "validations": validations})


@dataclass(frozen=True)
class Trained:
    """The best state of the network, and what validation said of it."""

    weights: dict[str, torch.Tensor]
    confusion: Confusion
    threshold: float
    scores: Scores


def judge(weights: dict[str, torch.Tensor], confusion: Confusion) -> Trained:
    """Return a state with the threshold that scores best in validation."""
    threshold = confusion.best_threshold()
    return Trained(weights, confusion, threshold, confusion.scores(threshold))
