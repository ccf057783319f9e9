"""Training loop: steps until the budget of time or steps is spent, validations, early stopping, the best model so far.

Scope: clocks, the schedule and when to validate. Independent of what a step does (`trainer`) and of files.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Optional

import numpy as np

from ..errors import JobError
from ..events import Reporter
from ..jobs import RecipeOptions
from ..labels.labeled_images import LabeledImage
from .history import History, Trained, best_at_threshold
from .optimizers import peak_rate, rate_at
from .trainer import Trainer

# Validations cost training time: so many of them in a run, but no two closer than this.
VALIDATIONS, SHORTEST_INTERVAL_S, SHORTEST_INTERVAL_STEPS = 10, 15.0, 20
REPORT_INTERVAL_S = 1.0


@dataclass
class Clock:
    """Progress of a training: by its steps where they are given, else by its time.

    Parameters
    ----------
    recipe : RecipeOptions
    validation_s : float
        Duration of the last validation, which the next one will take again.
    """

    recipe: RecipeOptions
    validation_s: float = 0.0

    def done(self, history: History) -> float:
        """Return the share that is done, from 0 to 1; time for the last validation is reserved."""
        if self.recipe.steps:
            return history.step / self.recipe.steps
        seconds = self.recipe.minutes * 60
        return min(1.0, history.elapsed_s / max(seconds - self.validation_s, seconds / 2))

    def left_s(self, history: History) -> float:
        """Return an estimate of the seconds left."""
        if self.recipe.steps:
            return history.elapsed_s / max(history.step, 1) * (self.recipe.steps - history.step)
        return max(0.0, self.recipe.minutes * 60 - history.elapsed_s)

    @property
    def validations(self) -> int:
        """Number of validations in the whole run."""
        if self.recipe.steps:
            return max(1, min(VALIDATIONS, self.recipe.steps // SHORTEST_INTERVAL_STEPS))
        return max(1, min(VALIDATIONS, int(self.recipe.minutes * 60 / SHORTEST_INTERVAL_S)))


class Training:
    """A training under way.

    Parameters
    ----------
    trainer : Trainer
    images : list of LabeledImage
        With the labels to validate on.
    recipe : RecipeOptions
    reporter : Reporter
    history : History, optional
        Of the part that is already done; given with `best` to resume.
    best : Trained, optional

    Attributes
    ----------
    history : History
    best : Trained or None
        The state with the best F1 so far.
    """

    def __init__(
        self,
        trainer: Trainer,
        images: list[LabeledImage],
        recipe: RecipeOptions,
        reporter: Reporter,
        history: Optional[History] = None,
        best: Optional[Trained] = None,
    ) -> None:
        self.trainer, self._images, self._recipe, self._reporter = trainer, images, recipe, reporter
        self.history, self.best = history or History(), best
        trainer.timings_s.update(self.history.timings_s)
        self.history.timings_s = trainer.timings_s
        self._clock = Clock(recipe)
        self._began_s = time.monotonic() - self.history.elapsed_s
        self._reported_s = -REPORT_INTERVAL_S
        self._has_diverged = False

    def run(
        self, batches: Iterator[tuple[np.ndarray, np.ndarray]], keep: Callable[["Training"], None] = lambda _: None
    ) -> None:
        """Train to the end; `best` is the outcome.

        Parameters
        ----------
        batches : generator of (chips, labels)
            (chips, bands, height, width), float32, and (chips, height, width), uint8, of each step from the one after
            `history.step` on. Closed at the end.
        keep : callable
            Called after every step, to write checkpoints.

        Raises
        ------
        Cancelled
            The user stopped the job.
        JobError
            The loss became NaN or infinite before the first validation.
        """
        with closing(batches):
            while not self._is_over():
                self._reporter.check_cancelled()
                self._step(*next(batches))
                parts = math.floor(self._done * self._clock.validations)
                if parts > self.history.validated_parts:
                    self.history.validated_parts = parts
                    self.validate()
                if not self._has_diverged:
                    keep(self)

    def validate(self) -> None:
        """Validate, and keep the weights if their F1 is the best so far."""
        step, elapsed_s = self.history.step, self._elapsed_s()
        state = best_at_threshold({}, self.trainer.validate(self._images))
        scores, reporter = state.scores, self._reporter
        self.history.validations.append((step, elapsed_s, scores))
        for name, value in (("f1", scores.f1), ("iou", scores.iou)):
            reporter.metric(f"validation_{name}", value, step)
        reporter.log(
            f"Step {step}: validation F1 {scores.f1:.3f}, IoU {scores.iou:.3f} at threshold {state.threshold:.2f}"
        )
        if self.best is None or scores.f1 > self.best.scores.f1:
            self.best = Trained(self.trainer.weights(), state.confusion, state.threshold, scores)
        self.history.elapsed_s = self._elapsed_s()
        self._clock.validation_s = self.history.elapsed_s - elapsed_s

    @property
    def _done(self) -> float:
        return self._clock.done(self.history)

    def _elapsed_s(self) -> float:
        return time.monotonic() - self._began_s

    def _is_over(self) -> bool:
        if self._has_diverged or (self.history.validations and self._done >= 1):
            return True
        patience = self._recipe.patience
        if patience and self.history.validations_since_best >= patience:
            self._note(f"Early stopping: no better F1 in {patience} validations.")
            return True
        return False

    def _step(self, chips: np.ndarray, labels: np.ndarray) -> None:
        rate = rate_at(self._done, peak_rate(self._recipe), self._recipe.warm_up_share)
        loss = self.trainer.step(chips, labels, rate)
        if not math.isfinite(loss):
            self._end_diverged()
            return
        self.history.add_step(self._elapsed_s(), loss, rate, len(chips))
        if self.history.elapsed_s - self._reported_s >= REPORT_INTERVAL_S:
            self._reported_s = self.history.elapsed_s
            self._report(loss, rate)

    def _end_diverged(self) -> None:
        message = f"The training has diverged: at step {self.history.step + 1} the loss became NaN or infinite."
        remedy = "Lower the learning rate (learning_rate), or clip the gradients (clip_norm)."
        if self.best is None:
            raise JobError(message, remedy)
        self._has_diverged = True
        self.history.notes.append(message)
        self._reporter.warning(f"{message} The best model so far is kept. {remedy}")

    def _report(self, loss: float, rate: float) -> None:
        step = self.history.step
        self._reporter.metric("loss", loss, step)
        self._reporter.metric("learning_rate", rate, step)
        self._reporter.metric("images_per_s", self.history.images_per_s, step)
        pace = f"{self.history.images_per_s:.2f} images/s"
        self._reporter.progress(self._done, f"Step {step}: loss {loss:.3f}, {pace}", self._clock.left_s(self.history))

    def _note(self, text: str) -> None:
        self.history.notes.append(text)
        self._reporter.log(text)
