"""Scores of a model on images with drawn roads: in total, by image and by polygon of the area of interest; and panels.

Scope: predictions of labeled pixels, their scores, and squares of images chosen by road and by errors. Independent of
how a report shows them.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Optional

import geopandas
import numpy as np

from ..errors import LayerError
from ..events import Reporter
from ..geodata.grid import Grid
from ..geodata.pixel_codes import IGNORE, NO_DATA, ROAD, reaches, to_byte
from ..geodata.rasters import Image, find_bands, open_for_model, open_image
from ..geodata.shapes import burn_shapes, limit_to, near
from ..geodata.sources import source_name
from ..geodata.tiling import Tile, tile_grid
from ..jobs import Evaluate
from ..jobs.shared import IMAGE_GRID
from ..labels.drawing import Labels
from ..labels.labeled_images import (
    ImageSummary,
    LabeledImage,
    Truth,
    read_truth,
    road_share,
    window_reader,
    without_labels,
)
from ..models.loading import load_model
from ..segmentation.image_grid import covering_window, on_grid
from ..segmentation.inference import Prediction, Predictor, predict_tiles
from ..segmentation.pixel_metrics import Confusion, GroundScores, RelaxedMatches, Tally, relaxed_matches
from ..segmentation.segmenter import Segmenter, prepare_segmenter, spread
from ..segmentation.work_plan import plan_image
from ..system.machine import versions

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
            grid = image.own_grid if self.job.grid == IMAGE_GRID else image.grid
            labels = self._truth.burn(grid, path)
            if labels is None:
                reporter.warning(without_labels(path))
                return
            with self._timed("predicting"):
                predictor = replace(self.segmenter.predictor, bands=bands)
                probability = _predict_labeled(image, grid, labels, self.segmenter, predictor, reporter)
            truth = np.where(probability == NO_DATA, IGNORE, labels.values)
            if not (truth != IGNORE).any():
                reporter.warning(f"{path} has no data where it is labeled; it is left out.")
                return
            with self._timed("scoring"):
                self._count(path, grid, labels, probability, truth)
        if self.has_pictures:
            with self._timed("pictures"):
                self._keep_places(path, grid, labels, probability, truth)

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

    def _keep_places(self, path: str, grid: Grid, labels: Labels, probability: np.ndarray, truth: np.ndarray) -> None:
        # Of finer pixels than the model's, panels show every second, third ..., so that they show as much ground.
        step = max(1, round(self._input.resolution_m / grid.resolution_m))
        bands, threshold = self.segmenter.card.band_names, self.segmenter.threshold
        with open_image(path) as dataset:
            image = Image(dataset, find_bands(dataset, self._input), grid.resolution_m, self._input.pixel_m)

            def read(column: int, row: int, width: int, height: int) -> tuple[np.ndarray, np.ndarray]:
                left, top = labels.column + column * step, labels.row + row * step
                values, known = image.read(left, top, (width - 1) * step + 1, (height - 1) * step + 1)
                return values[:, ::step, ::step], known[::step, ::step]

            thinned = truth[::step, ::step], probability[::step, ::step]
            places = scored_places(source_name(path), bands, read, *thinned, threshold, PANELS)
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
    image: Image, grid: Grid, labels: Labels, segmenter: Segmenter, predictor: Predictor, reporter: Reporter
) -> np.ndarray:
    """Return the probability of the labels' pixels on a grid, (height, width) uint8, predicted with a halo."""
    height, width = labels.values.shape
    target = grid.window(labels.column, labels.row, width, height)
    window = covering_window(image.grid, target)
    tiles = list(
        tile_grid(image.grid.width, image.grid.height, segmenter.tiles.core_px, segmenter.tiles.halo_px, window)
    )

    def predicted() -> Iterator[tuple[Tile, Prediction]]:
        found = predict_tiles(predictor, image.read, tiles, segmenter.tiles.px, image.name)
        for number, (tile, prediction) in enumerate(found, 1):
            reporter.check_cancelled()
            yield tile, prediction
            reporter.progress(number / len(tiles), f"Tile {number} of {len(tiles)}")

    probability = np.full((height, width), NO_DATA, dtype=np.uint8)
    for tile, prediction in on_grid(predicted(), image.grid, target, window):
        probability[tile.destination] = prediction.probability
    return probability


PANEL_PX, CONTEXT_PX = 320, 64
# Pixels that are computed for a panel.
COMPUTED_PX = (PANEL_PX + 2 * CONTEXT_PX) ** 2


@dataclass(frozen=True)
class Panel:
    """A square of an image, (height, width, 3) uint8, with its labels and its prediction, (height, width).

    Labels are uint8: 0 background, 1 road, 255 ignored. Probabilities are uint8: 0 to 254 for 0 to 1, 255 no data.
    """

    image: np.ndarray
    truth: np.ndarray
    probability: np.ndarray
    caption: str = ""


