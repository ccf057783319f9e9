"""Subjects of a profile: training steps and the segmentation of tiles, as the jobs do them, with their phases marked.

A workload, which is a model and an image, makes them with any options.

Scope: the work of a step. Independent of how it is measured; the caller reads files.
"""

from __future__ import annotations

import copy
import dataclasses
import itertools
import time
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar, Union, cast

import numpy as np
import torch
from torch import Tensor, nn

from ..errors import ImageryError
from ..events import Reporter
from ..geodata.grid import Grid
from ..geodata.pixel_codes import BACKGROUND, IGNORE, ROAD
from ..geodata.rasters import Band, Image
from ..geodata.tiling import Tile, round_up, tile_grid
from ..jobs import INFERENCE, TRAINING, Profile, StepOptions
from ..jobs.recipe import USUAL_CHIP_PX
from ..labels.labeled_images import LabeledImage
from ..learning.chips import ChipSampler
from ..learning.measuring import fit_into_memory
from ..learning.step import Stopwatch
from ..learning.trainer import Trainer
from ..learning.training_loop import INFERENCES_PER_STEP, VALIDATION_FRACTION
from ..models.architectures import Architecture
from ..models.engines import Engine, NativeEngine, make_engine
from ..models.onnx_file import OnnxModel
from ..models.openvino_model import OpenvinoModel
from ..models.recompute import recompute_activations
from ..segmentation.inference import Predictor, Read, predict_pieces, read_piece
from ..system.prefetch import ahead
from .kernels import Node, nodes_of
from .profile import Kind, Phase, Run
from .step_trace import mark_phase

# Phases by the parts of the training loop.
_PHASES = {
    "waiting for chips": Phase.WAITING,
    "forward": Phase.FORWARD,
    "backward": Phase.BACKWARD,
    "optimizer": Phase.OPTIMIZER_STEP,
    "validation": Phase.VALIDATION,
}
_BATCHES_AHEAD, _SEED = 3, 0
# Held-out blocks are of this size.
_BLOCK_PX = 256
# How often a validation block, or a graph of OpenVINO, is timed.
_REPEATS = 3
# Chips are drawn from a part of the image whose side is this many times theirs.
_CHIPS_PER_SIDE = 4
# Labels do not change how long a step takes: stripes stand for roads.
_STRIPE_PX, _STRIPES_APART_PX = 8, 40
_TRIAL_WARM_UP, _TRIAL_STEPS = 3, 5
Item = TypeVar("Item")


class TrainingSteps:
    """Training steps on chips of labeled images, as a fine-tune takes them; the trainer takes over the model.

    A step ends with `last_phase`, and `after_model` is the layer of operations that follow the model. It has
    `batch_size` images with a side of `size_px`. The data thread worked in `data_spans`, in seconds since 1970.
    """

    what, last_phase, after_model = TRAINING, Phase.OPTIMIZER_STEP, Kind.LOSS

    def __init__(
        self, model: nn.Module, engine: NativeEngine, recipe: StepOptions, images: list[LabeledImage], chip_px: int
    ) -> None:
        self.engine, self.size_px, self._bands = engine, chip_px, images[0].bands
        self.batch_size = recipe.batch_size * recipe.accumulation
        stopwatch = Stopwatch(mark=lambda part: mark_phase(_PHASES[part]))
        self._trainer = Trainer(model, engine, recipe, stopwatch=stopwatch)
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
        """Return the time of validation per step, at the largest fraction that the training loop gives it.

        That fraction is VALIDATION_FRACTION of the pixels that inference computes in the time of a step.
        """
        values = np.zeros((len(self._bands), _BLOCK_PX, _BLOCK_PX), dtype=np.float32)
        known, times_s = np.ones((_BLOCK_PX, _BLOCK_PX), dtype=bool), []
        with self._trainer.validating(self._bands) as predictor:
            for _ in range(_REPEATS):
                began_s = time.perf_counter()
                predictor.probability(values, known)
                times_s.append(time.perf_counter() - began_s)
        step_px = self.batch_size * self.size_px**2
        return VALIDATION_FRACTION * INFERENCES_PER_STEP * step_px / _BLOCK_PX**2 * min(times_s)

    def base_bytes(self) -> int:
        """Return the bytes of weights and moments."""
        return _bytes_of(self._trainer.state_dict().values())

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
        mark_phase(Phase.FORWARD)
        return result


class InferenceSteps:
    """The segmentation of tiles of one size, again and again, as the job segment computes them.

    Attributes are those of `TrainingSteps`. The model is None where another library runs its layers, and the side of a
    tile includes its halo.
    """

    what, last_phase, after_model = INFERENCE, Phase.CONVERSION, "output"
    batch_size = 1

    def __init__(self, predictor: Predictor, read: Read, tiles: Iterable[Tile], size_px: int) -> None:
        self.engine, self.size_px, self._bands = predictor.engine, size_px, len(predictor.bands)
        self._compiled = predictor.model
        self.model = predictor.model if isinstance(predictor.model, nn.Module) else None
        self.data_spans: list[tuple[float, float]] = []
        # The pieces need nothing of an engine but its inference.
        marking = dataclasses.replace(predictor, engine=cast(Engine, _MarkingEngine(predictor.engine)))
        pieces = (read_piece(tile, read, predictor.bands) for tile in itertools.cycle(tiles))
        self._pieces = ahead(_timed(pieces, self.data_spans), 1)
        self._predictions = predict_pieces(marking, _marked(self._pieces), 0)

    def step(self) -> None:
        """Wait for a tile, and segment it."""
        next(self._predictions)
        mark_phase(Phase.CONVERSION)

    def nodes(self) -> list[Node]:
        """Return the nodes of OpenVINO's graph with their times; none where PyTorch runs the model."""
        if not isinstance(self._compiled, OpenvinoModel):
            return []
        images = np.zeros((1, self._bands, self.size_px, self.size_px), dtype=np.float32)
        return nodes_of(self._compiled.timed_graph(images, _REPEATS))

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


