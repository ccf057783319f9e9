"""The workload of a profile: a model and an image, what is profiled with which engines, and steps with any options.

Steps train, or segment tiles, as the jobs do it; their phases are marked for a profiler.

Scope: what a job asks for. Independent of how time is measured.
"""

from __future__ import annotations

import copy
import dataclasses
import itertools
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Optional, cast

import numpy as np
import rasterio
import torch
from torch import Tensor, nn

from ..errors import ImageryError, JobError
from ..events import Reporter
from ..geodata.grid import Grid
from ..geodata.pixel_codes import BACKGROUND, IGNORE, ROAD
from ..geodata.rasters import IMAGE, Band, Image, ModelInput, choose_bands, open_for_model, open_image
from ..geodata.tiling import Tile, round_up, tile_grid
from ..jobs import ALL, AUTO, BOTH, INFERENCE, TRAINING, Profile, StepOptions
from ..jobs.recipe import USUAL_CHIP_PX
from ..labels.labeled_images import LabeledImage
from ..learning.chips import ChipSampler
from ..learning.losses import training_loss
from ..learning.plan import fit_into_memory
from ..learning.step import ChipStep, Stopwatch
from ..learning.trainer import Trainer
from ..models import engines
from ..models.architectures import Architecture, build_network
from ..models.engine_choice import choose_engine, choose_precision
from ..models.engines import Engine, NativeEngine, make_engine
from ..models.loading import load_model
from ..models.onnx_model import OnnxModel
from ..models.openvino_model import OpenvinoModel
from ..models.recompute import recompute_activations
from ..segmentation.inference import Predictor, Read, predict_pieces, read_piece
from ..system import processor
from ..system.work import ahead
from .kernels import Node, nodes_of
from .profile import Kind, Phase, Run
from .step_trace import end_phase, marked_layer, marked_step

# The generated image: its least side, and the range of its ground resolution in meters. What it shows does not change
# how long anything takes.
_GENERATED_PX, _GENERATED_M, _GENERATED_CRS = 1024, (0.25, 1.0), "EPSG:32633"
# Chips are drawn from a part of the image whose side is this many times theirs.
_CHIPS_PER_SIDE = 4
# Labels do not change how long a step takes: stripes stand for roads.
_STRIPE_PX, _STRIPES_APART_PX = 8, 40
_TRIAL_WARM_UP, _TRIAL_STEPS = 3, 5
_BATCHES_AHEAD, _SEED = 3, 0
# How often a graph of OpenVINO is timed.
_REPEATS = 3


@dataclass(frozen=True)
class Subject:
    """The measured subject: `step` works on `batch_size` images with a side of `size_px`, with their halo.

    The model is None where another library runs its layers. `nodes` returns those of OpenVINO's graph with their times,
    none where PyTorch runs the model.
    """

    what: str
    engine: Engine[Any]
    batch_size: int
    size_px: int
    model: Optional[nn.Module]
    step: Callable[[], None]
    nodes: Callable[[], list[Node]] = list


class _Marker(Stopwatch):
    """A trainer's stopwatch that marks the phases for a profiler."""

    def record(self, part: str) -> None:
        """See Stopwatch.record."""
        end_phase({"waiting for chips": Phase.WAITING}.get(part, part))


def _marked_loss(logits: Tensor, labels: Tensor) -> Tensor:
    with marked_layer(Kind.LOSS):
        return training_loss(logits, labels)


@contextmanager
def training_steps(
    model: nn.Module, engine: NativeEngine, recipe: StepOptions, images: list[LabeledImage], chip_px: int
) -> Iterator[Subject]:
    """Yield training steps on chips, as a fine-tune takes them; the trainer takes over the model. No weight changes."""
    trainer = Trainer(model, engine, recipe, partial(ChipStep, loss=_marked_loss), stopwatch=_Marker())
    sampler, chips_per_step = ChipSampler(images, chip_px, _SEED), trainer.samples_per_step
    drawn = (sampler.batch(number, chips_per_step) for number in itertools.count())
    with closing(ahead(drawn, _BATCHES_AHEAD)) as batches:

        def step() -> None:
            with marked_step():
                trainer.step(*next(batches), 0.0)

        yield Subject(TRAINING, engine, chips_per_step, chip_px, trainer.model, step)


