"""Subjects of a profile: training steps and the segmentation of tiles, as the jobs do them, with their phases marked.

Scope: the work of a step. Independent of how it is measured; the caller reads files.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Generator, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar, Union, cast

import numpy as np
from torch import Tensor, nn

from ..events import Reporter
from ..jobs import INFERENCE, TRAINING, StepOptions
from ..labels.labeled_images import LabeledImage
from ..learning.chips import ChipSampler
from ..learning.losses import training_loss
from ..learning.step import ChipStep, Stopwatch
from ..learning.trainer import Trainer
from ..models.engines import Engine, NativeEngine
from ..models.openvino_model import OpenvinoModel
from ..segmentation.inference import Predictor, Read, predict_pieces, read_piece
from ..system.work import ahead
from .kernels import Node, nodes_of
from .profile import Kind, Phase
from .step_trace import end_phase, marked_layer, marked_step

_BATCHES_AHEAD, _SEED = 3, 0
# How often a graph of OpenVINO is timed.
_REPEATS = 3
Item = TypeVar("Item")


class _Marker(Stopwatch):
    """A trainer's stopwatch that marks the phases for a profiler."""

    def record(self, part: str) -> None:
        """See Stopwatch.record."""
        end_phase({"waiting for chips": Phase.WAITING}.get(part, part))


def _marked_loss(logits: Tensor, labels: Tensor) -> Tensor:
    with marked_layer(Kind.LOSS):
        return training_loss(logits, labels)


class TrainingSteps:
    """Training steps on chips of labeled images, as a fine-tune takes them; the trainer takes over the model.

    A step has `batch_size` images with a side of `size_px`.
    """

    what = TRAINING

    def __init__(
        self, model: nn.Module, engine: NativeEngine, recipe: StepOptions, images: list[LabeledImage], chip_px: int
    ) -> None:
        self.engine, self.size_px = engine, chip_px
        self.batch_size = recipe.batch_size * recipe.accumulation
        self._trainer = Trainer(model, engine, recipe, partial(ChipStep, loss=_marked_loss), stopwatch=_Marker())
        self.model = self._trainer.model
        sampler = ChipSampler(images, chip_px, _SEED)
        self._batches = ahead((sampler.batch(number, self.batch_size) for number in itertools.count()), _BATCHES_AHEAD)

    def step(self) -> None:
        """Wait for a batch, and train on it; the weights do not change."""
        with marked_step():
            chips, labels = next(self._batches)
            self._trainer.step(chips, labels, 0.0)

    def nodes(self) -> list[Node]:
        """Return nothing: PyTorch runs all of it."""
        return []

    def close(self) -> None:
        """End the data thread."""
        self._batches.close()


class InferenceSteps:
    """The segmentation of tiles of one size, again and again, as the job segment computes them.

    The model is None where another library runs its layers, and the side of a tile, `size_px`, includes its halo.
    """

    what, batch_size = INFERENCE, 1

    def __init__(self, predictor: Predictor, read: Read, tiles: Iterable[Any], size_px: int) -> None:
        self.engine, self.size_px = predictor.engine, size_px
        self._compiled, self._bands = predictor.model, len(predictor.bands)
        self.model = predictor.model if isinstance(predictor.model, nn.Module) else None
        # The pieces need nothing of an engine but its inference.
        marking = replace(predictor, engine=cast("Engine[Any]", _MarkedEngine(predictor.engine)))
        self._pieces = ahead((read_piece(tile, read, predictor.bands) for tile in itertools.cycle(tiles)), 1)
        self._predictions = predict_pieces(marking, _waited_for(self._pieces), 0)

    def step(self) -> None:
        """Wait for a tile, and segment it."""
        with marked_step():
            next(self._predictions)
            end_phase(Phase.CONVERSION)

    def nodes(self) -> list[Node]:
        """Return the nodes of OpenVINO's graph with their times; none where PyTorch runs the model."""
        if not isinstance(self._compiled, OpenvinoModel):
            return []
        images = np.zeros((1, self._bands, self.size_px, self.size_px), dtype=np.float32)
        return nodes_of(self._compiled.timed_graph(images, _REPEATS))

    def close(self) -> None:
        """End the data thread."""
        self._predictions.close()
        self._pieces.close()


class _MarkedEngine:
    """The inference of an engine, with its end marked for a profiler."""

    def __init__(self, inner: Engine[Any]) -> None:
        self._inner = inner

    def probability(self, prepared: Any, images: Tensor) -> Tensor:
        """See Engine.probability."""
        result = self._inner.probability(prepared, images)
        end_phase(Phase.FORWARD)
        return result


def _waited_for(items: Generator[Item, None, None]) -> Iterator[Item]:
    """Yield items; the end of each wait is marked."""
    for item in items:
        end_phase(Phase.WAITING)
        yield item


Subject = Union[TrainingSteps, InferenceSteps]


def timed_steps(subject: Subject, count: int, reporter: Reporter) -> list[float]:
    """Do `count` steps; return the time of each in seconds."""
    times_s = []
    for _ in range(count):
        reporter.check_cancelled()
        began_s = time.perf_counter()
        subject.step()
        times_s.append(time.perf_counter() - began_s)
    return times_s