def make_panels(predictor: Predictor, images: list[LabeledImage], count: int) -> list[Panel]:
    """Return at most `count` panels, PANEL_PX wide, with the most held-out road, none of which overlap."""
    places = sorted(
        (-road, number, row, column)
        for number, image in enumerate(images)
        for road, row, column in _places(image.validation == ROAD, PANEL_PX // 2)
    )
    chosen = _disjoint([place[1:] for place in places])[:count]
    return [_panel(predictor, images[number], row, column) for number, row, column in chosen]


@dataclass(frozen=True)
class ScoredPlace:
    """A scored square: its true road pixels, its wrong pixels, and its panel."""

    road_px: int
    wrong_px: int
    panel: Panel


def scored_places(
    name: str,
    bands: Sequence[str],
    read: Callable[..., tuple[np.ndarray, np.ndarray]],
    truth: np.ndarray,
    probability: np.ndarray,
    threshold: float,
    count: int,
) -> list[ScoredPlace]:
    """Return the squares of PANEL_PX of an image with the most road, and those with the most wrong pixels.

    Truth and probability are as in `Panel`; from the threshold on a pixel is road. `read` is as `Image.read`, in pixels
    of the truth, and returns the named bands. There are `count` squares of either kind, at most.
    """
    is_road = truth == ROAD
    is_wrong = (reaches(probability, threshold) != is_road) & (truth != IGNORE)
    corners = {
        corner
        for where in (is_road, is_wrong)
        for corner in _disjoint([(0, *place[1:]) for place in sorted(_places(where, PANEL_PX), reverse=True)])[:count]
    }
    places = []
    for _, row, column in _disjoint(sorted(corners)):
        square, predicted = _square(truth, row, column), _square(probability, row, column)
        values, known = read(column, row, square.shape[1], square.shape[0])
        confusion = Confusion()
        confusion.add(predicted, square)
        scores = confusion.scores(threshold)
        caption = f"{name}: F1 {scores.f1:.3f} here, precision {scores.precision:.3f}, recall {scores.recall:.3f}"
        picture = to_picture(values, known, bands, stretch_limits(values, known))
        road_px, wrong_px = (int(_square(where, row, column).sum()) for where in (is_road, is_wrong))
        places.append(ScoredPlace(road_px, wrong_px, Panel(picture, square, predicted, caption)))
    return places


def select_places(places: Iterable[ScoredPlace], count: int) -> list[ScoredPlace]:
    """Return at most `count` places: half by most road, then by most wrong pixels among the others."""
    by_road = sorted(places, key=lambda place: -place.road_px)
    most_road, others = by_road[: count - count // 2], by_road[count - count // 2 :]
    return most_road + sorted(others, key=lambda place: -place.wrong_px)[: count // 2]


def _places(where: np.ndarray, step_px: int) -> list[tuple[int, int, int]]:
    """Return the count of true pixels in squares of an image, where there are any, with row and column of the square.

    The last squares of a row or column are moved inside, and so may overlap the ones before.
    """
    rows, columns = ({min(at, max(0, size - PANEL_PX)) for at in range(0, size, step_px)} for size in where.shape)
    counts = [(int(_square(where, row, column).sum()), row, column) for row in rows for column in columns]
    return [place for place in counts if place[0]]


def _disjoint(places: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """Return the places (image, row, column) whose squares overlap none of an earlier one."""
    kept: list[tuple[int, int, int]] = []
    for image, row, column in places:
        if all(image != other or max(abs(row - y), abs(column - x)) >= PANEL_PX for other, y, x in kept):
            kept.append((image, row, column))
    return kept


def _square(array: np.ndarray, row: int, column: int) -> np.ndarray:
    return array[..., row : row + PANEL_PX, column : column + PANEL_PX]


def _panel(predictor: Predictor, image: LabeledImage, row: int, column: int) -> Panel:
    values, known, truth = (_square(array, row, column) for array in (image.values, image.known, image.validation))
    height, width = truth.shape
    top, left = max(0, row - CONTEXT_PX) // 32 * 32, max(0, column - CONTEXT_PX) // 32 * 32
    bottom = min(image.known.shape[0], row + height + CONTEXT_PX)
    right = min(image.known.shape[1], column + width + CONTEXT_PX)
    seen, seen_known = window_reader(image)(left, top, right - left, bottom - top)
    probability = predictor.probability(seen, seen_known)
    probability = probability[row - top : row - top + height, column - left : column - left + width]
    caption = f"{image.name.rpartition('/')[2]}, {(truth != IGNORE).mean():.0%} of it held out"
    picture = to_picture(values, known, [band.name for band in image.bands], stretch_limits(image.values, image.known))
    return Panel(picture, truth, to_byte(probability, known), caption)


def stretch_limits(values: np.ndarray, known: np.ndarray) -> list[tuple[float, float]]:
    """Return each band's 1st and 99th percentile where there are data; (0, 1) without data.

    Values are (bands, height, width) of any dtype, known (height, width) bool.
    """
    if not known.any():
        return [(0.0, 1.0)] * len(values)
    step = max(1, int(known.sum()) // 100_000)
    return [tuple(np.percentile(band[known][::step].astype(float), (1, 99))) for band in values]


def to_picture(
    values: np.ndarray, known: np.ndarray, bands: Sequence[str], limits: Sequence[tuple[float, float]]
) -> np.ndarray:
    """Return image values as an RGB picture, (height, width, 3) uint8, contrast-stretched.

    Values are (bands, height, width) of any dtype, known (height, width) bool. Red, green and blue are shown as such;
    else the first three bands, or the first one as gray. Limits of each band become black and white.
    """
    names = list(bands)
    if {"red", "green", "blue"} <= set(names):
        shown = [names.index(color) for color in ("red", "green", "blue")]
    else:
        shown = [0, 1, 2] if len(names) >= 3 else [0, 0, 0]
    picture = np.zeros((*known.shape, 3), dtype=np.uint8)
    for channel, index in enumerate(shown):
        low, high = limits[index]
        with np.errstate(invalid="ignore"):  # NaN is not known either
            stretched = (values[index].astype(np.float64) - low) / max(high - low, 1e-9) * 255
            picture[..., channel] = np.where(known, np.clip(stretched, 0, 255), 0)
    return picture