@contextmanager
def inference_steps(predictor: Predictor, read: Read, tiles: Sequence[Tile], size_px: int) -> Iterator[Subject]:
    """Yield the segmentation of tiles of one size, again and again, as the job segment computes them."""
    compiled, engine = predictor.model, predictor.engine
    pieces = ahead((read_piece(tile, read, predictor.bands) for tile in itertools.cycle(tiles)), 1)
    # The pieces need nothing of an engine but its inference.
    marking = dataclasses.replace(predictor, engine=cast("Engine[Any]", _MarkedEngine(engine)))
    with closing(pieces), closing(predict_pieces(marking, _waited_for(pieces), 0)) as predictions:

        def step() -> None:
            with marked_step():
                next(predictions)
                end_phase(Phase.CONVERSION)

        def nodes() -> list[Node]:
            if not isinstance(compiled, OpenvinoModel):
                return []
            images = np.zeros((1, len(predictor.bands), size_px, size_px), dtype=np.float32)
            return nodes_of(compiled.timed_graph(images, _REPEATS))

        model = compiled if isinstance(compiled, nn.Module) else None
        yield Subject(INFERENCE, engine, 1, size_px, model, step, nodes)


class _MarkedEngine:
    """The inference of an engine, with its end marked for a profiler."""

    def __init__(self, inner: Engine[Any]) -> None:
        self._inner = inner

    def probability(self, prepared: Any, images: Tensor) -> Tensor:
        """See Engine.probability."""
        result = self._inner.probability(prepared, images)
        end_phase(Phase.FORWARD)
        return result


def _waited_for(items: Iterable[Any]) -> Iterator[Any]:
    """Yield items; the end of each wait is marked."""
    for item in items:
        end_phase(Phase.WAITING)
        yield item


def timed_steps(subject: Subject, count: int, reporter: Reporter) -> list[float]:
    """Do `count` steps; return the time of each in seconds."""
    times_s = []
    for _ in range(count):
        reporter.check_cancelled()
        began_s = time.perf_counter()
        subject.step()
        times_s.append(time.perf_counter() - began_s)
    return times_s


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

        Raises ImageryError if the image has no data to work on. Raises ResourceError if there is too little memory.
        """
        job, grid = dataclasses.replace(self.job, **options), self.image.grid
        torch.set_num_threads(job.threads)
        model = copy.deepcopy(self.model)
        if what == INFERENCE:
            tiles = list(tile_grid(grid.width, grid.height, round_up(job.tile_px), 0))
            width, height = map(round_up, tiles[0].read_window[2:])
            prepared = engine.prepare_inference(model)
            engine.expect(prepared, (1, len(self.bands), height, width))
            predictor = Predictor(prepared, engine, self.bands, channels=self.architecture.classes, name=job.model)
            size_px = max(width, height)
            with inference_steps(predictor, self.image.read, tiles, size_px) as subject:
                yield subject, {"tile_px": size_px}
            return
        # The engines that train are native ones, and an ONNX model has been refused.
        native, network = cast(NativeEngine, engine), cast(nn.Module, model)
        chip_px = round_up(min(job.chip_px or USUAL_CHIP_PX, max(grid.width, grid.height)))
        memory = fit_into_memory(self.architecture, native, job, chip_px)
        reporter.log(str(memory))
        if memory.is_recomputing:
            recompute_activations(network)
        names = ("batch_size", "accumulation", "optimizer", "frozen_stages", "batch_norm")
        settings = {name: getattr(job, name) for name in names}
        settings |= {"chip_px": chip_px, "recompute": job.recompute if memory.is_recomputing else "no"}
        with training_steps(network, native, job, [self._labeled(_CHIPS_PER_SIDE * chip_px)], chip_px) as subject:
            yield subject, settings

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


@contextmanager
def open_workload(job: Profile) -> Iterator[Workload]:
    """Yield the job's model and image; without an image a generated one, without a model random weights."""
    loaded = load_model(job.model) if job.model else None
    resolution_m = loaded[1].resolution_m if loaded else _GENERATED_M[0]
    with _image_path(job, min(max(resolution_m, _GENERATED_M[0]), _GENERATED_M[1])) as path:
        wanted = loaded[1].input if loaded else _all_bands(path)
        with open_for_model(path, wanted) as (image, bands):
            if loaded:
                model, architecture = loaded[0], loaded[1].architecture
            else:
                architecture = Architecture(in_channels=len(bands))
                model = build_network(architecture)
            yield Workload(job, model, architecture, image, bands)


