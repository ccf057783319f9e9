"""The training loop: a network learns for the minutes it is given, and the best state seen in validation is kept.

Knows networks, engines, chips and time; knows nothing of files.
"""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import nn
from torch.optim import AdamW, Optimizer

from .chips import ChipSampler, prefetch
from .engines import Engine
from .events import Reporter
from .examples import LabeledImage
from .inference import Predictor, predict_tiles
from .labels import IGNORE
from .losses import road_loss
from .metrics import Confusion, Scores
from .tiling import USUAL_HALO_PX, Tile, tile_grid

WEIGHT_DECAY = 0.01
WARM_UP_SHARE = 0.05
VALIDATION_TILE_PX = 512
# Validation costs time that learning could use: so many of them in a run, but never more often than this.
VALIDATIONS, SHORTEST_INTERVAL_S = 10, 15.0
METRIC_INTERVAL_S = 1.0
PARTS = ("waiting for chips", "forward", "backward", "optimizer", "validation")


@dataclass
class History:
    """What happened in training.

    Parameters
    ----------
    steps : list of tuple
        Step, seconds since the start, loss, learning rate.
    validations : list of tuple
        Step, seconds since the start, scores at the best threshold.
    timings_s : dict
        Seconds by part of the loop.
    """

    steps: list[tuple[int, float, float, float]] = field(default_factory=list)
    validations: list[tuple[int, float, Scores]] = field(default_factory=list)
    timings_s: dict[str, float] = field(default_factory=lambda: dict.fromkeys(PARTS, 0.0))
    images_seen: int = 0

    @property
    def images_per_s(self) -> float:
        """Images a second of the loop, validation left out."""
        seconds = sum(self.timings_s.values()) - self.timings_s["validation"]
        return self.images_seen / seconds if seconds else 0.0


@dataclass
class Trained:
    """The best state of the network, and what validation said of it."""

    weights: dict[str, torch.Tensor]
    confusion: Confusion
    threshold: float
    scores: Scores
    history: History


class Stopwatch:
    """Adds the seconds since the last lap to a part of the loop."""

    def __init__(self, timings_s: dict[str, float]) -> None:
        self._timings_s, self._last_s = timings_s, time.perf_counter()

    def lap(self, part: str) -> None:
        """End a lap that belongs to `part`."""
        now_s = time.perf_counter()
        self._timings_s[part] += now_s - self._last_s
        self._last_s = now_s


def train(
    network: nn.Module,
    engine: Engine,
    images: list[LabeledImage],
    sampler: ChipSampler,
    batch_size: int,
    learning_rate: float,
    budget_s: float,
    reporter: Reporter,
) -> Trained:
    """Train a network for a time and return its best state.

    The learning rate warms up, then follows a cosine to zero as the time runs out (Loshchilov and Hutter, 2017). The
    best state is the one with the best F1 on the labels kept apart.

    Parameters
    ----------
    network : Module
    engine : Engine
    images : list of LabeledImage
        With the labels to validate on.
    sampler : ChipSampler
    batch_size : int
    learning_rate : float
        The peak.
    budget_s : float
        Seconds from the first step to the end of the last validation.
    reporter : Reporter
    """
    optimizer = AdamW(network.parameters(), lr=learning_rate, weight_decay=WEIGHT_DECAY)
    network, optimizer = engine.prepare_training(network, optimizer)
    history, best = History(), None
    interval_s = max(SHORTEST_INTERVAL_S, budget_s / VALIDATIONS)
    began_s, validated_s, told_s, validation_s = time.monotonic(), 0.0, -METRIC_INTERVAL_S, 0.0
    batches = prefetch(sampler, batch_size)
    watch = Stopwatch(history.timings_s)
    try:
        for step, (chips, labels) in enumerate(batches, 1):
            reporter.check_cancelled()
            watch.lap("waiting for chips")
            elapsed_s = time.monotonic() - began_s
            rate = learning_rate * _schedule(elapsed_s / budget_s)
            loss = _step(network, engine, optimizer, chips, labels, rate, watch)
            history.images_seen += batch_size
            elapsed_s = time.monotonic() - began_s
            history.steps.append((step, elapsed_s, loss, rate))
            if elapsed_s - told_s >= METRIC_INTERVAL_S:
                told_s = elapsed_s
                _tell(history, elapsed_s, budget_s, reporter)
            is_last = elapsed_s + validation_s >= budget_s
            is_due = elapsed_s - validated_s >= interval_s and budget_s - elapsed_s >= interval_s / 2
            if is_last or is_due:
                best = _validate(network, engine, images, step, elapsed_s, history, best, reporter)
                watch.lap("validation")
                validated_s = time.monotonic() - began_s
                validation_s = validated_s - elapsed_s
            if is_last:
                return best
    finally:
        batches.close()
    raise AssertionError("the batches never end")


