"""A model prepared for segmentation: its engine, halo and tile size, and the loop that runs it over tiles.

Scope: engines, work plans and the memory that tiles take. Independent of model files and of output files.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any, Optional, Union

import numpy as np
import torch
from torch import nn

from ..errors import JobError
from ..events import Reporter
from ..geodata.model_input import MIN_KNOWN, open_for_model
from ..geodata.tiling import USUAL_HALO_PX, Tile, round_up
from ..jobs import Evaluate, ExtractRoads, MapRegion, Segment, SegmentOptions
from ..models.deepness import UNKNOWN
from ..models.engines import INT8, Engine, choose_engine, engines_for
from ..models.model_card import ModelCard
from ..models.onnx_file import OnnxModel
from ..system.prefetch import ahead
from . import tile_memory
from .halo import SAMPLE_PX, image_halo_px, sufficient_halo_px
from .image_threshold import image_threshold
from .inference import SYMMETRIES, Prediction, Predictor, padded_size, predict_pieces
from .work_plan import ImagePlan, read_plans

SegmentJob = Union[Evaluate, ExtractRoads, MapRegion, Segment]

# From this size on, the time for a pixel hardly depends on the size (benchmarks/README.md).
_TRIAL_PX = 512
# From so many tiles on it pays to prepare for their shape, and from so many cores on to try whether several tiles at
# once are faster; for several images it always does. The trial has no more images than this.
_MANY_TILES, _MANY_THREADS, _MAX_TRIAL = 4, 8, 16
# Measuring the halo computes some 15 million pixels, which pays for an image of so many.
MEASURED_FROM_PX = 50_000_000


@dataclass(frozen=True)
class Segmenter:
    """A model ready to segment: what all images of a job share.

    `halo` is a tile's halo and `core_px` its largest core, in pixels. `budget_px` is how many pixels of tiles, with
    halos, fit into memory at once. Road is from the probability `threshold` on.
    """

    predictor: Predictor
    card: ModelCard
    halo: int
    core_px: int
    threshold: float
    budget_px: int

    @property
    def engine(self) -> Engine[Any]:
        """The engine that computes."""
        return self.predictor.engine

    @property
    def tile_px(self) -> int:
        """Pixels of the largest tile with its halo."""
        return (self.core_px + 2 * self.halo) ** 2


def prepare_segmenter(
    model: nn.Module | OnnxModel,
    card: ModelCard,
    samples: Sequence[ImagePlan],
    options: SegmentJob,
    reporter: Reporter,
    job_px: int = 0,
) -> Segmenter:
    """Choose how to run a model: engine, halo, tile size and threshold.

    `samples` are some of the images to segment. The halo is measured on the first if the card does not give it, and the
    threshold is chosen on all if the card says so. `job_px` are the pixels to segment in all; 0 for those of the first.

    Raises
    ------
    JobError, ModelFileError
        The engine asked for cannot be used, or cannot run this model; or no halo is exact for it.
    ResourceError
        There is too little memory for the smallest tiles.
    """
    is_quantized, sample = isinstance(model, OnnxModel) and model.is_quantized, samples[0]
    torch.set_num_threads(options.threads or torch.get_num_threads())
    symmetries = SYMMETRIES if options.test_time_augmentation else SYMMETRIES[:1]
    known_px, budget_bytes = _known_halo_px(card, options), _budget(options)
    # The trial's halo is the one that is known before the engine is.
    size = tile_memory.trial_size(
        sample,
        round_up(options.tile_px) or tile_memory.MAX_CORE_PX,
        USUAL_HALO_PX if known_px is None else known_px,
        (job_px or sample.px) * len(symmetries),
        budget_bytes,
    )
    prepared: dict[str, Any] = {}
    is_exact = options.halo == "exact"

    def trial(engine: Engine[Any]) -> None:
        reporter.check_cancelled()
        if engine.name not in prepared:
            prepared[engine.name] = engine.prepare_inference(model, is_exact)
        engine.probability(prepared[engine.name], torch.zeros(1, len(card.bands), *(size or ())))

    precision = INT8 if is_quantized else options.precision
    engine = choose_engine(options.engine, precision, engines_for(model), trial if size else None, reporter.log)
    prepared_model = prepared.get(engine.name) or engine.prepare_inference(model, is_exact)
    predictor = Predictor(prepared_model, engine, card.bands, symmetries, card.architecture.classes, options.model)
    halo = _measured_halo_px(sample, predictor, card, options, reporter) if known_px is None else known_px
    core_px = round_up(options.tile_px) or tile_memory.core_px(predictor, halo, budget_bytes)
    threshold = options.threshold or (
        image_threshold(samples, card, predictor, reporter) if card.threshold_by_image else card.threshold
    )
    return Segmenter(predictor, card, halo, core_px, threshold, tile_memory.px(predictor, budget_bytes))


def require_classes(path: str, card: ModelCard, model: str) -> None:
    """Check that a model predicts road classes if these are to be written, to a path that is not empty.

    Raises
    ------
    JobError
        Classes are wanted, but the model predicts none.
    """
    if path and not card.classes:
        raise JobError(
            f"{model} predicts no road classes, so there is nothing to write to road classes (classes).",
            "Leave it out, or choose a model that was trained on roads with classes.",
        )


def _known_halo_px(card: ModelCard, options: SegmentOptions) -> Optional[int]:
    """Return the halo in pixels, a multiple of the stride, that an option asks for; None where it must be measured."""
    if options.halo == "exact":
        if card.architecture.name == UNKNOWN:
            raise JobError(
                "No exact halo (halo) is known for a model of Deepness.", "Choose auto or a number of pixels."
            )
        return image_halo_px(card.architecture)
    return (card.halo_px or None) if options.halo == "auto" else round_up(int(options.halo))


def _measured_halo_px(
    sample: ImagePlan, predictor: Predictor, card: ModelCard, options: SegmentOptions, reporter: Reporter
) -> int:
    """Return the halo that suffices on the middle of a large image, or the usual one if that shows too little."""
    grid, raster = sample.grid, sample.raster
    if grid.width * grid.height < MEASURED_FROM_PX:
        reporter.log(f"The model file does not say which halo suffices; {USUAL_HALO_PX} px is taken.")
        return USUAL_HALO_PX
    side = min(SAMPLE_PX, tile_memory.core_px(predictor, 0, _budget(options)))
    width, height = min(side, grid.width), min(side, grid.height)
    with open_for_model(raster, sample.input) as (image, bands):
        piece = image.read((grid.width - width) // 2, (grid.height - height) // 2, width, height)
    if min(width, height) < 2 * USUAL_HALO_PX or piece[1].mean() < MIN_KNOWN:
        reporter.log(
            f"The model file does not say which halo suffices, and {raster} shows too little: {USUAL_HALO_PX} px."
        )
        return USUAL_HALO_PX
    halo = sufficient_halo_px(replace(predictor, bands=bands), [piece], options.threshold or card.threshold)
    reporter.log(f"The model file does not say which halo suffices; on the middle of {raster} {halo} px do.")
    return halo


def _budget(options: SegmentOptions) -> int:
    """Return how much memory the job may take, in bytes."""
    return int(options.memory_gb * 1e9) or tile_memory.default_budget_bytes()


def segmented(
    plans: list[ImagePlan], segmenter: Segmenter, reporter: Reporter
) -> Generator[tuple[ImagePlan, Tile, Prediction], None, None]:
    """Segment all images tile by tile: the prediction is NO_DATA outside the area of interest.

    One thread reads and another one computes while the caller uses the tile before.
    """
    core_px, halo = segmenter.core_px, segmenter.halo
    done, total = 0, sum(plan.tile_count(core_px, halo) for plan in plans)
    together_px = _settle(plans, total, segmenter, reporter)

    def compute() -> Iterator[tuple[ImagePlan, Tile, Prediction]]:
        with closing(ahead(read_plans(plans, segmenter.card.input, core_px, halo), 1)) as pieces:
            for piece, prediction in predict_pieces(segmenter.predictor, pieces, together_px):
                reporter.check_cancelled()
                yield piece.source, piece.tile, prediction

    with closing(ahead(compute(), 1)) as computed:
        for plan, tile, prediction in computed:
            yield plan, tile, prediction
            done += 1
            of_images = f", image {plans.index(plan) + 1} of {len(plans)}" if len(plans) > 1 else ""
            reporter.progress(done / total, f"Tile {done} of {total}{of_images}")


def _settle(plans: list[ImagePlan], tiles: int, segmenter: Segmenter, reporter: Reporter) -> int:
    """Prepare the model for the tiles of some images, and return how many pixels to compute together."""
    engine, model, bands = segmenter.engine, segmenter.predictor.model, len(segmenter.card.bands)
    threads = torch.get_num_threads()
    streams = 1
    if tiles >= _MANY_TILES and (len(plans) > 1 or threads >= _MANY_THREADS):
        batch = torch.zeros(max(_MANY_TILES, min(threads, _MAX_TRIAL)), bands, _TRIAL_PX, _TRIAL_PX)
        streams = engine.settle_batches(model, batch, reporter.log)
    if tiles >= _MANY_TILES and len(plans) == 1 and streams == 1:
        first = plans[0].tiles(segmenter.core_px, segmenter.halo)[0]
        engine.expect(model, (1, bands, *padded_size(first.read_window[:1:-1])))
    return segmenter.tile_px * max(1, min(streams, segmenter.budget_px // segmenter.tile_px))


def seconds_per_px(segmenter: Segmenter) -> float:
    """Return how long the model takes for a pixel, in seconds, measured on a tile of zeros."""
    values = np.zeros((len(segmenter.card.bands), _TRIAL_PX, _TRIAL_PX))
    known, times = np.ones((_TRIAL_PX, _TRIAL_PX), dtype=bool), []
    for _ in range(2):  # the first one also prepares weights and memory
        began_s = time.perf_counter()
        segmenter.predictor.probability(values, known)
        times.append(time.perf_counter() - began_s)
    return min(times) / _TRIAL_PX**2