Subject = Union[TrainingSteps, InferenceSteps]


@dataclass(frozen=True)
class Workload:
    """A model and an open image at its resolution, from which steps are made."""

    job: Profile
    model: nn.Module | OnnxModel
    architecture: Architecture
    image: Image
    bands: tuple[Band, ...]

    @contextmanager
    def subject(
        self, what: str, engine: Engine, options: Mapping[str, Any], reporter: Reporter
    ) -> Iterator[tuple[Subject, dict[str, Any]]]:
        """Make a subject with some options of the job changed, yield it with those of its steps, and close it.

        Raises
        ------
        ImageryError
            The image has no data to work on.
        ResourceError
            There is too little memory.
        """
        job = dataclasses.replace(self.job, **options)
        torch.set_num_threads(job.threads)
        subject: Subject
        if what == INFERENCE:
            subject, settings = self._inference(job, engine)
        else:
            # The engines that train are native ones, and an ONNX model has been refused.
            subject, settings = self._training(job, cast(NativeEngine, engine), reporter)
        with closing(subject):
            yield subject, settings

    def _training(self, job: Profile, engine: NativeEngine, reporter: Reporter) -> tuple[TrainingSteps, dict[str, Any]]:
        grid = self.image.grid
        chip_px = round_up(min(job.chip_px or USUAL_CHIP_PX, max(grid.width, grid.height)))
        memory = fit_into_memory(self.architecture, engine, job, chip_px)
        reporter.log(str(memory))
        model = copy.deepcopy(cast(nn.Module, self.model))
        if memory.is_recomputing:
            recompute_activations(model)
        names = ("batch_size", "accumulation", "optimizer", "frozen_stages", "batch_norm")
        settings = {name: getattr(job, name) for name in names}
        settings |= {"chip_px": chip_px, "recompute": job.recompute if memory.is_recomputing else "no"}
        return TrainingSteps(model, engine, job, [self._labeled(_CHIPS_PER_SIDE * chip_px)], chip_px), settings

    def _inference(self, job: Profile, engine: Engine) -> tuple[InferenceSteps, dict[str, Any]]:
        grid = self.image.grid
        tiles = list(tile_grid(grid.width, grid.height, round_up(job.tile_px), 0))
        width, height = tiles[0].read_window[2:]
        channels = self.architecture.classes
        prepared = engine.prepare_inference(copy.deepcopy(self.model))
        engine.expect(prepared, (1, len(self.bands), round_up(height), round_up(width)))
        predictor = Predictor(prepared, engine, self.bands, channels=channels, name=job.model)
        size_px = round_up(max(width, height))
        return InferenceSteps(predictor, self.image.read, tiles, size_px), {"tile_px": size_px}

    def _labeled(self, side_px: int) -> LabeledImage:
        """Return the middle of the image with stripes for roads."""
        grid = self.image.grid
        width, height = min(side_px, grid.width), min(side_px, grid.height)
        column, row = (grid.width - width) // 2, (grid.height - height) // 2
        values, known = self.image.read(column, row, width, height)
        if not known.any():
            raise ImageryError(f"{self.image.name} has no data in its middle.", "Choose another image, or none.")
        is_road = np.arange(height)[:, None] % _STRIPES_APART_PX < _STRIPE_PX
        labels = np.where(is_road, ROAD, BACKGROUND).astype(np.uint8) * np.ones((1, width), dtype=np.uint8)
        labels[~known] = IGNORE
        place = Grid(grid.crs, grid.transform, width, height)
        nothing = np.full_like(labels, IGNORE)
        return LabeledImage(self.image.name, place, values, known, labels, nothing, self.bands)

    def image_s(self, run: Run, options: Mapping[str, Any], reporter: Reporter) -> float:
        """Return the time of an image of a run with some of the job's options changed, in seconds.

        It is that of the fastest of a few steps, since other work on the machine only makes them slower. For images of
        another size, it is in proportion to their pixels.
        """
        rest = {name: value for name, value in options.items() if name not in ("engine", "precision")}
        engine = make_engine(options.get("engine", run.engine), options.get("precision", run.precision))
        with self.subject(run.what, engine, rest, reporter.silent()) as (subject, _):
            times_s = timed_steps(subject, _TRIAL_WARM_UP + _TRIAL_STEPS, reporter)[_TRIAL_WARM_UP:]
            return min(times_s) / subject.batch_size * (run.size_px / subject.size_px) ** 2


def timed_steps(subject: Subject, count: int, reporter: Reporter) -> list[float]:
    """Do `count` steps; return the time of each in seconds."""
    times_s = []
    for _ in range(count):
        reporter.check_cancelled()
        began_s = time.perf_counter()
        subject.step()
        times_s.append(time.perf_counter() - began_s)
    return times_s


def _timed(items: Generator[Item, None, None], spans: list[tuple[float, float]]) -> Generator[Item, None, None]:
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
        mark_phase(Phase.WAITING)
        yield item


def _bytes_of(tensors: Iterable[Any]) -> int:
    return sum(tensor.nbytes for tensor in tensors if isinstance(tensor, torch.Tensor))