def _schedule(done: float) -> float:
    if done < WARM_UP_SHARE:
        return max(done / WARM_UP_SHARE, 0.05)
    return max(0.5 * (1 + math.cos(math.pi * min(done, 1.0))), 0.01)


def _step(
    network: nn.Module,
    engine: Engine,
    optimizer: Optimizer,
    chips: np.ndarray,
    labels: np.ndarray,
    rate: float,
    watch: Stopwatch,
) -> float:
    for group in optimizer.param_groups:
        group["lr"] = rate
    loss = road_loss(engine.forward(network, torch.from_numpy(chips)), torch.from_numpy(labels)[:, None])
    watch.lap("forward")
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    watch.lap("backward")
    optimizer.step()
    watch.lap("optimizer")
    return loss.item()


def _tell(history: History, elapsed_s: float, budget_s: float, reporter: Reporter) -> None:
    step, _, loss, _ = history.steps[-1]
    pace = f"{history.images_per_s:.2f} images/s"
    reporter.metric("loss", loss, step)
    reporter.progress(elapsed_s / budget_s, f"Step {step}: loss {loss:.3f}, {pace}", max(0.0, budget_s - elapsed_s))


def _validate(
    network: nn.Module,
    engine: Engine,
    images: list[LabeledImage],
    step: int,
    elapsed_s: float,
    history: History,
    best: "Trained | None",
    reporter: Reporter,
) -> Trained:
    confusion = validate(network, engine, images)
    threshold = confusion.best_threshold()
    scores = confusion.scores(threshold)
    history.validations.append((step, elapsed_s, scores))
    reporter.metric("validation_f1", scores.f1, step)
    reporter.metric("validation_iou", scores.iou, step)
    reporter.log(f"Step {step}: validation F1 {scores.f1:.3f}, IoU {scores.iou:.3f} at threshold {threshold:.2f}")
    if best is not None and best.scores.f1 >= scores.f1:
        return best
    weights = {name: copy.deepcopy(tensor) for name, tensor in network.state_dict().items()}
    return Trained(weights, confusion, threshold, scores, history)


def validate(network: nn.Module, engine: Engine, images: list[LabeledImage]) -> Confusion:
    """Return how a network does on the labels kept apart; its mode, training or not, is as before afterwards."""
    was_training = network.training
    network.eval()
    confusion = Confusion()
    for image in images:
        predictor = Predictor(network, engine, image.bands)
        for tile, probability in predict_tiles(predictor, window_reader(image), _validation_tiles(image)):
            confusion.add(probability, image.validation[tile.destination])
    network.train(was_training)
    return confusion


def window_reader(image: LabeledImage) -> Callable[..., tuple[np.ndarray, np.ndarray]]:
    """Return a function that reads windows of an image in memory as `Image.read` reads those of a file."""

    def read(column: int, row: int, width: int, height: int) -> tuple[np.ndarray, np.ndarray]:
        window = np.s_[row : row + height, column : column + width]
        return image.values[(slice(None), *window)], image.known[window]

    return read


def _validation_tiles(image: LabeledImage) -> Iterator[Tile]:
    height, width = image.validation.shape
    for tile in tile_grid(width, height, VALIDATION_TILE_PX, USUAL_HALO_PX):
        if (image.validation[tile.destination] != IGNORE).any():
            yield tile
