"""Scores of a model on images with drawn roads: in total, by image and by polygon of the area of interest.

Scope: predictions of labeled pixels and their scores. Independent of how a report shows them.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Optional

import geopandas
import numpy as np

from ..errors import LayerError
from ..events import Reporter
from ..geodata.grid import Grid
from ..geodata.pixel_codes import IGNORE, NO_DATA, reaches
from ..geodata.rasters import Image, open_for_model
from ..geodata.shapes import burn_shapes, limit_to, near
from ..geodata.sources import source_name
from ..geodata.tiling import tile_grid
from ..jobs import Evaluate
from ..labels.drawing import Labels
from ..labels.labeled_images import ImageSummary, Truth, read_truth, road_share, without_labels
from ..models.loading import load_model
from ..segmentation.inference import Predictor, predict_tiles
from ..segmentation.pixel_metrics import Confusion, GroundScores, RelaxedMatches, Tally, relaxed_matches
from ..segmentation.segmenter import Segmenter, prepare_segmenter, spread
from ..segmentation.work_plan import plan_image
from ..system.machine import versions
from .panels import Panel, ScoredPlace, scored_places, select_places

PANELS = 6


@dataclass
class Evaluation:
    """Counts so far: in total, for each image and for each polygon of the area of interest.

    With `has_pictures`, places with the most road and the most errors are kept, for panels.
    """

    job: Evaluate
    reporter: Reporter
    has_pictures: bool = False
    total: Tally = field(default_factory=Tally)
    images: list[tuple[str, Tally]] = field(default_factory=list)
    areas: dict[int, Tally] = field(default_factory=lambda: defaultdict(Tally))
    summaries: list[ImageSummary] = field(default_factory=list)
    timings_s: dict[str, float] = field(default_factory=lambda: defaultdict(float))

    def __post_init__(self) -> None:
        self._places: list[ScoredPlace] = []
        with self._timed("loading"):
            self._truth: Truth = read_truth(self.job, self.job.aoi, self.job.rasters, self.reporter)
            model, card = load_model(self.job.model)
            self._input = replace(card.input, pixel_m=self.job.pixel_m)
            samples = [plan_image(raster, None, self._input) for raster in spread(self.job.rasters)]
            self.segmenter: Segmenter = prepare_segmenter(model, card, samples, self.job, self.reporter)

    def add_image(self, path: str, reporter: Reporter) -> None:
        """Predict the labeled part of an image and add its counts."""
        with open_for_model(path, self._input) as (image, bands):
            labels = self._truth.burn(image.grid, path)
            if labels is None:
                reporter.warning(without_labels(path))
                return
            with self._timed("predicting"):
                predictor = replace(self.segmenter.predictor, bands=bands)
                probability = _predict_labeled(image, labels, self.segmenter, predictor, reporter)
            truth = np.where(probability == NO_DATA, IGNORE, labels.values)
            if not (truth != IGNORE).any():
                reporter.warning(f"{path} has no data where it is labeled; it is left out.")
                return
            with self._timed("scoring"):
                self._count(path, image.grid, labels, probability, truth)
            if self.has_pictures:
                with self._timed("pictures"):
                    self._keep_places(path, image, labels, probability, truth)

    def to_document(self) -> dict[str, Any]:
        """Return the scores as a JSON document."""
        confusion = self.total.confusion
        best = confusion.best_threshold()
        return {
            "model": Path(self.job.model).name,
            **asdict(self.scores(self.total)),
            "threshold": self.segmenter.threshold,
            "tolerance_m": self.job.tolerance_m,
            "best": {"threshold": best, **asdict(confusion.scores(best))},
            "images": [{"name": name, **asdict(self.scores(tally))} for name, tally in self.images],
            "areas": [{"area": number, **asdict(self.scores(tally))} for number, tally in sorted(self.areas.items())],
            "engine": self.segmenter.engine.name,
            "precision": self.segmenter.engine.precision,
            "versions": versions(),
        }

    def scores(self, tally: Tally) -> GroundScores:
        """Return the scores of counts at the threshold that the model is used with."""
        return tally.scores(self.segmenter.threshold)

    def _count(self, path: str, grid: Grid, labels: Labels, probability: np.ndarray, truth: np.ndarray) -> None:
        mask = reaches(probability, self.segmenter.threshold)
        matches = relaxed_matches(mask, truth, self.job.tolerance_m, grid.pixel_m)
        tally = _tally(probability, truth, matches, slice(None))
        self.total += tally
        self.images.append((source_name(path), tally))
        height, width = truth.shape
        labeled_share = float((truth != IGNORE).mean())
        self.summaries.append(
            ImageSummary(source_name(path), width, height, grid.resolution_m, labeled_share, road_share(truth))
        )
        for number, part, inside in _areas(self._truth.aoi, grid, labels):
            self.reporter.check_cancelled()
            self.areas[number] += _tally(probability[part], truth[part], matches.window(part), inside)

    def _keep_places(self, path: str, image: Image, labels: Labels, probability: np.ndarray, truth: np.ndarray) -> None:
        def read(column: int, row: int, width: int, height: int) -> tuple[np.ndarray, np.ndarray]:
            return image.read(labels.column + column, labels.row + row, width, height)

        bands, threshold = self.segmenter.card.band_names, self.segmenter.threshold
        places = scored_places(source_name(path), bands, read, truth, probability, threshold, PANELS)
        self._places = select_places([*self._places, *places], 2 * PANELS)

    @property
    def panels(self) -> list[Panel]:
        """Pictures of the places with the most road and the most errors."""
        return [place.panel for place in select_places(self._places, PANELS)]

    @contextmanager
    def _timed(self, part: str) -> Iterator[None]:
        began_s = time.perf_counter()
        yield
        self.timings_s[part] += time.perf_counter() - began_s


def _tally(probability: np.ndarray, truth: np.ndarray, matches: RelaxedMatches, where: np.ndarray | slice) -> Tally:
    confusion = Confusion()
    confusion.add(probability[where], truth[where])
    return Tally(confusion, matches.counts(where))


def _areas(
    aoi: Optional[geopandas.GeoDataFrame], grid: Grid, labels: Labels
) -> Iterator[tuple[int, tuple[slice, slice], np.ndarray]]:
    """Yield the polygons of an area of interest that lie on a grid, if there are several.

    Each comes with its number in the layer, from 1, the rows and columns of the labels that it touches, and its mask in
    these.
    """
    if aoi is None or len(aoi) < 2:
        return
    for number in near(aoi, grid) + 1:
        try:
            window, shape = limit_to(grid, aoi.iloc[[number - 1]])
        except LayerError:  # it lies beside the image
            continue
        column, row, width, height = window
        top, left = row - labels.row, column - labels.column
        yield int(number), (slice(top, top + height), slice(left, left + width)), burn_shapes([shape], grid, window)


def _predict_labeled(
    image: Image, labels: Labels, segmenter: Segmenter, predictor: Predictor, reporter: Reporter
) -> np.ndarray:
    """Return the probability of the labeled part of an image, (height, width) uint8, predicted with a halo."""
    height, width = labels.values.shape
    probability = np.full((height, width), NO_DATA, dtype=np.uint8)
    window = (labels.column, labels.row, width, height)
    tiles = list(
        tile_grid(image.grid.width, image.grid.height, segmenter.tiles.core_px, segmenter.tiles.halo_px, window)
    )
    predicted = predict_tiles(predictor, image.read, tiles, segmenter.tiles.px, image.name)
    for number, (tile, values) in enumerate(predicted, 1):
        reporter.check_cancelled()
        rows, columns = (slice(part.start - origin, part.stop - origin)
                         for part, origin in zip(tile.destination, (labels.row, labels.column)))  # fmt: skip
        probability[rows, columns] = values.probability
        reporter.progress(number / len(tiles), f"Tile {number} of {len(tiles)}")
    return probability
