"""A model prepared for segmentation: its engine, halo, tile size and threshold, and the loop that runs it over tiles.

On ground unlike that of its training a network is less certain: roads get lower probabilities, and a threshold that
was chosen elsewhere misses them. So the threshold can follow the network's own probabilities, without labels.

Scope: the order in which these are chosen. Independent of model files and of output files.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any, Optional, TypeVar, Union, cast

import numpy as np
import torch
from torch import nn

from ..errors import JobError
from ..events import Reporter
from ..geodata.grid import MAX_PX
from ..geodata.pixel_codes import CERTAIN, lowest_byte, to_byte
from ..geodata.rasters import MIN_KNOWN, open_for_model
from ..geodata.tiling import STRIDE_PX, USUAL_HALO_PX, Tile, round_up
from ..jobs import Evaluate, ExtractRoads, MapRegion, RoadStatus, Segment
from ..models.engine_choice import TRIAL_STEPS, choose_anywhere, devices_at_hand, settle_threads
from ..models.engines import ENGINES, INT8, OPENVINO, Engine, devices_for, engines_for
from ..models.fallback import FallbackEngine
from ..models.model_card import ModelCard
from ..models.onnx_model import UNKNOWN, OnnxModel
from ..system.work import ahead
from .inference import SYMMETRIES, Prediction, Predictor, predict_pieces
from .measured import MAX_BYTES_PER_PX, SAMPLE_PX, TIMED_PX, bytes_per_px, image_halo_px, sufficient_halo_px
from .work_plan import (
    MAX_CORE_PX,
    ImagePlan,
    TilePlan,
    WorkPlan,
    fitting_px,
    memory_budget,
    plan_tiles,
    read_plans,
    trial_size,
)

SegmentJob = Union[Evaluate, ExtractRoads, MapRegion, RoadStatus, Segment]

# From so many tiles on it pays to prepare for their shape, and from so many cores on to try whether several tiles at
# once are faster; for several images it always does. The trial has no more images than this.
_MANY_TILES, _MANY_THREADS, _MAX_TRIAL = 4, 8, 16
# Measuring the halo computes some 15 million pixels, which pays for an image of so many.
MEASURED_FROM_PX = 50_000_000
# Sampled windows, which are spread evenly over all images, and their side: some seconds of computation.
_WINDOWS, _SIDE_PX = 16, 512
# The height and width of an image that shows whether a device computes.
_LITTLE = (256, 256)
# The lowest threshold, and the expected F1 below which probabilities say too little to choose one. Both were chosen by
# the tables in benchmarks/README.md: on ground that a training left out, that of the starter, and tiles without roads.
_LOWEST, _SOME_F1 = 0.05, 0.3
# An image with less road, or more, does not show a town that the model knows.
_MIN_ROAD, _MAX_ROAD = 0.005, 0.5
_T = TypeVar("_T")


@dataclass(frozen=True)
class Segmenter:
    """A model ready to segment: what all images of a job share. Road is from the probability `threshold` on."""

    predictor: Predictor
    card: ModelCard
    tiles: TilePlan
    threshold: float

    @property
    def engine(self) -> Engine[Any]:
        """The engine that computes."""
        return self.predictor.engine


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
    Raises JobError or ModelFileError if the engine asked for cannot be used, or cannot run this model; or no halo is
    exact for it. Raises ResourceError if there is too little memory for the smallest tiles.
    """
    torch.set_num_threads(options.threads or torch.get_num_threads())
    symmetries = SYMMETRIES if options.test_time_augmentation else SYMMETRIES[:1]
    budget_bytes, asked_px = memory_budget(options.memory_gb), round_up(options.tile_px)
    halo_px = _known_halo_px(card, options.halo)
    # The trial's halo is the one that is known before the engine is.
    size = samples[0].tile_size(asked_px or MAX_CORE_PX, USUAL_HALO_PX if halo_px is None else halo_px)
    if size:
        most_px, passes = (job_px or samples[0].px) * len(symmetries), (TRIAL_STEPS + 1) * len(ENGINES)
        size = trial_size(size, most_px, passes, budget_bytes, MAX_BYTES_PER_PX)
    engine, prepared = _choose_engine(model, options, size, len(card.bands), reporter)
    predictor = Predictor(prepared, engine, card.bands, symmetries, card.architecture.classes, options.model)
    needed_bytes, budget_bytes = bytes_per_px(predictor), int(min(budget_bytes, engine.free_bytes()))
    if halo_px is None:
        most_px = fitting_px(needed_bytes, budget_bytes)
        halo_px = _measured_halo_px(samples[0], predictor, options.threshold or card.threshold, most_px, reporter)
    tiles = plan_tiles(needed_bytes, halo_px, budget_bytes, asked_px)
    threshold = options.threshold or image_threshold(samples, card, predictor, reporter)
    return Segmenter(predictor, card, tiles, threshold)


