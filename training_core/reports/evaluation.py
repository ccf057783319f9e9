"""Scores of a model on images with drawn roads: in total, by image and by polygon of the area of interest.

Scope: predictions of labeled pixels, their scores, and the report, whose parts `page` has. Independent of how scores
are computed.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Optional

import geopandas
import numpy as np

from ..errors import LayerError
from ..events import Reporter
from ..geodata.grid import Grid
from ..geodata.model_input import open_for_model
from ..geodata.pixel_codes import IGNORE, NO_DATA, ROAD, reaches
from ..geodata.rasterize import burn_shapes, limit_to, near
from ..geodata.rasters import Image
from ..geodata.sources import source_name
from ..geodata.tiling import tile_grid
from ..jobs import Evaluate
from ..labels.drawing import Truth, read_truth
from ..labels.label_raster import Labels
from ..labels.labeled_images import without_labels
from ..models.loading import load_model
from ..models.model_card import ModelCard
from ..segmentation.image_threshold import spread
from ..segmentation.inference import Predictor, predict_tiles
from ..segmentation.pixel_metrics import Confusion, GroundScores, RelaxedMatches, Scores, Tally, relaxed_matches
from ..segmentation.segmenter import Segmenter, prepare_segmenter
from ..segmentation.work_plan import plan_image
from ..system import processor
from ..system.machine import versions
from .charts import precision_recall_chart, sweep_chart
from .page import ImageSummary, ModelRecord, write_page
from .panels import ScoredPlace, scored_places, select_places

PANELS = 6


@dataclass
class Evaluation:
    """Counts so far: in total, for each image and for each polygon of the area of interest."""

    job: Evaluate
    reporter: Reporter
    total: Tally = field(default_factory=Tally)
    images: list[tuple[str, Tally]] = field(default_factory=list)
    areas: dict[int, Tally] = field(default_factory=lambda: defaultdict(Tally))
    summaries: list[ImageSummary] = field(default_factory=list)
    places: list[ScoredPlace] = field(default_factory=list)
    timings_s: dict[str, float] = field(default_factory=lambda: defaultdict(float))

    def __post_init__(self) -> None:
        with self._timed("loading"):
            self._truth: Truth = read_truth(self.job, self.job.aoi, self.job.rasters, self.reporter)
            model, card = load_model(self.job.model)
            self._input = replace(card.input, pixel_m=self.job.pixel_m)
            samples = [plan_image(raster, None, self._input) for raster in spread(self.job.rasters)]
            self._segmenter: Segmenter = prepare_segmenter(model, card, samples, self.job, self.reporter)

    def add_image(self, path: str, reporter: Reporter) -> None:
        """Predict the labeled part of an image and add its counts."""
        with open_for_model(path, self._input) as (image, bands):
            labels = self._truth.burn(image.grid, path)
            if labels is None:
                reporter.warning(without_labels(path))
                return
            with self._timed("predicting"):
                predictor = replace(self._segmenter.predictor, bands=bands)
                probability = _predict_labeled(image, labels, self._segmenter, predictor, reporter)
            truth = np.where(probability == NO_DATA, IGNORE, labels.values)
            if not (truth != IGNORE).any():
                reporter.warning(f"{path} has no data where it is labeled; it is left out.")
                return
            with self._timed("scoring"):
                self._count(path, image.grid, labels, probability, truth)
            if self.job.report:
                with self._timed("pictures"):
                    self._keep_places(path, image, labels, probability, truth)

    def to_document(self) -> dict[str, Any]:
        """Return the scores as a JSON document."""
        confusion = self.total.confusion
        best = confusion.best_threshold()
        return {
            "model": Path(self.job.model).name,
            **asdict(self._scores(self.total)),
            "threshold": self._segmenter.threshold,
            "tolerance_m": self.job.tolerance_m,
            "best": {"threshold": best, **asdict(confusion.scores(best))},
            "images": [{"name": name, **asdict(self._scores(tally))} for name, tally in self.images],
            "areas": [{"area": number, **asdict(self._scores(tally))} for number, tally in sorted(self.areas.items())],
            "engine": self._segmenter.engine.name,
            "precision": self._segmenter.engine.precision,
            "versions": versions(),
        }

    def to_record(self, warnings: list[str]) -> EvaluationRecord:
        """Return the contents of the report."""
        engine = self._segmenter.engine
        return EvaluationRecord(
            options=asdict(self.job),
            model=Path(self.job.model).name,
            card=self._segmenter.card,
            hardware=processor.name(),
            engine=engine.name,
            precision=engine.precision,
            engine_reason=engine.reason,
            confusion=self.total.confusion,
            threshold=self._segmenter.threshold,
            tolerance_m=self.job.tolerance_m,
            total=self._scores(self.total),
            images=[(name, self._scores(tally)) for name, tally in self.images],
            areas=[(f"Area {number}", self._scores(tally)) for number, tally in sorted(self.areas.items())],
            summaries=self.summaries,
            timings_s=self.timings_s,
            warnings=warnings,
            panels=[place.panel for place in select_places(self.places, PANELS)],
            versions=versions(),
        )

    def _scores(self, tally: Tally) -> GroundScores:
        return tally.scores(self._segmenter.threshold)

    def _count(self, path: str, grid: Grid, labels: Labels, probability: np.ndarray, truth: np.ndarray) -> None:
        mask = reaches(probability, self._segmenter.threshold)
        matches = relaxed_matches(mask, truth, self.job.tolerance_m, grid.pixel_m)
        tally = _tally(probability, truth, matches, slice(None))
        self.total += tally
        self.images.append((source_name(path), tally))
        known = truth != IGNORE
        road_share = float((truth[known] == ROAD).mean())
        height, width = truth.shape
        self.summaries.append(
            ImageSummary(source_name(path), width, height, grid.resolution_m, float(known.mean()), road_share)
        )
        for number, part, inside in _areas(self._truth.aoi, grid, labels):
            self.reporter.check_cancelled()
            self.areas[number] += _tally(probability[part], truth[part], matches.window(part), inside)

    def _keep_places(self, path: str, image: Image, labels: Labels, probability: np.ndarray, truth: np.ndarray) -> None:
        def read(column: int, row: int, width: int, height: int) -> tuple[np.ndarray, np.ndarray]:
            return image.read(labels.column + column, labels.row + row, width, height)

        bands, threshold = self._segmenter.card.band_names, self._segmenter.threshold
        places = scored_places(source_name(path), bands, read, truth, probability, threshold, PANELS)
        self.places = select_places([*self.places, *places], 2 * PANELS)

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
    tiles = list(tile_grid(image.grid.width, image.grid.height, segmenter.core_px, segmenter.halo, window))
    predicted = predict_tiles(predictor, image.read, tiles, segmenter.tile_px, image.name)
    for number, (tile, values) in enumerate(predicted, 1):
        reporter.check_cancelled()
        rows, columns = (slice(part.start - origin, part.stop - origin)
                         for part, origin in zip(tile.destination, (labels.row, labels.column)))  # fmt: skip
        probability[rows, columns] = values.probability
        reporter.progress(number / len(tiles), f"Tile {number} of {len(tiles)}")
    return probability


@dataclass(frozen=True, kw_only=True)
class EvaluationRecord(ModelRecord):
    """The content of the report of an evaluation, in addition to that of all reports on a model.

    The card may come from anywhere, so it is not trusted. The confusion counts all scored pixels by threshold, and the
    tolerance is that of relaxed scores. Images and areas of interest are listed with their names.
    """

    model: str
    card: ModelCard
    confusion: Confusion
    tolerance_m: float
    total: GroundScores
    images: Sequence[tuple[str, GroundScores]]
    summaries: Sequence[ImageSummary]
    areas: Sequence[tuple[str, GroundScores]] = ()

    @property
    def best_threshold(self) -> float:
        """The threshold with the best F1 on the scored pixels."""
        return self.confusion.best_threshold()

    @property
    def best(self) -> Scores:
        """The scores at that threshold."""
        return self.confusion.scores(self.best_threshold)

    @property
    def shared(self) -> list[str]:
        """Names of the images that are also among the model's training images, by its metadata."""
        trained = self.card.training.get("images")
        names = set(map(str, trained)) if isinstance(trained, list) else set()
        return [name for name, _ in self.images if name in names]


