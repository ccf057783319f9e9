"""What is profiled: training steps and the segmentation of tiles, as the jobs do them, with their phases marked.

Scope: the work of a step. Independent of how it is measured.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Optional, Protocol, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from ..geodata.tiling import Tile
from ..jobs import INFERENCE, TRAINING, StepOptions
from ..labels.labeled_images import LabeledImage
from ..learning.chips import ChipSampler
from ..learning.trainer import Trainer
from ..learning.training_loop import INFERENCES_PER_STEP, VALIDATION_SHARE
from ..models.engines import Engine, NativeEngine
from ..models.openvino_model import OpenvinoModel
from ..segmentation.inference import Predictor, Read, predict_pieces, read_piece
from ..system.prefetch import ahead
from .openvino_nodes import Node, nodes_of
from .profile import BACKWARD, CONVERSION, FORWARD, LOSS, OPTIMIZER_STEP, VALIDATION, WAITING
from .step_trace import mark_phase

# Phases by the parts of the training loop.
_PHASES = {
    "waiting for chips": WAITING,
    "forward": FORWARD,
    "backward": BACKWARD,
    "optimizer": OPTIMIZER_STEP,
    "validation": VALIDATION,
}
_BATCHES_AHEAD = 3
_SEED = 0
# Held-out blocks are of this size.
_BLOCK_PX = 256
_TRIALS = 3
Item = TypeVar("Item")


class Subject(Protocol):
    """What is profiled, step by step.

    Attributes
    ----------
    what : str
        training or inference.
    model : Module, optional
        Whose layers are told apart; None where another library runs them.
    batch_size, size_px : int
        Images a step, and their side.
    last_phase, after_model : str
        With which phase a step ends; the layer of what follows the model.
    data_spans : list of (float, float)
        When the data thread worked, in seconds since 1970.
    """

    what: str
    engine: Engine
    model: Optional[nn.Module]
    batch_size: int
    size_px: int
    last_phase: str
    after_model: str
    data_spans: list[tuple[float, float]]

    def step(self) -> None:
        """Do a step."""
        ...

    def nodes(self) -> list[Node]:
        """Return what another library runs in the forward phase, and how long; nothing where PyTorch runs it."""
        ...

    def validation_s(self) -> float:
        """Return the time of validations that a step pays for."""
        ...

    def base_bytes(self) -> int:
        """Return the bytes of what stays in memory between steps."""
        ...

    def close(self) -> None:
        """End the data thread."""
        ...


class _MarkingTrainer(Trainer):
    """A trainer that marks the end of each phase for a profiler."""

    def record_time(self, part: str) -> None:
        """See Trainer.record_time."""
        mark_phase(_PHASES[part])
        super().record_time(part)

    @property
    def model(self) -> nn.Module:
        """The model as the engine trains it."""
        return self._model

    def base_bytes(self) -> int:
        """Return the bytes of weights and moments."""
        moments = [value for state in self._optimizer.state.values() for value in state.values()]
        return _bytes_of([*self._model.parameters(), *self._model.buffers(), *moments])


class TrainingSteps:
    """Training steps on chips of labeled images, as a fine-tune takes them; see `Subject`.

    Parameters
    ----------
    model : Module
        Belongs to the trainer from here on.
    chip_px : int
        Side of a chip as it enters the model.
    """

    what, last_phase, after_model = TRAINING, OPTIMIZER_STEP, LOSS

    def __init__(
        self, model: nn.Module, engine: NativeEngine, recipe: StepOptions, images: list[LabeledImage], chip_px: int
    ) -> None:
        self.engine, self.size_px, self._bands = engine, chip_px, images[0].bands
        self.batch_size = recipe.batch_size * recipe.accumulation
        self._trainer = _MarkingTrainer(model, engine, recipe)
        self.model = self._trainer.model
        self.data_spans: list[tuple[float, float]] = []
        sampler = ChipSampler(images, chip_px, _SEED)
        batches = (sampler.batch(number, self.batch_size) for number in itertools.count())
        self._batches = ahead(_timed(batches, self.data_spans), _BATCHES_AHEAD)

    def step(self) -> None:
        """Wait for a batch, and train on it; the weights do not change."""
        self._trainer.step(*next(self._batches), 0.0)

    def nodes(self) -> list[Node]:
        """Return nothing: PyTorch runs all of it."""
        return []

    def validation_s(self) -> float:
        """Return the time of validations that a step pays for, at the largest share that the training loop gives them.

        That is VALIDATION_SHARE of the pixels that inference computes in the time of a step.
        """
        values = np.zeros((len(self._bands), _BLOCK_PX, _BLOCK_PX), dtype=np.float32)
        known, times_s = np.ones((_BLOCK_PX, _BLOCK_PX), dtype=bool), []
        with self._trainer.validating(self._bands) as predictor:
            for _ in range(_TRIALS):
                began_s = time.perf_counter()
                predictor.probability(values, known)
                times_s.append(time.perf_counter() - began_s)
        step_px = self.batch_size * self.size_px**2
        return VALIDATION_SHARE * INFERENCES_PER_STEP * step_px / _BLOCK_PX**2 * min(times_s)

    def base_bytes(self) -> int:
        """Return the bytes of weights and moments."""
        return self._trainer.base_bytes()

    def close(self) -> None:
        """End the data thread."""
        self._batches.close()


@dataclass(frozen=True)
class _MarkingEngine:
    """An engine that marks the end of its inference for a profiler."""

    inner: Engine

    def probability(self, prepared: Any, images: Tensor) -> Tensor:
        """See Engine.probability."""
        result = self.inner.probability(prepared, images)
        mark_phase(FORWARD)
        return result


class InferenceSteps:
    """The segmentation of one tile after the other, as the job segment computes them; see `Subject`.

    Parameters
    ----------
    read : callable
        As `Image.read`.
    tiles : iterable of Tile
        All of one size; segmented again and again.
    size_px : int
        Side of a tile with its halo.
    """

    what, last_phase, after_model = INFERENCE, CONVERSION, "output"
    batch_size = 1

    def __init__(self, predictor: Predictor, read: Read, tiles: Iterable[Tile], size_px: int) -> None:
        self.engine, self.size_px, self._bands = predictor.engine, size_px, len(predictor.bands)
        self._compiled = predictor.model
        self.model = predictor.model if isinstance(predictor.model, nn.Module) else None
        self.data_spans: list[tuple[float, float]] = []
        marking = Predictor(
            predictor.model,
            _MarkingEngine(predictor.engine),
            predictor.bands,
            predictor.symmetries,
            predictor.channels,
            predictor.name,
        )
        pieces = (read_piece(tile, read, predictor.bands) for tile in itertools.cycle(tiles))
        self._pieces = ahead(_timed(pieces, self.data_spans), 1)
        self._predictions = predict_pieces(marking, _marked(self._pieces), 0)

    def step(self) -> None:
        """Wait for a tile, and segment it."""
        next(self._predictions)
        mark_phase(CONVERSION)

    def nodes(self) -> list[Node]:
        """Return the nodes of OpenVINO's graph with their times; nothing where PyTorch runs the model."""
        if not isinstance(self._compiled, OpenvinoModel):
            return []
        images = np.zeros((1, self._bands, self.size_px, self.size_px), dtype=np.float32)
        return nodes_of(self._compiled.timed_graph(images, _TRIALS))

    def validation_s(self) -> float:
        """Return 0: nothing is validated."""
        return 0.0

    def base_bytes(self) -> int:
        """Return the bytes of the weights; 0 where another library holds them."""
        return _bytes_of([*self.model.parameters(), *self.model.buffers()]) if self.model else 0

    def close(self) -> None:
        """End the data thread."""
        self._predictions.close()
        self._pieces.close()


def _timed(items: Iterator[Item], spans: list[tuple[float, float]]) -> Iterator[Item]:
    """Yield items, noting when each was made."""
    with closing(items):
        while True:
            begin_s = time.time()
            item = next(items)
            spans.append((begin_s, time.time()))
            yield item


def _marked(items: Iterator[Item]) -> Iterator[Item]:
    """Yield items, marking that the wait for each has ended."""
    for item in items:
        mark_phase(WAITING)
        yield item


def _bytes_of(tensors: Iterable[Any]) -> int:
    return sum(tensor.nbytes for tensor in tensors if isinstance(tensor, torch.Tensor))
