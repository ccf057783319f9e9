"""The job evaluate: how well a model does on roads that were drawn.

Knows how labels and predictions meet; knows nothing of training.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from .events import Reporter
from .examples import Drawing, nothing_labeled, read_drawing
from .imagery import Image, match_bands, open_raster
from .inference import NO_DATA, predict_tiles, to_mask
from .jobs import Evaluate
from .labels import IGNORE, Labels
from .metrics import Confusion, RelaxedCounts, relaxed_counts
from .segment import Segmenter, prepare_segmenter
from .tiling import Tile, tile_grid


def run(job: Evaluate, reporter: Reporter) -> dict[str, Any]:
    """Do the job; see `jobs.Evaluate`."""
    drawing = read_drawing(job.roads, job.aoi, job)
    segmenter = prepare_segmenter(job.model, job, reporter)
    confusion, relaxed = Confusion(), RelaxedCounts()
    for number, path in enumerate(job.rasters):
        part = reporter.part(number / len(job.rasters), (number + 1) / len(job.rasters))
        relaxed += _evaluate_one(path, drawing, segmenter, job.tolerance_m, confusion, part)
    if not confusion.count:
        raise nothing_labeled(job.rasters)
    return {
        **asdict(confusion.scores(segmenter.threshold)),
        "relaxed_f1": relaxed.f1,
        "relaxed_precision": relaxed.precision,
        "relaxed_recall": relaxed.recall,
        "tolerance_m": job.tolerance_m,
        "threshold": segmenter.threshold,
    }


def _evaluate_one(
    path: str, drawing: Drawing, segmenter: Segmenter, tolerance_m: float, confusion: Confusion, reporter: Reporter
) -> RelaxedCounts:
    """Add an image to the confusion, and return its relaxed counts."""
    with open_raster(path) as dataset:
        bands = match_bands(dataset, segmenter.card.bands)
        with Image(dataset, bands, segmenter.card.resolution_m) as image:
            labels = drawing.burn(image.grid)
            if labels is None:
                reporter.warning(f"No drawn road or area of interest touches {path}; it is left out.")
                return RelaxedCounts()
            probability = _predict_labeled(image, labels, segmenter, reporter)
    truth = np.where(probability == NO_DATA, IGNORE, labels.values)
    confusion.add(probability, truth)
    return relaxed_counts(to_mask(probability, segmenter.threshold) == 1, truth, tolerance_m, image.grid.pixel_m)


def _predict_labeled(image: Image, labels: Labels, segmenter: Segmenter, reporter: Reporter) -> np.ndarray:
    """Return the probability bytes of the labeled part of an image; its surroundings serve as halo."""
    height, width = labels.values.shape
    probability = np.full((height, width), NO_DATA, dtype=np.uint8)
    tiles = [tile for tile in tile_grid(image.grid.width, image.grid.height, segmenter.core_px, segmenter.halo)
             if _overlap(tile, labels)]  # fmt: skip
    for number, (tile, values) in enumerate(predict_tiles(segmenter.predictor, image.read, tiles), 1):
        reporter.check_cancelled()
        in_labels, in_tile = _overlap(tile, labels)
        probability[in_labels] = values[in_tile]
        reporter.progress(number / len(tiles), f"Tile {number} of {len(tiles)}")
    return probability


def _overlap(tile: Tile, labels: Labels) -> tuple[tuple[slice, slice], tuple[slice, slice]] | None:
    """Return where a tile's core and the labels overlap, in the labels and in the core; None where they do not."""
    height, width = labels.values.shape
    left, right = max(tile.column, labels.column), min(tile.column + tile.width, labels.column + width)
    top, bottom = max(tile.row, labels.row), min(tile.row + tile.height, labels.row + height)
    if left >= right or top >= bottom:
        return None
    return (
        (slice(top - labels.row, bottom - labels.row), slice(left - labels.column, right - labels.column)),
        (slice(top - tile.row, bottom - tile.row), slice(left - tile.column, right - tile.column)),
    )