# Limits of the displayed metadata of a model.
_MAX_TEXT, _MAX_ROWS = 1000, 100


def write_evaluation_report(record: EvaluationRecord, path: Path) -> None:
    """Write the report of an evaluation as one self-contained HTML file without scripts."""
    thresholds, sweep = record.confusion.thresholds, record.confusion.sweep()
    marked = {f"{record.threshold:.2f} (used)": record.total.pixel}
    marked.setdefault(f"{record.best_threshold:.2f} (best F1)", record.best)
    charts = {
        "sweep": sweep_chart(thresholds.tolist(), sweep, record.threshold, "used"),
        "curve": precision_recall_chart(sweep, marked),
    }
    write_page("evaluate.html.j2", path, Evaluate, record, model=_describe(record.card), charts=charts)


def _describe(card: ModelCard) -> dict[str, str]:
    """Return the model's metadata in words, by label."""
    rows = {
        "Architecture": f"{card.architecture.name}, {card.architecture.encoder}",
        "Bands": _shortened(", ".join(card.band_names)),
        "Ground resolution": f"{card.resolution_m:.2f} m",
        "Stored threshold": f"{card.threshold:.2f}",
    }
    if card.metrics:
        rows["Validation scores in training"] = _listed(card.metrics)
    for name, value in list(card.training.items())[:_MAX_ROWS]:
        rows[f"Training: {_shortened(name.replace('_', ' '))}"] = _plain(value)
    if card.versions:
        rows["Trained with versions"] = _listed(card.versions)
    return rows


def _listed(values: dict[str, Any]) -> str:
    return _shortened(", ".join(f"{name} {_plain(value)}" for name, value in values.items()))


def _plain(value: Any) -> str:
    """Return a value in words, shortened: a model file may say anything."""
    if isinstance(value, float):
        return f"{value:.4g}"
    return _shortened(", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value))


def _shortened(text: str) -> str:
    return text if len(text) <= _MAX_TEXT else f"{text[:_MAX_TEXT]} …"