def _choose_engine(
    model: nn.Module | OnnxModel, job: SegmentJob, size: Optional[tuple[int, int]], bands: int, reporter: Reporter
) -> tuple[Engine[Any], Any]:
    """Return the engine, and the model prepared for it.

    Engines are tried on a batch of zeros of some bands and a size (height, width), or not at all. That batch fits into
    the memory of the smallest device. A device's results vary with the size of an image, so that none is tried where
    the halo is to be exact.
    """
    prepared: dict[str, Any] = {}
    is_exact, precision = job.halo == "exact", job.precision
    if isinstance(model, OnnxModel) and model.is_quantized:
        precision = INT8
    is_trial = size is not None
    devices = devices_at_hand(job, precision, devices_for(model), reporter, is_trial and not is_exact)
    if devices:
        least_bytes = min(memory_budget(job.memory_gb), *(each.free_bytes() for each in devices))
        size = trial_size(size or _LITTLE, MAX_PX, 1, int(least_bytes), MAX_BYTES_PER_PX) or _LITTLE
    batch = torch.zeros(1, bands, *(size or _LITTLE))

    def trial(engine: Engine[Any]) -> None:
        reporter.check_cancelled()
        if engine.name not in prepared:
            prepared[engine.name] = engine.prepare_inference(model, is_exact)
        engine.probability(prepared[engine.name], batch)

    limit_s = math.inf if is_trial else 0.0
    engine = choose_anywhere(job.engine, precision, engines_for(model), devices, trial, reporter, limit_s)
    if engine.name not in prepared:
        prepared[engine.name] = engine.prepare_inference(model, is_exact)
    if engine.is_device:
        fallback = FallbackEngine(engine, prepared[engine.name], model, is_exact, reporter.warning)
        return cast(Engine[Any], fallback), prepared[engine.name]
    if is_trial and engine.name != OPENVINO:  # whose models are compiled for a number of threads
        settle_threads(lambda: trial(engine), job.threads, reporter.log)
    return engine, prepared[engine.name]


def _known_halo_px(card: ModelCard, wanted: str) -> Optional[int]:
    """Return the halo in pixels, a multiple of the stride, that an option asks for; None where it must be measured."""
    if wanted == "exact":
        if card.architecture.name == UNKNOWN:
            raise JobError(
                "No exact halo (halo) is known for a model of Deepness.", "Choose auto or a number of pixels."
            )
        return image_halo_px(card.architecture)
    return (card.halo_px or None) if wanted == "auto" else round_up(int(wanted))