def _all_bands(path: str) -> ModelInput:
    """Return the input of a model that takes all bands of an image, at its own resolution."""
    with open_image(path) as dataset:
        names = choose_bands(dataset, ()).values()
    return ModelInput(tuple(Band(name, 0.0, 1.0) for name in names), 0.0, IMAGE)


@contextmanager
def _image_path(job: Profile, pixel_m: float) -> Iterator[str]:
    """Yield the image's path; a generated image, of this ground resolution in meters, is a temporary file."""
    if job.raster:
        yield job.raster
        return
    side_px = round_up(max(_GENERATED_PX, job.tile_px))
    pixels = np.random.default_rng(0).integers(0, 255, (3, side_px, side_px), dtype=np.uint8)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        path = str(Path(folder, "generated image.tif"))
        shape = {"count": 3, "width": side_px, "height": side_px, "dtype": "uint8", "photometric": "rgb"}
        place = {"crs": _GENERATED_CRS, "transform": rasterio.Affine(pixel_m, 0, 5e5, 0, -pixel_m, 5e6)}
        with rasterio.open(path, "w", driver="GTiff", tiled=True, **shape, **place) as dataset:
            dataset.write(pixels)
        yield path


def cases_of(workload: Workload, reporter: Reporter) -> list[tuple[str, Engine]]:
    """Return what is profiled, in order, each with its engine.

    Raises JobError if the engine asked for cannot be used, or the model cannot be trained.
    """
    job, model = workload.job, workload.model
    if job.what != INFERENCE and isinstance(model, OnnxModel):
        raise JobError(
            f"{job.model} is an ONNX model, which cannot be trained.",
            f"Choose {INFERENCE} as what to profile (what), or a .safetensors file.",
        )
    cases = []
    for what in (TRAINING, INFERENCE) if job.what == BOTH else (job.what,):
        able = engines.TRAINING if what == TRAINING else engines.engines_for(model)
        for name in _engine_names(job, able, reporter):
            for precision in _precisions(job, model):
                cases.append((what, choose_engine(name, precision, able, log=reporter.log)))
    return cases


def _engine_names(job: Profile, able: Iterable[str], reporter: Reporter) -> list[str]:
    if job.engine != ALL:
        return [next(iter(able)) if job.engine == AUTO else job.engine]
    obstacles = {name: engines.why_not(name) for name in able}
    for name, obstacle in obstacles.items():
        if obstacle and name != engines.NATIVE:
            reporter.warning(f"The engine {name} is not profiled: {obstacle}.")
    return [name for name, obstacle in obstacles.items() if not obstacle]


def _precisions(job: Profile, model: nn.Module | OnnxModel) -> list[str]:
    if isinstance(model, OnnxModel) and model.is_quantized:
        return [engines.INT8]
    if job.precision != ALL:
        return [choose_precision(job.precision, lambda _: None)]
    return [engines.BF16, engines.FP32] if processor.has_bf16_unit() else [engines.FP32]
