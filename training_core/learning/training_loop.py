"""Training loop: steps until the budget of time or steps is spent, validations, early stopping, the best model so far.

Scope: clocks, learning rates and when to validate. Independent of what a step does (`trainer`) and of files.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Optional, cast

import numpy as np
import torch

from ..errors import JobError, ModelFileError
from ..events import Reporter
from ..jobs import RecipeOptions
from ..jobs.recipe import REFERENCE_BATCH
from ..labels.labeled_images import LabeledImage
from ..segmentation.inference import Predictor
from .history import History, Trained, best_at_threshold
from .trainer import Trainer
from .validation import MIN_BLOCKS, Block, Validation, blocks_within, held_out_blocks, validate

# Validations cost training time: at most this many in a run, and at least this far apart.
VALIDATIONS, MIN_INTERVAL_S, MIN_INTERVAL_STEPS = 10, 30.0, 20
# Fraction of the budget that all validations may take. The last one scores the model that is kept, on as many held-out
# blocks as are affordable; those before it get the rest.
VALIDATION_FRACTION, LAST_VALIDATION_FRACTION = 0.1, 0.04
# Validations without a gain in F1 after which the training goes over to its end: the last part of its learning rates.
PATIENCE, END_FRACTION = 3, 0.25
# Where steps are given instead of time, validation must not depend on the throughput: a training step takes at least as
# long as the inference of this many pixels for each of its pixels.
INFERENCES_PER_STEP = 2.0
# Part of the training, from its start, in which the learning rate rises.
WARM_UP = 0.05
REPORT_INTERVAL_S = 1.0
# Peak learning rates for a batch of REFERENCE_BATCH, found by experiment (benchmarks/README.md).
USUAL_RATES = {"adamw": 1e-3, "sgd": 0.03, "lamb": 5e-3, "lars": 0.3}
# Power of the batch with which rates grow: linear for SGD (Goyal et al., 2017) and LARS (You et al., 2017), the square
# root for Adam (Malladi et al., 2022) and LAMB (You et al., 2020). Compared in benchmarks/README.md.
SCALING_POWERS = {"adamw": 0.5, "sgd": 1.0, "lamb": 0.5, "lars": 1.0}
# The rate ends at this fraction of its peak.
LOWEST_FRACTION = 0.01
# Throughput: a window is slow at this fraction of the usual one, or less.
SLOW = 0.5
# A window is closed once it fulfills all of these; its fraction is that of the training so far.
WINDOW_S, WINDOW_STEPS, WINDOW_FRACTION = 2.0, 3, 0.01
# Three quarters of the windows do not surpass the usual throughput: the machine may be busy from the start.
USUAL_QUANTILE = 0.75
# Yields the chips and labels of each step, as `Trainer.step` takes them.
Batches = Generator[tuple[Any, Any], None, None]


def peak_rate(recipe: RecipeOptions) -> float:
    """Return the peak learning rate, scaled with the effective batch size; see `SCALING_POWERS`."""
    stated = recipe.learning_rate or USUAL_RATES[recipe.optimizer]
    growth = recipe.batch_size * recipe.accumulation / REFERENCE_BATCH
    return stated * growth ** SCALING_POWERS[recipe.optimizer]


def rate_at(done: float, peak: float, warm_up_fraction: float) -> float:
    """Return the learning rate: a linear warm-up, then a cosine to near zero (Loshchilov and Hutter, 2017).

    The fractions `done` and `warm_up_fraction`, below 1, are of the training. The rate reaches `peak` at the end of the
    warm-up. It is at least a twentieth of it before, and a hundredth after.
    """
    if done < warm_up_fraction:
        return peak * max(done / warm_up_fraction, 0.05)
    left = (1 - min(done, 1.0)) / (1 - warm_up_fraction)
    return peak * max(0.5 * (1 - math.cos(math.pi * left)), LOWEST_FRACTION)


@dataclass
class Clock:
    """Progress of a training by its steps, each on `step_px` pixels, or by its time.

    The last validations take `reserved_s` of the time.
    """

    recipe: RecipeOptions
    step_px: float
    reserved_s: float = 0.0

    @property
    def budget_s(self) -> float:
        """The time budget; infinite where steps are given instead."""
        return math.inf if self.recipe.steps else self.recipe.minutes * 60

    @property
    def validations(self) -> int:
        """Number of validations in the whole run."""
        steps = self.recipe.steps
        most = steps // MIN_INTERVAL_STEPS if steps else int(self.budget_s / MIN_INTERVAL_S)
        return max(1, min(VALIDATIONS, most))

    def done(self, history: History) -> float:
        """Return the fraction that is done, from 0 to 1."""
        if self.recipe.steps:
            return history.step / self.recipe.steps
        passed = history.elapsed_s / max(self.budget_s - self.reserved_s, self.budget_s / 2)
        return min(1.0, passed + history.skipped)

    def left_s(self, history: History) -> float:
        """Return an estimate of the seconds left."""
        if self.recipe.steps:
            return history.elapsed_s / max(history.step, 1) * (self.recipe.steps - history.step)
        return max(0.0, self.budget_s * (1 - history.skipped) - history.elapsed_s)

    def affordable(self, blocks: Sequence[Block], fraction: float) -> tuple[int, float]:
        """Return how many blocks may be validated in a fraction of the budget, and in how many seconds.

        Those are all blocks where there is a time budget, and infinite seconds where steps are given.
        """
        if self.recipe.steps:
            return blocks_within(blocks, fraction * INFERENCES_PER_STEP * self.recipe.steps * self.step_px), math.inf
        return len(blocks), fraction * self.budget_s


class Throughput:
    """Chips per second in windows of some steps, and whether they fall far below the usual throughput of this run.

    The first step, which prepares kernels and memory, does not count, nor does the longest step of each window. The
    usual throughput never falls, so a throttled processor does not become the usual one. Windows grow with the
    training: even days have fewer than a thousand.
    """

    def __init__(self) -> None:
        self._rates: list[float] = []
        self._total_s = self._usual = 0.0
        self._has_begun = self._has_warned = False
        self._open_window()

    def _open_window(self) -> None:
        self._steps = self._chips = 0
        self._open_s, self._longest = 0.0, (0.0, 0)

    def add_step(self, seconds: float, chips: int) -> str:
        """Add a step of some seconds, above 0; return a warning, once in a run, that the throughput has fallen."""
        if not self._has_begun:
            self._has_begun = True
            return ""
        self._steps, self._chips, self._open_s = self._steps + 1, self._chips + chips, self._open_s + seconds
        self._longest = max(self._longest, (seconds, chips))
        counted_s = self._open_s - self._longest[0]
        if self._steps < WINDOW_STEPS or counted_s < max(WINDOW_S, WINDOW_FRACTION * self._total_s):
            return ""
        rate = (self._chips - self._longest[1]) / counted_s
        self._rates.append(rate)
        self._total_s += self._open_s
        self._open_window()
        self._usual = max(self._usual, float(np.quantile(self._rates, USUAL_QUANTILE, method="higher")))
        if self._has_warned or rate > SLOW * self._usual:
            return ""
        self._has_warned = True
        return (
            f"The throughput has fallen to {rate / self._usual:.0%} of its former value. Another program uses the "
            "processor, or the processor is throttled (heat, power saving). Close other programs, or connect the power "
            "supply. Otherwise, fewer steps fit into the time."
        )


class Training:
    """A training under way; to resume one, `history` and `best` are given.

    `best_so_far` has the best F1 so far; it is None before the first validation. Each validation computes the first
    `history.validation_blocks` of all held-out `blocks`.
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
        self.trainer, self._recipe, self._reporter = trainer, recipe, reporter
        self.blocks = held_out_blocks(images, recipe.seed)
        self.history, self.best_so_far = history or History(), best
        trainer.stopwatch.timings_s.update(self.history.timings_s)
        self.history.timings_s = trainer.stopwatch.timings_s
        self._clock, self._throughput = Clock(recipe, trainer.pixels_per_step), Throughput()
        self._began_s = time.monotonic() - self.history.elapsed_s
        self._reported_s = -REPORT_INTERVAL_S
        self._has_ended = False

    @property
    def best(self) -> Trained:
        """The weights with the best F1, once there was a validation, as there was at the end of each training."""
        return cast(Trained, self.best_so_far)

    def run(self, batches: Batches, keep: Callable[["Training"], None] = lambda _: None) -> None:
        """Train to the end; `best` is the outcome. `keep` is called after every step, to write checkpoints.

        The batches are those from the step after `history.step` on, and are closed at the end.

        Raises Cancelled if the user stopped the job. Raises JobError if the loss became NaN or infinite before the
        first validation.
        """
        with closing(batches):
            while not self._has_ended and not (self.history.validations and self._done >= 1):
                self._reporter.check_cancelled()
                self._step(*next(batches))
                if self._is_validation_due():
                    self.validate()
                if not self._has_ended:
                    keep(self)

    def end(self) -> None:
        """Take no further step; there are best weights already."""
        self._has_ended = True

    def validate(self) -> None:
        """Validate, and keep the weights if their F1 is the best so far.

        The first validation chooses how many held-out blocks all compute, by the time. Where the model's values are not
        numbers, the training ends.

        Raises JobError if the first validation already finds that.
        """
        history, (step, elapsed_s) = self.history, (self.history.step, self._elapsed_s())
        number = self._clock.validations
        # The last one computes no fewer blocks than those before it.
        fraction = min((VALIDATION_FRACTION - LAST_VALIDATION_FRACTION) / number, VALIDATION_FRACTION / (number + 1))
        count, limit_s = self._clock.affordable(self.blocks, fraction)
        blocks = self.blocks[: history.validation_blocks or count]
        try:
            found = self.trainer.validate(blocks, history.validation_blocks or MIN_BLOCKS, limit_s)
        except ModelFileError:
            self._end_diverged(f"at step {step} the model computes values that are not numbers (NaN)")
            return
        history.validation_blocks = found.blocks
        state = best_at_threshold({}, found.confusion)
        scores, reporter = state.scores, self._reporter
        history.validations.append((step, elapsed_s, scores))
        for name, value in (("f1", scores.f1), ("iou", scores.iou)):
            reporter.metric(f"validation_{name}", value, step)
        reporter.log(
            f"Step {step}: validation F1 {scores.f1:.3f}, IoU {scores.iou:.3f} at threshold {state.threshold:.2f}"
        )
        if self.best_so_far is None or scores.f1 > self.best.scores.f1:
            self.best_so_far = dataclasses.replace(state, weights=self.trainer.weights())
        history.elapsed_s = self._elapsed_s()
        # Reserve time for the validations at the end: one like this one, and that of the best weights.
        all_s = found.seconds * sum(block.px for block in self.blocks) / found.px
        last_s = min(all_s, LAST_VALIDATION_FRACTION * self._clock.budget_s)
        self._clock.reserved_s = found.seconds + max(found.seconds, last_s)
        self._end_early()

    def _end_early(self) -> None:
        """Leave out time in which nothing more is gained; the number of steps, where given, is kept."""
        history, spare = self.history, 1 - END_FRACTION - self._done
        f1 = [scores.f1 for _, _, scores in history.validations]
        if self._recipe.steps or spare <= 0 or len(f1) - 1 - f1.index(max(f1)) < PATIENCE:
            return
        history.skipped += spare
        history.validated_parts = math.floor(self._done * self._clock.validations)
        text = f"F1 has not risen in {PATIENCE} validations: the training ends early, by {spare:.0%} of its time."
        history.notes.append(text)
        self._reporter.log(text)

    def take_if_as_good(self, weights: dict[str, torch.Tensor], predictor: Predictor, tolerance: float) -> bool:
        """Take other weights, (...), float32 or int64, if they cost at most `tolerance` of F1; return whether."""
        found = self.validated(predictor, self.blocks[: self.history.validation_blocks])
        other = best_at_threshold(weights, found.confusion)
        is_as_good = other.scores.f1 >= self.best.scores.f1 - tolerance
        if is_as_good:
            self.best_so_far = other
        return is_as_good

    def score_best(self, predictor: Predictor) -> Validation:
        """Validate the best weights once more, on more held-out blocks where the time allows; updates `best`."""
        history, (count, limit_s) = self.history, self.affordable_blocks()
        found = self.validated(predictor, self.blocks[:count], limit_s)
        self.best_so_far = best_at_threshold(self.best.weights, found.confusion)
        if history.validation_blocks < len(self.blocks):
            history.notes.append(
                f"Validations during the training computed {history.validation_blocks} of the {len(self.blocks)} "
                f"held-out blocks; the model that is kept was scored on {found.blocks} of them."
            )
        return found

    def affordable_blocks(self) -> tuple[int, float]:
        """Return how many held-out blocks may be validated before the training or after it, and in how many seconds."""
        count, limit_s = self._clock.affordable(self.blocks, LAST_VALIDATION_FRACTION)
        return max(count, self.history.validation_blocks), limit_s

    def validated(
        self, predictor: Predictor, blocks: Sequence[Block], limit_s: float = math.inf, part: str = "validation"
    ) -> Validation:
        """Validate weights before the training or after it, on some held-out blocks, or as many as fit into `limit_s`.

        The time counts as that of a `part`.
        """
        began_s, history = self._elapsed_s(), self.history
        found = validate(predictor, blocks, history.validation_blocks or MIN_BLOCKS, limit_s)
        history.timings_s[part] = history.timings_s.get(part, 0.0) + found.seconds
        history.elapsed_s += self._elapsed_s() - began_s
        return found

    def _is_validation_due(self) -> bool:
        """Whether another part of the training has ended, and time for a validation is left or this is the end."""
        history = self.history
        parts = math.floor(self._done * self._clock.validations)
        if parts <= history.validated_parts:
            return False
        history.validated_parts = parts
        if self._recipe.steps or self._done >= 1 or not history.validations:
            return True
        next_s = history.timings_s["validation"] * (1 + 1 / len(history.validations))
        return next_s <= VALIDATION_FRACTION * history.elapsed_s

    @property
    def _done(self) -> float:
        return self._clock.done(self.history)

    def _elapsed_s(self) -> float:
        return time.monotonic() - self._began_s

    def _step(self, chips: Any, labels: Any) -> None:
        rate = rate_at(self._done, peak_rate(self._recipe), WARM_UP)
        began_s = time.perf_counter()
        loss = self.trainer.step(chips, labels, rate)
        if warning := self._throughput.add_step(time.perf_counter() - began_s, self.trainer.samples_per_step):
            self._reporter.warning(warning)
        history, reporter = self.history, self._reporter
        if not math.isfinite(loss):
            self._end_diverged(f"at step {history.step + 1} the loss became NaN or infinite")
            return
        history.add_step(self._elapsed_s(), loss, rate, self.trainer.samples_per_step)
        if history.elapsed_s - self._reported_s >= REPORT_INTERVAL_S:
            self._reported_s = history.elapsed_s
            for name, value in (("loss", loss), ("learning_rate", rate), ("images_per_s", history.images_per_s)):
                reporter.metric(name, value, history.step)
            text = f"Step {history.step}: loss {loss:.3f}, {history.images_per_s:.2f} images/s"
            reporter.progress(self._done, text, self._clock.left_s(history))

    def _end_diverged(self, sign: str) -> None:
        message = f"The training has diverged: {sign}."
        remedy = "Lower the learning rate (learning_rate)."
        if self.best_so_far is None:
            raise JobError(message, remedy)
        self.end()
        self.history.notes.append(message)
        self._reporter.warning(f"{message} The best model so far is kept. {remedy}")