def _measured_halo_px(
    sample: ImagePlan, predictor: Predictor, threshold: float, most_px: int, reporter: Reporter
) -> int:
    """Return the halo that suffices on the middle of a large image, or the usual one if that shows too little."""
    grid, raster = sample.grid, sample.raster
    if grid.width * grid.height < MEASURED_FROM_PX:
        reporter.log(f"The model file does not say which halo suffices. {USUAL_HALO_PX} px is used.")
        return USUAL_HALO_PX
    side = min(SAMPLE_PX, math.isqrt(most_px) // STRIDE_PX * STRIDE_PX)
    width, height = min(side, grid.width), min(side, grid.height)
    with open_for_model(raster, sample.input) as (image, bands):
        piece = image.read((grid.width - width) // 2, (grid.height - height) // 2, width, height)
    if min(width, height) < 2 * USUAL_HALO_PX or piece[1].mean() < MIN_KNOWN:
        reporter.log(
            f"The model file does not say which halo suffices, and {raster} shows too little: {USUAL_HALO_PX} px."
        )
        return USUAL_HALO_PX
    halo = sufficient_halo_px(replace(predictor, bands=bands), [piece], threshold)
    reporter.log(f"The model file does not say which halo suffices. On the middle of {raster}, {halo} px suffice.")
    return halo


def segmented(
    work: WorkPlan, segmenter: Segmenter, reporter: Reporter
) -> Generator[tuple[ImagePlan, Tile, Prediction], None, None]:
    """Segment all images tile by tile: the prediction is NO_DATA outside the area of interest.

    One thread reads and another one computes while the caller uses the tile before.
    """
    together_px, images = _settle(work, segmenter, reporter), work.images
    pieces = read_plans(images, segmenter.card.input, work.tiles.core_px, work.tiles.halo_px)

    def compute() -> Iterator[tuple[ImagePlan, Tile, Prediction]]:
        with closing(ahead(pieces, 1)) as read:
            for piece, prediction in predict_pieces(segmenter.predictor, read, together_px):
                reporter.check_cancelled()
                yield piece.source, piece.tile, prediction

    with closing(ahead(compute(), 1)) as computed:
        for done, (image, tile, prediction) in enumerate(computed, 1):
            yield image, tile, prediction
            of_images = f", image {images.index(image) + 1} of {len(images)}" if len(images) > 1 else ""
            reporter.progress(done / work.tile_count, f"Tile {done} of {work.tile_count}{of_images}")


def _settle(work: WorkPlan, segmenter: Segmenter, reporter: Reporter) -> int:
    """Prepare the model for the tiles of some images, and return how many pixels to compute together."""
    engine, model, bands = segmenter.engine, segmenter.predictor.model, len(segmenter.card.bands)
    images, tiles, threads, streams = work.images, work.tiles, torch.get_num_threads(), 1
    if work.tile_count >= _MANY_TILES and (len(images) > 1 or threads >= _MANY_THREADS):
        batch = torch.zeros(max(_MANY_TILES, min(threads, _MAX_TRIAL)), bands, TIMED_PX, TIMED_PX)
        streams = engine.settle_batches(model, batch, reporter.log)
    if work.tile_count >= _MANY_TILES and len(images) == 1 and streams == 1:
        engine.expect(model, (1, bands, *(images[0].tile_size(tiles.core_px, tiles.halo_px) or ())))
    return tiles.px * max(1, min(streams, tiles.budget_px // tiles.px))


def spread(images: Sequence[_T]) -> list[_T]:
    """Return up to as many images as windows are sampled, spread evenly over all, the first among them."""
    count = min(_WINDOWS, len(images))
    return [images[number * len(images) // count] for number in range(count)]


def image_threshold(images: Sequence[ImagePlan], card: ModelCard, predictor: Predictor, reporter: Reporter) -> float:
    """Return the threshold for some images, or the model's own: as its card says, or, with a warning, if none fits."""
    if not card.threshold_by_image:
        return card.threshold
    counts = _sampled_counts(images, predictor)
    reporter.check_cancelled()
    threshold = chosen_threshold(counts)
    if threshold is None:
        reporter.warning(
            f"The probabilities in {images[0].raster} do not look like roads that the model knows, so the model's own "
            f"threshold is used, {card.threshold:.2f}. Check the result, or give a threshold (threshold)."
        )
        return card.threshold
    reporter.log(
        f"Threshold {threshold:.2f}, chosen for these images. The model's own threshold is {card.threshold:.2f}."
    )
    return threshold


def chosen_threshold(counts: np.ndarray) -> Optional[float]:
    """Return the threshold with the best expected F1; None if no road is expected, or not plausibly much.

    `counts`, (255,) int64, are pixels by bytes of probability.
    If probabilities are calibrated, those of the pixels from a threshold on sum up to the expected hits, and all of
    them to the expected road; see Lipton et al., "Optimal thresholding of classifiers to maximize F1 measure", 2014.
    """
    # Pixels that reach each threshold, and how many of them are expected to be road.
    pixels = counts[::-1].cumsum()[::-1]
    road = (counts * np.arange(len(counts)) / CERTAIN)[::-1].cumsum()[::-1]
    f1 = 2 * road / np.maximum(pixels + road[0], 1)
    level = int(f1.argmax())
    threshold = max(_LOWEST, level / CERTAIN)
    fraction = pixels[lowest_byte(threshold)] / max(1, pixels[0])
    return threshold if f1[level] >= _SOME_F1 and _MIN_ROAD <= fraction <= _MAX_ROAD else None


def _sampled_counts(plans: Sequence[ImagePlan], predictor: Predictor) -> np.ndarray:
    """Return how many pixels of a sample have each probability, by bytes: (255,) int64."""
    counts = np.zeros(CERTAIN + 1, dtype=np.int64)
    for plan in plans:
        with open_for_model(plan.raster, plan.input) as (image, bands):
            normalized = replace(predictor, bands=bands)
            for window in _windows(plan, max(1, _WINDOWS // len(plans))):
                values, known = image.read(*window)
                if known.any():
                    probability = to_byte(normalized.probability(values, known), known)[known]
                    counts += np.bincount(probability, minlength=len(counts))
    return counts


def _windows(plan: ImagePlan, count: int) -> Iterator[tuple[int, int, int, int]]:
    """Yield column, row, width and height of windows in the part to segment, row by row."""
    left, top, width, height = plan.window
    side = min(_SIDE_PX, width), min(_SIDE_PX, height)
    # No more than cover the image.
    columns = max(1, min(round((count * width / height) ** 0.5), count, -(-width // _SIDE_PX)))
    rows = max(1, min(count // columns, -(-height // _SIDE_PX)))
    for row in np.linspace(top, top + height - side[1], rows, dtype=int):
        for column in np.linspace(left, left + width - side[0], columns, dtype=int):
            yield int(column), int(row), *side
