"""Subjects of a profile: training steps and the segmentation of tiles, as the jobs do them, with their parts marked.

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
from torch.optim import Optimizer

from ..events import Reporter
from ..jobs import INFERENCE, TRAINING, StepOptions
from ..labels.labeled_images import LabeledImage
from ..learning.chips import ChipSampler
from ..learning.losses import training_loss
from ..learning.step import ChipStep
from ..learning.trainer import Trainer
from ..models.engines import Engine, NativeEngine
from ..models.openvino_model import OpenvinoModel
from ..segmentation.inference import Predictor, Read, predict_pieces, read_piece
from ..system.work import ahead
from . import step_trace
from .kernels import Node, nodes_of

_BATCHES_AHEAD, _SEED = 3, 0
# How often a graph of OpenVINO is timed.
_REPEATS = 3
Item = TypeVar("Item")


class _MarkedEngine:
    """An engine that marks the model and the optimizer for a profiler."""

    def __init__(self, inner: Engine[Any]) -> None:
        self._inner = inner

    def prepare_training(self, model: nn.Module, optimizer: Optimizer) -> tuple[nn.Module, Optimizer]:
        """See NativeEngine.prepare_training."""
        trained, prepared = cast(NativeEngine, self._inner).prepare_training(model, optimizer)
        step = prepared.step

        def marked_step(*arguments: Any, **named: Any) -> Any:
            with step_trace.marked(step_trace.OPTIMIZER):
                return step(*arguments, **named)

        prepared.step = marked_step
        return trained, prepared

    def forward(self, model: nn.Module, images: Tensor) -> Tensor:
        """See NativeEngine.forward."""
        with step_trace.marked(step_trace.TRAINED_MODEL):
            return cast(NativeEngine, self._inner).forward(model, images)

    def probability(self, prepared: Any, images: Tensor) -> Tensor:
        """See Engine.probability."""
        with step_trace.marked(step_trace.INFERENCE):
            return self._inner.probability(prepared, images)


def _marked_loss(logits: Tensor, labels: Tensor) -> Tensor:
    with step_trace.marked(step_trace.LOSS):
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
        make_step = partial(ChipStep, loss=_marked_loss)
        self._trainer = Trainer(model, cast(NativeEngine, _MarkedEngine(engine)), recipe, make_step)
        self.model = self._trainer.model
        sampler = ChipSampler(images, chip_px, _SEED)
        self._batches = ahead((sampler.batch(number, self.batch_size) for number in itertools.count()), _BATCHES_AHEAD)

    def step(self) -> None:
        """Wait for a batch, and train on it; the weights do not change."""
        with step_trace.marked_step():
            with step_trace.marked(step_trace.WAITING):
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
        with step_trace.marked_step():
            next(self._predictions)

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


def _waited_for(items: Generator[Item, None, None]) -> Iterator[Item]:
    """Yield items; each wait is marked."""
    while True:
        with step_trace.marked(step_trace.WAITING):
            item = next(items)
        yield item
